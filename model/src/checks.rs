//! The checks of the emulated driver, as users select them.
//!
//! Input: `all`, `none`, or names, on the command line separated by commas. Output: a typed
//! selection, with a text that the driver reads.

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Checks {
    /// Reads of shared memory that no thread has written.
    pub init: bool,
    /// Accesses to shared or global memory by two threads that nothing orders.
    pub race: bool,
    /// Whether they run in all blocks; else in the first 16, the last and every 16th.
    pub all_blocks: bool,
}

impl Checks {
    /// Every check in every block.
    pub const ALL: Self = Self { init: true, race: true, all_blocks: true };
    const NONE: Self = Self { init: false, race: false, all_blocks: false };

    /// The selection of `names`.
    ///
    /// # Errors
    /// The position of a name that is unknown, or that cannot be combined, and the message.
    pub fn of_names<T: AsRef<str>>(names: &[T]) -> Result<Self, (usize, String)> {
        let mut checks = Self::NONE;
        for (at, name) in names.iter().enumerate() {
            match name.as_ref() {
                MEMORY | SYNC => {}
                INIT => checks.init = true,
                RACE => checks.race = true,
                ALL if names.len() == 1 => return Ok(Self::ALL),
                NONE if names.len() == 1 => return Ok(Self::NONE),
                name @ (ALL | NONE) => {
                    return Err((at, format!("`{name}` cannot be combined with other checks")));
                }
                unknown => {
                    let help = did_you_mean(unknown, NAMES).map(|help| format!("; {help}"));
                    let help = help.as_deref().unwrap_or_default().trim_end_matches('?');
                    let known = NAMES.join(", ");
                    let message =
                        format!("unknown check `{unknown}`{help}; expected one of {known}");
                    return Err((at, message));
                }
            }
        }
        Ok(checks)
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
        Self::of_names(&names).map_err(|(_, message)| message)
    }
}

impl TryFrom<String> for Checks {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Checks> for String {
    fn from(checks: Checks) -> Self {
        checks.to_string()
    }
}

impl fmt::Display for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.init, self.race, self.all_blocks) {
            (false, false, _) => NONE,
            (_, _, true) => ALL,
            (true, true, false) => "memory,init,race,sync",
            (true, false, false) => "memory,init,sync",
            (false, true, false) => "memory,race,sync",
        })
    }
}

/// Follows the checks of a launch if its races were looked for in part.
const IN_PART: &str =
    "; races in a part of global memory alone, since the kernel accesses more than is recorded";

/// The checks of shared memory that ran in the launches of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CheckRecord {
    /// Whether reads of unwritten memory were checked.
    pub init: bool,
    /// Whether races were looked for.
    pub race: bool,
    /// Whether a launch accessed more global memory than the search for races records.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub races_in_part: bool,
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
            races_in_part: self.races_in_part || other.races_in_part,
            checked_blocks: self.checked_blocks + other.checked_blocks,
            blocks: self.blocks + other.blocks,
        }
    }
}

/// Every check that ran with its blocks: `memory` and `sync` run in all of them.
impl fmt::Display for CheckRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { checked_blocks, blocks, .. } = *self;
        let all = match blocks {
            1 => "1 block".to_owned(),
            _ => format!("all {blocks} blocks"),
        };
        let of_shared_memory = match (self.init, self.race) {
            (false, false) => return write!(f, "{MEMORY}, {SYNC} in {all}"),
            (true, false) => INIT,
            (false, true) => RACE,
            (true, true) => "init, race",
        };
        if checked_blocks == blocks {
            write!(f, "{MEMORY}, {of_shared_memory}, {SYNC} in {all}")?;
        } else {
            write!(
                f,
                "{of_shared_memory} in {checked_blocks} of {blocks} blocks; {MEMORY}, {SYNC} in all"
            )?;
        }
        let in_part = self.race && self.races_in_part;
        f.write_str(if in_part { IN_PART } else { "" })
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
        let placed = Checks::of_names(&["init", "none"]).unwrap_err();
        assert_eq!(placed, (1, "`none` cannot be combined with other checks".to_owned()));
        assert!(wrong("").starts_with("unknown check ``"));
    }

    #[test]
    fn a_record_says_which_checks_ran_in_how_many_blocks() {
        let record = CheckRecord {
            init: true,
            race: true,
            races_in_part: false,
            checked_blocks: 31,
            blocks: 256,
        };
        let partly = "init, race in 31 of 256 blocks; memory, sync in all";
        assert_eq!(record.to_string(), partly);
        let small = CheckRecord { race: false, checked_blocks: 2, blocks: 2, ..record };
        assert_eq!(small.to_string(), "memory, init, sync in all 2 blocks");
        let one = CheckRecord { blocks: 1, checked_blocks: 1, ..record };
        assert_eq!(one.to_string(), "memory, init, race, sync in 1 block");
        let joined = record.join(small).to_string();
        assert_eq!(joined, "init in 33 of 258 blocks; memory, sync in all");
        let none = CheckRecord { init: false, checked_blocks: 0, ..small };
        assert_eq!(none.to_string(), "memory, sync in all 2 blocks");
        let in_part = CheckRecord { races_in_part: true, ..record };
        assert_eq!(in_part.to_string(), format!("{partly}{IN_PART}"));
        assert_eq!(CheckRecord { race: false, ..in_part }.to_string().find("races"), None);
    }
}
