//! The registers that instructions read and write, and the sources of their values.

use super::inst::{File, Inst, Op, Role, Slot};
use std::collections::HashSet;

/// A register.
pub type Register = (u8, u16);

/// Shows every register of an instruction.
fn each_register(inst: &mut Inst, see: &mut impl FnMut(File, Role, Slot)) {
    inst.slots(&mut |file: File, role: Role, slot: &mut Slot, count: u16| {
        for next in 0..count {
            see(file, role, Slot(slot.0 + next));
        }
    });
}

/// The registers that an instruction reads or writes.
pub fn registers(inst: &mut Inst, wanted: Role) -> Vec<Register> {
    let mut found = Vec::new();
    each_register(inst, &mut |file, role, register| {
        if role == wanted {
            found.push((file as u8, register.0));
        }
    });
    found
}

/// The registers with values that lead to those in `found`, not through memory.
pub fn leading_to(code: &mut [Inst], mut found: HashSet<Register>) -> HashSet<Register> {
    loop {
        let before = found.len();
        for inst in code.iter_mut().rev() {
            let is_memory = matches!(inst.op, Op::Load { .. } | Op::Atomic(_));
            let mut written = registers(inst, Role::Write).into_iter();
            if !is_memory && written.any(|register| found.contains(&register)) {
                found.extend(registers(inst, Role::Read));
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

/// The registers with values that come from an operation of this kind.
pub fn derived_from(code: &mut [Inst], is_source: impl Fn(&Op) -> bool) -> HashSet<Register> {
    let mut found = HashSet::new();
    loop {
        let before = found.len();
        for inst in code.iter_mut() {
            let mut read = registers(inst, Role::Read).into_iter();
            if is_source(&inst.op) || read.any(|register| found.contains(&register)) {
                found.extend(registers(inst, Role::Write));
            }
        }
        if found.len() == before {
            return found;
        }
    }
}
