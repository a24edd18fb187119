//! Accesses of a whole warp to shared memory at once: whether all of them are certainly right.
//!
//! Input: the shadow of a block's shared memory, and the words that the lanes access. Output:
//! `true` if nothing is wrong, and then the shadow remembers the accesses; otherwise the caller
//! looks at them lane by lane.

use super::access_log::lanes_of;
use super::hazard::{By, Touch};
use super::shadow::Shadow;
use super::shared_cells::{NEVER, is_ordered, joined, row_mut};

impl Shadow {
    /// The lanes with updates that need a look. Each other lane follows strong writes by several
    /// warps since anything was last ordered, and no further update races with those.
    #[inline(always)]
    pub fn new_updates(&self, bytes: u32, lanes: u32, addresses: &[u64; 32]) -> u32 {
        if bytes != 1 << self.layout.grain {
            return lanes;
        }
        let mut new = 0;
        for lane in lanes_of(lanes) {
            let cell = (addresses[lane] >> self.layout.grain) as usize;
            let is_known = self.cells.is_updated_by_several(cell, self.last_order);
            new |= u32::from(!is_known) << lane;
        }
        new
    }

    /// Each lane accesses a cell. `false`: a lane may race or read unwritten memory, or `bytes` are
    /// not the size of a cell. The caller then looks at each lane.
    #[inline(always)]
    pub fn touch_cells(
        &mut self,
        (by, met): (By, i32),
        bytes: u32,
        (lanes, addresses): (u32, &[u64; 32]),
        touch: impl Fn(usize) -> Touch,
    ) -> bool {
        let (grain, began) = (self.layout.grain, self.began);
        if bytes != 1 << grain || by.is_volatile() {
            return false;
        }
        let is_sure = |lane: usize| {
            let cell = (addresses[lane] >> grain) as usize;
            self.cells.is_sure(cell, by, touch(lane) == Touch::Read, (began, met))
        };
        if !lanes_of(lanes).all(is_sure) {
            return false;
        }
        for lane in lanes_of(lanes) {
            self.note(by.lane(lane), addresses[lane], bytes, touch(lane));
        }
        true
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
        let (bounds, now) = (self.read_bounds(by), self.now);
        let cells = &mut self.cells;
        let Some((read, reader)) = row_mut(&mut cells.read, &mut cells.reader, cell) else {
            return false;
        };
        for lane in 0..32 {
            reader[lane] = joined(read[lane], reader[lane], by.0 + lane as i32, bounds);
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
        // Each row once, with the highest lane that reads its first word.
        let words = row_words(steps);
        let (mut firsts, mut lanes, mut count) = ([0; 32], [0; 32], 1);
        firsts[0] = first as usize / 4;
        for (bit, step) in (0..5).zip(steps).filter(|(bit, _)| 1 << bit >= words) {
            if step == 0 {
                lanes[..count].iter_mut().for_each(|lane| *lane |= 1 << bit);
                continue;
            }
            for at in 0..count {
                firsts[count + at] = firsts[at].wrapping_add_signed(step as isize / 4);
                lanes[count + at] = lanes[at] | 1 << bit;
            }
            count *= 2;
        }
        let (bounds, began) = (self.bounds(by), self.began);
        let is_sure = |&first: &usize| {
            let row = self.cells.written.get(first..first + words);
            row.is_some_and(|row| is_ordered(row, began, bounds.block))
        };
        if !firsts[..count].iter().all(is_sure) {
            return false;
        }
        let bounds = self.read_bounds(by);
        let by = if steps.contains(&0) { by.and_others() } else { by };
        for (&first, &lane) in firsts[..count].iter().zip(&lanes) {
            self.cells.note_row(first..first + words, By(by.0 | lane), self.now, bounds);
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
        let mut bad = self.layout.grain != 2 || self.arrivals.any();
        for lane in 0..32 {
            let me = by.0 + lane as i32;
            let changed = (old[lane] != new[lane]) | (written[lane] < began);
            let late = bounds.is_late(written[lane], writer[lane], me)
                | bounds.is_late(read[lane], reader[lane], me);
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

/// The rows of words that an affine access reads: how many words they have, a power of two.
#[inline(always)]
fn row_words(steps: [i32; 5]) -> usize {
    let bits = (0..5).zip(steps).take_while(|(bit, step)| *step == 4 << bit).count();
    1 << bits
}
