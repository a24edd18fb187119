//! The blocks of a function: instructions that run one after the other, and where each leads.

use super::inst::{ControlOp, Guard, Inst, Op};
use super::post_dominators::{post_order, reachable};

/// Instructions that run one after the other.
#[derive(Debug)]
pub struct Block {
    /// Its first instruction.
    pub start: usize,
    /// The one behind its last.
    pub end: usize,
    /// Where it leads.
    pub successors: Vec<usize>,
    /// Lanes can leave the function at its end.
    pub leaves: bool,
    /// They do so by `ret`, not by the `exit` behind a panic.
    pub returns: bool,
}

/// Whether a block only ends the function.
pub fn is_bare_end(code: &[Inst], block: &Block) -> bool {
    block.end - block.start == 1 && is_end(&code[block.start])
}

/// The blocks that lead to a `ret`.
pub fn returning(blocks: &[Block]) -> Vec<bool> {
    let edges: Vec<Vec<usize>> = blocks.iter().map(|block| block.successors.clone()).collect();
    let reaches = |at| {
        let reached = reachable(&edges, at);
        blocks.iter().zip(reached).any(|(block, reached)| reached && block.returns)
    };
    (0..blocks.len()).map(reaches).collect()
}

/// The rank of each block in an order in which a block follows those that lead to it, loops apart.
pub fn rank(blocks: &[Block]) -> Vec<usize> {
    let edges: Vec<Vec<usize>> = blocks.iter().map(|block| block.successors.clone()).collect();
    let mut rank = vec![usize::MAX; blocks.len()];
    for (position, block) in post_order(&edges, 0).into_iter().rev().enumerate() {
        rank[block] = position;
    }
    rank
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
    is_branch || leaves(op) || matches!(op, Op::Control(ControlOp::Trap | ControlOp::Assert { .. }))
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
            successors.sort_unstable();
            successors.dedup();
            let returns = matches!(last.op, Op::Control(ControlOp::Return));
            Block { start: begin, end, successors, leaves: leaves(&last.op), returns }
        })
        .collect()
}
