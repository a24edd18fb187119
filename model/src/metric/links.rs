//! Facts about the links of a device. Names that begin with `nvlink__` are Nsight Compute's.
//!
//! Input: a name. Output: a metric whose value is in
//! [`crate::links::DeviceLinks`]. NVML and the driver report them without a pass.

use crate::metric::entry::{Class, Direction, Metric, Needs, Row};
use crate::quantity::Unit::{self, BytesPerSecond, Count};

const fn fact(name: &'static str, unit: Unit, description: &'static str) -> Row {
    let (direction, class, needs) = (Direction::Neither, Class::Exact, Needs::Device);
    Row { name, unit, direction, class, needs, description }
}

const LINKS: &[Row] = &[
    fact("nvlink__count_physical", Count, "active NVLinks of the device"),
    fact("nvlink__is_nvswitch_connected", Count, "1 if an active NVLink leads to a switch, else 0"),
    fact("nvlink__peer_access", Count, "1 if its NVLinks access the memory of other GPUs, else 0"),
    fact("nvlink__peer_atomic", Count, "1 if its NVLinks change that memory atomically, else 0"),
    fact("device__nvlink_bandwidth", BytesPerSecond, "all active NVLinks, in one direction"),
    fact("device__peers", Count, "other devices of the process whose memory it can access"),
    fact("device__pcie_generation", Count, "generation of PCIe that its link to the host uses"),
    fact("device__pcie_width", Count, "lanes of PCIe that its link to the host uses"),
];

/// Every fact about links.
pub fn link_facts() -> impl Iterator<Item = Metric> {
    LINKS.iter().map(Row::metric)
}

/// The fact called `name`.
pub(super) fn find(name: &str) -> Option<Metric> {
    LINKS.iter().find(|row| row.name == name).map(Row::metric)
}

/// Whether `counter`, a hardware counter, counts traffic over NVLink.
#[must_use]
pub fn counts_nvlink(counter: &str) -> bool {
    ["nvlrx__", "nvltx__"].iter().any(|unit| counter.starts_with(unit))
}
