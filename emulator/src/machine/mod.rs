//! Input: lowered kernels and launches. Output: effects on memory, and counts.
//!
//! A launch runs its blocks one after the other or on several threads; a block runs its warps in
//! turn; a warp runs groups of lanes, each with its own program counter, which converge where those
//! of a GPU do. Nothing here depends on the host's time, threads or
//! addresses: two runs of one launch give the same memory and the same counts.

mod absorb;
mod access;
mod access_log;
mod activation;
mod address_description;
mod arith;
mod arrivals;
mod atomic;
mod atomic_half;
mod atomic_vector;
mod barrier;
mod bits;
mod block;
mod bytes;
mod c_format;
mod calls;
mod cells;
mod checked;
pub mod checks;
mod comparison;
pub mod context;
mod convert;
mod copies;
mod deadlock;
mod definedness;
mod driver_calls;
mod exchange;
pub mod execute;
pub mod fault;
mod float;
mod fragment;
mod generic;
pub mod global_shadow;
mod grid;
mod grid_barrier;
mod half;
pub mod hazard;
pub mod heap;
pub mod host_cpu;
mod integer;
mod known_order;
mod lane_order;
pub mod lanes;
pub mod launch;
mod matrix_layout;
mod matrix_moves;
mod mbarrier;
pub mod memory;
mod memory_block;
mod mma;
mod moves;
mod per_lane;
mod positions;
mod printf_output;
mod race_search;
mod rare_integer;
mod regions;
mod request;
mod scalar;
mod shadow;
mod shadow_rows;
mod shape;
mod shared_cells;
mod softfloat;
mod transfer;
mod undefined;
mod undefined_origins;
mod video;
mod warp;
pub mod watch;

pub use context::Runner;
pub use fault::FaultReport;
pub use launch::Launch;
pub use memory::{Holds, Memory};
