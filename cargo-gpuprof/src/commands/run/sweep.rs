//! The sweep: every pass of every configuration, in the order of the schedule.
//!
//! Comes in: checked series, and what a resumed run's journal holds. Goes out: a run that holds a result
//! for every planned configuration, also for those that an interrupt kept from running. Every pass that
//! ended is in the journal before the next one has the device. Events are written as things happen: a
//! configuration is told when its last process has gone, and a series when its last configuration has.
//! What goes wrong in a process that several configurations share is tried again alone, so that a
//! configuration answers for itself only.

mod state;

use std::collections::HashSet;
use std::io::Write;
use std::time::Duration;

use gpuprof_model::measurement::{HardwareValue, PassOutcome, PassResult};
use gpuprof_model::metric;
use gpuprof_model::run::{ConfigurationResult, Run, SeriesResult, Status};
use gpuprof_model::{Axis, Space};

use super::Checked;
use super::counters::CounterSetup;
use super::progress::Progress;
use crate::agenda::Agenda;
use crate::build::host::Harness;
use crate::cli::Isolate;
use crate::commands::gate;
use crate::compare::against::Against;
use crate::compare::collect::Terms;
use crate::compare::columns;
use crate::compare::replay::Discipline;
use crate::compare::view::View;
use crate::config::Interleave;
use crate::error::{Failure, Result};
use crate::execute::{Ended, Event as Happened, Execution, Job, Pass, Pipeline, outcomes};
use crate::report::json_lines::Event;
use crate::schedule::{Step, batches};
use crate::store::journal::{Journal, Replayed};
use state::State;

/// Why a configuration was skipped, where nothing went wrong.
const INTERRUPTED: &str = "the run was interrupted";

/// What a sweep needs.
pub(super) struct Sweep<'a> {
    pub(super) execution: &'a Execution<'a>,
    pub(super) harnesses: &'a [Harness],
    pub(super) json: bool,
    pub(super) quiet: bool,
    pub(super) setup: &'a CounterSetup,
    pub(super) against: Option<&'a Against>,
    pub(super) order: Interleave,
    pub(super) isolate: Isolate,
    pub(super) view: &'a View,
    pub(super) journal: Journal,
    pub(super) replayed: Replayed,
    pub(super) discipline: Discipline,
    /// Why counters can no longer be had, where a pass found that out.
    pub(super) denied: Option<String>,
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
        self.event(&Event::run_started(&run.id, &run.provenance, checked.len(), total), out)?;
        let mut told = Told::new(checked, Progress::new(total, self.quiet));
        let mut states = self.states(checked);
        let swept = self.sweep(checked, &counts, &mut states, &mut told, run, out);
        let reason = match &swept {
            Ok(()) => INTERRUPTED.to_owned(),
            Err(failure) => failure.message.clone(),
        };
        // What an interrupt, or a file that could not be written, kept from running is told as well.
        for (at, states) in states.iter_mut().enumerate() {
            for (index, state) in states.iter_mut().enumerate() {
                if !state.told {
                    // What still works for it is killed; what it has found may be all there is to find.
                    state.processes = 0;
                    if !state.is_over(self.execution) {
                        state.ended = Some(Status::Skipped { reason: reason.clone() });
                    }
                    let _ = self.tell(&checked[at], (at, index), state, &mut told, run, out);
                }
            }
        }
        run.series.extend(told.finished.into_iter().flatten());
        swept
    }

    /// Runs every job until nothing is left, or the run is interrupted.
    fn sweep(
        &mut self,
        checked: &[Checked],
        counts: &[usize],
        states: &mut [Vec<State>],
        told: &mut Told,
        run: &mut Run,
        out: &mut impl Write,
    ) -> Result<()> {
        self.tell_all_over(checked, states, told, run, out)?;
        let execution = self.execution;
        let batches = batches(counts, execution.repeat, self.order, self.isolate);
        let mut agenda = Agenda::new(batches, execution.repeat, state::steps(execution));
        let mut pipeline = Pipeline::new(&execution.process, execution.ahead);
        loop {
            self.start(checked, states, &mut agenda, &mut pipeline, told)?;
            let job = match pipeline.wait()? {
                Happened::Interrupted => return Ok(()),
                Happened::Idle => break,
                Happened::Replied { job, bytes, held } => {
                    let harness = &self.harnesses[checked[job.series].planned.harness];
                    let outcomes = outcomes(&bytes, harness);
                    share(held, &job, &mut states[job.series]);
                    let again = self.accept(&job, outcomes, &mut states[job.series])?;
                    call_back(again, &mut pipeline, &mut agenda, states);
                    continue;
                }
                Happened::Ended { job, ended, held } => {
                    share(held, &job, &mut states[job.series]);
                    leave(&job, &mut states[job.series]);
                    let again = self.lose(&job, &ended, &mut states[job.series])?;
                    call_back(again, &mut pipeline, &mut agenda, states);
                    job
                }
                Happened::Left { job, trouble } => {
                    leave(&job, &mut states[job.series]);
                    for &index in &job.configurations {
                        let state = &mut states[job.series][index];
                        if let (Some(reason), None, false) = (&trouble, &state.ended, state.told) {
                            self.end(
                                (job.series, index),
                                state,
                                Status::Failed { reason: reason.clone() },
                            )?;
                        }
                    }
                    job
                }
            };
            for &index in &job.configurations {
                let (at, state) = ((job.series, index), &mut states[job.series][index]);
                self.tell_if_over(&checked[job.series], at, state, told, run, out)?;
            }
        }
        // Those whose counters turned out to be denied when nothing of theirs ran any more.
        self.tell_all_over(checked, states, told, run, out)
    }

    fn tell_all_over(
        &self,
        checked: &[Checked],
        states: &mut [Vec<State>],
        told: &mut Told,
        run: &mut Run,
        out: &mut impl Write,
    ) -> Result<()> {
        for (at, (series, states)) in checked.iter().zip(states).enumerate() {
            for (index, state) in states.iter_mut().enumerate() {
                self.tell_if_over(series, (at, index), state, told, run, out)?;
            }
        }
        Ok(())
    }

    /// Starts as many jobs as there is room for.
    fn start(
        &self,
        checked: &[Checked],
        states: &mut [Vec<State>],
        agenda: &mut Agenda,
        pipeline: &mut Pipeline<'_>,
        told: &mut Told,
    ) -> Result<()> {
        while let Some(mut job) = agenda.next() {
            let states = &mut states[job.series];
            if let (Some(reason), Some(counters)) = (&self.denied, &self.execution.counters)
                && matches!(job.pass, Pass::Counters { .. })
            {
                for &index in &job.configurations {
                    states[index].collected = counters.denied(reason);
                }
            }
            job.configurations.retain(|&index| !states[index].has(job.pass));
            if job.configurations.is_empty() {
                continue;
            }
            if !pipeline.has_room(&job) {
                agenda.again(vec![job]);
                return Ok(());
            }
            job.configurations.iter().for_each(|&index| states[index].processes += 1);
            let planned = &checked[job.series].planned;
            told.progress.start(&format!(
                "{}/{}",
                planned.series.id, planned.configurations[job.configurations[0]]
            ));
            let name = job.name(&planned.series.id);
            let body = self.execution.request(&job, planned);
            let harness = &self.harnesses[planned.harness];
            let single_stream =
                planned.series.device_function || matches!(job.pass, Pass::Counters { .. });
            pipeline.start(job, &name, harness, body, single_stream)?;
        }
        Ok(())
    }

    /// Takes what a job's process found; goes out: what must run again, if anything ended.
    fn accept(
        &mut self,
        job: &Job,
        outcomes: Vec<PassOutcome>,
        states: &mut [State],
    ) -> Result<Option<Vec<Job>>> {
        let mut again = Vec::new();
        let mut ended = false;
        let mut unreached = Vec::new();
        let mut outcomes = outcomes.into_iter();
        for &index in &job.configurations {
            let (at, state) = ((job.series, index), &mut states[index]);
            let status = match outcomes.next() {
                None => {
                    unreached.push(index);
                    continue;
                }
                _ if state.has(job.pass) => continue,
                Some(PassOutcome::Finished(result)) => {
                    match self.keep(job.pass, at, *result, state)? {
                        Ok(()) => continue,
                        Err(reason) => Status::Failed { reason },
                    }
                }
                Some(PassOutcome::Invalid { reason }) => Status::Invalid { reason },
                Some(PassOutcome::Denied { reason }) => {
                    self.denied = Some(reason);
                    // Nothing is wrong with the configuration: it goes on without its counters.
                    again.push(job.alone(index));
                    continue;
                }
                Some(PassOutcome::Failed { reason }) => {
                    if job.may_be_innocent(&reason) {
                        again.push(job.alone(index));
                        continue;
                    }
                    Status::Failed { reason }
                }
            };
            ended = true;
            self.end(at, state, status)?;
        }
        if !unreached.is_empty() {
            again.push(Job { configurations: unreached, ..job.clone() });
        }
        Ok((ended || !again.is_empty()).then_some(again))
    }

    /// Keeps what a pass found, on disk before anything else is measured; also where the disk is full. The inner
    /// error is what makes the configuration fail.
    fn keep(
        &mut self,
        pass: Pass,
        (series, configuration): (usize, usize),
        result: PassResult,
        state: &mut State,
    ) -> Result<Result<(), String>> {
        match pass {
            Pass::Timed { repeat } => {
                let recorded = self.journal.pass(Step { series, configuration, repeat }, &result);
                state.passes.push(result);
                recorded?;
            }
            Pass::Counters { step } => {
                let Some(counters) = &self.execution.counters else { return Ok(Ok(())) };
                let added = counters.add(step, state.passes.first(), result, &mut state.collected);
                if let Err(reason) = added {
                    return Ok(Err(reason));
                }
                let of = counters.steps();
                self.journal.collected((series, configuration), of, &state.collected)?;
            }
        }
        Ok(Ok(()))
    }

    /// Takes that a job's process gave no reply; goes out: what must run again.
    fn lose(&mut self, job: &Job, ended: &Ended, states: &mut [State]) -> Result<Option<Vec<Job>>> {
        let status = status_of(ended);
        let (Status::Failed { reason } | Status::Timeout { reason } | Status::Skipped { reason }) =
            &status
        else {
            return Ok(None);
        };
        if job.may_be_innocent(reason) && !matches!(status, Status::Skipped { .. }) {
            return Ok(Some(job.configurations.iter().map(|&index| job.alone(index)).collect()));
        }
        for &index in &job.configurations {
            if !states[index].has(job.pass) {
                self.end((job.series, index), &mut states[index], status.clone())?;
            }
        }
        Ok(Some(Vec::new()))
    }

    fn end(&mut self, at: (usize, usize), state: &mut State, status: Status) -> Result<()> {
        state.ended = Some(status.clone());
        self.journal.ended(at, &status)
    }

    fn states(&self, checked: &[Checked]) -> Vec<Vec<State>> {
        let of_series = |(at, series): (usize, &Checked)| {
            let planned = &series.planned;
            let state =
                |index| State::replayed(&self.replayed, self.execution, (at, index), planned);
            (0..planned.configurations.len()).map(state).collect()
        };
        checked.iter().enumerate().map(of_series).collect()
    }

    fn tell_if_over(
        &self,
        series: &Checked,
        at: (usize, usize),
        state: &mut State,
        told: &mut Told,
        run: &mut Run,
        out: &mut impl Write,
    ) -> Result<()> {
        if state.told || !state.is_over(self.execution) {
            return Ok(());
        }
        self.tell(series, at, state, told, run, out)
    }

    /// Tells the result of a configuration, and of its series when it was the last one.
    fn tell(
        &self,
        series: &Checked,
        (at, index): (usize, usize),
        state: &mut State,
        told: &mut Told,
        run: &mut Run,
        out: &mut impl Write,
    ) -> Result<()> {
        state.told = true;
        if run.provenance.device.is_none() {
            run.provenance.device = state.passes.first().map(|pass| pass.device.clone());
        }
        self.explain_missing_counters(&mut state.passes);
        let terms = Terms {
            asked: series.asked().chain(metric::defined()).collect(),
            discipline: self.discipline,
        };
        let configuration = &series.planned.configurations[index];
        let result = state.result(configuration, &terms);
        let id = &series.planned.series.id;
        if !matches!(result.status, Status::Skipped { .. }) {
            told.progress.end(&format!("{id}/{configuration}"), &result, state.held);
        }
        let trouble = self.event(&Event::configuration_finished(id, &result), out);
        told.results[at][index] = Some(result);
        told.left[at] -= 1;
        if told.left[at] > 0 {
            return trouble;
        }
        let results = std::mem::take(&mut told.results[at]).into_iter().flatten().collect();
        let finished = self.finish(series, results, run);
        let trouble = trouble.and(self.told(&finished, out));
        told.finished[at] = Some(finished);
        trouble
    }

    fn told(&self, series: &SeriesResult, out: &mut impl Write) -> Result<()> {
        for judgement in &series.judgements {
            self.event(&Event::threshold_judged(&series.id, judgement), out)?;
        }
        self.event(&Event::series_finished(series, self.view), out)
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
        let placed = |p: &super::Placed| (p.threshold.clone(), p.origin.clone(), p.place.clone());
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

/// What has been told.
struct Told {
    progress: Progress,
    results: Vec<Vec<Option<ConfigurationResult>>>,
    left: Vec<usize>,
    finished: Vec<Option<SeriesResult>>,
}

impl Told {
    fn new(checked: &[Checked], progress: Progress) -> Self {
        let counts = checked.iter().map(|series| series.planned.configurations.len());
        Self {
            progress,
            results: counts.clone().map(|count| (0..count).map(|_| None).collect()).collect(),
            left: counts.collect(),
            finished: checked.iter().map(|_| None).collect(),
        }
    }
}

/// Gives each configuration of a job its part of the time that its process had the device.
fn share(held: Duration, job: &Job, states: &mut [State]) {
    let count = u32::try_from(job.configurations.len()).unwrap_or(u32::MAX).max(1);
    job.configurations.iter().for_each(|&index| states[index].held += held / count);
}

fn leave(job: &Job, states: &mut [State]) {
    job.configurations.iter().for_each(|&index| states[index].processes -= 1);
}

/// Where something must run again or has ended, what waits behind it was prepared for something else: it is called
/// back, and what is still wanted of it starts anew.
fn call_back(
    again: Option<Vec<Job>>,
    pipeline: &mut Pipeline<'_>,
    agenda: &mut Agenda,
    states: &mut [Vec<State>],
) {
    let Some(again) = again else { return };
    let recalled = pipeline.recall();
    recalled.iter().for_each(|job| leave(job, &mut states[job.series]));
    agenda.again(recalled);
    agenda.again(again);
}

/// The status that a process without a reply gives its configuration.
fn status_of(ended: &Ended) -> Status {
    match ended {
        Ended::Replied(_) => Status::Finished,
        Ended::Without { how, stderr } => {
            Status::Failed { reason: format!("the process {how}{}", stderr.tail()) }
        }
        Ended::TimedOut { seconds, stderr } => Status::Timeout {
            reason: format!(
                "the process ran for {seconds} s and was killed (--timeout raises the limit){}",
                stderr.tail()
            ),
        },
        Ended::Interrupted => Status::Skipped { reason: INTERRUPTED.to_owned() },
    }
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
