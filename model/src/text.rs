//! Errors that know their place in a text, and the small cursor the grammars share.
//!
//! Input: a text and a byte range. Output: a message with a caret under the range. Ranges are
//! always on character boundaries of the text they were made from.

mod printable;

use std::fmt;
use std::ops::Range;

pub use printable::{one_line, printable, printable_in_colour, printable_whole, steers};

/// A text that does not follow its grammar: what is wrong, where, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// What is wrong, without a final full stop.
    pub message: String,
    /// The offending bytes of the parsed text; empty at the end of the text.
    pub span: Range<usize>,
    /// What to do about it.
    pub help: Option<String>,
}

impl ParseError {
    /// An error at `span` without advice.
    pub fn new(message: impl Into<String>, span: Range<usize>) -> Self {
        Self { message: message.into(), span, help: None }
    }

    /// The same error with advice.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same error, its span moved `offset` bytes to the right.
    #[must_use]
    pub fn shifted(mut self, offset: usize) -> Self {
        self.span = self.span.start + offset..self.span.end + offset;
        self
    }

    /// The error as a person reads it: message, the text, a caret under the place, advice.
    ///
    /// `origin` says where the text was written (`--threshold`, `gpuprof.toml`, `src/lib.rs:12`).
    pub fn render(&self, origin: &str, text: &str) -> String {
        let before = text[..self.span.start.min(text.len())].chars().count();
        let end = self.span.end.min(text.len());
        let width = text[self.span.start.min(end)..end].chars().count().max(1);
        let mut out = format!(
            "{}\n  --> {origin}\n   |\n   | {text}\n   | {}{}",
            self.message,
            " ".repeat(before),
            "^".repeat(width)
        );
        if let Some(help) = &self.help {
            out.push_str("\n   = help: ");
            out.push_str(help);
        }
        out
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(help) = &self.help {
            write!(f, " (help: {help})")?;
        }
        Ok(())
    }
}

impl std::error::Error for ParseError {}

/// A reading position in a text.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

/// The longest text of an expression, in bytes: a chain of operators is a tree as deep as it is
/// long, and walking a deeper one would overflow the stack.
const MOST_BYTES: usize = 10_000;

/// Refuses an expression that is too long to be walked.
///
/// # Errors
/// Its length and the limit.
pub(crate) fn of_fair_length(text: &str) -> Result<(), ParseError> {
    if text.len() <= MOST_BYTES {
        return Ok(());
    }
    let message = format!("the expression has {} bytes, and {MOST_BYTES} is the most", text.len());
    Err(ParseError::new(message, 0..1))
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(crate) fn position(&self) -> usize {
        self.at
    }

    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Moves on by `bytes`, which end on a character boundary.
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.at += bytes;
    }

    pub(crate) fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    pub(crate) fn at_end(&mut self) -> bool {
        self.skip_space();
        self.rest().is_empty()
    }

    /// Takes `literal` if it comes next, after white space.
    pub(crate) fn eat(&mut self, literal: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(literal);
        if found {
            self.at += literal.len();
        }
        found
    }

    /// Takes the word `word` if it comes next as a whole word.
    pub(crate) fn eat_word(&mut self, word: &str) -> bool {
        let mut ahead = self.clone();
        let (found, _) = ahead.take_while(is_name_char);
        let matched = found == word;
        if matched {
            *self = ahead;
        }
        matched
    }

    /// Takes the longest run of characters that satisfy `keep`, after white space.
    pub(crate) fn take_while(&mut self, keep: impl Fn(char) -> bool) -> (&'a str, Range<usize>) {
        self.skip_space();
        let start = self.at;
        let rest = self.rest();
        let len = rest.find(|c| !keep(c)).unwrap_or(rest.len());
        self.at += len;
        (&rest[..len], start..start + len)
    }

    /// The range of the next thing: a run of non-space characters, or the end of the text.
    pub(crate) fn next_span(&self) -> Range<usize> {
        let mut ahead = self.clone();
        let (_, span) = ahead.take_while(|c| !c.is_whitespace() && c != ',' && c != ']');
        if span.is_empty() && span.start < self.text.len() {
            let width = self.text[span.start..].chars().next().map_or(0, char::len_utf8);
            return span.start..span.start + width;
        }
        span
    }
}

/// A character that an axis name may contain.
pub(crate) fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_is_aligned_after_wide_characters() {
        let error = ParseError::new("no such unit", 4..8).with_help("write `us`");
        assert_eq!(
            error.render("--threshold", "µs 5fooo"),
            "no such unit\n  --> --threshold\n   |\n   | µs 5fooo\n   |    ^^^^\n   = help: write `us`"
        );
    }

    #[test]
    fn an_error_at_the_end_still_has_a_caret() {
        let error = ParseError::new("expected a limit", 2..2);
        assert!(error.render("x", "ab").ends_with("| ab\n   |   ^"));
    }
}
