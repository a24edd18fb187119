//! The sweep: every pass of every configuration, in the order of the schedule.
//!
//! Comes in: checked series, and what a resumed run's journal holds. Goes out: a run that holds a result
//! for every planned configuration, also for those that an interrupt kept from running. Every pass that
//! ended is in the journal before the next one has the device. Events are written as things happen: a
//! configuration is told when its last process has gone, and a series when its last configuration has.
//! What goes wrong in a process that several configurations share is tried again alone, so that a
//! configuration answers for itself only.

mod state;
mod take;
mod tell;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::time::Duration;

use gpuprof_model::run::{Run, Status};

use super::Checked;
use super::counters::CounterSetup;
use super::progress::Progress;
use crate::agenda::Agenda;
use crate::build::host::Harness;
use crate::cli::Isolate;
use crate::compare::against::Against;
use crate::compare::replay::Discipline;
use crate::compare::view::View;
use crate::config::Interleave;
use crate::error::Result;
use crate::execute::{Event as Happened, Execution, Job, Pass, Pipeline, outcomes};
use crate::report::json_lines::Event;
use crate::schedule::batches;
use crate::store::journal::{Journal, Replayed};
use state::State;
use tell::Told;

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
    /// What went wrong beside others and was tried again alone: series and configuration, and why.
    pub(super) retried: Vec<((usize, usize), String)>,
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
        drop(told.progress);
        self.tell_retried(checked);
        swept
    }

    /// Says what was tried again alone: what goes wrong only beside others is a fault that somebody may want to know of.
    fn tell_retried(&self, checked: &[Checked]) {
        let Some((&(series, index), why)) = self.retried.first().map(|(at, why)| (at, why)) else {
            return;
        };
        if self.quiet {
            return;
        }
        let planned = &checked[series].planned;
        let key = format!("{}/{}", planned.series.id, planned.configurations[index]);
        let count: BTreeSet<_> = self.retried.iter().map(|(at, _)| at).collect();
        let (what, first) = match count.len() {
            1 => (format!("{key} was"), String::new()),
            more => (format!("{more} configurations were"), format!(" (of {key})")),
        };
        eprintln!("gpuprof: {what} tried again alone, after this beside others{first}: {why}");
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
        let least = execution.repeat.least;
        let batches = batches(counts, least, self.order, self.isolate);
        let mut agenda = Agenda::new(batches, least, state::steps(execution));
        for (series, states) in states.iter_mut().enumerate() {
            self.add(series, (0..states.len()).collect(), states, &mut agenda);
        }
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
                    self.add(job.series, job.configurations, &mut states[job.series], &mut agenda);
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

    /// Adds the timed passes that some of the `configurations` want beyond those that all have.
    fn add(
        &self,
        series: usize,
        configurations: Vec<usize>,
        states: &mut [State],
        agenda: &mut Agenda,
    ) {
        let mut rounds: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for index in configurations {
            for repeat in states[index].wants_more(self.execution.repeat) {
                rounds.entry(repeat).or_default().push(index);
            }
        }
        for (repeat, configurations) in rounds {
            match self.isolate {
                Isolate::Configuration => configurations
                    .into_iter()
                    .for_each(|index| agenda.later(series, repeat, vec![index])),
                Isolate::Kernel => agenda.later(series, repeat, configurations),
            }
        }
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

    fn states(&self, checked: &[Checked]) -> Vec<Vec<State>> {
        let of_series = |(at, series): (usize, &Checked)| {
            let state = |index| State::replayed(&self.replayed, self.execution, (at, index));
            (0..series.planned.configurations.len()).map(state).collect()
        };
        checked.iter().enumerate().map(of_series).collect()
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
