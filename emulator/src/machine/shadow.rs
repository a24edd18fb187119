//! What the threads of a block did to its shared memory since they last met.
//!
//! Input: every access to shared memory, and every barrier, fence and exchange. Output: the first
//! access that is wrong on some schedule, although this one may have given the expected value: a
//! race, a read of what nobody wrote, an access between two arrays.
//!
//! Two accesses race if they come from two threads, one of them writes, and nothing orders them. A
//! barrier of the block, a fence, or an access with `.acquire` or `.release` orders all threads; a
//! `bar.warp.sync` or another `.sync` exchange orders the lanes of its warp. That is more than PTX
//! promises, so a race may be missed, and none is made up. Atomics and `volatile` or `relaxed`
//! accesses do not race among themselves, a store of the value that is already there changes
//! nothing that anyone could see, and of lanes that store to one place in one instruction the
//! highest wins, as elsewhere.
//!
//! Time is counted in ticks, one for each event that orders anything. An access is ordered before
//! what a thread does now if it came before the last tick at which the two met. Ticks go on from
//! block to block, so nothing has to be cleared between them.

use super::checks::Checks;
use super::hazard::{By, Hazard, SEVERAL, STRONG, THREAD, Touch, WARP};
use std::ops::Range;

/// A tick that never comes: what belongs to no array was accessed then.
const NEVER: i32 = i32::MAX;
/// From here on the ticks begin anew with the next block.
const LATE: i32 = 1 << 30;

/// Where arrays lie in shared memory, and how it is divided into cells.
#[derive(Debug)]
pub struct Layout {
    /// Bytes of all, with what lies between the arrays.
    pub extent: u32,
    /// The arrays.
    pub arrays: Vec<Range<u32>>,
    /// A cell is `1 << grain` bytes, as many as the narrowest access has.
    pub grain: u32,
}

/// The shadow of a block's shared memory.
#[derive(Debug)]
pub struct Shadow {
    layout: Layout,
    now: i32,
    /// When the block began.
    began: i32,
    /// When all of its threads last met.
    met: i32,
    /// When the lanes of each warp last met.
    warp_met: Vec<i32>,
    cells: Cells,
    checks: Checks,
    /// Whether they run in the running block.
    checking: bool,
}

/// For each cell the last write and the last read.
#[derive(Debug, Default)]
struct Cells {
    written: Vec<i32>,
    writer: Vec<i32>,
    read: Vec<i32>,
    reader: Vec<i32>,
}

impl Shadow {
    /// The shadow of blocks of `warps` warps with this layout of shared memory; empty if no check
    /// is selected.
    pub fn new(layout: Layout, warps: u32, checks: Checks) -> Self {
        let cells =
            if checks.any() { (layout.extent as usize).div_ceil(1 << layout.grain) } else { 0 };
        let mut shadow = Self {
            layout,
            now: 0,
            began: 0,
            met: 0,
            warp_met: vec![0; warps as usize],
            cells: Cells {
                written: vec![NEVER; cells],
                writer: vec![-1; cells],
                read: vec![0; cells],
                reader: vec![0; cells],
            },
            checks,
            checking: false,
        };
        shadow.clear();
        shadow
    }

    fn clear(&mut self) {
        self.now = 1;
        self.warp_met.fill(0);
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

    /// Block `block` of `blocks` begins, in which nothing has a value.
    pub fn begin(&mut self, block: u64, blocks: u64) {
        self.checking = self.checks.cover(block, blocks) && !self.cells.written.is_empty();
        if self.now >= LATE {
            self.clear();
        }
        self.meet();
        self.began = self.now;
    }

    /// All threads meet.
    #[inline]
    pub fn meet(&mut self) {
        self.now = (self.now + 1).min(NEVER - 1);
        self.met = self.now;
    }

    /// The lanes of a warp meet.
    #[inline]
    pub fn meet_warp(&mut self, warp: u32) {
        self.now = (self.now + 1).min(NEVER - 1);
        self.warp_met[warp as usize] = self.now;
    }

    #[inline(always)]
    fn cells_of(&self, address: u64, bytes: u32) -> Range<usize> {
        let last = address + u64::from(bytes.max(1)) - 1;
        (address >> self.layout.grain) as usize..(last >> self.layout.grain) as usize + 1
    }

    #[inline(always)]
    fn bounds(&self, by: By) -> (i32, i32) {
        (self.met, self.met.max(self.warp_met[((by.0 & WARP) >> 5) as usize]))
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
        let bounds = self.bounds(by);
        let reads = self.checks.init && matches!(touch, Touch::Read | Touch::Update);
        let is_selected =
            |hazard: &Hazard| self.checks.race || !matches!(hazard, Hazard::Race { .. });
        let hazard = |cell| self.cells.hazard(cell, by, touch, self.began, bounds);
        if self.is_one_cell(address, bytes) {
            let cell = (address >> self.layout.grain) as usize;
            if reads && self.cells.written[cell] < self.began {
                return Some(Hazard::Unwritten);
            }
            return hazard(cell).filter(is_selected);
        }
        let cells = self.cells_of(address, bytes);
        // Compilers copy the padding of structures, which nobody writes.
        let unwritten = || self.cells.written[cells.clone()].iter().all(|when| *when < self.began);
        if reads && unwritten() {
            return Some(Hazard::Unwritten);
        }
        cells.clone().filter_map(hazard).find(is_selected)
    }

    /// Remembers that it does.
    #[inline(always)]
    pub fn note(&mut self, by: By, address: u64, bytes: u32, touch: Touch) {
        let (now, met) = (self.now, self.met);
        for cell in self.cells_of(address, bytes) {
            match touch {
                Touch::Read => self.cells.note_read(cell, by, now, met),
                Touch::Write(false) if self.cells.written[cell] >= self.began => {}
                Touch::Write(_) | Touch::Update => self.cells.note_write(cell, by, now, met),
            }
        }
    }

    /// What was stored to these bytes has no defined value.
    pub fn forget(&mut self, address: u64, bytes: u32) {
        for cell in self.cells_of(address, bytes) {
            // The end of the block before.
            self.cells.written[cell] = self.began - 1;
        }
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

    /// Every lane reads a word, each the one after the lane's before. `false`: it is to be looked
    /// at lane by lane.
    #[inline(always)]
    pub fn read_words(&mut self, by: By, first: u64) -> bool {
        if !self.checking {
            return true;
        }
        let (bounds, cell) = (self.bounds(by), (first / 4) as usize);
        if self.layout.grain != 2 || self.cells.reads_of_row(cell, by, self.began, bounds) {
            return false;
        }
        let (met, now) = (self.met, self.now);
        let cells = &mut self.cells;
        let Some((read, reader)) = row_mut(&mut cells.read, &mut cells.reader, cell) else {
            return false;
        };
        for lane in 0..32 {
            reader[lane] = joined(read[lane], reader[lane], by.0 + lane as i32, met);
        }
        *read = [now; 32];
        true
    }

    /// Every lane reads a word, at `first` plus the steps of the bits of its number. `false`: it is
    /// to be looked at lane by lane.
    #[inline(always)]
    pub fn read_affine(&mut self, by: By, first: u64, steps: [i32; 5]) -> bool {
        if !self.checking {
            return true;
        }
        if self.layout.grain != 2 {
            return false;
        }
        // Each cell once, with the highest lane that reads it.
        let (mut cells, mut lanes, mut count) = ([0u32; 32], [0i32; 32], 1);
        cells[0] = (first / 4) as u32;
        for (bit, step) in steps.into_iter().enumerate() {
            if step == 0 {
                lanes[..count].iter_mut().for_each(|lane| *lane |= 1 << bit);
                continue;
            }
            for at in 0..count {
                cells[count + at] = cells[at].wrapping_add_signed(step / 4);
                lanes[count + at] = lanes[at] | 1 << bit;
            }
            count *= 2;
        }
        let (bounds, began) = (self.bounds(by), self.began);
        let mut unsure = false;
        for &cell in &cells[..count] {
            let written = self.cells.written[cell as usize];
            unsure |= (written < began) | (written >= bounds.0);
        }
        if unsure {
            return false;
        }
        for (&cell, &lane) in cells[..count].iter().zip(&lanes) {
            self.cells.note_read(cell as usize, By(by.0 | lane), self.now, self.met);
        }
        true
    }

    /// Every lane writes a word, each the one after the lane's before. `false`: it is to be looked
    /// at lane by lane.
    #[inline(always)]
    pub fn write_words(&mut self, by: By, first: u64, old: &[u32], new: &[u32; 32]) -> bool {
        if !self.checking {
            return true;
        }
        let (bounds, cell) = (self.bounds(by), (first / 4) as usize);
        let (began, now) = (self.began, self.now);
        let cells = &mut self.cells;
        let (Some((read, reader)), Some((written, writer)), Some(old)) = (
            row_mut(&mut cells.read, &mut cells.reader, cell),
            row_mut(&mut cells.written, &mut cells.writer, cell),
            old.first_chunk::<32>(),
        ) else {
            return false;
        };
        let mut bad = self.layout.grain != 2;
        for lane in 0..32 {
            let me = by.0 + lane as i32;
            let changed = (old[lane] != new[lane]) | (written[lane] < began);
            let late = is_late(written[lane], writer[lane], me, bounds)
                | is_late(read[lane], reader[lane], me, bounds);
            bad |= (written[lane] == NEVER) | (changed & late);
        }
        if bad {
            return false;
        }
        for lane in 0..32 {
            let changed = (old[lane] != new[lane]) | (written[lane] < began);
            written[lane] = if changed { now } else { written[lane] };
            writer[lane] = if changed { by.0 + lane as i32 } else { writer[lane] };
        }
        true
    }
}

type Row<'c> = (&'c mut [i32; 32], &'c mut [i32; 32]);

/// 32 cells from `first` on: when, and who.
#[inline(always)]
fn row_mut<'c>(when: &'c mut [i32], who: &'c mut [i32], first: usize) -> Option<Row<'c>> {
    Some((when.get_mut(first..)?.first_chunk_mut()?, who.get_mut(first..)?.first_chunk_mut()?))
}

impl Cells {
    /// Whether something may be wrong with a read of 32 cells, a lane each.
    #[inline(always)]
    fn reads_of_row(&self, first: usize, by: By, began: i32, bounds: (i32, i32)) -> bool {
        let (Some(written), Some(writer)) = (
            self.written.get(first..).and_then(|row| row.first_chunk::<32>()),
            self.writer.get(first..).and_then(|row| row.first_chunk::<32>()),
        ) else {
            return true;
        };
        // Mostly all was written before the last barrier.
        let unsure = written
            .iter()
            .fold(false, |unsure, &written| unsure | (written < began) | (written >= bounds.0));
        unsure
            && (0..32).any(|lane| {
                let me = by.0 + lane as i32;
                written[lane] < began || is_late(written[lane], writer[lane], me, bounds)
            })
    }

    #[inline(always)]
    fn hazard(
        &self,
        cell: usize,
        by: By,
        touch: Touch,
        began: i32,
        bounds: (i32, i32),
    ) -> Option<Hazard> {
        let (written, writer) = (self.written[cell], self.writer[cell]);
        if written == NEVER {
            return Some(Hazard::Outside);
        }
        if touch == Touch::Write(false) && written >= began {
            return None;
        }
        let both_strong = |other: i32| by.0 & other & STRONG != 0;
        if is_late(written, writer, by.0, bounds) && !both_strong(writer) {
            return Some(Hazard::Race { other: By(writer), wrote: true });
        }
        let (read, reader) = (self.read[cell], self.reader[cell]);
        let races =
            touch != Touch::Read && is_late(read, reader, by.0, bounds) && !both_strong(reader);
        races.then_some(Hazard::Race { other: By(reader), wrote: false })
    }

    #[inline(always)]
    fn note_read(&mut self, cell: usize, by: By, now: i32, met: i32) {
        self.reader[cell] = joined(self.read[cell], self.reader[cell], by.0, met);
        self.read[cell] = now;
    }

    #[inline(always)]
    fn note_write(&mut self, cell: usize, by: By, now: i32, met: i32) {
        self.writer[cell] = joined(self.written[cell], self.writer[cell], by.0, met);
        self.written[cell] = now;
    }
}

/// Whether an access of `other` is one of another thread that nothing orders before what `me` does
/// now. `bounds` are when the block and when this warp last met.
#[inline(always)]
fn is_late(when: i32, other: i32, me: i32, bounds: (i32, i32)) -> bool {
    let apart = other ^ me;
    let bound = if apart & (WARP | SEVERAL) == 0 { bounds.1 } else { bounds.0 };
    (when >= bound) & (apart & (THREAD | SEVERAL) != 0)
}

/// What is kept of an access by `me` after the last one of its kind: where those of several warps
/// come together, the first of them.
#[inline(always)]
fn joined(when: i32, other: i32, me: i32, met: i32) -> i32 {
    let apart = (when >= met) & ((other ^ me) & (WARP | SEVERAL) != 0);
    // Both are strong, or the two together are not.
    let several = (other | SEVERAL) & (me | !STRONG);
    if apart { several } else { me }
}
