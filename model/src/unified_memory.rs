//! The driver's migrations of managed memory (CUDA's unified memory) in one call of a closure.

use serde::{Deserialize, Serialize};

/// The migrations and page faults of a call, or why they are not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnifiedMemory {
    /// CUPTI recorded them.
    Recorded(Migrations),
    /// Why it did not.
    Unavailable(String),
}

/// Migrations and page faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Migrations {
    /// Bytes from the host to a device.
    pub bytes_to_device: u64,
    /// Bytes from a device to the host.
    pub bytes_to_host: u64,
    /// Bytes from a device to another one.
    pub bytes_between_devices: u64,
    /// Groups of page faults of devices.
    pub gpu_faults: u64,
    /// Page faults of the host.
    pub cpu_faults: u64,
}
