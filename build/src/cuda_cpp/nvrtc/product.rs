//! Where NVRTC is looked for, and which one may be taken.

use gpuprof_cupti::locate::{self, Product};

/// NVRTC.
pub const NVRTC: Product = Product {
    library: "libnvrtc.so",
    variable: "GPUPROF_NVRTC",
    // The last is that of NVIDIA's wheels.
    in_toolkit: &[
        "lib64",
        "targets/x86_64-linux/lib",
        "targets/sbsa-linux/lib",
        "targets/aarch64-linux/lib",
        "lib",
    ],
    // CUDA 13's, then CUDA 12's.
    in_packages: &["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"],
    linker_names: &[],
};

/// Where to look for NVRTC, and which one may be taken.
#[derive(Debug, Clone)]
pub struct Search {
    /// Where to look.
    pub library: locate::Search,
    /// The newest CUDA version whose PTX the driver accepts; none if no driver is asked. A newer
    /// NVRTC is skipped, unless a setting names it.
    pub newest: Option<(u32, u32)>,
}

impl Search {
    /// The environment of this process, for a driver that accepts PTX up to the version `newest`.
    #[must_use]
    pub fn from_environment(newest: Option<(u32, u32)>) -> Self {
        Self { library: locate::Search::from_environment(&NVRTC, None), newest }
    }
}
