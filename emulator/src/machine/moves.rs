//! Packing, unpacking and call parameters.

use super::bits::extend;
use super::lanes::Lanes;
use super::mbarrier;
use super::memory::Memory;
use crate::lower::address::resolve;
use crate::lower::inst::{Element, MoveOp, Slot, Space};

/// The bits of one of `parts` parts that fill a register.
fn bits_of_part(wide: bool, parts: &[Slot]) -> u32 {
    (if wide { 64 } else { 32 }) / parts.len() as u32
}

/// Fills a register with parts, the first lowest.
fn pack(lanes: &mut Lanes<'_>, wide: bool, d: Slot, parts: &[Slot], m: u32) {
    let bits = bits_of_part(wide, parts);
    let mut all = [0; 32];
    for (at, slot) in (0u32..).zip(parts) {
        for (all, part) in all.iter_mut().zip(lanes.get32(*slot)) {
            *all |= (u64::from(*part) & ((1 << bits) - 1)) << (bits * at);
        }
    }
    lanes.set_any(d, wide, &all, m);
}

fn unpack(lanes: &mut Lanes<'_>, wide: bool, parts: &[Slot], a: Slot, m: u32) {
    let bits = bits_of_part(wide, parts);
    let values = lanes.any(a, wide);
    for (at, slot) in (0u32..).zip(parts) {
        let part = values.map(|value| (value >> (bits * at) & ((1 << bits) - 1)) as u32);
        lanes.set32(*slot, &part, m);
    }
}

/// Executes an operation that only moves bits.
#[inline(never)]
pub fn execute(lanes: &mut Lanes<'_>, memory: &Memory, op: &MoveOp, m: u32) {
    match *op {
        MoveOp::Pack { wide, count, d, a } => pack(lanes, wide, d, &a[..usize::from(count)], m),
        MoveOp::Unpack { wide, count, d, a } => {
            unpack(lanes, wide, &d[..usize::from(count)], a, m);
        }
        MoveOp::Gather { wide, count, d, a } => {
            let values = a.map(|slot| lanes.any(slot, wide));
            for (slot, value) in d.iter().zip(&values).take(usize::from(count)) {
                lanes.set_any(*slot, wide, value, m);
            }
        }
        MoveOp::ReadWords { element, d, word, byte } => {
            read_words(lanes, element, d, word, byte, m)
        }
        MoveOp::WriteWords { element, a, word, byte } => {
            write_words(lanes, element, a, word, byte, m)
        }
        MoveOp::IsSpace { space, d, a } => {
            let bits = lanes.test64(a, a, |a, _| is_in(space, a, memory));
            lanes.set_pred(d, bits, m);
        }
        MoveOp::ActiveMask { d } => lanes.set32(d, &[m; 32], m),
        MoveOp::PendingCount { d, a } => {
            let counts = lanes.get64(a).map(mbarrier::pending_count);
            lanes.set32(d, &counts, m);
        }
    }
}

/// Whether a generic address lies in the window of a space. PTX: that of kernel parameters lies in
/// the global one, and that of constant variables.
fn is_in(space: Space, address: u64, memory: &Memory) -> bool {
    let is_constant = || memory.find(address).is_some_and(|found| found.holds.is_constant());
    match (space, resolve(address).0) {
        (Space::Const, Space::Global) => is_constant(),
        (Space::Global, Space::Global) => !is_constant(),
        (Space::Global, Space::Param) => true,
        (wanted, found) => wanted == found,
    }
}

fn read_words(lanes: &mut Lanes<'_>, element: Element, d: [Slot; 4], word: Slot, byte: u8, m: u32) {
    for (index, slot) in (0u32..).zip(d).take(usize::from(element.count)) {
        let at = u32::from(byte) + index * u32::from(element.bytes);
        let first = *lanes.get32(Slot(word.0 + (at / 4) as u16));
        let second = if element.bytes == 8 {
            *lanes.get32(Slot(word.0 + (at / 4) as u16 + 1))
        } else {
            [0; 32]
        };
        let value = std::array::from_fn(|lane| {
            let both = u64::from(second[lane]) << 32 | u64::from(first[lane]);
            extend(both >> (8 * (at % 4)), element.bytes, element.signed)
        });
        lanes.set_any(slot, element.wide, &value, m);
    }
}

fn write_words(
    lanes: &mut Lanes<'_>,
    element: Element,
    a: [Slot; 4],
    word: Slot,
    byte: u8,
    m: u32,
) {
    for (index, slot) in (0u32..).zip(a).take(usize::from(element.count)) {
        let at = u32::from(byte) + index * u32::from(element.bytes);
        let target = Slot(word.0 + (at / 4) as u16);
        let value = lanes.any(slot, element.wide);
        let shift = 8 * (at % 4);
        let field = if element.bytes >= 4 {
            u32::MAX
        } else {
            ((1 << (8 * u32::from(element.bytes))) - 1) << shift
        };
        let old = *lanes.get32(target);
        let low = std::array::from_fn(|lane| {
            (old[lane] & !field) | ((value[lane] as u32) << shift & field)
        });
        lanes.set32(target, &low, m);
        if element.bytes == 8 {
            lanes.set32(Slot(target.0 + 1), &value.map(|value| (value >> 32) as u32), m);
        }
    }
}
