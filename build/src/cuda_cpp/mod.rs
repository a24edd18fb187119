//! CUDA C++ to PTX by NVRTC, without a CUDA toolkit, or by nvcc.
//!
//! Input: a [`Program`]: the sources of a package, their options, and every kernel instance that
//! the package declares. Output: [`Compiled`]: PTX with those kernels and their references, the
//! name of each one there, and the compiler's warnings; or an [`Error`] that shows the compiler's
//! messages as cargo shows rustc's.
//!
//! Invariants:
//! * NVRTC runs in a child process, as nvcc does. It holds one lock for a whole compile, and it can
//!   abort.
//! * The same sources, headers, options and compiler give the same bytes. Paths in the PTX start at
//!   the package, and the cache goes by contents, never by times.
//! * An instance that does not compile, or does not fit its declaration, does not affect the
//!   others.

mod cache;
mod compile;
mod compiled;
mod compiler_choice;
mod device_compiler;
mod diagnostic;
mod error;
mod kernel_names;
mod newer_architecture;
pub mod nvcc;
mod nvrtc;
mod parallel;
mod program;
mod ptx;
mod roots;
mod shims;
mod signature;

pub use cache::Cache;
pub use compile::compile;
pub use compiled::{Compiled, Hash};
pub use compiler_choice::Compilers;
pub use diagnostic::{Diagnostic, Note, Severity, Span};
pub use error::Error;
pub use nvcc::Nvcc;
pub use nvrtc::{Compiler, INSTALL, NVRTC, NotFound, SUBCOMMAND, Search, run_child};
pub use parallel::compile_all;
pub use program::{Architecture, Declared, FilePosition, Instance, Layout, Program};
pub use ptx::{Entry, Variable, constants_without_value, cut, every_entry, variables};
