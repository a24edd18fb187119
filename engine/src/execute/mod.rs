//! Execution: the only code that starts profiled processes.
//!
//! A [`Job`](crate::schedule::Job) is what one process does; a [`Pipeline`] runs jobs one after the other on a device,
//! and prepares the next while the present one measures.

mod ahead;
mod execution;
mod harness_line;
mod linked;
mod needed;
mod pipeline;
mod process;
mod profiler;
mod program;
mod reply;
mod request;
mod stretch;
mod timeout_clock;

pub use ahead::Ahead;
pub use execution::{Execution, Modules, SideModules};
pub use linked::stand_in;
pub use needed::NeededFiles;
pub use pipeline::{Event, Pipeline, wait};
pub use process::{Asked, CHECKS_ENV, Ended, HarnessProcess, Running, Stderr};
pub use program::{become_program, run_program};
pub use reply::outcomes;
pub(crate) use reply::{failed, place, read_reply, unexpected};
pub use stretch::Stretch;
