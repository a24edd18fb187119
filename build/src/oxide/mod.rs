//! Kernels of NVIDIA's Rust compiler, cuda-oxide: finds and calls it, and reads its output in a
//! harness.
//!
//! Input: a workspace with packages that depend on `cuda-host`. Output: the [`Compiler`] that
//! builds their harnesses, and from a harness its [`Bundle`]s of device code. This needs none of
//! cuda-oxide's crates: the backend is a file that rustc loads, and the device code is in a section
//! of the executable with its own format.

mod backend;
mod bundle;
mod compiler;
mod packages;
mod project;

pub use backend::{Backend, NotFound, Search};
pub use bundle::{Bundle, Payload, bundles};
pub use compiler::{Compiler, CompilerIdentity};
pub use packages::is_compiled;

/// The package that every crate with kernels of cuda-oxide depends on.
pub const HOST: &str = "cuda-host";
