//! The schedule: which slice and which device measures what, in which order, in which processes.
//! Pure.

pub mod assignment;
mod order;
mod pairs;
pub mod partition;
pub mod queue;

pub use order::*;
pub use pairs::Pairs;
