//! The sweep: every pass of every configuration, in the order of the schedule, on every device at
//! the same time.
//!
//! Input: checked series, and what a resumed run's journal holds. Output: a run that holds a
//! result for every planned configuration, also for those that an interrupt kept from running.
//! Every pass that ended is in the journal before the next process has its device. Events are
//! written as things happen: a configuration is told when its last process has gone, and a series
//! when its last configuration has. What goes wrong in a process that several configurations share
//! is tried again alone, so that a configuration answers for itself only.

mod device_queue;
mod events;
mod outcomes;
mod state;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use gpuprof_model::measurement::DeviceName;
use gpuprof_model::run::{Run, Status};

use super::Checked;
use super::counters::CounterSetup;
use super::progress::Progress;
use crate::build::host::Harness;
use crate::error::Result;
use crate::execute::{self, Event as Happened, Execution, Job, MOST_TOGETHER, Pass, outcomes};
use crate::options::Interleave;
use crate::options::Isolate;
use crate::report::json_lines::Event;
use crate::schedule::assignment::Assignment;
use crate::store::journal::{Journal, Replayed};
use device_queue::{DeviceQueue, leave, share};
use events::Told;
use gpuprof_analysis::gate::baseline::Against;
use gpuprof_analysis::metrics::replay::Discipline;
use gpuprof_analysis::view::View;
use state::State;

/// Why a configuration was skipped, where nothing went wrong.
const INTERRUPTED: &str = "the run was interrupted";

/// What a sweep needs.
pub(super) struct Sweep<'a> {
    /// What is to be measured.
    pub(super) checked: &'a [Checked],
    /// Which device measures what.
    pub(super) spread: &'a Assignment,
    /// How each device does.
    pub(super) executions: &'a [Execution<'a>],
    /// What is known of each device's counters.
    pub(super) setups: &'a [CounterSetup],
    /// What the devices are called, where there are several.
    pub(super) names: &'a [DeviceName],
    pub(super) harnesses: &'a [Harness],
    pub(super) json: bool,
    pub(super) quiet: bool,
    pub(super) against: Option<&'a Against>,
    pub(super) order: Interleave,
    pub(super) isolate: Isolate,
    pub(super) view: &'a View,
    pub(super) journal: Journal,
    pub(super) replayed: Replayed,
    pub(super) discipline: Discipline,
    /// Of each device: why its counters can no longer be had, where a pass found that out.
    pub(super) denied: Vec<Option<String>>,
    /// How many configurations of a series have room in one process at once, where that turned out
    /// to be few.
    pub(super) together: BTreeMap<usize, usize>,
    /// What went wrong beside others and was tried again alone: series and configuration, and why.
    pub(super) retried: Vec<((usize, usize), String)>,
}

impl<'a> Sweep<'a> {
    /// Runs everything into `run`.
    ///
    /// # Errors
    /// Files or standard output that cannot be written; what was measured is in `run`.
    pub(super) fn run(&mut self, run: &mut Run, out: &mut impl Write) -> Result<()> {
        let total = self.counts().iter().sum();
        self.event(&Event::run_started(&run.id, &run.provenance, self.checked.len(), total), out)?;
        let mut told = Told::new(self.checked, Progress::new(total, self.quiet), run, out);
        let mut states = self.states();
        let swept = self.sweep(&mut states, &mut told);
        let reason = match &swept {
            Ok(()) => INTERRUPTED.to_owned(),
            Err(failure) => failure.message.clone(),
        };
        // What an interrupt, or a file that could not be written, kept from running is told as
        // well.
        for (at, states) in states.iter_mut().enumerate() {
            for (index, state) in states.iter_mut().enumerate() {
                if !state.told {
                    // What still works for it is killed; what it has found may be all there is to
                    // find.
                    state.processes = 0;
                    if !state.is_over(self.execution((at, index))) {
                        state.ended = Some(Status::Skipped { reason: reason.clone() });
                    }
                    let _ = self.tell((at, index), state, &mut told);
                }
            }
        }
        told.end();
        self.tell_retried();
        swept
    }

    /// How many configurations each series has.
    fn counts(&self) -> Vec<usize> {
        self.checked.iter().map(|c| c.planned.configurations.len()).collect()
    }

    /// Says what was tried again alone: what goes wrong only beside others is a fault that somebody
    /// may want to know of.
    fn tell_retried(&self) {
        let Some((&(series, index), why)) = self.retried.first().map(|(at, why)| (at, why)) else {
            return;
        };
        if self.quiet {
            return;
        }
        let planned = &self.checked[series].planned;
        let key = format!("{}/{}", planned.series.id, planned.configurations[index]);
        let count: BTreeSet<_> = self.retried.iter().map(|(at, _)| at).collect();
        let (what, first) = match count.len() {
            1 => (format!("{key} was"), String::new()),
            more => (format!("{more} configurations were"), format!(" (of {key})")),
        };
        eprintln!("gpuprof: {what} tried again alone, after this beside others{first}: {why}");
    }

    /// Runs every job until nothing is left, or the run is interrupted.
    fn sweep(&mut self, states: &mut [Vec<State>], told: &mut Told<'_, impl Write>) -> Result<()> {
        // First what each wants: one whose timed passes a resumed run has may want more of them.
        let mut lanes = self.lanes(&self.counts(), states);
        self.tell_all_over(states, told)?;
        loop {
            for (device, lane) in lanes.iter_mut().enumerate() {
                self.start(states, device, lane, &told.progress)?;
            }
            let mut pipelines: Vec<_> = lanes.iter_mut().map(|lane| &mut lane.pipeline).collect();
            let (device, happened) = execute::wait(&mut pipelines)?;
            let lane = &mut lanes[device];
            let job = match happened {
                Happened::Interrupted => return Ok(()),
                Happened::Idle => break,
                Happened::Replied { job, bytes, held, goes_on } => {
                    let harness = &self.harnesses[self.checked[job.series].planned.harness];
                    let outcomes = outcomes(&bytes, harness);
                    share(held, &job, &mut states[job.series]);
                    let again = self.accept(&job, outcomes, &mut states[job.series])?;
                    self.add(
                        job.series,
                        job.configurations,
                        &mut states[job.series],
                        &mut lane.queue,
                    );
                    lane.run_again(again);
                    if !goes_on {
                        lane.call_back(states);
                    }
                    continue;
                }
                Happened::Ended { job, whole, ended, held } => {
                    share(held, &job, &mut states[job.series]);
                    leave(&whole, &mut states[job.series]);
                    let again = self.lose(&job, &ended, &mut states[job.series])?;
                    lane.run_again(again);
                    lane.call_back(states);
                    whole
                }
                Happened::Left { job, trouble } => {
                    leave(&job, &mut states[job.series]);
                    for index in job.everyone() {
                        let state = &mut states[job.series][index];
                        if let (Some(reason), None, false) = (&trouble, &state.ended, state.told) {
                            self.end(
                                (job.series, index),
                                state,
                                Status::Failed { reason: reason.clone() },
                            )?;
                        }
                    }
                    self.tidy(&job, &states[job.series]);
                    job
                }
            };
            for index in job.everyone() {
                let (at, state) = ((job.series, index), &mut states[job.series][index]);
                self.tell_if_over(at, state, told)?;
            }
        }
        // Those whose counters turned out to be denied when nothing of theirs ran any more.
        self.tell_all_over(states, told)
    }

    fn tell_all_over(
        &self,
        states: &mut [Vec<State>],
        told: &mut Told<'_, impl Write>,
    ) -> Result<()> {
        for (at, states) in states.iter_mut().enumerate() {
            for (index, state) in states.iter_mut().enumerate() {
                self.tell_if_over((at, index), state, told)?;
            }
        }
        Ok(())
    }

    /// How the device of a configuration does.
    fn execution(&self, at: (usize, usize)) -> &'a Execution<'a> {
        &self.executions[self.spread.device(at)]
    }

    /// Starts as many jobs on a device as there is room for.
    fn start(
        &self,
        states: &mut [Vec<State>],
        device: usize,
        DeviceQueue { queue, pipeline, .. }: &mut DeviceQueue<'_>,
        progress: &Progress,
    ) -> Result<()> {
        let execution = &self.executions[device];
        while let Some(job) = queue.next() {
            let states = &mut states[job.series];
            let Some(job) = self.wanted(job, device, states) else { continue };
            if !pipeline.has_room(&job) {
                queue.again(vec![job]);
                return Ok(());
            }
            job.everyone().into_iter().for_each(|index| states[index].processes += 1);
            let job = self.hand_over(job, execution, states);
            let planned = &self.checked[job.series].planned;
            progress.start(&format!(
                "{}/{}",
                planned.series.id, planned.configurations[job.configurations[0]]
            ));
            let name = job.name(&planned.series.id);
            let asked = job.parts().map(|part| execution.request(part, planned)).collect();
            let harness = &self.harnesses[planned.harness];
            let single_stream = planned.series.device_function || !job.takes_times();
            pipeline.start(job, &name, harness, asked, single_stream)?;
        }
        Ok(())
    }

    /// What is left to do of a job, if anything is; its configurations have no counters where the
    /// device denies them.
    fn wanted(&self, mut job: Job, device: usize, states: &mut [State]) -> Option<Job> {
        job.configurations.retain(|&index| !states[index].has(job.pass));
        let counters = &self.executions[device].counters;
        if let (Some(reason), Some(counters), false) =
            (&self.denied[device], counters, job.takes_times())
        {
            // What has all of its counters keeps them.
            for index in job.configurations.drain(..) {
                states[index].collected = counters.denied(reason);
            }
        }
        let then = job.then.take().and_then(|then| self.wanted(*then, device, states));
        if job.configurations.is_empty() {
            return then;
        }
        Some(Job { then: then.map(Box::new), ..job })
    }

    /// The job with where its configurations leave their counter data, in the order of its files.
    fn hand_over(&self, mut job: Job, execution: &Execution<'_>, states: &mut [State]) -> Job {
        job.then = job.then.map(|then| Box::new(self.hand_over(*then, execution, states)));
        job.images.clear();
        let (Pass::Counters { step }, Some(counters)) = (job.pass, &execution.counters) else {
            return job;
        };
        let series = &self.checked[job.series].planned.series;
        let goes_on = counters.goes_on(step);
        let before = |&index: &usize| (index, states[index].image.clone().filter(|_| goes_on));
        let before = job.configurations.iter().map(before).collect();
        let together = match series.device_function && counters.shares_images() {
            true => self.together.get(&job.series).copied().unwrap_or(MOST_TOGETHER),
            false => 1,
        };
        let handed = execute::hand_over(&job.name(&series.id), together, before);
        for (index, handover) in &handed {
            states[*index].image = Some(handover.after.clone());
        }
        (job.configurations, job.images) = handed.into_iter().unzip();
        job
    }

    fn states(&self) -> Vec<Vec<State>> {
        let of_series = |(at, series): (usize, &Checked)| {
            let state =
                |index| State::replayed(&self.replayed, self.execution((at, index)), (at, index));
            (0..series.planned.configurations.len()).map(state).collect()
        };
        self.checked.iter().enumerate().map(of_series).collect()
    }
}
