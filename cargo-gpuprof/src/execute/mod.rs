//! Execution: the only code that starts profiled processes.
//!
//! A [`Job`] is what one process does; a [`Pipeline`] runs jobs one after the other on a device,
//! and prepares the next while the present one measures.

mod counters;
mod harness_line;
mod images;
mod interrupt;
mod job;
mod pipeline;
mod process;
mod profiler;
mod timeout_clock;

use std::collections::BTreeMap;
use std::path::PathBuf;

use camino::Utf8PathBuf;
use gpuprof_model::protocol::Sampling;

use crate::options::Repeats;

pub use counters::{Collected, Counters};
pub use images::{Handover, Image, MOST_TOGETHER, hand_over};
pub use interrupt::Interrupt;
pub use job::{Job, Pass, outcomes};
pub use pipeline::{Ahead, Event, Pipeline, wait};
pub use process::{Asked, Ended, HarnessProcess, Running, Stderr, VISIBLE_ENV};

/// What the passes of a run on one device have in common.
#[derive(Debug)]
pub struct Execution<'a> {
    /// How processes run.
    pub process: HarnessProcess<'a>,
    /// PTX by package.
    pub modules: &'a BTreeMap<String, Utf8PathBuf>,
    /// Whether the emulated driver must answer.
    pub emulated: bool,
    /// Processes that time each configuration.
    pub repeat: Repeats,
    /// Processes that prepare while another one measures.
    pub ahead: Ahead,
    /// Whether outputs are compared with the host's reference.
    pub verify: bool,
    /// How samples are taken.
    pub sampling: Sampling,
    /// The hardware counters to collect.
    pub counters: Option<Counters>,
    /// The lock of the profiler, where the device shares it with others (`device::profiler`).
    pub profiler: Option<PathBuf>,
}
