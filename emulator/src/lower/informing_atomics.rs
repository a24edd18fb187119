//! Atomics that may inform: a thread may decide something by the old value, such as that its block
//! is the last. Accesses of other blocks before the atomic are then ordered before its next ones.
//!
//! Input: all code of a kernel. Output: the same with those atomics marked. A value decides if it
//! leads to a guard, an address, a barrier or a call, also through memory: a load may get all that
//! was stored in its space, and an atomic all that atomics and strong stores put there. A value
//! that a kernel only stores or adds up does not decide.

use super::inst::{
    Address, Atomic, AtomicVector, ControlOp, File, Inst, MoveOp, Op, Register, Role, Space,
};
use std::collections::HashSet;

/// Memory through which values lead to decisions, a bit each.
type Memory = u8;

/// Values of plain stores to global memory.
const PLAIN: Memory = 1;
/// Values of atomics and strong stores there.
const STRONG: Memory = 2;
const SHARED: Memory = 4;
const LOCAL: Memory = 8;

/// Marks the atomics of `code`, all that a kernel reaches, that may inform.
pub fn mark_informing(code: &mut [Inst]) {
    let is_used = |inst: &Inst| match inst.op {
        Op::Atomic(atomic) => atomic.result_used,
        Op::AtomicVector(atomic) => atomic.result_used,
        _ => false,
    };
    if !code.iter().any(is_used) {
        return;
    }
    let is_followed = code.iter().all(|inst| !moves_unseen(&inst.op));
    let deciding = if is_followed { find_deciding(code) } else { HashSet::new() };
    for inst in code {
        let written = inst.registers(Role::Write);
        let decides = !is_followed || written.iter().any(|register| deciding.contains(register));
        match &mut inst.op {
            Op::Atomic(atomic) => atomic.informs = atomic.result_used && decides,
            Op::AtomicVector(atomic) => atomic.informs = atomic.result_used && decides,
            _ => {}
        }
    }
}

/// The registers with values that may decide something.
fn find_deciding(code: &[Inst]) -> HashSet<Register> {
    let (mut found, mut memory) = (HashSet::new(), 0);
    for inst in code.iter() {
        found.extend(read_to_decide(inst));
    }
    loop {
        let before = (found.len(), memory);
        for inst in code.iter().rev() {
            let (from, to) = accessed(&inst.op);
            if inst.registers(Role::Write).iter().any(|register| found.contains(register)) {
                memory |= from;
                if from == 0 {
                    found.extend(inst.registers(Role::Read));
                }
            }
            if memory & to != 0 {
                found.extend(inst.registers(Role::Read));
            }
        }
        if (found.len(), memory) == before {
            return found;
        }
    }
}

/// The registers by which an instruction decides: those of its guard and of its address, and all
/// that it reads if it does more than to compute or to store.
fn read_to_decide(inst: &Inst) -> Vec<Register> {
    let mut found = Inst::new(inst.guard, Op::Nop).registers(Role::Read);
    match inst.op {
        Op::Load { address, .. }
        | Op::Store { address, .. }
        | Op::Atomic(Atomic { address, .. })
        | Op::AtomicVector(AtomicVector { address, .. }) => {
            found.push((File::by_width(address.wide), address.base));
        }
        Op::Move(MoveOp::WriteWords { .. })
        | Op::Transfer(_)
        | Op::Fragment(_)
        | Op::Mbarrier(_)
        | Op::Barrier(_)
        | Op::Control(_) => found.extend(inst.registers(Role::Read)),
        Op::Arith(_)
        | Op::Integer(_)
        | Op::Float(_)
        | Op::Move(_)
        | Op::Mma(_)
        | Op::Exchange(_)
        | Op::Branch { .. }
        | Op::Fence { .. }
        | Op::Sleep
        | Op::Nop => {}
    }
    found
}

/// The memory that an operation takes values from, and that it puts them into.
fn accessed(op: &Op) -> (Memory, Memory) {
    match op {
        Op::Load { address, .. } => (reached(*address, PLAIN | STRONG), 0),
        Op::Store { address, element, .. } => {
            (0, reached(*address, if element.is_strong() { STRONG } else { PLAIN }))
        }
        Op::Atomic(Atomic { address, .. }) | Op::AtomicVector(AtomicVector { address, .. }) => {
            (reached(*address, STRONG), reached(*address, STRONG))
        }
        _ => (0, 0),
    }
}

/// The memory at an address, if this is that in global memory.
fn reached(address: Address, global: Memory) -> Memory {
    match address.space {
        Space::Generic => global | SHARED | LOCAL,
        Space::Global => global,
        Space::Shared => SHARED,
        Space::Local => LOCAL,
        Space::Const | Space::Param => 0,
    }
}

/// Whether an operation moves values in a way that is not followed.
fn moves_unseen(op: &Op) -> bool {
    match op {
        Op::Transfer(_) | Op::Fragment(_) => true,
        Op::Control(op) => matches!(
            op,
            ControlOp::Call { .. }
                | ControlOp::CallWithFrame { .. }
                | ControlOp::CallIndirect { .. }
        ),
        _ => false,
    }
}
