//! The basic blocks of a function: straight runs of instructions, and the successors of each.

use super::inst::{ControlOp, Guard, Inst, Op};
use super::post_dominators::{Graph, post_order, reversed};
use std::collections::HashSet;

/// Instructions that run one after the other.
#[derive(Debug)]
pub struct Block {
    /// Its first instruction.
    pub start: usize,
    /// The one after its last.
    pub end: usize,
    /// The targets of a branch, then the next block.
    pub successors: Vec<usize>,
    /// Lanes can leave the function at its end.
    pub leaves: bool,
    /// They do so by `ret`, not by the `exit` after a panic.
    pub returns: bool,
}

/// Whether a block only ends the function.
pub fn is_bare_end(code: &[Inst], block: &Block) -> bool {
    block.end - block.start == 1 && is_end(&code[block.start])
}

/// The flow of a function: its blocks' edges, and which blocks all ways to another go through.
pub struct Flow {
    /// The blocks that each block leads to.
    pub successors: Vec<Vec<usize>>,
    /// The blocks that lead to each block.
    pub predecessors: Vec<Vec<usize>>,
    /// The immediate dominator of each block.
    pub dominators: Vec<Option<usize>>,
    /// The place of each block in ptxas's layout: a block follows its predecessors (except in
    /// loops), and the block after a branch comes before its target. `usize::MAX`: not reached.
    pub rank: Vec<usize>,
}

impl Flow {
    /// The flow between blocks, of which the first is the function's entry.
    pub fn new(blocks: &[Block]) -> Self {
        let successors: Vec<Vec<usize>> = blocks.iter().map(|b| b.successors.clone()).collect();
        let predecessors = reversed(&successors);
        let mut rank = vec![usize::MAX; blocks.len()];
        for (position, block) in post_order(&successors, 0).into_iter().rev().enumerate() {
            rank[block] = position;
        }
        // Dominators are the post-dominators of the reversed graph.
        let dominators = Graph { edges: &predecessors }.post_dominators(&[0]);
        Self { successors, predecessors, dominators, rank }
    }

    /// Whether the function's entry leads to a block.
    pub fn is_reached(&self, block: usize) -> bool {
        self.rank[block] != usize::MAX
    }

    /// The blocks that lead to one for which `is_end` holds, themselves included.
    pub fn leading_to(&self, is_end: impl Fn(usize) -> bool) -> Vec<bool> {
        let mut leads = vec![false; self.rank.len()];
        let mut waiting: Vec<usize> = (0..leads.len()).filter(|&at| is_end(at)).collect();
        while let Some(block) = waiting.pop() {
            if !std::mem::replace(&mut leads[block], true) {
                waiting.extend(&self.predecessors[block]);
            }
        }
        leads
    }

    /// Whether all ways to `block` go through `above`.
    pub fn dominates(&self, above: usize, block: usize) -> bool {
        // A block comes before the blocks that it dominates.
        let mut next = Some(block);
        while let Some(at) = next.filter(|&at| self.rank[at] > self.rank[above]) {
            next = self.dominators[at];
        }
        next == Some(above)
    }
}

/// Whether an instruction is an unconditional end of the function.
pub fn is_end(inst: &Inst) -> bool {
    inst.guard == Guard::Always && leaves(&inst.op)
}

fn leaves(op: &Op) -> bool {
    matches!(op, Op::Control(ControlOp::Return | ControlOp::Exit))
}

fn targets<'t>(op: &'t Op, tables: &'t [Vec<u32>]) -> &'t [u32] {
    match op {
        Op::Branch { target, .. } => std::slice::from_ref(target),
        Op::Control(ControlOp::BranchIndexed { table, .. }) => &tables[*table as usize],
        _ => &[],
    }
}

fn ends_block(op: &Op) -> bool {
    let is_branch = matches!(op, Op::Branch { .. } | Op::Control(ControlOp::BranchIndexed { .. }));
    let ends = matches!(
        op,
        Op::Control(ControlOp::Trap | ControlOp::Refused { .. } | ControlOp::Assert { .. })
    );
    is_branch || leaves(op) || ends
}

/// The blocks of the function `code[start..]`.
pub fn split(code: &[Inst], start: usize, tables: &[Vec<u32>]) -> Vec<Block> {
    let mut leader = vec![false; code.len() - start + 1];
    leader[0] = true;
    for (offset, inst) in code[start..].iter().enumerate() {
        if ends_block(&inst.op) {
            leader[offset + 1] = true;
        }
        for target in targets(&inst.op, tables) {
            leader[*target as usize - start] = true;
        }
    }
    let starts: Vec<usize> = (start..code.len()).filter(|at| leader[at - start]).collect();
    let block_at = |at: usize| starts.binary_search(&at).ok();
    starts
        .iter()
        .enumerate()
        .map(|(index, &begin)| {
            let end = starts.get(index + 1).copied().unwrap_or(code.len());
            let last = &code[end - 1];
            let mut successors: Vec<usize> = targets(&last.op, tables)
                .iter()
                .filter_map(|target| block_at(*target as usize))
                .collect();
            if last.guard != Guard::Always || !ends_block(&last.op) {
                successors.extend(block_at(end));
            }
            let mut seen = HashSet::new();
            successors.retain(|next| seen.insert(*next));
            let returns = matches!(last.op, Op::Control(ControlOp::Return));
            Block { start: begin, end, successors, leaves: leaves(&last.op), returns }
        })
        .collect()
}
