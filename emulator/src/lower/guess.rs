//! Loads whose value a compare-and-swap checks: `old = *p; do … while (cas(p, old, new) != old)`.
//!
//! Input: a function's instructions. Output: the loads from the place of a compare-and-swap that
//! lead to the value which it compares, marked. If another thread updates the place in between, the
//! swap fails and the loop goes on, as in the example of the CUDA C++ Programming Guide. So they do
//! not race with atomics.

use super::inst::{Address, Atomic, AtomicOp, File, Inst, Op, Role, Scalar, Sharing};
use super::registers::leading_to;

/// Marks the guesses of `code[start..]`, a whole function.
pub fn mark_guesses(code: &mut [Inst], start: usize) {
    let code = &mut code[start..];
    let swaps: Vec<Atomic> = code.iter().filter_map(compare_and_swap).collect();
    if swaps.is_empty() {
        return;
    }
    let operand = |swap: &Atomic| (File::by_width(swap.ty.is_wide()), swap.b);
    let compared = leading_to(code, swaps.iter().map(operand).collect());
    for inst in code {
        let leads = inst.registers(Role::Write).iter().any(|written| compared.contains(written));
        if let Op::Load { element, address, .. } = &mut inst.op {
            let is_there = |swap: &Atomic| {
                bytes(swap.ty) == element.total() && place(swap.address) == place(*address)
            };
            if element.sharing == Sharing::Plain && leads && swaps.iter().any(is_there) {
                element.sharing = Sharing::Guess;
            }
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
