//! Launch facts and device attributes by Nsight Compute's names. The driver reports them without a
//! pass.
//!
//! Input: `launch__…` or `device__attribute_…`. Output: a metric whose values are in
//! [`crate::measurement::LaunchFacts`] and [`crate::measurement::DeviceRecord`].

use crate::metric::attributes::{self, DEVICE_ATTRIBUTE};
use crate::metric::entry::Direction::{self, Higher, Lower, Neither};
use crate::metric::entry::{Class, Metric, Needs, Row};
use crate::metric::links;
use crate::quantity::Unit::{self, Bytes, Count, Percent, Ratio};

const fn fact(
    name: &'static str,
    unit: Unit,
    direction: Direction,
    description: &'static str,
) -> Row {
    Row { name, unit, direction, class: Class::Exact, needs: Needs::Launch, description }
}

/// Facts about the launch by their names in Nsight Compute.
const LAUNCH: &[Row] = &[
    fact("launch__registers_per_thread", Count, Lower, "registers a thread"),
    fact("launch__block_size", Count, Neither, "threads a block"),
    fact("launch__block_dim_x", Count, Neither, "threads a block in x"),
    fact("launch__block_dim_y", Count, Neither, "threads a block in y"),
    fact("launch__block_dim_z", Count, Neither, "threads a block in z"),
    fact("launch__grid_size", Count, Neither, "blocks of the grid"),
    fact("launch__grid_dim_x", Count, Neither, "blocks of the grid in x"),
    fact("launch__grid_dim_y", Count, Neither, "blocks of the grid in y"),
    fact("launch__grid_dim_z", Count, Neither, "blocks of the grid in z"),
    fact("launch__thread_count", Count, Neither, "threads of the grid"),
    fact("launch__sm_count", Count, Neither, "multiprocessors of the device"),
    fact(
        "launch__waves_per_multiprocessor",
        Ratio,
        Neither,
        "blocks of the grid over blocks resident",
    ),
    fact("launch__shared_mem_per_block_static", Bytes, Lower, "static shared memory a block"),
    fact("launch__shared_mem_per_block_dynamic", Bytes, Lower, "dynamic shared memory a block"),
    fact(
        "launch__shared_mem_per_block_driver",
        Bytes,
        Neither,
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
    fact(
        "launch__occupancy_limit_barriers",
        Count,
        Higher,
        "blocks an SM holds by its barriers, if a block uses one",
    ),
    fact("launch__cluster_dim_x", Count, Neither, "blocks a cluster in x"),
    fact("launch__cluster_dim_y", Count, Neither, "blocks a cluster in y"),
    fact("launch__cluster_dim_z", Count, Neither, "blocks a cluster in z"),
    fact("launch__cluster_size", Count, Neither, "blocks a cluster"),
    fact("launch__cluster_max_potential_size", Count, Neither, "blocks that a cluster can have"),
    fact(
        "launch__cluster_scheduling_policy",
        Count,
        Neither,
        "how blocks of a cluster are spread: 0 as the driver chooses, 1 spread, 2 balanced",
    ),
    fact("launch__context_id", Count, Neither, "the context's number in its process"),
    fact("launch__stream_id", Count, Neither, "the stream's number in its context"),
    fact(
        "launch__occupancy_cluster_gpu_pct",
        Percent,
        Higher,
        "warps that the device holds with clusters, over the most it holds",
    ),
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
    fact(
        "smsp__maximum_warps_avg_per_active_cycle",
        Ratio,
        Higher,
        "warps a scheduler holds of this launch",
    ),
];

/// Our short names of facts about the launch, and Nsight Compute's of the same.
const SHORT_NAMES: &[(&str, &str)] = &[
    ("registers", "launch__registers_per_thread"),
    ("static_shared", "launch__shared_mem_per_block_static"),
    ("dynamic_shared", "launch__shared_mem_per_block_dynamic"),
    ("waves", "launch__waves_per_multiprocessor"),
    ("theoretical_occupancy", "sm__maximum_warps_per_active_cycle_pct"),
];

/// The fact that is `short` in our table.
pub(super) fn by_its_short_name(short: &str) -> Option<&'static str> {
    SHORT_NAMES.iter().find(|(name, _)| *name == short).map(|(_, fact)| *fact)
}

/// Every fact about the launch.
pub fn launch_facts() -> impl Iterator<Item = Metric> {
    LAUNCH.iter().map(Row::metric)
}

/// Whether only the driver can provide the metric `name`: no counter has such a name.
pub(super) fn is_of_driver(name: &str) -> bool {
    ["launch__", "device__", "nvlink__"].iter().any(|unit| name.starts_with(unit))
}

/// The fact or attribute called `name`.
pub(super) fn find(name: &str) -> Option<Metric> {
    match name.strip_prefix(DEVICE_ATTRIBUTE) {
        Some(attribute) => attributes::find(attribute),
        None => LAUNCH
            .iter()
            .find(|row| row.name == name)
            .map(Row::metric)
            .or_else(|| links::find(name)),
    }
}

#[cfg(test)]
mod tests {
    use crate::metric::Catalogue;

    #[test]
    fn facts_and_attributes_are_found_and_need_no_counter() {
        let catalogue = Catalogue::built_in();
        let names = ["launch__grid_size", "device__attribute_multiprocessor_count"];
        for name in names {
            let metric = catalogue.find(name).unwrap();
            assert_eq!(metric.name, name);
            assert!(catalogue.hardware_names(&metric).is_empty());
        }
        for (name, near) in [
            ("launch__gird_size", "launch__grid_size"),
            ("launch__grid_size.sum", "launch__grid_size"),
            ("device__attribute_warp_sise", "device__attribute_warp_size"),
        ] {
            assert!(catalogue.find(name).is_none(), "{name}");
            let message = catalogue.unknown(name);
            let expected = format!("no metric is named `{name}`: did you mean `{near}`");
            assert!(message.starts_with(&expected), "{message}");
        }
        assert!(catalogue.find("device__attribute_").is_none());
    }
}
