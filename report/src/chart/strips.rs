//! Every process of every configuration as a dot, by how far it is from the median of its
//! configuration, with a line for its samples: two placements, or one slow process, are seen.

use gpuprof_analysis::view::rank::Rank;
use maud::{Markup, html};

use super::marks::mark;
use super::point::place;
use super::scale::Values;

const WIDTH: f64 = 640.0;
const LEFT: f64 = 190.0;
const RIGHT: f64 = 18.0;
const ROW: f64 = 18.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 24.0;

/// The processes of one configuration.
#[derive(Debug, Clone)]
pub(crate) struct Strip {
    /// The configuration.
    pub name: String,
    /// The value of each process, and from where to where most of its samples lie.
    pub values: Vec<(f64, Option<(f64, f64)>)>,
    /// The value of the configuration.
    pub value: f64,
    /// Its rank among the others.
    pub rank: Rank,
}

/// Draws strips, one below the other, on one scale.
pub(crate) fn strips(title: &str, all: &[Strip]) -> Markup {
    // From the median of each configuration: differences between configurations must not hide those
    // between processes.
    let off = |strip: &Strip, value: f64| 100.0 * (value / strip.value - 1.0);
    let ends = |&(value, samples): &(f64, Option<(f64, f64)>)| {
        samples.map_or([value; 3], |(low, high)| [low, value, high])
    };
    let offs = all
        .iter()
        .flat_map(|strip| strip.values.iter().flat_map(ends).map(move |value| off(strip, value)));
    let axis = Values::fit(offs.chain([-0.5, 0.5]));
    #[expect(clippy::cast_precision_loss, reason = "few rows")]
    let y = |at: usize| TOP + (at as f64 + 0.5) * ROW;
    let x = |value: f64| LEFT + 8.0 + axis.place(value) * (WIDTH - LEFT - RIGHT - 16.0);
    let bottom = y(all.len()) - ROW / 2.0;
    html! {
        svg.chart.strips viewBox={ "0 0 " (WIDTH) " " (place(bottom + BOTTOM)) } role="img" aria-label=(title) {
            g.grid {
                @for (tick, text) in axis.ticks() {
                    @let at = place(x(tick));
                    line x1=(at) y1=(place(TOP)) x2=(at) y2=(place(bottom)) {}
                    text.x x=(at) y=(place(bottom + 16.0)) { (text) "%" }
                }
                @for (at, strip) in all.iter().enumerate() {
                    text.y x=(place(LEFT - 6.0)) y=(place(y(at))) { (strip.name) }
                }
            }
            @for (at, strip) in all.iter().enumerate() {
                g.line.c0 {
                    @for (process, (value, samples)) in strip.values.iter().enumerate() {
                        // One below the other: processes of one value are seen to be several.
                        @let y = y(at) + lane(process, strip.values.len());
                        @if let Some((low, high)) = samples {
                            line.samples x1=(place(x(off(strip, *low)))) y1=(place(y))
                                x2=(place(x(off(strip, *high)))) y2=(place(y)) {}
                        }
                        circle.process cx=(place(x(off(strip, *value)))) cy=(place(y)) r="2.5" {}
                    }
                    (mark(strip.rank, x(0.0), y(at)))
                }
            }
        }
    }
}

/// How far a process is below the middle of its row.
fn lane(process: usize, of: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "few processes")]
    let part = (process as f64 + 0.5) / of as f64 - 0.5;
    part * (ROW - 6.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_process_has_a_dot() {
        let strip = |name: &str, values: &[f64], rank| Strip {
            name: name.into(),
            values: values.iter().map(|&value| (value, Some((value - 0.5, value + 0.5)))).collect(),
            value: values[0],
            rank,
        };
        let all = [
            strip("block=64", &[10.0, 10.1, 30.0], Rank::Best),
            strip("block=128", &[12.0, 12.2], Rank::Other),
        ];
        let text = strips("processes", &all).into_string();
        assert_eq!(text.matches(r#"class="process""#).count(), 5);
        assert_eq!(text.matches(r#"class="samples""#).count(), 5);
        assert_eq!((text.matches("best").count(), text.contains("NaN")), (1, false));
    }
}
