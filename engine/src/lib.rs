//! The engine: from series to a stored run.
//!
//! [`plan`] chooses configurations, [`schedule`] orders them, [`device`] holds what they run on.
//! [`passes`] runs every pass of every configuration; [`execute`] alone starts profiled processes.
//! [`store`] keeps what they found. [`discover`] asks harnesses for their series, [`cupti`] asks
//! CUPTI what a machine can count.
//!
//! A part of `cargo-gpuprof`, without a stable API.

#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]
// `gpuprof_system::console` alone writes to standard error.
#![warn(clippy::print_stderr)]

pub mod cupti;
pub mod device;
pub mod discover;
pub mod emulator;
pub mod execute;
pub mod passes;
pub mod plan;
pub mod schedule;
pub mod store;
