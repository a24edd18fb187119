//! Accesses lane by lane: any space, any pattern, any width.
//!
//! The lanes of a request are sorted into the spaces that their addresses resolve to, checked
//! (alignment, then bounds, lowest lane first), counted as one request in each space, and only then
//! moved, in lane order: if several lanes store to one place the highest wins.

use super::bits::extend;
use super::checked::{touch, touch_read};
use super::context::Context;
use super::definedness;
use super::fault::Fault;
use super::request::{Part, Verb, admit, allocation, parts};
use crate::lower::inst::{Address, Element, File, Slot, Space};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

type Outcome = Result<(), Box<Fault>>;

/// One word of some space.
pub enum Cell<'c> {
    /// Of device memory.
    Global(&'c AtomicU32),
    /// Of anything that one block owns.
    Owned(&'c mut u32),
}

impl Cell<'_> {
    /// Its value.
    #[inline]
    pub fn get(&self) -> u32 {
        match self {
            Self::Global(word) => word.load(Relaxed),
            Self::Owned(word) => **word,
        }
    }

    /// Changes it by `f` as one step, and returns what it was.
    #[inline]
    pub fn update(&mut self, f: impl Fn(u32) -> u32) -> u32 {
        match self {
            Self::Global(word) => {
                let mut old = word.load(Relaxed);
                while let Err(now) = word.compare_exchange_weak(old, f(old), Relaxed, Relaxed) {
                    old = now;
                }
                old
            }
            Self::Owned(word) => std::mem::replace(*word, f(**word)),
        }
    }

    /// Sets the bits of `field`.
    #[inline]
    pub fn put(&mut self, value: u32, field: u32) {
        match self {
            Self::Global(word) if field == u32::MAX => word.store(value, Relaxed),
            Self::Owned(word) if field == u32::MAX => **word = value,
            _ => {
                self.update(|old| (old & !field) | (value & field));
            }
        }
    }
}

/// The word that holds `address` of an admitted lane. Parameters are read elsewhere.
pub fn cell<'c>(
    cx: &'c mut Context<'_>,
    space: Space,
    lane: usize,
    address: u64,
) -> Option<Cell<'c>> {
    match space {
        Space::Shared => cx.shared.get_mut((address / 4) as usize).map(Cell::Owned),
        Space::Local => cx.local.get_mut((address / 4) as usize * 32 + lane).map(Cell::Owned),
        _ => {
            let found = allocation(cx, address)?;
            found.words.get(((address - found.base) / 4) as usize).map(Cell::Global)
        }
    }
}

fn read_word(cx: &mut Context<'_>, space: Space, lane: usize, address: u64) -> u64 {
    let word = match space {
        Space::Param => cx.params.get((address / 4) as usize).copied(),
        _ => cell(cx, space, lane, address).map(|cell| cell.get()),
    };
    u64::from(word.unwrap_or(0))
}

/// Reads `bytes` (1, 2, 4 or 8), which do not cross their own alignment.
pub fn read(cx: &mut Context<'_>, space: Space, lane: usize, address: u64, bytes: u8) -> u64 {
    let low = read_word(cx, space, lane, address) >> (8 * (address % 4));
    if bytes == 8 { low | read_word(cx, space, lane, address + 4) << 32 } else { low }
}

/// Writes `bytes` (1, 2, 4 or 8), which do not cross their own alignment.
pub fn write(cx: &mut Context<'_>, space: Space, lane: usize, address: u64, bytes: u8, value: u64) {
    let shift = 8 * (address % 4) as u32;
    let field = if bytes >= 4 { u32::MAX } else { ((1u32 << (8 * bytes)) - 1) << shift };
    if let Some(mut cell) = cell(cx, space, lane, address) {
        cell.put((value as u32) << shift, field);
    }
    if bytes == 8
        && let Some(mut cell) = cell(cx, space, lane, address + 4)
    {
        cell.put((value >> 32) as u32, u32::MAX);
    }
}

/// A value of `bytes` at `address`, from words.
#[inline(always)]
fn value_from(word: impl Fn(u64) -> u64, address: u64, bytes: u8) -> u64 {
    let low = word(address / 4) >> (8 * (address % 4));
    if bytes == 8 { low | word(address / 4 + 1) << 32 } else { low }
}

/// Reads `bytes` (1, 2, 4 or 8) from `offset` on for the lanes of an admitted part.
fn read_lanes(cx: &mut Context<'_>, part: &Part, offset: u64, bytes: u8) -> [u64; 32] {
    let (low, high, _) = part.extent();
    let addresses = part.addresses.map(|at| at.wrapping_add(offset));
    let mut values = [0; 32];
    let lanes = (0..32).filter(|lane| part.lanes & (1 << lane) != 0);
    if part.space == Space::Shared {
        let word = |at: u64| u64::from(cx.shared.get(at as usize).copied().unwrap_or(0));
        for lane in lanes {
            values[lane] = value_from(word, addresses[lane], bytes);
        }
        return values;
    }
    let end = high + offset + u64::from(bytes);
    let found = if part.space == Space::Global { allocation(cx, low) } else { None };
    if let Some(found) = found.filter(|found| found.contains(low, end - low)) {
        let word =
            |at: u64| found.words.get(at as usize).map_or(0, |word| word.load(Relaxed).into());
        for lane in lanes {
            values[lane] = value_from(word, addresses[lane] - found.base, bytes);
        }
        return values;
    }
    for lane in lanes {
        values[lane] = read(cx, part.space, lane, addresses[lane], bytes);
    }
    values
}

/// `d ← [address]`
#[inline(never)]
pub fn load(
    cx: &mut Context<'_>,
    element: Element,
    address: Address,
    d: [Slot; 4],
    on: u32,
) -> Outcome {
    for part in parts(cx, address, on) {
        admit(cx, &part, element.total(), Verb::Read)?;
        if element.strong {
            cx.shadow.meet();
        }
        let unwritten = touch_read(cx, &part, (element.total(), element.strong))?;
        for (index, slot) in (0u64..).zip(d).take(usize::from(element.count)) {
            let offset = index * u64::from(element.bytes);
            let values = read_lanes(cx, &part, offset, element.bytes)
                .map(|value| extend(value, element.bytes, element.signed));
            cx.lanes.set_any(slot, element.wide, &values, part.lanes);
        }
        if let Some((lanes, fault)) = unwritten {
            let file = File::by_width(element.wide);
            definedness::note(cx, &d[..usize::from(element.count)], file, lanes, fault);
        }
        definedness::load_local(cx, &part, element, &d);
    }
    Ok(())
}

/// Writes `bytes` (1, 2, 4 or 8) from `offset` on for the lanes of an admitted part.
fn write_lanes(cx: &mut Context<'_>, part: &Part, (offset, bytes): (u64, u8), values: &[u64; 32]) {
    let (low, high, _) = part.extent();
    let lanes = (0..32).filter(|lane| part.lanes & (1 << lane) != 0);
    let end = high + offset + u64::from(bytes);
    let found = if bytes >= 4 && part.space == Space::Global { allocation(cx, low) } else { None };
    let Some(found) = found.filter(|found| found.contains(low, end - low)) else {
        for lane in lanes {
            write(cx, part.space, lane, part.addresses[lane] + offset, bytes, values[lane]);
        }
        return;
    };
    for lane in lanes {
        let at = ((part.addresses[lane] + offset - found.base) / 4) as usize;
        for (word, shift) in found.words[at..].iter().zip([0, 32]).take(usize::from(bytes) / 4) {
            word.store((values[lane] >> shift) as u32, Relaxed);
        }
    }
}

/// `[address] ← a`
#[inline(never)]
pub fn store(
    cx: &mut Context<'_>,
    element: Element,
    address: Address,
    a: [Slot; 4],
    on: u32,
) -> Outcome {
    for part in parts(cx, address, on) {
        admit(cx, &part, element.total(), Verb::Write)?;
        if element.strong {
            cx.shadow.meet();
        }
        let changed = if part.space == Space::Shared { changed(cx, &part, element, a) } else { 0 };
        touch(cx, &part, (element.total(), element.strong), Verb::Write, changed)?;
        if cx.tracks_definedness() {
            definedness::store(cx, &part, element, &a)?;
        }
        for (index, slot) in (0u64..).zip(a).take(usize::from(element.count)) {
            let values = cx.lanes.any(slot, element.wide);
            write_lanes(cx, &part, (index * u64::from(element.bytes), element.bytes), &values);
        }
    }
    Ok(())
}

/// The lanes that store to shared memory what is not there.
fn changed(cx: &mut Context<'_>, part: &Part, element: Element, a: [Slot; 4]) -> u32 {
    let mut changed = 0;
    for (index, slot) in (0u64..).zip(a).take(usize::from(element.count)) {
        let values = cx.lanes.any(slot, element.wide);
        let there = read_lanes(cx, part, index * u64::from(element.bytes), element.bytes);
        for lane in 0..32 {
            let same = |value| extend(value, element.bytes, false);
            changed |= u32::from(same(there[lane]) != same(values[lane])) << lane;
        }
    }
    changed & part.lanes
}
