//! The cost of the last wave, compared with a smaller grid of whole waves.
//!
//! If a smaller grid does more work per second, its size is not the cause, since size favours the
//! larger grid. Its gain is at most the idle part of the larger grid's last wave.

use std::collections::HashMap;

use gpuprof_model::advice::{Advice, Gain};
use gpuprof_model::axis::AxisValue;
use gpuprof_model::metric::Class;
use gpuprof_model::run::SeriesResult;
use gpuprof_model::threshold::Statistic;

use super::wording::{piece, place};
use crate::advice::neighbours::Neighbours;
use crate::advice::template::number;
use crate::compared_pair::{Evidence, Side};
use crate::view::best::value;
use crate::view::sensitivity::independent_axes;

/// A grid has whole waves where it leaves at most this part of the device idle in them.
const WHOLE: f64 = 0.02;

/// The rates that a tail lowers.
const RATES: [&str; 2] = ["throughput", "flop_rate"];

/// The costliest tail along each axis that changes the work.
pub(super) fn advise(series: &SeriesResult, neighbours: &Neighbours<'_>) -> Vec<Advice> {
    let axes = independent_axes(series);
    let mut pieces = Vec::new();
    for axis in axes {
        let whole = WholeWaves::along(series, neighbours, axis);
        let all = neighbours.bests().into_iter();
        let found = all.filter_map(|at| of_row(&whole, neighbours, at));
        pieces.extend(found.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, piece)| piece));
    }
    pieces
}

/// The configurations with whole waves, grouped by a single varying axis, with the work behind a
/// rate, in its order.
struct WholeWaves<'n> {
    series: &'n SeriesResult,
    axis: &'n str,
    known: HashMap<(&'static str, Key<'n>), Vec<(f64, usize)>>,
}

/// The axes of a configuration without one.
type Key<'n> = Vec<&'n (String, AxisValue)>;

impl<'n> WholeWaves<'n> {
    fn along(series: &'n SeriesResult, neighbours: &Neighbours<'_>, axis: &'n str) -> Self {
        let mut whole = Self { series, axis, known: HashMap::new() };
        let is_whole =
            |at: &usize| waves(neighbours, *at).is_some_and(|waves| idle(waves) <= WHOLE);
        for at in (0..series.configurations.len()).filter(is_whole) {
            for rate in RATES {
                if let Some(work) = work(neighbours, at, rate) {
                    whole.known.entry((rate, whole.key(at))).or_default().push((work, at));
                }
            }
        }
        whole.known.values_mut().for_each(|rows| rows.sort_by(|a, b| a.0.total_cmp(&b.0)));
        whole
    }

    fn key(&self, at: usize) -> Key<'n> {
        let dependent = |name: &String| self.series.dependent_axes.contains(name);
        let pairs = self.series.configurations[at].configuration.0.iter();
        pairs.filter(|(name, _)| name != self.axis && !dependent(name)).collect()
    }

    /// The one with the most work of those with less than the configuration at `at`.
    fn below(&self, at: usize, rate: &'static str, work: f64) -> Option<usize> {
        let rows = self.known.get(&(rate, self.key(at)))?;
        rows[..rows.partition_point(|(less, _)| *less < work)].last().map(|(_, row)| *row)
    }
}

/// How many waves the grid of the configuration at `at` has, if it fills one.
fn waves(neighbours: &Neighbours<'_>, at: usize) -> Option<f64> {
    value(neighbours.row(at), "waves").filter(|waves| *waves >= 1.0)
}

/// The work of the configuration at `at` that is behind `rate`.
fn work(neighbours: &Neighbours<'_>, at: usize, rate: &str) -> Option<f64> {
    let work = if rate == "throughput" { "bytes" } else { "flops" };
    value(neighbours.row(at), work)
}

/// The part of the waves of a grid that is idle: of `waves` 1.2, 0.4.
fn idle(waves: f64) -> f64 {
    (waves.ceil() - waves) / waves.ceil()
}

/// The cost of the tail of the configuration at `at`, in percent of its time.
fn of_row(whole: &WholeWaves<'_>, neighbours: &Neighbours<'_>, at: usize) -> Option<(f64, Advice)> {
    let axis = whole.axis;
    let own = waves(neighbours, at)?;
    let rate = RATES.into_iter().find(|rate| value(neighbours.row(at), rate).is_some())?;
    let whole = whole.below(at, rate, work(neighbours, at, rate)?)?;
    let side = |at: usize| Side::from_row(neighbours.row(at), rate, Statistic::Median).ok();
    let evidence = Evidence::compare(Class::Noisy, &side(whole)?, &side(at)?);
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
