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
use super::inst::{File, Inst, MbarrierOp, Op, Pause, Role, Slot, Space};
use std::collections::{BTreeMap, HashSet};

/// A register.
pub type Register = (u8, u16);

/// A loop.
struct Loop {
    blocks: HashSet<usize>,
    head: usize,
    /// Several blocks lead back to its head, and each of them closes a smaller loop.
    is_whole: bool,
}

impl Loop {
    /// Whether the exit of the loop depends on the awaited access, so that lanes leave one by one.
    fn is_left_by(&self, awaited: &WaitedRegisters, code: &[Inst], blocks: &[Block]) -> bool {
        self.blocks.iter().map(|&at| &blocks[at]).any(|block| {
            let leaves = block.leaves || block.successors.iter().any(|n| !self.blocks.contains(n));
            leaves && awaited.decide(&code[block.end - 1])
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
    let awaited = WaitedRegisters::new(code, start);
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
            element.strong
                && matches!(address.space, Space::Global | Space::Shared | Space::Generic)
        }
        Op::Atomic(_) | Op::AtomicVector(_) => true,
        Op::Mbarrier(barrier) => matches!(barrier.op, MbarrierOp::Test { .. }),
        _ => false,
    }
}

/// The natural loops of a function, one for each edge back to a head; for a head with several
/// edges also their union.
fn find_loops(flow: &Flow) -> Vec<Loop> {
    let mut tails: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, nexts) in flow.successors.iter().enumerate() {
        for &head in nexts.iter().filter(|&&head| flow.dominates(head, at)) {
            tails.entry(head).or_default().push(at);
        }
    }
    let mut loops = Vec::new();
    for (head, tails) in tails {
        let close = |tails: &[usize], is_whole| Loop {
            blocks: blocks_between(flow, head, tails),
            head,
            is_whole,
        };
        loops.extend(tails.iter().map(|&tail| close(&[tail], false)));
        if tails.len() > 1 {
            loops.push(close(&tails, true));
        }
    }
    loops
}

/// The blocks on the ways from a head to blocks that it dominates, all included.
fn blocks_between(flow: &Flow, head: usize, tails: &[usize]) -> HashSet<usize> {
    let mut inside = HashSet::from([head]);
    let mut waiting = tails.to_vec();
    while let Some(next) = waiting.pop() {
        if inside.insert(next) {
            waiting.extend(&flow.predecessors[next]);
        }
    }
    inside
}

/// The registers of a function that depend on an access through which lanes may wait.
struct WaitedRegisters {
    registers: HashSet<Register>,
}

impl WaitedRegisters {
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

/// Shows every register of an instruction.
pub fn each_register(inst: &mut Inst, see: &mut impl FnMut(File, Role, Slot)) {
    inst.slots(&mut |file: File, role: Role, slot: &mut Slot, count: u16| {
        for next in 0..count {
            see(file, role, Slot(slot.0 + next));
        }
    });
}
