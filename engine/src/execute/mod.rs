//! Execution: the only code that starts profiled processes.
//!
//! A [`Job`](crate::schedule::Job) is the work of one process; a [`Pipeline`] runs jobs one after
//! the other on a device, and prepares the next while the present one measures.

mod activity;
mod ahead;
mod alone;
mod execution;
mod harness_line;
mod harness_process;
mod linked;
mod needed_files;
mod pipeline;
mod profiler_turn;
mod program;
mod reply;
mod request;
mod timeout_clock;

pub use activity::Stretch;
pub use ahead::Ahead;
pub use alone::Subject;
pub use execution::{Execution, Modules, SideModules};
pub use harness_process::{CHECKS_ENV, Ended, HarnessProcess, ProcessOptions, Running, Stderr};
pub use linked::stand_in;
pub use needed_files::NeededFiles;
pub use pipeline::{Event, Pipeline, wait};
pub use program::{become_program, run_program};
pub(crate) use reply::{failed, place, read_reply, unexpected};
pub use reply::{listings, outcomes};
