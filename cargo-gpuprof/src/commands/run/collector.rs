//! A process with another collector than the passes have, for one configuration.
//!
//! Input: a configuration on its device, and a request. Output: the findings of the process, or why
//! there are none: the configuration keeps its other results.

use std::path::PathBuf;

use gpuprof_build::host::Harness;
use gpuprof_engine::cupti::{self, Answer, Question};
use gpuprof_engine::execute::{Ended, Execution, outcomes};
use gpuprof_engine::plan::PlannedSeries;
use gpuprof_engine::schedule::{Job, Pass};
use gpuprof_model::measurement::{PassOutcome, PassResult};
use gpuprof_model::protocol::{MeasureRequest, RequestBody, SourceCollector, SourceRequest};
use gpuprof_model::run::{ConfigurationResult, Status};
use gpuprof_system::interrupt::Interrupt;

use super::decided::Prepared;
use super::results::Collected;
use gpuprof_engine::plan::Checked;

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
    /// The results of a process with this collector of machine instructions.
    ///
    /// # Errors
    /// Why there are none.
    pub(super) fn collect(&self, collector: SourceCollector) -> Result<PassResult, String> {
        self.ask(|request, cupti| {
            let folder = self.execution.process.folder.into();
            request.source = Some(SourceRequest { collector, cupti, folder });
        })
    }

    /// The results of a process; `change` completes its request, with CUPTI's library.
    ///
    /// # Errors
    /// Why there are none.
    pub(super) fn ask(
        &self,
        change: impl Fn(&mut MeasureRequest, PathBuf),
    ) -> Result<PassResult, String> {
        let Self { execution, harness, cupti, planned, at } = self;
        let job = Job::new(0, Pass::Timed { repeat: 0 }, vec![*at]);
        let mut requests = execution.request(&job, planned);
        for request in &mut requests {
            change(request, (*cupti).clone()?);
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

/// Collects of each configuration of both revisions that finished, one after the other, until a
/// signal interrupts it.
pub(super) fn each_finished(
    prepared: &Prepared,
    found: &mut Collected,
    interrupt: &Interrupt,
    mut collect: impl FnMut(&Subject<'_>, &mut ConfigurationResult),
) {
    let plan = &prepared.plan;
    let executions = prepared.executions(interrupt);
    let cupti = &library(prepared);
    for (run, planned) in found.revisions(&plan.both) {
        for series in &mut run.series {
            let Some(Checked { planned, .. }) = Checked::find(planned, &series.id) else {
                continue;
            };
            let Some(harness) = plan.both.harnesses.get(planned.harness) else { continue };
            for row in &mut series.configurations {
                let at = planned.configurations.iter().position(|it| *it == row.configuration);
                let finished = row.status == Status::Finished && interrupt.signal().is_none();
                let Some(at) = at.filter(|_| finished) else { continue };
                let on = |it: &&Execution<'_>| {
                    row.device.as_deref().is_none_or(|uuid| it.process.device == Some(uuid))
                };
                let Some(execution) = executions.iter().find(on) else { continue };
                let subject = Subject { execution, harness, cupti, planned, at };
                collect(&subject, row);
            }
        }
    }
}
