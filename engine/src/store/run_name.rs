//! Which run a text names: one rule for everything that takes an id.

use std::fmt;

use camino::Utf8PathBuf;
use gpuprof_model::suggest::did_you_mean;

use gpuprof_system::error::Failure;

/// Why a text names no run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unnamed {
    /// It is the beginning of several ids.
    Several(Vec<String>),
    /// No run has this prefix; with similar names.
    None(String),
    /// There is nothing to name below this folder.
    Empty(Utf8PathBuf),
}

impl Unnamed {
    /// The failure of `text`, which was to name one of `what` (exit code 2).
    pub fn failure(&self, what: &str, text: &str) -> Failure {
        Failure::usage(match self {
            Self::Several(_) => format!("`{text}` {self}"),
            Self::None(_) | Self::Empty(_) => format!("no {what} is named `{text}`: {self}"),
        })
    }
}

impl fmt::Display for Unnamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Several(ids) => write!(f, "matches several runs: {}", ids.join(", ")),
            Self::None(near) => f.write_str(near),
            Self::Empty(runs) => write!(f, "there are none below {runs}"),
        }
    }
}

/// The one of `ids`, the newest last, that `text` is, or is the beginning of.
///
/// # Errors
/// There is none, or more than one.
pub fn named<'i>(ids: &'i [String], text: &str) -> Result<&'i str, Unnamed> {
    if let Some(exact) = ids.iter().find(|id| *id == text) {
        return Ok(exact);
    }
    let begins: Vec<&String> = ids.iter().filter(|id| id.starts_with(text)).collect();
    match begins.as_slice() {
        [one] => Ok(one),
        [] => {
            // Every id resembles every other one.
            let is_id = text.starts_with(|c: char| c.is_ascii_digit());
            let ids_or_none = ids.iter().filter(|_| !is_id);
            let near = did_you_mean(text, ids_or_none.map(String::as_str));
            Err(Unnamed::None(near.unwrap_or_else(|| match ids.last() {
                Some(last) => format!("the last one is {last}"),
                None => "there are no runs".to_owned(),
            })))
        }
        several => Err(Unnamed::Several(several.iter().map(ToString::to_string).collect())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unique_prefix_names_an_id() {
        let ids = ["20251121T01-1", "20251121T01-12", "20251122T01-1"].map(str::to_owned);
        assert_eq!(named(&ids, "20251122"), Ok("20251122T01-1"));
        assert_eq!(named(&ids, "20251121T01-1"), Ok("20251121T01-1"), "all of an id");
        let several = named(&ids, "20251121").unwrap_err();
        assert_eq!(several, Unnamed::Several(ids[..2].to_vec()));
        let message = several.failure("run", "20251121").message;
        assert_eq!(message, "`20251121` matches several runs: 20251121T01-1, 20251121T01-12");
        let none = named(&ids, "x").unwrap_err().failure("file or run", "x").message;
        assert_eq!(none, "no file or run is named `x`: the last one is 20251122T01-1");
        let unlike = named(&ids, "20251121T09-1").unwrap_err().failure("run", "20251121T09-1");
        assert_eq!(
            unlike.message,
            "no run is named `20251121T09-1`: the last one is 20251122T01-1"
        );
        assert_eq!(named(&[], "x"), Err(Unnamed::None("there are no runs".to_owned())));
    }
}
