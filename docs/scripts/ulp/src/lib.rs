//! The largest error of every `f32` function of `FloatMath`, in units in the last place, over all
//! 2³² bit patterns: a kernel for each function, which compares with the `f64` function of the same
//! name. Every `step`th pattern is looked at; 1 is all of them.
//!
//! The thread that finishes last prints the error and where it is. `verify` fails where an error is
//! above the one that the book tells.

use gpuprof::prelude::*;

/// Blocks of a launch, each of which looks at every so many patterns.
const BLOCKS: u32 = 4096;

/// The distance of `got` from `exact` in units in the last place of the nearest `f32`; infinite
/// where one is a number and the other is none.
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
/// `beyond` becomes 1 if it is above `limit`. Both counters are 0 again afterwards.
///
/// # Safety
/// All threads of the block call it, once; the pointers point to one element each.
#[inline(always)]
unsafe fn largest(
    own: u64,
    limit: f32,
    worst: *mut u64,
    finished: *mut u32,
    beyond: *mut u32,
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
        atomic::exchange(beyond, u32::from(error > limit));
        Some((error, at))
    }
}

macro_rules! functions {
    ($($name:ident $line:literal at most $limit:literal: |$x:ident, $wide:ident| $ours:expr, $exact:expr;)*) => {$(
        #[doc = concat!("`", stringify!($ours), "` of `f32`.")]
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
            pub unsafe fn $name(step: u32, worst: *mut u64, finished: *mut u32, beyond: *mut u32) {
                let (mut at, mut own) = (u64::from(thread::global_x()) * u64::from(step), 0);
                let threads = u64::from(block::dim_x() * grid::dim_x());
                while at <= u64::from(u32::MAX) {
                    let $x = f32::from_bits(at as u32);
                    let $wide = f64::from($x);
                    own = packed(ulp($ours, $exact), at as u32).max(own);
                    at += threads * u64::from(step);
                }
                // SAFETY: the whole block is here, and the pointers are to one element each.
                let told = unsafe { largest(own, $limit, worst, finished, beyond) };
                if let Some((error, at)) = told {
                    device_print!($line, error, at);
                }
            }

            /// Counters at 0, and no error beyond the limit.
            fn on_host(_step: u32, worst: &mut [u64], finished: &mut [u32], beyond: &mut [u32]) {
                worst.fill(0);
                finished.fill(0);
                beyond.fill(0);
            }
        }
    )*};
}

// The limits are the book's; `ln_gamma` has none.
functions! {
    exp "ULP exp {:.4} {:#x}" at most 1.09: |x, w| x.exp(), w.exp();
    exp2 "ULP exp2 {:.4} {:#x}" at most 0.87: |x, w| x.exp2(), w.exp2();
    exp_m1 "ULP exp_m1 {:.4} {:#x}" at most 0.82: |x, w| x.exp_m1(), w.exp_m1();
    ln "ULP ln {:.4} {:#x}" at most 1.08: |x, w| x.ln(), w.ln();
    log2 "ULP log2 {:.4} {:#x}" at most 1.28: |x, w| x.log2(), w.log2();
    log10 "ULP log10 {:.4} {:#x}" at most 1.10: |x, w| x.log10(), w.log10();
    ln_1p "ULP ln_1p {:.4} {:#x}" at most 0.84: |x, w| x.ln_1p(), w.ln_1p();
    sin "ULP sin {:.4} {:#x}" at most 1.50: |x, w| x.sin(), w.sin();
    cos "ULP cos {:.4} {:#x}" at most 1.50: |x, w| x.cos(), w.cos();
    tan "ULP tan {:.4} {:#x}" at most 3.54: |x, w| x.tan(), w.tan();
    asin "ULP asin {:.4} {:#x}" at most 0.75: |x, w| x.asin(), w.asin();
    acos "ULP acos {:.4} {:#x}" at most 0.92: |x, w| x.acos(), w.acos();
    atan "ULP atan {:.4} {:#x}" at most 0.86: |x, w| x.atan(), w.atan();
    sinh "ULP sinh {:.4} {:#x}" at most 1.83: |x, w| x.sinh(), w.sinh();
    cosh "ULP cosh {:.4} {:#x}" at most 1.36: |x, w| x.cosh(), w.cosh();
    tanh "ULP tanh {:.4} {:#x}" at most 1.34: |x, w| x.tanh(), w.tanh();
    asinh "ULP asinh {:.4} {:#x}" at most 1.78: |x, w| x.asinh(), w.asinh();
    acosh "ULP acosh {:.4} {:#x}" at most 2.01: |x, w| x.acosh(), w.acosh();
    atanh "ULP atanh {:.4} {:#x}" at most 1.73: |x, w| x.atanh(), w.atanh();
    cbrt "ULP cbrt {:.4} {:#x}" at most 0.51: |x, w| x.cbrt(), w.cbrt();
    erf "ULP erf {:.4} {:#x}" at most 0.97: |x, w| math::erf(x), math::erf(w);
    erfc "ULP erfc {:.4} {:#x}" at most 3.30: |x, w| math::erfc(x), math::erfc(w);
    gamma "ULP gamma {:.4} {:#x}" at most 0.51: |x, w| math::gamma(x), math::gamma(w);
    ln_gamma "ULP ln_gamma {:.4} {:#x}" at most 1e30: |x, w| math::ln_gamma(x), math::ln_gamma(w);
}

/// A second argument: other bits of the first.
#[inline(always)]
fn second(x: f32) -> f32 {
    f32::from_bits(x.to_bits().rotate_left(7) ^ 0x3f00_0000)
}

// Of two arguments there are too many pairs: one for each first argument.
functions! {
    powf "ULP powf {:.4} {:#x}" at most 1.50: |x, w| x.powf(second(x)), w.powf(f64::from(second(x)));
    atan2 "ULP atan2 {:.4} {:#x}" at most 1.50: |x, w| x.atan2(second(x)), w.atan2(f64::from(second(x)));
    hypot "ULP hypot {:.4} {:#x}" at most 1.50: |x, w| x.hypot(second(x)), w.hypot(f64::from(second(x)));
}
