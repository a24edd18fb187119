//! Views: which rows and columns are shown, which of them is best, and what axes do to it.
//!
//! Input: a series of a run, and how somebody wants to look at it. Output: rows, columns, ranks and
//! fronts. Nothing here changes what is judged or stored.

pub mod best;
pub mod by_device;
pub mod columns;
mod cut;
pub mod pareto;
pub mod rank;
pub mod sensitivity;
mod viewed;

pub use viewed::*;
