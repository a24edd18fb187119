//! How many processes time a configuration. Pure.
//!
//! Input: `--repeat`, and the medians that the first processes found. Output: how many there
//! should be. More where processes differ by much: the number follows from their noise alone, never
//! from how they compare with anything, so that it favours no verdict (Stein, *Annals of
//! Mathematical Statistics* 16, 1945).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Standard deviation between processes, in percent of their mean, over which more of them run.
/// `docs/claims.md` has the rates at which the default gate errs with it.
pub const NOISE_PERCENT: f64 = 1.0;

/// How many processes time each configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RepeatsText", into = "RepeatsText")]
pub struct Repeats {
    /// So many at least.
    pub least: u32,
    /// So many where the first ones differ by more than [`NOISE_PERCENT`].
    pub most: u32,
}

impl Repeats {
    /// If nothing says otherwise, on a GPU.
    pub const DEFAULT: Self = Self { least: 7, most: 10 };

    /// Always `count`.
    pub const fn exactly(count: u32) -> Self {
        Self { least: count, most: count }
    }

    /// How many processes are wanted, now that the first ones found these medians.
    pub fn wanted(self, medians: &[f64]) -> u32 {
        let first = self.least as usize;
        let noisy = |first: &[f64]| noise_percent(first) > NOISE_PERCENT;
        if medians.get(..first).is_some_and(noisy) { self.most } else { self.least }
    }
}

/// The standard deviation of `values` in percent of their mean; 0 for fewer than two, and if the
/// mean is 0.
pub fn noise_percent(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = statistical::mean(values);
    if mean == 0.0 {
        return 0.0;
    }
    100.0 * statistical::standard_deviation(values, Some(mean)) / mean.abs()
}

impl fmt::Display for Repeats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { least, most } = self;
        if least == most { write!(f, "{least}") } else { write!(f, "{least}..{most}") }
    }
}

impl FromStr for Repeats {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            text.trim().parse::<u32>().map_err(|_| {
                format!(
                    "`{text}` is not a process count; expected `7`, or `7..10` to add processes \
                     where the first ones differ"
                )
            })
        };
        let (least, most) = match text.split_once("..") {
            Some((least, most)) => (number(least)?, number(most)?),
            None => (number(text)?, number(text)?),
        };
        match () {
            () if least == 0 => Err("it must be at least 1".to_owned()),
            () if most < least => Err(format!("{most} is fewer than {least}")),
            () => Ok(Self { least, most }),
        }
    }
}

/// As `gpuprof.toml` may have it.
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a process count, or a range such as \"7..10\"")]
enum RepeatsText {
    Number(u32),
    Text(String),
}

impl TryFrom<RepeatsText> for Repeats {
    type Error = String;

    fn try_from(written: RepeatsText) -> Result<Self, String> {
        match written {
            RepeatsText::Number(count) => count.to_string().parse(),
            RepeatsText::Text(text) => text.parse(),
        }
    }
}

impl From<Repeats> for RepeatsText {
    fn from(repeats: Repeats) -> Self {
        if repeats.least == repeats.most {
            Self::Number(repeats.least)
        } else {
            Self::Text(repeats.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_processes_run_where_the_first_ones_differ() {
        let repeats = Repeats { least: 3, most: 5 };
        assert_eq!(repeats.wanted(&[100.0, 100.5, 99.5]), 3);
        assert_eq!(repeats.wanted(&[100.0, 102.0, 98.0]), 5);
        // Later findings change nothing, and too few processes decide nothing.
        assert_eq!(repeats.wanted(&[100.0, 100.5, 99.5, 300.0]), 3);
        assert_eq!(repeats.wanted(&[100.0, 200.0]), 3);
        assert_eq!(Repeats::exactly(2).wanted(&[1.0, 9.0]), 2);
    }

    #[test]
    fn both_ways_of_writing_are_read_back() {
        for (text, least, most) in [("7", 7, 7), ("7..10", 7, 10), (" 3 .. 4 ", 3, 4)] {
            let repeats: Repeats = text.parse().unwrap();
            assert_eq!(repeats, Repeats { least, most });
            assert_eq!(repeats.to_string().parse(), Ok(repeats));
        }
        let error = |text: &str| text.parse::<Repeats>().unwrap_err();
        assert_eq!(error("0"), "it must be at least 1");
        assert_eq!(error("9..7"), "7 is fewer than 9");
        assert!(
            error("many").starts_with("`many` is not a process count; expected `7`, or `7..10`")
        );
        assert!(error("7..").starts_with("`` is not a process count"));
        assert!(error("-1").starts_with("`-1` is not a process count"));
    }
}
