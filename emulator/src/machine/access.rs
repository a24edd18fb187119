//! Loads and stores.
//!
//! Full warps that touch consecutive words, or all one word, take a short way: one check and one
//! count for the whole warp. So do loads of words that lie anywhere in one allocation. Everything
//! else is [`per_lane`](super::per_lane), lane by lane.

use super::context::Context;
use super::fault::Fault;
use super::hazard::Touch;
use super::lanes::{FULL, Lanes32};
use super::per_lane;
use super::shape::{self, Steps};
use crate::counters::{GlobalCounts, SharedCounts, banks, sectors};
use crate::lower::address::resolve;
use crate::lower::inst::{Address, Element, Slot, Space};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

type Outcome = Result<(), Box<Fault>>;

/// Bytes that are more than any allocation has.
const FARTHEST: u64 = 1 << 40;

/// How the 32 addresses of a full warp lie, four bytes each.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pattern {
    Consecutive,
    Uniform,
    Other,
}

macro_rules! pattern {
    ($name:ident, $word:ty) => {
        /// How a warp's bases lie, whatever the first is.
        #[inline(always)]
        fn $name(bases: &[$word; 32]) -> Pattern {
            let first = bases[0];
            let (mut apart, mut differ) = (0, 0);
            for (lane, base) in bases.iter().enumerate() {
                apart |= base ^ first.wrapping_add(4 * lane as $word);
                differ |= base ^ first;
            }
            match (apart, differ) {
                (0, _) => Pattern::Consecutive,
                (_, 0) => Pattern::Uniform,
                _ => Pattern::Other,
            }
        }
    };
}

pattern!(pattern32, u32);
pattern!(pattern64, u64);

#[inline(always)]
fn simple(element: Element, on: u32) -> bool {
    on == FULL && element.bytes == 4 && element.count == 1 && !element.wide && !element.strong
}

/// Where the address of lane 0 leads, and the pattern of all.
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

/// The global words from `first`, if they are aligned and inside one allocation, into which a
/// kernel may store where that is what it does (`STORES`).
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
    if simple(element, on)
        && let Some(value) = load_words(cx, address)
    {
        cx.lanes.set32(d[0], &value, FULL);
        return Ok(());
    }
    per_lane::load(cx, element, address, d, on)
}

/// One word for each lane of a full warp, if there is a short way to them.
#[inline(always)]
fn load_words(cx: &mut Context<'_>, address: Address) -> Option<Lanes32> {
    let (space, first, pattern) = place(cx, address);
    match (space, pattern) {
        (Space::Global, Pattern::Consecutive) => {
            let mut value = [0; 32];
            for (value, word) in value.iter_mut().zip(global_words::<false>(cx, first, 32)?) {
                *value = word.load(Relaxed);
            }
            count_global(&mut cx.counts.memory.load, sectors::of_range(first, 128), 128);
            Some(value)
        }
        (Space::Global | Space::Const, Pattern::Uniform) => {
            let value = global_words::<false>(cx, first, 1)?.first()?.load(Relaxed);
            if space == Space::Global {
                count_global(&mut cx.counts.memory.load, 1, 4);
            }
            Some([value; 32])
        }
        (Space::Global, Pattern::Other) => scattered_words(cx, address),
        (Space::Shared, Pattern::Consecutive) => {
            let range = shared_range(cx, first, 32)?;
            if !cx.shadow.read_words(cx.by(false), first) {
                return None;
            }
            let mut value = [0; 32];
            value.copy_from_slice(&cx.shared[range]);
            count_shared(&mut cx.counts.memory.shared_load, 1, 32);
            Some(value)
        }
        (Space::Shared, Pattern::Uniform) => {
            let value = cx.shared[shared_range(cx, first, 1)?.start];
            if cx.shadow.touch(cx.by(false), first, 4, Touch::Read).is_some() {
                return None;
            }
            count_shared(&mut cx.counts.memory.shared_load, 1, 1);
            Some([value; 32])
        }
        (Space::Shared, Pattern::Other) if address.space == Space::Shared && !address.wide => {
            shared_words(cx, address)
        }
        _ => None,
    }
}

/// One word of global memory for each lane, if all lie in one allocation: so they are in no other
/// space, whatever that of lane 0 was resolved from.
#[inline(always)]
fn scattered_words(cx: &mut Context<'_>, address: Address) -> Option<Lanes32> {
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
    let value = addresses.map(|at| words[((at - low) / 4) as usize].load(Relaxed));
    let touched = sectors::count(&addresses, FULL, 4);
    // As many sectors as lanes: no two of them read the same word.
    let bytes = if touched == 32 { 128 } else { sectors::distinct_bytes(&addresses, FULL, 4) };
    count_global(&mut cx.counts.memory.load, touched, bytes);
    Some(value)
}

/// One word of shared memory for each lane of an affine access without a bank conflict.
#[inline(always)]
fn affine_shared_words(cx: &mut Context<'_>, address: Address, steps: Steps) -> Option<Lanes32> {
    let bases = cx.lanes.get32(address.base);
    let first = u64::from(bases[0].wrapping_add_signed(address.offset));
    let (low, high) = shape::reach(steps);
    let lowest = first.checked_add_signed(low)?;
    let bits = steps.iter().fold(0, |bits, step| bits | step) as u64 | first;
    let inside = first.wrapping_add_signed(high) + 4 <= u64::from(cx.shared_bytes);
    let words = banks::affine_words(steps)?;
    if !bits.is_multiple_of(4) || !inside || !cx.shadow.read_affine(cx.by(false), first, steps) {
        return None;
    }
    let row = cx.shared.get((lowest / 4) as usize..)?;
    let mut value = [0; 32];
    for (value, base) in value.iter_mut().zip(bases) {
        let at = base.wrapping_add_signed(address.offset).wrapping_sub(lowest as u32);
        *value = row.get((at / 4) as usize).copied().unwrap_or(0);
    }
    count_shared(&mut cx.counts.memory.shared_load, 1, words);
    Some(value)
}

/// One word of shared memory for each lane, wherever it lies.
#[inline(always)]
fn shared_words(cx: &mut Context<'_>, address: Address) -> Option<Lanes32> {
    if let Some(steps) = shape::affine(cx.lanes.get32(address.base))
        && let Some(value) = affine_shared_words(cx, address, steps)
    {
        return Some(value);
    }
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
    let fronts = banks::wavefronts(&addresses, FULL, 4);
    count_shared(&mut cx.counts.memory.shared_load, fronts.total, fronts.words);
    Some(value)
}

/// Every lane reads a word. `false`: something is wrong.
#[inline(always)]
fn read_scattered(cx: &mut Context<'_>, addresses: &Lanes32) -> bool {
    let by = cx.by(false);
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
    if simple(element, on) && !cx.tracks_definedness() {
        match place(cx, address) {
            (Space::Global, first, Pattern::Consecutive) => {
                let value = *cx.lanes.get32(a[0]);
                if let Some(words) = global_words::<true>(cx, first, 32) {
                    for (word, value) in words.iter().zip(value) {
                        word.store(value, Relaxed);
                    }
                    let touched = sectors::of_range(first, 128);
                    count_global(&mut cx.counts.memory.store, touched, 128);
                    return Ok(());
                }
            }
            (Space::Shared, first, Pattern::Consecutive) => {
                let value = cx.lanes.get32(a[0]);
                if let Some(range) = shared_range(cx, first, 32)
                    && cx.shadow.write_words(cx.by(false), first, &cx.shared[range.clone()], value)
                {
                    cx.shared[range].copy_from_slice(cx.lanes.get32(a[0]));
                    count_shared(&mut cx.counts.memory.shared_store, 1, 32);
                    return Ok(());
                }
            }
            _ => {}
        }
    }
    per_lane::store(cx, element, address, a, on)
}
