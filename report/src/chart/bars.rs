//! Percentages as horizontal bars.

use maud::{Markup, html};

use super::point::place;
use crate::number::grouped;

const WIDTH: f64 = 460.0;
const LEFT: f64 = 170.0;
const RIGHT: f64 = 64.0;
const ROW: f64 = 22.0;

/// One bar.
#[derive(Debug, Clone)]
pub(crate) struct Bar {
    /// Its label.
    pub name: String,
    /// How many percent.
    pub percent: f64,
}

/// Draws bars, one below the other; one above 100 % ends at the frame and says its number.
pub(crate) fn bars(title: &str, all: &[Bar]) -> Markup {
    #[expect(clippy::cast_precision_loss, reason = "few rows")]
    let y = |at: usize| at as f64 * ROW;
    let full = WIDTH - LEFT - RIGHT;
    let length = |bar: &Bar| (bar.percent / 100.0).clamp(0.0, 1.0) * full;
    html! {
        svg.chart.bars viewBox={ "0 0 " (WIDTH) " " (place(y(all.len()))) } role="img" aria-label=(title)
            width=(WIDTH) {
            @for (at, bar) in all.iter().enumerate() {
                @let middle = place(y(at) + ROW / 2.0);
                text.y x=(place(LEFT - 8.0)) y=(middle) { (bar.name) }
                rect.all x=(place(LEFT)) y=(place(y(at) + 4.0)) width=(place(full)) height=(place(ROW - 8.0)) {}
                rect.part x=(place(LEFT)) y=(place(y(at) + 4.0)) width=(place(length(bar))) height=(place(ROW - 8.0)) {}
                text.number x=(place(WIDTH - RIGHT + 8.0)) y=(middle) { (grouped(bar.percent, 1)) "%" }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_percentage_and_none_leaves_the_frame() {
        let bar = |percent| Bar { name: "DRAM".into(), percent };
        let text = bars("limits", &[bar(50.0), bar(140.0)]).into_string();
        assert!(text.contains(r#"width="113""#) && text.contains("140.0%"), "{text}");
        assert!(text.contains(r#"<rect class="part" x="170" y="26" width="226""#), "{text}");
    }
}
