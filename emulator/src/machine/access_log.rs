//! The log of a block's accesses to global memory, in order, which
//! [`Races`](super::race_search::Races) reads.
//!
//! A checked block logs every access. The other blocks log only accesses that may order blocks:
//! strong accesses and fences, and only if blocks interact at all. Meetings of threads are logged
//! once before the next access, however many there were.

use super::hazard::{By, Touch};
use crate::lower::inst::GridOrder;

/// A log is full from so many bytes on.
const FULL_BYTES: usize = 4 << 20;
/// Meetings of some lanes that wait for the next access.
const MOST_PARTS: usize = 64;

/// An event that orders threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Meeting {
    /// All threads of the block met.
    pub block: bool,
    /// Warps that executed a fence or another operation that orders memory.
    pub ordering: u32,
    /// Warps that executed a relaxed atomic after such an operation of another warp.
    pub caught_up: u32,
    /// Warps of which all lanes met.
    pub warps: u32,
    /// Warps that saw the accesses of other threads by a strong access.
    pub looked: u32,
}

/// An access of some lanes.
#[derive(Debug, Clone, Copy)]
pub struct LaneAccess {
    /// The instruction, as lane 0 executes it.
    pub by: By,
    /// Whether the lanes read, write or update.
    pub touch: Touch,
    /// Its acquire and release beyond the block.
    pub order: GridOrder,
    /// Bytes of each lane.
    pub bytes: u32,
    /// The lanes.
    pub lanes: u32,
}

/// One thing that a block did. Words of the log follow in [`AccessLog::words`].
#[derive(Debug, Clone, Copy)]
pub enum Entry {
    /// Threads met.
    Meeting(Meeting),
    /// These lanes of a warp met.
    PartMeets(u32, u32),
    /// These lanes of a warp executed a fence beyond the block.
    Fence(u32, u32),
    /// Each lane of a warp reads a word, from this address on.
    ReadRow(By, u64),
    /// Each lane writes a word, from this address on. Its 32 words follow.
    WriteRow(By, u64),
    /// Lanes access memory, from this address on. The offset of each lane follows, then, if they
    /// write, the words of each lane.
    Lanes(LaneAccess, u64),
}

/// The log of a block.
#[derive(Debug, Default)]
pub struct AccessLog {
    /// All that the block did.
    pub entries: Vec<Entry>,
    /// The words that belong to the entries.
    pub words: Vec<u32>,
    /// Whether all accesses are logged.
    pub checking: bool,
    /// Whether strong accesses and fences are.
    ordering: bool,
    meeting: Meeting,
    /// Warps of which some lanes met since, with those lanes.
    parts: Vec<(u32, u32)>,
}

impl AccessLog {
    /// A block begins: whether its accesses are checked, and whether blocks may be ordered.
    pub fn begin(&mut self, checking: bool, ordering: bool) {
        (self.checking, self.ordering, self.meeting) = (checking, ordering, Meeting::default());
        self.clear();
        self.parts.clear();
    }

    /// Forgets what was logged.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.words.clear();
    }

    /// Takes what was logged, for another thread to look at.
    pub fn take(&mut self) -> Self {
        let (entries, words) = (std::mem::take(&mut self.entries), std::mem::take(&mut self.words));
        let (checking, ordering) = (self.checking, self.ordering);
        Self { entries, words, checking, ordering, ..Self::default() }
    }

    /// Bytes of the log.
    pub fn bytes(&self) -> usize {
        size_of::<Entry>() * self.entries.len() + size_of::<u32>() * self.words.len()
    }

    /// Whether it should be read before it grows.
    pub fn is_full(&self) -> bool {
        self.bytes() >= FULL_BYTES
    }

    /// All threads of the block meet.
    #[inline(always)]
    pub fn meet(&mut self) {
        self.meeting.block = true;
    }

    /// Lanes of a warp meet.
    #[inline(always)]
    pub fn meet_lanes(&mut self, warp: u32, lanes: u32) {
        if lanes == u32::MAX {
            self.meeting.warps |= 1 << (warp & 31);
        } else if self.checking {
            self.note_part(warp, lanes);
        }
    }

    /// Some lanes of a warp meet. Nothing changes if they met before, and none of them met others
    /// since.
    fn note_part(&mut self, warp: u32, lanes: u32) {
        let parts = self.parts.iter().rev();
        let last = parts.clone().find(|part| part.0 == warp && part.1 & lanes != 0);
        if last == Some(&(warp, lanes)) {
            return;
        }
        self.parts.push((warp, lanes));
        if self.parts.len() == MOST_PARTS {
            self.push_meetings();
        }
    }

    /// A warp executes a fence or another operation that orders memory.
    #[inline(always)]
    pub fn order(&mut self, warp: u32) {
        self.meeting.ordering |= 1 << (warp & 31);
    }

    /// A warp executes a relaxed atomic after such an operation of another warp.
    #[inline(always)]
    pub fn catch_up(&mut self, warp: u32) {
        self.meeting.caught_up |= 1 << (warp & 31);
    }

    /// A warp saw the accesses of other threads by a strong access.
    #[inline(always)]
    pub fn observe(&mut self, warp: u32) {
        self.meeting.looked |= 1 << (warp & 31);
    }

    /// Lanes of a warp execute a fence beyond the block.
    pub fn fence(&mut self, warp: u32, lanes: u32) {
        if self.ordering {
            self.push(Entry::Fence(warp, lanes));
        }
    }

    fn push_meetings(&mut self) {
        if self.meeting != Meeting::default() {
            self.entries.push(Entry::Meeting(std::mem::take(&mut self.meeting)));
        }
        let parts = self.parts.drain(..);
        self.entries.extend(parts.map(|(warp, lanes)| Entry::PartMeets(warp, lanes)));
    }

    #[inline(always)]
    fn push(&mut self, entry: Entry) {
        if self.meeting != Meeting::default() || !self.parts.is_empty() {
            self.push_meetings();
        }
        self.entries.push(entry);
    }

    /// Each lane of a warp reads a word, from `first` on.
    #[inline(always)]
    pub fn read_row(&mut self, by: By, first: u64) {
        if self.checking {
            self.push(Entry::ReadRow(by, first));
        }
    }

    /// Each lane of a warp writes a word, from `first` on.
    #[inline(always)]
    pub fn write_row(&mut self, by: By, first: u64, words: &[u32; 32]) {
        if self.checking {
            self.push(Entry::WriteRow(by, first));
            self.words.extend_from_slice(words);
        }
    }

    /// Lanes of a warp access memory. `word` gives the words that a lane writes.
    #[inline(always)]
    pub fn access(
        &mut self,
        access: LaneAccess,
        addresses: &[u64; 32],
        word: impl Fn(usize, u32) -> u32,
    ) {
        if self.wants(access.by.is_strong()) {
            self.push_access(access, addresses, word);
        }
    }

    /// Whether an access is logged, by whether it is strong.
    #[inline(always)]
    pub fn wants(&self, strong: bool) -> bool {
        self.checking || (self.ordering && strong)
    }

    fn push_access(
        &mut self,
        access: LaneAccess,
        addresses: &[u64; 32],
        word: impl Fn(usize, u32) -> u32,
    ) {
        let mut left = access.lanes;
        // An entry reaches 4 GiB, so far addresses need several.
        while left != 0 {
            let first = lanes_of(left).map(|lane| addresses[lane]).min().unwrap_or_default();
            let offset = |lane: usize| u32::try_from(addresses[lane] - first).ok();
            let near = lanes_of(left).filter(|&lane| offset(lane).is_some());
            let near = near.fold(0, |lanes, lane| lanes | 1 << lane);
            left &= !near;
            self.push(Entry::Lanes(LaneAccess { lanes: near, ..access }, first));
            self.words.extend(lanes_of(near).filter_map(offset));
            if matches!(access.touch, Touch::Write(_)) {
                let words = access.bytes.div_ceil(4);
                let all = lanes_of(near).flat_map(|lane| (0..words).map(move |at| (lane, at)));
                self.words.extend(all.map(|(lane, at)| word(lane, at)));
            }
        }
    }
}

/// The lanes of a mask, in their order.
pub fn lanes_of(mask: u32) -> impl Iterator<Item = usize> + Clone {
    let mut left = mask;
    std::iter::from_fn(move || {
        let lane = left.trailing_zeros() as usize;
        left &= left.wrapping_sub(1);
        (lane < 32).then_some(lane)
    })
}
