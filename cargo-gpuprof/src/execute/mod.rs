//! Execution: the only code that starts profiled processes.
//!
//! A [`Job`] is what one process does; a [`Pipeline`] runs jobs one after the other on a device,
//! and prepares the next while the present one measures.

mod ahead;
mod counters;
mod execution;
mod family;
mod harness_line;
mod images;
mod interrupt;
mod job;
mod linked;
mod needed;
mod pipeline;
mod process;
mod profiler;
mod program;
mod stretch;
mod timeout_clock;

pub use ahead::Ahead;
pub use counters::{Collected, Counters};
pub use execution::{Execution, Modules, SideModules};
pub use images::{Handover, Image, MOST_TOGETHER, hand_over};
pub use interrupt::{AT_ONCE, Interrupt};
pub use job::{Job, Pass, outcomes};
pub use linked::stand_in;
pub use needed::NeededFiles;
pub use pipeline::{Event, Pipeline, wait};
pub use process::{Asked, Ended, HarnessProcess, Running, Stderr, VISIBLE_ENV};
pub use program::{become_program, run_program};
pub use stretch::Stretch;
