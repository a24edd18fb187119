//! Counter passes: hardware counters by replay, merged into the results of pass 0.
//!
//! Comes in: the plan of a run's counters and the passes that took time. Goes out: the same passes with
//! a value, or a reason, for every planned counter. With application replay every pass is a process;
//! the next one opens its context and prepares its inputs while the present one collects, and waits
//! for the device's turn before it touches the profiler. Every pass must have launched the same.

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::measurement::{HardwareValue, PassResult};
use gpuprof_model::protocol::{CounterRequest, MeasureRequest, Replay, RequestBody};
use gpuprof_model::run::Status;
use gpuprof_model::{Configuration, SeriesId};

use super::pass::judge;
use super::{Execution, Running};
use crate::build::host::Harness;
use crate::compare::replay::{self, Discipline, Divergence};
use crate::error::Result;

/// The counters of a run, planned before anything runs.
#[derive(Debug, Clone)]
pub struct Counters {
    /// CUPTI's library.
    pub cupti: Utf8PathBuf,
    /// The chip, as CUPTI calls it.
    pub chip: String,
    /// PerfWorks names.
    pub metrics: Vec<String>,
    /// The config image.
    pub config_image: Utf8PathBuf,
    /// How passes are replayed.
    pub replay: Replay,
    /// Passes a configuration needs.
    pub passes: u32,
    /// How far the launches of passes may differ.
    pub discipline: Discipline,
}

impl Counters {
    /// Processes a configuration needs for its counters.
    pub fn processes(&self) -> u32 {
        match self.replay {
            Replay::Application => self.passes,
            Replay::Range | Replay::Kernel => 1,
        }
    }

    /// Collects the counters of one configuration into `results`.
    ///
    /// # Errors
    /// Requests that cannot be written or processes that cannot be started at all. The inner error is
    /// what a pass that went wrong, or launched something else, makes of the configuration.
    pub(super) fn collect(
        &self,
        execution: &Execution<'_>,
        name: &str,
        harness: &Harness,
        series: &SeriesId,
        configuration: &Configuration,
        results: &mut [PassResult],
    ) -> Result<Result<(), Status>> {
        let file = |pass: u32| format!("{name}-pass-{}", pass + 1);
        let image = execution.process.folder.join(format!("{name}.image"));
        let start = |pass: u32| -> Result<Running> {
            let before =
                pass.checked_sub(1).map(|before| execution.process.reply_path(&file(before)));
            let request = MeasureRequest {
                kernel: series.kernel.clone(),
                configuration: configuration.clone(),
                modules: execution.modules.iter().map(|(p, f)| (p.clone(), f.into())).collect(),
                emulated: false,
                repeat: 0,
                verify: false,
                sampling: execution.sampling.clone(),
                counters: Some(self.request(pass, &image, before)),
            };
            execution.process.start(&file(pass), harness, RequestBody::Measure(Box::new(request)))
        };
        let mut next = Some(start(0)?);
        let mut dropped = None;
        for pass in 0..self.processes() {
            let Some(running) = next.take() else { break };
            if pass + 1 < self.processes() {
                next = Some(start(pass + 1)?);
            }
            let result = match judge(running.wait(), harness) {
                Ok(result) => result,
                Err(status) => return Ok(Err(status)),
            };
            match self.check(pass, &result, results) {
                Err(status) => return Ok(Err(status)),
                Ok(None) => {}
                Ok(Some(divergence)) => dropped = Some((pass, divergence)),
            }
            results.iter_mut().for_each(|r| r.hardware.clone_from(&result.hardware));
        }
        if let Some((pass, Divergence { what, first, other, .. })) = dropped {
            let reason = format!(
                "the launches of counter pass {} do not match ({what} is {first} in pass 0 and {other} there), \
                 and --app-replay-mode relaxed leaves such a range out",
                pass + 1
            );
            let none = |name: &String| (name.clone(), HardwareValue::Unavailable(reason.clone()));
            results.iter_mut().for_each(|r| r.hardware = self.metrics.iter().map(none).collect());
        }
        // The image served its purpose; values and requests stay.
        let _ = std::fs::remove_file(&image);
        Ok(Ok(()))
    }

    fn request(&self, pass: u32, image: &Utf8Path, after: Option<Utf8PathBuf>) -> CounterRequest {
        CounterRequest {
            cupti: self.cupti.clone().into(),
            chip: self.chip.clone(),
            metrics: self.metrics.clone(),
            config_image: self.config_image.clone().into(),
            replay: self.replay,
            pass,
            image: image.into(),
            after: after.map(Into::into),
        }
    }

    /// What is wrong with a counter pass: a launch that differs, or fewer passes than planned. A launch
    /// that differs and may is given back.
    fn check(
        &self,
        pass: u32,
        result: &PassResult,
        results: &[PassResult],
    ) -> Result<Option<Divergence>, Status> {
        let compared = results.first().map(|r| replay::same_program(r, result, self.discipline));
        let dropped = match compared {
            None => None,
            Some(Ok(dropped)) => dropped,
            Some(Err(divergence)) => {
                let reason = format!("counter pass {}: {divergence}", pass + 1);
                return Err(Status::Failed { reason });
            }
        };
        let complete = result.counter_pass.as_ref().is_some_and(|c| c.complete);
        let last = pass + 1 == self.processes();
        if last && !complete {
            let reason = format!("{} passes were planned, and CUPTI wants more", self.processes());
            return Err(Status::Failed { reason });
        }
        Ok(dropped)
    }
}
