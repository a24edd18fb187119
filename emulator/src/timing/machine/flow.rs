//! The basic blocks and loops of machine code.

use super::instruction::{Effect, Instruction};
use crate::lower::post_dominators::reachable;
use std::collections::BTreeSet;
use std::ops::Range;

/// Instructions that run one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Their numbers.
    pub instructions: Range<usize>,
    /// The number of the innermost loop around it.
    pub of_loop: Option<usize>,
    /// Whether warps execute it. They execute no subroutines for rare operands, and no code for
    /// warps with lanes at different places.
    pub runs: bool,
}

/// A loop: the blocks from one to another that leads back to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Loop {
    first: usize,
    last: usize,
}

/// The flow of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// Its blocks, in the order of the code.
    pub blocks: Vec<Block>,
    loops: Vec<Loop>,
}

impl Flow {
    /// The blocks and loops of a function.
    pub fn new(code: &[Instruction]) -> Self {
        let mut starts = BTreeSet::from([0]);
        for (at, instruction) in code.iter().enumerate() {
            if instruction.effect != Effect::Next {
                starts.insert(at + 1);
            }
            if let Effect::Jump { target, .. } = instruction.effect {
                starts.insert(target);
            }
        }
        let starts: Vec<usize> = starts.into_iter().filter(|start| *start < code.len()).collect();
        let ends = starts.iter().copied().skip(1).chain([code.len()]);
        let ranges: Vec<Range<usize>> =
            starts.iter().zip(ends).map(|(&from, to)| from..to).collect();
        let successors: Vec<Vec<usize>> =
            ranges.iter().map(|range| successors(code, range, &starts)).collect();
        let mut runs = if code.is_empty() { Vec::new() } else { reachable(&successors, 0) };
        for (runs, range) in runs.iter_mut().zip(&ranges) {
            *runs &= code[range.end - 1].effect != Effect::Call { is_conditional: false };
        }
        let mut loops: Vec<Loop> = Vec::new();
        for (last, next) in successors.iter().enumerate().filter(|(at, _)| runs[*at]) {
            for &first in next.iter().filter(|first| **first <= last) {
                match loops.iter_mut().find(|known| known.first == first) {
                    Some(known) => known.last = known.last.max(last),
                    None => loops.push(Loop { first, last }),
                }
            }
        }
        loops.sort_by_key(|of| of.last - of.first);
        let innermost = |at| loops.iter().position(|of| (of.first..=of.last).contains(&at));
        let blocks = ranges.into_iter().enumerate().map(|(at, instructions)| Block {
            instructions,
            of_loop: innermost(at),
            runs: runs[at],
        });
        Self { blocks: blocks.collect(), loops }
    }

    /// The number of loops around the blocks of this innermost loop.
    pub fn depth(&self, of_loop: Option<usize>) -> usize {
        let Some(of) = of_loop.map(|number| self.loops[number]) else { return 0 };
        let around = self.loops.iter().filter(|it| it.first <= of.first && of.last <= it.last);
        around.count()
    }
}

/// The blocks after one; none after a call for rare operands.
fn successors(code: &[Instruction], range: &Range<usize>, starts: &[usize]) -> Vec<usize> {
    let at = |start: usize| starts.binary_search(&start).ok();
    let next = at(range.end);
    let all: Vec<Option<usize>> = match code[range.end - 1].effect {
        Effect::Next
        | Effect::JumpOfParts
        | Effect::End { is_conditional: true }
        | Effect::Call { is_conditional: true } => vec![next],
        Effect::Jump { target, is_conditional: true } => vec![at(target), next],
        Effect::Jump { target, .. } => vec![at(target)],
        Effect::Indexed => (0..starts.len()).map(Some).collect(),
        Effect::End { .. } | Effect::Call { .. } => Vec::new(),
    };
    all.into_iter().flatten().collect()
}
