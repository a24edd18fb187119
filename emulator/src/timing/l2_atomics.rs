//! The time of atomics in L2.

use super::code::Code;
use super::rates::Rates;
use crate::counters::Counts;
use crate::lower::Program;
use crate::lower::inst::{AtomicOp, Op, Scalar};

/// Nanoseconds that L2 needs for the atomics of a launch.
///
/// Floats are summed more slowly. If all lanes of a warp update one address by integers, ptxas has
/// merged them where it knows that the address is the same.
pub fn ns(program: &Program, code: &Code, counts: &Counts, rates: &Rates) -> f64 {
    let Some(traffic) = counts.traffic.as_deref() else { return 0.0 };
    let executed = program.code.iter().zip(&counts.profile).filter(|(_, count)| count.warps > 0);
    let sums_floats = executed.clone().any(|(inst, _)| match inst.op {
        Op::Atomic(atomic) => {
            atomic.op == AtomicOp::Add && matches!(atomic.ty, Scalar::F32 | Scalar::F64)
        }
        _ => false,
    });
    let (rate, merged) = if sums_floats {
        (rates.slice_float_sums_per_ns, 0)
    } else if code.merges_updates {
        (rates.slice_updates_per_ns, traffic.mergeable_updates())
    } else {
        (rates.slice_updates_per_ns, 0)
    };
    let busiest = traffic.hottest_updates().saturating_sub(merged).max(1) as f64 / rate;
    let all = (traffic.updates() - merged) as f64;
    let (returning, others) = (counts.memory.atomic.requests, counts.memory.reduction.requests);
    let returning = returning as f64 / (returning + others).max(1) as f64;
    let evenly = all
        * (returning / rates.returning_updates_per_ns + (1.0 - returning) / rates.updates_per_ns);
    // As many slices work as there would be if all had as many atomics as the busiest, but some of
    // them coincide.
    if all == 0.0 { 0.0 } else { evenly / (1.0 - (-evenly / busiest).exp()) }
}
