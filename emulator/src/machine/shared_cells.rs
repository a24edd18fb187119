//! The cells of a block's shared memory: for each the last write and the last read, and the last
//! plain write if a strong one followed it.
//!
//! An access is its tick and its thread ([`By`]). The ticks are those of the shadow.

use super::hazard::{Bounds, By, Hazard, LANES, SEVERAL, STRONG, THREAD, Touch, VOLATILE, WARP};
use std::collections::HashMap;
use std::ops::Range;

/// A tick that never comes: the time of accesses outside of arrays.
pub const NEVER: i32 = i32::MAX;

/// For each cell the last write and the last read.
#[derive(Debug, Default)]
pub struct Cells {
    pub written: Vec<i32>,
    pub writer: Vec<i32>,
    pub read: Vec<i32>,
    pub reader: Vec<i32>,
    /// The plain writes since all threads last met that a strong write of the same cell followed.
    pub plain: HashMap<usize, (i32, i32)>,
}

/// Whether all cells were written in the block, before its threads last met.
#[inline(always)]
pub fn is_ordered(written: &[i32], began: i32, met: i32) -> bool {
    let is_late = |written: i32| (written < began) | (written >= met);
    !written.iter().fold(false, |late, &written| late | is_late(written))
}

type Row<'c> = (&'c mut [i32; 32], &'c mut [i32; 32]);

/// 32 cells from `first` on: ticks and threads.
#[inline(always)]
pub fn row_mut<'c>(when: &'c mut [i32], who: &'c mut [i32], first: usize) -> Option<Row<'c>> {
    Some((when.get_mut(first..)?.first_chunk_mut()?, who.get_mut(first..)?.first_chunk_mut()?))
}

impl Cells {
    /// Whether something may be wrong with a read of 32 cells, a lane each.
    #[inline(always)]
    pub fn reads_of_row(&self, first: usize, by: By, began: i32, bounds: Bounds) -> bool {
        let (Some(written), Some(writer)) = (
            self.written.get(first..).and_then(|row| row.first_chunk::<32>()),
            self.writer.get(first..).and_then(|row| row.first_chunk::<32>()),
        ) else {
            return true;
        };
        // Mostly all was written before the last barrier.
        !is_ordered(written, began, bounds.block)
            && (0..32).any(|lane| {
                let me = by.0 + lane as i32;
                written[lane] < began || bounds.is_late(written[lane], writer[lane], me)
            })
    }

    /// Whether threads of several warps have written the cell strongly since `met`. A plain access
    /// of another warp since then would be a race, so no further update can race with any.
    #[inline(always)]
    pub fn is_updated_by_several(&self, cell: usize, met: i32) -> bool {
        let flags = SEVERAL | STRONG;
        // The writer of cells outside of arrays is negative.
        self.written[cell] >= met
            && self.writer[cell] & (flags | i32::MIN) == flags
            && self.plain_before(cell).is_none()
    }

    /// The plain write of a cell before its last write, which is strong.
    #[inline(always)]
    fn plain_before(&self, cell: usize) -> Option<(i32, i32)> {
        if self.plain.is_empty() { None } else { self.plain.get(&cell).copied() }
    }

    /// Whether an access of a cell is certainly right: all earlier accesses of the cell came before
    /// `met`, when all threads last met, or they and this one are strong.
    #[inline(always)]
    pub fn is_sure(&self, cell: usize, by: By, reads: bool, (began, met): (i32, i32)) -> bool {
        let is_ordered =
            |when: i32, other: i32| (when < met) | (by.0 & other & STRONG != 0 && when < NEVER);
        let written = self.written[cell];
        written >= began
            && is_ordered(written, self.writer[cell])
            && self.plain_before(cell).is_none()
            && (reads || is_ordered(self.read[cell], self.reader[cell]))
    }

    #[inline(always)]
    pub fn hazard(
        &self,
        cell: usize,
        by: By,
        touch: Touch,
        (began, bounds): (i32, Bounds),
        knows: impl Fn(By, i32) -> bool,
    ) -> Option<Hazard> {
        let (written, writer) = (self.written[cell], self.writer[cell]);
        if written == NEVER {
            return Some(Hazard::Outside);
        }
        if touch == Touch::Write(false) && written >= began {
            return None;
        }
        let races = |when: i32, other: i32| {
            let both_strong = by.0 & other & STRONG != 0;
            bounds.is_late(when, other, by.0) && !both_strong && !knows(By(other), when)
        };
        let writes = [Some((written, writer)), self.plain_before(cell)];
        if let Some((_, writer)) = writes.into_iter().flatten().find(|&(when, by)| races(when, by))
        {
            return Some(Hazard::Race { other: By(writer), wrote: true, block: None });
        }
        let (read, reader) = (self.read[cell], self.reader[cell]);
        let races = touch != Touch::Read && races(read, reader);
        races.then_some(Hazard::Race { other: By(reader), wrote: false, block: None })
    }

    /// The race of a volatile access of a cell with one of another lane of its warp, of which only
    /// those before `met` are ordered before it.
    #[inline(never)]
    pub fn volatile_race(
        &self,
        cell: usize,
        by: By,
        touch: Touch,
        met: i32,
        knows: impl Fn(By, i32) -> bool,
    ) -> Option<Hazard> {
        if touch == Touch::Write(false) {
            return None;
        }
        let races = |when: i32, other: By| {
            let is_of_warp = other.is_volatile() && (other.0 ^ by.0) & WARP == 0;
            is_of_warp
                && (Bounds { block: met, warp: met }).is_late(when, other.0, by.0)
                && !knows(other, when)
        };
        let race = |other, wrote| Hazard::Race { other, wrote, block: None };
        let (writer, reader) = (By(self.writer[cell]), By(self.reader[cell]));
        if races(self.written[cell], writer) {
            return Some(race(writer, true));
        }
        let is_read = touch != Touch::Read && races(self.read[cell], reader);
        is_read.then(|| race(reader, false))
    }

    #[inline(always)]
    pub fn note_read(&mut self, cell: usize, by: By, now: i32, bounds: Bounds) {
        self.reader[cell] = joined(self.read[cell], self.reader[cell], by.0, bounds);
        self.read[cell] = now;
    }

    /// Lanes read a cell each, the first of them by `by`.
    #[inline(always)]
    pub fn note_row(&mut self, cells: Range<usize>, by: By, now: i32, bounds: Bounds) {
        let (Some(read), Some(reader)) =
            (self.read.get_mut(cells.clone()), self.reader.get_mut(cells))
        else {
            return;
        };
        for ((read, reader), lane) in read.iter_mut().zip(reader).zip(0..) {
            *reader = joined(*read, *reader, by.0 + lane, bounds);
            *read = now;
        }
    }

    #[inline(always)]
    pub fn note_write(&mut self, cell: usize, by: By, now: i32, met: i32) {
        let (written, writer) = (self.written[cell], self.writer[cell]);
        if !by.is_strong() {
            self.plain.remove(&cell);
        } else if (met..NEVER).contains(&written) && !By(writer).is_strong() {
            self.plain.entry(cell).or_insert((written, writer));
        }
        // Of lanes that write in one instruction the highest is kept.
        self.writer[cell] = joined(written, writer, by.0, Bounds { block: met, warp: NEVER });
        self.written[cell] = now;
    }
}

/// Merges an access by `me` with the last one of its kind, if nothing orders the two. If accesses
/// of several warps coincide, the first is kept, and of several lanes the last.
#[inline(always)]
pub fn joined(when: i32, other: i32, me: i32, bounds: Bounds) -> i32 {
    let apart = other ^ me;
    let several = (when >= bounds.block) & (apart & (WARP | SEVERAL) != 0);
    let is_alike = apart & (STRONG | VOLATILE) == 0;
    let lanes = (when >= bounds.warp) & ((apart & THREAD) | (other & LANES) != 0) & is_alike;
    // Both are strong, or the two together are not.
    let of_several = (other | SEVERAL) & (me | !STRONG) & !VOLATILE;
    let of_warp = if lanes { me | LANES } else { me };
    if several { of_several } else { of_warp }
}
