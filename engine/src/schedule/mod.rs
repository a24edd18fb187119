//! The schedule: which slice and which device measures what, in which order, in which processes.
//! Pure.

mod counters;
pub mod device_assignment;
mod images;
mod isolate;
mod job;
pub mod job_order;
mod pairs;
pub mod partition;
mod pass_order;

pub use counters::{Collected, Counters};
pub use images::{Handover, Image, MOST_TOGETHER, hand_over};
pub use isolate::Isolate;
pub use job::{Job, Pass};
pub use pairs::Pairs;
pub use pass_order::*;
