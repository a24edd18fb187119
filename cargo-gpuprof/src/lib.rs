//! `cargo gpuprof`: profiles Rust CUDA kernels over series of launch parameters.
//!
//! Data flows one way: annotation → registry → plan → pass request → measurement → run → comparison
//! → report. [`build`] and [`discover`] find series, [`plan`] chooses configurations, [`execute`]
//! alone starts profiled processes, [`store`] keeps what they found, [`gpuprof_analysis`]
//! judges it, [`report`] shows it.
//!
//! Elsewhere than on Linux this crate is empty and has no dependencies: the executable builds and
//! refuses.

#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]
// `console` alone writes to standard error.
#![warn(clippy::print_stderr)]

mod broken_pipe;
pub mod chips;
pub mod cli;
pub mod commands;
pub mod config;
pub mod options;
pub mod rules;
#[cfg(test)]
#[path = "../../model/src/schemas.rs"]
mod schemas;
pub mod sections;
pub mod tool;
