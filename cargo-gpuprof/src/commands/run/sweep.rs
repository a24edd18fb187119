//! The sweep: every configuration of every series, one after the other.
//!
//! Comes in: checked series. Goes out: a run that holds a result for every planned configuration,
//! also for those that an interrupt kept from running. Events are written as things happen.

use std::io::Write;

use gpuprof_model::measurement::{HardwareValue, PassResult};
use gpuprof_model::run::{ConfigurationResult, Run, SeriesResult, Status};

use super::Checked;
use super::counters::CounterSetup;
use super::progress::Progress;
use crate::build::host::Harness;
use crate::commands::gate;
use crate::compare::against::Against;
use crate::compare::{collect, columns};
use crate::error::{Failure, Result};
use crate::execute::{ConfigurationOutcome, Execution};
use crate::report::json_lines::Event;

/// What a sweep needs.
pub(super) struct Sweep<'a> {
    pub(super) execution: &'a Execution<'a>,
    pub(super) harnesses: &'a [Harness],
    pub(super) json: bool,
    pub(super) quiet: bool,
    pub(super) setup: &'a CounterSetup,
    pub(super) against: Option<&'a Against>,
}

impl Sweep<'_> {
    /// Runs everything into `run`.
    ///
    /// # Errors
    /// Files or standard output that cannot be written; what was measured is in `run`.
    pub(super) fn run(
        &mut self,
        checked: &[Checked],
        run: &mut Run,
        out: &mut impl Write,
    ) -> Result<()> {
        let total = checked.iter().map(|c| c.planned.configurations.len()).sum();
        let mut progress = Progress::new(total, self.quiet);
        self.event(&Event::run_started(&run.id, &run.provenance, checked.len(), total), out)?;
        let mut trouble = Ok(());
        for (position, series) in checked.iter().enumerate() {
            let mut results = Vec::new();
            for index in 0..series.planned.configurations.len() {
                let result = match &trouble {
                    Ok(()) => self.one(series, position, index, run, &mut progress),
                    Err(failure) => Ok(skipped(series, index, failure)),
                };
                let result = result.unwrap_or_else(|failure| {
                    let skipped = skipped(series, index, &failure);
                    trouble = Err(failure);
                    skipped
                });
                let event = Event::configuration_finished(&series.planned.series.id, &result);
                if let Err(failure) = self.event(&event, out) {
                    trouble = trouble.and(Err(failure));
                }
                results.push(result);
            }
            let finished = self.finish(series, results, run);
            for judgement in &finished.judgements {
                self.event(&Event::threshold_judged(&finished.id, judgement), out)?;
            }
            self.event(&Event::series_finished(&finished), out)?;
            run.series.push(finished);
        }
        trouble
    }

    fn one(
        &self,
        series: &Checked,
        position: usize,
        index: usize,
        run: &mut Run,
        progress: &mut Progress,
    ) -> Result<ConfigurationResult> {
        let planned = &series.planned;
        let configuration = &planned.configurations[index];
        if self.execution.process.interrupt.signal().is_some() {
            let reason = "the run was interrupted".to_owned();
            return Ok(collect::unfinished(configuration.clone(), Status::Skipped { reason }));
        }
        let id = &planned.series.id;
        let key = format!("{id}/{configuration}");
        progress.start(&key);
        let name = format!("{position:03}-{}-{index:05}", id.kernel);
        let harness = &self.harnesses[planned.harness];
        let result = match self.execution.configuration(&name, harness, id, configuration)? {
            ConfigurationOutcome::Finished(mut passes) => {
                self.explain_missing_counters(&mut passes);
                if run.provenance.device.is_none() {
                    run.provenance.device = passes.first().map(|pass| pass.device.clone());
                }
                collect::finished(configuration.clone(), &passes)
            }
            ConfigurationOutcome::Unfinished(status) => {
                collect::unfinished(configuration.clone(), status)
            }
        };
        progress.end(&key, &result);
        Ok(result)
    }

    /// Gives every counter that cannot be had on this machine its reason.
    fn explain_missing_counters(&self, passes: &mut [PassResult]) {
        let CounterSetup::Unavailable(metrics, reason) = self.setup else { return };
        for pass in passes {
            for metric in metrics {
                pass.hardware.insert(metric.clone(), HardwareValue::Unavailable(reason.clone()));
            }
        }
    }

    fn finish(
        &self,
        series: &Checked,
        configurations: Vec<ConfigurationResult>,
        run: &Run,
    ) -> SeriesResult {
        let described = &series.planned.series;
        let mut finished = SeriesResult {
            id: described.id.clone(),
            file: described.file.clone(),
            line: described.line,
            axes: described.axes.clone(),
            columns: columns::choose(&series.columns, &configurations),
            configurations,
            judgements: Vec::new(),
            not_applicable: Vec::new(),
            changes: Vec::new(),
        };
        let placed = |p: &super::Placed| (p.threshold.clone(), p.origin.clone());
        let thresholds: Vec<_> = series.thresholds.iter().map(placed).collect();
        gate::judge(&mut finished, &thresholds, run, self.against);
        finished
    }

    fn event(&self, event: &Event<'_>, out: &mut impl Write) -> Result<()> {
        if !self.json {
            return Ok(());
        }
        event.write(out).map_err(|e| Failure::output(std::path::Path::new("standard output"), &e))
    }
}

fn skipped(series: &Checked, index: usize, failure: &Failure) -> ConfigurationResult {
    let reason = failure.message.clone();
    let configuration = series.planned.configurations[index].clone();
    collect::unfinished(configuration, Status::Skipped { reason })
}
