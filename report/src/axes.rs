//! The effect of each axis on the headline metric: a sparkline, the spread, the share of the
//! variance.
//!
//! Input: a series and a metric. Output: a line an axis. The bars run from the smallest mean to the
//! largest, so they show shape and not size; the quotient next to them is the size.

use gpuprof_model::run::SeriesResult;
use gpuprof_system::pad;

use super::estimates::titled;
use super::number::grouped;
use gpuprof_analysis::view::sensitivity::{self, Effect};

/// The most bars of a sparkline; longer axes are averaged in equal runs.
const MOST_BARS: usize = 40;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The lines for `metric`; none if there are no differences.
pub(super) fn lines(series: &SeriesResult, metric: &str) -> Vec<String> {
    let axes = sensitivity::independent_axes(series);
    let longest = series.axes.iter().map(|axis| axis.values.len()).max().unwrap_or(0);
    if axes.is_empty() || (axes.len() == 1 && longest < 3) {
        return Vec::new();
    }
    match sensitivity::effects(series, metric) {
        Ok(effects) if effects.is_empty() => Vec::new(),
        Ok(effects) => {
            let mut out = vec![format!(
                "{} along each axis, largest mean over smallest:",
                titled(metric, &series.configurations)
            )];
            out.extend(aligned(&effects));
            out
        }
        Err(reason) => vec![format!("no effects of the axes on {metric}: {reason}")],
    }
}

fn aligned(effects: &[Effect]) -> Vec<String> {
    let width = |text: &dyn Fn(&Effect) -> String| {
        effects.iter().map(|e| text(e).chars().count()).max().unwrap_or(0)
    };
    let name = |effect: &Effect| effect.axis.clone();
    let bars = |effect: &Effect| {
        let values: Vec<f64> = effect.means.iter().map(|(_, mean)| *mean).collect();
        let (first, last) = (effect.means.first(), effect.means.last());
        let end =
            |end: Option<&(_, f64)>| end.map(|(value, _)| format!("{value}")).unwrap_or_default();
        format!("{} {} {}", end(first), sparkline(&values), end(last))
    };
    let ratio = |effect: &Effect| match effect.ratio {
        Some(ratio) => format!("{}x", grouped(ratio, 2)),
        None => "-".to_owned(),
    };
    let (names, sparks, ratios) = (width(&name), width(&bars), width(&ratio));
    let share = |effect: &Effect| match effects.len() {
        1 => String::new(),
        _ => format!("  {}% of the variance", grouped(100.0 * effect.share, 1)),
    };
    effects
        .iter()
        .map(|e| {
            let (name, bars) = (pad::left(&name(e), names), pad::left(&bars(e), sparks));
            format!("{name}  {bars}  {}{}", pad::right(&ratio(e), ratios), share(e))
        })
        .collect()
}

/// A bar for each value, or for each run of equally many where there are more than fit. The lowest
/// bar is the smallest value.
pub(super) fn sparkline(values: &[f64]) -> String {
    let means = means(values);
    bars(means.iter().copied().fold(f64::INFINITY, f64::min), &means)
}

/// As [`sparkline`]; the lowest bar is zero.
pub(super) fn bars_from_zero(values: &[f64]) -> String {
    bars(0.0, &means(values))
}

/// The mean of each run of values that share a bar.
fn means(values: &[f64]) -> Vec<f64> {
    let runs = values.chunks(values_a_bar(values.len()));
    runs.map(|run| run.iter().sum::<f64>() / run.len() as f64).collect()
}

/// A bar for each of `means`, the lowest one for `lowest`.
fn bars(lowest: f64, means: &[f64]) -> String {
    let largest = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let bar = |value: f64| {
        if largest <= lowest {
            return BARS[0];
        }
        let place = (value - lowest) / (largest - lowest) * 7.0;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in 0..=7")]
        BARS[(place.round() as usize).min(7)]
    };
    means.iter().copied().map(bar).collect()
}

/// How many of so many values share a bar.
pub(super) fn values_a_bar(count: usize) -> usize {
    count.div_ceil(MOST_BARS).max(1)
}

#[cfg(test)]
mod tests {
    use super::{bars_from_zero, sparkline};

    #[test]
    fn bars_run_from_the_smallest_to_the_largest() {
        assert_eq!(sparkline(&[1.0, 2.0, 8.0, 1.0]), "▁▂█▁");
        assert_eq!(sparkline(&[3.0, 3.0]), "▁▁");
        assert_eq!(sparkline(&[]), "");
        assert_eq!(bars_from_zero(&[7.0, 7.0, 0.0, 1.0]), "██▁▂");
        assert_eq!(sparkline(&(0..1000).map(f64::from).collect::<Vec<_>>()).chars().count(), 40);
    }
}
