//! A metric along an axis: one line for each combination of the other axes.

use maud::{Markup, html};

use super::marks::mark;
use super::point::{Point, place};
use super::scale::{Scale, Values};

/// What is drawn: its size, and the frame inside it.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 46.0;

/// The most distinguishable lines: the page's style has a colour for each.
pub(crate) const MOST_LINES: usize = 8;

/// A line.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// The common property of its points; empty for the only line.
    pub name: String,
    /// Its points, in the order of the axis.
    pub points: Vec<Point>,
}

/// A chart of lines.
#[derive(Debug, Clone)]
pub(crate) struct Lines {
    /// The title of the chart.
    pub title: String,
    /// The name of the horizontal axis.
    pub axis: String,
    /// The horizontal axis.
    pub scale: Scale,
    /// The metric with its unit.
    pub metric: String,
    /// The lines, [`MOST_LINES`] at most.
    pub lines: Vec<Line>,
}

/// From values to places in the frame.
struct Frame<'c> {
    chart: &'c Lines,
    values: Values,
}

impl Frame<'_> {
    fn x(&self, at: usize) -> f64 {
        self.across(self.chart.scale.places[at])
    }

    fn across(&self, place: f64) -> f64 {
        // Half a mark away from the edges.
        LEFT + 12.0 + place * (WIDTH - LEFT - RIGHT - 24.0)
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - self.values.place(value) * (HEIGHT - TOP - BOTTOM)
    }

    fn path(&self, points: impl Iterator<Item = (usize, f64)>) -> String {
        let places = points.map(|(at, v)| format!("{} {}", place(self.x(at)), place(self.y(v))));
        format!("M{}", places.collect::<Vec<_>>().join("L"))
    }
}

/// Draws `chart`.
pub(crate) fn lines(chart: &Lines) -> Markup {
    let points = || chart.lines.iter().flat_map(|line| &line.points);
    let ends = |p: &Point| p.interval.map_or([p.value; 2], |(low, high)| [low, high]);
    let all = points().flat_map(|p| ends(p).into_iter().chain([p.value]).chain(p.base));
    let frame = Frame { chart, values: Values::fit(all) };
    html! {
        svg.chart viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(chart.title) {
            (grid(&frame))
            @if let Some(remark) = frame.values.remark() {
                text.cut x=(place(LEFT + 4.0)) y="11" { (remark) }
            }
            @for (at, line) in chart.lines.iter().enumerate() {
                g class={ "line c" (at) } { (one(&frame, line)) }
            }
        }
    }
}

/// The ticks of both axes with their texts.
fn grid(frame: &Frame<'_>) -> Markup {
    let bottom = HEIGHT - BOTTOM;
    html! {
        g.grid {
            @for (tick, text) in frame.values.ticks() {
                @let y = place(frame.y(tick));
                line x1=(place(LEFT)) y1=(y) x2=(place(WIDTH - RIGHT)) y2=(y) {}
                text.y x=(place(LEFT - 8.0)) y=(y) { (text) }
            }
            @for (at, text) in &frame.chart.scale.ticks {
                @let x = place(frame.across(*at));
                line x1=(x) y1=(place(bottom)) x2=(x) y2=(place(bottom + 5.0)) {}
                text.x x=(x) y=(place(bottom + 19.0)) { (text) }
            }
            text.x x=(place((LEFT + WIDTH - RIGHT) / 2.0)) y=(place(HEIGHT - 8.0)) { (frame.chart.axis) }
        }
    }
}

/// One line: the band of its intervals, the baseline, the line itself and its marks.
fn one(frame: &Frame<'_>, line: &Line) -> Markup {
    let points = &line.points;
    // Between words nothing is measured, and no line leads from one to the next.
    let joined = frame.chart.scale.to_scale && points.len() > 1;
    let band: Option<Vec<(usize, (f64, f64))>> =
        points.iter().map(|p| Some((p.at, p.interval?))).collect();
    let band = band.filter(|_| joined);
    let base: Vec<(usize, f64)> = points.iter().filter_map(|p| Some((p.at, p.base?))).collect();
    html! {
        @if let Some(band) = band {
            @let upper = band.iter().map(|(at, (_, high))| (*at, *high));
            @let lower = band.iter().rev().map(|(at, (low, _))| (*at, *low));
            path.band d={ (frame.path(upper.chain(lower))) "Z" } {}
        }
        @if joined && base.len() > 1 { path.base d=(frame.path(base.iter().copied())) {} }
        @for (at, base) in base {
            @let y = place(frame.y(base));
            line.base x1=(place(frame.x(at) - 6.0)) y1=(y) x2=(place(frame.x(at) + 6.0)) y2=(y) {}
        }
        @if joined { path.value d=(frame.path(points.iter().map(|p| (p.at, p.value)))) {} }
        @for point in points {
            @let x = frame.x(point.at);
            @if let Some((low, high)) = point.interval {
                line.whisker x1=(place(x)) y1=(place(frame.y(low))) x2=(place(x)) y2=(place(frame.y(high))) {}
            }
            a href={ "#" (point.row) } {
                title { (point.label) }
                (mark(point.rank, x, frame.y(point.value)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuprof_analysis::view::rank::Rank;
    use gpuprof_model::AxisValue;

    fn point(at: usize, value: f64, rank: Rank) -> Point {
        let label = format!("<b>{value}</b>");
        let interval = Some((value - 1.0, value + 1.0));
        Point { at, value, interval, base: Some(10.0), rank, label, row: format!("s0-{at}") }
    }

    #[test]
    fn a_line_is_to_scale_with_its_band_and_marks_and_its_texts_are_escaped() {
        let values: Vec<AxisValue> = [64, 128, 256].map(AxisValue::Int).into();
        let points = vec![
            point(0, 30.0, Rank::Other),
            point(1, 10.0, Rank::Best),
            point(2, 11.0, Rank::Tied),
        ];
        let chart = Lines {
            title: "duration along block".into(),
            axis: "block".into(),
            scale: Scale::of_axis(&values),
            metric: "duration [µs]".into(),
            lines: vec![Line { name: String::new(), points }],
        };
        insta::assert_snapshot!(lines(&chart).into_string().replace("><", ">\n<"));
    }
}
