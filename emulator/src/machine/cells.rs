//! The cells of global memory that the checked blocks of a launch accessed.
//!
//! Each cell holds the last write with its value, the last read, and the last read of another block
//! than that one. If several blocks wrote it strongly, it also holds the last strong write of
//! another block than the last; if a strong write followed a plain one, that one; and if a block
//! read it plainly that had read a strong write of another strongly, that read. A cell of an
//! earlier launch counts as untouched, so pages are used again as they are. There are at most
//! [`MOST_PAGES`] pages of 1024 cells of 40 bytes, 52 where several blocks wrote strongly: 416 MiB.
//! Further memory is not checked.

use super::hazard::{Bounds, By, LANES, SEVERAL, STRONG, THREAD, Touch, WARP};
use std::collections::HashMap;

/// Cells of a page.
const PAGE: usize = 1024;
/// Pages of a launch.
const MOST_PAGES: usize = 8192;
/// Pages that are kept from launch to launch.
const KEPT_PAGES: usize = 2048;
/// Places in which a page is looked for first.
const CACHED: usize = 64;
/// A tick that never comes.
const NEVER: u32 = u32::MAX;

/// Who accesses now.
#[derive(Debug, Clone, Copy)]
pub struct Accessor {
    /// The block.
    pub block: u32,
    /// The thread and the instruction.
    pub by: By,
    /// The tick.
    pub now: u32,
    /// When the threads of the block last met.
    pub met: u32,
    /// When all lanes of the warp last met.
    pub warp_met: u32,
    /// The same for a read that is remembered; never if only some of the lanes have met since.
    pub read_met: u32,
}

impl Accessor {
    /// Before which ticks accesses of its block are ordered before this one.
    #[inline(always)]
    fn bounds(&self) -> Bounds<u32> {
        Bounds { block: self.met, warp: self.warp_met }
    }
}

/// An access that a cell remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// The tick.
    pub when: u32,
    /// The block.
    pub block: u32,
    /// The thread and the instruction.
    pub by: By,
}

/// A record of each cell of a page.
#[derive(Debug)]
struct Records {
    when: [u32; PAGE],
    block: [u32; PAGE],
    by: [i32; PAGE],
}

/// A record of 32 cells.
struct Row<'p> {
    when: &'p mut [u32; 32],
    block: &'p mut [u32; 32],
    by: &'p mut [i32; 32],
}

impl Records {
    const NONE: Self = Self { when: [0; PAGE], block: [0; PAGE], by: [0; PAGE] };

    fn get(&self, at: usize) -> Record {
        Record { when: self.when[at], block: self.block[at], by: By(self.by[at]) }
    }

    fn set(&mut self, at: usize, record: Record) {
        (self.when[at], self.block[at], self.by[at]) = (record.when, record.block, record.by.0);
    }

    #[inline(always)]
    fn row(&mut self, at: usize) -> Option<Row<'_>> {
        Some(Row {
            when: self.when.get_mut(at..)?.first_chunk_mut()?,
            block: self.block.get_mut(at..)?.first_chunk_mut()?,
            by: self.by.get_mut(at..)?.first_chunk_mut()?,
        })
    }
}

#[derive(Debug)]
struct Page {
    value: [u32; PAGE],
    written: Records,
    read: Records,
    read_elsewhere: Records,
    /// Once several blocks wrote a cell strongly.
    written_elsewhere: Option<Box<Records>>,
}

impl Page {
    const NONE: Self = Self {
        value: [0; PAGE],
        written: Records::NONE,
        read: Records::NONE,
        read_elsewhere: Records::NONE,
        written_elsewhere: None,
    };

    /// The last strong write of another block than that of the last write.
    #[inline(always)]
    fn written_elsewhere(&self, at: usize) -> Option<Record> {
        self.written_elsewhere.as_ref().map(|records| records.get(at))
    }

    /// Before a strong write by `block`: remembers one of another block.
    #[inline(always)]
    fn keep_strong_write(&mut self, at: usize, began: u32, block: u32) {
        let written = self.written.get(at);
        if written.when >= began && written.block != block && written.by.is_strong() {
            let records = self.written_elsewhere.get_or_insert_with(|| Box::new(Records::NONE));
            records.set(at, written);
        }
    }

    /// Whether several blocks wrote one of 32 cells strongly.
    #[inline(always)]
    fn has_strong_writes(&self, at: usize, began: u32) -> bool {
        let when = |records: &Records| {
            let row = records.when.get(at..).and_then(|row| row.first_chunk::<32>());
            row.is_none_or(|row| row.iter().fold(false, |any, &when| any | (when >= began)))
        };
        self.written_elsewhere.as_ref().is_some_and(|records| when(records))
    }
}

/// The cells.
#[derive(Debug, Default)]
pub struct Cells {
    pages: Vec<Box<Page>>,
    /// How many of them belong to the launch.
    used: usize,
    index: HashMap<u64, usize>,
    /// Page numbers and pages that were found last.
    cache: Vec<(u64, usize)>,
    /// The plain writes that a strong write of the same cell followed.
    plain: HashMap<u64, Record>,
    /// The last plain read of a cell behind a strong one of the same block, which had seen the
    /// strong writes so far.
    plain_reads: HashMap<u64, Record>,
    /// The tick at which the launch began.
    began: u32,
    /// Whether the launch has accessed cells for which there was no page.
    pub is_full: bool,
}

impl Cells {
    /// A launch begins at `tick`, which is later than all before, unless all is to be forgotten.
    pub fn begin(&mut self, tick: u32, forget: bool) {
        self.pages.truncate(if forget { 0 } else { KEPT_PAGES });
        self.index.clear();
        self.plain.clear();
        self.plain_reads.clear();
        self.cache = vec![(u64::MAX, 0); CACHED];
        (self.used, self.began, self.is_full) = (0, tick, false);
    }

    /// The page of a cell, and the cell's place in it; `None` if there are too many pages.
    #[inline]
    fn find(&mut self, cell: u64) -> Option<(&mut Page, usize)> {
        let number = cell / PAGE as u64;
        let cached = &mut self.cache[number as usize % CACHED];
        if cached.0 != number {
            let known = self.index.get(&number).copied();
            self.is_full |= known.is_none() && self.used == MOST_PAGES;
            let at = known.or_else(|| (self.used < MOST_PAGES).then_some(self.used))?;
            if known.is_none() {
                self.used += 1;
                self.index.insert(number, at);
                if at == self.pages.len() {
                    self.pages.push(Box::new(Page::NONE));
                }
            }
            *cached = (number, at);
        }
        let at = cached.1;
        Some((&mut self.pages[at], cell as usize % PAGE))
    }

    /// The record that the access of a cell races with, and whether it is a write. `knows` says
    /// whether the accessing thread is ordered after a record, of a write or not, by more than
    /// meetings.
    pub fn race(
        &mut self,
        cell: u64,
        me: &Accessor,
        (touch, value): (Touch, u32),
        knows: impl Fn(&Record, bool) -> bool,
    ) -> Option<(Record, bool)> {
        let began = self.began;
        let (page, at) = self.find(cell)?;
        let races = |other: &Record, wrote: bool| {
            let apart = other.when >= began && other.by.0 & me.by.0 & STRONG == 0;
            apart
                && (other.block != me.block || me.bounds().is_late(other.when, other.by.0, me.by.0))
                && !knows(other, wrote)
        };
        let written = page.written.get(at);
        if began <= written.when && is_no_change(&written, page.value[at], (touch, value)) {
            return None;
        }
        let (read, elsewhere) = (page.read.get(at), page.read_elsewhere.get(at));
        let writes = [Some(written), page.written_elsewhere(at)].into_iter().flatten();
        let mut unseen = writes.filter(|write| !has_seen(me, &read, write));
        if let Some(write) = unseen.find(|write| races(write, true)) {
            return Some((write, true));
        }
        if let Some(plain) = self.plain_before(cell, &written).filter(|plain| races(plain, true)) {
            return Some((plain, true));
        }
        if touch == Touch::Read {
            return None;
        }
        let plain = self.plain_reads.get(&cell).copied();
        let mut reads = [read, elsewhere].into_iter().chain(plain);
        reads.find(|read| races(read, false)).map(|read| (read, false))
    }

    /// The plain write of a cell before `written`, if that is a strong one.
    #[inline(always)]
    fn plain_before(&self, cell: u64, written: &Record) -> Option<Record> {
        if self.plain.is_empty() || !written.by.is_strong() {
            return None;
        }
        self.plain.get(&cell).copied()
    }

    /// Remembers an access that races with none.
    pub fn note(&mut self, cell: u64, me: &Accessor, (touch, value): (Touch, u32)) {
        let began = self.began;
        let Some((page, at)) = self.find(cell) else { return };
        let (written, read) = (page.written.get(at), page.read.get(at));
        let mine = Record { when: me.now, block: me.block, by: me.by };
        if touch == Touch::Read {
            // What was seen by a strong read stays seen.
            let writes = [Some(written), page.written_elsewhere(at)].into_iter().flatten();
            let sees = |write: Record| write.when >= began && has_seen(me, &read, &write);
            if !me.by.is_strong() && read.when >= began && writes.into_iter().any(sees) {
                let before = self.plain_reads.get(&cell).copied();
                let by = before.map_or(me.by.0, |before| joined(began, &before, me, me.read_met));
                self.plain_reads.insert(cell, Record { by: By(by), ..mine });
                return;
            }
            if began <= read.when && read.block != me.block {
                page.read_elsewhere.set(at, read);
            }
            page.read.set(at, Record { by: By(joined(began, &read, me, me.read_met)), ..mine });
            return;
        }
        let is_old = began <= written.when
            && is_no_change(&written, page.value[at], (touch, value))
            && written.block == me.block;
        if is_old {
            return;
        }
        if me.by.is_strong() {
            page.keep_strong_write(at, began, me.block);
        }
        page.written.set(at, Record { by: By(joined(began, &written, me, NEVER)), ..mine });
        page.value[at] = value;
        let is_read = began <= read.when && !read.by.is_strong();
        if touch == Touch::Update(true) && !is_read {
            page.read.set(at, mine);
        }
        if me.by.is_strong() {
            if began <= written.when && !written.by.is_strong() {
                self.plain.insert(cell, written);
            }
        } else {
            // Whoever is ordered after this write is ordered after them.
            (page.read.when[at], page.read_elsewhere.when[at]) = (0, 0);
            if let Some(records) = &mut page.written_elsewhere {
                records.when[at] = 0;
            }
            self.plain_reads.remove(&cell);
        }
    }

    /// Remembers an update, unless a plain access of the cell in this launch may race with it.
    /// Strong accesses do not race with each other.
    #[inline(always)]
    pub fn update(&mut self, cell: u64, me: &Accessor, touch: Touch) -> bool {
        let is_in = |plain: &HashMap<u64, Record>| !plain.is_empty() && plain.contains_key(&cell);
        if is_in(&self.plain) || is_in(&self.plain_reads) {
            return false;
        }
        let began = self.began;
        let Some((page, at)) = self.find(cell) else { return true };
        let may_race =
            |records: &Records| records.when[at] >= began && !By(records.by[at]).is_strong();
        if may_race(&page.written) || may_race(&page.read) || may_race(&page.read_elsewhere) {
            return false;
        }
        page.keep_strong_write(at, began, me.block);
        let mine = Record { when: me.now, block: me.block, by: me.by };
        let by = By(joined(began, &page.written.get(at), me, NEVER));
        page.written.set(at, Record { by, ..mine });
        if touch == Touch::Update(true) {
            page.read.set(at, mine);
        }
        true
    }

    /// Each lane reads a cell, from `first` on. `false`: they are to be looked at one by one.
    pub fn read_row(&mut self, first: u64, me: &Accessor) -> bool {
        let began = self.began;
        let Some((page, at)) = self.find(first) else { return true };
        if page.has_strong_writes(at, began) {
            return false;
        }
        let (Some(written), Some(read), Some(elsewhere)) =
            (page.written.row(at), page.read.row(at), page.read_elsewhere.row(at))
        else {
            return false;
        };
        let mut unsure = false;
        for lane in 0..32 {
            unsure |= !is_settled(began, &written, lane, me);
        }
        if unsure {
            return false;
        }
        for lane in 0..32 {
            let other = (read.when[lane] >= began) & (read.block[lane] != me.block);
            let keep = |own: u32, read: u32| if other { read } else { own };
            elsewhere.when[lane] = keep(elsewhere.when[lane], read.when[lane]);
            elsewhere.block[lane] = keep(elsewhere.block[lane], read.block[lane]);
            elsewhere.by[lane] = if other { read.by[lane] } else { elsewhere.by[lane] };
            let block = read.block[lane] == me.block;
            let own =
                (block & (read.when[lane] >= me.met), block & (read.when[lane] >= me.read_met));
            read.by[lane] = joined_by(own, read.by[lane], me.by.0 + lane as i32);
        }
        (*read.when, *read.block) = ([me.now; 32], [me.block; 32]);
        true
    }

    /// Each lane writes a cell, from `first` on. `false`: they are to be looked at one by one.
    pub fn write_row(&mut self, first: u64, me: &Accessor, words: &[u32; 32]) -> bool {
        let began = self.began;
        let Some((page, at)) = self.find(first) else { return true };
        if page.has_strong_writes(at, began) {
            return false;
        }
        let value = page.value.get_mut(at..).and_then(|row| row.first_chunk_mut::<32>());
        let (Some(written), Some(read), Some(elsewhere), Some(value)) =
            (page.written.row(at), page.read.row(at), page.read_elsewhere.row(at), value)
        else {
            return false;
        };
        let mut unsure = false;
        for lane in 0..32 {
            unsure |= !is_settled(began, &written, lane, me)
                | !is_settled(began, &read, lane, me)
                | (elsewhere.when[lane] >= began)
                | ((written.when[lane] >= began) & (value[lane] == words[lane]));
        }
        if unsure {
            return false;
        }
        for lane in 0..32 {
            let own = (written.when[lane] >= me.met) & (written.block[lane] == me.block);
            written.by[lane] = joined_by((own, false), written.by[lane], me.by.0 + lane as i32);
        }
        (*written.when, *written.block) = ([me.now; 32], [me.block; 32]);
        (*read.when, *elsewhere.when) = ([0; 32], [0; 32]);
        *value = *words;
        true
    }
}

/// Whether a lane's record is of an earlier launch, or of its block and ordered before `me`.
#[inline(always)]
fn is_settled(began: u32, row: &Row<'_>, lane: usize, me: &Accessor) -> bool {
    let (when, by) = (row.when[lane], row.by[lane]);
    let late = me.bounds().is_late(when, by, me.by.0 + lane as i32);
    (when < began) | ((row.block[lane] == me.block) & !late)
}

/// Whether an access stores the value that plain stores have put there.
fn is_no_change(written: &Record, there: u32, (touch, value): (Touch, u32)) -> bool {
    matches!(touch, Touch::Write(_)) && !written.by.is_strong() && there == value
}

/// Whether the block of `me` has read a strong write strongly, so that it knows it. For a write of
/// that block, the thread itself has, or one that the lanes of its warp have met since.
fn has_seen(me: &Accessor, read: &Record, written: &Record) -> bool {
    let strong = read.by.is_strong() && written.by.is_strong();
    let is_of_warp = read.by.warp() == me.by.warp() && read.when < me.warp_met;
    let is_own = read.by.thread() == me.by.thread() || is_of_warp;
    let knows = written.block != me.block || is_own;
    strong && knows && read.block == me.block && read.when >= written.when
}

/// What is kept of `me` after the last access of its kind, which several lanes may have done since
/// `lanes_met`.
fn joined(began: u32, other: &Record, me: &Accessor, lanes_met: u32) -> i32 {
    let own = |met: u32| other.when >= met.max(began) && other.block == me.block;
    joined_by((own(me.met), own(lanes_met)), other.by.0, me.by.0)
}

/// The same if `own` says whether that was of the same block, since its threads last met and since
/// the lanes did: of accesses of several warps the first is kept, and of several lanes the last.
#[inline(always)]
fn joined_by(own: (bool, bool), other: i32, me: i32) -> i32 {
    let apart = other ^ me;
    let several = own.0 & (apart & (WARP | SEVERAL) != 0);
    let lanes = own.1 & ((apart & THREAD) | (other & LANES) != 0) & (apart & STRONG == 0);
    let of_several = (other | SEVERAL) & (me | !STRONG);
    let of_warp = if lanes { me | LANES } else { me };
    if several { of_several } else { of_warp }
}
