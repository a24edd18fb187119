//! Which driver runs the kernels, and what happens to a GPU's caches and clocks.

use clap::ValueEnum;
use serde::Deserialize;

/// Which driver runs the kernels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// A GPU if a driver is installed, else the emulated driver.
    #[default]
    Auto,
    /// A GPU.
    Cuda,
    /// The emulated driver: exact counters, no times.
    Emulator,
}

/// What happens to the L2 cache before each sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheControl {
    /// It is flushed.
    #[default]
    All,
    /// Nothing.
    None,
}
