//! Loads and stores.
//!
//! Full warps that touch consecutive words, or all one word, take a short way: one check and one
//! count for the whole warp. So do loads of words that lie anywhere in one allocation. Everything
//! else is [`per_lane`](super::per_lane), lane by lane.

use super::access_log::LaneAccess;
use super::context::Context;
use super::fault::Outcome;
use super::generic;
use super::hazard::{By, Touch};
use super::lanes::{FULL, Lanes32};
use super::per_lane;
use super::shape::{self, Steps};
use crate::counters::{Counts, GlobalCounts, SharedCounts, Use, banks, sectors};
use crate::lower::address::resolve;
use crate::lower::inst::{Address, Element, GridOrder, Sharing, Slot, Space};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Bytes that are more than any allocation has.
const FARTHEST: u64 = 1 << 40;

/// How the 32 addresses of a full warp lie, four bytes each.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pattern {
    Uniform,
    Consecutive,
    /// Any other affine access. Those by addresses of 64 bits are seen as general.
    Affine(Steps),
    General,
}

/// The steps of lanes that access one word after the other.
const CONSECUTIVE: Steps = [4, 8, 16, 32, 64];

#[inline(always)]
fn pattern32(bases: &[u32; 32]) -> Pattern {
    match shape::affine(bases) {
        Some([0, 0, 0, 0, 0]) => Pattern::Uniform,
        Some(CONSECUTIVE) => Pattern::Consecutive,
        Some(steps) => Pattern::Affine(steps),
        None => Pattern::General,
    }
}

#[inline(always)]
fn pattern64(bases: &[u64; 32]) -> Pattern {
    let first = bases[0];
    let (mut apart, mut differ) = (0, 0);
    for (lane, base) in (0u64..).zip(bases) {
        apart |= base ^ first.wrapping_add(4 * lane);
        differ |= base ^ first;
    }
    match (apart, differ) {
        (0, _) => Pattern::Consecutive,
        (_, 0) => Pattern::Uniform,
        _ => Pattern::General,
    }
}

#[inline(always)]
fn simple(element: Element, on: u32) -> bool {
    let is_plain = element.sharing == Sharing::Plain;
    on == FULL && element.bytes == 4 && element.count == 1 && !element.wide && is_plain
}

/// The space and address of lane 0, and the pattern of all lanes.
#[inline(always)]
fn place(cx: &Context<'_>, address: Address) -> (Space, u64, Pattern) {
    let (first, pattern) = if address.wide {
        let bases = cx.lanes.get64(address.base);
        (bases[0].wrapping_add_signed(i64::from(address.offset)), pattern64(bases))
    } else {
        let bases = cx.lanes.get32(address.base);
        (u64::from(bases[0].wrapping_add_signed(address.offset)), pattern32(bases))
    };
    match address.space {
        Space::Generic => {
            let (space, first) = resolve(first);
            (space, first, pattern)
        }
        space => (space, first, pattern),
    }
}

/// The global words from `first`, if they are aligned and inside one allocation, which must be
/// writable for a store (`STORES`).
#[inline(always)]
fn global_words<'c, const STORES: bool>(
    cx: &'c mut Context<'_>,
    first: u64,
    words: u64,
) -> Option<&'c [AtomicU32]> {
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
    if !start.is_multiple_of(4) || (STORES && !allocation.is_writable()) {
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
    let before = generic::counted::<false>(cx, address);
    if !(simple(element, on) && load_words(cx, address, d[0]).is_some()) {
        per_lane::load(cx, element, address, d, on)?;
    }
    generic::count::<false>(cx, before);
    Ok(())
}

/// One word for each lane of a full warp, if there is a short way to them.
#[inline(always)]
fn load_words(cx: &mut Context<'_>, address: Address, d: Slot) -> Option<()> {
    let (space, first, pattern) = place(cx, address);
    // Whether all lanes lie in shared memory, and not only the first.
    let all_shared = address.space == Space::Shared && !address.wide;
    match (space, pattern) {
        (Space::Global, Pattern::Consecutive) => {
            let mut value = [0; 32];
            for (value, word) in value.iter_mut().zip(global_words::<false>(cx, first, 32)?) {
                *value = word.load(Relaxed);
            }
            cx.lanes.set32(d, &value, FULL);
            count_global(&mut cx.counts.memory.load, sectors::of_range(first, 128), 128);
            touch_range(cx.counts, Use::Read, first, 128);
            cx.shadow.log.read_row(cx.by(Sharing::Plain), first);
        }
        (Space::Global | Space::Const, Pattern::Uniform) => {
            let value = global_words::<false>(cx, first, 1)?.first()?.load(Relaxed);
            cx.lanes.set32(d, &[value; 32], FULL);
            if space == Space::Global {
                count_global(&mut cx.counts.memory.load, 1, 4);
                touch_range(cx.counts, Use::Read, first, 4);
                // One lane represents all.
                log_words(cx, cx.by(Sharing::Plain).and_others(), 1, &[first; 32]);
            }
        }
        (Space::Global, Pattern::Affine(_) | Pattern::General) => scattered_words(cx, address, d)?,
        (Space::Shared, Pattern::Consecutive) => {
            let range = shared_range(cx, first, 32)?;
            if !cx.shadow.read_words(cx.by(Sharing::Plain), first) {
                return None;
            }
            cx.lanes.set32(d, cx.shared[range].first_chunk()?, FULL);
            count_shared(&mut cx.counts.memory.shared_load, 1, 32);
        }
        (Space::Shared, Pattern::Uniform) => {
            let value = cx.shared[shared_range(cx, first, 1)?.start];
            if cx.shadow.touch(cx.by(Sharing::Plain).and_others(), first, 4, Touch::Read).is_some()
            {
                return None;
            }
            cx.lanes.set32(d, &[value; 32], FULL);
            count_shared(&mut cx.counts.memory.shared_load, 1, 1);
        }
        (Space::Shared, Pattern::Affine(steps)) if all_shared => {
            if affine_shared_words(cx, address, steps, d).is_none() {
                shared_words(cx, address, d)?;
            }
        }
        (Space::Shared, Pattern::General) if all_shared => shared_words(cx, address, d)?,
        _ => return None,
    }
    Some(())
}

/// One word of global memory for each lane, if all lie in one allocation: so they are in no other
/// space, whatever that of lane 0 was resolved from.
#[inline(always)]
fn scattered_words(cx: &mut Context<'_>, address: Address, d: Slot) -> Option<()> {
    let addresses: [u64; 32] = if address.wide {
        cx.lanes.get64(address.base).map(|base| base.wrapping_add_signed(address.offset.into()))
    } else {
        cx.lanes.get32(address.base).map(|base| base.wrapping_add_signed(address.offset).into())
    };
    let (mut low, mut high, mut bits) = (u64::MAX, 0, 0);
    for at in addresses {
        (low, high, bits) = (low.min(at), high.max(at), bits | at);
    }
    if bits % 4 != 0 || high - low >= FARTHEST {
        return None;
    }
    let words = global_words::<false>(cx, low, (high - low) / 4 + 1)?;
    let mut value = [0; 32];
    for (value, at) in value.iter_mut().zip(addresses) {
        *value = words[((at - low) / 4) as usize].load(Relaxed);
    }
    cx.lanes.set32(d, &value, FULL);
    let touched = sectors::touched(&addresses, FULL, 4, (low, high));
    count_global(&mut cx.counts.memory.load, touched.sectors, touched.bytes);
    if let Some(traffic) = &mut cx.counts.traffic {
        traffic.lanes(Use::Read, &addresses, FULL, 4);
    }
    log_words(cx, cx.by(Sharing::Plain), FULL, &addresses);
    Some(())
}

/// Logs that lanes read a word of global memory each.
#[inline(always)]
fn log_words(cx: &mut Context<'_>, by: By, lanes: u32, addresses: &[u64; 32]) {
    let (touch, order) = (Touch::Read, GridOrder::default());
    cx.shadow.log.access(LaneAccess { by, touch, order, bytes: 4, lanes }, addresses, |_, _| 0);
}

/// One word of shared memory for each lane of an affine access without a bank conflict.
#[inline(always)]
fn affine_shared_words(
    cx: &mut Context<'_>,
    address: Address,
    steps: Steps,
    d: Slot,
) -> Option<()> {
    let bases = cx.lanes.get32(address.base);
    let first = u64::from(bases[0].wrapping_add_signed(address.offset));
    let (low, high) = shape::reach(steps);
    let bits = steps.iter().fold(0, |bits, step| bits | step) as u64 | first;
    let end = first.wrapping_add_signed(high) + 4;
    let is_inside = first.checked_add_signed(low).is_some() && end <= u64::from(cx.shared_bytes);
    let words = banks::affine_words(steps)?;
    if !bits.is_multiple_of(4)
        || !is_inside
        || !cx.shadow.read_affine(cx.by(Sharing::Plain), first, steps)
    {
        return None;
    }
    let at = |lane: usize| (bases[lane].wrapping_add_signed(address.offset) / 4) as usize;
    let mut value = [0; 32];
    // Eight lanes at once: tiles are rarely narrower.
    for (eight, lane) in value.chunks_exact_mut(8).zip((0..32).step_by(8)) {
        match steps {
            [4, 8, 16, ..] => eight.copy_from_slice(cx.shared.get(at(lane)..at(lane) + 8)?),
            [0, 0, 0, ..] => eight.fill(*cx.shared.get(at(lane))?),
            _ => {
                for (word, lane) in eight.iter_mut().zip(lane..) {
                    *word = *cx.shared.get(at(lane))?;
                }
            }
        }
    }
    cx.lanes.set32(d, &value, FULL);
    count_shared(&mut cx.counts.memory.shared_load, 1, words);
    Some(())
}

/// One word of shared memory for each lane, wherever it lies.
#[inline(always)]
fn shared_words(cx: &mut Context<'_>, address: Address, d: Slot) -> Option<()> {
    let bases = cx.lanes.get32(address.base);
    let (mut value, mut addresses) = ([0; 32], [0; 32]);
    let mut good = true;
    for lane in 0..32 {
        let at = bases[lane].wrapping_add_signed(address.offset);
        addresses[lane] = at;
        good &= at.is_multiple_of(4) && at < cx.shared_bytes && cx.shared_bytes - at >= 4;
        value[lane] = cx.shared.get((at / 4) as usize).copied().unwrap_or(0);
    }
    if !good || (cx.shadow.is_on() && !read_scattered(cx, &addresses)) {
        return None;
    }
    cx.lanes.set32(d, &value, FULL);
    let fronts = banks::wavefronts(&addresses, FULL, 4);
    count_shared(&mut cx.counts.memory.shared_load, fronts.total, fronts.words);
    Some(())
}

/// Every lane reads a word. `false`: something is wrong.
#[inline(always)]
fn read_scattered(cx: &mut Context<'_>, addresses: &Lanes32) -> bool {
    let by = cx.by(Sharing::Plain);
    let touch = |(lane, &at): (usize, &u32)| {
        cx.shadow.touch(by.lane(lane), u64::from(at), 4, Touch::Read).is_none()
    };
    addresses.iter().enumerate().all(touch)
}

/// Counts one request of global memory.
#[inline(always)]
fn count_global(counts: &mut GlobalCounts, sectors: u64, bytes: u64) {
    counts.requests += 1;
    counts.sectors += sectors;
    counts.bytes += bytes;
}

/// Records consecutive bytes of a request of global memory, if a time is estimated.
#[inline(always)]
fn touch_range(counts: &mut Counts, how: Use, first: u64, bytes: u64) {
    if let Some(traffic) = &mut counts.traffic {
        traffic.range(how, first, bytes);
    }
}

/// Counts one request of shared memory, a word a lane.
#[inline(always)]
fn count_shared(counts: &mut SharedCounts, wavefronts: u32, words: u32) {
    counts.requests += 1;
    counts.wavefronts += u64::from(wavefronts);
    counts.ideal += 1;
    counts.bytes += 4 * u64::from(words);
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
    let before = generic::counted::<true>(cx, address);
    let is_simple = simple(element, on) && !cx.tracks_definedness();
    if !(is_simple && store_words(cx, address, a[0]).is_some()) {
        per_lane::store(cx, element, address, a, on)?;
    }
    generic::count::<true>(cx, before);
    Ok(())
}

/// One word of each lane of a full warp, if there is a short way to them.
#[inline(always)]
fn store_words(cx: &mut Context<'_>, address: Address, a: Slot) -> Option<()> {
    match place(cx, address) {
        (Space::Global, first, Pattern::Consecutive) => {
            let value = *cx.lanes.get32(a);
            for (word, value) in global_words::<true>(cx, first, 32)?.iter().zip(value) {
                word.store(value, Relaxed);
            }
            cx.shadow.log.write_row(cx.by(Sharing::Plain), first, &value);
            count_global(&mut cx.counts.memory.store, sectors::of_range(first, 128), 128);
            touch_range(cx.counts, Use::Write, first, 128);
        }
        (Space::Shared, first, Pattern::Consecutive) => {
            let value = cx.lanes.get32(a);
            let range = shared_range(cx, first, 32)?;
            if !cx.shadow.write_words(
                cx.by(Sharing::Plain),
                first,
                &cx.shared[range.clone()],
                value,
            ) {
                return None;
            }
            cx.shared[range].copy_from_slice(cx.lanes.get32(a));
            count_shared(&mut cx.counts.memory.shared_store, 1, 32);
        }
        _ => return None,
    }
    Some(())
}
