//! The instructions of a replay: their costs, registers and accesses.

use super::cost::{self, Cost};
use crate::lower::Program;
use crate::lower::inst::{
    BarrierKind, ControlOp, File, Guard, Inst, Op, Role, Sharing, Slot, Space, TransferOp,
};
use std::ops::Range;

/// The effect of an instruction, as far as others wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing.
    Arithmetic,
    /// It loads; `cached`: L1 may have the data.
    Load { cached: bool },
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
    /// It may go to `target`.
    Branch { target: u32 },
    /// It waits for its own accesses.
    Fence,
}

/// An instruction.
#[derive(Debug, Clone)]
pub struct Instruction {
    /// Its cost.
    pub cost: Cost,
    /// Its effect.
    pub kind: Kind,
    /// The registers that it reads.
    sources: Range<u32>,
    /// The registers that it writes.
    results: Range<u32>,
}

/// The instructions of a program.
#[derive(Debug)]
pub struct Code {
    /// By program counter.
    pub instructions: Vec<Instruction>,
    /// Registers of a warp.
    pub registers: usize,
    slots: Vec<u32>,
}

impl Code {
    /// Those of `program`.
    pub fn new(program: &Program) -> Self {
        let first = [0, program.predicates, program.predicates + program.registers32];
        let mut code = Self {
            instructions: Vec::with_capacity(program.code.len()),
            registers: first[2] + program.registers64,
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
                cost: cost::of(inst),
                kind: kind(&inst.op),
                sources: start..middle,
                results: middle..end,
            });
        }
        code
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
    let (mut sources, mut results) = (Vec::new(), Vec::new());
    let mut see = |file: File, role: Role, slot: &mut Slot, count: u16| {
        if slot.0 & Slot::PRIVATE == 0 {
            return;
        }
        let base = first[match file {
            File::Pred => 0,
            File::R32 => 1,
            File::R64 => 2,
        }];
        for at in 0..usize::from(count) {
            let register = base + slot.index(0) + at;
            if register < all {
                match role {
                    Role::Read => sources.push(register as u32),
                    Role::Write => results.push(register as u32),
                }
            }
        }
    };
    let mut inst = *inst;
    inst.slots(&mut see);
    if inst.guard != Guard::Always {
        sources.extend_from_slice(&results);
    }
    (sources, results)
}

fn kind(op: &Op) -> Kind {
    match op {
        Op::Load { address, .. } if matches!(address.space, Space::Param | Space::Const) => {
            Kind::Arithmetic
        }
        Op::Load { element, .. } => {
            let cached = matches!(element.sharing, Sharing::Plain | Sharing::Guess);
            Kind::Load { cached }
        }
        Op::Store { .. } => Kind::Store,
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
        Op::Branch { target, .. } => Kind::Branch { target: *target },
        Op::Fence { .. } => Kind::Fence,
        Op::Control(ControlOp::BranchIndexed { .. }) => Kind::Branch { target: u32::MAX },
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
