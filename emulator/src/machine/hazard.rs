//! Accesses to shared and global memory and their hazards.

use crate::lower::inst::Sharing;

/// Ticks before which earlier accesses are ordered before the next access of a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bounds<T = i32> {
    /// Accesses of other warps.
    pub block: T,
    /// Accesses of lanes of this warp.
    pub warp: T,
}

impl<T: PartialOrd> Bounds<T> {
    /// Whether an access of `other` is one of another thread of the block that nothing orders
    /// before what `me` does now.
    #[inline(always)]
    pub fn is_late(self, when: T, other: i32, me: i32) -> bool {
        let apart = other ^ me;
        let bound = if apart & (WARP | SEVERAL) == 0 { self.warp } else { self.block };
        (when >= bound) & ((apart & (THREAD | SEVERAL)) | ((other | me) & LANES) != 0)
    }
}

/// Of an access: its thread's number in the block, the instruction above it, and four flags.
pub(super) const THREAD: i32 = (1 << 10) - 1;
pub(super) const WARP: i32 = THREAD & !31;
/// Threads of several warps did it since the last tick of the block.
pub(super) const SEVERAL: i32 = 1 << 10;
/// It was atomic, or ordered.
pub(super) const STRONG: i32 = 1 << 11;
/// Other lanes of the warp did it too, since all lanes last met.
pub(super) const LANES: i32 = 1 << 12;
/// It was volatile, and not a look: it may race with those of other lanes of the warp.
pub(super) const VOLATILE: i32 = 1 << 13;
const INSTRUCTION: u32 = 14;
const LAST_INSTRUCTION: u32 = (1 << (31 - INSTRUCTION)) - 1;

/// A thread's access to a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// It reads.
    Read,
    /// It writes: another value than before, or (`false`) the same.
    Write(bool),
    /// Both, as one step; `true` if what was there may inform the thread.
    Update(bool),
}

/// An access: its lowest thread, its instruction, and whether it is strong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct By(pub(super) i32);

impl By {
    /// Of lane 0 of `warp` at instruction `pc`.
    #[inline(always)]
    pub fn new(warp: u32, pc: u32, sharing: Sharing) -> Self {
        let flag = match sharing {
            Sharing::Plain => 0,
            Sharing::Guess | Sharing::Look | Sharing::Ordered => STRONG,
            Sharing::Volatile => STRONG | VOLATILE,
        };
        Self(pc.min(LAST_INSTRUCTION).cast_signed() << INSTRUCTION | flag | warp.cast_signed() << 5)
    }

    /// The same of another lane.
    #[inline(always)]
    pub fn lane(self, lane: usize) -> Self {
        Self(self.0 | lane as i32)
    }

    /// The same by further lanes of the warp too.
    #[inline(always)]
    pub fn and_others(self) -> Self {
        Self(self.0 | LANES)
    }

    /// Its thread's number in the block.
    pub fn thread(self) -> u32 {
        (self.0 & THREAD).cast_unsigned()
    }

    /// Its warp's number in the block.
    #[inline(always)]
    pub(super) fn warp(self) -> usize {
        ((self.0 & WARP) >> 5) as usize
    }

    /// Whether it was atomic, volatile or ordered.
    #[inline(always)]
    pub fn is_strong(self) -> bool {
        self.0 & STRONG != 0
    }

    /// Whether it races with volatile accesses of other lanes of its warp.
    #[inline(always)]
    pub fn is_volatile(self) -> bool {
        self.0 & VOLATILE != 0
    }

    /// Whether threads of other warps did the same since all threads last met.
    pub fn of_several_warps(self) -> bool {
        self.0 & SEVERAL != 0
    }

    /// Whether other lanes of its warp did the same since all lanes last met.
    pub fn of_several_lanes(self) -> bool {
        self.0 & LANES != 0
    }

    /// Its instruction; `None` if its number is too large to be kept.
    pub fn pc(self) -> Option<u32> {
        Some((self.0 >> INSTRUCTION).cast_unsigned()).filter(|pc| *pc < LAST_INSTRUCTION)
    }
}

/// A fault of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hazard {
    /// It belongs to no array.
    Outside,
    /// It reads memory that was never written.
    Unwritten {
        /// When all threads of the block had last met.
        met: i32,
        /// Whether the same access reads other elements that are written.
        in_part: bool,
    },
    /// Nothing orders it and that of another thread, which wrote or only read.
    Race {
        /// The other one.
        other: By,
        /// Whether that one wrote.
        wrote: bool,
        /// Its block, if that is another one.
        block: Option<[u32; 3]>,
    },
}
