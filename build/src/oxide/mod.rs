//! Kernels of NVIDIA's Rust compiler, cuda-oxide: it is found and called, and what it left in a
//! harness is read.
//!
//! Input: a workspace with packages that depend on `cuda-host`. Output: the [`Compiler`] that
//! builds their harnesses, and from a harness its [`Bundle`]s of device code. None of cuda-oxide's
//! crates is needed for that: the backend is a file that rustc loads, and the device code lies in a
//! section of the executable, in a format of its own.

mod backend;
mod bundle;
mod compiler;
mod packages;
mod project;

pub use backend::{Backend, NotFound, Search};
pub use bundle::{Bundle, Payload, bundles};
pub use compiler::{Compiler, Made};
pub use packages::is_compiled;

/// The package that every crate with kernels of cuda-oxide depends on.
pub const HOST: &str = "cuda-host";
