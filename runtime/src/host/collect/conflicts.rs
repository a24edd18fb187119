//! Bank conflicts of shared loads and stores, by counts of each machine instruction.
//!
//! Input: the counts of a measured range. Output: the conflicts of its loads and of its stores, or
//! why they are not known. CUPTI's ideal is that of the same bytes without gaps. It is exact for
//! up to 4 bytes a thread and for full warps; where a part of a warp accesses 8 or 16 bytes a
//! thread it may be too low, but never too high.

use std::collections::BTreeMap;

use gpuprof_cupti::sass::SassCount;
use gpuprof_model::measurement::HardwareValue;
use gpuprof_model::metric::DIVERGENT_BRANCHES;

/// The metrics, in the order of the places below.
pub(super) const METRICS: [&str; 12] = [
    "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared",
    "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal",
    "smsp__sass_inst_executed_op_shared_ld",
    "smsp__sass_inst_executed_op_shared_st",
    "smsp__sass_inst_executed_op_shared",
    "smsp__sass_thread_inst_executed_op_shared_pred_on",
    "smsp__sass_inst_executed_op_memory_8b",
    "smsp__sass_inst_executed_op_memory_16b",
    "smsp__sass_inst_executed_op_memory_32b",
    "smsp__sass_inst_executed_op_ldsm",
    "smsp__sass_inst_executed_op_shared_stsm",
    "smsp__sass_branch_targets_threads_divergent",
];

const WAVEFRONTS: usize = 0;
const IDEAL: usize = 1;
const LOADS: usize = 2;
const STORES: usize = 3;
const REQUESTS: usize = 4;
const THREADS: usize = 5;
const NARROW: [usize; 3] = [6, 7, 8];
const MATRICES: [usize; 2] = [9, 10];
const DIVERGENT: usize = 11;

/// Without the others an access counts as wide, and no matrix is moved.
const REQUIRED: [usize; 6] = [WAVEFRONTS, IDEAL, LOADS, STORES, REQUESTS, THREADS];

/// The operations, with what is counted of each.
const OPERATIONS: [(&str, &str, usize); 2] = [("ld", "loads", LOADS), ("st", "stores", STORES)];

/// The bank conflicts in `counts`, by the names of their counters, and the divergent branches:
/// without any, patching moved nothing. A chip does not have the metrics at the positions
/// `missing`.
pub(super) fn count_conflicts(
    counts: &[SassCount],
    missing: &[usize],
) -> BTreeMap<String, HardwareValue> {
    let mut instructions: BTreeMap<(u32, &str, u64), [u64; METRICS.len()]> = BTreeMap::new();
    for SassCount { cubin, function, offset, metric, value } in counts {
        instructions.entry((*cubin, function, *offset)).or_default()[*metric] += value;
    }
    let lacking = REQUIRED.iter().find(|it| missing.contains(it)).map(|it| METRICS[*it]);
    let one = |(op, words, executed): (&str, &str, usize)| {
        let found = match lacking {
            Some(name) => Err(format!("CUPTI has no `{name}` for this GPU")),
            None => in_all(instructions.values(), executed).ok_or_else(|| {
                format!(
                    "some shared {words} of 8 or 16 bytes a thread have only a part of their \
                     warps: CUPTI's count may be too large for those; \
                     `most_bank_conflicts_{op}` is a limit"
                )
            }),
        };
        let value = found.map_or_else(HardwareValue::Unavailable, value);
        (format!("sass__shared_bank_conflicts_op_{op}.sum"), value)
    };
    let divergent = instructions.values().map(|it| it[DIVERGENT]).sum();
    let divergent = (DIVERGENT_BRANCHES.to_owned(), value(divergent));
    let divergent = (!missing.contains(&DIVERGENT)).then_some(divergent);
    OPERATIONS.into_iter().map(one).chain(divergent).collect()
}

#[expect(clippy::cast_precision_loss, reason = "exact below 2^53")]
fn value(count: u64) -> HardwareValue {
    HardwareValue::Value(count as f64)
}

/// The conflicts in those of `instructions` that `executed` counts; none if they may be fewer.
fn in_all<'c>(
    instructions: impl Iterator<Item = &'c [u64; METRICS.len()]>,
    executed: usize,
) -> Option<u64> {
    let moves_matrix = |it: &[u64]| MATRICES.iter().any(|at| it[*at] > 0);
    let own = instructions.filter(|it| it[executed] > 0 && !moves_matrix(&it[..]));
    own.map(|it| {
        let conflicts = it[WAVEFRONTS].saturating_sub(it[IDEAL]);
        let is_narrow = NARROW.iter().any(|at| it[*at] > 0);
        let is_full = it[THREADS] == 32 * it[REQUESTS];
        (conflicts == 0 || is_narrow || is_full).then_some(conflicts)
    })
    .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The counts of instructions, by the places of metrics.
    fn counts(instructions: &[&[(usize, u64)]]) -> Vec<SassCount> {
        let of = |(at, counts): (usize, &&[(usize, u64)])| {
            let one = move |&(metric, value): &(usize, u64)| SassCount {
                cubin: 1,
                function: "k".to_owned(),
                offset: 16 * at as u64,
                metric,
                value,
            };
            counts.iter().map(one).collect::<Vec<_>>()
        };
        instructions.iter().enumerate().flat_map(of).collect()
    }

    fn of_loads(instructions: &[&[(usize, u64)]], missing: &[usize]) -> Result<f64, String> {
        match &count_conflicts(&counts(instructions), missing)["sass__shared_bank_conflicts_op_ld.sum"]
        {
            HardwareValue::Value(value) => Ok(*value),
            HardwareValue::Unavailable(reason) => Err(reason.clone()),
        }
    }

    /// Loads of half a warp, with conflicts.
    const HALF: [(usize, u64); 5] =
        [(WAVEFRONTS, 10), (IDEAL, 3), (LOADS, 2), (REQUESTS, 2), (THREADS, 32)];

    #[test]
    fn conflicts_are_exact_for_narrow_accesses_full_warps_and_no_excess() {
        let wide = of_loads(&[&HALF], &[]).unwrap_err();
        assert!(wide.starts_with("some shared loads of 8 or 16 bytes a thread"), "{wide}");
        for width in NARROW {
            assert_eq!(of_loads(&[&[&HALF[..], &[(width, 2)]].concat()], &[]), Ok(7.0));
        }
        let full = [&HALF[..], &[(THREADS, 32)]].concat();
        assert_eq!(of_loads(&[&full], &[]), Ok(7.0));
        let without = [&HALF[..], &[(IDEAL, 7)]].concat();
        assert_eq!(of_loads(&[&full, &without], &[]), Ok(7.0));
        assert_eq!(of_loads(&[], &[]), Ok(0.0));
    }

    #[test]
    fn matrices_and_other_operations_do_not_count() {
        for at in MATRICES {
            assert_eq!(of_loads(&[&[&HALF[..], &[(at, 2)]].concat()], &[]), Ok(0.0));
        }
        let stores = [(WAVEFRONTS, 10), (IDEAL, 3), (STORES, 2), (REQUESTS, 2)];
        assert_eq!(of_loads(&[&stores], &[]), Ok(0.0));
    }

    #[test]
    fn divergent_branches_are_reported_if_the_chip_counts_them() {
        let counts = counts(&[&[(DIVERGENT, 3)], &[(DIVERGENT, 4)]]);
        assert_eq!(count_conflicts(&counts, &[])[DIVERGENT_BRANCHES], HardwareValue::Value(7.0));
        assert!(!count_conflicts(&counts, &[DIVERGENT]).contains_key(DIVERGENT_BRANCHES));
    }

    #[test]
    fn a_metric_missing_on_a_chip_is_an_error_and_not_zero() {
        let reason = of_loads(&[], &[WAVEFRONTS]).unwrap_err();
        assert!(reason.contains(METRICS[WAVEFRONTS]), "{reason}");
        let full = [&HALF[..], &[(THREADS, 32)]].concat();
        assert_eq!(of_loads(&[&full], &NARROW), Ok(7.0));
    }
}
