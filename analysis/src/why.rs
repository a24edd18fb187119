//! The reasons for the time of a configuration, from its counters.
//!
//! Input: configurations with their metrics, and the sections of their series. Output: how near
//! each unit of the GPU is to its peak and its largest constituent, positions under roofs, the
//! traffic between the units of memory, the states of warps, and the limits of occupancy. It
//! contains only measured values: a part with missing metrics is empty, and nothing is guessed.

pub mod limits;
pub mod memory;
pub mod occupancy;
pub mod roofline;
pub mod warps;
