//! The largest error of every `f32` function of `FloatMath`, in units in the last place, over all
//! 2³² bit patterns: a kernel for each function, which compares with the `f64` function of the same
//! name. It tests every `step`th pattern; 1 is all of them.
//!
//! The thread that finishes last prints the error and its input. `verify` fails if an error is
//! above the one in the book.

use gpuprof::prelude::*;

/// Blocks of a launch, each of which looks at every so many patterns.
const BLOCKS: u32 = 4096;

/// The distance of `got` from `exact` in units in the last place of the nearest `f32`; infinite if
/// only one of them is a number.
#[inline(always)]
fn ulp(got: f32, exact: f64) -> f32 {
    let nearest = exact as f32;
    if nearest.is_nan() || nearest.is_infinite() {
        let is_same = got == nearest || got.is_nan() && nearest.is_nan();
        return if is_same { 0.0 } else { f32::INFINITY };
    }
    let exponent = (nearest.abs().to_bits() >> 23).max(1) as u64;
    // 2^-(exponent - 127 - 23): the unit's reciprocal.
    let per_unit = f64::from_bits((1023 + 150 - exponent) << 52);
    let error = (f64::from(got) - exact).abs() * per_unit;
    if error.is_nan() { f32::INFINITY } else { error as f32 }
}

/// Error and input in one number, of which the largest is kept.
#[inline(always)]
fn packed(error: f32, bits: u32) -> u64 {
    u64::from(error.to_bits()) << 32 | u64::from(bits)
}

/// The largest of all threads' errors and its input, in the thread that finishes last: there
/// `verdict` becomes 1, or 2 if it is above `limit`. Both counters are 0 again afterwards.
///
/// # Safety
/// All threads of the block call it, once; the pointers point to one element each.
#[inline(always)]
unsafe fn largest(
    own: u64,
    limit: f32,
    worst: *mut u64,
    finished: *mut u32,
    verdict: *mut u32,
) -> Option<(f32, u32)> {
    // SAFETY: the caller keeps the contract; the elements are accessed atomically.
    unsafe {
        let of_block = block::reduce(own, shared!([u64; block::SCRATCH]), u64::max);
        if thread::x() != 0 {
            return None;
        }
        atomic::max(worst, of_block);
        fence::device();
        if atomic::inc(finished, grid::dim_x() - 1) != grid::dim_x() - 1 {
            return None;
        }
        fence::device();
        let all = atomic::exchange(worst, 0);
        let (error, at) = (f32::from_bits((all >> 32) as u32), all as u32);
        atomic::exchange(verdict, 1 + u32::from(error > limit));
        Some((error, at))
    }
}

macro_rules! functions {
    ($($name:ident $line:literal at most $limit:expr; |$x:ident, $wide:ident| $error:expr;)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of `f32`.")]
        pub mod $name {
            use super::*;

            /// The largest error over every `step`th pattern.
            #[gpuprof::kernel(
                series(block = [256], step = [1_048_573]),
                grid = BLOCKS,
                args(step, zeros(1), zeros(1), zeros(1)),
                reset = once,
                verify = on_host,
            )]
            pub unsafe fn $name(step: u32, worst: *mut u64, finished: *mut u32, verdict: *mut u32) {
                let (mut at, mut own) = (u64::from(thread::global_x()) * u64::from(step), 0);
                let threads = u64::from(block::dim_x() * grid::dim_x());
                while at <= u64::from(u32::MAX) {
                    let $x = f32::from_bits(at as u32);
                    let $wide = f64::from($x);
                    own = packed($error, at as u32).max(own);
                    at += threads * u64::from(step);
                }
                // SAFETY: the whole block is here, and the pointers are to one element each.
                let told = unsafe { largest(own, $limit, worst, finished, verdict) };
                if let Some((error, at)) = told {
                    device_print!($line, error, at);
                }
            }

            /// Counters at 0, and no error beyond the limit.
            fn on_host(_step: u32, worst: &mut [u64], finished: &mut [u32], verdict: &mut [u32]) {
                worst.fill(0);
                finished.fill(0);
                verdict.fill(1);
            }
        }
    )*};
}

// The limits are the book's; `ln_gamma` has none.
functions! {
    exp "ULP exp {:.4} {:#x}" at most 1.09; |x, w| ulp(x.exp(), w.exp());
    exp2 "ULP exp2 {:.4} {:#x}" at most 0.87; |x, w| ulp(x.exp2(), w.exp2());
    exp_m1 "ULP exp_m1 {:.4} {:#x}" at most 0.82; |x, w| ulp(x.exp_m1(), w.exp_m1());
    ln "ULP ln {:.4} {:#x}" at most 1.08; |x, w| ulp(x.ln(), w.ln());
    log2 "ULP log2 {:.4} {:#x}" at most 1.28; |x, w| ulp(x.log2(), w.log2());
    log10 "ULP log10 {:.4} {:#x}" at most 1.10; |x, w| ulp(x.log10(), w.log10());
    ln_1p "ULP ln_1p {:.4} {:#x}" at most 0.84; |x, w| ulp(x.ln_1p(), w.ln_1p());
    sin "ULP sin {:.4} {:#x}" at most 1.50; |x, w| ulp(x.sin(), w.sin());
    cos "ULP cos {:.4} {:#x}" at most 1.50; |x, w| ulp(x.cos(), w.cos());
    tan "ULP tan {:.4} {:#x}" at most 3.54; |x, w| ulp(x.tan(), w.tan());
    asin "ULP asin {:.4} {:#x}" at most 0.75; |x, w| ulp(x.asin(), w.asin());
    acos "ULP acos {:.4} {:#x}" at most 0.92; |x, w| ulp(x.acos(), w.acos());
    atan "ULP atan {:.4} {:#x}" at most 0.86; |x, w| ulp(x.atan(), w.atan());
    sinh "ULP sinh {:.4} {:#x}" at most 1.83; |x, w| ulp(x.sinh(), w.sinh());
    cosh "ULP cosh {:.4} {:#x}" at most 1.36; |x, w| ulp(x.cosh(), w.cosh());
    tanh "ULP tanh {:.4} {:#x}" at most 1.34; |x, w| ulp(x.tanh(), w.tanh());
    asinh "ULP asinh {:.4} {:#x}" at most 1.78; |x, w| ulp(x.asinh(), w.asinh());
    acosh "ULP acosh {:.4} {:#x}" at most 2.01; |x, w| ulp(x.acosh(), w.acosh());
    atanh "ULP atanh {:.4} {:#x}" at most 1.73; |x, w| ulp(x.atanh(), w.atanh());
    cbrt "ULP cbrt {:.4} {:#x}" at most 0.51; |x, w| ulp(x.cbrt(), w.cbrt());
    erf "ULP erf {:.4} {:#x}" at most 0.97; |x, w| ulp(math::erf(x), math::erf(w));
    erfc "ULP erfc {:.4} {:#x}" at most 3.30; |x, w| ulp(math::erfc(x), math::erfc(w));
    gamma "ULP gamma {:.4} {:#x}" at most 0.51; |x, w| ulp(math::gamma(x), math::gamma(w));
    ln_gamma "ULP ln_gamma {:.4} {:#x}" at most f32::INFINITY; |x, w| ulp(math::ln_gamma(x), math::ln_gamma(w));
}

/// Bits that depend on those of `x`, each by half of them.
#[inline(always)]
fn hashed(x: f32) -> u32 {
    // The finisher of MurmurHash3.
    let mut bits = x.to_bits() ^ 0x5bd1_e995;
    bits = (bits ^ bits >> 16).wrapping_mul(0x85eb_ca6b);
    bits = (bits ^ bits >> 13).wrapping_mul(0xc2b2_ae35);
    bits ^ bits >> 16
}

/// A second argument: any bits for one half of `x`, and an exponent of at most `away` from
/// `exponent` for the other.
#[inline(always)]
fn second(x: f32, exponent: u32, away: u32) -> f32 {
    let bits = hashed(x);
    if bits & 1 == 0 {
        return f32::from_bits(bits.rotate_left(9));
    }
    let exponent = (exponent + (bits >> 1) % (2 * away + 1)).max(away) - away;
    f32::from_bits(bits & 0x807f_ffff | exponent.min(254) << 23)
}

/// A power for `x`: results are finite for many.
#[inline(always)]
fn power(x: f32) -> f32 {
    second(x, 127, 10)
}

/// A number that is not much larger or smaller than `x`.
#[inline(always)]
fn near(x: f32) -> f32 {
    second(x, x.to_bits() >> 23 & 0xff, 12)
}

// Of two arguments there are too many pairs: one for each first argument.
functions! {
    powf "ULP powf {:.4} {:#x}" at most 0.88; |x, w| ulp(x.powf(power(x)), w.powf(f64::from(power(x))));
    atan2 "ULP atan2 {:.4} {:#x}" at most 1.52; |x, w| ulp(x.atan2(near(x)), w.atan2(f64::from(near(x))));
    hypot "ULP hypot {:.4} {:#x}" at most 0.93; |x, w| ulp(x.hypot(near(x)), w.hypot(f64::from(near(x))));
}

/// An error that counts only where `is_in`.
#[inline(always)]
fn within(is_in: bool, error: f32) -> f32 {
    if is_in { error } else { 0.0 }
}

/// The error itself, in units of 2⁻²⁴: half a unit in the last place of numbers just below 1.
#[inline(always)]
fn absolute(got: f32, exact: f64) -> f32 {
    let error = (f64::from(got) - exact).abs() * 16_777_216.0;
    if error.is_nan() { f32::INFINITY } else { error as f32 }
}

/// Whether `x` is a normal number: instructions of lesser precision take smaller ones for 0.
#[inline(always)]
fn is_normal(x: f32) -> bool {
    matches!(x.to_bits() >> 23 & 0xff, 1..=254)
}

/// Whether a logarithm of `x` is that of a normal number and away from its zero at 1.
#[inline(always)]
fn is_logarithmic(x: f32) -> bool {
    is_normal(x) && x > 0.0 && !(0.5..2.0).contains(&x)
}

// The approximations, in the ranges with an error in the book.
functions! {
    fast_exp "ULP fast_exp {:.4} {:#x}" at most 2.45; |x, w| within(x.abs() <= 1.0, ulp(x.fast_exp(), w.exp()));
    fast_exp_far "ULP fast_exp_far {:.4} {:#x}" at most 63.5; |x, w| within(x.abs() <= 87.0, ulp(x.fast_exp(), w.exp()));
    fast_exp2 "ULP fast_exp2 {:.4} {:#x}" at most 2.06; |x, w| within(x.abs() < 126.0, ulp(x.fast_exp2(), w.exp2()));
    fast_ln "ULP fast_ln {:.4} {:#x}" at most 3.35; |x, w| within(is_logarithmic(x), ulp(x.fast_ln(), w.ln()));
    fast_ln_near "ULP fast_ln_near {:.4} {:#x}" at most 2.93; |x, w| within((0.5..2.0).contains(&x), absolute(x.fast_ln(), w.ln()));
    fast_log2 "ULP fast_log2 {:.4} {:#x}" at most 2.31; |x, w| within(is_logarithmic(x), ulp(x.fast_log2(), w.log2()));
    fast_log2_near "ULP fast_log2_near {:.4} {:#x}" at most 3.62; |x, w| within((0.5..2.0).contains(&x), absolute(x.fast_log2(), w.log2()));
    fast_log10 "ULP fast_log10 {:.4} {:#x}" at most 2.62; |x, w| within(is_logarithmic(x), ulp(x.fast_log10(), w.log10()));
    fast_log10_near "ULP fast_log10_near {:.4} {:#x}" at most 1.09; |x, w| within((0.5..2.0).contains(&x), absolute(x.fast_log10(), w.log10()));
    fast_powf "ULP fast_powf {:.4} {:#x}" at most 18.3; |x, w| {
        let (n, exact) = (power(x), w.powf(f64::from(power(x))));
        let is_in = x > 0.5 && x < 2.0 && is_normal(n) && n.abs() <= 8.0;
        within(is_in, ulp(x.fast_powf(n), exact))
    };
    fast_sin "ULP fast_sin {:.4} {:#x}" at most 5.83; |x, w| within(w.abs() <= core::f64::consts::PI, absolute(x.fast_sin(), w.sin()));
    fast_cos "ULP fast_cos {:.4} {:#x}" at most 6.78; |x, w| within(w.abs() <= core::f64::consts::PI, absolute(x.fast_cos(), w.cos()));
    fast_tan "ULP fast_tan {:.4} {:#x}" at most 15.7; |x, w| within(x.abs() <= 1.0, absolute(x.fast_tan(), w.tan()));
    fast_tanh "ULP fast_tanh {:.4} {:#x}" at most 134.0; |x, w| absolute(x.fast_tanh(), w.tanh()).min(if x.is_nan() { 0.0 } else { f32::INFINITY });
    fast_tanh_relative "ULP fast_tanh_relative {:.4} {:#x}" at most 134.0; |x, w| within(is_normal(x), ulp(x.fast_tanh(), w.tanh()));
    fast_div "ULP fast_div {:.4} {:#x}" at most 2.12; |x, w| {
        let by = near(x);
        let exact = w / f64::from(by);
        let is_in = is_normal(x) && by.abs() >= 1.1754944e-38 && by.abs() <= 8.507059e37 && is_normal(exact as f32);
        within(is_in, ulp(x.fast_div(by), exact))
    };
    fast_recip "ULP fast_recip {:.4} {:#x}" at most 0.99; |x, w| within(is_normal(x), ulp(x.fast_recip(), 1.0 / w));
    rsqrt "ULP rsqrt {:.4} {:#x}" at most 1.52; |x, w| within(is_normal(x) && x > 0.0, ulp(x.rsqrt(), 1.0 / w.sqrt()));
}
