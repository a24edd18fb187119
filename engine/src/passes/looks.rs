//! More rounds for undecided configurations, relative to another revision or to an absolute limit.
//!
//! Input: the progress of every configuration, on both sides if it has two, once no process runs,
//! and the observer's decisions. Output: the rounds to come, with partners next to each other, or
//! the end of a configuration. Each decision depends on the measurements at a look, so a resumed
//! run sees the same numbers and continues in the same way.

use std::collections::BTreeMap;
use std::time::Instant;

use super::device_queue::DeviceQueue;
use super::event::{At, Open};
use super::sweep::Sweep;
use crate::schedule::{Interleave, Step, batches};
use gpuprof_analysis::stats::random::{SEED, SplitMix, shuffle};
use gpuprof_system::error::Result;

impl Sweep<'_, '_> {
    /// Asks which configurations need more rounds, and puts those into `queues`. Whether there are
    /// any.
    pub(super) fn look(&mut self, queues: &mut [DeviceQueue<'_>]) -> Result<bool> {
        let Some(rounds) = self.planned.rounds else { return Ok(false) };
        let (mut wanted, open) = self.before_the_look();
        let over = rounds.until.is_some_and(|until| until <= Instant::now());
        let asked = if over { BTreeMap::new() } else { self.ask(&open)? };
        let undecided = open.iter().filter(|at| asked.contains_key(at)).count();
        let configurations = self.planned.pairs.all().count() + self.alone().len();
        let most = rounds.most.limit(undecided, configurations);
        for at in open {
            let has = self.states[at.0][at.1].passes.len();
            // Nothing is decided between two looks.
            match asked.get(&at) {
                Some(&next) if next <= most && next as usize > has => {
                    wanted.push((at, next));
                }
                _ => self.stop(at),
            }
        }
        self.add_rounds(&wanted, queues);
        self.finish_what_is_over()?;
        Ok(!wanted.is_empty())
    }

    /// The configurations that wait for a look, and those with more rounds on one side in a run
    /// that was killed; a configuration that has ended on either side stops.
    fn before_the_look(&mut self) -> (Vec<(At, u32)>, Vec<At>) {
        let (mut uneven, mut open) = (Vec::new(), Vec::new());
        for (head, base) in self.planned.pairs.all() {
            let [one, two] = [head, base].map(|(series, index)| &self.states[series][index]);
            let counts = [one, two].map(|state| u32::try_from(state.passes.len()).unwrap_or(0));
            if [one, two].iter().any(|state| state.told || state.ended.is_some()) {
                self.stop(head);
            } else if counts[0] == counts[1] {
                open.push(head);
            } else {
                uneven.push((head, counts[0].max(counts[1])));
            }
        }
        for at in self.alone() {
            let state = &self.states[at.0][at.1];
            if state.told || state.ended.is_some() {
                self.stop(at);
            } else {
                open.push(at);
            }
        }
        (uneven, open)
    }

    /// The configurations without a partner that wait for a look.
    fn alone(&self) -> Vec<At> {
        let pairs = self.planned.pairs;
        let waits = |&at: &At| self.states[at.0][at.1].in_rounds && pairs.partner(at).is_none();
        self.all().into_iter().filter(waits).collect()
    }

    fn ask(&mut self, open: &[At]) -> Result<BTreeMap<At, u32>> {
        if open.is_empty() {
            return Ok(BTreeMap::new());
        }
        let sides = open.iter().flat_map(|&at| [Some(at), self.planned.pairs.partner(at)]);
        let sides = sides.flatten();
        let open: Vec<Open<'_>> = sides
            .map(|(series, index)| {
                let state = &self.states[series][index];
                Open {
                    at: (series, index),
                    passes: &state.passes,
                    hardware: &state.collected.hardware,
                }
            })
            .collect();
        self.observer.look(&open)
    }

    /// Accepts the measurements of both sides of `head` as final.
    fn stop(&mut self, head: At) {
        let sides = [Some(head), self.planned.pairs.partner(head)];
        for (series, index) in sides.into_iter().flatten() {
            self.states[series][index].stop();
        }
    }

    /// Puts the rounds up to those `wanted` into the queues of their devices.
    fn add_rounds(&mut self, wanted: &[(At, u32)], queues: &mut [DeviceQueue<'_>]) {
        let mut rounds: BTreeMap<u32, Vec<At>> = BTreeMap::new();
        for &(head, until) in wanted {
            let sides = [Some(head), self.planned.pairs.partner(head)];
            let mut first = until;
            for (series, index) in sides.into_iter().flatten() {
                let state = &mut self.states[series][index];
                first = first.min(u32::try_from(state.passes.len()).unwrap_or(until));
                state.go_on_to(until);
            }
            (first..until).for_each(|repeat| rounds.entry(repeat).or_default().push(head));
        }
        for (repeat, mut heads) in rounds {
            if self.planned.order == Interleave::Rounds {
                shuffle(&mut heads, &mut SplitMix(SEED + u64::from(repeat)));
            }
            for (device, queue) in queues.iter_mut().enumerate() {
                let here = heads.iter().filter(|&&at| self.planned.assignment.device(at) == device);
                let step = |&(series, configuration)| Step { series, configuration, repeat };
                let batches = batches(here.map(step), self.planned.isolate);
                for batch in self.planned.pairs.insert_partners(batches) {
                    let energy = self.planned.wants_energy(batch.series, device);
                    queue.queue.later(batch.series, repeat, batch.configurations, energy);
                }
            }
        }
    }
}
