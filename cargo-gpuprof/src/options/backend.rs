//! Which driver runs the kernels.

gpuprof_model::words! {
    /// Which driver runs the kernels.
    pub enum BackendChoice = Auto {
        /// A GPU if a driver is installed, else the emulated driver.
        Auto = "auto",
        /// A GPU.
        Cuda = "cuda",
        /// The emulated driver: exact counters, estimated times.
        Emulator = "emulator",
    }
}
