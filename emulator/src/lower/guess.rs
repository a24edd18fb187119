//! Loads whose value a compare-and-swap checks: `old = *p; do … while (cas(p, old, new) != old)`.
//!
//! Input: a function's instructions. Output: the loads from the place of a compare-and-swap that
//! lead to the value which it compares, marked. If another thread updates the place in between, the
//! swap fails and the loop goes on, as in the example of the CUDA C++ Programming Guide. So they do
//! not race with atomics.

use super::inst::{Address, Atomic, AtomicOp, File, Inst, Op, Role, Scalar};
use super::yields::{Register, each_register};
use std::collections::HashSet;

/// Marks the guesses of `code[start..]`, a whole function.
pub fn mark_guesses(code: &mut [Inst], start: usize) {
    let code = &mut code[start..];
    let swaps: Vec<Atomic> = code.iter().filter_map(compare_and_swap).collect();
    if swaps.is_empty() {
        return;
    }
    let compared = find_compared(code, &swaps);
    for inst in code {
        let leads = registers(inst, Role::Write).iter().any(|written| compared.contains(written));
        if let Op::Load { element, address, .. } = &mut inst.op {
            let is_there = |swap: &Atomic| {
                bytes(swap.ty) == element.total() && place(swap.address) == place(*address)
            };
            element.guess = leads && swaps.iter().any(is_there);
        }
    }
}

fn compare_and_swap(inst: &Inst) -> Option<Atomic> {
    match inst.op {
        Op::Atomic(atomic) if atomic.op == AtomicOp::CompareSwap => Some(atomic),
        _ => None,
    }
}

fn bytes(ty: Scalar) -> u32 {
    match ty {
        Scalar::U16 => 2,
        ty if ty.is_wide() => 8,
        _ => 4,
    }
}

fn place(address: Address) -> (u16, bool, i32) {
    (address.base.0, address.wide, address.offset)
}

/// The registers that lead to what `swaps` compare.
fn find_compared(code: &mut [Inst], swaps: &[Atomic]) -> HashSet<Register> {
    let operand = |swap: &Atomic| (File::by_width(swap.ty.is_wide()) as u8, swap.b.0);
    let mut found: HashSet<Register> = swaps.iter().map(operand).collect();
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

/// The registers that an instruction reads or writes.
fn registers(inst: &mut Inst, wanted: Role) -> Vec<Register> {
    let mut found = Vec::new();
    each_register(inst, &mut |file, role, register| {
        if role == wanted {
            found.push((file as u8, register.0));
        }
    });
    found
}
