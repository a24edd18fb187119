//! What the last wave costs: beside a smaller grid whose waves are whole.
//!
//! A smaller grid that moves more work a second cannot owe it to its size, which favours the larger
//! one. What it gains is at most what the larger one leaves idle in its last wave.

use gpuprof_model::advice::{Advice, Gain};
use gpuprof_model::metric::Class;
use gpuprof_model::run::SeriesResult;
use gpuprof_model::threshold::Statistic;

use super::told::{piece, place};
use crate::advice::neighbours::Neighbours;
use crate::advice::template::number;
use crate::gate::change::{Evidence, Side};
use crate::view::best::value;
use crate::view::sensitivity::independent_axes;

/// A grid has whole waves where it leaves at most this part of the device idle in them.
const WHOLE: f64 = 0.02;

/// The rates that a tail lowers.
const RATES: [&str; 2] = ["throughput", "flop_rate"];

/// The costliest tail along each axis that changes the work.
pub(super) fn found(series: &SeriesResult, neighbours: &Neighbours<'_>) -> Vec<Advice> {
    let axes = independent_axes(series);
    let mut pieces = Vec::new();
    for axis in axes {
        let all = neighbours.bests().into_iter();
        let found = all.filter_map(|at| of_row(series, neighbours, at, axis));
        pieces.extend(found.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, piece)| piece));
    }
    pieces
}

/// The part of the waves of a grid that is idle: of `waves` 1.2, 0.4.
fn idle(waves: f64) -> f64 {
    (waves.ceil() - waves) / waves.ceil()
}

/// What the tail of the configuration at `at` costs, in percent of its time.
fn of_row(
    series: &SeriesResult,
    neighbours: &Neighbours<'_>,
    at: usize,
    axis: &str,
) -> Option<(f64, Advice)> {
    let waves = |at: usize| value(neighbours.row(at), "waves").filter(|waves| *waves >= 1.0);
    let own = waves(at)?;
    let work = |at: usize, rate: &str| {
        let of = if rate == "throughput" { "bytes" } else { "flops" };
        value(neighbours.row(at), of)
    };
    let rate = RATES.into_iter().find(|rate| value(neighbours.row(at), rate).is_some())?;
    let differs_in_axis = |other: usize| {
        let pairs = neighbours.row(other).configuration.0.iter();
        pairs.filter(|(name, _)| !series.dependent_axes.contains(name)).all(|(name, value)| {
            (name == axis) != (neighbours.row(at).configuration.get(name) == Some(value))
        })
    };
    let smaller = (0..series.configurations.len()).filter(|&other| {
        other != at
            && differs_in_axis(other)
            && waves(other).is_some_and(|waves| idle(waves) <= WHOLE)
            && work(other, rate) < work(at, rate)
    });
    let whole = smaller.max_by(|a, b| {
        work(*a, rate).partial_cmp(&work(*b, rate)).unwrap_or(std::cmp::Ordering::Equal)
    })?;
    let side = |at: usize| Side::of(neighbours.row(at), rate, Statistic::Median).ok();
    let evidence = Evidence::of(Class::Noisy, &side(whole)?, &side(at)?);
    let percent = evidence.confidence?.percent;
    let loss = -evidence.percent?;
    let possible = 100.0 * idle(own);
    // Surely slower, and by no more than the tail can be the reason of.
    if !(percent.high < 0.0 && loss >= 1.0 && loss <= possible) {
        return None;
    }
    let message = format!(
        "the tail wave costs {}% at {}: {} waves leave {}% of the device idle, and {}, whose waves are \
         whole, has that much more {rate}",
        number(loss, Some(0)),
        place(neighbours, at, axis),
        number(own, Some(2)),
        number(possible, Some(0)),
        place(neighbours, whole, axis),
    );
    let gain = Some(Gain::Measured { factor: 1.0 / (1.0 - loss / 100.0), interval: None });
    let about = (&[at, whole][..], &[rate, "waves"][..]);
    Some((loss, piece(("tail-measured", "tail wave"), message, gain, about, neighbours)))
}
