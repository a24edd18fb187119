//! The thresholds of the configuration file, parsed once.

use gpuprof_model::threshold::WrittenThreshold;
use serde::Deserialize;

/// A threshold of the configuration file, and its position.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "toml::Spanned<String>")]
pub struct Written {
    /// The threshold.
    pub threshold: WrittenThreshold,
    /// Its line, from 1.
    pub line: u32,
    start: usize,
}

impl From<toml::Spanned<String>> for Written {
    fn from(spanned: toml::Spanned<String>) -> Self {
        let start = spanned.span().start;
        Self { threshold: spanned.into_inner().into(), line: 1, start }
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
