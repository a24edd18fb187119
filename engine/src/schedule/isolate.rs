//! The unit that gets separate processes.

use super::MOST_TOGETHER;

gpuprof_model::words! {
    /// Process isolation level.
    pub enum Isolate = Auto {
        /// Every configuration is timed in its own processes, and up to 16 configurations of a
        /// kernel are counted together; one that fails there is counted alone.
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

    /// How many configurations of a kernel are counted in one process, at most. Until a process has
    /// replied, nothing that it counted is in the journal; and more than share an image would save
    /// no session.
    pub fn counted_together(self) -> usize {
        match self {
            Self::Auto => MOST_TOGETHER,
            Self::Kernel => usize::MAX,
            Self::Configuration => 1,
        }
    }
}
