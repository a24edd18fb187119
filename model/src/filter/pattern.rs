//! Patterns over names of series: `*` matches any characters, `?` one.
//!
//! Input: a text and the key of a series, or of a configuration. Output: whether it matches the
//! key, or the key's end from the start of a name: `kme*` matches the kernels `kmeans` and
//! `kmeans_step` of every package.

use std::fmt;
use std::iter;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::text::ParseError;

/// A pattern. Its serde form is its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern(String);

/// The grammar, for messages.
const HELP: &str = "a pattern is a name such as saxpy or package::kernel, with * for any characters and ? \
                    for one";

impl Pattern {
    /// The pattern `text` of a positional filter; none if it has no wildcard.
    pub(super) fn wild(text: &str) -> Option<Self> {
        text.contains(['*', '?']).then(|| Self(text.to_owned()))
    }

    /// Whether it matches `key` from its start, or from the start of a name in it.
    pub fn matches(&self, key: &str) -> bool {
        names(key).any(|name| matches_whole(&self.0, name))
    }

    /// Whether it matches one of the `keys` of a series.
    pub fn matches_any(&self, keys: &[String]) -> bool {
        keys.iter().any(|key| self.matches(key))
    }

    /// The name in it that a misspelling may be in: the last one, without wildcards.
    pub fn name(&self) -> String {
        let last = self.0.rsplit("::").next().unwrap_or(&self.0);
        last.chars().filter(|c| !matches!(c, '*' | '?')).collect()
    }
}

/// `key`, and its ends from the start of each name: `p::k`, `t::k`, `k`.
pub(super) fn names(key: &str) -> impl Iterator<Item = &str> {
    iter::successors(Some(key), |rest| rest.split_once("::").map(|(_, rest)| rest))
}

/// Whether `pattern` matches all of `text`. If a `*` took too little, it takes one character more.
pub(crate) fn matches_whole(pattern: &str, text: &str) -> bool {
    let [pattern, text] = [pattern, text].map(|it| it.chars().collect::<Vec<char>>());
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(&c) if c == '?' || c == text[t] => (p, t) = (p + 1, t + 1),
            _ => {
                let Some((at, taken)) = star else { return false };
                star = Some((at, taken + 1));
                (p, t) = (at + 1, taken + 1);
            }
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

impl FromStr for Pattern {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let known = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '*' | '?');
        if text.is_empty() {
            return Err(ParseError::new("the pattern is empty", 0..0).with_help(HELP));
        }
        match text.char_indices().find(|&(_, c)| !known(c)) {
            None => Ok(Self(text.to_owned())),
            Some((at, c)) => {
                let error = ParseError::new(format!("no name has a `{c}`"), at..at + c.len_utf8());
                Err(match c {
                    '~' => error.with_help("*text* matches every name that contains text"),
                    '=' => error.with_help("a pattern without * and ? matches the whole name"),
                    _ => error.with_help(HELP),
                })
            }
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.0
    }
}

impl TryFrom<String> for Pattern {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}
