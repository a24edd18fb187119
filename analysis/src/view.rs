//! Views: which rows and columns are shown, which of them is best, and the effect of axes.
//!
//! Input: a series of a run, and the options of a view. Output: rows, columns, ranks and fronts.
//! Nothing here affects judging or storing.

pub mod best;
pub mod by_chip;
pub mod by_device;
pub mod columns;
mod cut;
pub mod declared_work;
pub mod order;
pub mod pareto;
pub mod rank;
pub mod sensitivity;
mod viewed;

pub use viewed::*;
