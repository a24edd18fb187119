#![doc = include_str!("../README.md")]
//!
//! # Inside
//!
//! Input: calls of a program that nvcc built. Output: calls of the driver. `registry` knows the
//! program's kernels and variables, and the other modules have one group of functions each, most of
//! which only forward. `unsupported` has the rest of the runtime's names.
//!
//! Nothing here is NVIDIA's: names, numbers and layouts are those of the public headers.

mod device;
mod driver;
mod error;
mod function;
mod graph;
mod launch;
mod macros;
mod memcpy_areas;
mod memory;
mod pointers;
mod pool;
mod properties;
mod registry;
mod stream;
mod structures;
mod unsupported;

/// The folder of this crate's source, for a tool that compiles it with one `rustc` call.
/// Empty in a build that cargo did not make.
pub const SOURCE_DIR: &str = match option_env!("CARGO_MANIFEST_DIR") {
    Some(directory) => directory,
    None => "",
};
