//! The exit codes of `cargo gpuprof`, a public contract.
//!
//! Input: everything that happened in a run. Output: one code; where several apply, the one
//! that must not hide behind another wins: 101 > 105 > 100 > 106 > 4.

use serde::{Deserialize, Serialize};

/// Why `cargo gpuprof` ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(into = "u8", try_from = "u8")]
pub enum ExitCode {
    /// Every threshold was evaluated and met.
    Success,
    /// The command line could not be understood.
    Usage,
    /// No series was registered or matched.
    NoSeries,
    /// The configuration file is wrong.
    Configuration,
    /// At least one threshold failed.
    ThresholdFailed,
    /// The kernels or the harness did not build.
    BuildFailed,
    /// `cargo metadata` failed.
    MetadataFailed,
    /// An archive could not be made, opened or trusted.
    Archive,
    /// A harness could not be asked what it holds.
    DiscoveryFailed,
    /// A profiled process failed, timed out, or its replay diverged.
    ProcessFailed,
    /// Something could not be judged, under `--strict`.
    NotJudged,
    /// Profiling is not possible on this machine.
    NotPossible,
    /// Output could not be written.
    OutputFailed,
    /// A signal of this number ended it, with what was measured kept.
    Signal(u8),
}

/// The shells' convention: 128 and the number of the signal.
const SIGNALS: u8 = 128;

impl ExitCode {
    /// Every code with its meaning, as `--help` and the book show them.
    pub const TABLE: [(Self, &'static str); 13] = [
        (Self::Success, "no threshold failed"),
        (Self::Usage, "command line not understood"),
        (Self::NoSeries, "no series matched"),
        (Self::Configuration, "configuration file error"),
        (Self::ThresholdFailed, "a threshold failed"),
        (Self::BuildFailed, "build failed"),
        (Self::MetadataFailed, "cargo metadata failed"),
        (Self::Archive, "archive could not be made or opened"),
        (Self::DiscoveryFailed, "harness discovery failed"),
        (Self::ProcessFailed, "a profiled process failed or timed out"),
        (Self::NotJudged, "something could not be judged, under --strict"),
        (Self::NotPossible, "profiling is not possible here"),
        (Self::OutputFailed, "output could not be written"),
    ];

    /// What the code means, in a few words.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Signal(_) => "ended by a signal, with what was measured kept",
            _ => Self::TABLE
                .iter()
                .find(|(code, _)| *code == self)
                .map_or("", |(_, meaning)| meaning),
        }
    }

    /// The number the process exits with.
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Usage => 2,
            Self::NoSeries => 4,
            Self::Configuration => 96,
            Self::ThresholdFailed => 100,
            Self::BuildFailed => 101,
            Self::MetadataFailed => 102,
            Self::Archive => 103,
            Self::DiscoveryFailed => 104,
            Self::ProcessFailed => 105,
            Self::NotJudged => 106,
            Self::NotPossible => 107,
            Self::OutputFailed => 110,
            Self::Signal(number) => SIGNALS.saturating_add(number),
        }
    }

    /// The one of two codes that must not be hidden by the other.
    #[must_use]
    pub fn or_worse(self, other: Self) -> Self {
        if other.precedence() > self.precedence() { other } else { self }
    }

    fn precedence(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::NoSeries => 1,
            Self::NotJudged => 2,
            Self::ThresholdFailed => 3,
            Self::ProcessFailed => 4,
            Self::OutputFailed => 5,
            Self::NotPossible => 6,
            Self::DiscoveryFailed => 7,
            Self::MetadataFailed => 8,
            Self::Archive => 9,
            Self::BuildFailed => 10,
            Self::Configuration => 11,
            Self::Usage => 12,
            Self::Signal(_) => 13,
        }
    }
}

impl From<ExitCode> for u8 {
    fn from(code: ExitCode) -> Self {
        code.code()
    }
}

impl TryFrom<u8> for ExitCode {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        let signal = number.checked_sub(SIGNALS).filter(|&signal| signal > 0).map(Self::Signal);
        Self::TABLE
            .iter()
            .map(|&(code, _)| code)
            .chain(signal)
            .find(|code| code.code() == number)
            .ok_or_else(|| format!("{number} is not an exit code of gpuprof"))
    }
}

#[cfg(test)]
mod tests {
    use super::ExitCode::*;

    #[test]
    fn a_crash_never_hides_as_a_regression_nor_a_regression_as_doubt() {
        assert_eq!(ThresholdFailed.or_worse(ProcessFailed), ProcessFailed);
        assert_eq!(BuildFailed.or_worse(ProcessFailed), BuildFailed);
        assert_eq!(NotJudged.or_worse(ThresholdFailed), ThresholdFailed);
        assert_eq!(NoSeries.or_worse(NotJudged), NotJudged);
        assert_eq!(Success.or_worse(NoSeries), NoSeries);
    }

    #[test]
    fn a_signal_is_told_as_shells_do_and_hides_nothing_less() {
        assert_eq!(Signal(2).code(), 130);
        assert_eq!(super::ExitCode::try_from(143), Ok(Signal(15)));
        assert!(super::ExitCode::try_from(128).is_err());
        assert_eq!(Signal(2).or_worse(ThresholdFailed), Signal(2));
    }

    #[test]
    fn every_code_is_in_the_table_once() {
        let mut codes: Vec<u8> = super::ExitCode::TABLE.iter().map(|(c, _)| c.code()).collect();
        codes.dedup();
        assert_eq!(codes, [0, 2, 4, 96, 100, 101, 102, 103, 104, 105, 106, 107, 110]);
    }
}
