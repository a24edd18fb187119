//! Mathematics of floats: `std`'s functions by `std`'s names, fast approximations, and further
//! functions.
//!
//! `core` has no `sqrt` and no `exp`, so in a kernel a trait, [`FloatMath`], supplies them under
//! the names of `std`; on the host the inherent methods win, and the same source compiles on both
//! sides. [`FastMath`] has the approximations of the special function unit under separate names.
//!
//! ```
//! use gpuprof::prelude::*;
//!
//! /// The normal distribution's density, in a kernel and on the host.
//! fn density(x: f32) -> f32 {
//!     (-0.5 * x * x).exp() / core::f32::consts::TAU.sqrt()
//! }
//! assert!((density(0.0) - 0.398_942).abs() < 1e-6);
//! ```

/// `$x` to a whole power, as `std` multiplies.
macro_rules! powi {
    ($x:ident, $n:ident) => {{
        let (mut power, mut square, mut left) = (1.0, $x, $n.unsigned_abs());
        loop {
            if left & 1 == 1 {
                power *= square;
            }
            left >>= 1;
            if left == 0 {
                break;
            }
            square *= square;
        }
        if $n < 0 { 1.0 / power } else { power }
    }};
}

mod fast;
mod float;
mod halves;
#[cfg(target_arch = "nvptx64")]
mod on_device;
#[cfg(not(target_arch = "nvptx64"))]
mod on_host;
mod real;
#[doc(hidden)]
pub mod single;
mod special;
#[cfg(test)]
mod tests;

pub use fast::FastMath;
pub use float::FloatMath;
pub use real::Real;
pub use special::{erf, erfc, gamma, ln_gamma};

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}
