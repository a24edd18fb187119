//! Instructions that depend on the order of atomics, which differs from launch to launch on a GPU.
//!
//! Input: a program. Output: the accesses with an address that depends on the old value of an
//! atomic, and whether a branch or a guard depends on one.

use crate::lower::inst::{Address, File, Guard, Inst, Op, Register, Role, TransferOp};
use crate::lower::program::Program;
use std::collections::HashSet;

/// The instructions that depend on the order of atomics.
#[derive(Default)]
pub struct OrderDependence {
    /// Accesses by instruction.
    pub accesses: Vec<usize>,
    /// A branch or a guarded instruction.
    pub branch: Option<usize>,
}

/// Finds it in a program.
pub fn ordered(program: &Program) -> OrderDependence {
    let mut registers: HashSet<Register> = HashSet::new();
    loop {
        let before = registers.len();
        for inst in &program.code {
            follow(inst, &mut registers);
        }
        for (from, to) in program.copies.iter().flatten() {
            if registers.contains(&(File::R32, *from)) {
                registers.insert((File::R32, *to));
            }
        }
        if registers.len() == before {
            break;
        }
    }
    let mut found = OrderDependence::default();
    if registers.is_empty() {
        return found;
    }
    for (pc, inst) in program.code.iter().enumerate() {
        if let Guard::If(slot) | Guard::Unless(slot) = inst.guard
            && registers.contains(&(File::Pred, slot))
        {
            found.branch.get_or_insert(pc);
        }
        let depends =
            |address: &Address| registers.contains(&(File::by_width(address.wide), address.base));
        if addresses(&inst.op).iter().any(depends) {
            found.accesses.push(pc);
        }
    }
    found
}

/// A result depends on the order if a source does, or if it is an atomic's old value.
fn follow(inst: &Inst, registers: &mut HashSet<Register>) {
    let is_old = matches!(&inst.op, Op::Atomic(atomic) if atomic.result_used);
    if is_old || inst.registers(Role::Read).iter().any(|read| registers.contains(read)) {
        registers.extend(inst.registers(Role::Write));
    }
}

fn addresses(op: &Op) -> Vec<Address> {
    match *op {
        Op::Load { address, .. } | Op::Store { address, .. } => vec![address],
        Op::Atomic(ref atomic) => vec![atomic.address],
        Op::Transfer(TransferOp::Copy(ref copy)) => vec![copy.from],
        _ => Vec::new(),
    }
}
