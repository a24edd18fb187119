//! A duration: how long a run may ask for more rounds.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;

/// A duration, such as `90s`, `10min` or `1h 30min`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct TimeBudget(Duration);

impl TimeBudget {
    /// The duration.
    pub fn duration(self) -> Duration {
        self.0
    }
}

impl FromStr for TimeBudget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("`{text}` is not a duration; expected something like `90s`, `10min` or `1h`")
        };
        let signed: jiff::SignedDuration = text.parse().map_err(|_| wrong())?;
        match Duration::try_from(signed) {
            Ok(duration) if !duration.is_zero() => Ok(Self(duration)),
            _ => Err(wrong()),
        }
    }
}

impl TryFrom<String> for TimeBudget {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for TimeBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::SignedDuration::try_from(self.0) {
            Ok(signed) => write!(f, "{signed:#}"),
            Err(_) => write!(f, "{}s", self.0.as_secs()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_shown_in_words() {
        for (text, seconds, shown) in
            [("90s", 90, "1m 30s"), ("10min", 600, "10m"), ("1h 30m", 5400, "1h 30m")]
        {
            let budget: TimeBudget = text.parse().unwrap();
            assert_eq!(budget.duration(), Duration::from_secs(seconds));
            assert_eq!(budget.to_string(), shown);
        }
        for wrong in ["", "90", "-5s", "0s", "soon"] {
            let expected = format!(
                "`{wrong}` is not a duration; expected something like `90s`, `10min` or `1h`"
            );
            assert_eq!(wrong.parse::<TimeBudget>(), Err(expected));
        }
    }
}
