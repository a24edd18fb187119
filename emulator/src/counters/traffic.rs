//! The global memory that a launch touches: which sectors it reads and writes at all, and how its
//! atomics spread over addresses. A time is estimated from these.
//!
//! Input: the requests of warps. Output: numbers that do not depend on the order of requests, so
//! host threads may record parts of them.

use super::trace::Trace;
use std::collections::HashMap;

/// log2 of the bytes of a sector.
const SECTOR_SHIFT: u32 = 5;

/// log2 of the sectors of a page: 2 MiB of addresses.
const PAGE_SHIFT: u32 = 16;

/// The words of a page, a bit for each sector.
const PAGE_WORDS: usize = 1 << (PAGE_SHIFT - 6);

/// Bytes of a sector.
const SECTOR: u64 = 1 << SECTOR_SHIFT;

/// log2 of the consecutive bytes that one slice of L2 holds: atomics on 1,024 words are as fast as
/// eight times those on one, and on 32 words as those on one (docs/scripts/estimate, on an H100).
const SLICE_SHIFT: u32 = 9;

/// Counts of atomics are kept by this many classes of the bytes of a slice.
const CLASSES: usize = 4096;

/// The kind of a request of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// It loads.
    Read,
    /// It stores.
    Write,
    /// It is atomic.
    Update,
}

/// The accesses of a launch to global memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Traffic {
    read: Sectors,
    written: Sectors,
    /// Updates by class of address; empty before the first. Lanes of a warp with different words of
    /// one sector are one update, lanes with the same word are one each.
    updates: Vec<u64>,
    /// Those beyond the first of each warp whose lanes all update one address.
    mergeable: u64,
    /// Sectors that a warp stores in part, each time.
    partial: u64,
    /// The execution of the running block, if it is one of the sample.
    trace: Option<Trace>,
    /// The blocks of the sample that ended.
    traces: Vec<Trace>,
}

impl Traffic {
    /// A warp accesses `bytes` consecutive bytes.
    #[inline(always)]
    pub fn range(&mut self, how: Use, first: u64, bytes: u64) {
        let end = first + bytes;
        let (low, high) = (first >> SECTOR_SHIFT, (end - 1) >> SECTOR_SHIFT);
        self.mark(how, low, high);
        let (starts, ends) = (!first.is_multiple_of(SECTOR), !end.is_multiple_of(SECTOR));
        if how == Use::Write && (starts || ends) {
            self.store_in_part(if low == high { 1 } else { u64::from(starts) + u64::from(ends) });
        }
    }

    #[inline(always)]
    fn mark(&mut self, how: Use, low: u64, high: u64) {
        if let Some(trace) = &mut self.trace {
            trace.touch(low, high);
        }
        match how {
            Use::Read => self.read.mark(low, high),
            Use::Write | Use::Update => self.written.mark(low, high),
        }
    }

    fn store_in_part(&mut self, sectors: u64) {
        self.partial += sectors;
        if let Some(trace) = &mut self.trace {
            trace.store_in_part(sectors as u32);
        }
    }

    /// Each lane of `lanes` accesses `bytes` at its address.
    pub fn lanes(&mut self, how: Use, addresses: &[u64; 32], lanes: u32, bytes: u32) {
        if how == Use::Update {
            return self.update(addresses, lanes);
        }
        // Neighbouring lanes that access one sector.
        let (mut last, mut accessed, mut partial) = (u64::MAX, SECTOR, 0);
        for (lane, &address) in addresses.iter().enumerate() {
            if lanes & (1 << lane) == 0 {
                continue;
            }
            if address >> SECTOR_SHIFT != last {
                partial += u64::from(accessed < SECTOR);
                last = address >> SECTOR_SHIFT;
                accessed = 0;
                self.mark(how, last, (address + u64::from(bytes) - 1) >> SECTOR_SHIFT);
            }
            accessed += u64::from(bytes);
        }
        partial += u64::from(accessed < SECTOR);
        if how == Use::Write && partial > 0 {
            self.store_in_part(partial);
        }
    }

    /// A block of the sample begins, of so many warps.
    pub fn begin_trace(&mut self, block: u64, warps: usize) {
        self.trace = Some(Trace::new(block, warps));
    }

    /// The execution of the running block, if it is one of the sample.
    #[inline(always)]
    pub fn trace(&mut self) -> Option<&mut Trace> {
        self.trace.as_mut()
    }

    /// The block ends.
    pub fn end_trace(&mut self) {
        self.traces.extend(self.trace.take());
    }

    /// The blocks of the sample, by their numbers.
    pub fn traces(&self) -> Vec<&Trace> {
        let mut traces: Vec<&Trace> = self.traces.iter().collect();
        traces.sort_by_key(|trace| trace.block);
        traces
    }

    /// Counts the updates of a warp.
    fn update(&mut self, addresses: &[u64; 32], lanes: u32) {
        self.updates.resize(CLASSES, 0);
        let mut left = lanes;
        let first = addresses[lanes.trailing_zeros() as usize % 32];
        let mut others = addresses.iter().enumerate().filter(|(lane, _)| lanes & (1 << lane) != 0);
        if others.all(|(_, address)| *address == first) {
            self.mergeable += u64::from(lanes.count_ones().saturating_sub(1));
        }
        while left != 0 {
            let sector = addresses[left.trailing_zeros() as usize] >> SECTOR_SHIFT;
            // How often each word of the sector is updated.
            let mut words = [0u8; 1 << (SECTOR_SHIFT - 2)];
            for (lane, &address) in addresses.iter().enumerate() {
                if left & (1 << lane) != 0 && address >> SECTOR_SHIFT == sector {
                    left &= !(1 << lane);
                    words[(address >> 2) as usize % words.len()] += 1;
                }
            }
            let most = words.into_iter().max().unwrap_or(0);
            let slice = sector >> (SLICE_SHIFT - SECTOR_SHIFT);
            self.updates[(slice ^ slice >> 12) as usize % CLASSES] += u64::from(most);
            (0..most).for_each(|_| self.mark(Use::Update, sector, sector));
        }
    }

    /// Bytes of the sectors that it reads at least once.
    pub fn read_bytes(&self) -> u64 {
        self.read.count() << SECTOR_SHIFT
    }

    /// Bytes of the sectors that it changes at least once.
    pub fn written_bytes(&self) -> u64 {
        self.written.count() << SECTOR_SHIFT
    }

    /// Updates beyond the first of each warp whose lanes all update one address.
    pub fn mergeable_updates(&self) -> u64 {
        self.mergeable
    }

    /// Sectors that warps store in part, each time.
    pub fn partial_sectors(&self) -> u64 {
        self.partial
    }

    /// The most updates of one class of addresses.
    pub fn hottest_updates(&self) -> u64 {
        self.updates.iter().copied().max().unwrap_or(0)
    }

    /// All updates.
    pub fn updates(&self) -> u64 {
        self.updates.iter().sum()
    }

    /// Adds the traffic of other blocks.
    pub fn add(&mut self, other: &Self) {
        self.traces.extend_from_slice(&other.traces);
        self.read.add(&other.read);
        self.written.add(&other.written);
        self.partial += other.partial;
        self.mergeable += other.mergeable;
        self.updates.resize(self.updates.len().max(other.updates.len()), 0);
        self.updates.iter_mut().zip(&other.updates).for_each(|(mine, theirs)| *mine += theirs);
    }
}

/// A set of sectors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Sectors {
    pages: Vec<Box<[u64; PAGE_WORDS]>>,
    index: HashMap<u64, usize>,
    /// The page that was used last, and its place.
    last: Option<(u64, usize)>,
}

impl Sectors {
    #[inline(always)]
    fn mark(&mut self, low: u64, high: u64) {
        let (page, from) = (low >> PAGE_SHIFT, low as usize % (1 << PAGE_SHIFT));
        let count = (high - low) as usize;
        // Nearly always the sectors are bits of one word.
        if from % 64 + count < 64 && self.last.is_some_and(|(known, _)| known == page) {
            let at = self.last.map_or(0, |(_, at)| at);
            self.pages[at][from / 64] |= (u64::MAX >> (63 - count)) << (from % 64);
        } else {
            (low..=high).for_each(|sector| self.mark_one(sector));
        }
    }

    #[cold]
    fn mark_one(&mut self, sector: u64) {
        let (page, bit) = (sector >> PAGE_SHIFT, sector as usize % (1 << PAGE_SHIFT));
        self.page(page)[bit / 64] |= 1 << (bit % 64);
    }

    fn page(&mut self, page: u64) -> &mut [u64; PAGE_WORDS] {
        let at = *self.index.entry(page).or_insert_with(|| {
            self.pages.push(Box::new([0; PAGE_WORDS]));
            self.pages.len() - 1
        });
        self.last = Some((page, at));
        &mut self.pages[at]
    }

    fn count(&self) -> u64 {
        let words = self.pages.iter().flat_map(|page| page.iter());
        words.map(|word| u64::from(word.count_ones())).sum()
    }

    fn add(&mut self, other: &Self) {
        for (page, at) in &other.index {
            let mine = self.page(*page).iter_mut();
            mine.zip(other.pages[*at].iter()).for_each(|(mine, theirs)| *mine |= theirs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strided(base: u64, stride: u64) -> [u64; 32] {
        std::array::from_fn(|lane| base + lane as u64 * stride)
    }

    #[test]
    fn a_sector_counts_once_however_it_is_reached() {
        let mut traffic = Traffic::default();
        traffic.range(Use::Read, 64, 128);
        traffic.range(Use::Read, 96, 128);
        traffic.lanes(Use::Read, &strided(64, 4), u32::MAX, 4);
        assert_eq!((traffic.read_bytes(), traffic.written_bytes()), (5 * 32, 0));
        traffic.lanes(Use::Write, &strided(0, 64), 0xff, 4);
        assert_eq!((traffic.read_bytes(), traffic.written_bytes()), (5 * 32, 8 * 32));
    }

    #[test]
    fn a_range_may_cross_words_and_pages_of_the_set() {
        for first in [63 * 32, (1 << 21) - 32] {
            let mut traffic = Traffic::default();
            traffic.range(Use::Write, first, 128);
            assert_eq!(traffic.written_bytes(), 128, "{first}");
        }
    }

    #[test]
    fn updates_of_different_words_of_a_sector_are_one() {
        let mut traffic = Traffic::default();
        traffic.lanes(Use::Update, &strided(256, 4), u32::MAX, 4);
        assert_eq!((traffic.hottest_updates(), traffic.updates()), (4, 4));
        traffic.lanes(Use::Update, &[256; 32], u32::MAX >> 16, 4);
        assert_eq!((traffic.hottest_updates(), traffic.updates()), (20, 20));
        assert_eq!(traffic.mergeable_updates(), 15);
        // 512 bytes are a slice.
        traffic.lanes(Use::Update, &strided(0, 512), u32::MAX, 4);
        assert_eq!((traffic.hottest_updates(), traffic.updates()), (21, 52));
    }

    #[test]
    fn sectors_are_stored_in_part_by_a_warp_at_a_time() {
        let stored = |first: u64, stride: u64, bytes: u32| {
            let mut traffic = Traffic::default();
            traffic.lanes(Use::Write, &strided(first, stride), u32::MAX, bytes);
            traffic.partial_sectors()
        };
        assert_eq!((stored(64, 4, 4), stored(64, 8, 4), stored(64, 64, 4)), (0, 8, 32));
        let mut traffic = Traffic::default();
        traffic.range(Use::Write, 64, 64);
        traffic.range(Use::Write, 68, 4);
        traffic.range(Use::Write, 60, 64);
        traffic.range(Use::Read, 60, 8);
        assert_eq!(traffic.partial_sectors(), 3);
    }

    #[test]
    fn the_sum_of_parts_is_the_whole() {
        let (mut one, mut other, mut whole) =
            (Traffic::default(), Traffic::default(), Traffic::default());
        for (at, part) in [(0u64, &mut one), (2 << 21, &mut other)] {
            part.lanes(Use::Update, &strided(at, 40), u32::MAX, 4);
            whole.lanes(Use::Update, &strided(at, 40), u32::MAX, 4);
        }
        one.add(&other);
        let all = |of: &Traffic| (of.written_bytes(), of.updates(), of.hottest_updates());
        assert_eq!(all(&one), all(&whole));
    }
}
