//! Building: harnesses with the user's cargo, kernels with the toolchain that can.
//!
//! A part of `cargo-gpuprof`, without a stable API.

#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]
// `gpuprof_system::console` alone writes to standard error.
#![warn(clippy::print_stderr)]

pub mod archive;
pub mod built_kernels;
mod command_text;
pub mod cuda_cpp;
mod cuda_versions;
mod custom_main;
pub mod declared;
pub mod disassembly;
mod fresh;
pub mod harnesses;
pub mod kernels;
pub mod machine_code;
mod messages;
pub mod nvdisasm;
pub mod options;
pub mod oxide;
pub mod ptxas;
mod required_features;
pub mod revision;
mod source_files;
pub mod toolchain;
pub mod toolkit;

use std::ffi::OsString;

/// The target of kernels.
const KERNEL_TARGET: &str = "nvptx64-nvidia-cuda";

/// The cargo that started us, or the one on the path.
pub fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
