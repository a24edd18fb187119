//! Yield points: where lanes let other lanes of their warp run.
//!
//! Input: a function's instructions. Output: those after which a lane yields, marked. ptxas places
//! one YIELD in a loop that holds an access through which lanes may wait for each other, and has a
//! lane-dependent exit which depends on such an access, in the loop or before it: a volatile,
//! relaxed or acquire load, or an atomic. A loop that only counts, or that leaves by what plain
//! loads found, has none (ptxas 13.0 for `sm_90`). The lanes of a loop with a yield point do not
//! wait for each other at its end while some of them stay inside.

use super::blocks::{Block, Flow, split};
use super::inst::{File, Inst, MbarrierOp, Op, Role, Slot, Space};
use std::collections::{BTreeMap, HashSet};

/// A register.
type Register = (u8, u16);

/// A loop: its blocks.
struct Loop {
    blocks: HashSet<usize>,
}

impl Loop {
    /// Whether lanes leave the loop by what they waited for, so each in its own round.
    fn is_left_by(&self, awaited: &Awaited, code: &[Inst], blocks: &[Block]) -> bool {
        self.blocks.iter().map(|&at| &blocks[at]).any(|block| {
            let leaves = block.leaves || block.successors.iter().any(|n| !self.blocks.contains(n));
            leaves && awaited.decide(&code[block.end - 1])
        })
    }
}

/// Marks the yield points of `code[start..]`, a whole function.
pub fn mark_yield_points(code: &mut [Inst], start: usize, tables: &[Vec<u32>]) {
    let waits = |inst: &Inst| may_wait(&inst.op);
    if !code[start..].iter().any(waits) {
        return;
    }
    let blocks = split(code, start, tables);
    let flow = Flow::new(&blocks);
    let mut loops = find_loops(&flow);
    if loops.is_empty() {
        return;
    }
    let awaited = Awaited::new(code, start);
    loops.retain(|each| each.is_left_by(&awaited, code, &blocks));
    // The innermost first, so that an access yields once.
    loops.sort_by_key(|each| each.blocks.len());
    let mut taken = HashSet::new();
    for each in loops {
        let inside = (0..blocks.len()).filter(|at| each.blocks.contains(at));
        let accesses: Vec<usize> = inside
            .flat_map(|at| blocks[at].start..blocks[at].end)
            .filter(|at| may_wait(&code[*at].op) && !taken.contains(at))
            .collect();
        let Some(&first) = accesses.first() else { continue };
        taken.extend(accesses);
        code[first].yields = true;
    }
}

/// Whether a lane may wait for another by repeating an operation.
fn may_wait(op: &Op) -> bool {
    match op {
        Op::Load { element, address, .. } => {
            element.strong
                && matches!(address.space, Space::Global | Space::Shared | Space::Generic)
        }
        Op::Atomic(_) | Op::AtomicVector(_) => true,
        Op::Mbarrier(barrier) => matches!(barrier.op, MbarrierOp::Test { .. }),
        _ => false,
    }
}

/// The natural loops of a function; those with one head are one loop.
fn find_loops(flow: &Flow) -> Vec<Loop> {
    let mut loops: BTreeMap<usize, HashSet<usize>> = BTreeMap::new();
    for (at, nexts) in flow.successors.iter().enumerate() {
        for &head in nexts.iter().filter(|&&head| flow.dominates(head, at)) {
            let inside = loops.entry(head).or_default();
            inside.insert(head);
            let mut waiting = vec![at];
            while let Some(next) = waiting.pop() {
                if inside.insert(next) {
                    waiting.extend(&flow.predecessors[next]);
                }
            }
        }
    }
    loops.into_values().map(|blocks| Loop { blocks }).collect()
}

/// The registers of a function that depend on an access through which lanes may wait.
struct Awaited {
    registers: HashSet<Register>,
}

impl Awaited {
    fn new(code: &mut [Inst], start: usize) -> Self {
        let mut this = Self { registers: HashSet::new() };
        loop {
            let before = this.registers.len();
            code[start..].iter_mut().for_each(|inst| this.follow(inst));
            if this.registers.len() == before {
                return this;
            }
        }
    }

    fn follow(&mut self, inst: &mut Inst) {
        let mut dependent = may_wait(&inst.op);
        each_register(inst, &mut |file, role, register| {
            dependent |= role == Role::Read && self.registers.contains(&(file as u8, register.0));
        });
        each_register(inst, &mut |file, role, register| {
            if role == Role::Write && dependent {
                self.registers.insert((file as u8, register.0));
            }
        });
    }

    /// Whether a branch goes by one of them.
    fn decide(&self, branch: &Inst) -> bool {
        let mut found = false;
        let mut branch = *branch;
        each_register(&mut branch, &mut |file, role, register| {
            found |= role == Role::Read && self.registers.contains(&(file as u8, register.0));
        });
        found
    }
}

fn each_register(inst: &mut Inst, see: &mut impl FnMut(File, Role, Slot)) {
    inst.slots(&mut |file: File, role: Role, slot: &mut Slot, count: u16| {
        for next in 0..count {
            see(file, role, Slot(slot.0 + next));
        }
    });
}
