//! The checks of memory that can be switched off, and the blocks in which they run.
//!
//! Faults of memory (bounds, alignment, lifetime) and barriers at which a block stops are not here:
//! a kernel cannot continue after them, so nothing switches them off.

/// The blocks in which checks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckedBlocks {
    /// The first 16, the last one and every 16th.
    Sample,
    /// All.
    All,
}

/// The checks, and their blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checks {
    /// Reads of shared memory that no thread has written.
    pub init: bool,
    /// Accesses of two threads to shared or global memory that nothing orders.
    pub race: bool,
    /// The blocks in which these checks run.
    pub blocks: CheckedBlocks,
}

impl Default for Checks {
    fn default() -> Self {
        Self { init: true, race: true, blocks: CheckedBlocks::Sample }
    }
}

impl Checks {
    /// None of them.
    pub const NONE: Self = Self { init: false, race: false, blocks: CheckedBlocks::Sample };
    /// Every check, in every block.
    pub const ALL: Self = Self { init: true, race: true, blocks: CheckedBlocks::All };

    /// The checks that a text selects: `all`, `none`, or names separated by commas. `memory` and
    /// `sync` are names too, of checks that always run.
    ///
    /// # Errors
    /// Any other text.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.trim() {
            "all" => return Ok(Self::ALL),
            "none" => return Ok(Self::NONE),
            _ => {}
        }
        text.split(',').try_fold(Self::NONE, |checks, name| match name.trim() {
            "init" => Ok(Self { init: true, ..checks }),
            "race" => Ok(Self { race: true, ..checks }),
            "memory" | "sync" => Ok(checks),
            _ => Err(format!(
                "invalid checks `{text}`; expected `all`, `none`, or some of `memory`, `sync`, \
                 `init` and `race`, separated by commas"
            )),
        })
    }

    /// Whether any of them runs.
    pub fn any(self) -> bool {
        self.init || self.race
    }

    /// Whether they run in a block.
    pub fn cover(self, block: u64, blocks: u64) -> bool {
        self.any()
            && match self.blocks {
                CheckedBlocks::Sample => {
                    block < 16 || block.is_multiple_of(16) || block + 1 == blocks
                }
                CheckedBlocks::All => true,
            }
    }

    /// The number of blocks in which they run, of `blocks`.
    pub fn covered(self, blocks: u64) -> u64 {
        match self.blocks {
            _ if !self.any() => 0,
            CheckedBlocks::All => blocks,
            CheckedBlocks::Sample if blocks <= 16 => blocks,
            // Sixteen, the multiples of 16 from 16 on, and the last if it is not a multiple.
            CheckedBlocks::Sample => {
                let last = blocks - 1;
                16 + last / 16 + u64::from(!last.is_multiple_of(16))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_parsed_from_text() {
        let race = Checks { race: true, ..Checks::NONE };
        assert_eq!(Checks::parse("memory, race"), Ok(race));
        assert_eq!(Checks::parse("memory,init,race,sync"), Ok(Checks::default()));
        assert_eq!(Checks::parse("all"), Ok(Checks::ALL));
        assert_eq!(Checks::parse("sync"), Checks::parse("none"));
        assert!(Checks::parse("off").is_err());
        assert!(Checks::parse("").is_err());
    }

    #[test]
    fn the_number_of_covered_blocks_matches_the_selection() {
        let race = Checks { race: true, ..Checks::NONE };
        for checks in [Checks::NONE, race, Checks::default(), Checks::ALL] {
            for blocks in (0..100).chain([256, 257, 1000]) {
                let counted = (0..blocks).filter(|block| checks.cover(*block, blocks)).count();
                assert_eq!(checks.covered(blocks), counted as u64, "{checks:?} {blocks}");
            }
        }
    }
}
