//! Parts of a whole as horizontal bars, with a text of their own at the end.

use maud::{Markup, html};

use super::point::place;

/// As wide as a telephone, with the name above the bar: names of counters are long.
const WIDTH: f64 = 360.0;
const ROW: f64 = 29.0;
const INDENT: f64 = 14.0;

/// One bar.
#[derive(Debug, Clone)]
pub(crate) struct Bar {
    /// Its label.
    pub name: String,
    /// How long it is, from 0 to 1.
    pub part: f64,
    /// The value, in words.
    pub text: String,
    /// Whether it is a part of the one above.
    pub inner: bool,
    /// Its tooltip: the metric.
    pub metric: String,
}

/// Draws bars, one below the other; one beyond its whole ends at the frame and says its value.
pub(crate) fn shares(title: &str, all: &[Bar]) -> Markup {
    #[expect(clippy::cast_precision_loss, reason = "few rows")]
    let y = |at: usize| at as f64 * ROW;
    html! {
        svg.chart.shares viewBox={ "0 0 " (WIDTH) " " (place(y(all.len()))) } role="img" aria-label=(title)
            width=(WIDTH) {
            @for (at, bar) in all.iter().enumerate() {
                @let left = if bar.inner { INDENT } else { 0.0 };
                @let full = WIDTH - left;
                @let (top, height) = (place(y(at) + 17.0), if bar.inner { 5 } else { 8 });
                g class=[bar.inner.then_some("inner")] {
                    title { (bar.metric) }
                    text x=(place(left)) y=(place(y(at) + 13.0)) { (bar.name) }
                    text.end x=(place(WIDTH)) y=(place(y(at) + 13.0)) { (bar.text) }
                    rect.all x=(place(left)) y=(top) width=(place(full)) height=(height) {}
                    rect.part x=(place(left)) y=(top) width=(place(bar.part.clamp(0.0, 1.0) * full)) height=(height) {}
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
        assert!(text.contains(r#"class="part" x="0" y="17" width="180""#), "{text}");
        assert!(text.contains(r#"class="part" x="14" y="46" width="346""#), "{text}");
        assert!(text.contains("140.0%") && text.contains("sm &lt;fma&gt;"), "{text}");
    }
}
