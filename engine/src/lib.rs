//! The engine: from series to a stored run.
//!
//! [`plan`] chooses configurations, [`divide`] takes one slice of them, [`schedule`] orders them,
//! [`device`] locks the device. [`passes`] runs every pass of every configuration; only [`execute`]
//! starts profiled processes. [`store`] keeps the results, and [`merge`] joins those of slices.
//! [`discover`] asks harnesses for their series, [`cupti`] asks CUPTI which counters a machine has.
//!
//! A part of `cargo-gpuprof`, without a stable API.

#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]
// `gpuprof_system::console` alone writes to standard error.
#![warn(clippy::print_stderr)]

pub mod cupti;
pub mod device;
pub mod discover;
pub mod divide;
pub mod emulator;
pub mod execute;
pub mod merge;
pub mod passes;
pub mod plan;
pub mod schedule;
pub mod store;
