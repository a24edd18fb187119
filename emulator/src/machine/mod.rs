//! Lowered kernels in, effects and counts out.
//!
//! A launch runs its blocks one after the other or on several threads; a block runs its warps in
//! turn between barriers; a warp runs 32 lanes in lockstep, and lanes that disagreed about a branch
//! meet again at its immediate post-dominator. Nothing here depends on the host's time, threads or
//! addresses: two runs of one launch give the same memory and the same counts.

mod access;
pub mod address;
pub mod arith;
mod atomic;
mod block;
mod convert;
mod exchange;
pub mod execute;
pub mod fault;
mod float;
mod integer;
pub mod lanes;
pub mod launch;
pub mod memory;
mod moves;
mod rare;
mod scattered;
mod softfloat;
mod warp;

pub use execute::Runner;
pub use fault::FaultReport;
pub use launch::Launch;
pub use memory::Memory;
