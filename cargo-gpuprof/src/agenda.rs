//! The jobs of a run, in order. Pure.
//!
//! Comes in: the batches of timed passes, and how many steps the counters take. Goes out: every job once, the
//! counters of a configuration right behind its last timed pass; and before all others those that were given back.

use std::collections::VecDeque;
use std::vec::IntoIter;

use crate::execute::{Job, Pass};
use crate::schedule::Batch;

/// The jobs that are left.
#[derive(Debug)]
pub struct Agenda {
    batches: IntoIter<Batch>,
    repeats: u32,
    steps: usize,
    first: VecDeque<Job>,
}

impl Agenda {
    /// The jobs of `batches`, in which each configuration is timed `repeats` times, with `steps` for the counters
    /// of each configuration.
    pub fn new(batches: Vec<Batch>, repeats: u32, steps: usize) -> Self {
        Self { batches: batches.into_iter(), repeats, steps, first: VecDeque::new() }
    }

    /// Puts `jobs` before all others.
    pub fn again(&mut self, jobs: Vec<Job>) {
        for job in jobs.into_iter().rev() {
            self.first.push_front(job);
        }
    }
}

impl Iterator for Agenda {
    type Item = Job;

    fn next(&mut self) -> Option<Job> {
        if let Some(job) = self.first.pop_front() {
            return Some(job);
        }
        let Batch { series, repeat, configurations } = self.batches.next()?;
        if repeat + 1 == self.repeats {
            let counters = |step| Job {
                series,
                pass: Pass::Counters { step },
                configurations: configurations.clone(),
                alone: false,
            };
            self.first.extend((0..self.steps).map(counters));
        }
        Some(Job { series, pass: Pass::Timed { repeat }, configurations, alone: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Isolate;
    use crate::config::Interleave;
    use crate::schedule::batches;

    fn told(jobs: impl Iterator<Item = Job>) -> Vec<String> {
        let text = |job: Job| match job.pass {
            Pass::Timed { repeat } => format!("time {:?} {repeat}", job.configurations),
            Pass::Counters { step } => format!("count {:?} {step}", job.configurations),
        };
        jobs.map(text).collect()
    }

    #[test]
    fn counters_follow_the_last_timed_pass_of_their_configurations() {
        let one = batches(&[2], 2, Interleave::None, Isolate::Configuration);
        let order =
            ["time [0] 0", "time [0] 1", "count [0] 0", "count [0] 1", "time [1] 0", "time [1] 1"];
        assert_eq!(told(Agenda::new(one, 2, 2))[..6], order);
        let all = batches(&[2], 2, Interleave::None, Isolate::Kernel);
        let order = ["time [0, 1] 0", "time [0, 1] 1", "count [0, 1] 0"];
        assert_eq!(told(Agenda::new(all, 2, 1)), order);
    }

    #[test]
    fn what_is_given_back_comes_first_and_in_its_order() {
        let mut agenda =
            Agenda::new(batches(&[3], 1, Interleave::None, Isolate::Configuration), 1, 0);
        let taken: Vec<Job> = agenda.by_ref().take(2).collect();
        agenda.again(taken);
        assert_eq!(told(agenda), ["time [0] 0", "time [1] 0", "time [2] 0"]);
    }
}
