//! The sweep: every pass of every configuration, in the order of the schedule.
//!
//! Comes in: checked series, and what a resumed run's journal holds. Goes out: a run that holds a result
//! for every planned configuration, also for those that an interrupt kept from running. Every pass that
//! ended is in the journal before the next one starts. Events are written as things happen: a
//! configuration is told when its last pass has ended, and a series when its last configuration has.

use std::collections::HashSet;
use std::io::Write;

use gpuprof_model::measurement::{HardwareValue, PassResult};
use gpuprof_model::metric;
use gpuprof_model::run::{ConfigurationResult, Run, SeriesResult, Status};
use gpuprof_model::{Axis, Space};

use super::Checked;
use super::counters::CounterSetup;
use super::progress::Progress;
use crate::build::host::Harness;
use crate::commands::gate;
use crate::compare::against::Against;
use crate::compare::replay::Discipline;
use crate::compare::{collect, columns};
use crate::config::Interleave;
use crate::error::{Failure, Result};
use crate::execute::Execution;
use crate::report::json_lines::Event;
use crate::schedule::{Step, schedule};
use crate::store::journal::{Journal, Replayed};

/// What a sweep needs.
pub(super) struct Sweep<'a> {
    pub(super) execution: &'a Execution<'a>,
    pub(super) harnesses: &'a [Harness],
    pub(super) json: bool,
    pub(super) quiet: bool,
    pub(super) setup: &'a CounterSetup,
    pub(super) against: Option<&'a Against>,
    pub(super) order: Interleave,
    pub(super) journal: Journal,
    pub(super) replayed: Replayed,
    pub(super) discipline: Discipline,
}

/// How far a configuration is.
#[derive(Debug, Default)]
struct State {
    /// What its passes found.
    passes: Vec<PassResult>,
    /// What it came to, until its series is finished.
    result: Option<ConfigurationResult>,
    /// Whether it has come to something.
    done: bool,
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
        let counts: Vec<usize> = checked.iter().map(|c| c.planned.configurations.len()).collect();
        let total = counts.iter().sum();
        let mut progress = Progress::new(total, self.quiet);
        self.event(&Event::run_started(&run.id, &run.provenance, checked.len(), total), out)?;
        let mut state: Vec<Vec<State>> =
            counts.iter().map(|&count| (0..count).map(|_| State::default()).collect()).collect();
        let mut left = counts.clone();
        let mut finished: Vec<Option<SeriesResult>> = checked.iter().map(|_| None).collect();
        let mut trouble = Ok(());
        for step in schedule(&counts, self.execution.repeat, self.order) {
            let (at, index) = (step.series, step.configuration);
            let series = &checked[at];
            if state[at][index].done {
                continue;
            }
            let key =
                format!("{}/{}", series.planned.series.id, series.planned.configurations[index]);
            progress.start(&key);
            let ran = match &trouble {
                Ok(()) => self.step(series, step, &mut state[at][index]),
                Err(failure) => Ok(Some(skipped(series, index, failure))),
            };
            let result = ran.unwrap_or_else(|failure| {
                let skipped = skipped(series, index, &failure);
                trouble = Err(failure);
                Some(skipped)
            });
            let Some(result) = result else { continue };
            if run.provenance.device.is_none() {
                run.provenance.device = state[at][index].passes.first().map(|p| p.device.clone());
            }
            if !matches!(result.status, Status::Skipped { .. }) {
                progress.end(&key, &result);
            }
            let event = Event::configuration_finished(&series.planned.series.id, &result);
            if let Err(failure) = self.event(&event, out) {
                trouble = trouble.and(Err(failure));
            }
            state[at][index] = State { result: Some(result), done: true, ..State::default() };
            left[at] -= 1;
            if left[at] == 0 {
                let results =
                    state[at].iter_mut().filter_map(|state| state.result.take()).collect();
                let series = self.finish(series, results, run);
                if let Err(failure) = self.told(&series, out) {
                    trouble = trouble.and(Err(failure));
                }
                finished[at] = Some(series);
            }
        }
        run.series.extend(finished.into_iter().flatten());
        trouble
    }

    /// Runs one step; the result where that was the configuration's last one.
    fn step(
        &mut self,
        series: &Checked,
        step: Step,
        state: &mut State,
    ) -> Result<Option<ConfigurationResult>> {
        let planned = &series.planned;
        let configuration = &planned.configurations[step.configuration];
        let unfinished = |status| Some(collect::unfinished(configuration.clone(), status));
        if let Some(status) = self.replayed.ended(step.series, step.configuration) {
            return Ok(unfinished(status.clone()));
        }
        let id = &planned.series.id;
        let name = format!("{:03}-{}-{:05}", step.series, id.kernel, step.configuration);
        let harness = &self.harnesses[planned.harness];
        let interrupted = || self.execution.process.interrupt.signal().is_some();
        let skipped = || Status::Skipped { reason: "the run was interrupted".to_owned() };
        match self.replayed.pass(step) {
            Some(pass) => state.passes.push(pass.clone()),
            None if interrupted() => return Ok(unfinished(skipped())),
            None => match self.execution.timed(&name, harness, id, configuration, step.repeat)? {
                Ok(pass) => {
                    self.journal.pass(step, &pass)?;
                    state.passes.push(pass);
                }
                Err(status) => {
                    self.journal.ended(step, &status)?;
                    return Ok(unfinished(status));
                }
            },
        }
        if state.passes.len() < self.execution.repeat as usize {
            return Ok(None);
        }
        match self.replayed.counters(step.series, step.configuration) {
            Some(hardware) => state.passes.iter_mut().for_each(|p| p.hardware.clone_from(hardware)),
            None if self.execution.counters.is_none() => {}
            None if interrupted() => return Ok(unfinished(skipped())),
            None => {
                let counted =
                    self.execution.counted(&name, harness, id, configuration, &mut state.passes)?;
                if let Err(status) = counted {
                    self.journal.ended(step, &status)?;
                    return Ok(unfinished(status));
                }
                if let Some(pass) = state.passes.first() {
                    self.journal.counters(step, pass)?;
                }
            }
        }
        self.explain_missing_counters(&mut state.passes);
        let terms = collect::Terms {
            asked: series.asked().chain(metric::defined()).collect(),
            discipline: self.discipline,
        };
        Ok(Some(collect::finished_with(configuration.clone(), &state.passes, &terms)))
    }

    fn told(&self, series: &SeriesResult, out: &mut impl Write) -> Result<()> {
        for judgement in &series.judgements {
            self.event(&Event::threshold_judged(&series.id, judgement), out)?;
        }
        self.event(&Event::series_finished(series), out)
    }

    /// Gives every counter that cannot be had on this machine its reason.
    fn explain_missing_counters(&self, passes: &mut [PassResult]) {
        for pass in passes {
            for (metric, reason) in self.setup.without_value() {
                pass.hardware
                    .insert(metric.to_owned(), HardwareValue::Unavailable(reason.to_owned()));
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
            axes: swept_axes(&described.space, &configurations),
            dependent_axes: described.space.dependent().map(str::to_owned).collect(),
            columns: columns::choose(&series.columns, &configurations),
            sections: series.sections.clone(),
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

/// The axes with the values that occur in `configurations`, each once.
fn swept_axes(space: &Space, configurations: &[ConfigurationResult]) -> Vec<Axis> {
    let axis = |name: &str| {
        let mut seen = HashSet::new();
        let values = configurations.iter().filter_map(|c| c.configuration.get(name));
        let values = values.filter(|value| seen.insert(*value)).cloned().collect();
        Axis { name: name.to_owned(), values }
    };
    space.names().map(axis).collect()
}
