//! A curve as a chart of Mermaid, which GitHub and GitLab draw where Markdown is shown.
//!
//! Input: a curve. Output: the chart's text. Invariant: no name in it ends the chart or a title,
//! because anyone may have written a stored run.

use super::curve::Curve;

/// The most points: their names are under the axis.
const MOST_POINTS: usize = 24;

/// The text of a chart that shows `curve`, a line break at its end.
pub(super) fn chart(curve: &Curve<'_>) -> String {
    let known = curve.axis.values.iter().zip(&curve.values);
    let known: Vec<(String, f64)> =
        known.filter_map(|(at, value)| Some((at.to_string(), (*value)?))).collect();
    let step = known.len().div_ceil(MOST_POINTS).max(1);
    // The last one stays, so that the axis ends where the series does.
    let last = known.len().saturating_sub(1);
    let drawn = || known.iter().enumerate().filter(|(at, _)| at % step == 0 || *at == last);
    let names: Vec<String> = drawn().map(|(_, (name, _))| plain(name)).collect();
    let values: Vec<String> = drawn().map(|(_, (_, value))| number(*value)).collect();
    format!(
        "xychart-beta\n    title \"{}\"\n    x-axis \"{}\" [{}]\n    y-axis \"{}\"\n    line [{}]\n",
        plain(&curve.title()),
        plain(&curve.axis.name),
        names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", "),
        plain(&curve.quantity()),
        values.join(", "),
    )
}

/// `text` with spaces for characters that Mermaid or Markdown interpret.
fn plain(text: &str) -> String {
    let own = |c: char| c.is_alphanumeric() || " _-.,/%:[]".contains(c);
    text.chars().map(|c| if own(c) { c } else { ' ' }).collect()
}

/// A number in at most six digits, without an exponent, which Mermaid does not read.
fn number(value: f64) -> String {
    let digits = value.abs().max(f64::MIN_POSITIVE).log10().floor();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    let decimals = (5.0 - digits).clamp(0.0, 12.0) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}
