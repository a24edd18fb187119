//! Axes without effect: the intervals show that no value is better.

use gpuprof_model::advice::Advice;
use gpuprof_model::run::SeriesResult;

use super::wording::piece;
use crate::advice::neighbours::Neighbours;
use crate::advice::template::number;
use crate::view::sensitivity::independent_axes;

/// Within this many percent, times are the same in practice.
const SAME_PERCENT: f64 = 2.0;

/// One piece for each such axis.
pub(super) fn advise(series: &SeriesResult, neighbours: &Neighbours<'_>) -> Vec<Advice> {
    if neighbours.metric != Some("duration") {
        return Vec::new();
    }
    let axes = independent_axes(series);
    axes.into_iter().filter_map(|axis| of_axis(neighbours, axis)).collect()
}

fn of_axis(neighbours: &Neighbours<'_>, axis: &str) -> Option<Advice> {
    let mut farthest: f64 = 0.0;
    let mut most = 0;
    let mut places = Vec::new();
    for group in &neighbours.groups {
        for slice in neighbours.slices(group, axis) {
            most = most.max(slice.len());
            farthest = farthest.max(spread(neighbours, &slice)?);
            places.extend(slice);
        }
    }
    if most < 2 || farthest > SAME_PERCENT {
        return None;
    }
    let message = format!(
        "{axis} does not matter for the time here: with 95% confidence all {most} values are within {}% \
         of each other",
        number(farthest, Some(1))
    );
    let about = (&places[..], &["duration"][..]);
    Some(piece(("no-effect", "axis without effect"), message, None, about, neighbours))
}

/// How far apart the times of `slice` may be, in percent, by the intervals of the differences from
/// the first one; none without intervals.
fn spread(neighbours: &Neighbours<'_>, slice: &[usize]) -> Option<f64> {
    let (first, rest) = slice.split_first()?;
    let (mut low, mut high) = (0.0_f64, 0.0_f64);
    for &other in rest {
        let (_, evidence) = neighbours.evidence(*first, other)?;
        let percent = evidence.confidence?.percent;
        if !percent.low.is_finite() || !percent.high.is_finite() {
            return None;
        }
        low = low.min(percent.low);
        high = high.max(percent.high);
    }
    Some(high - low)
}
