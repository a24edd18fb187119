//! Parallel coordinates: a vertical line for each axis and each metric, and a path across all of
//! them for each configuration. For series of three axes and more, which do not fit a plane.

use gpuprof_analysis::view::rank::Rank;
use maud::{Markup, html};

use super::point::place;
use super::scale::{Scale, Values};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 40.0;
const RIGHT: f64 = 70.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 14.0;

/// One configuration.
#[derive(Debug, Clone)]
pub(crate) struct Course {
    /// The position of its value on each axis.
    pub at: Vec<usize>,
    /// Its value of each metric.
    pub values: Vec<f64>,
    /// Its rank among the others.
    pub rank: Rank,
    /// Whether no other is better in every metric.
    pub front: bool,
    /// Its tooltip.
    pub label: String,
    /// The `id` of its row on the page.
    pub row: String,
}

/// A chart of courses.
#[derive(Debug, Clone)]
pub(crate) struct Parallel {
    /// The title of the chart.
    pub title: String,
    /// The name and the scale of each axis.
    pub axes: Vec<(String, Scale)>,
    /// The name of each metric with its unit.
    pub metrics: Vec<String>,
    /// The configurations.
    pub courses: Vec<Course>,
}

/// Draws `chart`; what is best lies on top.
pub(crate) fn parallel(chart: &Parallel) -> Markup {
    let metrics: Vec<Values> = (0..chart.metrics.len())
        .map(|at| {
            Values::fit(chart.courses.iter().filter_map(|course| course.values.get(at)).copied())
        })
        .collect();
    let count = (chart.axes.len() + metrics.len()).saturating_sub(1).max(1);
    #[expect(clippy::cast_precision_loss, reason = "few axes")]
    let x = |at: usize| LEFT + at as f64 / count as f64 * (WIDTH - LEFT - RIGHT);
    let y = |part: f64| HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM);
    let path = |course: &Course| {
        let axes = chart.axes.iter().zip(&course.at).map(|((_, scale), &at)| scale.places[at]);
        let values = metrics.iter().zip(&course.values).map(|(metric, &value)| metric.place(value));
        let places = axes.chain(values).enumerate();
        let corners = places.map(|(at, part)| format!("{} {}", place(x(at)), place(y(part))));
        format!("M{}", corners.collect::<Vec<_>>().join("L"))
    };
    let mut order: Vec<&Course> = chart.courses.iter().collect();
    order.sort_by_key(|course| (course.rank == Rank::Best, course.front));
    html! {
        svg.chart.parallel viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(chart.title) {
            g.grid {
                @for (at, (name, scale)) in chart.axes.iter().enumerate() {
                    (upright(x(at), name))
                    @for (part, text) in &scale.ticks {
                        text.end x=(place(x(at) - 5.0)) y=(place(y(*part) + 4.0)) { (text) }
                    }
                }
                @for (at, (name, metric)) in chart.metrics.iter().zip(&metrics).enumerate() {
                    @let x = x(chart.axes.len() + at);
                    (upright(x, name))
                    @for (value, text) in metric.ticks() {
                        text x=(place(x + 5.0)) y=(place(y(metric.place(value)) + 4.0)) { (text) }
                    }
                }
            }
            g.line.c0 {
                @for course in order {
                    a class=(class(course)) href={ "#" (course.row) } {
                        title { (course.label) }
                        path.course d=(path(course)) {}
                    }
                }
            }
        }
    }
}

fn class(course: &Course) -> &'static str {
    match (course.rank, course.front) {
        (Rank::Best, _) => "winner",
        (Rank::Tied, _) | (Rank::Other, true) => "front",
        (Rank::Other, false) => "rest",
    }
}

fn upright(x: f64, name: &str) -> Markup {
    html! {
        line x1=(place(x)) y1=(place(TOP - 4.0)) x2=(place(x)) y2=(place(HEIGHT - BOTTOM + 4.0)) {}
        text.x x=(place(x)) y="12" { (name) }
    }
}

#[cfg(test)]
mod tests {
    use gpuprof_model::AxisValue;

    use super::*;

    #[test]
    fn each_configuration_has_a_line_and_the_best_is_on_top() {
        let ints = |values: &[u64]| {
            let values: Vec<_> = values.iter().map(|&value| AxisValue::Int(value)).collect();
            Scale::of_axis(&values)
        };
        let course = |at: [usize; 3], value, rank, front| Course {
            at: at.into(),
            values: vec![value],
            rank,
            front,
            label: format!("block=<{}>", at[0]),
            row: format!("s0r{}", at[0]),
        };
        let chart = Parallel {
            title: "duration over block, n and tile".into(),
            axes: vec![
                ("block".into(), ints(&[64, 128, 256])),
                ("n".into(), ints(&[1, 2])),
                ("tile".into(), ints(&[8, 16])),
            ],
            metrics: vec!["duration [µs]".into()],
            courses: vec![
                course([0, 0, 1], 5.0, Rank::Best, true),
                course([1, 1, 0], 9.0, Rank::Other, false),
                course([2, 1, 1], 7.0, Rank::Other, true),
            ],
        };
        insta::assert_snapshot!(parallel(&chart).into_string().replace("><", ">\n<"));
    }
}
