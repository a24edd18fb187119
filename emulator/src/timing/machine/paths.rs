//! The machine instructions that a warp executes, by the steps of its PTX.
//!
//! Each block of machine code follows a block of the PTX: [`super::executions`] gives the number of
//! executions of the PTX block for one execution of the machine block. The accesses of a PTX
//! instruction are assigned to its machine instructions, in their order.

use super::executions::Executions;
use super::flow::Flow;
use super::source::Source;
use crate::counters::trace::{Step, Trace};
use std::collections::HashMap;
use std::ops::Range;

/// The most executions of a leader for one of a block whose first one is known.
const LONGEST_TURN: f64 = 64.0;

/// The golden ratio, by which warps start at different parts of a block's turn.
const GOLDEN: f64 = 0.618_034;

/// A machine instruction that a warp executes.
#[derive(Debug, Clone, Copy)]
pub struct MachineStep {
    /// Its number.
    pub instruction: usize,
    /// Its accesses, of those of the path.
    accesses: (u32, u32),
}

/// The machine instructions of a warp, in their order.
#[derive(Debug, Clone, Default)]
pub struct Path {
    steps: Vec<MachineStep>,
    accesses: Vec<Step>,
}

impl Path {
    /// The step with this number.
    pub fn step(&self, at: usize) -> Option<MachineStep> {
        self.steps.get(at).copied()
    }

    /// The steps of the PTX whose accesses one makes.
    pub fn accesses(&self, step: MachineStep) -> &[Step] {
        &self.accesses[step.accesses.0 as usize..step.accesses.1 as usize]
    }
}

/// A block of machine code that a block of the PTX leads.
#[derive(Debug, Clone)]
struct Led {
    instructions: Range<usize>,
    of_loop: Option<usize>,
    /// Its executions for one of its leader.
    rate: f64,
    /// The execution of its leader at which it is executed first, if it has a regular turn.
    first: Option<f64>,
    has_barrier: bool,
}

/// How steps of the PTX become machine instructions.
#[derive(Debug)]
pub struct Paths {
    /// By block of the PTX.
    led: HashMap<usize, Vec<Led>>,
    /// By machine instruction: the one of the PTX whose accesses it makes, and how many of these.
    own: Vec<Option<(u32, f64)>>,
    /// By instruction of the PTX: its block, and whether it is the first one there.
    of_ptx: Vec<(usize, bool)>,
    /// By instruction of the PTX: the one with whose accesses its own are taken.
    queues: Vec<Option<usize>>,
}

impl Paths {
    /// The paths of machine code; `own` lists the accesses that its instructions make.
    pub fn new(
        flow: &Flow,
        executions: &Executions,
        source: &Source<'_>,
        own: Vec<Option<(u32, f64)>>,
        is_barrier: impl Fn(usize) -> bool,
    ) -> Self {
        let mut led: HashMap<usize, Vec<Led>> = HashMap::new();
        for (at, block) in flow.blocks.iter().enumerate() {
            let times = executions.of_block[at];
            let Some(leader) = executions.leaders[at].filter(|_| times > 0.0) else { continue };
            led.entry(leader).or_default().push(Led {
                instructions: block.instructions.clone(),
                of_loop: block.of_loop,
                rate: times / source.executions(leader),
                first: None,
                has_barrier: block.instructions.clone().any(&is_barrier),
            });
        }
        led.values_mut().for_each(|blocks| take_turns(blocks));
        let of_ptx = (0..source.instructions()).map(|pc| (source.block(pc), source.is_first(pc)));
        Self { led, own, of_ptx: of_ptx.collect(), queues: source.first_accesses().to_vec() }
    }

    /// The path of a warp with these `steps` of a trace; `number` differs from that of others.
    pub fn path(&self, trace: &Trace, steps: &[Step], number: usize) -> Path {
        let mut accesses = Queues::new(trace, steps, &self.queues);
        let mut path = Path::default();
        let mut turns: HashMap<usize, f64> = HashMap::new();
        let mut last = (usize::MAX, u32::MAX);
        for step in steps {
            let (block, is_first) = self.of_ptx[step.pc as usize];
            let begins = is_first || block != last.0 || step.pc <= last.1;
            last = (block, step.pc);
            let led = self.led.get(&block).filter(|_| begins).into_iter().flatten();
            for of in led {
                let turn = turns.entry(of.instructions.start).or_insert(match of.first {
                    Some(first) => (1.0 - of.rate * first).max(0.0),
                    None => (number as f64 * GOLDEN).fract(),
                });
                *turn += of.rate;
                while *turn >= 1.0 - 1e-6 {
                    *turn -= 1.0;
                    self.execute(&of.instructions, &mut accesses, &mut path);
                }
            }
        }
        path
    }

    /// Adds the instructions of a block to a path.
    fn execute(&self, block: &Range<usize>, accesses: &mut Queues, path: &mut Path) {
        for instruction in block.clone() {
            let from = path.accesses.len() as u32;
            if let Some((pc, count)) = self.own[instruction] {
                path.accesses.extend_from_slice(accesses.take(pc, count));
            }
            let accesses = (from, path.accesses.len() as u32);
            path.steps.push(MachineStep { instruction, accesses });
        }
    }
}

/// Copies of a block in one iteration of a loop take turns, and so do warps at a barrier.
fn take_turns(blocks: &mut [Led]) {
    for at in 0..blocks.len() {
        let Led { of_loop, rate, has_barrier, .. } = blocks[at];
        let turn = (1.0 / rate).round();
        let is_regular = rate < 1.0 && turn <= LONGEST_TURN && (turn * rate - 1.0).abs() <= 0.05;
        let is_copy = |of: &Led| of.of_loop == of_loop && (of.rate - rate).abs() < 0.02 * rate;
        let copies = blocks.iter().filter(|of| is_copy(of)).count();
        let before = blocks[..at].iter().filter(|of| is_copy(of)).count();
        blocks[at].first = match is_regular {
            true => Some((before as f64 * turn / copies as f64).floor() + 1.0),
            false => has_barrier.then_some(1.0),
        };
    }
}

/// The accesses of each instruction of a warp that are still to come.
struct Queues(HashMap<u32, (Vec<Step>, f64)>);

impl Queues {
    fn new(trace: &Trace, steps: &[Step], queues: &[Option<usize>]) -> Self {
        let mut all: HashMap<u32, (Vec<Step>, f64)> = HashMap::new();
        for &step in steps.iter().filter(|step| trace.access(**step).is_some()) {
            if let Some(first) = queues[step.pc as usize] {
                all.entry(first as u32).or_default().0.push(step);
            }
        }
        Self(all)
    }

    /// The next `count` accesses of an instruction. Of parts of accesses, the first takes them.
    fn take(&mut self, pc: u32, count: f64) -> &[Step] {
        let Some((steps, taken)) = self.0.get_mut(&pc) else { return &[] };
        let whole = |taken: f64| ((taken - 1e-3).ceil().max(0.0) as usize).min(steps.len());
        let first = whole(*taken);
        *taken += count;
        &steps[first..whole(*taken)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn led(rate: f64, of_loop: Option<usize>, has_barrier: bool) -> Led {
        Led { instructions: 0..1, of_loop, rate, first: None, has_barrier }
    }

    #[test]
    fn copies_in_a_loop_take_turns() {
        let mut blocks: Vec<Led> = (0..4).map(|_| led(0.25, Some(0), false)).collect();
        blocks.extend([led(0.25, None, false), led(0.3, Some(0), false), led(0.3, Some(0), true)]);
        take_turns(&mut blocks);
        let first: Vec<_> = blocks.iter().map(|of| of.first).collect();
        let known = [1.0, 2.0, 3.0, 4.0, 1.0].map(Some);
        assert_eq!(first, [&known[..], &[None, Some(1.0)]].concat());
    }

    #[test]
    fn each_access_is_counted_once_over_its_instructions() {
        let mut trace = Trace::new(0, 1);
        for _ in 0..8 {
            trace.step(0, 7);
            trace.finish(0);
        }
        let steps = trace.warps[0].clone();
        let queues: Vec<_> = (0..8).map(Some).collect();
        let taken = |count: f64, times: usize| {
            let mut queues = Queues::new(&trace, &steps, &queues);
            (0..times).map(|_| queues.take(7, count).len()).collect::<Vec<_>>()
        };
        assert_eq!(taken(1.0, 9), [1, 1, 1, 1, 1, 1, 1, 1, 0]);
        assert_eq!(taken(0.9999, 8), [1; 8]);
        assert_eq!(taken(4.0, 3), [4, 4, 0]);
        assert_eq!(taken(0.5, 6), [1, 0, 1, 0, 1, 0]);
        assert!(Queues::new(&trace, &steps, &queues).take(8, 1.0).is_empty());
    }
}
