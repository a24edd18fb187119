//! What has processes of its own.

use clap::ValueEnum;

/// Process isolation level.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Isolate {
    /// Every configuration has its own processes.
    #[default]
    Configuration,
    /// All configurations of a kernel run in each of its processes; one that fails is run again
    /// alone.
    Kernel,
}
