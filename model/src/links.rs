//! The links of a device to the host and to other GPUs.
//!
//! Input: the reports of NVML and the driver. Output: facts of the run document, which the metrics
//! `nvlink__…`, `device__pcie_…` and others and a note of the report are made of.

use crate::units::BytesPerSecond;
use serde::{Deserialize, Serialize};

/// How a device is linked.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DeviceLinks {
    /// Its active NVLinks, those to the same place together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nvlinks: Vec<NvLinks>,
    /// How many NVLinks it has, active or not.
    #[serde(default)]
    pub most_nvlinks: u32,
    /// Its link to the host; none if NVML does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pcie: Option<PcieLink>,
    /// The other devices that the process sees.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<Peer>,
    /// Why NVML reports no links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

impl DeviceLinks {
    /// How many NVLinks are active.
    #[must_use]
    pub fn active(&self) -> u32 {
        self.nvlinks.iter().map(|links| links.count).sum()
    }
}

/// Active NVLinks to one place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NvLinks {
    /// How many.
    pub count: u32,
    /// The version of NVLink, such as `4.0`; none if NVML does not report one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The other end.
    pub to: LinkEnd,
    /// The bus address of a GPU at the other end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The bytes a second of each link, in one direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<BytesPerSecond>,
    /// Their capabilities.
    pub can: LinkCapabilities,
}

/// The other end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LinkEnd {
    /// Another GPU.
    Gpu,
    /// A switch (NVSwitch), and by it other GPUs.
    Switch,
    /// A processor.
    Cpu,
    /// Not reported.
    Unknown,
}

/// The capabilities of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[expect(clippy::struct_excessive_bools, reason = "NVML has a yes or no for each")]
pub struct LinkCapabilities {
    /// Access the memory of other GPUs.
    pub peer_access: bool,
    /// Change it atomically.
    pub peer_atomics: bool,
    /// Access the host's memory.
    pub system_access: bool,
    /// Change it atomically.
    pub system_atomics: bool,
}

/// A link to the host. Its generation may be lower while the device is idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PcieLink {
    /// The generation that it uses.
    pub generation: u32,
    /// The lanes that it uses.
    pub width: u32,
    /// The highest generation of this device in this machine.
    pub most_generation: u32,
    /// The most lanes.
    pub most_width: u32,
}

/// Another device that the process sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Peer {
    /// Its number in the process.
    pub device: u32,
    /// The UUID.
    pub uuid: String,
    /// Whether the measured device can access its memory.
    pub access: bool,
    /// Whether the measured device can change its memory atomically.
    pub atomics: bool,
}
