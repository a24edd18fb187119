//! Where diverged lanes meet again: immediate post-dominators of a function's blocks.
//!
//! A function's instructions and branch targets come in; every branch that lanes may disagree on
//! goes out with the program counter of its immediate post-dominator, or [`NOWHERE`] if the sides
//! only meet at the function's end. `trap` is not an end that anything must reach, so a bounds
//! check that may trap does not delay reconvergence.

use super::inst::{ControlOp, Guard, Inst, NOWHERE, Op};

struct Block {
    start: usize,
    end: usize,
    successors: Vec<usize>,
}

/// Sets `reconverge` of every branch in `code[start..]`, a whole function.
pub fn set_reconvergence(code: &mut [Inst], start: usize, tables: &[Vec<u32>]) {
    let blocks = split(code, start, tables);
    let meets = immediate_post_dominators(&blocks);
    for (block, meet) in blocks.iter().zip(meets) {
        let Some(last) = code.get_mut(block.end - 1) else { continue };
        if let Op::Branch { reconverge, .. }
        | Op::Control(ControlOp::BranchIndexed { reconverge, .. }) = &mut last.op
        {
            *reconverge = meet.map_or(NOWHERE, |index| blocks[index].start as u32);
        }
    }
}

fn targets<'t>(op: &'t Op, tables: &'t [Vec<u32>]) -> &'t [u32] {
    match op {
        Op::Branch { target, .. } => std::slice::from_ref(target),
        Op::Control(ControlOp::BranchIndexed { table, .. }) => &tables[*table as usize],
        _ => &[],
    }
}

fn ends_block(op: &Op) -> bool {
    matches!(
        op,
        Op::Branch { .. }
            | Op::Control(
                ControlOp::BranchIndexed { .. }
                    | ControlOp::Return
                    | ControlOp::Exit
                    | ControlOp::Trap { .. }
            )
    )
}

fn split(code: &[Inst], start: usize, tables: &[Vec<u32>]) -> Vec<Block> {
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
            if matches!(last.op, Op::Control(ControlOp::Return | ControlOp::Exit)) {
                // The virtual end of the function.
                successors.push(starts.len());
            }
            Block { start: begin, end, successors }
        })
        .collect()
}

/// For each block the block that all its paths to the end go through first (Cooper, Harvey and
/// Kennedy's algorithm on the reversed graph). `None`: only the end itself, or no path to the end.
fn immediate_post_dominators(blocks: &[Block]) -> Vec<Option<usize>> {
    let end = blocks.len();
    let mut predecessors = vec![Vec::new(); end + 1];
    for (index, block) in blocks.iter().enumerate() {
        for &successor in &block.successors {
            predecessors[successor].push(index);
        }
    }
    let order = post_order(&predecessors, end);
    let mut rank = vec![usize::MAX; end + 1];
    for (position, &block) in order.iter().enumerate() {
        rank[block] = position;
    }
    let mut dominator: Vec<Option<usize>> = vec![None; end + 1];
    dominator[end] = Some(end);
    let mut changed = true;
    while changed {
        changed = false;
        for &block in order.iter().rev().filter(|block| **block != end) {
            let mut best: Option<usize> = None;
            for &successor in &blocks[block].successors {
                if dominator[successor].is_none() {
                    continue;
                }
                best = Some(
                    best.map_or(successor, |other| intersect(&dominator, &rank, other, successor)),
                );
            }
            if best.is_some() && dominator[block] != best {
                dominator[block] = best;
                changed = true;
            }
        }
    }
    (0..end).map(|block| dominator[block].filter(|meet| *meet != end)).collect()
}

fn intersect(dominator: &[Option<usize>], rank: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        while rank[a] < rank[b] {
            a = dominator[a].expect("ranked blocks have dominators");
        }
        while rank[b] < rank[a] {
            b = dominator[b].expect("ranked blocks have dominators");
        }
    }
    a
}

fn post_order(edges: &[Vec<usize>], root: usize) -> Vec<usize> {
    let mut seen = vec![false; edges.len()];
    let mut order = Vec::new();
    let mut stack = vec![(root, 0)];
    seen[root] = true;
    while let Some((node, next)) = stack.pop() {
        match edges[node].get(next) {
            Some(&child) => {
                stack.push((node, next + 1));
                if !seen[child] {
                    seen[child] = true;
                    stack.push((child, 0));
                }
            }
            None => order.push(node),
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::inst::Slot;

    fn branch(target: u32) -> Inst {
        Inst { guard: Guard::If(Slot(0)), op: Op::Branch { target, reconverge: 0 } }
    }

    fn plain(op: Op) -> Inst {
        Inst { guard: Guard::Always, op }
    }

    fn meets(mut code: Vec<Inst>) -> Vec<u32> {
        set_reconvergence(&mut code, 0, &[]);
        code.iter()
            .filter(|inst| inst.guard != Guard::Always)
            .filter_map(|inst| match inst.op {
                Op::Branch { reconverge, .. } => Some(reconverge),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn an_if_meets_after_it() {
        assert_eq!(meets(vec![branch(2), plain(Op::Nop), plain(ControlOp::Return.into())]), [2]);
    }

    #[test]
    fn an_if_else_meets_after_both() {
        let jump = plain(Op::Branch { target: 4, reconverge: 0 });
        assert_eq!(
            meets(vec![
                branch(3),
                plain(Op::Nop),
                jump,
                plain(Op::Nop),
                plain(ControlOp::Return.into())
            ]),
            [4]
        );
    }

    #[test]
    fn a_loop_meets_at_its_exit() {
        assert_eq!(meets(vec![plain(Op::Nop), branch(0), plain(ControlOp::Return.into())]), [2]);
    }

    #[test]
    fn two_returns_meet_nowhere() {
        assert_eq!(
            meets(vec![
                branch(2),
                plain(ControlOp::Return.into()),
                plain(ControlOp::Return.into())
            ]),
            [NOWHERE]
        );
    }

    #[test]
    fn a_trap_does_not_delay_the_meeting() {
        // 0: @p bra 3   1: nop   2: ret   3: trap
        let trap = plain(ControlOp::Trap { assert: false }.into());
        assert_eq!(
            meets(vec![branch(3), plain(Op::Nop), plain(ControlOp::Return.into()), trap]),
            [1]
        );
    }
}
