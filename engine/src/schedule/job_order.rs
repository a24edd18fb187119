//! The jobs of a run, in order. Pure.
//!
//! Input: the batches of timed passes, and the number of counter steps. Output: every job once.
//! Returned jobs come first. Then come the timed passes that all configurations need. The process
//! of the last one of a configuration, or of a kernel whose configurations are counted together,
//! continues with the first counter step, and the other steps follow. Nothing comes between a batch
//! and the same one of the other revision: the counters of the first come after those of the
//! second. Then come additional timed passes of some configurations, in rounds. Energy comes last,
//! so that it cannot warm the device up for times.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::vec::IntoIter;

use crate::schedule::{Batch, Isolate, Job, Pass};

/// The jobs that are left.
#[derive(Debug)]
pub struct Queue {
    batches: IntoIter<BeforeCounters>,
    steps: usize,
    joined: bool,
    first: VecDeque<Job>,
    /// The counters of a batch that waits for its partner.
    put_off: Vec<Job>,
    later: BTreeMap<u32, VecDeque<Job>>,
    energy: BTreeMap<u32, VecDeque<Job>>,
}

/// A batch, and the configurations of its series that are counted after it, by process.
#[derive(Debug)]
struct BeforeCounters {
    batch: Batch,
    counted: Vec<Vec<usize>>,
}

/// How counters follow times.
#[derive(Debug, Clone, Copy)]
pub struct CounterSteps {
    /// How many steps the counters of a configuration take.
    pub steps: usize,
    /// Whether the first of them shares the process of a timed pass.
    pub joined: bool,
    /// Which configurations are counted in one process.
    pub isolate: Isolate,
}

impl Queue {
    /// The jobs of `batches`, which time each configuration the same number of times, and of its
    /// counters.
    pub fn new(batches: Vec<Batch>, counters: CounterSteps) -> Self {
        let CounterSteps { steps, joined, isolate } = counters;
        Self {
            batches: before_counters(batches, isolate).into_iter(),
            steps,
            joined,
            first: VecDeque::new(),
            put_off: Vec::new(),
            later: BTreeMap::new(),
            energy: BTreeMap::new(),
        }
    }

    /// Puts `jobs` before all others.
    pub fn again(&mut self, jobs: Vec<Job>) {
        for job in jobs.into_iter().rev() {
            self.first.push_front(job);
        }
    }

    /// Puts the energy pass `repeat` of `configurations`, in one process, behind all timed passes.
    pub fn energy(&mut self, series: usize, repeat: u32, configurations: Vec<usize>) {
        let job = Job::new(series, Pass::Energy { repeat }, configurations);
        self.energy.entry(repeat).or_default().push_back(job);
    }

    /// Puts the timed pass `repeat` of `configurations`, in one process, behind everything planned
    /// before, and if `energy` is wanted, that behind it.
    pub fn later(&mut self, series: usize, repeat: u32, configurations: Vec<usize>, energy: bool) {
        if energy {
            self.energy(series, repeat, configurations.clone());
        }
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
        let Some(BeforeCounters { batch, counted }) = self.batches.next() else {
            return pop(&mut self.later).or_else(|| pop(&mut self.energy));
        };
        let Batch { series, repeat, configurations, before_its_partner } = batch;
        let steps = self.steps;
        let counters = |counted: Vec<usize>| {
            let job = move |step| Job::new(series, Pass::Counters { step }, counted.clone());
            (0..steps).map(job)
        };
        let mut counters = counted.into_iter().flat_map(counters);
        let then = match self.joined && !before_its_partner {
            true => counters.next().map(Box::new),
            false => None,
        };
        if before_its_partner {
            self.put_off = counters.collect();
        } else {
            self.first.extend(counters.chain(self.put_off.drain(..)));
        }
        Some(Job { then, ..Job::new(series, Pass::Timed { repeat }, configurations) })
    }
}

/// The next job of `rounds`.
fn pop(rounds: &mut BTreeMap<u32, VecDeque<Job>>) -> Option<Job> {
    let mut round = rounds.first_entry()?;
    let job = round.get_mut().pop_front();
    if round.get().is_empty() {
        round.remove();
    }
    job
}

/// Each of `batches` with the configurations that no later one times; where several of a series
/// are counted together, its last batch has all of them.
fn before_counters(batches: Vec<Batch>, isolate: Isolate) -> Vec<BeforeCounters> {
    let mut open: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for batch in &batches {
        open.entry(batch.series).or_default().extend(&batch.configurations);
    }
    let last_first = batches.into_iter().rev().map(|batch| {
        let open = open.entry(batch.series).or_default();
        let counted: Vec<usize> = match isolate.most_together() {
            1 => batch.configurations.iter().copied().filter(|it| open.remove(it)).collect(),
            _ => std::mem::take(open).into_iter().collect(),
        };
        let counted = counted.chunks(isolate.most_together()).map(<[usize]>::to_vec).collect();
        BeforeCounters { batch, counted }
    });
    let mut all: Vec<BeforeCounters> = last_first.collect();
    all.reverse();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Interleave, Pairs, batches, schedule};

    fn list_jobs(jobs: impl Iterator<Item = Job>) -> Vec<String> {
        let text = |job: &Job| match job.pass {
            Pass::Timed { repeat } => format!("time {:?} {repeat}", job.configurations),
            Pass::Energy { repeat } => format!("energy {:?} {repeat}", job.configurations),
            Pass::Counters { step } => format!("count {:?} {step}", job.configurations),
        };
        jobs.map(|job| job.parts().map(text).collect::<Vec<_>>().join(", ")).collect()
    }

    fn counters(steps: usize, joined: bool, isolate: Isolate) -> CounterSteps {
        CounterSteps { steps, joined, isolate }
    }

    /// The jobs of series with `counts` of configurations, not interleaved.
    fn jobs(counts: &[usize], repeats: u32, counters: CounterSteps) -> Vec<String> {
        let batches = batches(schedule(counts, repeats, Interleave::None), counters.isolate);
        list_jobs(Queue::new(batches, counters))
    }

    #[test]
    fn counters_follow_the_last_timed_pass_of_their_configurations() {
        let order =
            ["time [0] 0", "time [0] 1", "count [0] 0", "count [0] 1", "time [1] 0", "time [1] 1"];
        assert_eq!(jobs(&[2], 2, counters(2, false, Isolate::Configuration))[..6], order);
        let order = ["time [0, 1] 0", "time [0, 1] 1", "count [0, 1] 0"];
        assert_eq!(jobs(&[2], 2, counters(1, false, Isolate::Kernel)), order);
    }

    #[test]
    fn by_default_counters_follow_the_last_timed_pass_of_their_kernel() {
        let order = [
            "time [0, 1] 0, count [0, 1] 0",
            "count [0, 1] 1",
            "time [0] 0, count [0] 0",
            "count [0] 1",
        ];
        assert_eq!(jobs(&[2, 1], 1, counters(2, true, Isolate::Auto)), order);
        // As many as share counter data.
        let many = jobs(&[20], 1, counters(2, true, Isolate::Auto));
        let of = |range: std::ops::Range<usize>| format!("{:?}", range.collect::<Vec<_>>());
        let told = [
            format!("time {} 0", of(0..16)),
            format!("time {} 0, count {} 0", of(16..20), of(0..16)),
            format!("count {} 1", of(0..16)),
            format!("count {} 0", of(16..20)),
            format!("count {} 1", of(16..20)),
        ];
        assert_eq!(many, told);
        // In rounds, the kernel with the very last configuration is counted last.
        let rounds = batches(schedule(&[2, 2], 3, Interleave::Rounds), Isolate::Auto);
        let all: Vec<Job> = Queue::new(rounds, counters(1, true, Isolate::Auto)).collect();
        assert_eq!(all.len(), 6);
        let counting = all.iter().filter_map(|job| job.then.as_deref());
        let told: Vec<_> = counting.map(|job| (job.series, job.configurations.clone())).collect();
        assert!(told.contains(&(0, vec![0, 1])) && told.contains(&(1, vec![0, 1])), "{told:?}");
        assert!(told.len() == 2 && all.last().is_some_and(|job| job.then.is_some()), "{told:?}");
    }

    #[test]
    fn the_first_counters_share_the_process_of_the_last_timed_pass() {
        let of = |repeats, steps| jobs(&[2], repeats, counters(steps, true, Isolate::Kernel));
        let both = "time [0, 1] 1, count [0, 1] 0";
        assert_eq!(of(2, 1), ["time [0, 1] 0", both]);
        assert_eq!(of(2, 2), ["time [0, 1] 0", both, "count [0, 1] 1"]);
        assert_eq!(of(1, 2), ["time [0, 1] 0, count [0, 1] 0", "count [0, 1] 1"]);
        assert_eq!(of(2, 0), ["time [0, 1] 0", "time [0, 1] 1"]);
    }

    /// The jobs of two sides with `count` configurations, timed twice and counted in two steps.
    fn paired(count: usize, isolate: Isolate) -> Vec<Job> {
        let mut pairs = Pairs::default();
        pairs.join(0, 1, (0..count).collect());
        let one = pairs.insert_partners(batches(schedule(&[count], 2, Interleave::None), isolate));
        Queue::new(one, counters(2, true, isolate)).collect()
    }

    #[test]
    fn counters_follow_the_times_of_both_partners() {
        let jobs = paired(1, Isolate::Configuration);
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
        let together = paired(2, Isolate::Auto);
        let kinds = list_jobs(together.iter().cloned());
        let order = [
            "time [0, 1] 1",
            "time [0, 1] 1, count [0, 1] 0",
            "count [0, 1] 1",
            "count [0, 1] 0",
            "count [0, 1] 1",
        ];
        assert_eq!(kinds[2..], order);
        let of = |at: usize| together[at].series;
        assert!(of(2) != of(3) && of(4) == of(3) && of(5) == of(2), "{kinds:?}");
    }

    #[test]
    fn additional_rounds_come_last() {
        let one = batches(schedule(&[2], 1, Interleave::None), Isolate::Configuration);
        let mut queue = Queue::new(one, counters(1, false, Isolate::Configuration));
        assert_eq!(list_jobs(queue.by_ref().take(1)), ["time [0] 0"]);
        [(1, vec![0]), (2, vec![0]), (1, vec![1])]
            .into_iter()
            .for_each(|(repeat, configurations)| queue.later(0, repeat, configurations, false));
        let order =
            ["count [0] 0", "time [1] 0", "count [1] 0", "time [0] 1", "time [1] 1", "time [0] 2"];
        assert_eq!(list_jobs(queue.by_ref()), order);
        queue.later(0, 3, vec![1], false);
        assert_eq!(list_jobs(queue), ["time [1] 3"]);
    }

    #[test]
    fn energy_comes_after_all_times_and_in_rounds() {
        let one = batches(schedule(&[1], 2, Interleave::None), Isolate::Configuration);
        let mut queue = Queue::new(one, counters(1, false, Isolate::Configuration));
        [1, 0].into_iter().for_each(|repeat| queue.energy(0, repeat, vec![0]));
        queue.later(0, 2, vec![0], true);
        let order = [
            "time [0] 0",
            "time [0] 1",
            "count [0] 0",
            "time [0] 2",
            "energy [0] 0",
            "energy [0] 1",
            "energy [0] 2",
        ];
        assert_eq!(list_jobs(queue), order);
    }

    #[test]
    fn returned_jobs_come_first_in_their_order() {
        let three = batches(schedule(&[3], 1, Interleave::None), Isolate::Configuration);
        let mut queue = Queue::new(three, counters(0, true, Isolate::Configuration));
        let taken: Vec<Job> = queue.by_ref().take(2).collect();
        queue.again(taken);
        assert_eq!(list_jobs(queue), ["time [0] 0", "time [1] 0", "time [2] 0"]);
    }
}
