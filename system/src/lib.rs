//! The system under the subcommand's packages: terminal, files, signals, and failures with their
//! exit codes.
//!
//! Nothing here knows a kernel or a series. A part of `cargo-gpuprof`, without a stable API.

#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]
// `console` alone writes to standard error.
#![warn(clippy::print_stderr)]

pub mod awaited;
pub mod calm;
pub mod console;
pub mod error;
pub mod family;
pub mod hex;
pub mod interrupt;
pub mod json_text;
pub mod own_file;
pub mod pad;
pub mod scratch;
pub mod sha256;
pub mod terminal;
pub mod whole;
pub mod wrap;
