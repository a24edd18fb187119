//! What a stretch of a process' time went to, as the pipeline sees it.

use std::time::Instant;

use gpuprof_model::run::Spent;

use super::{Job, Pass};

/// A stretch of a process' time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// What it went to.
    pub spent: Spent,
    /// What was done.
    pub what: String,
    /// The process, counted from 1 in the order in which the pipeline started them.
    pub process: u32,
    /// When it began.
    pub begin: Instant,
    /// When it ended.
    pub end: Instant,
}

/// What a pass is called.
pub(super) fn pass(job: &Job) -> String {
    match job.pass {
        Pass::Timed { repeat } => format!("times {}", repeat + 1),
        Pass::Counters { step } => format!("counter pass {}", step + 1),
    }
}
