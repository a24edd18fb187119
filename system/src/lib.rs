//! The system under the subcommand's packages: terminal, files, signals, and failures with their
//! exit codes.
//!
//! It does not know kernels or series. A part of `cargo-gpuprof`, without a stable API.

#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]
// Only `console` writes to standard error.
#![warn(clippy::print_stderr)]

pub mod blocking_call;
pub mod console;
pub mod descendants;
pub mod error;
pub mod exit_status;
pub mod hex;
pub mod interrupt;
pub mod json_text;
pub mod library_path;
pub mod own_file;
pub mod pad;
pub mod printable_output;
pub mod sanitize;
pub mod scratch;
pub mod sha256;
pub mod symbol;
pub mod whole;
pub mod wrap;
