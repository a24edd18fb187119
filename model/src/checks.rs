//! The checks of the emulated driver, as users select them.
//!
//! Input: `all`, `none`, or names separated by commas. Output: a typed selection; its text is the
//! one that the driver reads.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::suggest::did_you_mean;

const MEMORY: &str = "memory";
const INIT: &str = "init";
const RACE: &str = "race";
const SYNC: &str = "sync";
const ALL: &str = "all";
const NONE: &str = "none";
const NAMES: [&str; 6] = [MEMORY, INIT, RACE, SYNC, ALL, NONE];

/// A selection of checks. `memory` (bounds, alignment, lifetime) and `sync` (barriers that some
/// threads cannot reach) stop a kernel that cannot continue, so they run in every selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Checks {
    /// Reads of shared memory that no thread has written.
    pub init: bool,
    /// Accesses to shared memory by two threads that nothing orders.
    pub race: bool,
    /// Whether they run in all blocks; else in the first 16, the last and every 16th.
    pub all_blocks: bool,
}

impl Checks {
    /// Every check in every block.
    pub const ALL: Self = Self { init: true, race: true, all_blocks: true };
    const NONE: Self = Self { init: false, race: false, all_blocks: false };

    fn names(self) -> Vec<&'static str> {
        let selected = [(MEMORY, true), (INIT, self.init), (RACE, self.race), (SYNC, true)];
        selected.into_iter().filter(|(_, on)| *on).map(|(name, _)| name).collect()
    }
}

impl Default for Checks {
    fn default() -> Self {
        Self { init: true, race: true, all_blocks: false }
    }
}

impl FromStr for Checks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<&str> = text.split(',').map(str::trim).collect();
        let mut checks = Self::NONE;
        for name in &names {
            match *name {
                MEMORY | SYNC => {}
                INIT => checks.init = true,
                RACE => checks.race = true,
                ALL if names.len() == 1 => return Ok(Self::ALL),
                NONE if names.len() == 1 => return Ok(Self::NONE),
                ALL | NONE => return Err(format!("`{name}` cannot be combined with other checks")),
                unknown => {
                    let help = did_you_mean(unknown, NAMES).map(|help| format!("; {help}"));
                    let known = NAMES.join(", ");
                    return Err(format!(
                        "unknown check `{unknown}`{}; expected one of {known}",
                        help.as_deref().unwrap_or_default().trim_end_matches('?')
                    ));
                }
            }
        }
        Ok(checks)
    }
}

impl TryFrom<String> for Checks {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.init || self.race, self.all_blocks) {
            (false, _) => f.write_str(NONE),
            (true, true) => f.write_str(ALL),
            (true, false) => f.write_str(&self.names().join(",")),
        }
    }
}

/// The checks of shared memory that ran in the launches of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CheckRecord {
    /// Whether reads of what no thread has written were looked for.
    pub init: bool,
    /// Whether races were looked for.
    pub race: bool,
    /// The number of blocks in which they were looked for.
    pub checked_blocks: u64,
    /// The number of blocks of all launches.
    pub blocks: u64,
}

impl CheckRecord {
    /// The record of several launches: a check counts that ran in each of them.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        Self {
            init: self.init && other.init,
            race: self.race && other.race,
            checked_blocks: self.checked_blocks + other.checked_blocks,
            blocks: self.blocks + other.blocks,
        }
    }
}

impl fmt::Display for CheckRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = [(INIT, self.init), (RACE, self.race)]
            .into_iter()
            .filter(|(_, ran)| *ran)
            .map(|(name, _)| name)
            .collect();
        match names.is_empty() {
            true => f.write_str(NONE),
            false => write!(
                f,
                "{} over {} of {} blocks",
                names.join(", "),
                self.checked_blocks,
                self.blocks
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_is_what_its_text_says() {
        for (text, shown) in [
            ("all", "all"),
            ("none", "none"),
            ("memory", "none"),
            ("memory,init,race,sync", "memory,init,race,sync"),
            (" race , init", "memory,init,race,sync"),
            ("race", "memory,race,sync"),
        ] {
            let checks: Checks = text.parse().unwrap();
            assert_eq!(checks.to_string(), shown, "{text}");
            assert_eq!(shown.parse(), Ok(checks), "{text}");
        }
        assert_eq!("memory,init,race,sync".parse(), Ok(Checks::default()));
    }

    #[test]
    fn a_wrong_name_gets_the_nearest_one() {
        let wrong = |text: &str| text.parse::<Checks>().unwrap_err();
        assert_eq!(
            wrong("init,rase"),
            "unknown check `rase`; did you mean `race`; expected one of memory, init, race, sync, \
             all, none"
        );
        assert_eq!(wrong("all,race"), "`all` cannot be combined with other checks");
        assert!(wrong("").starts_with("unknown check ``"));
    }

    #[test]
    fn a_record_says_which_checks_ran_in_how_many_blocks() {
        let record = CheckRecord { init: true, race: true, checked_blocks: 31, blocks: 256 };
        assert_eq!(record.to_string(), "init, race over 31 of 256 blocks");
        let small = CheckRecord { race: false, checked_blocks: 2, blocks: 2, ..record };
        assert_eq!(record.join(small).to_string(), "init over 33 of 258 blocks");
        assert_eq!(CheckRecord { init: false, ..small }.to_string(), "none");
    }
}
