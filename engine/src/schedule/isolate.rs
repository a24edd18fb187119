//! The unit that gets separate processes.

gpuprof_model::words! {
    /// Process isolation level.
    pub enum Isolate = Configuration {
        /// Every configuration has its own processes.
        Configuration = "configuration",
        /// All configurations of a kernel run in each of its processes; a failed one is repeated
        /// alone.
        Kernel = "kernel",
    }
}
