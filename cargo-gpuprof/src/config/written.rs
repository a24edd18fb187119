//! Texts of the configuration file that know their line.

use serde::Deserialize;

/// A text and where it is written.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "toml::Spanned<String>")]
pub struct Written {
    /// The text.
    pub text: String,
    /// Its line, from 1.
    pub line: u32,
    start: usize,
}

impl From<toml::Spanned<String>> for Written {
    fn from(spanned: toml::Spanned<String>) -> Self {
        let start = spanned.span().start;
        Self { text: spanned.into_inner(), line: 1, start }
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
