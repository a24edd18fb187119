//! Thresholds as users write them, parsed once.

use gpuprof_model::{ParseError, Threshold};
use serde::Deserialize;

/// The text of a threshold.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// The text.
    pub text: String,
    /// Its threshold, or the place in the text that does not follow the grammar.
    pub threshold: Result<Threshold, ParseError>,
}

impl From<&str> for Condition {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), threshold: Threshold::parse(text) }
    }
}

impl Condition {
    /// Those of `texts`.
    pub fn all(texts: &[String]) -> Vec<Self> {
        texts.iter().map(|text| text.as_str().into()).collect()
    }
}

/// A threshold of the configuration file, and its position.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "toml::Spanned<String>")]
pub struct Written {
    /// The threshold.
    pub condition: Condition,
    /// Its line, from 1.
    pub line: u32,
    start: usize,
}

impl From<toml::Spanned<String>> for Written {
    fn from(spanned: toml::Spanned<String>) -> Self {
        let condition = spanned.get_ref().as_str().into();
        Self { condition, line: 1, start: spanned.span().start }
    }
}

impl Written {
    /// Finds its line in the `file` that it was read from.
    pub(super) fn locate(&mut self, file: &str) {
        let before = file.get(..self.start).unwrap_or_default();
        let breaks = before.bytes().filter(|&byte| byte == b'\n').count();
        self.line = u32::try_from(breaks + 1).unwrap_or(u32::MAX);
    }
}
