//! Which blocks of a launch are looked at for races and for reads of what nobody wrote.

/// Which blocks of a launch are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checks {
    /// None.
    Off,
    /// The first 16, the last one and every 16th.
    Some,
    /// All.
    All,
}

impl Checks {
    /// Whether they cover a block.
    pub fn cover(self, block: u64, blocks: u64) -> bool {
        match self {
            Self::Off => false,
            Self::Some => block < 16 || block.is_multiple_of(16) || block + 1 == blocks,
            Self::All => true,
        }
    }
}
