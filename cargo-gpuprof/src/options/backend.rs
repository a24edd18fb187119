//! The option that selects the driver.

gpuprof_model::words! {
    /// The driver that runs the kernels.
    pub enum BackendChoice = Auto {
        /// A GPU if a driver is installed, else the emulated driver.
        Auto = "auto",
        /// A GPU.
        Cuda = "cuda",
        /// The emulated driver: exact counters, estimated times.
        Emulator = "emulator",
    }
}
