//! The registers that instructions read and write, and the sources of their values.

use super::inst::{Inst, Op, Register, Role};
use std::collections::HashSet;

/// The registers with values that lead to those in `found`, not through memory.
pub fn leading_to(code: &[Inst], mut found: HashSet<Register>) -> HashSet<Register> {
    loop {
        let before = found.len();
        for inst in code.iter().rev() {
            let is_memory = matches!(inst.op, Op::Load { .. } | Op::Atomic(_));
            let mut written = inst.registers(Role::Write).into_iter();
            if !is_memory && written.any(|register| found.contains(&register)) {
                found.extend(inst.registers(Role::Read));
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

/// The registers with values that come from an operation of this kind.
pub fn derived_from(code: &[Inst], is_source: impl Fn(&Op) -> bool) -> HashSet<Register> {
    let mut found = HashSet::new();
    loop {
        let before = found.len();
        for inst in code.iter() {
            let mut read = inst.registers(Role::Read).into_iter();
            if is_source(&inst.op) || read.any(|register| found.contains(&register)) {
                found.extend(inst.registers(Role::Write));
            }
        }
        if found.len() == before {
            return found;
        }
    }
}
