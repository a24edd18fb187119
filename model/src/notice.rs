//! Notices between the runner and a running harness process: single bytes on a socket that the
//! process has as its standard input.
//!
//! Input: a byte. Output: its meaning, if it has one: user code shares the process, so an unknown
//! byte is ignored. A notice carries no result. Results are files, and a notice says when to read
//! them.

/// The runner hands the device over.
pub const TURN: u8 = b't';

/// A notice of a harness process to its runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// A reply is on disk.
    Replied,
    /// It waits until no other process of the run prepares or leaves on the device.
    Waits,
    /// It no longer waits.
    Works,
    /// It runs code of the user that makes the kernel's inputs.
    MakesInputs,
    /// It runs the user's reference, or compares with it.
    Verifies,
    /// It runs no user code that has a notice.
    Goes,
    /// It works on the configuration at this position of its request.
    At(u8),
    /// It works on all of its configurations, or on one with a position that has no byte.
    AtAll,
}

/// The bytes of positions begin here, behind those of letters.
const POSITIONS: u8 = 128;

impl Notice {
    /// Every notice without a position.
    const ALL: [Self; 7] = [
        Self::Replied,
        Self::Waits,
        Self::Works,
        Self::MakesInputs,
        Self::Verifies,
        Self::Goes,
        Self::AtAll,
    ];

    /// That a process works on the configuration at `position` of its request.
    pub fn at(position: usize) -> Self {
        let byte = u8::try_from(position).ok().filter(|&position| position < POSITIONS);
        byte.map_or(Self::AtAll, Self::At)
    }

    /// The byte that says it.
    pub fn byte(self) -> u8 {
        match self {
            Self::Replied => b'r',
            Self::Waits => b'w',
            Self::Works => b'g',
            Self::MakesInputs => b'i',
            Self::Verifies => b'v',
            Self::Goes => b'k',
            Self::At(position) => POSITIONS | position,
            Self::AtAll => b'a',
        }
    }

    /// The meaning of `byte`.
    pub fn from_byte(byte: u8) -> Option<Self> {
        match byte.checked_sub(POSITIONS) {
            Some(position) => Some(Self::At(position)),
            None => Self::ALL.into_iter().find(|notice| notice.byte() == byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_notice_has_its_own_byte_and_other_bytes_are_ignored() {
        let positions: Vec<Notice> = (0..128).map(Notice::at).collect();
        for &notice in Notice::ALL.iter().chain(&positions) {
            assert_eq!(Notice::from_byte(notice.byte()), Some(notice));
        }
        let said = (0..=u8::MAX).filter(|&byte| Notice::from_byte(byte).is_some()).count();
        let all = Notice::ALL.len() + positions.len();
        assert_eq!((said, Notice::from_byte(TURN)), (all, None));
        assert_eq!(Notice::at(128), Notice::AtAll);
    }
}
