//! `cargo gpuprof`: profiles Rust CUDA kernels over series of launch parameters.
//!
//! Data flows one way: annotation → registry → plan → pass request → measurement → run → comparison
//! → report. `gpuprof-build` makes harnesses and kernels; `gpuprof-engine` finds series, chooses
//! configurations, starts the profiled processes and keeps their results; `gpuprof-analysis`
//! judges, and `gpuprof-report` shows them.
//!
//! Elsewhere than on Linux this crate is empty and has no dependencies: the executable builds and
//! refuses.

#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]
// `console` alone writes to standard error.
#![warn(clippy::print_stderr)]

mod broken_pipe;
pub mod cli;
pub mod commands;
pub mod config;
pub mod options;
#[cfg(test)]
#[path = "../../model/src/schemas.rs"]
mod schemas;
pub mod tool;
