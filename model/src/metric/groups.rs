//! Groups of metrics by the names of Nsight Compute's, `group:memory__…`.
//!
//! Input: a group's name. Output: the metrics that the guide shows in the table or chart of this
//! name, as far as counters of a kernel provide them.

/// Each group and its metrics.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "group:memory__chart",
        &[
            "inst_executed_global_loads",
            "inst_executed_global_stores",
            "inst_executed_local_loads",
            "inst_executed_local_stores",
            "inst_executed_tex_ops",
            "inst_executed_shared_loads",
            "inst_executed_shared_stores",
            "l1tex__t_sector_hit_rate.pct",
            "l2_tex_read_transactions",
            "l2_tex_write_transactions",
            "lts__t_sector_hit_rate.pct",
            "sysmem_read_bytes",
            "sysmem_write_bytes",
            "dram_read_bytes",
            "dram_write_bytes",
        ],
    ),
    (
        "group:memory__shared_table",
        &[
            "inst_executed_shared_loads",
            "inst_executed_shared_stores",
            "inst_executed_shared_atomics",
            "shared_load_transactions",
            "shared_store_transactions",
            "memory_l1_wavefronts_shared",
            "bank_conflicts",
            "shared_utilization",
        ],
    ),
    (
        "group:memory__first_level_cache_table",
        &[
            "global_load_requests",
            "gld_transactions",
            "l1_cache_global_hit_rate",
            "l2_global_load_bytes",
            "global_store_requests",
            "gst_transactions",
            "l1tex__t_sector_pipe_lsu_mem_global_op_st_hit_rate.pct",
            "global_reduction_requests",
            "global_atomic_requests",
            "local_load_requests",
            "local_load_transactions",
            "local_store_requests",
            "local_store_transactions",
            "local_hit_rate",
            "texture_load_requests",
            "tex_cache_requests",
            "texture_cache_hit_rate",
            "surface_load_requests",
            "surface_store_requests",
        ],
    ),
    (
        "group:memory__l2_cache_table",
        &[
            "lts__t_requests_srcunit_tex.sum",
            "lts__t_sectors_op_read.sum",
            "lts__t_sector_op_read_hit_rate.pct",
            "lts__t_sectors_op_write.sum",
            "lts__t_sector_op_write_hit_rate.pct",
            "l2_atomic_transactions",
            "ecc_transactions",
            "l2_read_throughput",
            "l2_write_throughput",
            "l2_utilization",
        ],
    ),
    (
        "group:memory__l2_cache_evict_policy_table",
        &[
            "lts__t_sectors_evict_first.sum",
            "lts__t_sectors_evict_first_lookup_hit.sum",
            "lts__t_sectors_evict_last.sum",
            "lts__t_sectors_evict_last_lookup_hit.sum",
            "lts__t_sectors_evict_normal.sum",
            "lts__t_sectors_evict_normal_lookup_hit.sum",
            "lts__t_sectors_evict_normal_demote.sum",
            "lts__t_sectors_evict_normal_demote_lookup_hit.sum",
        ],
    ),
    (
        "group:memory__dram_table",
        &[
            "dram_read_transactions",
            "dram_write_transactions",
            "dram_read_bytes",
            "dram_write_bytes",
            "dram_read_throughput",
            "dram_write_throughput",
            "dram_utilization",
        ],
    ),
];

/// The metrics of the group `name`; none if no group has this name.
pub fn group(name: &str) -> Option<&'static [&'static str]> {
    GROUPS.iter().find(|(known, _)| *known == name).map(|(_, metrics)| *metrics)
}

/// Every group and its metrics.
pub fn groups() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    GROUPS.iter().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::Catalogue;

    #[test]
    fn every_group_contains_only_metrics() {
        let catalogue = Catalogue::built_in();
        for (group, metrics) in groups() {
            let unknown: Vec<_> = metrics.iter().filter(|m| catalogue.find(m).is_none()).collect();
            assert!(unknown.is_empty() && !metrics.is_empty(), "{group}: {unknown:?}");
        }
        assert!(group("group:memory__none").is_none());
    }
}
