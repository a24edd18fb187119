//! What stands at a value: a dot, a ring for what ties with the best, a star for the best; and the
//! small bar that shows an interval beside its limit.

use gpuprof_analysis::view::rank::Rank;
use maud::{Markup, html};

use super::point::place;

/// The radius of a dot.
const RADIUS: f64 = 3.5;

/// The mark of `rank` at a place.
pub(super) fn mark(rank: Rank, x: f64, y: f64) -> Markup {
    html! {
        @match rank {
            Rank::Best => path.best d=(star(x, y)) {},
            Rank::Tied => circle.tied cx=(place(x)) cy=(place(y)) r="4.5" {},
            Rank::Other => circle.dot cx=(place(x)) cy=(place(y)) r=(place(RADIUS)) {},
        }
    }
}

/// A star of five points.
fn star(x: f64, y: f64) -> String {
    let corner = |at: u32| {
        let radius = if at.is_multiple_of(2) { 8.0 } else { 3.4 };
        let angle = std::f64::consts::PI * (f64::from(at) / 5.0 - 0.5);
        format!("{} {}", place(x + radius * angle.cos()), place(y + radius * angle.sin()))
    };
    format!("M{}Z", (0..10).map(corner).collect::<Vec<_>>().join("L"))
}

/// A value with its interval beside the limit that it is held against, to scale.
pub(in crate::report) fn interval(value: f64, ends: Option<(f64, f64)>, limit: f64) -> Markup {
    let (low, high) = ends.unwrap_or((value, value));
    let all = [value, low, high, limit];
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    let most = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let span = if most > least { most - least } else { 1.0 };
    let x = |value: f64| 8.0 + 104.0 * (value - least) / span;
    html! {
        svg.interval viewBox="0 0 120 16" width="120" height="16" aria-hidden="true" {
            @if ends.is_some() {
                rect.range x=(place(x(low))) y="5" width=(place((x(high) - x(low)).max(1.0))) height="6" {}
            }
            line.limit x1=(place(x(limit))) y1="1" x2=(place(x(limit))) y2="15" {}
            circle.dot cx=(place(x(value))) cy="8" r="3" {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_and_the_interval_are_to_scale() {
        let text = interval(100.0, Some((90.0, 110.0)), 130.0).into_string();
        assert!(text.contains(r#"<rect class="range" x="8" y="5" width="52""#), "{text}");
        assert!(text.contains(r#"x1="112""#), "{text}");
        let same = interval(5.0, None, 5.0).into_string();
        assert!(!same.contains("NaN") && !same.contains("range"), "{same}");
    }

    #[test]
    fn each_rank_has_a_shape_of_its_own() {
        let shapes = [Rank::Best, Rank::Tied, Rank::Other].map(|r| mark(r, 1.0, 2.0).into_string());
        assert!(shapes[0].starts_with("<path") && shapes[1] != shapes[2], "{shapes:?}");
    }
}
