//! The registers of the running warp, 32 lanes at a time.
//!
//! An operation computes all 32 lanes and keeps those of its mask. Every function here is inlined
//! into the execution loop, so that the loop's instruction set (see `machine::host_cpu`) applies to
//! it and the compiler vectorises it.

use crate::lower::inst::Slot;

/// One 32-bit register of every lane.
pub type Lanes32 = [u32; 32];
/// One 64-bit register of every lane.
pub type Lanes64 = [u64; 32];
/// All lanes.
pub const FULL: u32 = u32::MAX;

/// The three register files, seen from one warp.
pub struct Lanes<'r> {
    /// 32-bit slots: the block's constants, then each warp's registers.
    pub r32: &'r mut [Lanes32],
    /// 64-bit slots, likewise.
    pub r64: &'r mut [Lanes64],
    /// Predicates, one bit a lane.
    pub preds: &'r mut [u32],
    /// The start of this warp's 32-bit registers.
    pub base32: usize,
    /// The start of this warp's 64-bit registers.
    pub base64: usize,
    /// The start of this warp's predicates.
    pub base_pred: usize,
}

#[inline(always)]
fn bit(mask: u32, lane: usize) -> bool {
    mask & (1 << lane) != 0
}

macro_rules! file {
    ($lanes:ty, $word:ty, $get:ident, $set:ident, $test:ident, $file:ident, $base:ident) => {
        /// A register's lanes.
        #[inline(always)]
        pub fn $get(&self, slot: Slot) -> &$lanes {
            &self.$file[slot.index(self.$base)]
        }

        /// Sets the lanes of `mask`.
        #[inline(always)]
        pub fn $set(&mut self, slot: Slot, value: &$lanes, mask: u32) {
            let register = &mut self.$file[slot.index(self.$base)];
            if mask == FULL {
                *register = *value;
            } else {
                for lane in 0..32 {
                    register[lane] = if bit(mask, lane) { value[lane] } else { register[lane] };
                }
            }
        }

        /// One bit a lane: whether `f` holds of two sources.
        #[inline(always)]
        pub fn $test(&self, a: Slot, b: Slot, f: impl Fn($word, $word) -> bool) -> u32 {
            let (a, b) = (self.$get(a), self.$get(b));
            let mut bits = 0;
            for lane in 0..32 {
                bits |= if f(a[lane], b[lane]) { 1 << lane } else { 0 };
            }
            bits
        }
    };
}

macro_rules! map {
    ($name:ident, [$($arg:ident),+; $count:literal], $get:ident, $in:ty, $set:ident, $out:ty) => {
        /// `d = f(sources)` in every lane of `mask`.
        #[inline(always)]
        pub fn $name(&mut self, d: Slot, [$($arg),+]: [Slot; $count], mask: u32, f: impl Fn($(map!(@word $arg $in)),+) -> $out) {
            let mut result = [0 as $out; 32];
            {
                $(let $arg = self.$get($arg);)+
                for lane in 0..32 {
                    result[lane] = f($($arg[lane]),+);
                }
            }
            self.$set(d, &result, mask);
        }
    };
    (@word $arg:ident $in:ty) => { $in };
}

impl Lanes<'_> {
    file!(Lanes32, u32, get32, set32, test32, r32, base32);
    file!(Lanes64, u64, get64, set64, test64, r64, base64);

    map!(map1_32, [a; 1], get32, u32, set32, u32);
    map!(map2_32, [a, b; 2], get32, u32, set32, u32);
    map!(map3_32, [a, b, c; 3], get32, u32, set32, u32);
    map!(map4_32, [a, b, c, e; 4], get32, u32, set32, u32);
    map!(map1_64, [a; 1], get64, u64, set64, u64);
    map!(map2_64, [a, b; 2], get64, u64, set64, u64);
    map!(map3_64, [a, b, c; 3], get64, u64, set64, u64);
    map!(narrow, [a; 1], get64, u64, set32, u32);
    map!(widen, [a; 1], get32, u32, set64, u64);
    map!(widen2, [a, b; 2], get32, u32, set64, u64);

    /// A predicate's bits.
    #[inline(always)]
    pub fn pred(&self, slot: Slot) -> u32 {
        self.preds[slot.index(self.base_pred)]
    }

    /// A predicate's bits, or their opposites.
    #[inline(always)]
    pub fn pred_or_not(&self, slot: Slot, not: bool) -> u32 {
        if not { !self.pred(slot) } else { self.pred(slot) }
    }

    /// Sets the bits of `mask`.
    #[inline(always)]
    pub fn set_pred(&mut self, slot: Slot, bits: u32, mask: u32) {
        let register = &mut self.preds[slot.index(self.base_pred)];
        *register = (*register & !mask) | (bits & mask);
    }

    /// A source of either width, zero-extended.
    pub fn any(&self, slot: Slot, wide: bool) -> Lanes64 {
        if wide { *self.get64(slot) } else { self.get32(slot).map(u64::from) }
    }

    /// Sets a destination of either width.
    pub fn set_any(&mut self, slot: Slot, wide: bool, value: &Lanes64, mask: u32) {
        if wide {
            self.set64(slot, value, mask);
        } else {
            self.set32(slot, &value.map(|value| value as u32), mask);
        }
    }
}
