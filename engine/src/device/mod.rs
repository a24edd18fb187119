//! The device to measure on: its lock and its clocks.

pub mod clocks;
pub mod guard;
mod hold;
pub mod lock;
pub mod nvml;
mod requested;
mod resolve;
pub mod shared_profiler;

pub use hold::{Hold, HoldRequest};
pub use requested::{DeviceSelection, RequestedDevice};
pub use resolve::of_one_model;

/// The variable that selects the devices CUDA shows to a process.
pub const VISIBLE_ENV: &str = "CUDA_VISIBLE_DEVICES";
