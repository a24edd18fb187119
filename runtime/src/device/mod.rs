//! The device half: what kernels are written with.
//!
//! Every function here compiles for `nvptx64-nvidia-cuda`, where it is one or a few PTX
//! instructions, and for the host, where it lets kernels type-check and documentation build. On the
//! host, what depends on a running kernel panics with a message that says so; arithmetic works on
//! both sides.
//!
//! Two rules keep the PTX right. What must not move across divergent control flow (barriers,
//! shuffles, votes) is an LLVM intrinsic, because those are `convergent` and inline assembly is
//! not. What LLVM has no address space or scope for (shared memory, atomics at GPU scope) is inline
//! assembly of one typed instruction.

#[macro_use]
mod function;

pub mod atomic;
pub mod block;
pub mod grid;
#[cfg(target_arch = "nvptx64")]
mod intrinsics;
pub mod math;
#[cfg(target_arch = "nvptx64")]
mod panic;
mod shared;
pub mod thread;
pub mod warp;

pub use math::{FastMath, FloatMath};
pub use shared::{Shared, SharedElement};

/// The device half's share of the crate's prelude.
pub(crate) mod prelude {
    pub use super::{FastMath, FloatMath, Shared, atomic, block, grid, math, thread, warp};
}
