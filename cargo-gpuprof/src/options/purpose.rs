//! The purpose of a run.

/// The purpose for which a subcommand runs configurations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Purpose {
    /// Measurements, and a verdict on them.
    #[default]
    Profile,
    /// A first look: one process and few samples a configuration, and no verdict.
    Quick,
    /// The noise of this machine: only times count.
    Noise,
    /// Faults: nothing is compared or judged.
    Check,
}

impl Purpose {
    /// Whether a device without times is refused.
    pub fn needs_times(self) -> bool {
        match self {
            Self::Noise => true,
            Self::Profile | Self::Quick | Self::Check => false,
        }
    }

    /// Whether thresholds and a baseline apply.
    pub fn judges(self) -> bool {
        match self {
            Self::Profile | Self::Noise => true,
            Self::Quick | Self::Check => false,
        }
    }

    /// Whether another revision may be measured as well.
    pub fn takes_base(self) -> bool {
        match self {
            Self::Profile => true,
            Self::Noise | Self::Quick | Self::Check => false,
        }
    }
}
