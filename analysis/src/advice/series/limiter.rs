//! The point along an axis at which another unit becomes the one nearest its peak.

use gpuprof_model::advice::Advice;
use gpuprof_model::run::{ConfigurationResult, SeriesResult};

use super::wording::{in_order, piece, place};
use crate::advice::neighbours::Neighbours;
use crate::advice::template::number;
use crate::view::best::value;
use crate::view::sensitivity::independent_axes;
use crate::why::limits;

/// By how many points the nearest unit must lead the next one on both sides of the change.
const LEAD: f64 = 5.0;

/// Issue slots are a constituent of the multiprocessors' use; if they are the largest, they are
/// named.
const ISSUE: &str = "smsp__issue_active.avg.pct_of_peak_sustained_active";

/// The first change along each axis of numbers.
pub(super) fn advise(series: &SeriesResult, neighbours: &Neighbours<'_>) -> Vec<Advice> {
    let axes = independent_axes(series);
    axes.into_iter().filter_map(|axis| of_axis(series, neighbours, axis)).collect()
}

fn of_axis(series: &SeriesResult, neighbours: &Neighbours<'_>, axis: &str) -> Option<Advice> {
    let best = neighbours.largest()?.best?;
    let own = &neighbours.row(best).configuration;
    let alike = |at: &usize| {
        let other = &neighbours.row(*at).configuration;
        let free = |name: &String| name == axis || series.dependent_axes.contains(name);
        own.0.iter().all(|(name, value)| free(name) || other.get(name) == Some(value))
    };
    let rows: Vec<usize> = (0..series.configurations.len()).filter(alike).collect();
    let along = in_order(neighbours, &rows, axis)?;
    let along: Vec<_> =
        along.into_iter().filter_map(|at| Some((at, nearest(neighbours.row(at))?))).collect();
    let change = along.windows(2).find(|pair| pair[0].1.0 != pair[1].1.0)?;
    let [(before, (was, was_at)), (after, (is, is_at))] = change else { return None };
    let message = format!(
        "the limiter changes from {was} ({}% of its peak) to {is} ({}%) between {} and {}",
        number(*was_at, Some(0)),
        number(*is_at, Some(0)),
        place(neighbours, *before, axis),
        place(neighbours, *after, axis),
    );
    let about = (&[*before, *after][..], &["limited_by", "limited_by_percent"][..]);
    Some(piece(("limiter-changes", "change of the limiter"), message, None, about, neighbours))
}

/// The unit that is surely nearest its peak, and its percentage.
fn nearest(row: &ConfigurationResult) -> Option<(String, f64)> {
    let limits = limits::limits(row, &[]);
    let (first, second) = limits::nearest(&limits)?;
    if second.is_some_and(|second| first.percent - second.percent < LEAD) {
        return None;
    }
    let issue =
        value(row, ISSUE).is_some_and(|issue| first.label == "SM" && issue >= first.percent - LEAD);
    let label = if issue { "issue slots" } else { &*first.label };
    Some((label.to_owned(), first.percent))
}
