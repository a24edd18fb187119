//! A roofline: both axes logarithmic, a roof that rises for each level of memory, a flat one for
//! each precision, and the places of a whole sweep below them, joined in the order of its rows.

use maud::{Markup, html};

use super::marks::mark;
use super::point::place;
use gpuprof_analysis::view::rank::Rank;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 46.0;

/// A roof that rises.
#[derive(Debug, Clone)]
pub(crate) struct Slope {
    /// Its name with its bandwidth.
    pub name: String,
    /// Bytes a second.
    pub bandwidth: f64,
    /// Its colour among the levels.
    pub colour: usize,
}

/// A flat roof.
#[derive(Debug, Clone)]
pub(crate) struct Ceiling {
    /// Its name with its rate.
    pub name: String,
    /// Operations a second.
    pub rate: f64,
}

/// One configuration's place.
#[derive(Debug, Clone)]
pub(crate) struct Spot {
    /// Operations a byte.
    pub intensity: f64,
    /// Operations a second.
    pub rate: f64,
    /// Its rank among the others.
    pub rank: Rank,
    /// Its tooltip.
    pub label: String,
    /// The `id` of its row on the page.
    pub row: String,
}

/// The places of a sweep at one level.
#[derive(Debug, Clone)]
pub(crate) struct Trail {
    /// The colour of the level.
    pub colour: usize,
    /// The places of this run.
    pub spots: Vec<Spot>,
    /// The places of the baseline: operations a byte, and a second.
    pub base: Vec<(f64, f64)>,
}

/// What is drawn.
#[derive(Debug, Clone)]
pub(crate) struct Roofline {
    /// The title of the chart.
    pub title: String,
    /// The rising roofs.
    pub slopes: Vec<Slope>,
    /// The flat roofs.
    pub ceilings: Vec<Ceiling>,
    /// What was achieved.
    pub trails: Vec<Trail>,
}

/// From values to places.
struct Frame {
    x: (f64, f64),
    y: (f64, f64),
}

impl Frame {
    fn fit(chart: &Roofline) -> Self {
        let spots = || chart.trails.iter().flat_map(|trail| &trail.spots);
        let base = || chart.trails.iter().flat_map(|trail| &trail.base);
        let highest = most(chart.ceilings.iter().map(|ceiling| ceiling.rate));
        let slowest = least(chart.slopes.iter().map(|slope| slope.bandwidth));
        let intensities = spots().map(|s| s.intensity).chain(base().map(|(x, _)| *x));
        let (from, to) = ends(intensities.chain([highest / slowest]));
        let (low, high) =
            ends(spots().map(|s| s.rate).chain(base().map(|(_, y)| *y)).chain([highest]));
        Self { x: (decade_below(from / 1.5), to * 6.0), y: (decade_below(low / 1.5), high * 2.5) }
    }

    fn x(&self, intensity: f64) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * along(intensity, self.x)
    }

    fn y(&self, rate: f64) -> f64 {
        HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * along(rate, self.y)
    }
}

/// The position of a value between two others, by their logarithms.
fn along(value: f64, (low, high): (f64, f64)) -> f64 {
    (value / low).ln() / (high / low).ln()
}

fn least(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::INFINITY, f64::min)
}

fn most(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, f64::max)
}

fn ends(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    (least(values.clone()), most(values))
}

fn decade_below(value: f64) -> f64 {
    10_f64.powf(value.log10().floor())
}

/// The powers of ten in a range.
fn decades((low, high): (f64, f64)) -> Vec<f64> {
    #[expect(clippy::cast_possible_truncation, reason = "exponents of finite numbers")]
    let (first, last) = (low.log10().ceil() as i32, high.log10().floor() as i32);
    let every = usize::try_from((last - first) / 8 + 1).unwrap_or(1);
    (first..=last).step_by(every).map(|power| 10_f64.powi(power)).collect()
}

/// Draws `chart`; all roofs and points must be positive.
pub(crate) fn roofline(chart: &Roofline) -> Markup {
    let frame = Frame::fit(chart);
    html! {
        svg.chart.roofline viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(chart.title) {
            (grid(&frame))
            (roofs(chart, &frame))
            @for trail in &chart.trails { (path(trail, &frame)) }
        }
    }
}

fn grid(frame: &Frame) -> Markup {
    let bottom = HEIGHT - BOTTOM;
    html! {
        g.grid {
            @for tick in decades(frame.y) {
                @let y = place(frame.y(tick));
                line x1=(place(LEFT)) y1=(y) x2=(place(WIDTH - RIGHT)) y2=(y) {}
                text.y x=(place(LEFT - 8.0)) y=(y) { (rate(tick)) }
            }
            @for tick in decades(frame.x) {
                @let x = place(frame.x(tick));
                line x1=(x) y1=(place(TOP)) x2=(x) y2=(place(bottom)) {}
                text.x x=(x) y=(place(bottom + 18.0)) { (tick) }
            }
            text.x x=(place((LEFT + WIDTH - RIGHT) / 2.0)) y=(place(HEIGHT - 8.0)) { "operations a byte" }
            text x="4" y="14" { "operations a second" }
        }
    }
}

/// `10 G`: the tick of a rate.
fn rate(value: f64) -> String {
    let steps = [(1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    match steps.into_iter().find(|(size, _)| value >= *size) {
        Some((size, letter)) => format!("{} {letter}", value / size),
        None => value.to_string(),
    }
}

fn roofs(chart: &Roofline, frame: &Frame) -> Markup {
    let highest = most(chart.ceilings.iter().map(|ceiling| ceiling.rate));
    let fastest = most(chart.slopes.iter().map(|slope| slope.bandwidth));
    // A slope begins where the frame does, at its left or at its bottom.
    let begin = |slope: &Slope| frame.x.0.max(frame.y.0 / slope.bandwidth);
    let turned = |slope: &Slope| {
        let (from, to) = (begin(slope), highest / slope.bandwidth);
        let (dx, dy) = (
            frame.x(to) - frame.x(from),
            frame.y(to * slope.bandwidth) - frame.y(from * slope.bandwidth),
        );
        let (x, y) = (frame.x(from) + 0.1 * dx, frame.y(from * slope.bandwidth) + 0.1 * dy);
        (x, y, dy.atan2(dx).to_degrees())
    };
    html! {
        g.roofs {
            @for slope in &chart.slopes {
                @let (from, to) = (begin(slope), highest / slope.bandwidth);
                g class={ "c" (slope.colour) } {
                    line.roof x1=(place(frame.x(from))) y1=(place(frame.y(from * slope.bandwidth)))
                        x2=(place(frame.x(to))) y2=(place(frame.y(highest))) {}
                    @let (x, y, angle) = turned(slope);
                    text.on transform={ "translate(" (place(x)) " " (place(y)) ") rotate(" (place(angle)) ")" } dy="-5" {
                        (slope.name)
                    }
                    @for ceiling in &chart.ceilings {
                        circle.ridge cx=(place(frame.x(ceiling.rate / slope.bandwidth))) cy=(place(frame.y(ceiling.rate))) r="2.5" {
                            title { (ceiling.name) " above " (format!("{:.2}", ceiling.rate / slope.bandwidth)) " operations a byte" }
                        }
                    }
                }
            }
            @for ceiling in &chart.ceilings {
                @let y = frame.y(ceiling.rate);
                line.roof x1=(place(frame.x((ceiling.rate / fastest).max(frame.x.0)))) y1=(place(y))
                    x2=(place(WIDTH - RIGHT)) y2=(place(y)) {}
                text.end x=(place(WIDTH - RIGHT)) y=(place(y - 5.0)) { (ceiling.name) }
            }
        }
    }
}

fn path(trail: &Trail, frame: &Frame) -> Markup {
    let spots = &trail.spots;
    let corner = |x: f64, y: f64| format!("{} {}", place(frame.x(x)), place(frame.y(y)));
    let joined = |corners: Vec<String>| format!("M{}", corners.join("L"));
    html! {
        g class={ "c" (trail.colour) } {
            @for &(x, y) in &trail.base {
                rect.old x=(place(frame.x(x) - 4.0)) y=(place(frame.y(y) - 4.0)) width="8" height="8" {}
            }
            @if spots.len() > 1 {
                path.value d=(joined(spots.iter().map(|s| corner(s.intensity, s.rate)).collect())) {}
            }
            @for spot in spots {
                a href={ "#" (spot.row) } {
                    title { (spot.label) }
                    (mark(spot.rank, frame.x(spot.intensity), frame.y(spot.rate)))
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_a_sweep_are_below_the_roofs() {
        let spot = |rate, rank| Spot {
            intensity: 0.17,
            rate,
            rank,
            label: "block=<64>".into(),
            row: "s0r0".into(),
        };
        let chart = Roofline {
            title: "roofline of saxpy".into(),
            slopes: vec![
                Slope { name: "DRAM 4.8 TB/s".into(), bandwidth: 4.8e12, colour: 0 },
                Slope { name: "L2 11 TB/s".into(), bandwidth: 1.1e13, colour: 1 },
            ],
            ceilings: vec![
                Ceiling { name: "FP64 33 TFLOP/s".into(), rate: 3.3e13 },
                Ceiling { name: "FP32 67 TFLOP/s".into(), rate: 6.7e13 },
            ],
            trails: vec![Trail {
                colour: 0,
                spots: vec![spot(4e11, Rank::Other), spot(7e11, Rank::Best)],
                base: vec![(0.17, 6e11)],
            }],
        };
        let text = roofline(&chart).into_string();
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        insta::assert_snapshot!(text.replace("><", ">\n<"));
    }
}
