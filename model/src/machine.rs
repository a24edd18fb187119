//! The backend of a run and its control of caches and clocks, as stored documents name them.

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
    /// What happens to the L2 cache before each sample.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum CacheControl = All {
        /// It is flushed.
        All = "all",
        /// Nothing.
        None = "none",
    }
}

crate::words! {
    /// What happens to the clocks of the GPU.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum ClockControl = None {
        /// Nothing: the clock of every sample is recorded.
        None = "none",
        /// Locked to the base clock while the run lasts.
        Base = "base",
        /// Locked to the highest clock while the run lasts.
        Boost = "boost",
    }
}

impl Backend {
    /// The backend of a device that is `emulated`, or is not.
    pub fn of_device(emulated: bool) -> Self {
        if emulated { Self::Emulator } else { Self::Cuda }
    }
}
