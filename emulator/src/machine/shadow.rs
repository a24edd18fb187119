//! The accesses of a block's threads to its shared memory since they last met.
//!
//! Input: every access to shared memory, and every barrier, fence and exchange. Output: the first
//! access that is wrong on some schedule, although this one may have given the expected value: a
//! race, a read of unwritten memory, an access between two arrays.
//!
//! Two accesses race if they come from two threads, one of them writes, and nothing orders them. A
//! barrier of the block orders the warps that wait at it. A fence, a strong load or store, or an
//! atomic with `.acquire` or `.release` orders all earlier accesses of the block before the later
//! ones of its warp; a relaxed atomic orders the accesses before the last of those operations. A
//! `bar.warp.sync` or another `.sync` exchange orders the lanes of its member mask (`LaneOrder`).
//! An arrival at an `mbarrier` does not order later writes of its warp (`Arrivals`). That is more
//! than PTX promises, so a race may be missed, and none is made up. Atomics and `volatile` or
//! `relaxed` accesses do not race among themselves, except for volatile accesses of lanes of one
//! warp that take data (`Sharing::Volatile`). A store of the value that is already there changes
//! nothing that anyone could see, and of lanes that store to one place in one instruction the
//! highest wins, as elsewhere.
//!
//! Time is counted in ticks, one for each event that orders anything. An access is ordered before a
//! thread's next access if it came before the last tick at which the two met. Ticks continue from
//! block to block, so nothing has to be cleared between them.

use super::access_log::AccessLog;
use super::arrivals::Arrivals;
use super::checks::Checks;
use super::fault::Fault;
use super::hazard::{Bounds, By, Hazard, Touch};
use super::lane_order::LaneOrder;
use super::shared_cells::{Cells, NEVER};
use super::undefined_origins::Origins;
use std::ops::Range;

/// From here on the ticks restart with the next block.
const LATE: i32 = 1 << 30;

/// The arrays in shared memory, and their division into cells.
#[derive(Debug, Default)]
pub struct Layout {
    /// All bytes, including the gaps between the arrays.
    pub extent: u32,
    /// The arrays.
    pub arrays: Vec<Range<u32>>,
    /// The first bytes, which have values when a block begins.
    pub reserved: u32,
    /// A cell is `1 << grain` bytes, as many as the narrowest access has.
    pub grain: u32,
}

/// The shadow of a block's shared memory.
#[derive(Debug, Default)]
pub struct Shadow {
    pub(super) layout: Layout,
    pub(super) now: i32,
    /// When the block began.
    pub(super) began: i32,
    /// When all of its threads last met.
    met: i32,
    /// For each warp a tick: all that the block did before it comes before the warp's next access.
    ordered: Vec<i32>,
    /// When all threads last met, or a warp last executed an operation that orders memory.
    pub(super) last_order: i32,
    /// When all lanes of each warp last met.
    warp_met: Vec<i32>,
    /// When lanes of each warp last saw the accesses of other threads.
    looked: Vec<i32>,
    lane_order: LaneOrder,
    pub(super) arrivals: Arrivals,
    pub(super) cells: Cells,
    checks: Checks,
    /// Whether they run in the running block.
    pub(super) checking: bool,
    /// Whether blocks may order each other.
    blocks_order: bool,
    /// Where values come from that are not defined.
    origins: Origins,
    /// The block's accesses to global memory, which other blocks read.
    pub log: AccessLog,
}

impl Shadow {
    /// The shadow of blocks of `warps` warps with this layout of shared memory; empty if no check
    /// is selected.
    pub fn new(layout: Layout, warps: u32, checks: Checks, blocks_order: bool) -> Self {
        let cells =
            if checks.any() { (layout.extent as usize).div_ceil(1 << layout.grain) } else { 0 };
        let never = vec![0; warps as usize];
        let mut shadow = Self {
            layout,
            ordered: never.clone(),
            warp_met: never.clone(),
            looked: never,
            cells: Cells {
                written: vec![NEVER; cells],
                writer: vec![-1; cells],
                read: vec![0; cells],
                reader: vec![0; cells],
                ..Cells::default()
            },
            checks,
            blocks_order,
            ..Self::default()
        };
        shadow.clear();
        shadow
    }

    fn clear(&mut self) {
        self.now = 1;
        self.ordered.fill(0);
        self.warp_met.fill(0);
        self.looked.fill(0);
        self.lane_order.clear();
        self.cells.read.fill(0);
        if self.cells.written.is_empty() {
            return;
        }
        for array in &self.layout.arrays {
            let cells = self.cells_of(u64::from(array.start), array.end - array.start);
            self.cells.written[cells.clone()].fill(0);
            self.cells.writer[cells].fill(0);
        }
    }

    /// Block `block` of `blocks` begins, in which nothing but reserved memory has a value.
    pub fn begin(&mut self, block: u64, blocks: u64) {
        let covered = self.checks.cover(block, blocks);
        self.checking = covered && !self.cells.written.is_empty();
        let races = self.checks.race;
        self.log.begin(covered && races, self.blocks_order && races);
        if self.now >= LATE {
            self.clear();
        }
        self.meet();
        self.began = self.now;
        self.origins.clear();
        if self.layout.reserved > 0 && self.checking {
            let cells = self.cells_of(0, self.layout.reserved);
            self.cells.written[cells.clone()].fill(self.began);
            self.cells.writer[cells].fill(0);
            self.meet();
        }
    }

    /// Lanes of a warp execute a fence, possibly with a scope beyond the block.
    #[inline]
    pub fn fence(&mut self, warp: u32, lanes: u32, beyond_block: bool) {
        if beyond_block {
            self.log.fence(warp, lanes);
        }
        self.order(warp);
    }

    /// Lanes of a warp saw the accesses of other threads by a strong access, perhaps of other warps
    /// only.
    #[inline]
    pub fn observe(&mut self, warp: u32, other_warps_only: bool) {
        self.log.observe(warp);
        if !other_warps_only {
            self.now = (self.now + 1).min(NEVER - 1);
            self.looked[warp as usize] = self.now;
        }
    }

    /// A warp executes an operation that orders memory: its next accesses come after all that the
    /// block did before, except for volatile accesses of its own lanes.
    #[inline]
    pub fn order(&mut self, warp: u32) {
        self.arrivals.clear();
        self.log.order(warp);
        self.now = (self.now + 1).min(NEVER - 1);
        self.last_order = self.now;
        self.ordered[warp as usize] = self.now;
    }

    /// A warp executes a relaxed atomic, perhaps on a flag: its next accesses come after all that
    /// the block did before the last such operation of any warp.
    #[inline]
    pub fn catch_up(&mut self, warp: u32) {
        if self.ordered[warp as usize].max(self.met) < self.last_order {
            self.log.catch_up(warp);
            self.ordered[warp as usize] = self.last_order;
        }
    }

    /// All threads meet.
    #[inline]
    pub fn meet(&mut self) {
        self.arrivals.clear();
        self.log.meet();
        self.cells.plain.clear();
        self.now = (self.now + 1).min(NEVER - 1);
        (self.met, self.last_order) = (self.now, self.now);
    }

    /// Warps, a bit each, meet at a barrier that is not for all: their next accesses come after all
    /// that the block did before.
    pub fn meet_warps(&mut self, warps: u32) {
        self.arrivals.clear();
        self.log.meet();
        self.now = (self.now + 1).min(NEVER - 1);
        self.last_order = self.now;
        for warp in (0..self.ordered.len()).filter(|warp| warps >> warp & 1 == 1) {
            self.ordered[warp] = self.now;
            self.warp_met[warp] = self.now;
        }
    }

    /// A warp arrives at an `mbarrier`, which orders its writes so far.
    pub fn arrive(&mut self, warp: u32) {
        self.arrivals.arrive(warp);
        self.meet_arrivals();
    }

    /// The writes of a warp since its arrival are ordered too.
    pub fn publish(&mut self, warp: u32) {
        self.arrivals.publish(warp);
    }

    /// All threads meet, except for their writes after an arrival.
    pub fn meet_arrivals(&mut self) {
        let arrivals = std::mem::take(&mut self.arrivals);
        self.meet();
        let (arrived, writes) = arrivals.unpublished();
        if self.checking && !writes.is_empty() {
            for &(cell, by) in writes {
                if self.cells.writer[cell] == by && self.cells.written[cell] >= self.began {
                    self.cells.written[cell] = self.now;
                }
            }
            // Lanes of one warp are ordered as far as they were, or more.
            self.now = (self.now + 1).min(NEVER - 1);
            let warps = self.warp_met.iter_mut().enumerate();
            for (_, met) in warps.filter(|(warp, _)| arrived & (1 << warp) != 0) {
                *met = self.now;
            }
        }
        self.arrivals = arrivals;
    }

    /// Lanes of a warp meet.
    #[inline]
    pub fn meet_lanes(&mut self, warp: u32, lanes: u32) {
        self.log.meet_lanes(warp, lanes);
        self.now = (self.now + 1).min(NEVER - 1);
        if lanes == u32::MAX {
            self.warp_met[warp as usize] = self.now;
        } else if self.checking {
            self.lane_order.meet(warp, lanes, self.now.cast_unsigned());
        }
    }

    #[inline(always)]
    fn cells_of(&self, address: u64, bytes: u32) -> Range<usize> {
        let last = address + u64::from(bytes.max(1)) - 1;
        (address >> self.layout.grain) as usize..(last >> self.layout.grain) as usize + 1
    }

    /// The bounds of the next access of a warp.
    #[inline(always)]
    pub fn bounds(&self, by: By) -> Bounds {
        let warp = by.warp();
        let block = self.met.max(self.ordered[warp]);
        Bounds { block, warp: block.max(self.warp_met[warp]) }
    }

    /// When all threads and all lanes of the warp last met, for a read that is remembered; never if
    /// only some of the lanes have met since: which of them is then not kept.
    #[inline(always)]
    pub(super) fn read_bounds(&self, by: By) -> Bounds {
        let Bounds { block, warp } = self.bounds(by);
        let in_parts = self.lane_order.last(by).cast_signed() > warp;
        Bounds { block, warp: if in_parts { NEVER } else { warp } }
    }

    /// Whether anything is checked.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.checking
    }

    #[inline(always)]
    fn is_one_cell(&self, address: u64, bytes: u32) -> bool {
        bytes == 1 << self.layout.grain && address & (u64::from(bytes) - 1) == 0
    }

    /// What is wrong if one thread accesses `bytes` from `address` on.
    #[inline(always)]
    pub fn check(&self, by: By, address: u64, bytes: u32, touch: Touch) -> Option<Hazard> {
        self.check_within(self.bounds(by), by, (address, bytes), touch)
    }

    /// The same if only accesses before `bounds` are ordered before this one.
    #[inline(always)]
    pub fn check_within(
        &self,
        bounds: Bounds,
        by: By,
        (address, bytes): (u64, u32),
        touch: Touch,
    ) -> Option<Hazard> {
        let reads = self.checks.init && matches!(touch, Touch::Read | Touch::Update(_));
        let is_selected =
            |hazard: &Hazard| self.checks.race || !matches!(hazard, Hazard::Race { .. });
        let knows = |other, when: i32| self.lane_order.knows(by, (other, when.cast_unsigned()));
        let hazard = |cell| {
            let found = self.cells.hazard(cell, by, touch, (self.began, bounds), knows);
            if found.is_some() || !by.is_volatile() {
                return found;
            }
            let warp = by.warp();
            let met = self.met.max(self.warp_met[warp]).max(self.looked[warp]);
            self.cells.volatile_race(cell, by, touch, met, knows)
        };
        if self.is_one_cell(address, bytes) {
            let cell = (address >> self.layout.grain) as usize;
            if reads && self.cells.written[cell] < self.began {
                return Some(self.unwritten());
            }
            return hazard(cell).filter(is_selected);
        }
        // Compilers copy the padding of structures, which is never written.
        if reads && self.is_unwritten(address, bytes) {
            return Some(self.unwritten());
        }
        self.cells_of(address, bytes).filter_map(hazard).find(is_selected)
    }

    /// Whether a read of `bytes` from `address` on gets nothing that the block wrote.
    pub fn is_unwritten(&self, address: u64, bytes: u32) -> bool {
        let cells = self.cells_of(address, bytes);
        self.checking
            && self.checks.init
            && self.cells.written[cells].iter().all(|when| *when < self.began)
    }

    /// The hazard of such a read now.
    pub fn unwritten(&self) -> Hazard {
        Hazard::Unwritten { met: self.last_order, in_part: false }
    }

    /// The write of these bytes by another warp that nothing orders after a read of them as
    /// unwritten, when anything in the block was last ordered at `met`.
    pub fn race_with_read(
        &self,
        (warp, met): (u32, i32),
        address: u64,
        bytes: u32,
    ) -> Option<Hazard> {
        let races = |cell: &usize| {
            let is_written = (self.began..NEVER).contains(&self.cells.written[*cell]);
            is_written && By(self.cells.writer[*cell]).thread() / 32 != warp
        };
        let cell = self.cells_of(address, bytes).find(races)?;
        let is_checked = self.checks.race && self.last_order == met;
        let other = By(self.cells.writer[cell]);
        is_checked.then_some(Hazard::Race { other, wrote: true, block: None })
    }

    /// Remembers that it does.
    #[inline(always)]
    pub fn note(&mut self, by: By, address: u64, bytes: u32, touch: Touch) {
        let (now, met, read_bounds) = (self.now, self.bounds(by).block, self.read_bounds(by));
        for cell in self.cells_of(address, bytes) {
            match touch {
                Touch::Read => self.cells.note_read(cell, by, now, read_bounds),
                Touch::Write(false) if self.cells.written[cell] >= self.began => {}
                Touch::Write(_) | Touch::Update(_) => {
                    if self.arrivals.any() {
                        self.arrivals.note(cell, by);
                    }
                    self.cells.note_write(cell, by, now, met);
                }
            }
        }
    }

    /// What was stored to these bytes has no defined value, since `origin` read unwritten memory.
    pub fn forget(&mut self, address: u64, bytes: u32, origin: &Fault) {
        for cell in self.cells_of(address, bytes) {
            // The end of the block before.
            self.cells.written[cell] = self.began - 1;
            self.origins.set(cell, origin);
        }
    }

    /// The read of unwritten memory whose value was stored to these bytes, which are unwritten.
    pub fn origin(&self, address: u64, bytes: u32) -> Option<&Fault> {
        self.cells_of(address, bytes).find_map(|cell| self.origins.get(cell))
    }

    /// Both.
    #[inline(always)]
    pub fn touch(&mut self, by: By, address: u64, bytes: u32, touch: Touch) -> Option<Hazard> {
        if !self.checking {
            return None;
        }
        let hazard = self.check(by, address, bytes, touch);
        if hazard.is_none() {
            self.note(by, address, bytes, touch);
        }
        hazard
    }
}
