//! Accesses lane by lane: any space, any pattern, any width.
//!
//! The lanes of a request are sorted into the spaces that their addresses resolve to, checked
//! (alignment, then bounds, lowest lane first), counted as one request in each space, and only then
//! moved, in lane order: if several lanes store to one place the highest wins.

use super::bits::extend;
use super::checked::{log, touch, touch_read, unwritten_element};
use super::context::Context;
use super::definedness;
use super::fault::Outcome;
use super::hazard::Touch;
use super::request::{Extent, Part, Verb, admit, allocation, parts};
use crate::lower::inst::{Address, Element, File, Sharing, Slot, Space};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// One word of some space.
pub enum Cell<'c> {
    /// Of device memory.
    Global(&'c AtomicU32),
    /// The same, if no other host thread runs blocks of the launch.
    Unshared(&'c AtomicU32),
    /// Of anything that one block owns.
    Owned(&'c mut u32),
}

impl Cell<'_> {
    /// Its value.
    #[inline]
    pub fn get(&self) -> u32 {
        match self {
            Self::Global(word) | Self::Unshared(word) => word.load(Relaxed),
            Self::Owned(word) => **word,
        }
    }

    /// Changes it by `f` as one step, and returns the old and the new value.
    #[inline]
    pub fn update(&mut self, f: impl Fn(u32) -> u32) -> (u32, u32) {
        match self {
            Self::Global(word) => {
                let mut old = word.load(Relaxed);
                let mut new = f(old);
                while let Err(now) = word.compare_exchange_weak(old, new, Relaxed, Relaxed) {
                    (old, new) = (now, f(now));
                }
                (old, new)
            }
            Self::Unshared(word) => {
                let old = word.load(Relaxed);
                let new = f(old);
                word.store(new, Relaxed);
                (old, new)
            }
            Self::Owned(word) => {
                let old = std::mem::replace(*word, f(**word));
                (old, **word)
            }
        }
    }

    /// Sets the bits of `field`.
    #[inline]
    pub fn put(&mut self, value: u32, field: u32) {
        match self {
            Self::Global(word) | Self::Unshared(word) if field == u32::MAX => {
                word.store(value, Relaxed)
            }
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
            let (found, is_shared) = (allocation(cx, address)?, cx.shares_memory);
            let word = found.words.get(((address - found.base) / 4) as usize)?;
            Some(if is_shared { Cell::Global(word) } else { Cell::Unshared(word) })
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

/// Words that lie one after the other.
pub enum Words<'c> {
    /// Of device memory.
    Global(&'c [AtomicU32]),
    /// The same, if no other host thread runs blocks of the launch.
    Unshared(&'c [AtomicU32]),
    /// Of anything that one block owns.
    Owned(&'c mut [u32]),
}

impl Words<'_> {
    /// One of them; 0 beyond the end.
    #[inline(always)]
    fn get(&self, at: u64) -> u64 {
        let word = match self {
            Self::Global(words) | Self::Unshared(words) => {
                words.get(at as usize).map(|word| word.load(Relaxed))
            }
            Self::Owned(words) => words.get(at as usize).copied(),
        };
        u64::from(word.unwrap_or(0))
    }

    /// One of them, to change it.
    #[inline(always)]
    pub fn cell(&mut self, at: u64) -> Option<Cell<'_>> {
        match self {
            Self::Global(words) => words.get(at as usize).map(Cell::Global),
            Self::Unshared(words) => words.get(at as usize).map(Cell::Unshared),
            Self::Owned(words) => words.get_mut(at as usize).map(Cell::Owned),
        }
    }
}

/// The words in which all lanes of an admitted part access `bytes`, and their first address: those
/// of shared memory, or of one allocation.
pub fn words<'c>(cx: &'c mut Context<'_>, part: &Part, bytes: u64) -> Option<(Words<'c>, u64)> {
    match part.space {
        Space::Shared => Some((Words::Owned(cx.shared), 0)),
        Space::Global => {
            let Extent { low, high, .. } = part.extent;
            let found = allocation(cx, low)?;
            let inside = found.contains(low, high - low + bytes);
            let words = match cx.shares_memory {
                true => Words::Global(found.words),
                false => Words::Unshared(found.words),
            };
            inside.then_some((words, found.base))
        }
        _ => None,
    }
}

/// Reads `bytes` (1, 2, 4 or 8) from `offset` on for the lanes of an admitted part.
fn read_lanes(cx: &mut Context<'_>, part: &Part, offset: u64, bytes: u8) -> [u64; 32] {
    let mut values = [0; 32];
    let lanes = (0..32).filter(|lane| part.lanes & (1 << lane) != 0);
    if let Some((words, first)) = words(cx, part, offset + u64::from(bytes)) {
        let word = |at: u64| words.get(at);
        for lane in lanes {
            values[lane] = value_from(word, part.addresses[lane] + offset - first, bytes);
        }
    } else {
        for lane in lanes {
            values[lane] = read(cx, part.space, lane, part.addresses[lane] + offset, bytes);
        }
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
    for part in parts(cx, address, on).iter() {
        admit(cx, part, element.total(), Verb::Read)?;
        if element.is_strong() {
            cx.shadow.order(cx.warp.index);
        }
        let how = (element.total(), element.sharing);
        log(cx, part, how, Touch::Read, element.order, |_, _| 0);
        let unwritten = touch_read(cx, part, how)?;
        if element.is_strong() {
            cx.shadow.observe(cx.warp.index, element.sharing == Sharing::Volatile);
        }
        let file = File::by_width(element.wide);
        if let Some((lanes, fault)) = unwritten {
            definedness::note(cx, &d[..usize::from(element.count)], file, lanes, fault);
        }
        for (index, slot) in (0u64..).zip(d).take(usize::from(element.count)) {
            let offset = index * u64::from(element.bytes);
            let values = read_lanes(cx, part, offset, element.bytes)
                .map(|value| extend(value, element.bytes, element.signed));
            cx.lanes.set_any(slot, element.wide, &values, part.lanes);
            if let Some((lanes, fault)) = unwritten_element(cx, part, element, index) {
                definedness::note(cx, &[slot], file, lanes, fault);
            }
        }
        definedness::load_local(cx, part, element, &d);
    }
    Ok(())
}

/// Writes `bytes` (1, 2, 4 or 8) from `offset` on for the lanes of an admitted part.
fn write_lanes(cx: &mut Context<'_>, part: &Part, (offset, bytes): (u64, u8), values: &[u64; 32]) {
    let lanes = (0..32).filter(|lane| part.lanes & (1 << lane) != 0);
    let whole = if bytes >= 4 { words(cx, part, offset + u64::from(bytes)) } else { None };
    let Some((mut words, first)) = whole else {
        for lane in lanes {
            write(cx, part.space, lane, part.addresses[lane] + offset, bytes, values[lane]);
        }
        return;
    };
    for lane in lanes {
        let at = (part.addresses[lane] + offset - first) / 4;
        for next in 0..u64::from(bytes / 4) {
            if let Some(mut cell) = words.cell(at + next) {
                cell.put((values[lane] >> (32 * next)) as u32, u32::MAX);
            }
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
    for part in parts(cx, address, on).iter() {
        admit(cx, part, element.total(), Verb::Write)?;
        if element.is_strong() {
            cx.shadow.order(cx.warp.index);
        }
        let changed = if part.space == Space::Shared { changed(cx, part, element, a) } else { 0 };
        touch(cx, part, (element.total(), element.sharing), Verb::Write, changed)?;
        if cx.tracks_definedness() {
            definedness::store(cx, part, element, &a)?;
        }
        log_store(cx, part, element, &a);
        for (index, slot) in (0u64..).zip(a).take(usize::from(element.count)) {
            let values = cx.lanes.any(slot, element.wide);
            write_lanes(cx, part, (index * u64::from(element.bytes), element.bytes), &values);
        }
    }
    Ok(())
}

/// Logs a store to global memory, with its values.
fn log_store(cx: &mut Context<'_>, part: &Part, element: Element, a: &[Slot; 4]) {
    if !cx.shadow.log.wants(element.is_strong()) {
        return;
    }
    let values = a.map(|slot| cx.lanes.any(slot, element.wide));
    log_values(cx, part, element, &values[..usize::from(element.count)]);
}

/// Logs that each lane stores `element` with one of `values` for each of its parts.
pub fn log_values(cx: &mut Context<'_>, part: &Part, element: Element, values: &[[u64; 32]]) {
    let bytes = usize::from(element.bytes);
    let byte = |lane: usize, at: usize| match values.get(at / bytes) {
        Some(value) => value[lane] >> (8 * (at % bytes)) & 0xff,
        None => 0,
    };
    let word = |lane: usize, at: u32| {
        (0..4)
            .fold(0, |word, next| word | (byte(lane, 4 * at as usize + next) as u32) << (8 * next))
    };
    let how = (element.total(), element.sharing);
    log(cx, part, how, Touch::Write(true), element.order, word);
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
