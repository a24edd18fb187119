//! The code of kernels line by line, with its executions and their cost.
//!
//! Input: the PTX lines of a kernel with their places in the source, and the counts of each.
//! Output: the same by line of the source, and the lines with the most of a count. The counts of
//! all lines add up to those of the run.

mod change;
mod columns;
mod costly;
mod counted;
mod counts;
mod sources;

pub use change::{CodeChange, DiffLine, DiffRow, OpcodeChange, OpcodeMix};
pub use columns::Columns;
pub use costly::{AccessCost, CostByLine, CostlyLine, costliest, costly_lines};
pub use counted::{CountedCode, InlinedCall, ListedLine, Listing, MachineLine, SourceLine};
pub use counts::{Counter, LineCounts};
pub use sources::{SourceText, Sources};
