//! Counts in PTX that correspond to hardware counts in machine code.
//!
//! Input: the name of a hardware counter. Output: our metric with the corresponding count of a
//! kernel's PTX, for readers without a GPU. Their values differ: ptxas rewrites the PTX.

use std::fmt;

use super::Direction;

/// Prefixes of counter names, and the corresponding PTX metric.
const COUNTERPARTS: [(&str, &str); 31] = [
    ("smsp__sass_average_branch_targets_threads_uniform", "ptx_branch_divergence"),
    ("smsp__sass_branch_targets_threads_divergent", "ptx_branch_divergence"),
    ("smsp__sass_branch_targets_threads_uniform", "ptx_branch_divergence"),
    ("smsp__branch_targets_threads_divergent", "ptx_branch_divergence"),
    ("smsp__branch_targets_threads_uniform", "ptx_branch_divergence"),
    ("smsp__sass_inst_executed_op_branch.", "ptx__branches.sum"),
    ("smsp__sass_branch_targets.", "ptx__branches.sum"),
    ("smsp__thread_inst_executed_per_inst_executed", "ptx_warp_efficiency"),
    ("smsp__sass_thread_inst_executed.", "ptx__thread_inst_executed.sum"),
    ("smsp__thread_inst_executed.", "ptx__thread_inst_executed.sum"),
    ("smsp__sass_thread_inst_executed_pred_on.", "ptx__thread_inst_executed_pred_on.sum"),
    ("smsp__thread_inst_executed_pred_on.", "ptx__thread_inst_executed_pred_on.sum"),
    ("smsp__sass_inst_executed.", "ptx_instructions"),
    ("smsp__inst_executed.", "ptx_instructions"),
    ("sm__inst_executed.", "ptx_instructions"),
    ("smsp__sass_thread_inst_executed_op_fp64", "ptx_fp64_flops"),
    ("smsp__sass_thread_inst_executed_op_f", "ptx_fp32_flops"),
    ("smsp__sass_thread_inst_executed_ops_f", "ptx_fp32_flops"),
    ("smsp__sass_thread_inst_executed_op_d", "ptx_fp64_flops"),
    ("smsp__sass_thread_inst_executed_ops_d", "ptx_fp64_flops"),
    ("smsp__inst_executed_pipe_fp64", "ptx_fp64_flops"),
    ("smsp__sass_inst_executed_op_local.", "ptx__local_ld.sum"),
    ("smsp__sass_l1tex_t_sectors_pipe_lsu_mem_local_op_ld", "ptx__local_ld.sum"),
    ("smsp__sass_l1tex_t_sectors_pipe_lsu_mem_local_op_st", "ptx__local_st.sum"),
    ("l1tex__t_sectors_pipe_lsu_mem_local_op_ld", "ptx__local_ld.sum"),
    ("l1tex__t_sectors_pipe_lsu_mem_local_op_st", "ptx__local_st.sum"),
    ("smsp__sass_inst_executed_op_local_ld.", "ptx__local_ld.sum"),
    ("smsp__sass_inst_executed_op_local_st.", "ptx__local_st.sum"),
    ("smsp__sass_inst_executed_op_shared_atom.", "ptx__inst_executed_op_shared_atom.sum"),
    ("smsp__sass_inst_executed_op_ldsm.", "ptx__matrix_loads.sum"),
    ("smsp__sass_inst_executed_op_ldgsts.", "ptx__async_copies.sum"),
];

/// A metric of a kernel's PTX that corresponds to a hardware counter of its machine code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counterpart {
    /// Its name.
    pub metric: &'static str,
    /// Whether it counts the complement of the counter: it is high if the other is low.
    pub opposite: bool,
}

impl Counterpart {
    /// The counterpart of a metric derived from the counter that is better in `direction`: a metric
    /// that is better if lower has reversed the counter already.
    #[must_use]
    pub fn of_metric(self, direction: Direction) -> Self {
        Self { opposite: self.opposite && direction != Direction::Lower, ..self }
    }
}

impl fmt::Display for Counterpart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let relation = if self.opposite { "the opposite" } else { "the nearest" };
        write!(f, "`{}` is {relation} count in PTX", self.metric)
    }
}

/// The metric of a kernel's PTX that corresponds to the hardware counter `name`, if the emulator
/// has one.
pub fn counterpart(name: &str) -> Option<Counterpart> {
    let found = COUNTERPARTS.iter().find(|(begins, _)| name.starts_with(begins));
    found.map(|(_, metric)| Counterpart { metric, opposite: name.contains("_threads_uniform") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::{Catalogue, built_in};

    #[test]
    fn every_counterpart_is_a_metric_that_the_emulator_counts() {
        let catalogue = Catalogue::built_in();
        for (begins, name) in COUNTERPARTS {
            let metric = built_in(name).unwrap_or_else(|| panic!("{begins}: no metric {name}"));
            assert!(catalogue.hardware_names(&metric).is_empty(), "{name} needs a GPU");
            let found = counterpart(&format!("{begins}sum")).unwrap();
            assert_eq!(found.metric, name);
            assert_eq!(found.opposite, begins.ends_with("uniform"), "{begins}");
        }
    }

    #[test]
    fn an_old_name_leads_to_the_nearest_emulated_metric() {
        let of = |name: &str| {
            let metric = built_in(name).unwrap();
            let counters = Catalogue::built_in().hardware_names(&metric);
            let found = counters.iter().find_map(|counter| counterpart(counter))?;
            Some(found.of_metric(metric.direction).to_string())
        };
        let told = |words: &str| Some(format!("`{words} count in PTX"));
        assert_eq!(of("divergent_branches"), told("ptx_branch_divergence` is the nearest"));
        assert_eq!(of("branch_efficiency"), told("ptx_branch_divergence` is the opposite"));
        assert_eq!(of("inst_executed"), told("ptx_instructions` is the nearest"));
        assert_eq!(of("inst_fp_64"), told("ptx_fp64_flops` is the nearest"));
        let local = counterpart("smsp__sass_inst_executed_op_local.sum").unwrap();
        assert_eq!(local.metric, "ptx__local_ld.sum");
        assert_eq!(of("dram_utilization"), None);
    }
}
