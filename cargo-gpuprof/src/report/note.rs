//! A note under a series.

/// One note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Note {
    /// The word or sign it explains: `failed`, `-`, `declared`.
    pub label: &'static str,
    /// What it speaks of: configurations or metrics.
    pub subject: String,
    /// The reason; may have several lines.
    pub text: String,
}
