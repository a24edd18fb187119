//! Annotate Rust CUDA kernels with launch-parameter series; `cargo gpuprof` sweeps and gates them.
//!
//! This crate has two halves. The *device half* ([`thread`], [`block`], [`grid`], [`warp`],
//! [`atomic`], [`Shared`], [`FloatMath`]) is what kernels are written with; it compiles without
//! `std` for `nvptx64-nvidia-cuda`, and type-checks on the host. The *host half* is the harness:
//! the registry that [`macro@kernel`] and [`macro@series`] fill at link time, [`main!`], and the
//! collectors that `cargo gpuprof` asks for one configuration and one pass at a time.
//!
//! ```
//! use gpuprof::prelude::*;
//!
//! /// y ← a·x + y
//! #[gpuprof::kernel(
//!     series(block = 64..1024, n = [1M]),
//!     grid = n.div_ceil(block),
//!     args(n, 2.0, random(n), random(n)),
//!     bytes = 12 * n,
//!     threshold("best throughput >= 60% of peak"),
//! )]
//! pub unsafe fn saxpy(n: u32, a: f32, x: *const f32, y: *mut f32) {
//!     let i = thread::global_x();
//!     if i < n {
//!         unsafe { *y.add(i as usize) += a * *x.add(i as usize) };
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! The harness is a bench target without libtest's harness (`harness = false`):
//!
//! ```no_run
//! # mod my_kernels {}
//! # use gpuprof as _;
//! // benches/kernels.rs
//! // gpuprof::main!(my_kernels);
//! ```

#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(stdarch_nvptx, asm_experimental_arch, link_llvm_intrinsics)
)]
#![cfg_attr(target_arch = "nvptx64", allow(internal_features))]

mod device;
#[cfg(not(target_arch = "nvptx64"))]
mod host;

pub use device::*;
pub use gpuprof_macros::{dynamic_shared, host, kernel, series, shared};

#[cfg(not(target_arch = "nvptx64"))]
pub use cudarc;
#[cfg(not(target_arch = "nvptx64"))]
pub use host::{AxisType, Error, Extent, IntoExtent, Launch, Result, Run};

/// What kernels and series functions usually need.
pub mod prelude {
    pub use crate::device::prelude::*;
    #[cfg(not(target_arch = "nvptx64"))]
    pub use crate::host::{Launch, Run};
    pub use gpuprof_macros::{dynamic_shared, shared};
}

/// Not public API: what the attribute macros and [`main!`] expand to. No stability promised.
#[doc(hidden)]
#[cfg(not(target_arch = "nvptx64"))]
pub mod __private {
    pub use crate::host::private::*;
    pub use linkme;
}

/// Defines `main` of a harness target (`harness = false`).
///
/// Names the crates whose kernels belong to the harness: a crate that no code names is left out by
/// the linker together with its registrations.
///
/// ```ignore
/// gpuprof::main!(my_kernels, other_kernels);
/// ```
#[cfg(not(target_arch = "nvptx64"))]
#[macro_export]
macro_rules! main {
    ($($krate:path),* $(,)?) => {
        $(#[allow(unused_imports)] use $krate as _;)*
        fn main() -> ::std::process::ExitCode {
            $crate::__private::harness_main(&$crate::__private::HarnessTarget {
                package: ::core::env!("CARGO_PKG_NAME"),
                target: ::core::env!("CARGO_CRATE_NAME"),
            })
        }
    };
}
