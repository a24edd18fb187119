//! Bounds: the time that each resource needs for a launch if nothing else delays it.

use super::code::Code;
use super::limited_by::Limit;
use super::memory;
use super::pipes::Demand;
use super::rates::Rates;
use super::shape::Shape;
use crate::counters::Counts;

/// Quarters of a multiprocessor, each with its own scheduler.
const QUARTERS: f64 = 4.0;

/// Nanoseconds that each resource needs, the longest first; none if no traffic was recorded.
pub fn limits(
    code: &Code,
    counts: &Counts,
    shape: Shape,
    rates: &Rates,
    updates_ns: f64,
    l2_ns: f64,
) -> Option<Vec<(Limit, f64)>> {
    let traffic = counts.traffic.as_deref()?;
    let counted = &counts.memory;
    let mut demand = Demand::default();
    for (of, count) in code.instructions.iter().zip(&counts.profile) {
        demand.add(&of.cost, count.warps as f64);
    }
    let accesses = [counted.load, counted.store, counted.reduction, counted.atomic, counted.copies];
    let sectors: f64 = accesses.iter().map(|kind| (kind.sectors + kind.repeated) as f64).sum();
    let requests: f64 = accesses.iter().map(|kind| kind.requests as f64).sum();
    let shared =
        [counted.shared_load, counted.shared_store, counted.matrix_loads, counted.matrix_stores];
    let wavefronts: f64 = shared.iter().map(|kind| kind.wavefronts as f64).sum::<f64>()
        + counted.shared_atomics as f64;
    // The busiest multiprocessor has this share of the work.
    let share = shape.blocks_of_sm() as f64 / shape.blocks.max(1) as f64;
    let clocks = |total: f64| total * share / rates.clock_ghz;
    let dram = memory::read_cost(&traffic.read_blocks())
        + memory::written_cost(counts, traffic, shape, rates);
    let mut limits = vec![
        (Limit::Dispatch, shape.blocks as f64 * rates.start_ns(shape.warps)),
        (Limit::Issue, clocks(demand.issue_clocks() / QUARTERS)),
        (Limit::Pipe, clocks(demand.clocks() / QUARTERS)),
        (Limit::L1, clocks((sectors / 4.0).max(requests))),
        (Limit::Shared, clocks(code.shared_accesses * wavefronts)),
        (Limit::L2, l2_ns),
        (Limit::Dram, dram / rates.dram_bytes_per_ns),
        (Limit::Atomics, updates_ns),
    ];
    limits.sort_by(|(one, a), (other, b)| b.total_cmp(a).then(one.cmp(other)));
    Some(limits)
}
