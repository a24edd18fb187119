//! Parts of a whole as horizontal bars, with a text of their own at the end.

use maud::{Markup, html};

use super::point::place;

const WIDTH: f64 = 520.0;
const LEFT: f64 = 236.0;
const RIGHT: f64 = 84.0;
const ROW: f64 = 20.0;

/// One bar.
#[derive(Debug, Clone)]
pub(in crate::report) struct Bar {
    /// What it is of.
    pub name: String,
    /// How long it is, from 0 to 1.
    pub part: f64,
    /// The value, in words.
    pub text: String,
    /// Whether it is a part of the one above.
    pub inner: bool,
    /// What a pointer over it is told: the metric.
    pub metric: String,
}

/// Draws bars, one below the other; one beyond its whole ends at the frame and says its value.
pub(in crate::report) fn shares(title: &str, all: &[Bar]) -> Markup {
    #[expect(clippy::cast_precision_loss, reason = "few rows")]
    let y = |at: usize| at as f64 * ROW;
    let full = WIDTH - LEFT - RIGHT;
    html! {
        svg.chart.shares viewBox={ "0 0 " (WIDTH) " " (place(y(all.len()))) } role="img" aria-label=(title)
            width=(WIDTH) {
            @for (at, bar) in all.iter().enumerate() {
                @let middle = place(y(at) + ROW / 2.0);
                @let thin = if bar.inner { 6.0 } else { 4.0 };
                @let (top, height) = (place(y(at) + thin), place(ROW - 2.0 * thin));
                g class=[bar.inner.then_some("inner")] {
                    title { (bar.metric) }
                    text.y x=(place(LEFT - 8.0)) y=(middle) { (bar.name) }
                    rect.all x=(place(LEFT)) y=(top) width=(place(full)) height=(height) {}
                    rect.part x=(place(LEFT)) y=(top) width=(place(bar.part.clamp(0.0, 1.0) * full)) height=(height) {}
                    text.number x=(place(WIDTH - RIGHT + 8.0)) y=(middle) { (bar.text) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_part_and_none_leaves_the_frame() {
        let bar = |part: f64, inner| Bar {
            name: "sm <fma>".into(),
            part,
            text: format!("{:.1}%", 100.0 * part),
            inner,
            metric: "sm__fma.pct".into(),
        };
        let text = shares("limits", &[bar(0.5, false), bar(1.4, true)]).into_string();
        assert!(text.contains(r#"class="part" x="236" y="4" width="100""#), "{text}");
        assert!(text.contains(r#"class="part" x="236" y="26" width="200""#), "{text}");
        assert!(text.contains("140.0%") && text.contains("sm &lt;fma&gt;"), "{text}");
    }
}
