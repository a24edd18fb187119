//! How findings name configurations, and put them in order.

use gpuprof_model::AxisValue;
use gpuprof_model::advice::{Advice, Certainty, Gain};
use gpuprof_model::run::SeriesResult;

use crate::advice::neighbours::Neighbours;

/// A piece about the configurations at these positions.
pub(super) fn piece(
    (rule, name): (&str, &str),
    message: String,
    gain: Option<Gain>,
    (at, metrics): (&[usize], &[&str]),
    neighbours: &Neighbours<'_>,
) -> Advice {
    Advice {
        rule: rule.into(),
        name: name.into(),
        message,
        remedy: None,
        gain,
        certainty: Certainty::Certain,
        configurations: at.iter().map(|&at| neighbours.row(at).configuration.to_string()).collect(),
        metrics: metrics.iter().map(|metric| (*metric).to_owned()).collect(),
    }
}

/// `axis=value` of the configuration at `at`.
pub(super) fn place(neighbours: &Neighbours<'_>, at: usize, axis: &str) -> String {
    match neighbours.row(at).configuration.get(axis) {
        Some(value) => format!("{axis}={value}"),
        None => axis.to_owned(),
    }
}

/// ` at n=1M, …`: the other axes of the configuration at `at` that turn on their own.
pub(super) fn others(
    series: &SeriesResult,
    neighbours: &Neighbours<'_>,
    at: usize,
    axis: &str,
) -> String {
    let several = |name: &str| {
        let own = series.axes.iter().find(|own| own.name == name);
        own.is_some_and(|own| own.values.len() > 1)
            && series.dependent_axes.iter().all(|other| other != name)
    };
    let pairs = neighbours.row(at).configuration.0.iter();
    let rest: Vec<String> = pairs
        .filter(|(name, _)| name != axis && several(name))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if rest.is_empty() { String::new() } else { format!(" at {}", rest.join(", ")) }
}

/// The number that an axis value is, for values that have an order.
pub(super) fn number(value: &AxisValue) -> Option<f64> {
    match value {
        #[expect(clippy::cast_precision_loss, reason = "only the order is of interest")]
        AxisValue::Int(number) => Some(*number as f64),
        AxisValue::Dims(_) | AxisValue::Word(_) => None,
    }
}

/// `rows` by the number that they have on `axis`, the smallest first; none if one has none.
pub(super) fn in_order(
    neighbours: &Neighbours<'_>,
    rows: &[usize],
    axis: &str,
) -> Option<Vec<usize>> {
    let place = |&at: &usize| Some((number(neighbours.row(at).configuration.get(axis)?)?, at));
    let mut placed: Vec<(f64, usize)> = rows.iter().map(place).collect::<Option<_>>()?;
    placed.sort_by(|a, b| a.0.total_cmp(&b.0));
    Some(placed.into_iter().map(|(_, at)| at).collect())
}
