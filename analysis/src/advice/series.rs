//! Findings on a whole series, from measured neighbours and not from counters.
//!
//! Input: a series and its neighbours. Output: pieces of advice with measured gains, and changes
//! along an axis.

mod gain;
mod limiter;
mod no_effect;
mod occupancy;
mod tail;
mod wording;

use gpuprof_model::advice::Advice;
use gpuprof_model::run::SeriesResult;

use super::neighbours::Neighbours;

/// The identifiers of these findings, each with its content.
pub const FINDINGS: [(&str, &str); 5] = [
    (
        "measured-gain",
        "which value of an axis is the fastest, by how much, and that it was measured",
    ),
    ("no-effect", "that an axis does not change the time by more than 2%, by the intervals"),
    (
        "occupancy-falls",
        "from which value of an axis on fewer warps are resident, and what limits them",
    ),
    (
        "tail-measured",
        "the cost of the last, partly filled wave compared with a grid of whole waves",
    ),
    (
        "limiter-changes",
        "between which values of an axis another unit becomes the nearest its peak",
    ),
];

/// All advice on a series as a whole.
pub(super) fn advise(series: &SeriesResult, neighbours: &Neighbours<'_>) -> Vec<Advice> {
    let mut pieces = gain::advise(series, neighbours);
    pieces.extend(no_effect::advise(series, neighbours));
    pieces.extend(occupancy::advise(series, neighbours));
    pieces.extend(tail::advise(series, neighbours));
    pieces.extend(limiter::advise(series, neighbours));
    pieces
}
