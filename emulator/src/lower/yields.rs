//! Yield points: where lanes let other lanes of their warp run.
//!
//! Input: a function's instructions. Output: those after which a lane yields, marked. ptxas places
//! one YIELD in a loop that holds an access through which lanes may wait for each other, and has a
//! lane-dependent exit which depends on such an access, in the loop or before it: a volatile,
//! relaxed or acquire load, or an atomic. A loop that only counts, or that leaves by what plain
//! loads found, has none (ptxas 13.0 for `sm_90`). The lanes of a loop with a yield point do not
//! wait for each other at its end while some of them stay inside.

use super::blocks::{Block, Flow, split};
use super::inst::{ControlOp, File, Guard, Inst, MbarrierOp, Op, Role, Slot, Space};
use super::post_dominators::reachable;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A register.
type Register = (u8, u16);

/// A loop: its blocks.
struct Loop {
    blocks: HashSet<usize>,
}

/// Marks the yield points of `code[start..]`, a whole function. `differs` says whether lanes may
/// see different values in a slot that nothing in the function writes.
pub fn mark_yield_points(
    code: &mut [Inst],
    start: usize,
    tables: &[Vec<u32>],
    differs: &impl Fn(File, Slot) -> bool,
) {
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
    let dependent = LaneDependence::new(code, &blocks, &flow, differs);
    let awaited = Awaited::new(code, start);
    loops.retain(|each| dependent.is_exit_of(each, code, &blocks, &awaited));
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

/// The registers in which lanes of a warp may see different values.
struct LaneDependence {
    registers: HashSet<Register>,
}

impl LaneDependence {
    fn new(
        code: &mut [Inst],
        blocks: &[Block],
        flow: &Flow,
        differs: &impl Fn(File, Slot) -> bool,
    ) -> Self {
        let mut this = Self { registers: HashSet::new() };
        let definitions = count_definitions(code, blocks);
        loop {
            let before = this.registers.len();
            this.follow_values(code, blocks, differs);
            this.follow_branches(code, blocks, &flow.successors, &definitions);
            if this.registers.len() == before {
                return this;
            }
        }
    }

    /// A result depends on the lane if a source does, or what it is read from.
    fn follow_values(
        &mut self,
        code: &mut [Inst],
        blocks: &[Block],
        differs: &impl Fn(File, Slot) -> bool,
    ) {
        for inst in blocks.iter().flat_map(|block| block.start..block.end) {
            let inst = &mut code[inst];
            let mut dependent = depends_by_itself(&inst.op);
            let registers = &self.registers;
            each_register(inst, &mut |file, role, register| {
                let known = registers.contains(&(file as u8, register.0));
                dependent |= role == Role::Read && (known || differs(file, register));
            });
            if dependent {
                each_register(inst, &mut |file, role, register| {
                    if role == Role::Write {
                        self.registers.insert((file as u8, register.0));
                    }
                });
            }
        }
    }

    /// A register that is written on one side of a lane-dependent branch, and elsewhere, depends on
    /// the lane.
    fn follow_branches(
        &mut self,
        code: &mut [Inst],
        blocks: &[Block],
        edges: &[Vec<usize>],
        definitions: &HashMap<Register, u32>,
    ) {
        for at in 0..blocks.len() {
            if !self.is_branch(&code[blocks[at].end - 1]) || edges[at].len() < 2 {
                continue;
            }
            let sides: Vec<Vec<bool>> =
                edges[at].iter().map(|&next| reachable(edges, next)).collect();
            let on_some = |block: usize| sides.iter().any(|side| side[block]);
            let on_all = |block: usize| sides.iter().all(|side| side[block]);
            for block in (0..blocks.len()).filter(|&block| on_some(block) && !on_all(block)) {
                for inst in &mut code[blocks[block].start..blocks[block].end] {
                    each_register(inst, &mut |file, role, register| {
                        let register = (file as u8, register.0);
                        if role == Role::Write && definitions[&register] > 1 {
                            self.registers.insert(register);
                        }
                    });
                }
            }
        }
    }

    /// Whether lanes may disagree about the branch.
    fn is_branch(&self, inst: &Inst) -> bool {
        let by = |file: File, slot: Slot| self.registers.contains(&(file as u8, slot.0));
        match (inst.guard, inst.op) {
            (Guard::If(slot) | Guard::Unless(slot), _) => by(File::Pred, slot),
            (_, Op::Control(ControlOp::BranchIndexed { index, .. })) => by(File::R32, index),
            _ => false,
        }
    }

    /// Whether lanes may leave a loop in different rounds, by what they waited for.
    fn is_exit_of(&self, each: &Loop, code: &[Inst], blocks: &[Block], awaited: &Awaited) -> bool {
        each.blocks.iter().any(|&at| {
            let block = &blocks[at];
            let leaves = block.leaves || block.successors.iter().any(|n| !each.blocks.contains(n));
            let branch = &code[block.end - 1];
            leaves && self.is_branch(branch) && awaited.decide(branch)
        })
    }
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

/// Whether lanes get different results from equal sources.
fn depends_by_itself(op: &Op) -> bool {
    match op {
        Op::Load { element, .. } => element.strong,
        Op::Atomic(_)
        | Op::AtomicVector(_)
        | Op::Exchange(_)
        | Op::Transfer(_)
        | Op::Mbarrier(_)
        | Op::Mma(_)
        | Op::Control(_) => true,
        Op::Arith(_)
        | Op::Integer(_)
        | Op::Float(_)
        | Op::Move(_)
        | Op::Store { .. }
        | Op::Barrier(_)
        | Op::Branch { .. }
        | Op::Fence
        | Op::Sleep
        | Op::Nop => false,
    }
}

fn each_register(inst: &mut Inst, see: &mut impl FnMut(File, Role, Slot)) {
    inst.slots(&mut |file: File, role: Role, slot: &mut Slot, count: u16| {
        for next in 0..count {
            see(file, role, Slot(slot.0 + next));
        }
    });
}

fn count_definitions(code: &mut [Inst], blocks: &[Block]) -> HashMap<Register, u32> {
    let mut definitions = HashMap::new();
    for at in blocks.iter().flat_map(|block| block.start..block.end) {
        each_register(&mut code[at], &mut |file, role, register| {
            if role == Role::Write {
                *definitions.entry((file as u8, register.0)).or_insert(0) += 1;
            }
        });
    }
    definitions
}
