//! Yield points: instructions at which lanes let other lanes of their warp run.
//!
//! Input: a function's instructions. Output: the same with the yield points marked, and every other
//! access through which a lane may wait. Many of those together end a turn. ptxas places one YIELD
//! in a loop that contains an access through which lanes may wait for each other, and that has a
//! lane-dependent exit which depends on such an access, in the loop or before it: a volatile,
//! relaxed or acquire load, or an atomic. A loop that only counts, or an exit that depends on plain
//! loads, has none (ptxas 13.0 for `sm_90`). If loops share a head, each has its own yield point:
//! an outer loop whose rounds begin with a spin shares its head with the spin. The lanes of a loop
//! with a yield point do not wait for each other at its end while some of them stay inside.

use super::blocks::{Block, Flow, split};
use super::inst::{Inst, MbarrierOp, Op, Pause, Register, Role, Space};
use super::loops::{Loop, find_loops};
use super::registers::derived_from;
use std::collections::HashSet;

impl Loop {
    /// Whether the exit of the loop depends on the awaited access, so that lanes leave one by one.
    fn is_left_by(&self, awaited: &HashSet<Register>, code: &[Inst], blocks: &[Block]) -> bool {
        self.blocks.iter().map(|&at| &blocks[at]).any(|block| {
            let leaves = block.leaves || block.successors.iter().any(|n| !self.blocks.contains(n));
            let mut by = code[block.end - 1].registers(Role::Read).into_iter();
            leaves && by.any(|register| awaited.contains(&register))
        })
    }
}

/// Marks the yield points of `code[start..]`, a whole function.
pub fn mark_yield_points(code: &mut [Inst], start: usize, tables: &[Vec<u32>]) {
    let mut any = false;
    for inst in code[start..].iter_mut().filter(|inst| may_wait(&inst.op)) {
        (inst.pause, any) = (Pause::Polls, true);
    }
    if !any {
        return;
    }
    let blocks = split(code, start, tables);
    let flow = Flow::new(&blocks);
    let mut loops = find_loops(&flow);
    if loops.is_empty() {
        return;
    }
    let awaited = derived_from(&code[start..], may_wait);
    loops.retain(|each| each.is_left_by(&awaited, code, &blocks));
    // The innermost first, so that an access yields once.
    loops.sort_by_key(|each| (each.is_whole, each.blocks.len()));
    let (mut taken, mut heads) = (HashSet::new(), HashSet::new());
    for each in loops {
        if each.is_whole && heads.contains(&each.head) {
            continue;
        }
        let inside = (0..blocks.len()).filter(|at| each.blocks.contains(at));
        let accesses: Vec<usize> = inside
            .flat_map(|at| blocks[at].start..blocks[at].end)
            .filter(|at| may_wait(&code[*at].op) && !taken.contains(at))
            .collect();
        let Some(&first) = accesses.first() else { continue };
        heads.insert(each.head);
        taken.extend(accesses);
        code[first].pause = Pause::Yields;
    }
}

/// Whether a lane may wait for another by repeating an operation.
fn may_wait(op: &Op) -> bool {
    match op {
        Op::Load { element, address, .. } => {
            element.is_strong()
                && matches!(address.space, Space::Global | Space::Shared | Space::Generic)
        }
        Op::Atomic(_) | Op::AtomicVector(_) => true,
        Op::Mbarrier(barrier) => matches!(barrier.op, MbarrierOp::Test { .. }),
        _ => false,
    }
}
