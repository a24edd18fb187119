//! The unit that gets separate processes.

use super::MOST_TOGETHER;

gpuprof_model::words! {
    /// Process isolation level.
    pub enum Isolate = Auto {
        /// Up to 16 configurations of a kernel share each of its processes; a configuration that
        /// fails there is measured alone.
        Auto = "auto",
        /// Every configuration has its own processes.
        Configuration = "configuration",
        /// All configurations of a kernel run in each of its processes; a failed one is repeated
        /// alone.
        Kernel = "kernel",
    }
}

impl Isolate {
    /// The level on a device. Emulated devices measure in parallel, each in its own process; a
    /// shared process would only make them wait.
    #[must_use]
    pub fn on(self, emulated: bool) -> Self {
        match self {
            Self::Auto if emulated => Self::Configuration,
            level => level,
        }
    }

    /// The most configurations of a kernel that share a process. The results of a process are in
    /// the journal only after its reply, and more configurations than share an image would save no
    /// session.
    pub fn most_together(self) -> usize {
        match self {
            Self::Auto => MOST_TOGETHER,
            Self::Kernel => usize::MAX,
            Self::Configuration => 1,
        }
    }
}
