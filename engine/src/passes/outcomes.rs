//! Handles the outcomes of jobs: kept, ended, or to be repeated.
//!
//! Input: a job with the outcomes of its configurations, or with how its process ended without
//! any. Output: the states of its configurations, every pass on disk first, and the jobs that
//! have to run again.

use std::collections::BTreeSet;
use std::{fs, io};

use camino::Utf8Path;
use gpuprof_model::failure::FailureKind;
use gpuprof_model::measurement::{PassOutcome, PassResult};
use gpuprof_model::protocol::{SeriesDescription, UNWRITTEN_REPLY};
use gpuprof_model::run::Status;

use super::event::{At, Event};
use super::sweep::{INTERRUPTED, Sweep};
use crate::execute::Ended;
use crate::schedule::{Handover, Image, Job, Pass, Step};
use gpuprof_system::error::{Failure, Result};

impl Sweep<'_, '_> {
    /// Takes the results of a job's process. Returns the jobs to repeat, if any failed or ended
    /// early.
    pub(super) fn accept(
        &mut self,
        job: &Job,
        outcomes: Vec<PassOutcome>,
    ) -> Result<Option<Vec<Job>>> {
        let (mut again, mut lost) = (Vec::new(), Vec::new());
        let mut ended = false;
        let all_well = outcomes.iter().all(PassOutcome::lets_others_go_on);
        let reached = outcomes.len();
        for (position, outcome) in outcomes.into_iter().enumerate() {
            let Some(&index) = job.configurations.get(position) else { break };
            if self.states[job.series][index].has(job.pass) {
                continue;
            }
            match self.take(job, position, outcome)? {
                Outcome::Kept => {}
                Outcome::Again(job) => again.push(job),
                Outcome::Lost => lost.push(index),
                Outcome::Ended => ended = true,
            }
        }
        let unreached = job.configurations.get(reached..).unwrap_or_default();
        if let Some(&first) = unreached.first().filter(|_| all_well) {
            self.learn_room(job, first);
        }
        lost.extend(unreached);
        if !lost.is_empty() {
            again.push(Job { configurations: lost, ..job.clone() });
        }
        self.tidy(job);
        Ok((ended || !again.is_empty()).then_some(again))
    }

    /// Takes the results of a job's process for the configuration at `position`.
    fn take(&mut self, job: &Job, position: usize, outcome: PassOutcome) -> Result<Outcome> {
        let index = job.configurations[position];
        let at = (job.series, index);
        let (kind, reason) = match outcome {
            PassOutcome::Finished(result) => {
                let left = job.images.get(position).map(|handover| &handover.after);
                match self.keep(job.pass, at, *result, left)? {
                    None => return Ok(Outcome::Kept),
                    Some(reason) => (FailureKind::Other, reason),
                }
            }
            PassOutcome::Failed { kind, reason } => {
                self.planned.needed.check()?;
                (kind, reason)
            }
            PassOutcome::Invalid { reason } => {
                self.end(at, Status::Invalid { reason })?;
                return Ok(Outcome::Ended);
            }
            PassOutcome::Denied(denial) => {
                let device = self.planned.assignment.device(at);
                self.observer.observe(Event::CountersDenied { device, denial: &denial })?;
                self.denied[device] = Some(denial);
                // The configuration is fine: it continues without its counters.
                return Ok(Outcome::Again(job.alone(index)));
            }
            PassOutcome::Lost => return Ok(Outcome::Lost),
        };
        if job.may_be_innocent(kind) {
            return Ok(Outcome::Again(self.retry(job, index, &reason)?));
        }
        if self.may_fail_again(at) {
            return Ok(Outcome::Again(self.start_again(job, index, &reason)?));
        }
        self.end(at, Status::Failed { reason })?;
        Ok(Outcome::Ended)
    }

    /// Whether a process of a configuration that failed is started again.
    fn may_fail_again(&mut self, at: At) -> bool {
        let retries = self.planned.retries;
        self.state(at).failed_attempts.len() < retries as usize
    }

    /// The job that repeats `job` for one of its configurations, which failed alone for this
    /// `reason`.
    fn start_again(&mut self, job: &Job, index: usize, reason: &str) -> Result<Job> {
        let at = (job.series, index);
        self.observer.observe(Event::FailedAttempt { at, reason })?;
        self.state(at).failed_attempts.push(reason.to_owned());
        Ok(job.alone(index))
    }

    /// The job that repeats `job` alone for one of its configurations, which failed for this
    /// `reason`. One that failed in a shared process shares none from then on.
    fn retry(&mut self, job: &Job, index: usize, reason: &str) -> Result<Job> {
        let at = (job.series, index);
        let state = self.state(at);
        state.apart |= job.configurations.len() > 1;
        state.retried.get_or_insert_with(|| reason.to_owned());
        self.observer.observe(Event::Retried { at, reason })?;
        Ok(job.alone(index))
    }

    /// A process that gave a configuration to another image had no room for more: later images
    /// leave no unused slots.
    fn learn_room(&mut self, job: &Job, unreached: usize) {
        let Some(at) = job.configurations.iter().position(|&index| index == unreached) else {
            return;
        };
        let Some(Handover { before: None, after }) = job.images.get(at) else { return };
        let room = job.images[..at].iter().filter(|other| other.after.file == after.file).count();
        if room > 0 {
            self.together.insert(job.series, room);
        }
    }

    /// Removes counter data that no job continues from: some 0.7 MB a launch.
    pub(super) fn tidy(&self, job: &Job) {
        let states = &self.states[job.series];
        let needed: BTreeSet<_> =
            states.iter().filter_map(|state| Some(&state.collected.image.as_ref()?.file)).collect();
        let handed = job.parts().flat_map(|part| part.configurations.iter().zip(&part.images));
        for (&index, handover) in handed {
            for image in handover.before.iter().chain([&handover.after]) {
                if !needed.contains(&image.file) {
                    let path = self.planned.execution((job.series, index)).image(image);
                    // One that was killed while it wrote leaves the beginning.
                    let _ = fs::remove_file(path.with_extension("unfinished"));
                    let _ = fs::remove_file(path);
                }
            }
        }
    }

    /// Keeps a pass's result, and reports it before the next measurement, even on a full disk.
    /// Returns why the configuration fails, if it does.
    fn keep(
        &mut self,
        pass: Pass,
        at: At,
        result: PassResult,
        left: Option<&Image>,
    ) -> Result<Option<String>> {
        let execution = self.planned.execution(at);
        let (series, configuration) = at;
        if let Some(asked) = execution.process.device
            && asked != result.device.uuid
        {
            return Ok(Some(format!("{} answered in place of {asked}", result.device.uuid)));
        }
        let state = &mut self.states[series][configuration];
        match pass {
            Pass::Timed { repeat } => {
                let step = Step { series, configuration, repeat };
                let observed = self.observer.observe(Event::PassFinished { step, result: &result });
                state.passes.push(result);
                observed?;
            }
            Pass::Energy { repeat } => {
                let (Some(timed), Some(energy)) =
                    (state.passes.get_mut(repeat as usize), result.energy)
                else {
                    return Ok(Some("the process measured no energy".to_owned()));
                };
                let step = Step { series, configuration, repeat };
                let observed =
                    self.observer.observe(Event::EnergyMeasured { step, energy: &energy });
                timed.energy = Some(energy);
                observed?;
            }
            Pass::Counters { step } => {
                let Some(counters) = &execution.counters else { return Ok(None) };
                let (timed, left) = (state.passes.first(), left.cloned());
                let added = counters.add(step, timed, result, left, &mut state.collected);
                if let Err(reason) = added {
                    return Ok(Some(reason));
                }
                let (of, collected) = (counters.steps(), &state.collected);
                self.observer.observe(Event::CountersCollected { at, of, collected })?;
            }
        }
        Ok(None)
    }

    /// Handles a job's process that gave no reply, and worked on the configuration at `position`.
    /// Returns the jobs to repeat.
    ///
    /// # Errors
    /// The process could not write its reply, or could not find a file that it needs: its
    /// measurements are lost, but its configuration is not to blame.
    pub(super) fn lose(
        &mut self,
        job: &Job,
        ended: &Ended,
        position: Option<usize>,
    ) -> Result<Option<Vec<Job>>> {
        if let Ended::Without { unwritten: Some(path), stderr, .. } = ended {
            let reason = stderr.last_line().and_then(|line| line.strip_prefix(UNWRITTEN_REPLY));
            let error = reason.map_or_else(|| why_not(path), io::Error::other);
            return Err(Failure::output(path.as_std_path(), &error));
        }
        self.planned.needed.check()?;
        let (blamed, others): (Vec<usize>, Vec<usize>) = match position {
            Some(at) if at < job.configurations.len() => {
                let mut others = job.configurations.clone();
                (vec![others.remove(at)], others)
            }
            _ => (job.configurations.clone(), Vec::new()),
        };
        let status = self.status_of(job, ended, blamed.len());
        let (Status::Failed { reason } | Status::Timeout { reason } | Status::Skipped { reason }) =
            &status
        else {
            return Ok(None);
        };
        // If memory runs out, the system kills one of the concurrent processes.
        let beside = job.configurations.first().is_some_and(|&index| {
            self.planned.execution((job.series, index)).ahead.beside > 0 && !job.alone
        });
        let crowded = beside && matches!(ended, Ended::Without { killed: true, .. });
        let innocent = crowded || job.may_be_innocent(FailureKind::Other);
        let again =
            innocent || blamed.iter().all(|&index| self.may_fail_again((job.series, index)));
        if again && !matches!(status, Status::Skipped { .. }) {
            let alone = blamed.iter().map(|&index| match innocent {
                true => self.retry(job, index, reason),
                false => self.start_again(job, index, reason),
            });
            let mut again: Vec<Job> = alone.collect::<Result<_>>()?;
            if !others.is_empty() {
                again.push(Job { configurations: others, then: None, ..job.clone() });
            }
            again.extend(job.then.as_deref().cloned());
            // It may have left counter data that no job continues from.
            self.tidy(job);
            return Ok(Some(again));
        }
        for &index in &job.configurations {
            if !self.states[job.series][index].has(job.pass) {
                self.end((job.series, index), status.clone())?;
            }
        }
        self.tidy(job);
        Ok(Some(job.then.as_deref().cloned().into_iter().collect()))
    }

    /// The status that a process without a reply gives `count` configurations of its `job`.
    fn status_of(&self, job: &Job, ended: &Ended, count: usize) -> Status {
        let planned = self.planned.series[job.series];
        let SeriesDescription { file, line, .. } = &planned.series;
        let mut status = status_of(ended, count, self.planned.limit, &format!("{file}:{line}"));
        if let (Status::Failed { reason } | Status::Timeout { reason }, Some(&first)) =
            (&mut status, job.configurations.first())
        {
            let execution = self.planned.execution((job.series, first));
            *reason = execution.as_written(planned, reason);
        }
        status
    }

    /// Ends a configuration early. If it also failed alone, the configurations that failed with it
    /// were its victims, and share processes again.
    pub(super) fn end(&mut self, at: At, status: Status) -> Result<()> {
        let observed = self.observer.observe(Event::ConfigurationEnded { at, status: &status });
        let state = self.state(at);
        (state.collected.image, state.image) = (None, None);
        state.ended = Some(status);
        if state.apart {
            self.states[at.0].iter_mut().for_each(|state| state.apart = false);
        }
        observed
    }
}

/// Why `path` could not be written by a process that could not say so: on a full disk its stderr is
/// lost as well.
fn why_not(path: &Utf8Path) -> io::Error {
    let probe = path.with_extension("probe");
    let written = fs::write(&probe, [0; 1 << 16]);
    let _ = fs::remove_file(&probe);
    written.err().unwrap_or_else(|| io::Error::other("the process that measured could not"))
}

/// The outcome of a configuration in a process.
enum Outcome {
    /// What was found for it is kept.
    Kept,
    /// It must run again.
    Again(Job),
    /// It must run again, with others.
    Lost,
    /// It ended.
    Ended,
}

/// The status that a process without a reply gives its `count` configurations, which are of the
/// series at `place` in the source. `limit` gives the time limit of each of them, and its origin.
fn status_of(ended: &Ended, count: usize, limit: &str, place: &str) -> Status {
    match ended {
        Ended::Replied(_) => Status::Finished,
        Ended::Without { how, stderr, .. } => {
            Status::Failed { reason: format!("the process {how}{}", stderr.tail()) }
        }
        Ended::TimedOut { seconds, place: at, stderr } => Status::Timeout {
            reason: format!(
                "the process ran for {seconds} s and was killed ({}{limit}){}; its series is at \
                 {place}{}",
                for_each(*seconds, count),
                at.as_ref().map(|at| format!("; {at}")).unwrap_or_default(),
                stderr.tail()
            ),
        },
        Ended::Interrupted => Status::Skipped { reason: INTERRUPTED.to_owned() },
    }
}

/// The share of each of several configurations in the limit of their process.
fn for_each(seconds: u64, count: usize) -> String {
    match u64::try_from(count) {
        Ok(several @ 2..) => {
            format!("{} s for each of its {count} configurations, ", seconds / several)
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::Stderr;

    #[test]
    fn a_timeout_of_several_configurations_names_the_limit_of_each() {
        let ended = Ended::TimedOut { seconds: 1200, place: None, stderr: Stderr::default() };
        let reason = |count| match status_of(&ended, count, "the limit of --timeout", "lib.rs:7") {
            Status::Timeout { reason } => reason,
            status => panic!("{status:?}"),
        };
        assert_eq!(
            reason(10),
            "the process ran for 1200 s and was killed (120 s for each of its 10 configurations, \
             the limit of --timeout); its series is at lib.rs:7"
        );
        assert_eq!(
            reason(1),
            "the process ran for 1200 s and was killed (the limit of --timeout); its series is at \
             lib.rs:7"
        );
    }
}
