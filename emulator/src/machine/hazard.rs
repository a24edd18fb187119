//! Accesses to shared memory and what can be wrong with them, as `shadow` tells it.

/// Of an access: its thread's number in the block, the instruction above it, and two flags.
pub(super) const THREAD: i32 = (1 << 10) - 1;
pub(super) const WARP: i32 = THREAD & !31;
/// Threads of several warps did it since the last tick of the block.
pub(super) const SEVERAL: i32 = 1 << 10;
/// It was atomic, or ordered.
pub(super) const STRONG: i32 = 1 << 11;
const INSTRUCTION: u32 = 12;
const LAST_INSTRUCTION: u32 = (1 << (31 - INSTRUCTION)) - 1;

/// What a thread does to a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// It reads.
    Read,
    /// It writes what is not there yet, or (`false`) what is.
    Write(bool),
    /// Both, as one step.
    Update,
}

/// Who accesses: the lowest thread, the instruction, and whether it is strong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct By(pub(super) i32);

impl By {
    /// Of lane 0 of `warp` at instruction `pc`.
    #[inline(always)]
    pub fn new(warp: u32, pc: u32, strong: bool) -> Self {
        let flag = if strong { STRONG } else { 0 };
        Self(pc.min(LAST_INSTRUCTION).cast_signed() << INSTRUCTION | flag | warp.cast_signed() << 5)
    }

    /// The same of another lane.
    #[inline(always)]
    pub fn lane(self, lane: usize) -> Self {
        Self(self.0 | lane as i32)
    }

    /// Its thread's number in the block.
    pub fn thread(self) -> u32 {
        (self.0 & THREAD).cast_unsigned()
    }

    /// Whether threads of other warps did the same since all threads last met.
    pub fn of_several_warps(self) -> bool {
        self.0 & SEVERAL != 0
    }

    /// Its instruction.
    pub fn pc(self) -> u32 {
        (self.0 >> INSTRUCTION).cast_unsigned()
    }
}

/// What is wrong with an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hazard {
    /// It belongs to no array.
    Outside,
    /// Nobody wrote what it reads.
    Unwritten,
    /// Nothing orders it and that of another thread, which wrote or only read.
    Race {
        /// The other one.
        other: By,
        /// Whether that one wrote.
        wrote: bool,
    },
}
