//! Marks for values: a dot, a ring for a tie with the best, a star for the best; and the small bar
//! that shows an interval next to its limit.

use gpuprof_analysis::view::rank::Rank;
use gpuprof_model::Quantity;
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

/// A value with its `sign` and its interval next to its limit, to scale, with the numbers of both.
pub(crate) fn interval(
    (sign, value): (&str, Quantity),
    ends: Option<(f64, f64)>,
    limit: Quantity,
) -> Markup {
    let (low, high) = ends.unwrap_or((value.value, value.value));
    let all = [value.value, low, high, limit.value];
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    let most = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let apart = most > least;
    let span = if apart { most - least } else { 1.0 };
    let x = |value: f64| 8.0 + 134.0 * if apart { (value - least) / span } else { 0.5 };
    let texts = (format!("{sign}{value}"), limit.to_string());
    let (left, right) = if value.value <= limit.value { texts } else { (texts.1, texts.0) };
    html! {
        svg.interval viewBox="0 0 150 30" width="150" height="30" aria-hidden="true" {
            line.scale x1="8" y1="8" x2="142" y2="8" {}
            @if ends.is_some() {
                rect.range x=(place(x(low))) y="5" width=(place((x(high) - x(low)).max(1.0))) height="6" {}
            }
            line.limit x1=(place(x(limit.value))) y1="1" x2=(place(x(limit.value))) y2="15" {}
            circle.dot cx=(place(x(value.value))) cy="8" r="3.5" {}
            @if left == right {
                text.x x="75" y="27" { (left) }
            } @else {
                text x="0" y="27" { (left) }
                text.end x="150" y="27" { (right) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use gpuprof_model::quantity::Unit;

    use super::*;

    #[test]
    fn limit_and_interval_are_to_scale_and_labelled() {
        let percent = |value| Quantity::new(value, Unit::Percent);
        let text =
            interval(("≈", percent(100.0)), Some((90.0, 110.0)), percent(130.0)).into_string();
        assert!(text.contains(r#"x="8" y="5" width="67""#), "{text}");
        assert!(text.contains(r#"x1="142""#), "{text}");
        assert!(text.contains(r#"<text x="0" y="27">≈100%</text>"#), "{text}");
        assert!(text.contains(r#"<text class="end" x="150" y="27">130%</text>"#), "{text}");
        let same = interval(("", percent(5.0)), None, percent(5.0)).into_string();
        assert!(!same.contains("NaN") && !same.contains("range"), "{same}");
        assert_eq!(same.matches("5%").count(), 1, "{same}");
    }

    #[test]
    fn each_rank_has_a_shape_of_its_own() {
        let shapes = [Rank::Best, Rank::Tied, Rank::Other].map(|r| mark(r, 1.0, 2.0).into_string());
        assert!(shapes[0].starts_with("<path") && shapes[1] != shapes[2], "{shapes:?}");
    }
}
