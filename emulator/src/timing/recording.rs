//! The recorded part of a launch: the steps of the warps of some blocks.

use super::code::{Code, Kind};
use crate::counters::Traffic;
use crate::counters::trace::{Step, Trace};

/// The recorded blocks. Of long ones, the same part of each warp.
#[derive(Debug)]
pub struct Recording<'t> {
    traces: Vec<&'t Trace>,
    /// How many steps of each warp of each trace are replayed.
    lengths: Vec<Vec<usize>>,
    /// The most instructions of any warp of the launch.
    longest_warp: u64,
}

impl<'t> Recording<'t> {
    /// The recorded part of a launch with this `traffic`.
    pub fn new(code: &Code, traffic: &'t Traffic) -> Self {
        let traces = traffic.traces();
        let lengths = traces.iter().map(|trace| lengths(code, trace)).collect();
        Self { traces, lengths, longest_warp: traffic.longest_warp() }
    }

    /// How many blocks were recorded.
    pub fn traces(&self) -> usize {
        self.traces.len()
    }

    /// A block.
    pub fn trace(&self, trace: usize) -> &'t Trace {
        self.traces[trace]
    }

    /// All blocks.
    pub fn all(&self) -> &[&'t Trace] {
        &self.traces
    }

    /// Warps of a block.
    pub fn warps(&self, trace: usize) -> usize {
        self.lengths[trace].len()
    }

    /// The steps of a warp that are replayed.
    pub fn steps(&self, trace: usize, warp: usize) -> &'t [Step] {
        &self.traces[trace].warps[warp][..self.lengths[trace][warp]]
    }

    /// Steps of a block that are replayed, on average; one at least.
    pub fn steps_of_block(&self) -> u64 {
        let all = self.lengths.iter().flatten().sum::<usize>();
        (all / self.traces.len().max(1)).max(1) as u64
    }

    /// Whether all blocks execute as many instructions.
    pub fn is_alike(&self) -> bool {
        self.traces.windows(2).all(|two| two[0].executed == two[1].executed)
    }

    /// How much longer the longest recorded warp is than what is replayed of it.
    pub fn scale(&self) -> f64 {
        let executed = self.traces.iter().flat_map(|trace| trace.executed.iter().copied()).max();
        let replayed = self.lengths.iter().flatten().max();
        executed.unwrap_or(0) as f64 / replayed.copied().unwrap_or(0).max(1) as f64
    }

    /// The steps that would be replayed of the longest warp of the launch.
    pub fn longest(&self) -> f64 {
        self.longest_warp as f64 / self.scale()
    }
}

/// The steps of each warp of a block before the barrier at which the first of them has no more
/// recorded steps: after it, the others would wait for nothing.
fn lengths(code: &Code, trace: &Trace) -> Vec<usize> {
    let is_barrier = |step: &Step| {
        matches!(code.instructions[step.pc as usize].kind, Kind::Barrier { continues: false })
    };
    let barriers = |steps: &[Step]| steps.iter().filter(|step| is_barrier(step)).count();
    let all = trace.warps.iter().zip(&trace.executed);
    let cut = all.filter(|(steps, executed)| (steps.len() as u64) < **executed);
    let passed = cut.map(|(steps, _)| barriers(steps)).min().filter(|passed| *passed > 0);
    let length = |steps: &Vec<Step>| {
        let beyond = steps.iter().enumerate().filter(|(_, step)| is_barrier(step)).nth(passed?);
        beyond.map(|(at, _)| at)
    };
    trace.warps.iter().map(|steps| length(steps).unwrap_or(steps.len())).collect()
}
