//! A point of a chart, and how its coordinates are written.

use gpuprof_analysis::view::rank::Rank;

/// One configuration's value of the charted metric.
#[derive(Debug, Clone)]
pub(crate) struct Point {
    /// The position of its value on the horizontal axis.
    pub at: usize,
    /// The value, in the unit of the chart.
    pub value: f64,
    /// The interval of the value between processes.
    pub interval: Option<(f64, f64)>,
    /// The same metric of the baseline.
    pub base: Option<f64>,
    /// Its rank among the others.
    pub rank: Rank,
    /// Its tooltip.
    pub label: String,
    /// The `id` of its row on the page.
    pub row: String,
}

/// A coordinate, in tenths: as precise as the eye, in few bytes.
pub(super) fn place(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}
