//! The instructions of a replay: their costs, registers and accesses.

use super::cost;
use super::pipes::Cost;
use super::rates::Units;
use super::ticks::TICK;
use crate::lower::Program;
use crate::lower::inst::{
    Atomic, AtomicOp, BarrierKind, ControlOp, Element, Guard, Inst, Op, Role, Scalar, Sharing,
    Slot, Space, TransferOp,
};
use std::ops::Range;

/// Instructions of a loop that is unrolled at most.
const SHORT: usize = 48;

/// ptxas unrolls loops so often, where it does.
const UNROLLED: u32 = 4;

/// The effect of an instruction, as far as others wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing.
    Arithmetic,
    /// It loads; `cached`: L1 may have the data.
    Load { cached: bool },
    /// It loads from constant memory.
    Constant,
    /// It stores.
    Store,
    /// It is atomic; `returns`: and returns the old value.
    Atomic { returns: bool },
    /// It copies to shared memory, and does not wait for it.
    Copy,
    /// It waits for copies.
    WaitForCopies,
    /// It waits for the block; `continues`: it only arrives.
    Barrier { continues: bool },
    /// It may go elsewhere; `unrolled`: it ends the iterations of a loop, of which so many are one
    /// in machine code.
    Branch { unrolled: u32 },
    /// It waits for its own accesses.
    Fence,
    /// An atomic of shared memory that is a loop in machine code.
    Retry,
}

/// An instruction.
#[derive(Debug, Clone)]
pub struct Instruction {
    /// Its cost.
    pub cost: Cost,
    /// Its effect.
    pub kind: Kind,
    /// It loads data that other blocks may store, in a loop that stores nothing.
    pub polls: bool,
    /// It stores data that other blocks may load.
    pub tells: bool,
    /// The register of its address, if it changes global memory, or loads values that may be
    /// changed.
    pub base: Option<u16>,
    /// The registers that it reads.
    sources: Range<u32>,
    /// The registers that it writes.
    results: Range<u32>,
}

/// The instructions of a program.
#[derive(Debug, Clone)]
pub struct Code {
    /// By program counter.
    pub instructions: Vec<Instruction>,
    /// Registers of a warp.
    pub registers: usize,
    /// The part of all accesses of shared memory that are left in machine code.
    pub shared_accesses: f64,
    /// Whether ptxas merges the atomics of a warp whose lanes all update one address.
    pub merges_updates: bool,
    slots: Vec<u32>,
}

impl Code {
    /// The instructions of `program`, with their costs on `units`.
    pub fn new(program: &Program, units: &Units) -> Self {
        let first = [0, program.predicates, program.predicates + program.registers32];
        let mut code = Self {
            instructions: Vec::with_capacity(program.code.len()),
            registers: first[2] + program.registers64,
            shared_accesses: 1.0,
            merges_updates: true,
            slots: Vec::new(),
        };
        for inst in &program.code {
            let (sources, results) = registers(inst, first, code.registers);
            let start = code.slots.len() as u32;
            code.slots.extend(sources);
            let middle = code.slots.len() as u32;
            code.slots.extend(results);
            let end = code.slots.len() as u32;
            code.instructions.push(Instruction {
                cost: cost::instruction_cost(inst, units),
                kind: kind(&inst.op),
                polls: false,
                tells: matches!(inst.op, Op::Store { element, .. } if is_shared(element)),
                base: base(&inst.op),
                sources: start..middle,
                results: middle..end,
            });
        }
        for (pc, inst) in program.code.iter().enumerate() {
            if let Op::Branch { target, .. } = inst.op {
                let unrolled = if code.unrolls(target as usize, pc) { UNROLLED } else { 1 };
                code.instructions[pc].kind = Kind::Branch { unrolled };
                code.mark_polls(target as usize, pc);
            }
        }
        code
    }

    /// Marks the polls in the loop from `first` to `last`, if it is one.
    fn mark_polls(&mut self, first: usize, last: usize) {
        let Some(body) = self.instructions.get_mut(first..=last) else { return };
        if body.iter().all(|of| !matches!(of.kind, Kind::Store | Kind::Atomic { .. })) {
            body.iter_mut().for_each(|of| of.polls |= of.kind == Kind::Load { cached: false });
        }
    }

    /// Clocks of the longest fence.
    pub fn longest_fence(&self) -> f64 {
        let fences = self.instructions.iter().filter(|of| of.kind == Kind::Fence);
        fences.map(|of| f64::from(of.cost.latency) / TICK as f64).fold(0.0, f64::max)
    }

    /// Whether ptxas unrolls the loop from `first` to the branch `last`: one of few instructions,
    /// without other branches, that ends by a count with a constant step. A loop with another step
    /// has no known number of iterations, so that no load may run ahead of its test.
    fn unrolls(&self, first: usize, last: usize) -> bool {
        let Some(body) = self.instructions.get(first..last) else { return false };
        let is_plain =
            body.iter().all(|of| !matches!(of.kind, Kind::Branch { .. } | Kind::Barrier { .. }));
        let writer =
            |register: &u32| body.iter().rev().find(|of| self.results(of).contains(register));
        let counts =
            |register: &u32| writer(register).is_some_and(|add| self.sources(add) == [*register]);
        let test = self.sources(&self.instructions[last]).iter().find_map(writer);
        is_plain
            && body.len() < SHORT
            && test.is_some_and(|test| self.sources(test).iter().any(counts))
    }

    /// The registers that an instruction reads.
    pub fn sources(&self, of: &Instruction) -> &[u32] {
        &self.slots[of.sources.start as usize..of.sources.end as usize]
    }

    /// The registers that an instruction writes.
    pub fn results(&self, of: &Instruction) -> &[u32] {
        &self.slots[of.results.start as usize..of.results.end as usize]
    }
}

/// The registers of a warp that an instruction reads and writes. A guarded result depends on its
/// earlier value, so it is read too.
fn registers(inst: &Inst, first: [usize; 3], all: usize) -> (Vec<u32>, Vec<u32>) {
    let numbers = |role| -> Vec<u32> {
        let private = inst.registers(role).into_iter();
        let private = private.filter(|(_, slot)| slot.0 & Slot::PRIVATE != 0);
        let numbers = private.map(|(file, slot)| first[file as usize] + slot.index(0));
        numbers.filter(|number| *number < all).map(|number| number as u32).collect()
    };
    let (mut sources, results) = (numbers(Role::Read), numbers(Role::Write));
    if inst.guard != Guard::Always {
        sources.extend_from_slice(&results);
    }
    (sources, results)
}

/// The register of the address of an instruction that changes global memory, or loads values from
/// there that may be changed: ptxas moves no such load before a store by another address.
fn base(op: &Op) -> Option<u16> {
    let address = match op {
        Op::Load { element, address, .. } if !element.read_only => address,
        Op::Store { address, .. } => address,
        Op::Atomic(atomic) => &atomic.address,
        _ => return None,
    };
    matches!(address.space, Space::Global | Space::Generic).then_some(address.base.0)
}

/// Whether other blocks may access it at the same time.
fn is_shared(element: Element) -> bool {
    !matches!(element.sharing, Sharing::Plain | Sharing::Guess)
}

fn kind(op: &Op) -> Kind {
    match op {
        Op::Load { address, .. } if address.space == Space::Param => Kind::Arithmetic,
        Op::Load { address, .. } if address.space == Space::Const => Kind::Constant,
        Op::Load { element, .. } => Kind::Load { cached: !is_shared(*element) },
        Op::Store { .. } => Kind::Store,
        Op::Atomic(atomic) if is_retried(atomic) => Kind::Retry,
        Op::Atomic(atomic) => Kind::Atomic { returns: atomic.result_used },
        Op::AtomicVector(atomic) => Kind::Atomic { returns: atomic.result_used },
        Op::Transfer(TransferOp::Copy(_)) => Kind::Copy,
        Op::Transfer(TransferOp::Wait { .. } | TransferOp::WaitAll) => Kind::WaitForCopies,
        Op::Transfer(TransferOp::Matrix(rows)) if rows.stores => Kind::Store,
        Op::Transfer(TransferOp::Matrix(_)) => Kind::Load { cached: true },
        Op::Fragment(moved) if moved.stores => Kind::Store,
        Op::Fragment(_) => Kind::Load { cached: true },
        Op::Mbarrier(_) => Kind::Atomic { returns: true },
        Op::Barrier(barrier) => Kind::Barrier { continues: barrier.kind == BarrierKind::Arrive },
        Op::Branch { .. } => Kind::Branch { unrolled: 1 },
        Op::Fence { .. } => Kind::Fence,
        Op::Control(ControlOp::BranchIndexed { .. }) => Kind::Branch { unrolled: 1 },
        Op::Transfer(
            TransferOp::Commit | TransferOp::Arrive { .. } | TransferOp::Transpose { .. },
        )
        | Op::Arith(_)
        | Op::Integer(_)
        | Op::Float(_)
        | Op::Move(_)
        | Op::Mma(_)
        | Op::Exchange(_)
        | Op::Control(_)
        | Op::Sleep
        | Op::Nop => Kind::Arithmetic,
    }
}

/// Whether it sums floats in shared memory, for which ptxas makes a loop of compare-and-swap.
fn is_retried(atomic: &Atomic) -> bool {
    let sums_integers = matches!(atomic.ty, Scalar::U32 | Scalar::S32 | Scalar::U64 | Scalar::S64);
    atomic.address.space == Space::Shared && atomic.op == AtomicOp::Add && !sums_integers
}
