//! Execution: the only code that starts profiled processes.

mod counters;
mod interrupt;
mod pass;
mod process;

pub use counters::Counters;
pub use interrupt::Interrupt;
pub use pass::Execution;
pub use process::{Ended, HarnessProcess, Running, Stderr};
