//! Atomics: lane after lane, in lane order. Those of 16 bits are in `atomic_half`.

use super::atomic_half;
use super::bits::{bits32, bits64};
use super::checked::touch;
use super::context::Context;
use super::fault::Fault;
use super::half::sum;
use super::per_lane::{cell, read, write};
use super::request::{Part, Verb, admit, parts};
use crate::lower::inst::{Atomic, AtomicOp, Scalar, Space};

/// Executes an atomic for the lanes of `on`.
#[inline(never)]
pub fn execute(cx: &mut Context<'_>, atomic: &Atomic, on: u32) -> Result<(), Box<Fault>> {
    let wide = atomic.ty.is_wide();
    let (b, c) = (cx.lanes.any(atomic.b, wide), cx.lanes.any(atomic.c, wide));
    let mut old = [0; 32];
    if atomic.orders {
        cx.shadow.meet();
    }
    for part in parts(cx, atomic.address, on) {
        if atomic_half::is_of(atomic) {
            cx.warp.changed = true;
            atomic_half::execute(cx, atomic, &part, (&b, &c), &mut old)?;
            continue;
        }
        let bytes = if wide { 8 } else { 4 };
        let verb = Verb::Update(!atomic.is_reduction());
        admit(cx, &part, bytes, verb)?;
        touch(cx, &part, (bytes, true), verb, 0)?;
        if add_to_one_word(cx, atomic, &part, &b, &mut old) {
            continue;
        }
        for lane in (0..32).filter(|lane| part.lanes & (1 << lane) != 0) {
            let address = part.addresses[lane];
            if wide {
                // Kernels with such atomics run their blocks one after the other, so two words are
                // one step.
                old[lane] = read(cx, part.space, lane, address, 8);
                let new = apply64(atomic.op, atomic.ty, old[lane], b[lane], c[lane]);
                write(cx, part.space, lane, address, 8, new);
                cx.warp.changed |= new != old[lane];
            } else if let Some(mut cell) = cell(cx, part.space, lane, address) {
                let (b, c) = (b[lane] as u32, c[lane] as u32);
                let before = cell.update(|old| apply32(atomic.op, atomic.ty, old, b, c));
                old[lane] = u64::from(before);
                cx.warp.changed |= apply32(atomic.op, atomic.ty, before, b, c) != before;
            }
        }
    }
    cx.lanes.set_any(atomic.d, wide, &old, on);
    Ok(())
}

/// Executes a part in one step if it adds 32-bit integers to one word. Each lane gets the value it
/// would have found in lane order.
fn add_to_one_word(
    cx: &mut Context<'_>,
    atomic: &Atomic,
    part: &Part,
    b: &[u64; 32],
    old: &mut [u64; 32],
) -> bool {
    let is_sum = matches!((atomic.op, atomic.ty), (AtomicOp::Add, Scalar::U32 | Scalar::S32));
    let (low, high, _) = part.extent();
    if !is_sum || low != high {
        return false;
    }
    let Some(mut cell) = cell(cx, part.space, 0, low).filter(|_| part.space != Space::Local) else {
        return false;
    };
    let (mut sum, mut changed) = (0u32, false);
    for lane in (0..32).filter(|lane| part.lanes & (1 << lane) != 0) {
        old[lane] = u64::from(sum);
        sum = sum.wrapping_add(b[lane] as u32);
        changed |= b[lane] as u32 != 0;
    }
    let before = cell.update(|old| old.wrapping_add(sum));
    for lane in (0..32).filter(|lane| part.lanes & (1 << lane) != 0) {
        old[lane] = u64::from(before.wrapping_add(old[lane] as u32));
    }
    cx.warp.changed |= changed;
    true
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

/// Unsigned values of either width; the caller drops what a narrower one has no room for.
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
