//! Where diverged lanes meet again.
//!
//! Input: a function's instructions and branch targets. Output: every branch that lanes may
//! disagree on, with the program counter at which they meet, or [`NOWHERE`].
//!
//! The rule is the one an H200 was seen to follow (`tests/masks.rs`): lanes meet at the first block
//! that all their paths have in common, ignoring paths that leave the function before it. So a
//! bounds check that may trap, or a `return` that some lanes take, does not delay the others. Where
//! the paths have only the end in common, lanes wait at a bare `ret` if all of them reach it.

use super::inst::{ControlOp, Guard, Inst, NOWHERE, Op};
use super::post_dominators::{Graph, reachable};

struct Block {
    start: usize,
    end: usize,
    successors: Vec<usize>,
    /// Lanes can leave the function at its end.
    leaves: bool,
    /// They do so by `ret`, not by the `exit` behind a panic.
    returns: bool,
}

/// Sets `reconverge` of every branch in `code[start..]`, a whole function.
pub fn set_reconvergence(code: &mut [Inst], start: usize, tables: &[Vec<u32>]) {
    let blocks = split(code, start, tables);
    let meets = meets(code, &blocks);
    for (block, meet) in blocks.iter().zip(meets) {
        let Some(last) = code.get_mut(block.end - 1) else { continue };
        if let Op::Branch { reconverge, .. }
        | Op::Control(ControlOp::BranchIndexed { reconverge, .. }) = &mut last.op
        {
            *reconverge = meet.map_or(NOWHERE, |index| blocks[index].start as u32);
        }
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
    is_branch || leaves(op) || matches!(op, Op::Control(ControlOp::Trap | ControlOp::Assert { .. }))
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
            successors.sort_unstable();
            successors.dedup();
            let returns = matches!(last.op, Op::Control(ControlOp::Return));
            Block { start: begin, end, successors, leaves: leaves(&last.op), returns }
        })
        .collect()
}

/// For each block that lanes may part at, the block at which they meet.
fn meets(code: &[Inst], blocks: &[Block]) -> Vec<Option<usize>> {
    let everywhere: Vec<usize> = (0..blocks.len()).filter(|&at| blocks[at].leaves).collect();
    let edges: Vec<Vec<usize>> = blocks.iter().map(|block| block.successors.clone()).collect();
    let strict = Graph { edges: &edges }.post_dominators(&everywhere);
    let bare: Vec<bool> = blocks
        .iter()
        .map(|block| block.end - block.start == 1 && is_end(&code[block.start]))
        .collect();
    let early = EarlyEnds::new(blocks, &bare);
    (0..blocks.len())
        .map(|at| match strict[at] {
            Some(meet) if !bare[meet] => Some(meet),
            otherwise if blocks[at].successors.len() > 1 => early.meet(at).or(otherwise),
            otherwise => otherwise,
        })
        .collect()
}

/// The function with every way to a bare `ret` an end of its own: compilers lead all early returns
/// to one `ret`, and lanes do not wait for each other there.
struct EarlyEnds {
    edges: Vec<Vec<usize>>,
    ends: Vec<usize>,
    /// Which blocks lead to a `ret`.
    returns: Vec<bool>,
}

impl EarlyEnds {
    fn new(blocks: &[Block], bare: &[bool]) -> Self {
        let kept = |block: &Block| {
            block.successors.iter().copied().filter(|&next| !bare[next]).collect::<Vec<_>>()
        };
        let edges: Vec<Vec<usize>> = blocks.iter().map(kept).collect();
        let ends = (0..blocks.len())
            .filter(|&at| !bare[at])
            .filter(|&at| blocks[at].leaves || edges[at].len() < blocks[at].successors.len())
            .collect();
        let leads = |block: &Block| block.successors.iter().any(|&next| bare[next]);
        let returns = blocks.iter().map(|block| block.returns || leads(block)).collect();
        Self { edges, ends, returns }
    }

    /// Where the lanes that part at a block meet, if those that leave the function on the way do
    /// not count.
    fn meet(&self, at: usize) -> Option<usize> {
        let reached: Vec<Vec<bool>> =
            self.edges[at].iter().map(|&next| reachable(&self.edges, next)).collect();
        let ways = |end: usize| reached.iter().filter(|reached| reached[end]).count();
        let most = self.ends.iter().map(|&end| ways(end)).max().filter(|&most| most > 1)?;
        let common: Vec<usize> =
            self.ends.iter().copied().filter(|&end| ways(end) == most).collect();
        let meet = |ends: &[usize]| Graph { edges: &self.edges }.post_dominators(ends)[at];
        // A panic in a loop is an end that both sides reach, but not the ordinary one.
        let returning: Vec<usize> =
            common.iter().copied().filter(|&end| self.returns[end]).collect();
        // If these ends are themselves early ones of each other, the last is the ordinary one.
        let last = |ends: &[usize]| ends.iter().rev().find_map(|&end| meet(&[end]));
        meet(&common)
            .or_else(|| meet(&returning))
            .or_else(|| last(&returning))
            .or_else(|| last(&common))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::inst::Slot;

    fn branch(target: u32) -> Inst {
        Inst { guard: Guard::If(Slot(0)), op: Op::Branch { target, reconverge: 0 } }
    }

    fn jump(target: u32) -> Inst {
        plain(Op::Branch { target, reconverge: 0 })
    }

    fn plain(op: Op) -> Inst {
        Inst { guard: Guard::Always, op }
    }

    fn ret() -> Inst {
        plain(ControlOp::Return.into())
    }

    fn nop() -> Inst {
        plain(Op::Nop)
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
        assert_eq!(meets(vec![branch(2), nop(), ret()]), [2]);
    }

    #[test]
    fn an_if_else_meets_after_both() {
        assert_eq!(meets(vec![branch(3), nop(), jump(4), nop(), ret()]), [4]);
    }

    #[test]
    fn a_loop_meets_at_its_exit() {
        assert_eq!(meets(vec![nop(), branch(0), ret()]), [2]);
    }

    #[test]
    fn two_returns_meet_nowhere() {
        assert_eq!(meets(vec![branch(2), ret(), ret()]), [NOWHERE]);
    }

    #[test]
    fn a_trap_does_not_delay_the_meeting() {
        let trap = plain(ControlOp::Trap.into());
        assert_eq!(meets(vec![branch(3), nop(), ret(), trap]), [1]);
    }

    #[test]
    fn a_return_in_an_arm_does_not_delay_the_meeting() {
        // if (a) { if (b) return; nop } nop
        assert_eq!(meets(vec![branch(3), branch(4), nop(), nop(), ret()])[0], 3);
    }

    #[test]
    fn a_return_after_work_does_not_delay_the_meeting() {
        // if (a) { if (b) { nop; return } nop } nop
        let code = vec![branch(3), branch(5), nop(), nop(), jump(6), nop(), ret()];
        assert_eq!(meets(code), [3, 6]);
    }

    #[test]
    fn a_return_in_a_loop_does_not_delay_the_meeting_after_it() {
        // do { if (a) return; nop } while (b); nop
        assert_eq!(meets(vec![branch(4), nop(), branch(0), nop(), ret()])[1], 3);
    }

    #[test]
    fn a_panic_in_a_loop_does_not_delay_the_meeting_in_it() {
        // loop { if (a) panic; if (b) { if (c) panic; nop } barrier; if (!d) break }; nop
        let exit = plain(ControlOp::Exit.into());
        let code = vec![
            branch(10), // a
            branch(3),  // b
            jump(5),
            branch(12), // c
            nop(),
            nop(),
            branch(0), // d
            nop(),
            nop(),
            ret(),
            nop(),
            exit,
            nop(),
            exit,
        ];
        let meets = meets(code);
        assert_eq!((meets[1], meets[3]), (5, 7));
    }

    #[test]
    fn of_two_ends_that_both_sides_reach_the_last_is_the_ordinary_one() {
        // if (a || b) { nop; if (c) { nop; return } } else { nop } nop
        let code = vec![
            branch(3), // a
            branch(3), // b
            jump(7),
            nop(),
            branch(6), // c
            jump(8),
            ret(),
            nop(),
            nop(),
            ret(),
        ];
        assert_eq!(meets(code)[0], 8);
    }
}
