//! Advice in texts: the same for a terminal, Markdown and the HTML page.
//!
//! Input: the advice for a series, the most worthwhile first. Output: the gain and the text of
//! each. A terminal shows three; the others are counted.

use gpuprof_analysis::view::by_device::DeviceRows;
use gpuprof_model::advice::{Advice, Gain};
use gpuprof_model::run::Run;
use gpuprof_model::text::one_line;

use super::number::grouped;
use super::paint::Paint;
use gpuprof_system::wrap::wrapped;

/// The most pieces of a series on a terminal.
const MOST_SHOWN: usize = 3;

/// The pieces in `part`.
pub(super) fn select_advice<'r>(run: &'r Run, part: &DeviceRows<'_>) -> &'r [Advice] {
    let own = run
        .advice
        .iter()
        .find(|advice| advice.series == part.series.id && advice.device.as_deref() == part.device);
    own.map_or(&[], |advice| &advice.pieces)
}

/// The gain of a piece of advice, in a word or two.
pub(super) fn worth(piece: &Advice) -> String {
    match piece.gain {
        Some(Gain::Measured { factor, .. }) => format!("{}×", grouped(factor, 2)),
        Some(Gain::Time { percent }) => format!("~{}% of time", grouped(percent, 0)),
        Some(Gain::Use { percent }) => format!("{}% of use", grouped(percent, 0)),
        None => "–".to_owned(),
    }
}

/// The key to the gains, for new readers.
pub(super) const KEY: &str = "× was measured; ~% of time is an estimate of what would go away; \
                              % of use is of one unit seen alone";

/// The text of a piece of advice: the finding, its place, and the remedy.
pub(super) fn describe_advice(piece: &Advice) -> String {
    let place = match piece.configurations.as_slice() {
        // Findings of a series name their places.
        _ if piece.remedy.is_none() && is_of_series(piece) => String::new(),
        [] => String::new(),
        [only] if only.is_empty() => String::new(),
        [only] => format!(" at {only}"),
        [first, rest @ ..] => format!(" at {first} and {} more", rest.len()),
    };
    let remedy = piece.remedy.as_ref().map(|remedy| format!(" {remedy}")).unwrap_or_default();
    let sure = if is_of_series(piece) { String::new() } else { format!(" ({})", piece.certainty) };
    format!("{}{place}{sure}.{remedy}", piece.message)
}

fn is_of_series(piece: &Advice) -> bool {
    gpuprof_analysis::advice::series::FINDINGS.iter().any(|(id, _)| *id == piece.rule)
}

/// The first of `pieces`, in lines of at most `width`.
pub(super) fn lines(pieces: &[Advice], width: Option<u16>, paint: Paint) -> Vec<String> {
    if pieces.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![format!(" {}", paint.bold("advice"))];
    let shown = &pieces[..pieces.len().min(MOST_SHOWN)];
    let column = shown.iter().map(|piece| worth(piece).chars().count()).max().unwrap_or(0);
    for piece in shown {
        let worth = worth(piece);
        let worth = match piece.gain {
            Some(Gain::Measured { .. }) => paint.good(format!("{worth:column$}")),
            Some(Gain::Time { .. } | Gain::Use { .. }) | None => format!("{worth:column$}"),
        };
        let text = wrapped(&one_line(&describe_advice(piece)), width, column + 3, column + 3);
        lines.extend(format!(" {worth}  {text}").lines().map(str::to_owned));
    }
    if let Some(more @ 1..) = pieces.len().checked_sub(shown.len()) {
        let text = format!("{more} more in --format json, markdown and html");
        lines.push(format!(" {}", paint.faint(text)));
    }
    lines
}

#[cfg(test)]
mod tests;
