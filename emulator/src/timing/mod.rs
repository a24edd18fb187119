//! The estimated duration of a launch: a function of its execution and of constants of the chip.
//!
//! Input: a program, the counts of its launch, the launch's shape, the chip's [`Rates`]. Output: an
//! [`Estimate`]. The estimate is deterministic: it depends on no clock, no host and no order of
//! host threads.

mod bounds;
mod cost;
mod limit;
mod rates;
mod shape;

pub use limit::Limit;
pub use rates::Rates;
pub use shape::Shape;

use crate::counters::Counts;
use crate::lower::Program;

/// The version of the model: estimates of different versions are not compared.
pub const MODEL: u32 = 1;

/// How long a launch takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Nanoseconds.
    pub duration_ns: f64,
    /// The lower end of the interval.
    pub low_ns: f64,
    /// The upper end of the interval.
    pub high_ns: f64,
    /// The limits, as shares of the duration, the largest first.
    pub limits: Vec<(Limit, f64)>,
    /// The product that it is for, such as `H200`.
    pub chip: &'static str,
    /// Whether the chip's constants were measured on it.
    pub characterised: bool,
}

/// The estimate of a launch; none if its traffic was not recorded.
pub fn estimate(
    program: &Program,
    counts: &Counts,
    shape: Shape,
    rates: &Rates,
) -> Option<Estimate> {
    let limits = bounds::limits(program, counts, shape, rates)?;
    let longest = limits.first().map_or(0.0, |(_, ns)| *ns);
    let duration_ns = rates.launch_ns + longest;
    let mut limits = limits;
    limits.push((Limit::Launch, rates.launch_ns));
    limits.sort_by(|(one, a), (other, b)| b.total_cmp(a).then(one.cmp(other)));
    Some(Estimate {
        duration_ns,
        // Bounds say nothing of latencies; no interval was calibrated yet.
        low_ns: 0.7 * duration_ns,
        high_ns: 4.0 * duration_ns,
        limits: limits.into_iter().map(|(limit, ns)| (limit, ns / duration_ns)).collect(),
        chip: rates.name,
        characterised: rates.characterised,
    })
}
