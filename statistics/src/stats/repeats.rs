//! How many processes time a configuration. Pure.
//!
//! Input: `--repeat`, and the medians that the first processes found. Output: how many there
//! should be. More where processes differ by much: the number follows from their noise alone, never
//! from how they compare with anything, so that it favours no verdict (Stein, *Annals of
//! Mathematical Statistics* 16, 1945).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Processes for a standard deviation of 1 % between them; their number grows with its square.
/// `docs/claims.md` has the rates at which the default gate errs with it.
const FOR_ONE_PERCENT: f64 = 24.0;

/// So many processes of all configurations together show how much neighbours correlate.
const SHOW_CORRELATION: usize = 100;

/// How many processes time each configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RepeatsText", into = "RepeatsText")]
pub struct Repeats {
    /// So many at least.
    pub least: u32,
    /// So many at most, where the first ones differ.
    pub most: u32,
}

impl Repeats {
    /// If nothing says otherwise, on a GPU.
    pub const DEFAULT: Self = Self { least: 7, most: 10 };

    /// The same for a run of so many `configurations` that has or becomes a stored baseline: enough
    /// to decide a noise of 1.1 %, and more of few configurations.
    pub fn stored(configurations: usize) -> Self {
        let [least, most] = [8, 30];
        let needed = u32::try_from(SHOW_CORRELATION / configurations.max(1)).unwrap_or(most);
        Self { least: needed.clamp(least, most), most }
    }

    /// Always `count`.
    pub const fn exactly(count: u32) -> Self {
        Self { least: count, most: count }
    }

    /// How many processes are wanted, now that the first ones found these medians.
    pub fn wanted(self, medians: &[f64]) -> u32 {
        let Some(first) = medians.get(..self.least as usize) else { return self.least };
        let needed = FOR_ONE_PERCENT * noise_percent(first).powi(2);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
        let needed = needed.ceil() as u32;
        needed.clamp(self.least, self.most)
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
    fn more_processes_run_if_the_first_ones_differ() {
        let repeats = Repeats { least: 3, most: 30 };
        assert_eq!(repeats.wanted(&[100.0, 100.2, 99.8]), 3);
        assert_eq!(repeats.wanted(&[100.0, 101.0, 99.0]), 24);
        assert_eq!(repeats.wanted(&[100.0, 102.0, 98.0]), 30);
        // Later findings change nothing, and too few processes decide nothing.
        assert_eq!(repeats.wanted(&[100.0, 100.2, 99.8, 300.0]), 3);
        assert_eq!(repeats.wanted(&[100.0, 200.0]), 3);
        assert_eq!(Repeats::exactly(2).wanted(&[1.0, 9.0]), 2);
    }

    #[test]
    fn few_configurations_with_a_stored_baseline_have_more_processes() {
        let of = |configurations| Repeats::stored(configurations).to_string();
        assert_eq!([0, 1, 5, 10, 500].map(of), ["30", "30", "20..30", "10..30", "8..30"]);
    }

    #[test]
    fn repeats_are_parsed_as_number_or_range() {
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
