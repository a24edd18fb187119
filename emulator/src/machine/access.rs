//! Loads and stores.
//!
//! Full warps that touch consecutive words, or all one word, take a short way: one check and one
//! count for the whole warp. Everything else is [`scattered`](super::scattered), lane by lane.

use super::address::resolve;
use super::execute::Context;
use super::fault::Fault;
use super::lanes::FULL;
use super::scattered;
use crate::counters::{banks, sectors};
use crate::lower::inst::{Address, Element, Slot, Space};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

type Outcome = Result<(), Box<Fault>>;

/// How the 32 addresses of a full warp lie, four bytes each.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pattern {
    Consecutive,
    Uniform,
    Other,
}

/// The generic-or-global address of lane 0, and how the others lie.
#[inline(always)]
fn pattern64(bases: &[u64; 32], offset: i32) -> (u64, Pattern) {
    let first = bases[0];
    let (mut apart, mut differ) = (0u64, 0u64);
    for (lane, base) in bases.iter().enumerate() {
        apart |= base ^ first.wrapping_add(4 * lane as u64);
        differ |= base ^ first;
    }
    let pattern = match (apart, differ) {
        (0, _) => Pattern::Consecutive,
        (_, 0) => Pattern::Uniform,
        _ => Pattern::Other,
    };
    (first.wrapping_add_signed(i64::from(offset)), pattern)
}

#[inline(always)]
fn pattern32(bases: &[u32; 32], offset: i32) -> (u64, Pattern) {
    let first = bases[0];
    let (mut apart, mut differ) = (0u32, 0u32);
    for (lane, base) in bases.iter().enumerate() {
        apart |= base ^ first.wrapping_add(4 * lane as u32);
        differ |= base ^ first;
    }
    let pattern = match (apart, differ) {
        (0, _) => Pattern::Consecutive,
        (_, 0) => Pattern::Uniform,
        _ => Pattern::Other,
    };
    (u64::from(first.wrapping_add_signed(offset)), pattern)
}

#[inline(always)]
fn simple(element: Element, on: u32) -> bool {
    on == FULL && element.bytes == 4 && element.count == 1 && !element.wide
}

/// Where the address of lane 0 leads, and the pattern of all.
#[inline(always)]
fn place(cx: &Context<'_>, address: Address) -> (Space, u64, Pattern) {
    let (first, pattern) = if address.wide {
        pattern64(cx.lanes.get64(address.base), address.offset)
    } else {
        pattern32(cx.lanes.get32(address.base), address.offset)
    };
    match address.space {
        Space::Generic => {
            let (space, first) = resolve(first);
            (space, first, pattern)
        }
        space => (space, first, pattern),
    }
}

/// The global words from `first`, if they are aligned and inside one allocation.
#[inline(always)]
fn global_words<'c>(cx: &'c mut Context<'_>, first: u64, words: u64) -> Option<&'c [AtomicU32]> {
    let memory = cx.memory;
    let inside =
        |index: usize| memory.at(index).filter(|allocation| allocation.contains(first, 4 * words));
    let allocation = match inside(*cx.last_allocation) {
        Some(allocation) => allocation,
        None => {
            *cx.last_allocation = memory.index_of(first)?;
            inside(*cx.last_allocation)?
        }
    };
    let start = first - allocation.base;
    if !start.is_multiple_of(4) {
        return None;
    }
    allocation.words.get((start / 4) as usize..(start / 4 + words) as usize)
}

#[inline(always)]
fn shared_range(cx: &Context<'_>, first: u64, words: u64) -> Option<std::ops::Range<usize>> {
    let inside = first.is_multiple_of(4) && first + 4 * words <= u64::from(cx.shared_bytes);
    inside.then_some((first / 4) as usize..(first / 4 + words) as usize)
}

/// `d ← [address]`
#[inline(always)]
pub fn load(
    cx: &mut Context<'_>,
    element: Element,
    address: Address,
    d: [Slot; 4],
    on: u32,
) -> Outcome {
    if simple(element, on) {
        match place(cx, address) {
            (Space::Global, first, Pattern::Consecutive) => {
                let mut value = [0; 32];
                if let Some(words) = global_words(cx, first, 32) {
                    for (value, word) in value.iter_mut().zip(words) {
                        *value = word.load(Relaxed);
                    }
                    let counts = &mut cx.counts.memory.load;
                    counts.requests += 1;
                    counts.sectors += sectors::of_range(first, 128);
                    counts.bytes += 128;
                    cx.lanes.set32(d[0], &value, FULL);
                    return Ok(());
                }
            }
            (Space::Global, first, Pattern::Uniform) => {
                if let Some([word]) = global_words(cx, first, 1) {
                    let value = word.load(Relaxed);
                    let counts = &mut cx.counts.memory.load;
                    counts.requests += 1;
                    counts.sectors += 1;
                    counts.bytes += 128;
                    cx.lanes.set32(d[0], &[value; 32], FULL);
                    return Ok(());
                }
            }
            (Space::Const, first, Pattern::Uniform) => {
                if let Some([word]) = global_words(cx, first, 1) {
                    let value = word.load(Relaxed);
                    cx.lanes.set32(d[0], &[value; 32], FULL);
                    return Ok(());
                }
            }
            (Space::Shared, first, Pattern::Consecutive) => {
                if let Some(range) = shared_range(cx, first, 32) {
                    let mut value = [0; 32];
                    value.copy_from_slice(&cx.shared[range]);
                    count_shared_load(cx, 32);
                    cx.lanes.set32(d[0], &value, FULL);
                    return Ok(());
                }
            }
            (Space::Shared, first, Pattern::Uniform) => {
                if let Some(range) = shared_range(cx, first, 1) {
                    let value = cx.shared[range.start];
                    count_shared_load(cx, 1);
                    cx.lanes.set32(d[0], &[value; 32], FULL);
                    return Ok(());
                }
            }
            (Space::Shared, _, Pattern::Other)
                if address.space == Space::Shared && !address.wide =>
            {
                let bases = cx.lanes.get32(address.base);
                let mut value = [0; 32];
                let mut addresses = [0; 32];
                let mut good = true;
                for lane in 0..32 {
                    let at = bases[lane].wrapping_add_signed(address.offset);
                    addresses[lane] = at;
                    good &=
                        at.is_multiple_of(4) && at < cx.shared_bytes && cx.shared_bytes - at >= 4;
                    value[lane] = cx.shared.get((at / 4) as usize).copied().unwrap_or(0);
                }
                if good {
                    let fronts = banks::wavefronts(&addresses, FULL, 4);
                    let counts = &mut cx.counts.memory.shared_load;
                    counts.requests += 1;
                    counts.wavefronts += u64::from(fronts.total);
                    counts.ideal += 1;
                    counts.bytes += 4 * u64::from(fronts.words);
                    cx.lanes.set32(d[0], &value, FULL);
                    return Ok(());
                }
            }
            _ => {}
        }
    }
    scattered::load(cx, element, address, d, on)
}

#[inline(always)]
fn count_shared_load(cx: &mut Context<'_>, words: u64) {
    let counts = &mut cx.counts.memory.shared_load;
    counts.requests += 1;
    counts.wavefronts += 1;
    counts.ideal += 1;
    counts.bytes += 4 * words;
}

/// `[address] ← a`
#[inline(always)]
pub fn store(
    cx: &mut Context<'_>,
    element: Element,
    address: Address,
    a: [Slot; 4],
    on: u32,
) -> Outcome {
    if simple(element, on) {
        match place(cx, address) {
            (Space::Global, first, Pattern::Consecutive) => {
                let value = *cx.lanes.get32(a[0]);
                if let Some(words) = global_words(cx, first, 32) {
                    for (word, value) in words.iter().zip(value) {
                        word.store(value, Relaxed);
                    }
                    let counts = &mut cx.counts.memory.store;
                    counts.requests += 1;
                    counts.sectors += sectors::of_range(first, 128);
                    counts.bytes += 128;
                    return Ok(());
                }
            }
            (Space::Shared, first, Pattern::Consecutive) => {
                if let Some(range) = shared_range(cx, first, 32) {
                    cx.shared[range].copy_from_slice(cx.lanes.get32(a[0]));
                    let counts = &mut cx.counts.memory.shared_store;
                    counts.requests += 1;
                    counts.wavefronts += 1;
                    counts.ideal += 1;
                    counts.bytes += 128;
                    return Ok(());
                }
            }
            _ => {}
        }
    }
    scattered::store(cx, element, address, a, on)
}
