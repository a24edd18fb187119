#![doc = include_str!("../README.md")]
//!
//! # Inside
//!
//! Input: PTX text and launches, through the driver API ([`driver`]) or the safe [`device`] API.
//! Output: emulated device memory and counters. Device addresses, results and counters depend on
//! the calls alone, never on the host's cores or timing.
//!
//! The phases follow one another and none looks back: [`ptx`] (text to syntax tree) → [`lower`]
//! (tree to dense instructions) → [`machine`] (instructions to effects) → [`counters`] (effects to
//! numbers) → [`timing`] (numbers to an estimated duration).

/// Where this crate's source lies, for a tool that compiles the driver with one `rustc` call.
/// Empty in a build that cargo did not make.
pub const SOURCE_DIR: &str = match option_env!("CARGO_MANIFEST_DIR") {
    Some(directory) => directory,
    None => "",
};

#[cfg(feature = "interpreter")]
pub mod counters;
#[cfg(feature = "interpreter")]
pub mod device;
// Not in a library for Rust: the fake driver of the tests links it, and exports the same functions.
#[cfg(all(feature = "interpreter", any(gpuprof_driver, doc, test)))]
pub mod driver;
#[cfg(feature = "interpreter")]
pub mod lower;
#[cfg(feature = "interpreter")]
pub mod machine;
#[cfg(feature = "interpreter")]
pub mod ptx;
#[cfg(feature = "interpreter")]
pub mod timing;
