//! Kinds of failure, on which every reaction to a failure depends.
//!
//! Input: a failure in a harness process. Output: a kind that crosses the protocol next to the
//! message. Retries, advice and the exit code depend on kinds alone. The message is for people:
//! rewording one changes nothing else.

use serde::{Deserialize, Serialize};

/// What kind of failure ended a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// None of the others: the configuration's own fault, as far as the harness can see.
    #[default]
    Other,
    /// The device, or CUPTI, had no memory left. Another process of the run may not have freed its
    /// memory.
    OutOfMemory,
    /// The device takes no context. In the compute mode `EXCLUSIVE_PROCESS` another process of the
    /// run may still have one open.
    DeviceUnavailable,
    /// Another process of the run kept preparing or leaving, so that the device was never this
    /// process's alone.
    NoExclusiveAccess,
}

impl FailureKind {
    /// Every kind.
    pub const ALL: [Self; 4] =
        [Self::Other, Self::OutOfMemory, Self::DeviceUnavailable, Self::NoExclusiveAccess];

    /// Whether another process of the run may be the cause, so that a retry in isolation may do
    /// better.
    #[must_use]
    pub const fn may_be_caused_by_others(self) -> bool {
        match self {
            Self::OutOfMemory | Self::DeviceUnavailable | Self::NoExclusiveAccess => true,
            Self::Other => false,
        }
    }
}

/// What kind of obstacle keeps a machine from giving counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DenialKind {
    /// None of the others.
    #[default]
    Other,
    /// The device is a virtual GPU.
    VirtualGpu,
}

/// That a machine does not give counters, at present or at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// The obstacle.
    pub kind: DenialKind,
    /// Cause, check and remedy, for people.
    pub reason: String,
}

impl Denial {
    /// A denial of no particular kind.
    pub fn other(reason: impl Into<String>) -> Self {
        Self { kind: DenialKind::Other, reason: reason.into() }
    }
}

/// A metric that a chip cannot collect as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedMetric {
    /// Its name without a roll-up.
    pub base: String,
    /// What is wrong with it.
    pub kind: MetricRefusal,
}

/// What is wrong with a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MetricRefusal {
    /// The chip has none of this name.
    UnknownMetric,
    /// The metric has no such roll-up, or needs one.
    WrongRollup,
}
