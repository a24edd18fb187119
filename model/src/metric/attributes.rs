//! Attributes of a device, by Nsight Compute's names. The driver reports them without a pass.
//!
//! Input: a name after `CU_DEVICE_ATTRIBUTE_` in `cuda.h`, in lower case. Output: a metric, and the
//! driver's number for it. All names of `cuda.h` are metrics; a pass reports the default ones and
//! the requested ones.

use crate::metric::entry::{Class, Direction, Metric, Origin};
use crate::quantity::Unit;

/// How names of device attributes begin.
pub const DEVICE_ATTRIBUTE: &str = "device__attribute_";

const TABLE: &str = include_str!("attributes.txt");

/// The attributes of a device that every pass reports, by their names after `CU_DEVICE_ATTRIBUTE_`
/// in `cuda.h`: attributes that a launch can depend on, and the ones behind the device's speed.
pub const KEPT_ATTRIBUTES: &[&str] = &[
    "max_threads_per_block",
    "max_block_dim_x",
    "max_block_dim_y",
    "max_block_dim_z",
    "max_grid_dim_x",
    "max_grid_dim_y",
    "max_grid_dim_z",
    "max_shared_memory_per_block",
    "max_shared_memory_per_block_optin",
    "max_shared_memory_per_multiprocessor",
    "reserved_shared_memory_per_block",
    "total_constant_memory",
    "warp_size",
    "max_registers_per_block",
    "max_registers_per_multiprocessor",
    "max_threads_per_multiprocessor",
    "max_blocks_per_multiprocessor",
    "multiprocessor_count",
    "clock_rate",
    "memory_clock_rate",
    "global_memory_bus_width",
    "l2_cache_size",
    "max_persisting_l2_cache_size",
    "compute_capability_major",
    "compute_capability_minor",
    "compute_mode",
    "concurrent_kernels",
    "ecc_enabled",
    "async_engine_count",
    "integrated",
    "unified_addressing",
    "managed_memory",
    "cooperative_launch",
    "cluster_launch",
    "global_l1_cache_supported",
    "local_l1_cache_supported",
    "single_to_double_precision_perf_ratio",
    "texture_alignment",
    "max_pitch",
    "kernel_exec_timeout",
];

/// Every attribute and its number.
fn table() -> impl Iterator<Item = (&'static str, i32)> {
    TABLE.lines().filter_map(|line| {
        let (number, name) = line.split_once(' ')?;
        Some((name, number.parse().ok()?))
    })
}

/// The number that the driver has for the attribute `name`.
pub fn attribute_number(name: &str) -> Option<i32> {
    table().find(|(known, _)| *known == name).map(|(_, number)| number)
}

/// Every attribute of a device that a run can show.
pub fn attributes() -> impl Iterator<Item = Metric> {
    table().map(|(name, _)| attribute(name))
}

/// The metric of the attribute `name`, if there is one.
pub(super) fn find(name: &str) -> Option<Metric> {
    attribute_number(name).map(|_| attribute(name))
}

fn attribute(name: &str) -> Metric {
    Metric {
        name: format!("{DEVICE_ATTRIBUTE}{name}").into(),
        unit: Unit::Count,
        direction: Direction::Neither,
        direction_set: None,
        class: Class::Exact,
        origin: Origin::Device,
        description: "attribute of the device; cuda.h describes it as CU_DEVICE_ATTRIBUTE_…".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_an_attribute() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!((table().count(), lines), (168, 168));
        assert!(KEPT_ATTRIBUTES.iter().all(|name| attribute_number(name).is_some()));
        // As cuda.h numbers them, by either name.
        assert_eq!(attribute_number("multiprocessor_count"), Some(16));
        let both = ["max_registers_per_block", "registers_per_block"].map(attribute_number);
        assert_eq!(both, [Some(12), Some(12)]);
        assert!(find("").is_none() && find("of_none").is_none());
    }
}
