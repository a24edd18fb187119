//! The backend of a run, its emulated chip, and its control of caches and clocks, as stored
//! documents name them.

crate::words! {
    /// The driver that ran the kernels.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum Backend = Unknown {
        /// Not known: nothing was measured, as by a slice without configurations.
        Unknown = "",
        /// That of a GPU.
        Cuda = "cuda",
        /// The emulated driver.
        Emulator = "emulator",
    }
}

crate::words! {
    /// State of the L2 cache before each sample.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum CacheControl = All {
        /// Flushed.
        All = "all",
        /// Left as it is.
        None = "none",
    }
}

crate::words! {
    /// Clocks of the GPU during the run.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum ClockControl = None {
        /// Not locked; the clock of every sample is recorded.
        None = "none",
        /// Locked to the base clock while the run lasts.
        Base = "base",
        /// Locked to the highest clock while the run lasts.
        Boost = "boost",
    }
}

crate::words! {
    /// A chip that the emulated driver can be.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum Chip = H200 {
        /// An A100 SXM4 with 80 GB, by published figures.
        A100 = "a100",
        /// An H100 SXM.
        H100 = "h100",
        /// An H200 SXM.
        H200 = "h200",
        /// An L4, by published figures.
        L4 = "l4",
        /// A GeForce RTX 4090, by published figures.
        Rtx4090 = "rtx4090",
        /// A B200, by published figures.
        B200 = "b200",
    }
}

impl Chip {
    /// Its compute capability, major and minor.
    pub fn compute_capability(self) -> (u32, u32) {
        match self {
            Self::A100 => (8, 0),
            Self::L4 | Self::Rtx4090 => (8, 9),
            Self::H100 | Self::H200 => (9, 0),
            Self::B200 => (10, 0),
        }
    }

    /// Its architecture, such as `sm_90`.
    pub fn architecture(self) -> String {
        let (major, minor) = self.compute_capability();
        format!("sm_{major}{minor}")
    }

    /// Whether it runs PTX of the target `arch`, such as `sm_80`. The target must not be newer.
    /// Code for one architecture (`sm_90a`) or a family (`sm_100f`) runs only there.
    pub fn runs(self, arch: &str) -> bool {
        let (major, minor) = self.compute_capability();
        let own = 10 * major + minor;
        let number = arch.trim_start_matches("sm_").trim_end_matches(['a', 'f']).parse::<u32>();
        number.is_ok_and(|number| match arch.as_bytes().last() {
            Some(b'a') => number == own,
            Some(b'f') => number <= own && number / 10 == major,
            _ => number <= own,
        })
    }
}

impl Backend {
    /// The backend of a device that is `emulated`, or is not.
    pub fn of_device(emulated: bool) -> Self {
        if emulated { Self::Emulator } else { Self::Cuda }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::Word;

    #[test]
    fn a_chip_runs_ptx_of_its_own_and_of_older_targets() {
        let run = |arch: &str| -> Vec<&str> {
            Chip::ALL
                .iter()
                .filter(|(chip, ..)| chip.runs(arch))
                .map(|(_, word, _)| *word)
                .collect()
        };
        assert_eq!(run("sm_80").len(), 6);
        assert_eq!(run("sm_89"), ["h100", "h200", "l4", "rtx4090", "b200"]);
        assert_eq!(run("sm_90"), ["h100", "h200", "b200"]);
        assert_eq!(run("sm_90a"), ["h100", "h200"]);
        assert_eq!(run("sm_100f"), ["b200"]);
        assert_eq!(run("native"), [""; 0]);
    }
}
