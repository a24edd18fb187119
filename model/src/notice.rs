//! What the runner and a harness process tell each other while the process runs: single bytes on a
//! socket that the process finds as its standard input.
//!
//! Input: a byte. Output: what it says, if it says anything: user code shares the process, so a
//! byte that means nothing is ignored. A notice carries no result. Results are files, and a notice
//! says when to look.

/// The runner hands the device over.
pub const TURN: u8 = b't';

/// What a harness process tells its runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// A reply is on disk.
    Replied,
    /// It waits until no other process of the run prepares or leaves on the device.
    Waits,
    /// It no longer waits.
    Works,
    /// It runs code of the user's that makes what the kernel takes.
    MakesInputs,
    /// It runs the user's reference, or compares with it.
    Verifies,
    /// It runs no code of the user's that has a name of its own.
    Goes,
}

impl Notice {
    /// Every notice.
    pub const ALL: [Self; 6] =
        [Self::Replied, Self::Waits, Self::Works, Self::MakesInputs, Self::Verifies, Self::Goes];

    /// The byte that says it.
    pub fn byte(self) -> u8 {
        match self {
            Self::Replied => b'r',
            Self::Waits => b'w',
            Self::Works => b'g',
            Self::MakesInputs => b'i',
            Self::Verifies => b'v',
            Self::Goes => b'k',
        }
    }

    /// What `byte` says.
    pub fn of(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|notice| notice.byte() == byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_notice_has_a_byte_of_its_own_and_no_other_byte_says_anything() {
        for notice in Notice::ALL {
            assert_eq!(Notice::of(notice.byte()), Some(notice));
        }
        let said = (0..=u8::MAX).filter(|&byte| Notice::of(byte).is_some()).count();
        assert_eq!((said, Notice::of(TURN)), (Notice::ALL.len(), None));
    }
}
