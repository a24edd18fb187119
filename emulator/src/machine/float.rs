//! Floating-point operations on one value, in any mode.
//!
//! The host rounds to nearest; [`softfloat`](super::softfloat) rounds in the other directions. The
//! approximate instructions (`ex2`, `lg2`, `sin`, `cos`, `tanh`, `rsqrt`, `rcp.approx`, …) are
//! computed in double precision and rounded once, which is within PTX's error bound but not bit for
//! bit a GPU's result.

use super::bits::{NAN32, bits32, bits64, flush, saturate};
use super::softfloat::{F32, F64};
use crate::lower::inst::{Float1, Float2, FloatMode, Rounding};

fn input(mode: FloatMode, bits: u32) -> u32 {
    if mode.ftz { flush(bits) } else { bits }
}

fn output(mode: FloatMode, bits: u32) -> u32 {
    let bits = if mode.ftz { flush(bits) } else { bits };
    if mode.sat { saturate(f32::from_bits(bits)).to_bits() } else { bits }
}

/// One operand, single precision.
pub fn one32(op: Float1, mode: FloatMode, a: u32) -> u32 {
    let a = input(mode, a);
    let value = f32::from_bits(a);
    let wide = f64::from(value);
    let bits = match op {
        Float1::Neg => a ^ 0x8000_0000,
        Float1::Abs => a & 0x7fff_ffff,
        Float1::Sqrt => {
            directed32(mode, |direction| F32.sqrt(u64::from(a), direction), value.sqrt())
        }
        Float1::Rcp => {
            let one = u64::from(1f32.to_bits());
            directed32(mode, |direction| F32.divide(one, u64::from(a), direction), 1.0 / value)
        }
        Float1::Rsqrt | Float1::RcpSeed | Float1::RsqrtSeed => bits32((1.0 / wide.sqrt()) as f32),
        Float1::Ex2 => bits32(wide.exp2() as f32),
        Float1::Lg2 => bits32(wide.log2() as f32),
        Float1::Sin => bits32(wide.sin() as f32),
        Float1::Cos => bits32(wide.cos() as f32),
        Float1::Tanh => bits32(wide.tanh() as f32),
    };
    output(mode, bits)
}

fn directed32(mode: FloatMode, soft: impl Fn(Rounding) -> Option<u64>, nearest: f32) -> u32 {
    match mode.rounding {
        Rounding::Nearest => bits32(nearest),
        direction => soft(direction).map_or_else(|| bits32(nearest), |bits| bits as u32),
    }
}

fn directed64(mode: FloatMode, soft: impl Fn(Rounding) -> Option<u64>, nearest: f64) -> u64 {
    match mode.rounding {
        Rounding::Nearest => bits64(nearest),
        direction => soft(direction).unwrap_or_else(|| bits64(nearest)),
    }
}

/// One operand, double precision.
pub fn one64(op: Float1, mode: FloatMode, a: u64) -> u64 {
    let value = f64::from_bits(a);
    match op {
        Float1::Neg => a ^ (1 << 63),
        Float1::Abs => a & !(1 << 63),
        Float1::Sqrt => directed64(mode, |direction| F64.sqrt(a, direction), value.sqrt()),
        Float1::Rcp => {
            directed64(mode, |direction| F64.divide(1f64.to_bits(), a, direction), 1.0 / value)
        }
        Float1::Rsqrt => bits64(1.0 / value.sqrt()),
        Float1::RcpSeed => seed(a, |value| 1.0 / value),
        Float1::RsqrtSeed => seed(a, |value| 1.0 / value.sqrt()),
        Float1::Ex2 => bits64(value.exp2()),
        Float1::Lg2 => bits64(value.log2()),
        Float1::Sin => bits64(value.sin()),
        Float1::Cos => bits64(value.cos()),
        Float1::Tanh => bits64(value.tanh()),
    }
}

/// `rcp.approx.ftz.f64` and its like: the upper halves of operand and result count, and subnormals
/// are flushed.
fn seed(a: u64, f: impl Fn(f64) -> f64) -> u64 {
    let high = a & !0xffff_ffff;
    let flush = |bits: u64| if bits & 0x7ff0_0000_0000_0000 == 0 { bits & (1 << 63) } else { bits };
    flush(bits64(f(f64::from_bits(flush(high)))) & !0xffff_ffff)
}

/// Two operands, single precision.
pub fn two32(op: Float2, mode: FloatMode, a: u32, b: u32) -> u32 {
    let (a, b) = (input(mode, a), input(mode, b));
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    let (wide_a, wide_b) = (u64::from(a), u64::from(b));
    let one = u64::from(1f32.to_bits());
    let bits = match op {
        Float2::Add => {
            directed32(mode, |direction| Some(F32.fma(wide_a, one, wide_b, direction)), x + y)
        }
        Float2::Sub => directed32(
            mode,
            |direction| Some(F32.fma(wide_a, one, wide_b ^ 0x8000_0000, direction)),
            x - y,
        ),
        Float2::Mul => {
            // Adding a zero of the product's own sign keeps the sign of a zero product.
            let zero = (wide_a ^ wide_b) & 0x8000_0000;
            directed32(mode, |direction| Some(F32.fma(wide_a, wide_b, zero, direction)), x * y)
        }
        Float2::Div => directed32(mode, |direction| F32.divide(wide_a, wide_b, direction), x / y),
        Float2::DivApprox => bits32(approximate_quotient(x, y)),
        Float2::Min | Float2::MinNan | Float2::Max | Float2::MaxNan => extreme32(op, x, y),
        Float2::MinSize { nan } => {
            extreme_of_sizes(if nan { Float2::MinNan } else { Float2::Min }, x, y)
        }
        Float2::MaxSize { nan } => {
            extreme_of_sizes(if nan { Float2::MaxNan } else { Float2::Max }, x, y)
        }
        Float2::CopySign => (b & 0x7fff_ffff) | (a & 0x8000_0000),
    };
    output(mode, bits)
}

/// PTX: the quotient is `x × (1 / y)`, and the reciprocal of more than 2^126 is 0.
fn approximate_quotient(x: f32, y: f32) -> f32 {
    let largest = f32::from_bits(253 << 23);
    if y.abs() > largest { x * 0f32.copysign(y) } else { x / y }
}

/// The minimum or maximum of two values, in which -0 is less than 0. Without branches, so that it
/// vectorises.
#[inline(always)]
pub fn extreme32(op: Float2, x: f32, y: f32) -> u32 {
    let propagates = matches!(op, Float2::MinNan | Float2::MaxNan);
    let is_least = matches!(op, Float2::Min | Float2::MinNan);
    let (x_is_nan, y_is_nan) = (x.is_nan(), y.is_nan());
    let takes_x = (x.total_cmp(&y).is_le() == is_least) & !x_is_nan | y_is_nan;
    let is_nan = x_is_nan & y_is_nan | (x_is_nan | y_is_nan) & propagates;
    let bits = if takes_x { x.to_bits() } else { y.to_bits() };
    if is_nan { NAN32 } else { bits }
}

/// The extreme of the sizes, with the product's sign.
fn extreme_of_sizes(op: Float2, x: f32, y: f32) -> u32 {
    let size = extreme32(op, x.abs(), y.abs());
    let sign = (x.to_bits() ^ y.to_bits()) & 0x8000_0000;
    if f32::from_bits(size).is_nan() { size } else { size | sign }
}

/// Two operands, double precision.
pub fn two64(op: Float2, mode: FloatMode, a: u64, b: u64) -> u64 {
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    let (one, sign) = (1f64.to_bits(), 1 << 63);
    match op {
        Float2::Add => directed64(mode, |direction| Some(F64.fma(a, one, b, direction)), x + y),
        Float2::Sub => {
            directed64(mode, |direction| Some(F64.fma(a, one, b ^ sign, direction)), x - y)
        }
        Float2::Mul => {
            directed64(mode, |direction| Some(F64.fma(a, b, (a ^ b) & sign, direction)), x * y)
        }
        Float2::Div | Float2::DivApprox => {
            directed64(mode, |direction| F64.divide(a, b, direction), x / y)
        }
        Float2::CopySign => (b & !sign) | (a & sign),
        Float2::Min
        | Float2::MinNan
        | Float2::Max
        | Float2::MaxNan
        | Float2::MinSize { .. }
        | Float2::MaxSize { .. } => match (x.is_nan(), y.is_nan()) {
            (true, false) if !matches!(op, Float2::MinNan | Float2::MaxNan) => b,
            (false, true) if !matches!(op, Float2::MinNan | Float2::MaxNan) => a,
            (false, false) => {
                let least = matches!(op, Float2::Min | Float2::MinNan);
                if x.total_cmp(&y).is_le() == least { a } else { b }
            }
            _ => super::bits::NAN64,
        },
    }
}

/// `a × b + c`, single precision.
pub fn fma32(mode: FloatMode, a: u32, b: u32, c: u32) -> u32 {
    let [a, b, c] = [a, b, c].map(|bits| input(mode, bits));
    let nearest = f32::from_bits(a).mul_add(f32::from_bits(b), f32::from_bits(c));
    let soft = |direction| Some(F32.fma(u64::from(a), u64::from(b), u64::from(c), direction));
    output(mode, directed32(mode, soft, nearest))
}

/// `a × b + c`, double precision.
pub fn fma64(mode: FloatMode, a: u64, b: u64, c: u64) -> u64 {
    let nearest = f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c));
    directed64(mode, |direction| Some(F64.fma(a, b, c, direction)), nearest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const UP: FloatMode = FloatMode { rounding: Rounding::Up, ftz: false, sat: false };
    const DOWN: FloatMode = FloatMode { rounding: Rounding::Down, ftz: false, sat: false };

    #[test]
    fn minimum_prefers_numbers_and_negative_zero() {
        let nan = f32::NAN.to_bits();
        assert_eq!(two32(Float2::Min, FloatMode::PLAIN, nan, 1f32.to_bits()), 1f32.to_bits());
        assert_eq!(two32(Float2::MinNan, FloatMode::PLAIN, nan, 1f32.to_bits()), NAN32);
        assert_eq!(two32(Float2::Min, FloatMode::PLAIN, 0, 0x8000_0000), 0x8000_0000);
    }

    #[test]
    fn minimum_and_maximum_follow_their_definition() {
        let values = [0.0, -0.0, 1.0, -1.0, f32::MAX, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
        for (x, y) in values.iter().flat_map(|x| values.map(|y| (*x, y))) {
            let numbers = || [x, y].into_iter().filter(|value| !value.is_nan());
            let bits = |value: Option<f32>| value.map_or(NAN32, f32::to_bits);
            let least = bits(numbers().min_by(f32::total_cmp));
            let most = bits(numbers().max_by(f32::total_cmp));
            let or_nan = |bits| if numbers().count() == 2 { bits } else { NAN32 };
            let expected = [least, most, or_nan(least), or_nan(most)];
            let ops = [Float2::Min, Float2::Max, Float2::MinNan, Float2::MaxNan];
            assert_eq!(ops.map(|op| extreme32(op, x, y)), expected, "{x} {y}");
        }
    }

    #[test]
    fn an_approximate_quotient_by_a_large_number_is_zero() {
        let quotient = |x: f32, y: f32| {
            f32::from_bits(two32(Float2::DivApprox, FloatMode::PLAIN, x.to_bits(), y.to_bits()))
        };
        let limit = 2f32.powi(126);
        assert_eq!(quotient(limit, limit), 1.0);
        for (x, y, sign) in
            [(1e10, 1.5e38, false), (-3.0, limit.next_up(), true), (1.0, -2e38, true)]
        {
            assert_eq!(
                (quotient(x, y), quotient(x, y).is_sign_negative()),
                (0.0, sign),
                "{x} / {y}"
            );
        }
        assert!(quotient(f32::INFINITY, 1.5e38).is_nan());
        assert_eq!(quotient(f32::INFINITY, limit), f32::INFINITY);
    }

    #[test]
    fn subnormals_are_flushed_and_results_saturated() {
        assert_eq!(two32(Float2::Add, FloatMode::FLUSH, 1, 1), 0);
        let sat = FloatMode { sat: true, ..FloatMode::PLAIN };
        assert_eq!(two32(Float2::Add, sat, 1f32.to_bits(), 1f32.to_bits()), 1f32.to_bits());
        assert_eq!(two32(Float2::Add, sat, f32::NAN.to_bits(), 0), 0);
    }

    #[test]
    fn a_sum_that_cancels_is_negative_zero_rounding_down() {
        assert_eq!(two32(Float2::Sub, DOWN, 1f32.to_bits(), 1f32.to_bits()), 0x8000_0000);
        assert_eq!(two32(Float2::Sub, UP, 1f32.to_bits(), 1f32.to_bits()), 0);
    }

    proptest! {
        #[test]
        fn directed_rounding_brackets_quotients_and_roots(a in 1e-30f32..1e30, b in 1e-30f32..1e30) {
            let at = |mode, op| f32::from_bits(two32(op, mode, a.to_bits(), b.to_bits()));
            for op in [Float2::Add, Float2::Sub, Float2::Mul, Float2::Div] {
                let (down, up) = (at(DOWN, op), at(UP, op));
                let nearest = at(FloatMode::PLAIN, op);
                prop_assert!(down <= nearest && nearest <= up, "{:?}", op);
                prop_assert!(down == up || down.next_up() == up, "{:?} {} {}", op, down, up);
            }
            let root = |mode| f32::from_bits(one32(Float1::Sqrt, mode, a.to_bits()));
            prop_assert!(f64::from(root(DOWN)).powi(2) <= f64::from(a) && f64::from(a) <= f64::from(root(UP)).powi(2));
        }
    }
}
