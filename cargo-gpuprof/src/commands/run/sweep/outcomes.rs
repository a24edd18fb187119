//! What jobs come to: kept, ended, or to be run again.
//!
//! Input: a job with the outcomes of its configurations, or with how its process ended without
//! any. Output: the states of its configurations, every pass on disk first, and the jobs that
//! have to run again.

use std::collections::BTreeSet;
use std::fs;

use gpuprof_model::measurement::{PassOutcome, PassResult};
use gpuprof_model::run::Status;

use super::state::State;
use super::{INTERRUPTED, Sweep};
use crate::error::Result;
use crate::execute::{Ended, Handover, Image, Job, Pass};
use crate::schedule::Step;

impl Sweep<'_> {
    /// Takes what a job's process found; goes out: what must run again, if anything ended.
    pub(super) fn accept(
        &mut self,
        job: &Job,
        outcomes: Vec<PassOutcome>,
        states: &mut [State],
    ) -> Result<Option<Vec<Job>>> {
        let mut again = Vec::new();
        let mut ended = false;
        let mut unreached = Vec::new();
        let all_well = outcomes.iter().all(PassOutcome::lets_others_go_on);
        let mut outcomes = outcomes.into_iter();
        for (at, &index) in job.configurations.iter().enumerate() {
            let left = job.images.get(at).map(|handover| &handover.after);
            let (at, state) = ((job.series, index), &mut states[index]);
            let status = match outcomes.next() {
                None => {
                    unreached.push(index);
                    continue;
                }
                _ if state.has(job.pass) => continue,
                Some(PassOutcome::Finished(result)) => {
                    match self.keep(job.pass, at, *result, left, state)? {
                        Ok(()) => continue,
                        Err(reason) => Status::Failed { reason },
                    }
                }
                Some(PassOutcome::Invalid { reason }) => Status::Invalid { reason },
                Some(PassOutcome::Denied { reason }) => {
                    self.denied[self.spread.device(at)] = Some(reason);
                    // Nothing is wrong with the configuration: it goes on without its counters.
                    again.push(job.alone(index));
                    continue;
                }
                Some(PassOutcome::Failed { reason }) => Status::Failed { reason },
            };
            if let Status::Failed { reason } = &status
                && job.may_be_innocent(reason)
            {
                self.retried.push((at, reason.clone()));
                again.push(job.alone(index));
                continue;
            }
            ended = true;
            self.end(at, state, status)?;
        }
        if let Some(&first) = unreached.first() {
            if all_well {
                self.learn_room(job, first);
            }
            again.push(Job { configurations: unreached, ..job.clone() });
        }
        self.tidy(job, states);
        Ok((ended || !again.is_empty()).then_some(again))
    }

    /// A process that left a configuration of an image for another one had no room for more: those
    /// that begin from here on leave no places free that nobody would fill.
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

    /// Removes the counter data that nobody goes on from any more: some 0.7 MB a launch.
    pub(super) fn tidy(&self, job: &Job, states: &[State]) {
        let needed: BTreeSet<_> =
            states.iter().filter_map(|state| Some(&state.collected.image.as_ref()?.file)).collect();
        let handed = job.parts().flat_map(|part| part.configurations.iter().zip(&part.images));
        for (&index, handover) in handed {
            for image in handover.before.iter().chain([&handover.after]) {
                if !needed.contains(&image.file) {
                    let path = self.execution((job.series, index)).image(image);
                    // One that was killed while it wrote leaves the beginning.
                    let _ = fs::remove_file(path.with_extension("unfinished"));
                    let _ = fs::remove_file(path);
                }
            }
        }
    }

    /// Keeps what a pass found, on disk before anything else is measured; also where the disk is
    /// full. The inner error is what makes the configuration fail.
    fn keep(
        &mut self,
        pass: Pass,
        (series, configuration): (usize, usize),
        result: PassResult,
        left: Option<&Image>,
        state: &mut State,
    ) -> Result<Result<(), String>> {
        let execution = self.execution((series, configuration));
        if let Some(asked) = execution.process.device
            && asked != result.device.uuid
        {
            let answered = &result.device.uuid;
            return Ok(Err(format!("{answered} answered in place of {asked}")));
        }
        match pass {
            Pass::Timed { repeat } => {
                let recorded = self.journal.pass(Step { series, configuration, repeat }, &result);
                state.passes.push(result);
                recorded?;
            }
            Pass::Counters { step } => {
                let Some(counters) = &execution.counters else { return Ok(Ok(())) };
                let (timed, left) = (state.passes.first(), left.cloned());
                let added = counters.add(step, timed, result, left, &mut state.collected);
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
    pub(super) fn lose(
        &mut self,
        job: &Job,
        ended: &Ended,
        states: &mut [State],
    ) -> Result<Option<Vec<Job>>> {
        let status = status_of(ended);
        let (Status::Failed { reason } | Status::Timeout { reason } | Status::Skipped { reason }) =
            &status
        else {
            return Ok(None);
        };
        if job.may_be_innocent(reason) && !matches!(status, Status::Skipped { .. }) {
            let retried = |&index: &usize| ((job.series, index), reason.clone());
            self.retried.extend(job.configurations.iter().map(retried));
            // It may have left counter data of some, which nobody goes on from.
            self.tidy(job, states);
            let alone = job.configurations.iter().map(|&index| job.alone(index));
            return Ok(Some(alone.chain(job.then.as_deref().cloned()).collect()));
        }
        for &index in &job.configurations {
            if !states[index].has(job.pass) {
                self.end((job.series, index), &mut states[index], status.clone())?;
            }
        }
        self.tidy(job, states);
        Ok(Some(job.then.as_deref().cloned().into_iter().collect()))
    }

    pub(super) fn end(
        &mut self,
        at: (usize, usize),
        state: &mut State,
        status: Status,
    ) -> Result<()> {
        (state.collected.image, state.image) = (None, None);
        state.ended = Some(status.clone());
        self.journal.ended(at, &status)
    }
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
