//! Looks: volatile loads whose value decides how a lane goes on, so that it may wait for others.
//!
//! Input: a function's instructions. Output: the same with the looks marked. A load in a loop is
//! one if its value decides which lanes leave the loop, or alone decides another branch of it. A
//! load is also one if its value decides branches alone, or if a call or local memory carries it
//! on, for then its use is not known. Every other volatile load takes data, and so do two of which
//! a branch compares the values: if another lane of the warp stored the data, the two must have met
//! since.

use super::blocks::{Block, Flow, split};
use super::inst::{ControlOp, Inst, MoveOp, Op, Register, Role, Sharing, Space};
use super::loops::{Loop, find_loops};
use super::registers::{derived_from, leading_to};
use std::collections::HashSet;

/// Marks the looks of `code[start..]`, a whole function. `has_local`: its kernel has local memory.
pub fn mark_looks(code: &mut [Inst], start: usize, tables: &[Vec<u32>], has_local: bool) {
    let is_load = |at: &usize| is_volatile_load(&code[*at].op);
    let loads: Vec<usize> = (start..code.len()).filter(is_load).collect();
    if loads.is_empty() {
        return;
    }
    let blocks = split(code, start, tables);
    let loops = find_loops(&Flow::new(&blocks));
    let values = &code[start..];
    let is_lost = |op: &Op| loses_track(op, has_local);
    let lost = leading_to_any(values, is_lost);
    let data = leading_to_any(values, |op| takes_data(op) && !is_lost(op));
    let decisions = find_decisions(values, &blocks, start, &loads);
    for load in loads {
        let written = code[load].registers(Role::Write);
        let leads = |to: &HashSet<Register>| written.iter().any(|register| to.contains(register));
        let own = decisions.iter().filter(|decision| decision.loads.contains(&load));
        let is_part = own.clone().any(|decision| decision.loads.len() > 1);
        let waits = own.clone().any(|decision| decision.may_repeat(load, &blocks, &loops));
        if let Op::Load { element, .. } = &mut code[load].op
            && (waits || leads(&lost) || !(is_part || leads(&data)))
        {
            element.sharing = Sharing::Look;
        }
    }
}

fn is_volatile_load(op: &Op) -> bool {
    let Op::Load { element, address, .. } = op else { return false };
    let may_be_shared = matches!(address.space, Space::Shared | Space::Generic);
    element.sharing == Sharing::Volatile && may_be_shared
}

/// A branch that depends on volatile loads.
struct Decision {
    /// The block that it ends.
    block: usize,
    /// The loads.
    loads: Vec<usize>,
}

impl Decision {
    /// Whether a load leads to the branch again and again: in a loop that the branch leaves, or as
    /// the only load that it depends on.
    fn may_repeat(&self, load: usize, blocks: &[Block], loops: &[Loop]) -> bool {
        let holds = |each: &Loop, at: usize| {
            each.blocks.iter().any(|&block| (blocks[block].start..blocks[block].end).contains(&at))
        };
        let block = &blocks[self.block];
        let leaves = |each: &Loop| {
            block.leaves || block.successors.iter().any(|next| !each.blocks.contains(next))
        };
        let around = loops.iter().filter(|each| each.blocks.contains(&self.block));
        around.filter(|each| holds(each, load)).any(|each| self.loads.len() == 1 || leaves(each))
    }
}

/// The branches of a function that depend on `loads`.
fn find_decisions(code: &[Inst], blocks: &[Block], start: usize, loads: &[usize]) -> Vec<Decision> {
    let derived = derived_from(code, is_volatile_load);
    let mut decisions = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        if !is_branch(&code[block.end - 1 - start].op) {
            continue;
        }
        let read = code[block.end - 1 - start].registers(Role::Read);
        let by: HashSet<Register> = read.into_iter().collect();
        if by.is_disjoint(&derived) {
            continue;
        }
        let leading = leading_to(code, by);
        let leads = |load: &usize| {
            let written = code[load - start].registers(Role::Write);
            written.iter().any(|register| leading.contains(register))
        };
        let loads = loads.iter().copied().filter(leads).collect();
        decisions.push(Decision { block: at, loads });
    }
    decisions
}

/// Whether an operation decides how lanes go on.
fn is_branch(op: &Op) -> bool {
    let is_control = matches!(
        op,
        Op::Control(ControlOp::BranchIndexed { .. } | ControlOp::Return | ControlOp::Exit)
    );
    matches!(op, Op::Branch { .. }) || is_control
}

/// The registers with values that lead to an operation of this kind.
fn leading_to_any(code: &[Inst], is_end: impl Fn(&Op) -> bool) -> HashSet<Register> {
    let ends = code.iter().filter(|inst| is_end(&inst.op));
    let read = ends.flat_map(|inst| inst.registers(Role::Read)).collect();
    leading_to(code, read)
}

/// Whether an operation takes values out of registers.
fn takes_data(op: &Op) -> bool {
    match op {
        Op::Load { .. }
        | Op::Store { .. }
        | Op::Atomic(_)
        | Op::AtomicVector(_)
        | Op::Transfer(_)
        | Op::Mbarrier(_)
        | Op::Fragment(_) => true,
        Op::Control(op) => matches!(
            op,
            ControlOp::CallIndirect { .. }
                | ControlOp::Alloca { .. }
                | ControlOp::StackRestore { .. }
        ),
        Op::Arith(_)
        | Op::Integer(_)
        | Op::Float(_)
        | Op::Move(_)
        | Op::Mma(_)
        | Op::Exchange(_)
        | Op::Barrier(_)
        | Op::Branch { .. }
        | Op::Fence { .. }
        | Op::Sleep
        | Op::Nop => false,
    }
}

/// Whether an operation carries values to where they are not followed.
fn loses_track(op: &Op, has_local: bool) -> bool {
    match op {
        Op::Move(MoveOp::WriteWords { .. }) => true,
        Op::Store { address, .. } => {
            address.space == Space::Local || (address.space == Space::Generic && has_local)
        }
        _ => false,
    }
}
