//! A note under a series.

use gpuprof_model::run::{ConfigurationResult, Status};
use gpuprof_model::verdict::Weight;

use super::key;

/// How many configurations a note names before it counts the rest.
const NAMED: usize = 4;

/// One note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Note {
    /// The word or sign it explains: `failed`, `-`, `declared`.
    pub label: &'static str,
    /// Its subject: configurations or metrics.
    pub subject: String,
    /// The reason; may have several lines.
    pub text: String,
    /// How much it weighs.
    pub weight: Weight,
}

/// A note's name for `rows`.
pub(super) fn keys(rows: &[&ConfigurationResult]) -> String {
    let named: Vec<String> = rows.iter().take(NAMED).map(|row| key(row)).collect();
    match rows.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// A note's name for `rows` of one series that are too many to list: their number, and the first
/// and last of them.
pub(super) fn span(rows: &[&ConfigurationResult]) -> String {
    match rows {
        [first, .., last] => {
            format!("{} configurations between {} and {}", rows.len(), key(first), key(last))
        }
        _ => keys(rows),
    }
}

/// A note's name for `group`, of `rows`.
pub(super) fn subject(group: &[&ConfigurationResult], rows: &[ConfigurationResult]) -> String {
    let finished = rows.iter().filter(|row| row.status == Status::Finished).count();
    match group.len() {
        all if all == rows.len() => "every row".to_owned(),
        all if all == finished => "every finished row".to_owned(),
        _ => keys(group),
    }
}
