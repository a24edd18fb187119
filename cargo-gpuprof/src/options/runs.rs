//! Options of `runs`.

use std::str::FromStr;

use clap::{Args, Subcommand};
use jiff::{SignedDuration, Span, SpanRelativeTo};

use super::word::word;
use super::{Color, MessageFormat, PlaceOptions};

/// Options of `runs`.
#[derive(Debug, Args)]
pub struct RunsOptions {
    /// The action.
    #[command(subcommand)]
    pub action: RunsAction,
    /// The location of runs.
    #[command(flatten)]
    pub place: PlaceOptions,
}

/// The actions on stored runs.
#[derive(Debug, Subcommand)]
pub enum RunsAction {
    /// List the runs, the newest last.
    List {
        /// Format of the list
        #[arg(long, value_parser = word::<MessageFormat>(), default_value_t, value_name = "FORMAT")]
        message_format: MessageFormat,
    },
    /// Show a run as a report.
    Show {
        /// The run: `latest`, an id or a prefix of it, or a file
        #[arg(value_name = "RUN", default_value = "latest")]
        run: String,
        /// When to colour
        #[arg(long, value_parser = word::<Color>(), default_value_t, value_name = "WHEN", env = "CARGO_TERM_COLOR")]
        color: Color,
    },
    /// Remove runs, except those under way.
    Rm(RemoveOptions),
}

/// The runs to remove.
#[derive(Debug, Args)]
#[group(id = "which", required = true, multiple = false)]
pub struct RemoveOptions {
    /// Ids, or prefixes of ids
    #[arg(value_name = "RUN", group = "which")]
    pub runs: Vec<String>,
    /// Runs that started longer ago than this, such as 12h, 30d or '2 weeks'
    #[arg(long, value_name = "AGE", group = "which")]
    pub older_than: Option<Age>,
    /// All runs
    #[arg(long, group = "which")]
    pub all: bool,
    /// Format of the list of removed runs
    #[arg(long, value_parser = word::<MessageFormat>(), default_value_t, value_name = "FORMAT")]
    pub message_format: MessageFormat,
}

/// How long ago: `12h`, `30d`, `2 weeks`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Age(pub SignedDuration);

impl FromStr for Age {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "expected an age such as 12h, 30d or '2 weeks'".to_owned();
        let span: Span = text.parse().map_err(|_| expected())?;
        let age = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| expected())?;
        if age.is_negative() { Err(expected()) } else { Ok(Self(age)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_parsed_from_everyday_units() {
        let hours = |text: &str| text.parse::<Age>().map(|age| age.0.as_hours());
        assert_eq!(hours("12h"), Ok(12));
        assert_eq!(hours("30d"), Ok(720));
        assert_eq!(hours("2 weeks"), Ok(336));
        for bad in ["", "12", "-3h", "soon", "1 month"] {
            assert!(hours(bad).is_err(), "{bad}");
        }
    }
}
