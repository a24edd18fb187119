//! Sets of sections.

use clap::ValueEnum;

/// A set of sections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Set {
    /// Speed of light, launch and occupancy.
    Basic,
    /// Basic with workloads, branches and the roofline.
    Detailed,
    /// Every section.
    Full,
    /// What the roofline needs.
    Roofline,
    /// Memory in detail.
    Memory,
}
