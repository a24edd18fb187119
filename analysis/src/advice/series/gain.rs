//! The measured gain of an axis: its best value beside its worst.

use gpuprof_model::advice::{Advice, Gain};
use gpuprof_model::comparison::Interval;
use gpuprof_model::metric::{Class, Direction};
use gpuprof_model::run::SeriesResult;

use super::told::{others, piece, place};
use crate::advice::neighbours::Neighbours;
use crate::advice::template::number;
use crate::view::best;
use crate::view::sensitivity::independent_axes;

/// Less than this factor is no gain worth a line.
const LEAST: f64 = 1.02;

/// One piece for each axis that does not change the work, at the most work.
pub(super) fn found(series: &SeriesResult, neighbours: &Neighbours<'_>) -> Vec<Advice> {
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
    let (class, evidence) = neighbours.evidence(best, worst)?;
    let interval = evidence.confidence.map(|confidence| confidence.percent);
    let interval = interval.and_then(|percent| of_factor(percent, direction));
    let processes = evidence.confidence.map(|c| c.baseline_processes.min(c.processes));
    let (winner, loser) = (place(neighbours, best, axis), place(neighbours, worst, axis));
    let times = number(factor, Some(2));
    let rest = others(series, neighbours, best, axis);
    let message = match (metric, class, interval, processes) {
        ("duration", _, Some(interval), Some(processes)) => format!(
            "{winner} is {times}× as fast as {loser}{rest}, measured ({:.2}–{:.2}×, {processes} processes each)",
            interval.low, interval.high
        ),
        ("duration", ..) => format!("{winner} is {times}× as fast as {loser}{rest}, measured"),
        (_, Class::Exact, ..) => {
            format!("{winner} is {times}× better than {loser} in {metric}{rest}, counted")
        }
        _ => format!("{winner} is {times}× better than {loser} in {metric}{rest}, measured"),
    };
    let gain = Some(Gain::Measured { factor, interval });
    let about = (&[best, worst][..], &[metric][..]);
    Some(piece(("measured-gain", "measured gain"), message, gain, about, neighbours))
}

/// The interval of a factor from that of a change in percent, from the best to the worst.
fn of_factor(percent: Interval, direction: Direction) -> Option<Interval> {
    let of = |percent: f64| 1.0 + percent / 100.0;
    let (low, high) = match direction {
        Direction::Lower => (of(percent.low), of(percent.high)),
        Direction::Higher => (1.0 / of(percent.high), 1.0 / of(percent.low)),
        Direction::Neither => return None,
    };
    let sound = low.is_finite() && high.is_finite() && 0.0 < low && low <= high;
    sound.then_some(Interval { low, high, level: percent.level })
}
