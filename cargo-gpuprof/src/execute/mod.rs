//! Execution: the only code that starts profiled processes.

mod interrupt;
mod pass;
mod process;

pub use interrupt::Interrupt;
pub use pass::{ConfigurationOutcome, Execution};
pub use process::{Ended, HarnessProcess, Stderr};
