//! Annotate Rust CUDA kernels with launch-parameter series; `cargo gpuprof` sweeps and gates them.
//!
//! A kernel is an ordinary `unsafe fn` of your library. [`macro@kernel`] declares the launch
//! parameters to sweep, the arguments, and the thresholds:
//!
//! ```
//! use gpuprof::prelude::*;
//!
//! /// y ← a·x + y
//! #[gpuprof::kernel(
//!     series(block = 64..=1024, n = [1M]),
//!     grid = n.div_ceil(block),
//!     args(n, 2.0, random(n), random(n)),
//!     bytes = 12 * n,
//!     threshold("every load_sectors_per_request <= 4"),
//!     verify = saxpy_on_host,
//! )]
//! pub unsafe fn saxpy(n: u32, a: f32, x: *const f32, y: *mut f32) {
//!     let i = thread::global_x();
//!     if i < n {
//!         unsafe { *y.add(i as usize) += a * *x.add(i as usize) };
//!     }
//! }
//!
//! /// The expected `y`.
//! fn saxpy_on_host(_n: u32, a: f32, x: &[f32], y: &mut [f32]) {
//!     y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
//! }
//! ```
//!
//! The harness is a bench target with `harness = false` that calls [`main!`]; `cargo gpuprof run`
//! builds both, measures every configuration, on a GPU or on the emulated driver, and ends with an
//! exit code that can gate a merge.
//!
//! # Where to start
//!
//! | to … | see |
//! |---|---|
//! | annotate a kernel | [`macro@kernel`], with all its keys |
//! | profile other launches: CUDA C++, libraries | [`macro@series`], [`Run`] |
//! | index threads, synchronise and exchange | [`thread`], [`block`], [`grid`], [`warp`] |
//! | take slices, vectors and halves | [`DisjointSlice`], [`f32x4`], [`struct@f16`] |
//! | share memory | [`shared!`](macro@shared), [`Shared`], [`atomic`] |
//! | compute | [`FloatMath`], [`FastMath`], [`Real`] |
//! | keep code out of the kernel build | [`macro@host`] |
//!
//! CUDA's names (`threadIdx`, `__syncthreads`, `atomicAdd`) find their counterparts in the search.
//!
//! # Two halves
//!
//! The *device half* contains the functions and types for kernels. It compiles without `std` for
//! `nvptx64-nvidia-cuda`, and type-checks on the host, where a call panics with a message that says
//! so. The *host half* is the harness: the registry that the attributes fill at link time, and the
//! collectors that `cargo gpuprof` asks for one configuration and one pass at a time.

#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(stdarch_nvptx, asm_experimental_arch, link_llvm_intrinsics, abi_unadjusted, repr_simd)
)]
#![cfg_attr(target_arch = "nvptx64", allow(internal_features))]

mod device;
#[cfg(not(target_arch = "nvptx64"))]
mod host;

pub use device::*;

/// Lets kernels take a struct with `#[repr(C)]` by value; each field must be a number, a `bool`, an
/// array of these, or such a struct.
///
/// ```
/// use gpuprof::prelude::*;
///
/// #[derive(Clone, Copy, gpuprof::Parameter)]
/// #[repr(C)]
/// pub struct Weights {
///     of: [f32; 3],
///     normalised: bool,
/// }
///
/// /// y ← the weighted sum of each element and its neighbours
/// #[gpuprof::kernel(
///     series(block = [256], n = [1K]),
///     grid = n / block,
///     args(Weights { of: [0.25, 0.5, 0.25], normalised: true }, random(n), zeros(n)),
/// )]
/// pub fn blur(weights: Weights, x: &[f32], mut y: DisjointSlice<f32>) {
///     let i = thread::index_1d();
///     let (before, after) = (i.get().max(1) - 1, (i.get() + 1).min(x.len() - 1));
///     let [a, b, c] = weights.of;
///     let sum = if weights.normalised { 1.0 } else { a + b + c };
///     y[i] = (a * x[before] + b * x[i.get()] + c * x[after]) / sum;
/// }
/// ```
#[doc(inline)]
pub use gpuprof_macros::Parameter;

/// Puts a static into constant memory, for kernels to read.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// A binomial filter.
/// #[gpuprof::constant]
/// static FILTER: [f32; 5] = [0.0625, 0.25, 0.375, 0.25, 0.0625];
///
/// /// y ← x smoothed
/// #[gpuprof::kernel(
///     series(block = 64..=1024, n = [1M]),
///     grid = n.div_ceil(block),
///     args(random(n + 4), zeros(n)),
///     verify = smooth_on_host,
/// )]
/// pub fn smooth(x: &[f32], mut y: DisjointSlice<f32>) {
///     let i = thread::index_1d();
///     if let Some(y) = y.get_mut(i) {
///         *y = (0..5).map(|k| FILTER.read(k) * x[i.get() + k as usize]).sum();
///     }
/// }
///
/// fn smooth_on_host(x: &[f32], y: &mut [f32]) {
///     for (y, x) in y.iter_mut().zip(x.windows(5)) {
///         *y = (0..5).map(|k| FILTER.read(k) * x[k as usize]).sum();
///     }
/// }
/// ```
#[doc(inline)]
pub use gpuprof_macros::constant;

/// Prints a line from a kernel, by CUDA's `vprintf`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Tells which elements are negative.
/// #[gpuprof::kernel(
///     series(block = [64], n = [256]),
///     grid = n / block,
///     args(random_in(n, -1.0..1.0)),
/// )]
/// pub fn find(x: &[f32]) {
///     let i = thread::index_1d().get();
///     let value = x[i];
///     if value < 0.0 {
///         device_print!("x[{i}] is {value:.3} in block {}", block::x());
///     }
/// }
/// ```
#[doc(inline)]
pub use gpuprof_macros::device_print;
/// Dynamic shared memory: `dynamic_shared!(T)` gives a handle on all of it as elements of `T`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Sums each block's part of `x`: one float of shared memory for each thread.
/// #[gpuprof::kernel(
///     series(block = 64..=1024, n = [1M]),
///     grid = n.div_ceil(block),
///     shared = 4 * block,
///     args(random(n), zeros(n.div_ceil(block))),
/// )]
/// pub unsafe fn sum(x: *const f32, sums: *mut f32) {
///     let tile = dynamic_shared!(f32);
///     unsafe { tile.write(thread::x(), *x.add(thread::global_x() as usize)) };
///     block::sync();
///     if thread::x() == 0 {
///         let sum: f32 = (0..tile.len()).map(|i| unsafe { tile.read(i) }).sum();
///         unsafe { *sums.add(block::x() as usize) = sum };
///     }
/// }
/// ```
#[doc(inline)]
pub use gpuprof_macros::dynamic_shared;
/// Keeps an item out of the kernel build: for functions and imports that need `std`.
///
/// ```
/// /// A reference for `verify` that allocates, which no kernel can.
/// #[gpuprof::host]
/// fn sort_on_host(_n: u32, x: &mut [u32]) {
///     let mut sorted = x.to_vec();
///     sorted.sort_unstable();
///     x.copy_from_slice(&sorted);
/// }
/// ```
#[doc(inline)]
pub use gpuprof_macros::host;
/// Makes an `unsafe fn` a CUDA kernel with a series of launch parameters.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// y ← a·x + y
/// #[gpuprof::kernel(
///     series(block = 64..=1024, n = [1M, 16M]),
///     grid = n.div_ceil(block),
///     args(n, 2.0, random(n), random(n)),
///     bytes = 12 * n,
///     flops = 2 * n,
///     metrics(throughput, load_sectors_per_request),
///     threshold("every load_sectors_per_request <= 4"),
///     verify = saxpy_on_host,
/// )]
/// pub unsafe fn saxpy(n: u32, a: f32, x: *const f32, y: *mut f32) {
///     let i = thread::global_x();
///     if i < n {
///         unsafe { *y.add(i as usize) += a * *x.add(i as usize) };
///     }
/// }
///
/// fn saxpy_on_host(_n: u32, a: f32, x: &[f32], y: &mut [f32]) {
///     y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
/// }
/// ```
#[doc(inline)]
pub use gpuprof_macros::kernel;
/// Declares kernels that live in CUDA C++ files or in PTX, with a series of launch parameters each.
///
/// ```
/// #[gpuprof::kernels(cuda = "../examples/cuda-cpp/kernels/jacobi.cu")]
/// unsafe extern "C" {
///     /// One Jacobi step of the Laplace equation on an n by n grid
///     #[kernel(
///         series(block = [8x32, 16x16, 32x8, 64x4], n = [1K]),
///         grid = (n.div_ceil(block.x), n.div_ceil(block.y)),
///         args(n, random(n * n), zeros(n * n)),
///         threshold("every store_sectors_per_request <= 4"),
///     )]
///     fn jacobi(n: u32, before: *const f32, after: *mut f32);
/// }
/// ```
#[doc(inline)]
pub use gpuprof_macros::kernels;
/// Registers a host function that launches kernels from anywhere, with a series of parameters.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// A copy on the device, to compare any kernel's throughput with.
/// #[gpuprof::series(n = [1M, 16M], metrics(duration, throughput))]
/// fn copy(run: &mut Run<'_>) -> gpuprof::Result<()> {
///     let n = run.value::<usize>("n")?;
///     let stream = run.stream();
///     let from = stream.alloc_zeros::<u8>(n)?;
///     let mut to = stream.alloc_zeros::<u8>(n)?;
///     run.bytes(2 * n)?;
///     run.measure(|_| Ok(stream.memcpy_dtod(&from, &mut to)?))
/// }
/// ```
#[doc(inline)]
pub use gpuprof_macros::series;
/// Static shared memory: `shared!([T; N])` gives a handle on `N` elements that the block shares.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Reverses the block's part of `x`, which is at most 256 elements.
/// unsafe fn reverse_in_block(x: *mut f32) {
///     let tile = shared!([f32; 256]);
///     let i = thread::global_x() as usize;
///     unsafe { tile.write(thread::x(), *x.add(i)) };
///     block::sync();
///     unsafe { *x.add(i) = tile.read(block::dim_x() - 1 - thread::x()) };
/// }
/// ```
#[doc(inline)]
pub use gpuprof_macros::shared;

/// The CUDA driver as [`Run`] hands it out: contexts, streams, buffers and launches.
///
/// ```
/// use std::sync::Arc;
///
/// use gpuprof::cudarc::driver::{CudaSlice, CudaStream, DriverError};
///
/// /// Allocates on the device and copies there, as `cudaMalloc` and `cudaMemcpy` do.
/// fn upload(stream: &Arc<CudaStream>, x: &[f32]) -> Result<CudaSlice<f32>, DriverError> {
///     let mut on_device = stream.alloc_zeros::<f32>(x.len())?;
///     stream.memcpy_htod(x, &mut on_device)?;
///     Ok(on_device)
/// }
/// ```
#[doc(alias("cudaMalloc", "cudaMemcpy", "cudaMemset", "cuLaunchKernel"))]
#[cfg(not(target_arch = "nvptx64"))]
pub use cudarc;
/// The value of an axis, as [`AxisType::from_axis`] reads it.
///
/// ```
/// use gpuprof::AxisValue;
///
/// assert_eq!(AxisValue::Int(1024).to_string(), "1024");
/// assert_eq!(AxisValue::Word("f16".into()).to_string(), "f16");
/// ```
#[doc(inline)]
#[cfg(not(target_arch = "nvptx64"))]
pub use gpuprof_model::AxisValue;
#[cfg(not(target_arch = "nvptx64"))]
pub use host::{
    AxisType, Error, Extent, IntoExtent, IntoNumber, Kernel, KernelLauncher, Launch, Launched,
    NamedRanges, Parameter, RawFunction, Result, Run,
};

/// The items that kernels and series functions usually need.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Doubles every element of `x`.
/// #[gpuprof::kernel(
///     series(block = 64..=1024, n = [1M]),
///     grid = n.div_ceil(block),
///     args(n, random(n)),
/// )]
/// pub unsafe fn double(n: u32, x: *mut f32) {
///     let i = thread::global_x();
///     if i < n {
///         unsafe { *x.add(i as usize) *= 2.0 };
///     }
/// }
/// ```
pub mod prelude {
    pub use crate::device::prelude::*;
    #[cfg(not(target_arch = "nvptx64"))]
    pub use crate::host::{Launch, Run};
    pub use gpuprof_macros::{device_print, dynamic_shared, shared};
}

/// Not public API: the expansion of the attribute macros and [`main!`] uses it. No stability
/// promised.
#[doc(hidden)]
#[cfg(not(target_arch = "nvptx64"))]
pub mod __private {
    pub use crate::host::private::*;
    pub use linkme;
}

/// Defines `main` of a harness target (`harness = false`).
///
/// Name every crate with kernels of the harness: the linker leaves out a crate that no code names,
/// together with its registrations.
///
/// `Cargo.toml`:
///
/// ```toml
/// [[bench]]
/// name = "kernels"
/// harness = false
/// ```
///
/// `benches/kernels.rs`:
///
/// ```no_run
/// # extern crate std as my_kernels;
/// gpuprof::main!(my_kernels);
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
                marker: $crate::__private::HARNESS_MARKER,
            })
        }
    };
}

/// The examples of the README compile as well.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// So do those of the book's pages on kernels.
#[cfg(doctest)]
mod book {
    #[doc = include_str!("../../docs/book/src/inputs.md")]
    struct Inputs;

    #[doc = include_str!("../../docs/book/src/mathematics.md")]
    struct Mathematics;

    #[doc = include_str!("../../docs/book/src/slices.md")]
    struct Slices;

    #[doc = include_str!("../../docs/book/src/halves.md")]
    struct Halves;

    #[doc = include_str!("../../docs/book/src/panics.md")]
    struct Panics;

    #[doc = include_str!("../../docs/book/src/atomics.md")]
    struct Atomics;

    #[doc = include_str!("../../docs/book/src/warps.md")]
    struct Warps;

    #[doc = include_str!("../../docs/book/src/shared-memory.md")]
    struct SharedMemory;

    #[doc = include_str!("../../docs/book/src/constant-memory.md")]
    struct ConstantMemory;
}
