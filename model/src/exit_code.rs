//! The exit codes of `cargo gpuprof`, a public contract.
//!
//! Input: all outcomes of a run. Output: one code; if several apply, the one of the highest rank,
//! which must not be hidden by another.

use serde::{Deserialize, Serialize};

/// Makes the codes of rows `Name = NUMBER, RANK, "meaning";`. Of two codes the one of higher rank
/// must not be hidden by the other.
macro_rules! exit_codes {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $rank:literal, $meaning:literal;)*) => {
        /// Why `cargo gpuprof` ended.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        #[serde(into = "u8", try_from = "u8")]
        pub enum ExitCode {
            $($(#[$doc])* $name,)*
            /// A signal of this number ended it, with what was measured kept.
            Signal(u8),
        }

        impl ExitCode {
            /// Every code with its meaning, as `--help` and the book show them.
            pub const TABLE: &[(Self, &str)] = &[$((Self::$name, $meaning)),*];

            /// The meaning of the code, in a few words.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$name => $meaning,)*
                    Self::Signal(_) => "ended by a signal, with what was measured kept",
                }
            }

            /// The number the process exits with.
            pub fn code(self) -> u8 {
                match self {
                    $(Self::$name => $number,)*
                    Self::Signal(number) => SIGNALS.saturating_add(number),
                }
            }

            fn rank(self) -> u8 {
                match self {
                    $(Self::$name => $rank,)*
                    Self::Signal(_) => u8::MAX,
                }
            }
        }
    };
}

exit_codes! {
    /// Every threshold was evaluated and met.
    Success = 0, 0, "no threshold failed";
    /// The command line could not be understood.
    Usage = 2, 12, "command line not understood";
    /// No series was registered or matched, or nothing of one was measured.
    NoSeries = 4, 1, "no series matched, or nothing of one was measured";
    /// Another process works on the same run; trying again later may succeed (`EX_TEMPFAIL`).
    Busy = 75, 13, "another process is still working on this run";
    /// The configuration file is wrong.
    Configuration = 96, 11, "configuration, stored run or baseline not understood";
    /// At least one threshold failed.
    ThresholdFailed = 100, 3, "a threshold failed";
    /// The kernels or the harness did not build.
    BuildFailed = 101, 10, "build failed";
    /// `cargo metadata` failed.
    MetadataFailed = 102, 8, "cargo metadata failed";
    /// An archive could not be made, opened or trusted.
    Archive = 103, 9, "archive could not be made or opened";
    /// A harness could not list its series.
    DiscoveryFailed = 104, 7, "harness discovery failed";
    /// A profiled process failed, timed out, or its replay diverged.
    ProcessFailed = 105, 4, "a profiled process failed or timed out";
    /// Nothing could be judged or compared; under `--strict`, something could not.
    NotJudged = 106, 2, "nothing could be judged or, under --strict, something could not";
    /// Profiling is not possible on this machine.
    NotPossible = 107, 6, "profiling is not possible here";
    /// Output could not be written.
    OutputFailed = 110, 5, "output could not be written";
}

/// The shells' convention: 128 and the number of the signal.
const SIGNALS: u8 = 128;

impl ExitCode {
    /// The one of two codes that must not be hidden by the other.
    #[must_use]
    pub fn or_worse(self, other: Self) -> Self {
        if other.rank() > self.rank() { other } else { self }
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
    fn the_worse_exit_code_wins() {
        assert_eq!(ThresholdFailed.or_worse(ProcessFailed), ProcessFailed);
        assert_eq!(BuildFailed.or_worse(ProcessFailed), BuildFailed);
        assert_eq!(NotJudged.or_worse(ThresholdFailed), ThresholdFailed);
        assert_eq!(NoSeries.or_worse(NotJudged), NotJudged);
        assert_eq!(Success.or_worse(NoSeries), NoSeries);
    }

    #[test]
    fn a_signal_becomes_128_plus_its_number_and_outranks_others() {
        assert_eq!(Signal(2).code(), 130);
        assert_eq!(super::ExitCode::try_from(143), Ok(Signal(15)));
        assert!(super::ExitCode::try_from(128).is_err());
        assert_eq!(Signal(2).or_worse(ThresholdFailed), Signal(2));
    }

    #[test]
    fn every_code_is_in_the_table_once() {
        let mut codes: Vec<u8> = super::ExitCode::TABLE.iter().map(|(c, _)| c.code()).collect();
        codes.sort_unstable();
        assert_eq!(codes, [0, 2, 4, 75, 96, 100, 101, 102, 103, 104, 105, 106, 107, 110]);
    }
}
