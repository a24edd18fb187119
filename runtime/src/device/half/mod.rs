//! Half precision: [`f16`](struct@f16) (IEEE's binary16) and [`bf16`] (`f32` without its lower half), and pairs
//! of them, [`f16x2`] and [`bf16x2`], with one instruction per operation on both.
//!
//! They are the same types in a kernel and on the host, with the same results: sums, differences,
//! products, quotients, square roots and fused multiply-adds are rounded once, to nearest and ties
//! to even, and a result that is not a number has the bits `0x7fff`. In a kernel `+`, `-`, `*` and
//! [`mul_add`](f16::mul_add) are one instruction of the hardware each.
//!
//! ```
//! use gpuprof::prelude::*;
//!
//! /// y ← a·x + y, in half precision.
//! #[gpuprof::kernel(
//!     series(block = 64..=1024, n = [1M]),
//!     grid = n.div_ceil(block),
//!     args(2.0, random(n), random(n)),
//!     bytes = 6 * n,
//!     verify = saxpy_on_host,
//! )]
//! pub fn saxpy(a: f16, x: &[f16], mut y: DisjointSlice<f16>) {
//!     let i = thread::index_1d();
//!     if let Some(y) = y.get_mut(i) {
//!         *y = a.mul_add(x[i.get()], *y);
//!     }
//! }
//!
//! fn saxpy_on_host(a: f16, x: &[f16], y: &mut [f16]) {
//!     y.iter_mut().zip(x).for_each(|(y, x)| *y = a.mul_add(*x, *y));
//! }
//! ```

#[cfg(not(target_arch = "nvptx64"))]
mod on_host;
mod pair;
mod scalar;
#[cfg(test)]
mod tests;

pub use pair::{bf16x2, f16x2};
pub use scalar::{bf16, f16};
