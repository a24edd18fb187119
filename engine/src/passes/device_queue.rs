//! The jobs of each device, those to come and those under way.
//!
//! Input: which device measures what, and the order of passes. Output: a queue for each device,
//! which nothing of another device is ever put into: a configuration is measured on one of them
//! from its first pass to its last.

use std::collections::BTreeMap;
use std::time::Duration;

use super::state::{self, State};
use super::sweep::{Planned, Sweep};
use crate::execute::{Execution, Pipeline};
use crate::schedule::job_order::{CounterSteps, Queue};
use crate::schedule::{Batch, Interleave, Job, batches, schedule};
use gpuprof_analysis::stats::random::{SEED, SplitMix, shuffle};

/// The jobs of a device.
pub(super) struct DeviceQueue<'a> {
    /// Those to come.
    pub(super) queue: Queue,
    /// Those under way.
    pub(super) pipeline: Pipeline<'a>,
    /// The jobs to repeat after the process that has the device, if any failed or ended early.
    again: Option<Vec<Job>>,
}

impl<'a> Sweep<'a, '_> {
    /// The queue of each device.
    pub(super) fn queues(&mut self) -> Vec<DeviceQueue<'a>> {
        let executions = self.planned.executions;
        executions.iter().enumerate().map(|(at, execution)| self.queue(at, execution)).collect()
    }

    fn queue(&mut self, device: usize, execution: &'a Execution<'a>) -> DeviceQueue<'a> {
        let Planned { assignment, order, isolate, .. } = self.planned;
        let here = |series: usize, index: usize| assignment.device((series, index)) == device;
        let least = execution.repeat.least;
        let steps = schedule(&self.planned.counts_of_head(), least, order);
        let steps = steps.into_iter().filter(|step| here(step.series, step.configuration));
        let batches = self.planned.pairs.insert_partners(batches(steps, isolate));
        // Who holds a profiler that others wait for takes no times meanwhile.
        let joined = execution.profiler.is_none();
        let counters = CounterSteps { steps: state::steps(execution), joined, isolate };
        let energy = self.energy_of(&batches, device);
        let mut queue = Queue::new(batches, counters);
        for Batch { series, repeat, configurations, .. } in energy {
            queue.energy(series, repeat, configurations);
        }
        for series in 0..self.states.len() {
            let own = (0..self.states[series].len()).filter(|&index| here(series, index));
            self.add(series, own.collect(), &mut queue);
        }
        let profiler = execution.profiler.clone();
        let pipeline = Pipeline::new(&execution.process, execution.ahead, profiler);
        DeviceQueue { queue, pipeline, again: None }
    }

    /// The energy passes after the timed passes of `batches`, and after further timed passes of a
    /// resumed run.
    fn energy_of(&self, batches: &[Batch], device: usize) -> Vec<Batch> {
        let wanted = |series: &usize| self.planned.wants_energy(*series, device);
        let mut all: Vec<Batch> =
            batches.iter().filter(|batch| wanted(&batch.series)).cloned().collect();
        let least = self.planned.executions[device].repeat.least;
        for at in self.all() {
            let passes = u32::try_from(self.states[at.0][at.1].passes.len()).unwrap_or(u32::MAX);
            if wanted(&at.0) && self.planned.assignment.device(at) == device {
                all.extend((least..passes).map(|repeat| Batch {
                    series: at.0,
                    repeat,
                    configurations: vec![at.1],
                    before_its_partner: false,
                }));
            }
        }
        all
    }

    /// Adds the timed passes that some of the `configurations` want in addition to the common ones.
    pub(super) fn add(&mut self, series: usize, configurations: Vec<usize>, queue: &mut Queue) {
        let mut rounds: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for index in configurations {
            let at = (series, index);
            if self.planned.pairs.partner(at).is_some() {
                continue;
            }
            let repeat = self.planned.execution(at).repeat;
            for repeat in self.state(at).wants_more(repeat) {
                rounds.entry(repeat).or_default().push(index);
            }
        }
        for (repeat, mut configurations) in rounds {
            if self.planned.order == Interleave::Rounds {
                // Each round has its own random order, like the common ones.
                shuffle(&mut configurations, &mut SplitMix(SEED + u64::from(repeat)));
            }
            let device = self.planned.assignment.device((series, configurations[0]));
            let energy = self.planned.wants_energy(series, device);
            for together in configurations.chunks(self.planned.isolate.most_together()) {
                queue.later(series, repeat, together.to_vec(), energy);
            }
        }
    }
}

/// Gives each configuration of a job its part of the time that its process had the device.
pub(super) fn share(held: Duration, job: &Job, states: &mut [State]) {
    let count = u32::try_from(job.configurations.len()).unwrap_or(u32::MAX).max(1);
    job.configurations.iter().for_each(|&index| states[index].held += held / count);
}

pub(super) fn leave(job: &Job, states: &mut [State]) {
    job.everyone().into_iter().for_each(|index| states[index].processes -= 1);
}

impl DeviceQueue<'_> {
    /// Keeps the jobs to repeat.
    pub(super) fn run_again(&mut self, again: Option<Vec<Job>>) {
        if let Some(again) = again {
            self.again.get_or_insert_default().extend(again);
        }
    }

    /// If jobs must be repeated or a configuration has ended, the jobs behind it were prepared for
    /// another situation: they are recalled, and restarted if they are still needed. Only after the
    /// process that caused this has ended: until then it writes counter data for waiting jobs.
    pub(super) fn call_back(&mut self, states: &mut [Vec<State>]) {
        let Some(again) = self.again.take() else { return };
        let recalled = self.pipeline.recall();
        recalled.iter().for_each(|job| leave(job, &mut states[job.series]));
        for job in recalled.iter().chain(&again) {
            for index in job.everyone() {
                let state = &mut states[job.series][index];
                state.image = state.collected.image.clone();
            }
        }
        self.queue.again(recalled);
        self.queue.again(again);
    }
}
