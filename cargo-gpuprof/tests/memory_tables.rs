//! The counters of the memory chart and tables compared with those of Nsight Compute's groups
//! `memory__*`, as one H200 counted both for the examples (`docs/scripts/memory-against-ncu.sh`).

use std::collections::{BTreeMap, BTreeSet};

use gpuprof_catalogue::sections::Sections;
use serde::Deserialize;

use crate::sections::counters;

/// Counts, ratios and hit rates of 38 configurations.
#[derive(Deserialize)]
struct Golden {
    names: Vec<String>,
    /// Events that no launch causes, so both count 0 everywhere.
    zero: BTreeSet<String>,
    /// By configuration, in the order of `names`: ours, and those of Nsight Compute.
    rows: BTreeMap<String, [Vec<f64>; 2]>,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("golden/h200-memory-tables.json")).expect("it is golden")
}

#[test]
fn memory_tables_agree_with_nsight_compute_except_known_differences() {
    let Golden { names, rows, .. } = golden();
    assert_eq!(rows.len(), 38);
    let median_difference = |at: usize| {
        let mut all: Vec<f64> =
            rows.values().map(|[ours, ncu]| difference(ours[at], ncu[at])).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let differs = (0..names.len()).filter(|&at| median_difference(at) > 0.005);
    let differs: Vec<&str> = differs.map(|at| names[at].as_str()).collect();
    // All of them count the former contents of the L2, and the traffic between its two halves.
    let expected = [
        "lts__t_requests.sum",
        "lts__t_sector_hit_rate.pct",
        "lts__t_sectors.sum",
        "lts__t_sectors_evict_first.sum",
        "lts__t_sectors_evict_first_lookup_hit.sum",
        "lts__t_sectors_evict_normal_lookup_hit.sum",
        "lts__t_sectors_lookup_hit.sum",
        "lts__t_sectors_srcunit_ltcfabric.sum",
    ];
    assert_eq!(differs, expected);
}

fn difference(a: f64, b: f64) -> f64 {
    if a == b { 0.0 } else { (a - b).abs() / a.abs().max(b.abs()) }
}

#[test]
fn every_count_of_the_chart_and_the_tables_was_compared() {
    let Golden { names, zero, .. } = golden();
    let sections = Sections::built_in().expect("the sections are right");
    let catalogue = sections.catalogue_on("GH100");
    let chart_and_tables = ["MemoryChart", "MemoryTables", "FullMemoryTables"];
    let of = sections.iter().filter(|section| chart_and_tables.contains(&&*section.id));
    let all: BTreeSet<_> = of.flat_map(|s| counters(&catalogue, s, "GH100")).collect();
    let is_rate = |name: &str| name.ends_with("per_second") || name.contains(".pct_of_peak");
    let known = |name: &str| zero.contains(name) || names.iter().any(|other| other == name);
    let alone: Vec<&str> =
        all.iter().map(|name| &**name).filter(|name| !is_rate(name) && !known(name)).collect();
    // Nsight Compute's groups do not have these.
    let expected = [
        "lts__t_sector_op_read_hit_rate.pct",
        "lts__t_sector_op_write_hit_rate.pct",
        "lts__t_sectors_op_read.sum",
        "lts__t_sectors_op_write.sum",
        "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_local_op_ld.sum",
        "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_local_op_st.sum",
    ];
    assert_eq!(alone, expected);
}
