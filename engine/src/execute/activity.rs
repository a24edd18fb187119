//! The activity of a process during a stretch of time, as the pipeline sees it.

use std::time::Instant;

use gpuprof_model::run::Spent;

use crate::schedule::{Job, Pass};

/// A stretch of a process' time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// The activity.
    pub spent: Spent,
    /// A description of the work.
    pub what: String,
    /// The process, counted from 1 in the order in which the pipeline started them.
    pub process: u32,
    /// When it began.
    pub begin: Instant,
    /// When it ended.
    pub end: Instant,
    /// The pass; none if the time belongs to no pass.
    pub pass: Option<PassOf>,
}

/// The pass that a stretch of time belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassOf {
    /// The position of the series.
    pub series: usize,
    /// The positions of the configurations.
    pub configurations: Vec<usize>,
    /// Whether nothing was measured of them before.
    pub is_first: bool,
}

impl PassOf {
    /// The pass of `job`.
    pub(super) fn from_job(job: &Job) -> Self {
        let is_first = job.pass == Pass::Timed { repeat: 0 };
        Self { series: job.series, configurations: job.configurations.clone(), is_first }
    }
}

/// The name of a pass.
pub(super) fn pass(job: &Job) -> String {
    match job.pass {
        Pass::Timed { repeat } => format!("times {}", repeat + 1),
        Pass::Energy { repeat } => format!("energy {}", repeat + 1),
        Pass::Counters { step } => format!("counter pass {}", step + 1),
    }
}
