//! `mma.sync`: the lanes' parts are put together, multiplied, and dealt out again.
//!
//! With `g = lane / 4` and `t = lane % 4`, register `i` of `a` holds numbers of row
//! `g + 8 (i % 2)`, register `i` of `b` numbers of column `g`, and each `c` and `d` two neighbours
//! of row `g`, then of row `g + 8`.
//!
//! PTX leaves open in which order, and in which precision above the inputs' own, the products are
//! added. Here they are added in double precision, and each result is rounded once. A GPU may
//! differ in the last bits of `f32`.

use super::context::Context;
use super::fault::{Fault, FaultKind};
use super::half::layout;
use super::softfloat::{F16, F64, Format};
use crate::lower::inst::{HalfFormat, Mma, MmaInput, MmaSums, Rounding, Slot};

const FULL: u32 = u32::MAX;
/// Rows of `a`, and columns of `b`.
const M: usize = 16;
const N: usize = 8;
/// The most columns of `a`.
const K: usize = 32;

/// The matrices as numbers of one kind; `b` by columns.
struct Matrices<T> {
    a: [[T; K]; M],
    b: [[T; K]; N],
}

/// Executes it for the lanes that are `on`.
///
/// # Errors
/// Lanes that are missing.
pub fn execute(cx: &mut Context<'_>, op: &Mma, on: u32) -> Result<(), Box<Fault>> {
    if on != FULL {
        let detail = "mma needs all 32 lanes of the warp".to_owned();
        return Err(cx.fault(FaultKind::Undefined, on, detail));
    }
    match op.input {
        MmaInput::Half(format) => {
            let matrices = gathered(cx, op, |_, bits| wide(layout(format), bits & 0xffff));
            floats(cx, op, &matrices);
        }
        MmaInput::Tf32 => {
            // 8 bits of exponent and 10 of fraction.
            let number = |_, bits| f64::from(f32::from_bits(bits & 0xffff_e000));
            let matrices = gathered(cx, op, number);
            floats(cx, op, &matrices);
        }
        MmaInput::Byte { a_signed, b_signed } => {
            let number = |is_a: bool, bits: u32| {
                let signed = if is_a { a_signed } else { b_signed };
                if signed { i64::from(bits as u8 as i8) } else { i64::from(bits as u8) }
            };
            let matrices = gathered(cx, op, number);
            integers(cx, op, &matrices);
        }
    }
    Ok(())
}

/// The number that the bits of a format stand for.
fn wide(format: Format, bits: u32) -> f64 {
    f64::from_bits(F64.encode(format.decode(u64::from(bits)), Rounding::Nearest))
}

/// All lanes' parts of `a` and `b`; `number` makes one of the low bits of what it gets.
fn gathered<T: Copy + Default>(
    cx: &Context<'_>,
    op: &Mma,
    number: impl Fn(bool, u32) -> T,
) -> Matrices<T> {
    let per_register = op.input.per_register();
    let width = 32 / per_register as u32;
    let mut all = Matrices { a: [[T::default(); K]; M], b: [[T::default(); K]; N] };
    let column = |i: usize, t: usize, j: usize| per_register * (t + 4 * i) + j;
    for lane in 0..32 {
        let (g, t) = (lane / 4, lane % 4);
        for j in 0..per_register {
            let part = |slot: Slot| cx.lanes.get32(slot)[lane] >> (width * j as u32);
            for (i, slot) in op.a.iter().take(op.inputs()).enumerate() {
                all.a[g + 8 * (i % 2)][column(i / 2, t, j)] = number(true, part(*slot));
            }
            for (i, slot) in op.b.iter().take(op.inputs() / 2).enumerate() {
                all.b[g][column(i, t, j)] = number(false, part(*slot));
            }
        }
    }
    all
}

/// Row and column of the `i`th result of a lane.
fn place(lane: usize, i: usize) -> (usize, usize) {
    (lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2)
}

fn floats(cx: &mut Context<'_>, op: &Mma, all: &Matrices<f64>) {
    let sum = |lane: usize, i: usize, c: f64| {
        let (row, column) = place(lane, i);
        let products = all.a[row].iter().zip(&all.b[column]).take(usize::from(op.k));
        products.fold(c, |sum, (a, b)| sum + a * b)
    };
    let given = op.c.map(|slot| *cx.lanes.get32(slot));
    for (register, slot) in op.d.iter().enumerate().take(op.sums.registers()) {
        let result = |lane: usize| {
            let bits = given[register][lane];
            if op.sums == MmaSums::F16 {
                let half = |j: usize| {
                    let c = wide(layout(HalfFormat::F16), bits >> (16 * j) & 0xffff);
                    let exact = sum(lane, 2 * register + j, c);
                    F16.encode(F64.decode(exact.to_bits()), Rounding::Nearest) as u32
                };
                half(0) | half(1) << 16
            } else {
                number_bits(sum(lane, register, f64::from(f32::from_bits(bits))))
            }
        };
        let results = std::array::from_fn(result);
        cx.lanes.set32(*slot, &results, FULL);
    }
}

/// The bits of the nearest `f32`, with the one NaN that instructions write.
fn number_bits(exact: f64) -> u32 {
    if exact.is_nan() { 0x7fff_ffff } else { (exact as f32).to_bits() }
}

fn integers(cx: &mut Context<'_>, op: &Mma, all: &Matrices<i64>) {
    let saturates = op.sums == MmaSums::S32 { saturates: true };
    let given = op.c.map(|slot| *cx.lanes.get32(slot));
    for (register, slot) in op.d.iter().enumerate() {
        let result = |lane: usize| {
            let (row, column) = place(lane, register);
            let products = all.a[row].iter().zip(&all.b[column]).take(usize::from(op.k));
            let c = i64::from(given[register][lane] as i32);
            let exact = products.fold(c, |sum, (a, b)| sum + a * b);
            let (low, high) = (i64::from(i32::MIN), i64::from(i32::MAX));
            (if saturates { exact.clamp(low, high) } else { exact }) as u32
        };
        let results = std::array::from_fn(result);
        cx.lanes.set32(*slot, &results, FULL);
    }
}
