//! Things that users select by name: the counters of each chip, sections and sets of metrics, and
//! rules of advice.
//!
//! Ours are files of this package; a workspace adds its own below `.config/gpuprof`. A part of
//! `cargo-gpuprof`, without a stable API.

#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

pub mod chips;
pub mod definitions;
pub mod rules;
pub mod sections;
pub mod set;
