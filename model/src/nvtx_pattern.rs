//! Which NVTX ranges are collected.
//!
//! Input: a pattern and the path of a range, `domain@outer/inner`. Output: whether it matches.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::filter::matches_whole;
use crate::text::ParseError;

/// A pattern over the paths of NVTX ranges: `*` matches any characters, `?` one. Like a filter, it
/// matches a whole path, or its end from the start of a name: `step` matches `phase/step`. A domain
/// is named, `lib@phase/*`, except the default one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct NvtxPattern(String);

impl NvtxPattern {
    /// Whether it matches the range at `path`.
    pub fn matches(&self, path: &str) -> bool {
        let (domain, names) = match path.split_once('@') {
            Some((domain, names)) => (Some(domain), names),
            None => (None, path),
        };
        let ends = std::iter::successors(Some(names), |rest| rest.split_once('/').map(|it| it.1));
        let mut paths = ends.map(|end| match domain {
            Some(domain) => format!("{domain}@{end}"),
            None => end.to_owned(),
        });
        paths.any(|path| matches_whole(&self.0, &path))
    }
}

impl FromStr for NvtxPattern {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text.trim().is_empty() {
            true => Err(ParseError::new("the pattern is empty", 0..text.len()).with_help(
                "a pattern is the name of an NVTX range such as phase or domain@phase/step, with * \
                 for any characters and ? for one",
            )),
            false => Ok(Self(text.to_owned())),
        }
    }
}

impl fmt::Display for NvtxPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<NvtxPattern> for String {
    fn from(pattern: NvtxPattern) -> Self {
        pattern.0
    }
}

impl TryFrom<String> for NvtxPattern {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_a_path_or_its_end_from_the_start_of_a_name_in_its_domain() {
        let matches =
            |pattern: &str, path: &str| pattern.parse::<NvtxPattern>().unwrap().matches(path);
        for (pattern, path) in [
            ("phase", "phase"),
            ("phase", "outer/phase"),
            ("phase/*", "phase/a/b"),
            ("phase/*", "outer/phase/a"),
            ("ph?se", "phase"),
            ("*", "lib@phase"),
            ("lib@*", "lib@phase/a"),
            ("lib@a", "lib@phase/a"),
            ("*@phase", "lib@phase"),
        ] {
            assert!(matches(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("phase/*", "phase"),
            ("phase", "phases"),
            ("phase", "lib@phase"),
            ("lib@phase", "phase"),
            ("lib@phase", "other@phase"),
            ("se", "phase"),
        ] {
            assert!(!matches(pattern, path), "{pattern} {path}");
        }
        assert!(" ".parse::<NvtxPattern>().is_err());
    }
}
