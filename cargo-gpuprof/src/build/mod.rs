//! Building: harnesses with the user's cargo, kernels with the toolchain that can.

mod fresh;
mod harness_of;
pub mod host;
pub mod kernels;
mod messages;
pub mod options;
mod shown;
pub mod toolchain;

use std::ffi::OsString;

/// What kernels are compiled for.
const KERNEL_TARGET: &str = "nvptx64-nvidia-cuda";

/// The cargo that started us, or the one on the path.
pub fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
