//! The engine: every pass of every configuration, in the order of the schedule, on every device at
//! the same time.
//!
//! Input: the plan, which does not change, and the results in a resumed run's journal. Output:
//! [`Event`]s. Every planned configuration is reported as finished once, when its last process has
//! ended, even if an interrupt kept it from running. Every pass that ended is reported before the
//! next process gets its device. A configuration that fails in a shared process is retried in
//! isolation, so that it cannot be blamed for others.

mod costs;
mod device_queue;
mod event;
mod looks;
mod outcomes;
mod state;
mod stopwatch;
mod sweep;

use gpuprof_model::ExitCode;
use gpuprof_model::run::Status;

use crate::execute::{self, Event as Happened, Execution};
use crate::schedule::{Job, MOST_TOGETHER, Pass, hand_over};
use crate::store::journal::Replayed;
pub use costs::Costs;
use device_queue::{DeviceQueue, share};
pub use event::{At, Event, Observer, Open, PassResults};
use gpuprof_system::error::Result;
pub use stopwatch::Stopwatch;
use sweep::{INTERRUPTED, Sweep};
pub use sweep::{Planned, Rounds};

/// Runs the passes of `planned` that were not done before, and reports to `observer`.
///
/// # Errors
/// Errors of `observer`, and processes that cannot be started. Every configuration has been
/// reported then as well.
pub fn run(planned: Planned<'_>, replayed: &Replayed, observer: &mut dyn Observer) -> Result<()> {
    let mut sweep = Sweep::new(planned, observer);
    let outcome = sweep.take_up(replayed).and_then(|()| sweep.sweep());
    let reason = match &outcome {
        Ok(()) => INTERRUPTED,
        Err(failure) => &failure.message,
    };
    sweep.skip_rest(reason);
    outcome
}

impl Sweep<'_, '_> {
    /// Every configuration, in order.
    fn all(&self) -> Vec<At> {
        let states = self.states.iter().enumerate();
        states.flat_map(|(at, states)| (0..states.len()).map(move |index| (at, index))).collect()
    }

    /// Runs every job until nothing is left, or the run is interrupted.
    fn sweep(&mut self) -> Result<()> {
        // First the requests of each: a configuration with all timed passes in the journal may want
        // more of them.
        let mut queues = self.queues();
        self.finish_what_is_over()?;
        loop {
            if let Some(reason) = self.observer.stop_reason() {
                self.skip_rest(&reason);
                return Ok(());
            }
            for (device, queue) in queues.iter_mut().enumerate() {
                self.start(device, queue)?;
            }
            let mut pipelines: Vec<_> =
                queues.iter_mut().map(|queue| &mut queue.pipeline).collect();
            let (device, happened) = execute::wait(&mut pipelines)?;
            let queue = &mut queues[device];
            let stretches = queue.pipeline.spent();
            if !stretches.is_empty() {
                self.observer.observe(Event::Spent { device, stretches })?;
            }
            let done = match happened {
                Happened::Interrupted => return Ok(()),
                Happened::Idle => {
                    // A configuration with counters that turned out to be denied may be finished
                    // now.
                    self.finish_what_is_over()?;
                    if self.look(&mut queues)? {
                        continue;
                    }
                    break;
                }
                Happened::Replied { job, bytes, held, goes_on } => {
                    share(held, &job, &mut self.states[job.series]);
                    self.replied(job, &bytes, goes_on, queue)?;
                    continue;
                }
                Happened::Ended { job, whole, ended, position, held } => {
                    share(held, &job, &mut self.states[job.series]);
                    self.leave(&whole);
                    let again = self.lose(&job, &ended, position)?;
                    queue.run_again(again);
                    queue.call_back(&mut self.states);
                    whole
                }
                Happened::Left { job, trouble } => {
                    self.leave(&job);
                    self.left(&job, trouble)?;
                    job
                }
            };
            for index in done.everyone() {
                self.finish_if_over((done.series, index))?;
            }
        }
        Ok(())
    }

    /// Takes a reply of `job`'s process.
    fn replied(
        &mut self,
        job: Job,
        bytes: &[u8],
        goes_on: bool,
        queue: &mut DeviceQueue<'_>,
    ) -> Result<()> {
        let harness = &self.planned.harnesses[self.planned.series[job.series].harness];
        let again = self.accept(&job, execute::outcomes(bytes, harness))?;
        self.add(job.series, job.configurations, &mut queue.queue);
        queue.run_again(again);
        if !goes_on {
            queue.call_back(&mut self.states);
        }
        Ok(())
    }

    /// Takes that `job`'s process, which had replied, is gone; with what was wrong in the end.
    fn left(&mut self, job: &Job, trouble: Option<String>) -> Result<()> {
        for index in job.everyone() {
            let at = (job.series, index);
            let state = self.state(at);
            let open = state.ended.is_none() && !state.told;
            if let Some(reason) = trouble.clone().filter(|_| open) {
                self.planned.needed.check()?;
                self.end(at, Status::Failed { reason })?;
            }
        }
        self.tidy(job);
        Ok(())
    }

    /// A process works for the configurations of `job` no more.
    fn leave(&mut self, job: &Job) {
        device_queue::leave(job, &mut self.states[job.series]);
    }

    fn finish_what_is_over(&mut self) -> Result<()> {
        self.all().into_iter().try_for_each(|at| self.finish_if_over(at))
    }

    fn finish_if_over(&mut self, at: At) -> Result<()> {
        let execution = self.planned.execution(at);
        let state = self.state(at);
        if state.told || !state.is_over(execution) {
            return Ok(());
        }
        self.finish(at)
    }

    /// Tells that nothing works for a configuration any more.
    fn finish(&mut self, at: At) -> Result<()> {
        let found = self.state(at).finish();
        self.observer.observe(Event::ConfigurationFinished { at, found })
    }

    /// Reports the configurations that an interrupt, an observer or a failed write kept from
    /// running.
    fn skip_rest(&mut self, reason: &str) {
        for at in self.all() {
            let execution = self.planned.execution(at);
            let state = self.state(at);
            if state.told {
                continue;
            }
            // Its remaining processes are killed; the results so far may be all there are.
            state.processes = 0;
            if !state.is_over(execution) {
                state.ended = Some(Status::Skipped { reason: reason.to_owned() });
            }
            // The first failure is the one to report.
            let _ = self.finish(at);
        }
    }

    /// Starts as many jobs on a device as there is room for.
    fn start(&mut self, device: usize, queue: &mut DeviceQueue<'_>) -> Result<()> {
        let execution = &self.planned.executions[device];
        while let Some(mut job) = queue.queue.next() {
            queue.queue.again(self.take_apart(&mut job));
            let Some(job) = self.wanted(job, device) else { continue };
            if !queue.pipeline.has_room(&job) {
                queue.queue.again(vec![job]);
                return Ok(());
            }
            let states = &mut self.states[job.series];
            job.everyone().into_iter().for_each(|index| states[index].processes += 1);
            let job = self.hand_over(job, execution);
            self.observer.observe(Event::Started { at: (job.series, job.configurations[0]) })?;
            let planned = self.planned.series[job.series];
            let name = job.name(&planned.series.id);
            let asked = job.parts().map(|part| execution.request(part, planned)).collect();
            let harness = &self.planned.harnesses[planned.harness];
            let single_stream = planned.series.is_kernel() || !job.is_unprofiled();
            let checks = execution.checks.or(planned.series.check).unwrap_or_default();
            let started = queue.pipeline.start(job, &name, harness, asked, single_stream, checks);
            // A missing executable and an executable that cannot be started have different errors.
            started.or_else(|failure| match failure.code {
                ExitCode::DiscoveryFailed => self.planned.needed.check().and(Err(failure)),
                _ => Err(failure),
            })?;
        }
        Ok(())
    }

    /// Takes the configurations that share no process out of a shared one; the jobs that measure
    /// them.
    fn take_apart(&self, job: &mut Job) -> Vec<Job> {
        let states = &self.states[job.series];
        let (mut alone, mut part) = (Vec::new(), Some(job));
        while let Some(job) = part {
            if job.configurations.len() > 1 {
                let apart = job.configurations.extract_if(.., |&mut index| states[index].apart);
                alone.extend(apart.map(|index| Job::new(job.series, job.pass, vec![index])));
            }
            part = job.then.as_deref_mut();
        }
        alone
    }

    /// What is left to do of a job, if anything is; its configurations have no counters where the
    /// device denies them.
    fn wanted(&mut self, mut job: Job, device: usize) -> Option<Job> {
        let states = &mut self.states[job.series];
        job.configurations.retain(|&index| !states[index].has(job.pass));
        let counters = &self.planned.executions[device].counters;
        if let (Some(denial), Some(counters), false) =
            (&self.denied[device], counters, job.is_unprofiled())
        {
            // Configurations with all counters keep them.
            for index in job.configurations.drain(..) {
                states[index].collected = counters.denied(&denial.reason);
            }
        }
        let then = job.then.take().and_then(|then| self.wanted(*then, device));
        if job.configurations.is_empty() {
            return then;
        }
        Some(Job { then: then.map(Box::new), ..job })
    }

    /// The job with where its configurations leave their counter data, in the order of its files.
    fn hand_over(&mut self, mut job: Job, execution: &Execution<'_>) -> Job {
        job.then = job.then.map(|then| Box::new(self.hand_over(*then, execution)));
        job.images.clear();
        let (Pass::Counters { step }, Some(counters)) = (job.pass, &execution.counters) else {
            return job;
        };
        let series = &self.planned.series[job.series].series;
        let states = &mut self.states[job.series];
        let goes_on = counters.goes_on(step);
        let before = |&index: &usize| (index, states[index].image.clone().filter(|_| goes_on));
        let before = job.configurations.iter().map(before).collect();
        let together = match series.is_kernel() {
            true => self.together.get(&job.series).copied().unwrap_or(MOST_TOGETHER),
            false => 1,
        };
        let handed = hand_over(&job.name(&series.id), together, before);
        for (index, handover) in &handed {
            states[*index].image = Some(handover.after.clone());
        }
        (job.configurations, job.images) = handed.into_iter().unzip();
        job
    }
}
