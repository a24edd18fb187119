//! The schedule: which device measures what, in which order, in which processes. Pure.

pub mod assignment;
mod order;
pub mod queue;

pub use order::*;
