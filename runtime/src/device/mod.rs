//! The device half: the functions and types for kernels.
//!
//! Every function here compiles for `nvptx64-nvidia-cuda`, where it is one or a few PTX
//! instructions, and for the host, where kernels type-check and documentation builds. On the host,
//! a function that depends on a running kernel panics with a message that says so; arithmetic works
//! on both sides.
//!
//! Two rules keep the PTX right. Operations that must not move across divergent control flow
//! (barriers, shuffles, votes) are LLVM intrinsics, because those are `convergent` and inline
//! assembly is not. Operations for which LLVM has no address space or scope (shared memory, atomics
//! at GPU scope) are inline assembly of one typed instruction.

#[macro_use]
mod function;

pub mod atomic;
pub mod bits;
pub mod block;
mod constant;
mod disjoint;
pub mod fence;
pub mod grid;
mod half;
mod index;
#[cfg(target_arch = "nvptx64")]
mod intrinsics;
pub mod math;
#[cfg(target_arch = "nvptx64")]
mod panic;
mod print;
mod shared;
#[cfg(target_arch = "nvptx64")]
mod shared_words;
pub mod thread;
mod vector;
pub mod warp;
#[cfg(target_arch = "nvptx64")]
mod words;

pub use constant::{Constant, ConstantArray};
pub use disjoint::DisjointSlice;
pub use half::{bf16, bf16x2, f16, f16x2};
pub use index::ThreadIndex;
pub use math::{FastMath, FloatMath, Real};
pub use shared::{Shared, SharedElement, SharedIndex, Slot};
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) use vector::every_vector;
pub use vector::*;

/// Not public API: the expansion of `device_print!`. No stability promised.
#[doc(hidden)]
pub mod __print {
    pub use super::print::{Printable, Text, Values, print};
}

/// Not public API: the expansion of `#[kernel]` on the device. No stability promised.
#[doc(hidden)]
#[cfg(target_arch = "nvptx64")]
pub mod __device {
    pub use super::disjoint::{disjoint, slice};
}

/// The device half's share of the crate's prelude.
pub(crate) mod prelude {
    pub use super::half::{bf16, bf16x2, f16, f16x2};
    pub use super::vector::*;
    pub use super::{
        Constant, DisjointSlice, FastMath, FloatMath, Real, Shared, SharedElement, atomic, bits,
        block, fence, grid, math, thread, warp,
    };
}
