//! Which branches decide whether a block runs, and which blocks can run.

use super::bits::KnownBits;
use crate::lower::blocks::Block;
use crate::lower::inst::{ControlOp, File, Guard, Inst, Op};
use crate::lower::post_dominators::{Graph, post_order};
use crate::lower::program::Program;

/// The blocks of a program, and the branches that decide whether each runs.
pub struct Control {
    /// The block of each instruction; none if no lane can reach it.
    pub block: Vec<Option<usize>>,
    /// For each block the blocks with a last branch or exit that decides whether it runs.
    pub deciding: Vec<Vec<usize>>,
}

impl Control {
    /// Of a program with blocks. A branch with a known predicate leads one way only.
    pub fn new(program: &Program, blocks: &[Block], known: &KnownBits<'_>) -> Self {
        let last = |block: &Block| &program.code[block.end - 1];
        let edges: Vec<Vec<usize>> =
            blocks.iter().map(|block| successors(block, last(block), known)).collect();
        let mut starts: Vec<usize> = vec![0];
        for inst in &program.code {
            if let Op::Control(ControlOp::Call { target, .. }) = inst.op {
                starts.extend(blocks.iter().position(|block| block.start == target as usize));
            }
        }
        let mut reached = vec![false; blocks.len()];
        for start in starts {
            post_order(&edges, start).into_iter().for_each(|block| reached[block] = true);
        }
        let mut block_of = vec![None; program.code.len()];
        for (at, block) in blocks.iter().enumerate().filter(|(at, _)| reached[*at]) {
            block_of[block.start..block.end].fill(Some(at));
        }
        let leaves = |at: &usize| {
            edges[*at].is_empty()
                || blocks[*at].leaves && is_on(last(&blocks[*at]), known) != Some(false)
        };
        let ends: Vec<usize> = (0..blocks.len()).filter(leaves).collect();
        let meets = Graph { edges: &edges }.post_dominators(&ends);
        let mut deciding = vec![Vec::new(); blocks.len()];
        for (from, nexts) in edges.iter().enumerate().filter(|(at, _)| reached[*at]) {
            for &next in nexts {
                let mut at = Some(next);
                while let Some(block) = at.filter(|block| meets[from] != Some(*block)) {
                    if deciding[block].contains(&from) {
                        break;
                    }
                    deciding[block].push(from);
                    at = meets[block];
                }
            }
        }
        Self { block: block_of, deciding }
    }
}

/// Whether the guard of an instruction holds, if that is known.
pub fn is_on(inst: &Inst, known: &KnownBits<'_>) -> Option<bool> {
    let value = |slot| {
        let bits = known.get((File::Pred, slot));
        (bits.known() & 1 != 0).then_some(bits.ones & 1 != 0)
    };
    match inst.guard {
        Guard::Always => Some(true),
        Guard::If(slot) => value(slot),
        Guard::Unless(slot) => value(slot).map(|set| !set),
    }
}

fn successors(block: &Block, last: &Inst, known: &KnownBits<'_>) -> Vec<usize> {
    let all = &block.successors;
    match (&last.op, is_on(last, known), &all[..]) {
        // The target of a branch comes first.
        (Op::Branch { .. }, Some(true), [target, ..]) => vec![*target],
        (Op::Branch { .. }, Some(false), [_, next]) => vec![*next],
        (Op::Control(ControlOp::Return | ControlOp::Exit), Some(true), _) => Vec::new(),
        _ => all.clone(),
    }
}
