//! One `atom`, `ld`, `st` or `fence` for each operation, ordering, scope and memory.
//!
//! Which of them it is depends on constants alone once a call is inlined, so that nothing of the
//! choice is left in PTX. Sequential consistency is a `fence.sc` before the ordered instruction, as
//! LLVM and libcu++ have it.

use core::arch::asm;
use core::sync::atomic::Ordering;

use super::scope::{Level, Memory, Scope};

/// The ordering of one instruction.
#[derive(Debug, Clone, Copy)]
pub(super) enum Order {
    Relaxed,
    Acquire,
    Release,
    AcqRel,
}

/// The ordering of an update, after the fence that it needs.
#[inline(always)]
pub(super) fn of_update<S: Scope>(order: Ordering) -> Order {
    match order {
        Ordering::Relaxed => Order::Relaxed,
        Ordering::Acquire => Order::Acquire,
        Ordering::Release => Order::Release,
        Ordering::AcqRel => Order::AcqRel,
        // `Ordering` may grow: the strongest is right for all.
        _ => {
            fence::<S>(Ordering::SeqCst);
            Order::AcqRel
        }
    }
}

/// The ordering of a load, after the fence that it needs.
#[inline(always)]
pub(super) fn of_load<S: Scope>(order: Ordering) -> Order {
    match order {
        Ordering::Relaxed => Order::Relaxed,
        Ordering::Release | Ordering::AcqRel => panic!("a load cannot release"),
        Ordering::Acquire => Order::Acquire,
        _ => {
            fence::<S>(Ordering::SeqCst);
            Order::Acquire
        }
    }
}

/// The ordering of a store, after the fence that it needs.
#[inline(always)]
pub(super) fn of_store<S: Scope>(order: Ordering) -> Order {
    match order {
        Ordering::Relaxed => Order::Relaxed,
        Ordering::Acquire | Ordering::AcqRel => panic!("a store cannot acquire"),
        Ordering::Release => Order::Release,
        _ => {
            fence::<S>(Ordering::SeqCst);
            Order::Release
        }
    }
}

macro_rules! fence {
    ($text:literal) => {
        // SAFETY: a fence has no precondition. Without `nomem` the compiler moves no access over
        // it.
        unsafe { asm!($text, options(nostack, preserves_flags)) }
    };
}

/// A fence; none for a relaxed ordering.
#[inline(always)]
pub(super) fn fence<S: Scope>(order: Ordering) {
    match (order, S::LEVEL) {
        (Ordering::Relaxed, _) => {}
        (Ordering::Acquire | Ordering::Release | Ordering::AcqRel, Level::Block) => {
            fence!("fence.acq_rel.cta;");
        }
        (Ordering::Acquire | Ordering::Release | Ordering::AcqRel, Level::Device) => {
            fence!("fence.acq_rel.gpu;");
        }
        (Ordering::Acquire | Ordering::Release | Ordering::AcqRel, Level::System) => {
            fence!("fence.acq_rel.sys;");
        }
        (_, Level::Block) => fence!("fence.sc.cta;"),
        (_, Level::Device) => fence!("fence.sc.gpu;"),
        (_, Level::System) => fence!("fence.sc.sys;"),
    }
}

/// `OPCODE BEFORE address AFTER` in the memory of `$M`.
macro_rules! in_memory {
    ($M:ident, $at:ident, $opcode:expr, $before:expr, $after:literal, $($operands:tt)*) => {
        if $M::IS_SHARED {
            // SAFETY: the caller vouches for the address; the instruction accesses nothing else.
            unsafe {
                asm!(
                    concat!($opcode, ".shared", $before, "[{at}]", $after),
                    at = in(reg32) $M::shared($at),
                    $($operands)*
                    options(nostack, preserves_flags),
                );
            }
        } else {
            // SAFETY: as above. The instruction wants the address without the generic window.
            unsafe {
                asm!(
                    "{{",
                    ".reg .b64 address;",
                    "cvta.to.global.u64 address, {at};",
                    concat!($opcode, ".global", $before, "[address]", $after),
                    "}}",
                    at = in(reg64) $M::global($at),
                    $($operands)*
                    options(nostack, preserves_flags),
                );
            }
        }
    };
}

/// The same at the scope of `$S`.
macro_rules! at_scope {
    ($S:ident, $M:ident, $at:ident, $opcode:expr, $($rest:tt)*) => {
        match $S::LEVEL {
            Level::Block => in_memory!($M, $at, concat!($opcode, ".cta"), $($rest)*),
            Level::Device => in_memory!($M, $at, concat!($opcode, ".gpu"), $($rest)*),
            Level::System => in_memory!($M, $at, concat!($opcode, ".sys"), $($rest)*),
        }
    };
}

/// The same with any ordering.
macro_rules! ordered {
    ($S:ident, $M:ident, $at:ident, $order:ident, $($rest:tt)*) => {
        match $order {
            Order::Relaxed => at_scope!($S, $M, $at, "atom.relaxed", $($rest)*),
            Order::Acquire => at_scope!($S, $M, $at, "atom.acquire", $($rest)*),
            Order::Release => at_scope!($S, $M, $at, "atom.release", $($rest)*),
            Order::AcqRel => at_scope!($S, $M, $at, "atom.acq_rel", $($rest)*),
        }
    };
}

macro_rules! updates {
    ($($name:ident: $t:ident in $class:ident as $operation:literal;)*) => {$(
        #[inline(always)]
        pub(super) unsafe fn $name<S: Scope, M: Memory>(
            at: M::Address,
            value: $t,
            order: Order,
        ) -> $t {
            let old: $t;
            ordered!(
                S, M, at, order,
                concat!(".", $operation, " {old}, "), ", {value};",
                value = in($class) value,
                old = out($class) old,
            );
            old
        }
    )*};
}

// PTX has no `add.s64`: two's complement makes it the unsigned one.
updates! {
    add_u32: u32 in reg32 as "add.u32";
    add_u64: u64 in reg64 as "add.u64";
    add_f32: f32 in reg32 as "add.f32";
    add_f64: f64 in reg64 as "add.f64";
    add_f16: u16 in reg16 as "add.noftz.f16";
    add_f16x2: u32 in reg32 as "add.noftz.f16x2";
    min_u32: u32 in reg32 as "min.u32";
    min_i32: i32 in reg32 as "min.s32";
    min_u64: u64 in reg64 as "min.u64";
    min_i64: i64 in reg64 as "min.s64";
    max_u32: u32 in reg32 as "max.u32";
    max_i32: i32 in reg32 as "max.s32";
    max_u64: u64 in reg64 as "max.u64";
    max_i64: i64 in reg64 as "max.s64";
    inc: u32 in reg32 as "inc.u32";
    dec: u32 in reg32 as "dec.u32";
    and_u32: u32 in reg32 as "and.b32";
    and_u64: u64 in reg64 as "and.b64";
    or_u32: u32 in reg32 as "or.b32";
    or_u64: u64 in reg64 as "or.b64";
    xor_u32: u32 in reg32 as "xor.b32";
    xor_u64: u64 in reg64 as "xor.b64";
    exchange_u32: u32 in reg32 as "exch.b32";
    exchange_u64: u64 in reg64 as "exch.b64";
}

#[cfg(gpuprof_bf16_atomics)]
updates! {
    add_bf16: u16 in reg16 as "add.noftz.bf16";
    add_bf16x2: u32 in reg32 as "add.noftz.bf16x2";
}

macro_rules! cells {
    ($($t:ident in $class:ident: $compare:ident as $cas:literal, $load:ident as $ld:literal,
        $store:ident as $st:literal;)*) => {$(
        #[inline(always)]
        pub(super) unsafe fn $compare<S: Scope, M: Memory>(
            at: M::Address,
            current: $t,
            new: $t,
            order: Order,
        ) -> $t {
            let old: $t;
            ordered!(
                S, M, at, order,
                concat!(".", $cas, " {old}, "), ", {current}, {new};",
                current = in($class) current,
                new = in($class) new,
                old = out($class) old,
            );
            old
        }

        #[inline(always)]
        pub(super) unsafe fn $load<S: Scope, M: Memory>(at: M::Address, order: Order) -> $t {
            let value: $t;
            match order {
                Order::Relaxed | Order::Release => at_scope!(
                    S, M, at, "ld.relaxed", concat!(".", $ld, " {value}, "), ";",
                    value = out($class) value,
                ),
                Order::Acquire | Order::AcqRel => at_scope!(
                    S, M, at, "ld.acquire", concat!(".", $ld, " {value}, "), ";",
                    value = out($class) value,
                ),
            }
            value
        }

        #[inline(always)]
        pub(super) unsafe fn $store<S: Scope, M: Memory>(at: M::Address, value: $t, order: Order) {
            match order {
                Order::Relaxed | Order::Acquire => at_scope!(
                    S, M, at, "st.relaxed", concat!(".", $st, " "), ", {value};",
                    value = in($class) value,
                ),
                Order::Release | Order::AcqRel => at_scope!(
                    S, M, at, "st.release", concat!(".", $st, " "), ", {value};",
                    value = in($class) value,
                ),
            }
        }
    )*};
}

cells! {
    u16 in reg16: compare_u16 as "cas.b16", load_u16 as "b16", store_u16 as "b16";
    u32 in reg32: compare_u32 as "cas.b32", load_u32 as "b32", store_u32 as "b32";
    u64 in reg64: compare_u64 as "cas.b64", load_u64 as "b64", store_u64 as "b64";
}
