//! A CUDA driver (`libcuda.so`) over a PTX interpreter, for machines without a GPU.
//!
//! PTX text and launches come in through the driver API ([`driver`]) or through the safe [`device`]
//! API; results in emulated device memory and exact, deterministic counters go out. What stays
//! true: device addresses, results and counters depend only on the calls made, never on the host's
//! cores or timing, and PTX that is not understood is refused by name and line when the module is
//! loaded.
//!
//! The phases follow one another and none looks back: [`ptx`] (text to syntax tree) → [`lower`]
//! (tree to dense instructions) → [`machine`] (instructions to effects) → [`counters`] (effects to
//! numbers).

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
#[cfg(feature = "interpreter")]
pub mod driver;
#[cfg(feature = "interpreter")]
pub mod lower;
#[cfg(feature = "interpreter")]
pub mod machine;
#[cfg(feature = "interpreter")]
pub mod ptx;
