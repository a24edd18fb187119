//! A process for one configuration, apart from the passes of a run.

use std::path::PathBuf;

use gpuprof_build::harnesses::Harness;
use gpuprof_model::measurement::{PassOutcome, PassResult};
use gpuprof_model::protocol::{MeasureRequest, RequestBody, SourceCollector, SourceRequest};

use super::{Ended, Execution, outcomes};
use crate::plan::PlannedSeries;
use crate::schedule::{Job, Pass};

/// A configuration on its device.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// How its processes run.
    pub execution: &'a Execution<'a>,
    /// The harness of its series.
    pub harness: &'a Harness,
    /// Its series.
    pub planned: &'a PlannedSeries,
    /// Its position in the series.
    pub at: usize,
}

impl Subject<'_> {
    /// The results of a process with this collector of machine instructions; `cupti` is CUPTI's
    /// library, or why there is none.
    ///
    /// # Errors
    /// Why there are none.
    pub fn collect(
        &self,
        collector: SourceCollector,
        cupti: &Result<PathBuf, String>,
    ) -> Result<PassResult, String> {
        let cupti = cupti.clone()?;
        self.ask(|request| {
            let (cupti, folder) = (cupti.clone(), self.execution.process.folder.into());
            request.source = Some(SourceRequest { collector, cupti, folder });
        })
    }

    /// The results of a process; `change` completes its request. Nothing is verified.
    ///
    /// # Errors
    /// Why there are none.
    pub fn ask(&self, change: impl Fn(&mut MeasureRequest)) -> Result<PassResult, String> {
        let Self { execution, harness, planned, at } = self;
        let job = Job::new(0, Pass::Timed { repeat: 0 }, vec![*at]);
        let mut requests = execution.request(&job, planned);
        for request in &mut requests {
            change(request);
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
