//! Launch facts and device attributes by Nsight Compute's names: the driver tells them at no pass.
//!
//! Comes in: `launch__…` or `device__attribute_…`. Goes out: a metric whose values are in
//! [`crate::measurement::LaunchFacts`] and [`crate::measurement::DeviceRecord`].

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use super::Direction::{Higher, Lower};
use super::{Class, Direction, Metric, Origin};
use crate::quantity::Unit::{self, Bytes, Count, Percent, Ratio};

/// How names of device attributes begin.
pub const DEVICE_ATTRIBUTE: &str = "device__attribute_";

const fn fact(
    name: &'static str,
    unit: Unit,
    direction: Direction,
    description: &'static str,
) -> Metric {
    Metric { name, unit, direction, class: Class::Exact, origin: Origin::Launch, description }
}

/// Facts about the launch by their names in Nsight Compute.
pub static LAUNCH: &[Metric] = &[
    fact("launch__registers_per_thread", Count, Lower, "registers a thread"),
    fact("launch__block_size", Count, Higher, "threads a block"),
    fact("launch__block_dim_x", Count, Higher, "threads a block in x"),
    fact("launch__block_dim_y", Count, Higher, "threads a block in y"),
    fact("launch__block_dim_z", Count, Higher, "threads a block in z"),
    fact("launch__grid_size", Count, Lower, "blocks of the grid"),
    fact("launch__grid_dim_x", Count, Lower, "blocks of the grid in x"),
    fact("launch__grid_dim_y", Count, Lower, "blocks of the grid in y"),
    fact("launch__grid_dim_z", Count, Lower, "blocks of the grid in z"),
    fact("launch__thread_count", Count, Lower, "threads of the grid"),
    fact("launch__sm_count", Count, Higher, "multiprocessors of the device"),
    fact(
        "launch__waves_per_multiprocessor",
        Ratio,
        Lower,
        "blocks of the grid over blocks resident",
    ),
    fact("launch__shared_mem_per_block_static", Bytes, Lower, "static shared memory a block"),
    fact("launch__shared_mem_per_block_dynamic", Bytes, Lower, "dynamic shared memory a block"),
    fact(
        "launch__shared_mem_per_block_driver",
        Bytes,
        Lower,
        "shared memory that the driver keeps for itself, a block",
    ),
    fact("launch__shared_mem_per_block", Bytes, Lower, "shared memory a block, of all kinds"),
    fact("launch__occupancy_limit_blocks", Count, Higher, "blocks an SM holds by its block slots"),
    fact("launch__occupancy_limit_registers", Count, Higher, "blocks an SM holds by its registers"),
    fact(
        "launch__occupancy_limit_shared_mem",
        Count,
        Higher,
        "blocks an SM holds by its shared memory",
    ),
    fact("launch__cluster_dim_x", Count, Higher, "blocks a cluster in x"),
    fact("launch__cluster_dim_y", Count, Higher, "blocks a cluster in y"),
    fact("launch__cluster_dim_z", Count, Higher, "blocks a cluster in z"),
    fact("launch__cluster_size", Count, Higher, "blocks a cluster"),
    fact("launch__cluster_max_active", Count, Higher, "clusters that the device holds at once"),
    fact(
        "launch__occupancy_cluster_pct",
        Percent,
        Higher,
        "blocks that the device holds with clusters, over those it would without",
    ),
    fact("launch__occupancy_limit_warps", Count, Higher, "blocks an SM holds by its warps"),
    fact(
        "sm__maximum_warps_per_active_cycle_pct",
        Percent,
        Higher,
        "warps an SM holds of this launch, over the most",
    ),
    fact(
        "sm__maximum_warps_avg_per_active_cycle",
        Count,
        Higher,
        "warps an SM holds of this launch",
    ),
];

/// Attributes seen so far; they live as long as the process does.
static ATTRIBUTES: LazyLock<Mutex<BTreeMap<String, &'static Metric>>> =
    LazyLock::new(Mutex::default);

/// The fact or attribute called `name`. Whether a device has the attribute is for its driver to say.
pub(super) fn find(name: &str) -> Option<&'static Metric> {
    let attribute = name.strip_prefix(DEVICE_ATTRIBUTE);
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    match attribute {
        Some(rest) if !rest.is_empty() && rest.chars().all(plain) => Some(device_attribute(name)),
        _ => LAUNCH.iter().find(|metric| metric.name == name),
    }
}

fn device_attribute(name: &str) -> &'static Metric {
    let mut seen = ATTRIBUTES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(metric) = seen.get(name) {
        return metric;
    }
    let leaked: &'static str = Box::leak(name.to_owned().into_boxed_str());
    let metric: &'static Metric = Box::leak(Box::new(Metric {
        name: leaked,
        unit: Count,
        direction: Higher,
        class: Class::Exact,
        origin: Origin::Device,
        description: "attribute of the device; cuda.h describes it as CU_DEVICE_ATTRIBUTE_…",
    }));
    seen.insert(name.to_owned(), metric);
    metric
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_and_attributes_are_found_and_need_no_counter() {
        let names = ["launch__grid_size", "device__attribute_multiprocessor_count"];
        for name in names {
            let metric = crate::metric::find(name).unwrap();
            assert_eq!(metric.name, name);
            assert!(crate::metric::hardware_names(metric).is_empty());
        }
        for name in ["launch__gird_size", "device__attribute_", "device__attribute_X"] {
            assert!(find(name).is_none(), "{name}");
        }
    }
}
