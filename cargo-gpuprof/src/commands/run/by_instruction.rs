//! A process that counts or samples the machine instructions of a configuration.
//!
//! Input: a configuration on its device, and what to find. Output: what the process found, or why
//! it found nothing: the configuration has its other results all the same.

use std::path::PathBuf;

use gpuprof_build::host::Harness;
use gpuprof_engine::cupti::{self, Answer, Question};
use gpuprof_engine::execute::{Ended, Execution, outcomes};
use gpuprof_engine::plan::PlannedSeries;
use gpuprof_engine::schedule::{Job, Pass};
use gpuprof_model::measurement::{PassOutcome, PassResult};
use gpuprof_model::protocol::{RequestBody, SourceCollector, SourceRequest};

use super::decided::Prepared;

/// CUPTI's library. A run without counters has not searched for it before.
///
/// # Errors
/// Why there is none.
pub(super) fn library(prepared: &Prepared) -> Result<PathBuf, String> {
    let inputs = &prepared.plan.inputs;
    let named = inputs.settings.cupti_path(&inputs.source.root());
    match cupti::ask(named.as_deref(), Question::Locate).map_err(|failure| failure.message)? {
        Answer::Located(found) => Ok(found.path),
        answer => Err(answer.refusal().reason),
    }
}

/// A configuration on its device.
pub(super) struct Subject<'a> {
    pub(super) execution: &'a Execution<'a>,
    pub(super) harness: &'a Harness,
    /// CUPTI's library, or why there is none.
    pub(super) cupti: &'a Result<PathBuf, String>,
    pub(super) planned: &'a PlannedSeries,
    pub(super) at: usize,
}

impl Subject<'_> {
    /// What a process with this collector finds.
    ///
    /// # Errors
    /// Why it finds nothing.
    pub(super) fn collect(&self, collector: SourceCollector) -> Result<PassResult, String> {
        let Self { execution, harness, cupti, planned, at } = self;
        let job = Job::new(0, Pass::Timed { repeat: 0 }, vec![*at]);
        let mut requests = execution.request(&job, planned);
        for request in &mut requests {
            let cupti = (*cupti).clone()?;
            let folder = execution.process.folder.into();
            request.source = Some(SourceRequest { collector, cupti, folder });
            request.verify = false;
        }
        let body = RequestBody::Measure(requests);
        match execution.process.ask(harness, body).map_err(|failure| failure.message)? {
            Ended::Replied(bytes) => match outcomes(&bytes, harness).into_iter().next() {
                Some(PassOutcome::Finished(result)) => Ok(*result),
                Some(PassOutcome::Failed { reason, .. } | PassOutcome::Invalid { reason }) => {
                    Err(reason)
                }
                Some(PassOutcome::Denied(denial)) => Err(denial.reason),
                Some(PassOutcome::Lost) | None => Err("the process did not reach it".to_owned()),
            },
            Ended::Without { how, stderr, .. } => {
                Err(format!("the process {how}{}", stderr.tail()))
            }
            Ended::TimedOut { seconds, .. } => Err(format!("the process hung for {seconds} s")),
            Ended::Interrupted => Err("it was interrupted".to_owned()),
        }
    }
}
