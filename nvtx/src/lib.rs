#![doc = include_str!("../README.md")]
//!
//! # Inside
//!
//! Input: the calls of NVTX's headers. Output: an [`Event`] for each begin and end of a range.
//! `abi` has the layouts of the public headers, `callbacks` the functions that the headers call,
//! `range_paths` the paths of open ranges, and `listener` the function that hears of them.

mod abi;
mod callbacks;
mod listener;
mod range_paths;

pub use callbacks::InitializeInjectionNvtx2;
pub use listener::{Event, Hear, nvtx_listen};

/// The folder of this crate's source, for a tool that compiles it with one `rustc` call.
/// Empty in a build that cargo did not make.
pub const SOURCE_DIR: &str = match option_env!("CARGO_MANIFEST_DIR") {
    Some(directory) => directory,
    None => "",
};
