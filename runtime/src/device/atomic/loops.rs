//! Updates that are loops around compare-and-swap: the hardware has no instruction for them.

use super::instructions::{Order, compare_u16, load_u16};
#[cfg(not(gpuprof_bf16_atomics))]
use super::instructions::{compare_u32, load_u32};
use super::scope::{Memory, Scope};
#[cfg(not(gpuprof_bf16_atomics))]
use crate::device::half::{bf16, bf16x2};

macro_rules! loops {
    ($($(#[$attribute:meta])* $name:ident: $t:ident by $load:ident, $compare:ident as $change:expr;)*)
    => {$(
        $(#[$attribute])*
        #[inline(always)]
        pub(super) unsafe fn $name<S: Scope, M: Memory>(
            at: M::Address,
            value: $t,
            order: Order,
        ) -> $t {
            // SAFETY: the caller keeps the contract.
            let mut old = unsafe { $load::<S, M>(at, Order::Relaxed) };
            loop {
                // SAFETY: the caller keeps the contract.
                let found = unsafe { $compare::<S, M>(at, old, $change(old, value), order) };
                if found == old {
                    return old;
                }
                old = found;
            }
        }
    )*};
}

loops! {
    /// PTX exchanges no 16 bits.
    exchange_u16: u16 by load_u16, compare_u16 as |_: u16, new: u16| new;

    /// GPUs before capability 9.0 add no `bf16`.
    #[cfg(not(gpuprof_bf16_atomics))]
    add_bf16: u16 by load_u16, compare_u16 as |old: u16, value: u16| {
        (bf16::from_bits(old) + bf16::from_bits(value)).to_bits()
    };

    /// Nor two at once.
    #[cfg(not(gpuprof_bf16_atomics))]
    add_bf16x2: u32 by load_u32, compare_u32 as |old: u32, value: u32| {
        (bf16x2::from_bits(old) + bf16x2::from_bits(value)).to_bits()
    };
}
