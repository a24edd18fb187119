//! Plain reads of allocations that no checked block has written in the launch.
//!
//! Most inputs are only read. Their reads are kept as they were logged, and reach the cells when
//! the allocation is first written: until then they race with nothing, and their order is
//! irrelevant.

use super::cells::Accessor;
use std::ops::Range;

/// Reads of a launch that are kept, in words of 32 bits. An allocation that is read more often is
/// treated as if it had been written.
const MOST_WORDS: usize = 8 << 20;

/// A read that is kept. The offsets of its lanes are in [`Reads::words`], except for a row.
#[derive(Debug, Clone, Copy)]
pub struct Read {
    /// Lane 0 of the warp that reads.
    pub me: Accessor,
    /// The lanes.
    pub lanes: u32,
    /// Bytes of each lane.
    pub bytes: u32,
    /// The lowest address.
    pub first: u64,
    /// Whether each lane reads the word after that of the lane before.
    pub is_row: bool,
}

/// Reads of one allocation.
#[derive(Debug, Default)]
pub struct Reads {
    /// The reads.
    pub reads: Vec<Read>,
    /// The offsets of the lanes of each read except rows.
    pub words: Vec<u32>,
}

impl Reads {
    /// Their size in words of 32 bits.
    fn size(&self) -> usize {
        self.reads.len() * size_of::<Read>() / 4 + self.words.len()
    }
}

#[derive(Debug)]
struct Region {
    range: Range<u64>,
    written: bool,
    reads: Reads,
}

/// The allocations of a launch, by address.
#[derive(Debug, Default)]
pub struct Regions {
    regions: Vec<Region>,
    /// The region found last.
    last: usize,
    size: usize,
}

impl Regions {
    /// A launch begins with these allocations.
    pub fn begin(&mut self, allocations: impl Iterator<Item = Range<u64>>) {
        let region = |range| Region { range, written: false, reads: Reads::default() };
        self.regions = allocations.map(region).collect();
        (self.last, self.size) = (0, 0);
    }

    fn find(&mut self, address: u64) -> Option<&mut Region> {
        let contains = |region: &Region| region.range.contains(&address);
        if !self.regions.get(self.last).is_some_and(contains) {
            let after = self.regions.partition_point(|region| region.range.start <= address);
            self.last = after.checked_sub(1)?;
        }
        self.regions.get_mut(self.last).filter(|region| contains(region))
    }

    /// Keeps a read, if its allocation has not been written. `offsets` are those of its lanes, or
    /// none if it is a row.
    pub fn keep(&mut self, read: Read, offsets: &[u32]) -> bool {
        let reach = match read.is_row {
            true => 4 * 31,
            false => offsets.iter().copied().max().unwrap_or(0),
        };
        let end = read.first + u64::from(reach) + u64::from(read.bytes);
        let size = (size_of::<Read>() / 4) + offsets.len();
        let is_room = self.size + size <= MOST_WORDS;
        let Some(region) = self.find(read.first) else { return false };
        if region.written || end > region.range.end || !is_room {
            return false;
        }
        region.reads.reads.push(read);
        region.reads.words.extend_from_slice(offsets);
        self.size += size;
        true
    }

    /// The allocation of `address` is written from now on. Returns the reads that were kept.
    pub fn write(&mut self, address: u64) -> Option<Reads> {
        let region = self.find(address).filter(|region| !region.written)?;
        region.written = true;
        let reads = std::mem::take(&mut region.reads);
        self.size -= reads.size();
        Some(reads)
    }
}
