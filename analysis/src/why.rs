//! Why a configuration takes the time it takes: what its counters say of it.
//!
//! Input: configurations with their metrics, and the sections of their series. Output: how near
//! each unit of the GPU is to its peak and what makes it so, places under roofs, the traffic
//! between the units of memory, the states of warps, and what limits occupancy. Only what was
//! measured is in it: a part whose metrics are missing is empty, and nothing is guessed.

pub mod limits;
pub mod memory;
pub mod occupancy;
pub mod roofline;
pub mod warps;
