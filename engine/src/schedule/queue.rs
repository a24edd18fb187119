//! The jobs of a run, in order. Pure.
//!
//! Input: the batches of timed passes, and the number of counter steps. Output: every job once.
//! Returned jobs come first. Then come the timed passes that all configurations need; the process
//! of the last one continues with the first counter step, and the other steps follow. Nothing comes
//! between a batch and the same one of the other revision: the counters of the first come after
//! those of the second. Additional timed passes of some configurations come last, in rounds.

use std::collections::{BTreeMap, VecDeque};
use std::vec::IntoIter;

use crate::schedule::{Batch, Job, Pass};

/// The jobs that are left.
#[derive(Debug)]
pub struct Queue {
    batches: IntoIter<Batch>,
    repeats: u32,
    steps: usize,
    joined: bool,
    first: VecDeque<Job>,
    /// The counters of a batch that waits for its partner.
    put_off: Vec<Job>,
    later: BTreeMap<u32, VecDeque<Job>>,
}

impl Queue {
    /// The jobs of `batches`, in which each configuration is timed `repeats` times, with `steps`
    /// for the counters of each configuration; `joined` puts the first of them into the process of
    /// a timed pass.
    pub fn new(batches: Vec<Batch>, repeats: u32, steps: usize, joined: bool) -> Self {
        Self {
            batches: batches.into_iter(),
            repeats,
            steps,
            joined,
            first: VecDeque::new(),
            put_off: Vec::new(),
            later: BTreeMap::new(),
        }
    }

    /// Puts `jobs` before all others.
    pub fn again(&mut self, jobs: Vec<Job>) {
        for job in jobs.into_iter().rev() {
            self.first.push_front(job);
        }
    }

    /// Puts the timed pass `repeat` of `configurations`, in one process, behind everything planned
    /// before.
    pub fn later(&mut self, series: usize, repeat: u32, configurations: Vec<usize>) {
        let job = Job::new(series, Pass::Timed { repeat }, configurations);
        self.later.entry(repeat).or_default().push_back(job);
    }
}

impl Iterator for Queue {
    type Item = Job;

    fn next(&mut self) -> Option<Job> {
        if let Some(job) = self.first.pop_front() {
            return Some(job);
        }
        let Some(Batch { series, repeat, configurations, before_its_partner }) =
            self.batches.next()
        else {
            let mut round = self.later.first_entry()?;
            let job = round.get_mut().pop_front();
            if round.get().is_empty() {
                round.remove();
            }
            return job;
        };
        let counters = |step| Job::new(series, Pass::Counters { step }, configurations.clone());
        let last = repeat + 1 == self.repeats;
        let mut steps = if last { 0..self.steps } else { 0..0 };
        let then = match self.joined && !before_its_partner {
            true => steps.next().map(|step| Box::new(counters(step))),
            false => None,
        };
        if before_its_partner {
            self.put_off = steps.map(counters).collect();
        } else {
            self.first.extend(steps.map(counters).chain(self.put_off.drain(..)));
        }
        Some(Job { then, ..Job::new(series, Pass::Timed { repeat }, configurations) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Interleave, Isolate, Pairs, batches};

    fn list_jobs(jobs: impl Iterator<Item = Job>) -> Vec<String> {
        let text = |job: &Job| match job.pass {
            Pass::Timed { repeat } => format!("time {:?} {repeat}", job.configurations),
            Pass::Counters { step } => format!("count {:?} {step}", job.configurations),
        };
        jobs.map(|job| job.parts().map(text).collect::<Vec<_>>().join(", ")).collect()
    }

    #[test]
    fn counters_follow_the_last_timed_pass_of_their_configurations() {
        let one = batches(&[2], 2, Interleave::None, Isolate::Configuration);
        let order =
            ["time [0] 0", "time [0] 1", "count [0] 0", "count [0] 1", "time [1] 0", "time [1] 1"];
        assert_eq!(list_jobs(Queue::new(one, 2, 2, false))[..6], order);
        let all = batches(&[2], 2, Interleave::None, Isolate::Kernel);
        let order = ["time [0, 1] 0", "time [0, 1] 1", "count [0, 1] 0"];
        assert_eq!(list_jobs(Queue::new(all, 2, 1, false)), order);
    }

    #[test]
    fn the_first_counters_share_the_process_of_the_last_timed_pass() {
        let of = |repeats, steps| {
            let batches = batches(&[2], repeats, Interleave::None, Isolate::Kernel);
            list_jobs(Queue::new(batches, repeats, steps, true))
        };
        let both = "time [0, 1] 1, count [0, 1] 0";
        assert_eq!(of(2, 1), ["time [0, 1] 0", both]);
        assert_eq!(of(2, 2), ["time [0, 1] 0", both, "count [0, 1] 1"]);
        assert_eq!(of(1, 2), ["time [0, 1] 0, count [0, 1] 0", "count [0, 1] 1"]);
        assert_eq!(of(2, 0), ["time [0, 1] 0", "time [0, 1] 1"]);
    }

    #[test]
    fn no_counters_come_between_the_times_of_partners() {
        let mut pairs = Pairs::default();
        pairs.join(0, 1, vec![0]);
        let one = pairs.insert_partners(batches(&[1], 2, Interleave::None, Isolate::Configuration));
        let jobs: Vec<Job> = Queue::new(one, 2, 2, true).collect();
        let kinds = list_jobs(jobs.iter().cloned());
        let order = [
            "time [0] 0",
            "time [0] 0",
            "time [0] 1",
            "time [0] 1, count [0] 0",
            "count [0] 1",
            "count [0] 0",
            "count [0] 1",
        ];
        assert_eq!(kinds, order);
        let of = |at: usize| jobs[at].series;
        assert!(of(0) != of(1) && of(2) != of(3) && of(4) == of(3) && of(5) == of(2));
    }

    #[test]
    fn what_only_some_want_comes_last_and_in_rounds() {
        let one = batches(&[2], 1, Interleave::None, Isolate::Configuration);
        let mut queue = Queue::new(one, 1, 1, false);
        assert_eq!(list_jobs(queue.by_ref().take(1)), ["time [0] 0"]);
        [(1, vec![0]), (2, vec![0]), (1, vec![1])]
            .into_iter()
            .for_each(|(repeat, configurations)| queue.later(0, repeat, configurations));
        let order =
            ["count [0] 0", "time [1] 0", "count [1] 0", "time [0] 1", "time [1] 1", "time [0] 2"];
        assert_eq!(list_jobs(queue.by_ref()), order);
        queue.later(0, 3, vec![1]);
        assert_eq!(list_jobs(queue), ["time [1] 3"]);
    }

    #[test]
    fn what_is_given_back_comes_first_and_in_its_order() {
        let mut queue =
            Queue::new(batches(&[3], 1, Interleave::None, Isolate::Configuration), 1, 0, true);
        let taken: Vec<Job> = queue.by_ref().take(2).collect();
        queue.again(taken);
        assert_eq!(list_jobs(queue), ["time [0] 0", "time [1] 0", "time [2] 0"]);
    }
}
