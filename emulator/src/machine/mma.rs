//! `mma` and `wmma.mma`: the lanes' parts are put together, multiplied, and dealt out again.
//!
//! PTX leaves open in which order, and in which precision above the inputs' own, the products are
//! added. Here those of floats are added in double precision, and each result is rounded once. A
//! GPU may differ in the last bits of `f32`. Products of doubles are added to `c` one by one, in
//! the order of `a`'s columns, each by one `fma`.

use super::bits::low_bits;
use super::bytes;
use super::context::Context;
use super::fault::{Fault, FaultKind};
use super::float::fma64;
use super::half::layout;
use super::softfloat::{F16, F64, Format};
use crate::lower::inst::{FloatMode, HalfFormat, Mma, MmaInput, MmaSums, Rounding};

const FULL: u32 = u32::MAX;
/// The most rows of `a`, and columns of `b`.
const MOST: usize = 32;

/// The factors as numbers of one kind: `a` by rows, `b` by columns, `k` numbers each.
struct Factors<T> {
    k: usize,
    a: Vec<T>,
    b: Vec<T>,
}

impl<T: Copy> Factors<T> {
    /// What is multiplied for a result.
    fn pairs(&self, (row, column): (usize, usize)) -> impl Iterator<Item = (T, T)> + '_ {
        let a = &self.a[row * self.k..][..self.k];
        let b = &self.b[column * self.k..][..self.k];
        a.iter().copied().zip(b.iter().copied())
    }
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
        MmaInput::Half(format) => floats(cx, op, |_, bits| wide(layout(format), bits)),
        // 8 bits of exponent and 10 of fraction.
        MmaInput::Tf32 => {
            floats(cx, op, |_, bits| f64::from(f32::from_bits(bits as u32 & 0xffff_e000)));
        }
        MmaInput::Byte { a, b } => {
            floats(cx, op, |is_a, bits| bytes::value(if is_a { a } else { b }, bits as u32));
        }
        MmaInput::Double => doubles(cx, op),
        MmaInput::Integer { bits: width, a_signed, b_signed } => {
            let number = |is_a: bool, bits: u64| {
                low_bits(bits as u32, width.into(), if is_a { a_signed } else { b_signed })
            };
            integers(cx, op, &gathered(cx, op, number), |a, b| a * b);
        }
        MmaInput::And | MmaInput::Xor => {
            let factors = gathered(cx, op, |_, bits| bits.cast_signed());
            let is_and = op.input == MmaInput::And;
            integers(cx, op, &factors, |a, b| if is_and { a & b } else { a ^ b });
        }
    }
    Ok(())
}

/// The value of bits in a format.
fn wide(format: Format, bits: u64) -> f64 {
    f64::from_bits(F64.encode(format.decode(bits), Rounding::Nearest))
}

/// All lanes' parts of `a` and `b`. `number` makes a number of an element's bits; its first
/// argument is true for elements of `a`.
fn gathered<T: Copy + Default>(
    cx: &Context<'_>,
    op: &Mma,
    number: impl Fn(bool, u64) -> T,
) -> Factors<T> {
    let k = usize::from(op.shape.k);
    let mut all = Factors { k, a: vec![T::default(); MOST * k], b: vec![T::default(); MOST * k] };
    let [a, b, ..] = op.fragments();
    for (is_a, fragment, slots) in [(true, a, &op.a), (false, b, &op.b)] {
        let elements = u64::MAX >> (64 - u32::from(fragment.bits));
        for (register, &slot) in slots.iter().enumerate().take(fragment.registers()) {
            let words = cx.lanes.any(slot, fragment.is_wide());
            for (lane, word) in words.into_iter().enumerate() {
                for index in 0..fragment.per_register() {
                    let bits = word >> (usize::from(fragment.bits) * index) & elements;
                    let (row, column) = fragment.place(lane, register, index);
                    if is_a {
                        all.a[row * k + column] = number(is_a, bits);
                    } else {
                        all.b[column * k + row] = number(is_a, bits);
                    }
                }
            }
        }
    }
    all
}

/// Writes every result: `result` makes its bits of its place and of those of `c`.
fn deliver(cx: &mut Context<'_>, op: &Mma, result: impl Fn((usize, usize), u64) -> u64) {
    let [_, _, given, sums] = op.fragments();
    let mut c = [[0; MOST]; MOST];
    for (register, &slot) in op.c.iter().enumerate().take(given.registers()) {
        let words = cx.lanes.any(slot, given.is_wide());
        for (lane, word) in words.into_iter().enumerate() {
            for index in 0..given.per_register() {
                let (row, column) = given.place(lane, register, index);
                c[row][column] = word >> (usize::from(given.bits) * index);
            }
        }
    }
    for (register, &slot) in op.d.iter().enumerate().take(sums.registers()) {
        let word = |lane: usize| {
            (0..sums.per_register()).fold(0, |word, index| {
                let place = sums.place(lane, register, index);
                word | result(place, c[place.0][place.1]) << (usize::from(sums.bits) * index)
            })
        };
        cx.lanes.set_any(slot, sums.is_wide(), &std::array::from_fn(word), FULL);
    }
}

fn floats(cx: &mut Context<'_>, op: &Mma, number: impl Fn(bool, u64) -> f64) {
    let factors = gathered(cx, op, number);
    deliver(cx, op, |place, bits| {
        let given = match op.given {
            MmaSums::F16 => wide(layout(HalfFormat::F16), bits & 0xffff),
            _ => f64::from(f32::from_bits(bits as u32)),
        };
        let exact = factors.pairs(place).fold(given, |sum, (a, b)| sum + a * b);
        match op.sums {
            MmaSums::F16 => F16.encode(F64.decode(exact.to_bits()), Rounding::Nearest),
            // The one NaN that instructions write.
            _ if exact.is_nan() => 0x7fff_ffff,
            _ => u64::from((exact as f32).to_bits()),
        }
    });
}

fn doubles(cx: &mut Context<'_>, op: &Mma) {
    let factors = gathered(cx, op, |_, bits| bits);
    let mode = FloatMode { rounding: op.rounding, ftz: false, sat: false };
    deliver(cx, op, |place, given| {
        factors.pairs(place).fold(given, |sum, (a, b)| fma64(mode, a, b, sum))
    });
}

fn integers(
    cx: &mut Context<'_>,
    op: &Mma,
    factors: &Factors<i64>,
    product: impl Fn(i64, i64) -> i64,
) {
    let saturates = op.sums == MmaSums::S32 { saturates: true };
    deliver(cx, op, |place, bits| {
        let given = i64::from(bits as i32);
        let exact = factors.pairs(place).fold(given, |sum, (a, b)| sum + product(a, b));
        let (low, high) = (i64::from(i32::MIN), i64::from(i32::MAX));
        u64::from((if saturates { exact.clamp(low, high) } else { exact }) as u32)
    });
}
