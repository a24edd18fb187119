//! The barrier of a grid in a launch that is not cooperative.
//!
//! The barrier lies in a workspace that only a cooperative launch has. Cooperative groups test its
//! address and trap if there is none. Input: a program and a trap in it. Output: whether the trap
//! follows that test.

use crate::lower::inst::{File, Guard, Inst, Op, Role, Slot};
use crate::lower::program::{Const32, Program, Special};
use std::collections::HashSet;

/// The words for such a trap.
pub const NOT_COOPERATIVE: &str = "the kernel synchronises its grid (grid.sync() of cooperative \
    groups), but was not launched cooperatively: set `cooperative = true`, or launch it by \
    cuLaunchCooperativeKernel";

/// Whether the trap at `pc` is executed depending on the workspace's address.
pub fn tests_workspace(program: &Program, pc: u32) -> bool {
    let known = derived(program);
    let depends = |inst: &Inst| match inst.guard {
        Guard::If(slot) | Guard::Unless(slot) => known.contains(&(File::Pred, slot)),
        Guard::Always => false,
    };
    let leads = |(at, inst): (usize, &Inst)| match inst.op {
        Op::Branch { target, .. } => depends(inst) && (target == pc || at as u32 + 1 == pc),
        _ => false,
    };
    let code = &program.code;
    code.get(pc as usize).is_some_and(depends) || code.iter().enumerate().any(leads)
}

/// The registers that arithmetic derives from the workspace's address.
fn derived(program: &Program) -> HashSet<(File, Slot)> {
    let is_half = |what: &Const32| {
        matches!(what, Const32::Special(Special::GridWorkspaceHigh | Special::GridWorkspaceLow))
    };
    let halves = (0..).zip(&program.const32).filter(|(_, what)| is_half(what));
    let mut known: HashSet<_> = halves.map(|(at, _)| (File::R32, Slot(at))).collect();
    let mut before = 0;
    while known.len() > before {
        before = known.len();
        for inst in program.code.iter().filter(|inst| is_arithmetic(inst)) {
            if inst.op.registers(Role::Read).iter().any(|register| known.contains(register)) {
                known.extend(inst.op.registers(Role::Write));
            }
        }
    }
    known
}

fn is_arithmetic(inst: &Inst) -> bool {
    matches!(inst.op, Op::Arith(_) | Op::Integer(_) | Op::Float(_) | Op::Move(_))
}
