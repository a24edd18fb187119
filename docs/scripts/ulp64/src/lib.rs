//! The `f64` functions over random inputs: the device's results compared with the crate `libm` on
//! the host, bit for bit, and that with the host's own library, in units in the last place.
//!
//! A kernel leaves one number, a sum over the bits of all results, which the host's results must
//! give as well. The host prints the largest error, and fails if it is above the one in the book.

use gpuprof::prelude::*;

/// The `i`th input: every other one has random bits, the others lie between 2^-10 and 2^10.
#[inline(always)]
fn input(i: u64) -> f64 {
    // SplitMix64.
    let mut bits = i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    if i & 1 == 0 {
        return f64::from_bits(bits);
    }
    let exponent = 1013 + (bits >> 52) % 20;
    f64::from_bits(bits & 0x800f_ffff_ffff_ffff | exponent << 52)
}

/// A second argument: other bits of the first.
#[inline(always)]
fn second(x: f64) -> f64 {
    f64::from_bits(x.to_bits().rotate_left(21) & 0x801f_ffff_ffff_ffff | 0x3fe0_0000_0000_0000)
}

/// The contribution of the result for the `i`th input to the sum.
#[inline(always)]
fn mixed(i: u64, result: f64) -> u64 {
    let bits = if result.is_nan() { 0x7ff8_0000_0000_0000 } else { result.to_bits() };
    (bits ^ i.wrapping_mul(0x2545_f491_4f6c_dd1d)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The distance of `got` from `exact` in units in the last place of `exact`.
#[gpuprof::host]
fn ulp(got: f64, exact: f64) -> f64 {
    if got == exact || got.is_nan() && exact.is_nan() {
        return 0.0;
    }
    if !got.is_finite() || !exact.is_finite() {
        return f64::INFINITY;
    }
    let exponent = (exact.abs().to_bits() >> 52).max(1);
    let unit = f64::from_bits(exponent.saturating_sub(52).max(1) << 52);
    let unit = if exponent > 52 { unit } else { f64::from_bits(1 << (exponent - 1)) };
    (got - exact).abs() / unit
}

/// The sum over `n` inputs, by all processors, and the largest error with its input.
#[gpuprof::host]
fn summed(n: u64, ours: fn(f64) -> f64, theirs: fn(f64) -> f64) -> (u64, f64, f64) {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()) as u64;
    let part = |first: u64| -> (u64, f64, f64) {
        let (mut sum, mut worst, mut at) = (0_u64, 0.0_f64, 0.0_f64);
        for i in (first..n).step_by(threads as usize) {
            let x = input(i);
            let got = ours(x);
            sum = sum.wrapping_add(mixed(i, got));
            let error = ulp(got, theirs(x));
            if error > worst {
                (worst, at) = (error, x);
            }
        }
        (sum, worst, at)
    };
    std::thread::scope(|scope| {
        let parts: Vec<_> = (0..threads).map(|first| scope.spawn(move || part(first))).collect();
        let parts = parts.into_iter().map(|part| part.join().expect("no part panics"));
        parts.fold((0_u64, 0.0, 0.0), |(sum, worst, at), (more, error, x)| {
            let (worst, at) = if error > worst { (error, x) } else { (worst, at) };
            (sum.wrapping_add(more), worst, at)
        })
    })
}

/// Appends a function's largest error and its input to the file that `ULP64` names.
#[gpuprof::host]
fn tell(name: &str, error: f64, at: f64) {
    use std::io::Write;

    let Some(path) = std::env::var_os("ULP64") else { return };
    let file = std::fs::OpenOptions::new().create(true).append(true).open(&path);
    let written = file.and_then(|mut file| writeln!(file, "{name} {error:.3} {at:e}"));
    written.unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
}

// Functions for which std does not call the C library, but uses formulas that lose digits or
// overflow.
unsafe extern "C" {
    fn asinh(x: f64) -> f64;
    fn acosh(x: f64) -> f64;
    fn atanh(x: f64) -> f64;
    fn erf(x: f64) -> f64;
    fn erfc(x: f64) -> f64;
    fn tgamma(x: f64) -> f64;
    fn lgamma(x: f64) -> f64;
}

macro_rules! functions {
    ($($name:ident at most $limit:literal: |$x:ident| $device:expr, $ours:expr, $theirs:expr;)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of `f64`.")]
        pub mod $name {
            #[allow(unused_imports)]
            use super::*;

            /// The sum over the results for `n` inputs.
            ///
            /// # Safety
            /// `sum` points to one element.
            #[gpuprof::kernel(
                series(block = [256], n = [4096]),
                grid = n.div_ceil(block).min(4096),
                args(n, zeros(1)),
                verify = on_host,
            )]
            pub unsafe fn $name(n: u64, sum: *mut u64) {
                let (mut i, mut own) = (u64::from(thread::global_x()), 0_u64);
                while i < n {
                    let $x = input(i);
                    own = own.wrapping_add(mixed(i, $device));
                    i += u64::from(block::dim_x() * grid::dim_x());
                }
                // SAFETY: the pointer is to one element.
                unsafe { atomic::add(sum, own) };
            }

            #[gpuprof::host]
            fn on_host(n: u64, sum: &mut [u64]) {
                let (of_all, worst, at) = summed(n, |$x| $ours, |$x| $theirs);
                tell(stringify!($name), worst, at);
                sum[0] = if worst <= $limit { of_all } else { !of_all };
            }
        }
    )*};
}

// The limits are the book's; `ln_gamma` has none.
// SAFETY of the C functions: they take any number, and touch no memory.
functions! {
    exp at most 1.0: |x| x.exp(), libm::exp(x), x.exp();
    exp2 at most 1.0: |x| x.exp2(), libm::exp2(x), x.exp2();
    exp_m1 at most 1.0: |x| x.exp_m1(), libm::expm1(x), x.exp_m1();
    ln at most 1.0: |x| x.ln(), libm::log(x), x.ln();
    log2 at most 1.0: |x| x.log2(), libm::log2(x), x.log2();
    log10 at most 2.0: |x| x.log10(), libm::log10(x), x.log10();
    ln_1p at most 1.0: |x| x.ln_1p(), libm::log1p(x), x.ln_1p();
    sin at most 1.0: |x| x.sin(), libm::sin(x), x.sin();
    cos at most 1.0: |x| x.cos(), libm::cos(x), x.cos();
    tan at most 1.0: |x| x.tan(), libm::tan(x), x.tan();
    asin at most 1.0: |x| x.asin(), libm::asin(x), x.asin();
    acos at most 1.0: |x| x.acos(), libm::acos(x), x.acos();
    atan at most 1.0: |x| x.atan(), libm::atan(x), x.atan();
    sinh at most 2.0: |x| x.sinh(), libm::sinh(x), x.sinh();
    cosh at most 2.0: |x| x.cosh(), libm::cosh(x), x.cosh();
    tanh at most 3.0: |x| x.tanh(), libm::tanh(x), x.tanh();
    asinh_of at most 1.0: |x| x.asinh(), libm::asinh(x), unsafe { asinh(x) };
    acosh_of at most 1.0: |x| x.acosh(), if x >= 1.0 { libm::acosh(x) } else { f64::NAN }, unsafe { acosh(x) };
    atanh_of at most 1.0: |x| x.atanh(), libm::atanh(x), unsafe { atanh(x) };
    cbrt at most 0.0: |x| x.cbrt(), libm::cbrt(x), x.cbrt();
    powf at most 1.0: |x| x.powf(second(x)), libm::pow(x, second(x)), x.powf(second(x));
    atan2 at most 2.0: |x| x.atan2(second(x)), libm::atan2(x, second(x)), x.atan2(second(x));
    hypot at most 1.0: |x| x.hypot(second(x)), libm::hypot(x, second(x)), x.hypot(second(x));
    erf_of at most 1.0: |x| math::erf(x), libm::erf(x), unsafe { erf(x) };
    erfc_of at most 5.0: |x| math::erfc(x), libm::erfc(x), unsafe { erfc(x) };
    gamma_of at most 12.0: |x| math::gamma(x), libm::tgamma(x), unsafe { tgamma(x) };
    ln_gamma_of at most 1e30: |x| math::ln_gamma(x), libm::lgamma(x), unsafe { lgamma(x) };
}
