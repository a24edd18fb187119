//! The measured gain of an axis: its best value next to its worst.

use gpuprof_model::advice::{Advice, Gain};
use gpuprof_model::comparison::Interval;
use gpuprof_model::run::SeriesResult;

use super::wording::{others, piece, place};
use crate::advice::neighbours::Neighbours;
use crate::advice::template::number;
use crate::view::best;
use crate::view::sensitivity::independent_axes;

/// Less than this factor is not a gain worth a line.
const LEAST: f64 = 1.02;

/// One piece for each axis that does not change the work, at the most work.
pub(super) fn advise(series: &SeriesResult, neighbours: &Neighbours<'_>) -> Vec<Advice> {
    let axes = independent_axes(series);
    axes.into_iter().filter_map(|axis| of_axis(series, neighbours, axis)).collect()
}

fn of_axis(series: &SeriesResult, neighbours: &Neighbours<'_>, axis: &str) -> Option<Advice> {
    let metric = neighbours.metric?;
    let group = neighbours.largest()?;
    let best = group.best?;
    let along = neighbours.along(group, best, axis);
    let direction = best::direction(&series.configurations, metric)?;
    let ratio = |at: usize| {
        let (own, of_best) =
            (best::value(neighbours.row(at), metric)?, best::value(neighbours.row(best), metric)?);
        direction.times_worse(own, of_best)
    };
    let worse = along.iter().filter_map(|&at| Some((at, ratio(at)?)));
    let (worst, factor) = worse.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let sure = neighbours.is_surely_better(best, worst, group.rows.len());
    if !factor.is_finite() || factor < LEAST || !sure {
        return None;
    }
    let (_, evidence) = neighbours.evidence(best, worst)?;
    let confidence = evidence.confidence?;
    let interval = of_factor(confidence.percent)?;
    let (winner, loser) = (place(neighbours, best, axis), place(neighbours, worst, axis));
    let message = format!(
        "{winner} is {}× as fast as {loser}{}, measured ({:.2}–{:.2}×, {} processes each)",
        number(factor, Some(2)),
        others(series, neighbours, best, axis),
        interval.low,
        interval.high,
        confidence.baseline_processes.min(confidence.processes)
    );
    let gain = Some(Gain::Measured { factor, interval: Some(interval) });
    let about = (&[best, worst][..], &[metric][..]);
    Some(piece(("measured-gain", "measured gain"), message, gain, about, neighbours))
}

/// The interval of how many times as fast the best is, from that of the change of the time in
/// percent from the best to the worst.
fn of_factor(percent: Interval) -> Option<Interval> {
    let factor = |percent: f64| 1.0 + percent / 100.0;
    let (low, high) = (factor(percent.low), factor(percent.high));
    let sound = low.is_finite() && high.is_finite() && 0.0 < low && low <= high;
    sound.then_some(Interval { low, high, level: percent.level })
}
