//! `f32` functions for kernels: additions, multiplications and fused multiply-adds of `f32` only,
//! which every GPU, the emulated driver and the host round in the same way.
//!
//! Input: any `f32`. Output: the function's value, by argument reduction and a polynomial, with the
//! errors that the book's table lists. No double precision, which consumer GPUs run at 1/64 of the
//! rate, and no tables, which would be loads. The polynomials are those of
//! `docs/scripts/fit-polynomials.py`.

#[cfg(target_arch = "nvptx64")]
use super::super::intrinsics::{fma_f32 as mul_add, round_ties_even_f32 as round_ties_even};

#[cfg(not(target_arch = "nvptx64"))]
fn mul_add(a: f32, b: f32, c: f32) -> f32 {
    f32::mul_add(a, b, c)
}

#[cfg(not(target_arch = "nvptx64"))]
fn round_ties_even(x: f32) -> f32 {
    f32::round_ties_even(x)
}

/// ln 2, in two parts.
const LN_2: [f32; 2] = [f32::from_bits(0x3f31_7218), f32::from_bits(0xb102_e308)];
/// π/2, in three parts.
const HALF_PI: [f32; 3] =
    [f32::from_bits(0x3fc9_0fdb), f32::from_bits(0xb33b_bd2e), f32::from_bits(0xa6f7_2ced)];
/// log₂ e, in two parts.
const LOG2_E: [f32; 2] = [f32::from_bits(0x3fb8_aa3b), f32::from_bits(0x32a5_7060)];
/// log₁₀ e, in two parts.
const LOG10_E: [f32; 2] = [f32::from_bits(0x3ede_5bd9), f32::from_bits(0xb22d_91af)];
/// log₁₀ 2, in two parts.
const LOG10_2: [f32; 2] = [f32::from_bits(0x3e9a_209b), f32::from_bits(0xb276_0860)];

/// The polynomial with these coefficients, the constant one first, by Horner's rule.
macro_rules! polynomial {
    ($x:expr; $last:literal) => { f32::from_bits($last) };
    ($x:expr; $first:literal, $($rest:literal),+) => {
        mul_add(polynomial!($x; $($rest),+), $x, f32::from_bits($first))
    };
}

/// `value` · 2^`exponent`, rounded once, for exponents of two floats' range.
#[inline(always)]
fn scale(value: f32, exponent: i32) -> f32 {
    let half = exponent >> 1;
    let power = |exponent: i32| f32::from_bits(((exponent + 127) << 23) as u32);
    value * power(half) * power(exponent - half)
}

/// `x` within `low..=high`; NaN stays.
#[inline(always)]
fn bounded(x: f32, low: f32, high: f32) -> f32 {
    let x = if x < low { low } else { x };
    if x > high { high } else { x }
}

/// A whole float as integer; anything for NaN.
#[inline(always)]
fn whole(x: f32) -> i32 {
    // Saturates and takes NaN to 0, as `cvt` does by itself.
    x as i32
}

/// e to the power of `r`, less 1, where |r| is at most half of ln 2.
#[inline(always)]
fn exp_m1_reduced(r: f32) -> f32 {
    let tail = polynomial!(
        r; 0x3f00_0000, 0x3e2a_aa6e, 0x3d2a_aa8c, 0x3c09_05f1, 0x3ab6_88be
    );
    mul_add(tail, r * r, r)
}

#[inline(always)]
pub fn exp(x: f32) -> f32 {
    let x = bounded(x, -104.0, 89.0);
    let n = round_ties_even(x * core::f32::consts::LOG2_E);
    let r = mul_add(n, -LN_2[1], mul_add(n, -LN_2[0], x));
    scale(1.0 + exp_m1_reduced(r), whole(n))
}

#[inline(always)]
pub fn exp2(x: f32) -> f32 {
    let x = bounded(x, -151.0, 129.0);
    let n = round_ties_even(x);
    let r = x - n;
    let slope = polynomial!(
        r; 0x3f31_7218, 0x3e75_fdf0, 0x3d63_5847, 0x3c1d_950e, 0x3aae_c3cf, 0x3922_2000,
        0x3780_52c1
    );
    scale(mul_add(slope, r, 1.0), whole(n))
}

/// A positive, finite `x` as f and e with x = (1 + f) · 2^e and 1 + f between √½ and √2.
#[inline(always)]
fn parts(x: f32) -> (f32, f32) {
    const ROOT_OF_HALF: u32 = 0x3f35_04f3;
    let is_subnormal = x < f32::MIN_POSITIVE;
    let (x, lift) = if is_subnormal { (x * 8_388_608.0, 23) } else { (x, 0) };
    let exponent = (x.to_bits().wrapping_sub(ROOT_OF_HALF) as i32) >> 23;
    let mantissa = f32::from_bits(x.to_bits().wrapping_sub((exponent << 23) as u32));
    (mantissa - 1.0, (exponent - lift) as f32)
}

/// ln(1 + f) - f, for f as [`parts`] gives it.
#[inline(always)]
fn ln_1p_tail(f: f32) -> f32 {
    let square = f * f;
    let tail = polynomial!(
        f; 0x3eaa_aaaa, 0xbe80_0067, 0x3e4c_cf8a, 0xbe2a_681f, 0x3e11_8e73, 0xbe05_19f5,
        0x3e01_40a7, 0xbda1_d923
    );
    mul_add(tail, f, -0.5) * square
}

/// `value`, or the result of a logarithm for an `x` that has none.
#[inline(always)]
fn defined(x: f32, value: f32) -> f32 {
    if x > 0.0 && x < f32::INFINITY {
        value
    } else if x == 0.0 {
        f32::NEG_INFINITY
    } else if x > 0.0 {
        x
    } else {
        f32::NAN
    }
}

#[inline(always)]
pub fn ln(x: f32) -> f32 {
    let (f, e) = parts(x);
    let fraction = f + ln_1p_tail(f);
    defined(x, mul_add(e, LN_2[0], fraction))
}

#[inline(always)]
pub fn log2(x: f32) -> f32 {
    let (f, e) = parts(x);
    let tail = ln_1p_tail(f);
    let low = mul_add(tail, LOG2_E[0], f * LOG2_E[1]);
    defined(x, e + mul_add(f, LOG2_E[0], low))
}

#[inline(always)]
pub fn log10(x: f32) -> f32 {
    let (f, e) = parts(x);
    let low = mul_add(e, LOG10_2[1], mul_add(ln_1p_tail(f), LOG10_E[0], f * LOG10_E[1]));
    defined(x, mul_add(e, LOG10_2[0], mul_add(f, LOG10_E[0], low)))
}

/// Up to here three parts of π/2 reduce an angle to all of its digits.
const MOST_NEAR: f32 = 100_000.0;

/// The remainder of `x` by π/2, between -π/4 and π/4, and the quadrant.
#[inline(always)]
fn reduced(x: f32) -> (f32, i32) {
    if x.abs() > MOST_NEAR {
        return reduced_far(x);
    }
    let n = round_ties_even(x * core::f32::consts::FRAC_2_PI);
    let r = mul_add(n, -HALF_PI[0], x);
    let r = mul_add(n, -HALF_PI[1], r);
    (mul_add(n, -HALF_PI[2], r), whole(n))
}

/// 2/π in words of 32 bits, after a first word for what is before the point.
const TWO_OVER_PI: [u32; 8] = [
    0x0000_0000,
    0xa2f9_836e,
    0x4e44_1529,
    0xfc27_57d1,
    0xf534_ddc0,
    0xdb62_9599,
    0x3c43_9041,
    0xfe51_63ab,
];

/// [`reduced`] for an angle of many turns, after Payne and Hanek: the product with those 96 bits of
/// 2/π that decide about the quadrant and what is below it.
#[inline(always)]
fn reduced_far(x: f32) -> (f32, i32) {
    if !x.is_finite() {
        return (f32::NAN, 0);
    }
    let bits = x.to_bits();
    let mantissa = u64::from(bits & 0x007f_ffff | 0x0080_0000);
    // Bits of 2/π before this one contribute whole turns.
    let first = (bits >> 23 & 0xff) + 32 - (127 + 23 + 2);
    let (word, bit) = ((first / 32) as usize, first % 32);
    let window = |i: usize| {
        let pair = u64::from(TWO_OVER_PI[(word + i) & 7]) << 32
            | u64::from(TWO_OVER_PI[(word + i + 1) & 7]);
        pair << bit >> 32
    };
    let low = mantissa * window(2);
    let middle = mantissa * window(1) + (low >> 32);
    let high = (mantissa * window(0)).wrapping_add(middle >> 32);
    // In quarters of a turn: two bits before the point, 62 after it.
    let quarters = high << 32 | middle & 0xffff_ffff;
    let quadrant = (quarters.wrapping_add(1 << 61) >> 62) as i32;
    let fraction = (quarters << 2 | low >> 30 & 3) as i64;
    let near = fraction as f32;
    let rest = fraction.wrapping_sub(near as i64) as f32;
    /// 2^-64.
    const UNIT: f32 = 1.0 / 18_446_744_073_709_551_616.0;
    let (near, rest) = (near * UNIT, rest * UNIT);
    let r = mul_add(near, HALF_PI[0], mul_add(near, HALF_PI[1], rest * HALF_PI[0]));
    if x < 0.0 { (-r, -quadrant) } else { (r, quadrant) }
}

/// The sine between -π/4 and π/4.
#[inline(always)]
fn sin_reduced(r: f32) -> f32 {
    let square = r * r;
    let tail = polynomial!(square; 0xbe2a_aaab, 0x3c08_8887, 0xb950_09b3, 0x3636_d476);
    mul_add(tail * square, r, r)
}

/// The cosine between -π/4 and π/4.
#[inline(always)]
fn cos_reduced(r: f32) -> f32 {
    let square = r * r;
    let tail = polynomial!(square; 0x3d2a_aaaa, 0xbab6_0955, 0x37cd_e16a);
    mul_add(mul_add(tail, square, -0.5), square, 1.0)
}

/// The sine `quadrant` quarters of a turn on from `r`.
#[inline(always)]
fn sin_in(quadrant: i32, r: f32) -> f32 {
    let value = if quadrant & 1 == 0 { sin_reduced(r) } else { cos_reduced(r) };
    if quadrant & 2 == 0 { value } else { -value }
}

#[inline(always)]
pub fn sin(x: f32) -> f32 {
    let (r, quadrant) = reduced(x);
    sin_in(quadrant, r)
}

#[inline(always)]
pub fn cos(x: f32) -> f32 {
    let (r, quadrant) = reduced(x);
    sin_in(quadrant + 1, r)
}

#[inline(always)]
pub fn sin_cos(x: f32) -> (f32, f32) {
    let (r, quadrant) = reduced(x);
    (sin_in(quadrant, r), sin_in(quadrant + 1, r))
}

#[inline(always)]
pub fn tan(x: f32) -> f32 {
    let (r, quadrant) = reduced(x);
    let (sin, cos) = (sin_reduced(r), cos_reduced(r));
    if quadrant & 1 == 0 { sin / cos } else { -cos / sin }
}

#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    /// From here on the formula with the exponential loses nothing.
    const SMALL: f32 = 0.6;
    let size = x.abs();
    let value = if size < SMALL {
        let square = size * size;
        let tail = polynomial!(
            square; 0xbeaa_aaab, 0x3e08_887b, 0xbd5d_06ca, 0x3cb2_7d6c, 0xbc09_ca65, 0x3b1b_5ed9
        );
        mul_add(tail * square, size, size)
    } else {
        1.0 - 2.0 / (exp(2.0 * size) + 1.0)
    };
    value.copysign(x)
}
