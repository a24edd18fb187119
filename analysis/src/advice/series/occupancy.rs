//! The point along an axis at which occupancy begins to fall.

use gpuprof_model::advice::Advice;
use gpuprof_model::run::SeriesResult;

use super::wording::{in_order, others, piece, place};
use crate::advice::neighbours::Neighbours;
use crate::advice::template::number;
use crate::view::best::value;
use crate::view::sensitivity::independent_axes;

const OCCUPANCY: &str = "theoretical_occupancy";

/// A smaller fall is not worth a line.
const LEAST_POINTS: f64 = 5.0;

/// One piece for each axis of numbers.
pub(super) fn advise(series: &SeriesResult, neighbours: &Neighbours<'_>) -> Vec<Advice> {
    let axes = independent_axes(series);
    axes.into_iter().filter_map(|axis| of_axis(series, neighbours, axis)).collect()
}

fn of_axis(series: &SeriesResult, neighbours: &Neighbours<'_>, axis: &str) -> Option<Advice> {
    let group = neighbours.largest()?;
    let at = group.best.or_else(|| group.rows.first().copied())?;
    let along = in_order(neighbours, &neighbours.along(group, at, axis), axis)?;
    let held = |&at: &usize| Some((at, value(neighbours.row(at), OCCUPANCY)?));
    let along: Vec<(usize, f64)> = along.iter().map(held).collect::<Option<_>>()?;
    let cut = (1..along.len()).find(|&cut| {
        let after = along[cut..].iter().map(|(_, held)| *held).fold(0.0, f64::max);
        along[cut - 1].1 - after >= LEAST_POINTS
    })?;
    let ((last, before), (next, after)) = (along[cut - 1], along[cut]);
    if neighbours.metric.is_some() && neighbours.is_faster(next, last) {
        // Who follows it would lose time.
        return None;
    }
    let limiter = neighbours.row(next).occupancy_limiter;
    let by = limiter.map(|limiter| format!(": limited by {limiter}")).unwrap_or_default();
    let message = format!(
        "beyond {}{} theoretical occupancy falls from {}% to {}%{by}",
        place(neighbours, last, axis),
        others(series, neighbours, last, axis),
        number(before, Some(0)),
        number(after, Some(0)),
    );
    let about = (&[last, next][..], &[OCCUPANCY][..]);
    Some(piece(("occupancy-falls", "occupancy along an axis"), message, None, about, neighbours))
}
