//! The passes of a configuration: pass 0 once per repetition, each in its own process.
//!
//! Comes in: a planned configuration. Goes out: its pass results, or why there are none. A pass that
//! goes wrong ends its own configuration; the sweep goes on.

use std::collections::BTreeMap;

use camino::Utf8PathBuf;
use gpuprof_model::measurement::{PassOutcome, PassResult};
use gpuprof_model::protocol::{MeasureRequest, ReplyBody, RequestBody, Sampling};
use gpuprof_model::run::Status;
use gpuprof_model::{Configuration, SeriesId};

use super::{Counters, Ended, HarnessProcess};
use crate::build::host::Harness;
use crate::discover;
use crate::error::Result;

/// What the passes of a run have in common.
#[derive(Debug)]
pub struct Execution<'a> {
    /// How processes run.
    pub process: HarnessProcess<'a>,
    /// PTX by package.
    pub modules: &'a BTreeMap<String, Utf8PathBuf>,
    /// Whether the emulated driver must answer.
    pub emulated: bool,
    /// Processes that time each configuration.
    pub repeat: u32,
    /// Whether outputs are compared with the host's reference.
    pub verify: bool,
    /// How samples are taken.
    pub sampling: Sampling,
    /// The hardware counters to collect.
    pub counters: Option<Counters>,
}

impl Execution<'_> {
    /// Runs one timed pass of a configuration. `name` is unique in the run and names its files.
    ///
    /// # Errors
    /// A request that cannot be written or a process that cannot be started at all. The inner error is
    /// what a pass that went wrong makes of the configuration.
    pub fn timed(
        &self,
        name: &str,
        harness: &Harness,
        series: &SeriesId,
        configuration: &Configuration,
        repeat: u32,
    ) -> Result<Result<PassResult, Status>> {
        let request = MeasureRequest {
            kernel: series.kernel.clone(),
            configuration: configuration.clone(),
            modules: self.modules.iter().map(|(p, f)| (p.clone(), f.into())).collect(),
            emulated: self.emulated,
            repeat,
            verify: self.verify && repeat == 0,
            sampling: self.sampling.clone(),
            counters: None,
        };
        let body = RequestBody::Measure(Box::new(request));
        let ended = self.process.ask_as(&format!("{name}-pass-0-{repeat}"), harness, body)?;
        Ok(judge(ended, harness))
    }

    /// Collects the counters of a configuration whose timed passes are `results`, into them.
    ///
    /// # Errors
    /// As [`Execution::timed`].
    pub fn counted(
        &self,
        name: &str,
        harness: &Harness,
        series: &SeriesId,
        configuration: &Configuration,
        results: &mut [PassResult],
    ) -> Result<Result<(), Status>> {
        match &self.counters {
            Some(counters) => counters.collect(self, name, harness, series, configuration, results),
            None => Ok(Ok(())),
        }
    }
}

/// What a pass found, or the status it gives its configuration.
pub(super) fn judge(ended: Ended, harness: &Harness) -> Result<PassResult, Status> {
    match ended {
        Ended::Replied(bytes) => match discover::read_reply(&bytes, harness) {
            Ok(ReplyBody::Measured(PassOutcome::Finished(result))) => Ok(*result),
            Ok(ReplyBody::Measured(PassOutcome::Invalid { reason })) => {
                Err(Status::Invalid { reason })
            }
            Ok(ReplyBody::Measured(PassOutcome::Failed { reason })) => {
                Err(Status::Failed { reason })
            }
            Ok(other) => Err(Status::Failed {
                reason: format!("the harness answered another question: {other:?}"),
            }),
            Err(reason) => Err(Status::Failed { reason }),
        },
        Ended::Without { how, stderr } => {
            Err(Status::Failed { reason: format!("the process {how}{}", stderr.tail()) })
        }
        Ended::TimedOut { seconds, stderr } => Err(Status::Timeout {
            reason: format!(
                "the process ran for {seconds} s and was killed (--timeout raises the limit){}",
                stderr.tail()
            ),
        }),
        Ended::Interrupted => Err(Status::Skipped { reason: "the run was interrupted".to_owned() }),
    }
}
