//! The global memory that a launch touches: which sectors it reads and writes at all, and how its
//! atomics spread over addresses. A time is estimated from these.
//!
//! Input: the requests of warps. Output: numbers that do not depend on the order of requests, so
//! host threads may record parts of them.

use super::banks;
use super::trace::Trace;
use std::collections::{BTreeSet, HashMap};

/// log2 of the bytes of a sector.
const SECTOR_SHIFT: u32 = 5;

/// log2 of the sectors of a line.
pub const LINE_SHIFT: u32 = 2;

/// log2 of the sectors of a page: 2 MiB of addresses.
pub const PAGE_SHIFT: u32 = 16;

/// The words of a page, a bit for each sector.
const PAGE_WORDS: usize = 1 << (PAGE_SHIFT - 6);

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
    /// The most instructions of a warp.
    longest: u64,
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
        if let Some(trace) = &mut self.trace {
            trace.pass(bytes.div_ceil(128) as u32);
        }
    }

    #[inline(always)]
    fn mark(&mut self, how: Use, low: u64, high: u64) {
        if let Some(trace) = &mut self.trace {
            trace.touch(low, high);
        }
        self.add_sectors(how, low, high);
    }

    /// Adds sectors to those that the launch touches.
    #[inline(always)]
    fn add_sectors(&mut self, how: Use, low: u64, high: u64) {
        match how {
            Use::Read => self.read.mark(low, high),
            Use::Write | Use::Update => self.written.mark(low, high),
        }
    }

    /// Each lane of `lanes` accesses `bytes` at its address.
    pub fn lanes(&mut self, how: Use, addresses: &[u64; 32], lanes: u32, bytes: u32) {
        if how == Use::Update {
            return self.update(addresses, lanes);
        }
        if let Some(trace) = &mut self.trace {
            let words = addresses.map(|address| address as u32);
            trace.pass(banks::load_wavefronts(&words, lanes, bytes).total);
            // However the lanes lie, the request has each sector once.
            let last = u64::from(bytes) - 1;
            let on = addresses.iter().enumerate().filter(|(lane, _)| lanes & (1 << lane) != 0);
            let sectors = on.flat_map(|(_, at)| at >> SECTOR_SHIFT..=(at + last) >> SECTOR_SHIFT);
            sectors.collect::<BTreeSet<u64>>().into_iter().for_each(|at| trace.touch(at, at));
        }
        // Neighbouring lanes that access one sector.
        let mut last = u64::MAX;
        for (lane, &address) in addresses.iter().enumerate() {
            if lanes & (1 << lane) != 0 && address >> SECTOR_SHIFT != last {
                last = address >> SECTOR_SHIFT;
                self.add_sectors(how, last, (address + u64::from(bytes) - 1) >> SECTOR_SHIFT);
            }
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

    /// A block ends; none of its warps executed more instructions than this.
    pub fn end_block(&mut self, longest: u64) {
        self.longest = self.longest.max(longest);
        self.traces.extend(self.trace.take());
    }

    /// The most instructions of a warp.
    pub fn longest_warp(&self) -> u64 {
        self.longest
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

    /// The blocks of memory that it reads.
    pub fn read_blocks(&self) -> Blocks {
        self.read.blocks()
    }

    /// How many lines of each page of memory it reads.
    pub fn read_lines(&self) -> HashMap<u64, u64> {
        self.read.lines()
    }

    /// The blocks of memory that it changes.
    pub fn written_blocks(&self) -> Blocks {
        self.written.blocks()
    }

    /// Updates beyond the first of each warp whose lanes all update one address.
    pub fn mergeable_updates(&self) -> u64 {
        self.mergeable
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
        self.longest = self.longest.max(other.longest);
        self.mergeable += other.mergeable;
        self.updates.resize(self.updates.len().max(other.updates.len()), 0);
        self.updates.iter_mut().zip(&other.updates).for_each(|(mine, theirs)| *mine += theirs);
    }
}

/// Blocks of 256 bytes of memory, counted by their sectors that are touched: a bit for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocks([u64; 256]);

impl Blocks {
    /// The sum of the `cost` of each block, by its touched sectors and pairs of sectors.
    pub fn sum(&self, cost: impl Fn(u32, u32) -> f64) -> f64 {
        let kinds = self.0.iter().enumerate().skip(1).filter(|(_, count)| **count > 0);
        kinds
            .map(|(sectors, count)| {
                let pairs = (sectors | sectors >> 1) & 0x55;
                *count as f64 * cost(sectors.count_ones(), pairs.count_ones())
            })
            .sum()
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

    /// Its blocks of eight sectors, by the sectors of each that it has.
    fn blocks(&self) -> Blocks {
        let words = self.pages.iter().flat_map(|page| page.iter());
        let mut blocks = Blocks([0; 256]);
        for sectors in words.filter(|word| **word != 0).flat_map(|word| word.to_le_bytes()) {
            blocks.0[usize::from(sectors)] += 1;
        }
        blocks
    }

    /// How many lines of each page it touches.
    fn lines(&self) -> HashMap<u64, u64> {
        let touched = |word: &u64| {
            let pairs = word | word >> 1;
            u64::from(((pairs | pairs >> 2) & 0x1111_1111_1111_1111).count_ones())
        };
        let lines = |at: usize| self.pages[at].iter().map(touched).sum();
        self.index.iter().map(|(page, at)| (*page, lines(*at))).collect()
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
    fn a_sector_touched_twice_counts_once() {
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
    fn a_request_counts_each_sector_once_in_any_lane_order() {
        let mut traffic = Traffic::default();
        traffic.begin_trace(0, 1);
        let (near, far) = (strided(0, 2), strided(1 << 20, 2));
        let turns = std::array::from_fn(|lane| if lane % 2 == 0 { near[lane] } else { far[lane] });
        let trace = traffic.trace().unwrap();
        trace.step(0, 0);
        traffic.lanes(Use::Write, &turns, u32::MAX, 2);
        traffic.trace().unwrap().finish(0);
        traffic.end_block(1);
        let trace = traffic.traces()[0];
        let sectors = trace.access(trace.warps[0][0]).unwrap().sectors;
        let far = (1 << 20) >> SECTOR_SHIFT;
        assert_eq!(sectors, [0, 1, far, far + 1]);
        assert_eq!(traffic.written_bytes(), 4 * 32);
    }

    #[test]
    fn lines_are_counted_by_page() {
        let mut traffic = Traffic::default();
        traffic.lanes(Use::Read, &strided(1 << 21, 64), u32::MAX, 4);
        traffic.range(Use::Read, (1 << 22) - 32, 64);
        traffic.range(Use::Write, 0, 128);
        let lines = traffic.read_lines();
        assert_eq!(lines, HashMap::from([(1, 16 + 1), (2, 1)]));
    }

    #[test]
    fn updates_within_a_sector_are_merged() {
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
    fn sectors_and_pairs_of_each_block_are_counted() {
        let of = |stride: u64| {
            let mut traffic = Traffic::default();
            traffic.lanes(Use::Read, &strided(0, stride), u32::MAX, 4);
            let blocks = traffic.read_blocks();
            let sum = |cost: fn(u32, u32) -> f64| blocks.sum(cost);
            [sum(|_, _| 1.0), sum(|sectors, _| sectors.into()), sum(|_, pairs| pairs.into())]
        };
        assert_eq!((of(4), of(32)), ([1.0, 4.0, 2.0], [4.0, 32.0, 16.0]));
        assert_eq!((of(64), of(256)), ([8.0, 32.0, 32.0], [32.0, 32.0, 32.0]));
    }

    #[test]
    fn the_longest_warp_of_all_blocks_is_kept() {
        let (mut one, mut other) = (Traffic::default(), Traffic::default());
        [3, 7, 5].into_iter().for_each(|longest| one.end_block(longest));
        other.end_block(6);
        other.add(&one);
        assert_eq!(other.longest_warp(), 7);
    }

    #[test]
    fn traffic_of_parts_adds_up_to_the_whole() {
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
