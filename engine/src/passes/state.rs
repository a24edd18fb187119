//! How far a configuration is.
//!
//! Input: the results of its passes, and the status that ended it early. Output: whether it is
//! finished, and all results.

use std::ops::Range;
use std::time::Duration;

use gpuprof_model::clock::{Middle, STEP_NS};
use gpuprof_model::measurement::PassResult;
use gpuprof_model::run::Status;

use super::event::PassResults;
use crate::execute::Execution;
use crate::schedule::{Collected, Image, Pass, Step};
use crate::store::journal::Replayed;
use gpuprof_analysis::stats::repeats::Repeats;
use gpuprof_system::error::Result;

/// How far a configuration is.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The results of its timed passes, in order.
    pub(super) passes: Vec<PassResult>,
    /// How many there should be, once that is known.
    wanted: Option<u32>,
    /// Whether a look says how many those are.
    pub(super) in_rounds: bool,
    /// Whether each of its timed passes is followed by one of energy.
    pub(super) wants_energy: bool,
    /// Its counters so far.
    pub(super) collected: Collected,
    /// The counter data from which the next process continues: the collected data, or that of a
    /// running job.
    pub(super) image: Option<Image>,
    /// The status that ended it early.
    pub(super) ended: Option<Status>,
    /// The failures of processes that were started again.
    pub(super) failed_attempts: Vec<String>,
    /// Whether it has its own processes, since it failed in a shared one.
    pub(super) apart: bool,
    /// How it first failed next to others, if it was retried alone.
    pub(super) retried: Option<String>,
    /// Processes that work for it and have not gone.
    pub(super) processes: usize,
    /// How long its processes had the device.
    pub(super) held: Duration,
    /// Whether it has been reported as finished.
    pub(super) told: bool,
}

impl State {
    /// A configuration from the journal of a resumed run.
    pub(super) fn replayed(
        replayed: &Replayed,
        execution: &Execution<'_>,
        (series, configuration): (usize, usize),
        most: u32,
    ) -> Result<Self> {
        let passes = (0..most)
            .map_while(|repeat| replayed.pass(Step { series, configuration, repeat }).transpose());
        let steps = steps(execution);
        let collected = match replayed.counters(series, configuration)? {
            Some(counted) => Collected { steps, ..counted },
            None => {
                let begun = replayed.collected(series, configuration, steps)?;
                let needs_image = |collected: &Collected| {
                    let counters = execution.counters.as_ref();
                    counters.is_some_and(|counters| counters.goes_on(collected.steps))
                };
                // The counter data of the last step is in a file; without it the passes restart.
                let kept = begun.filter(|collected| match &collected.image {
                    Some(image) => execution.image(image).exists(),
                    None => !needs_image(collected),
                });
                kept.unwrap_or_default()
            }
        };
        let ended = replayed.ended(series, configuration).cloned();
        // A configuration that ended does not continue.
        let image = collected.image.filter(|_| ended.is_none());
        Ok(Self {
            passes: passes.collect::<Result<_>>()?,
            collected: Collected { image: image.clone(), ..collected },
            image,
            ended,
            retried: replayed.retried(series, configuration).map(str::to_owned),
            failed_attempts: replayed.failed_attempts(series, configuration).to_vec(),
            ..Self::default()
        })
    }

    /// Whether nothing was left to do when the run was interrupted: then its results are final.
    pub(super) fn was_over(&self, execution: &Execution<'_>) -> bool {
        let wanted = match self.medians() {
            medians if medians.len() < execution.repeat.least as usize => execution.repeat.least,
            medians => execution.repeat.wanted(&medians),
        };
        self.is_over(execution) && (self.ended.is_some() || self.passes.len() >= wanted as usize)
    }

    fn medians(&self) -> Vec<f64> {
        let of_pass = |pass: &PassResult| {
            Some(Middle::locate(&pass.timing.as_ref()?.samples_ns, STEP_NS)?.value)
        };
        self.passes.iter().filter_map(of_pass).collect()
    }

    /// Whether `pass` has nothing left to find for it.
    pub(super) fn has(&self, pass: Pass) -> bool {
        // A reported configuration has handed its passes over.
        self.told
            || self.ended.is_some()
            || match pass {
                Pass::Timed { repeat } => self.passes.len() > repeat as usize,
                Pass::Energy { repeat } => {
                    self.passes.get(repeat as usize).is_some_and(|pass| pass.energy.is_some())
                }
                Pass::Counters { step } => self.collected.steps > step,
            }
    }

    /// The timed passes that it wants in addition to the common ones: reported once, after those.
    pub(super) fn wants_more(&mut self, repeat: Repeats) -> Range<u32> {
        let none = repeat.least..repeat.least;
        if self.wanted.is_some() || self.ended.is_some() || self.told {
            return none;
        }
        let medians = self.medians();
        if medians.len() < repeat.least as usize {
            return none;
        }
        let wanted = repeat.wanted(&medians);
        self.wanted = Some(wanted);
        repeat.least..wanted
    }

    /// The timed passes there are to be, by a look.
    pub(super) fn go_on_to(&mut self, rounds: u32) {
        self.wanted = Some(rounds);
    }

    /// The timed passes that there are are all.
    pub(super) fn stop(&mut self) {
        self.wanted = u32::try_from(self.passes.len()).ok();
        self.in_rounds = false;
    }

    /// Whether nothing is left to do.
    pub(super) fn is_over(&self, execution: &Execution<'_>) -> bool {
        let wanted = self.wanted.unwrap_or(execution.repeat.least);
        let complete = !self.in_rounds
            && self.passes.len() >= wanted as usize
            && (!self.wants_energy || self.passes.iter().all(|pass| pass.energy.is_some()))
            && self.collected.steps >= steps(execution);
        self.processes == 0 && (complete || self.ended.is_some())
    }

    /// What was found for it, once nothing works for it any more.
    pub(super) fn finish(&mut self) -> PassResults {
        self.told = true;
        PassResults {
            passes: std::mem::take(&mut self.passes),
            hardware: std::mem::take(&mut self.collected.hardware),
            parts: std::mem::take(&mut self.collected.parts),
            ended: self.ended.take(),
            failed_attempts: std::mem::take(&mut self.failed_attempts),
            held: self.held,
            retried: self.retried.take(),
        }
    }
}

/// Steps that the counters of a configuration take.
pub(super) fn steps(execution: &Execution<'_>) -> usize {
    execution.counters.as_ref().map_or(0, crate::schedule::Counters::steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuprof_analysis::fixture::gpu_pass;

    #[test]
    fn noisy_first_passes_request_more_once() {
        let repeat = Repeats { least: 3, most: 5 };
        let of = |medians: &[f64]| State {
            passes: medians.iter().map(|&m| gpu_pass(64, 1 << 20, &[m])).collect(),
            ..State::default()
        };
        assert_eq!(of(&[100.0, 90.0]).wants_more(repeat), 3..3);
        let mut noisy = of(&[100.0, 90.0, 110.0]);
        assert_eq!(noisy.wants_more(repeat), 3..5);
        assert_eq!(noisy.wants_more(repeat), 3..3);
        // The run was killed before the last of them.
        assert_eq!(of(&[100.0, 90.0, 110.0, 100.0]).wants_more(repeat), 3..5);
        assert_eq!(of(&[100.0, 100.0, 100.0, 110.0]).wants_more(repeat), 3..3);
        let ended = Some(Status::Failed { reason: "x".into() });
        let mut failed = State { ended, ..of(&[100.0, 90.0, 110.0]) };
        assert_eq!(failed.wants_more(repeat), 3..3);
    }
}
