//! Input: lowered kernels and launches. Output: effects on memory, and counts.
//!
//! A launch runs its blocks one after the other or on several threads; a block runs its warps in
//! turn; a warp runs groups of lanes, each with its own program counter, which converge where those
//! of a GPU do. Nothing here depends on the host's time, threads or
//! addresses: two runs of one launch give the same memory and the same counts.

mod absorb;
mod access;
mod arith;
mod atomic;
mod atomic_half;
mod atomic_vector;
mod barrier;
mod bits;
mod block;
mod bytes;
mod checked;
pub mod checks;
mod comparison;
pub mod context;
mod convert;
mod copies;
mod deadlock;
mod definedness;
mod exchange;
pub mod execute;
pub mod fault;
mod float;
mod grid;
mod half;
pub mod hazard;
mod integer;
pub mod lanes;
pub mod launch;
mod mbarrier;
pub mod memory;
mod mma;
mod moves;
mod per_lane;
mod print;
mod request;
mod said;
mod scalar;
mod shadow;
mod shape;
mod softfloat;
mod speech;
mod transfer;
mod undefined;
mod video;
mod warp;
pub mod watch;
mod word;

pub use context::Runner;
pub use fault::FaultReport;
pub use launch::Launch;
pub use memory::{Holds, Memory};
