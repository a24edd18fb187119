//! The unit that gets separate processes.

gpuprof_model::words! {
    /// Process isolation level.
    pub enum Isolate = Auto {
        /// Every configuration is timed in its own processes, and the configurations of a kernel
        /// are counted together; one that fails there is counted alone.
        Auto = "auto",
        /// Every configuration has its own processes.
        Configuration = "configuration",
        /// All configurations of a kernel run in each of its processes; a failed one is repeated
        /// alone.
        Kernel = "kernel",
    }
}

impl Isolate {
    /// Whether the configurations of a kernel are timed in one process.
    pub fn times_together(self) -> bool {
        match self {
            Self::Auto | Self::Configuration => false,
            Self::Kernel => true,
        }
    }

    /// Whether the configurations of a kernel are counted in one process.
    pub fn counts_together(self) -> bool {
        match self {
            Self::Auto | Self::Kernel => true,
            Self::Configuration => false,
        }
    }
}
