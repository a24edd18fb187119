//! Mathematics of floats: `std`'s functions by `std`'s names, fast approximations, and what neither
//! has.
//!
//! `core` has no `sqrt` and no `exp`, so in a kernel a trait, [`FloatMath`], supplies them under
//! the names that `std` has; on the host the inherent methods win, and the same source compiles on
//! both sides. [`FastMath`] has the approximations of the special function unit under names of
//! their own.
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
