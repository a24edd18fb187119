//! Atomics: lane after lane, in lane order. Those of 16 bits are in `atomic_half`.

use super::access_log::lanes_of;
use super::atomic_half;
use super::bits::{bits32, bits64};
use super::checked::{log_update, touch};
use super::context::Context;
use super::fault::Fault;
use super::half::sum;
use super::per_lane::{Words, cell, read, words, write};
use super::request::{Part, Verb, admit, parts};
use crate::lower::inst::{Atomic, AtomicOp, Scalar, Sharing};

/// Executes an atomic for the lanes of `on`.
#[inline(never)]
pub fn execute(cx: &mut Context<'_>, atomic: &Atomic, on: u32) -> Result<(), Box<Fault>> {
    let wide = atomic.ty.is_wide();
    let (b, c) = (cx.lanes.any(atomic.b, wide), cx.lanes.any(atomic.c, wide));
    let mut old = [0; 32];
    if atomic.orders {
        cx.shadow.order(cx.warp.index);
    } else {
        cx.shadow.catch_up(cx.warp.index);
    }
    for part in parts(cx, atomic.address, on).iter() {
        if atomic_half::is_of(atomic) {
            cx.warp.changed = true;
            atomic_half::execute(cx, atomic, part, (&b, &c), &mut old)?;
            continue;
        }
        let bytes = if wide { 8 } else { 4 };
        let verb = Verb::Update(!atomic.is_reduction());
        admit(cx, part, bytes, verb)?;
        touch(cx, part, (bytes, Sharing::Ordered), verb, 0)?;
        log_update(cx, part, bytes, (atomic.informs, atomic.order));
        let words = if wide { None } else { words(cx, part, 4) };
        let changed = match words {
            Some(words) => update_words(words, atomic, part, (&b, &c), &mut old),
            None => update_lanes(cx, atomic, part, (&b, &c), &mut old),
        };
        cx.warp.changed |= changed;
    }
    cx.lanes.set_any(atomic.d, wide, &old, on);
    Ok(())
}

/// The operands of each lane: `b` and `c` of an [`Atomic`].
type Operands<'o> = (&'o [u64; 32], &'o [u64; 32]);

/// Updates the cells of a part, wherever they lie. Whether one of them changed.
fn update_lanes(
    cx: &mut Context<'_>,
    atomic: &Atomic,
    part: &Part,
    (b, c): Operands<'_>,
    old: &mut [u64; 32],
) -> bool {
    let mut changed = false;
    for lane in lanes_of(part.lanes) {
        let address = part.addresses[lane];
        if atomic.ty.is_wide() {
            // Kernels with such atomics run their blocks one after the other, so two words are
            // one step.
            old[lane] = read(cx, part.space, lane, address, 8);
            let new = apply64(atomic.op, atomic.ty, old[lane], b[lane], c[lane]);
            write(cx, part.space, lane, address, 8, new);
            changed |= new != old[lane];
        } else if let Some(mut cell) = cell(cx, part.space, lane, address) {
            let (b, c) = (b[lane] as u32, c[lane] as u32);
            let (before, after) = cell.update(|old| apply32(atomic.op, atomic.ty, old, b, c));
            old[lane] = u64::from(before);
            changed |= after != before;
        }
    }
    changed
}

/// Updates the cells of a part, which are some of these words. Whether one of them changed.
fn update_words(
    words: (Words<'_>, u64),
    atomic: &Atomic,
    part: &Part,
    (b, c): Operands<'_>,
    old: &mut [u64; 32],
) -> bool {
    let (op, ty) = (atomic.op, atomic.ty);
    if op != AtomicOp::Add || !matches!(ty, Scalar::U32 | Scalar::S32) {
        let new = |lane: usize, old| apply32(op, ty, old, b[lane] as u32, c[lane] as u32);
        return update_each(words, part, old, new);
    }
    if part.extent.low == part.extent.high {
        return add_to_one_word(words, part, b, old);
    }
    update_each(words, part, old, |lane, old: u32| old.wrapping_add(b[lane] as u32))
}

#[inline(always)]
fn update_each(
    (mut words, first): (Words<'_>, u64),
    part: &Part,
    old: &mut [u64; 32],
    new: impl Fn(usize, u32) -> u32,
) -> bool {
    let mut changed = false;
    for lane in lanes_of(part.lanes) {
        if let Some(mut cell) = words.cell((part.addresses[lane] - first) / 4) {
            let (before, after) = cell.update(|old| new(lane, old));
            old[lane] = u64::from(before);
            changed |= after != before;
        }
    }
    changed
}

/// All lanes add to one word, in one step. Each gets the value it would have found in lane order.
fn add_to_one_word(
    (mut words, first): (Words<'_>, u64),
    part: &Part,
    b: &[u64; 32],
    old: &mut [u64; 32],
) -> bool {
    let (mut sum, mut changed) = (0u32, false);
    for lane in lanes_of(part.lanes) {
        old[lane] = u64::from(sum);
        sum = sum.wrapping_add(b[lane] as u32);
        changed |= b[lane] as u32 != 0;
    }
    let address = part.addresses[part.lanes.trailing_zeros() as usize];
    let cell = words.cell((address - first) / 4);
    let before = cell.map_or(0, |mut cell| cell.update(|old| old.wrapping_add(sum)).0);
    for lane in lanes_of(part.lanes) {
        old[lane] = u64::from(before.wrapping_add(old[lane] as u32));
    }
    changed
}

/// The new value of a cell of 32 bits.
pub fn apply32(op: AtomicOp, ty: Scalar, old: u32, b: u32, c: u32) -> u32 {
    match (op, ty) {
        (AtomicOp::Add, Scalar::F32) => bits32(f32::from_bits(old) + f32::from_bits(b)),
        (AtomicOp::AddPair, ty) => sum(atomic_half::format(ty), true, old, b),
        (AtomicOp::Min, Scalar::S32) => (old as i32).min(b as i32) as u32,
        (AtomicOp::Max, Scalar::S32) => (old as i32).max(b as i32) as u32,
        _ => apply(op, u64::from(old), u64::from(b), u64::from(c)) as u32,
    }
}

/// The new value of a cell of 64 bits.
pub fn apply64(op: AtomicOp, ty: Scalar, old: u64, b: u64, c: u64) -> u64 {
    match (op, ty) {
        (AtomicOp::Add, Scalar::F64) => bits64(f64::from_bits(old) + f64::from_bits(b)),
        (AtomicOp::Min, Scalar::S64) => (old as i64).min(b as i64) as u64,
        (AtomicOp::Max, Scalar::S64) => (old as i64).max(b as i64) as u64,
        _ => apply(op, old, b, c),
    }
}

/// Unsigned values of either width; the caller drops the bits above a narrower one.
fn apply(op: AtomicOp, old: u64, b: u64, c: u64) -> u64 {
    match op {
        AtomicOp::Add | AtomicOp::AddHalf | AtomicOp::AddPair => old.wrapping_add(b),
        AtomicOp::Min => old.min(b),
        AtomicOp::Max => old.max(b),
        AtomicOp::Inc if old >= b => 0,
        AtomicOp::Inc => old + 1,
        AtomicOp::Dec if old == 0 || old > b => b,
        AtomicOp::Dec => old - 1,
        AtomicOp::And => old & b,
        AtomicOp::Or => old | b,
        AtomicOp::Xor => old ^ b,
        AtomicOp::Exchange => b,
        AtomicOp::CompareSwap if old == b => c,
        AtomicOp::CompareSwap => old,
    }
}
