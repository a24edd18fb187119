//! Accesses of straight code that ptxas drops because others make them needless, and accesses of
//! shared memory that it joins.
//!
//! A plain load is needless if an access before it has left the same bytes in a register, and a
//! plain store if another one follows before a thread can read it. ptxas joins shared loads of
//! neighbouring words to one of 8 or 16 bytes if it knows that their address is aligned, and stores
//! in the same way. It knows less about addresses than this file assumes: it may keep an access
//! that is found here.

use super::values::{Place, Values};
use crate::lower::blocks::{Block, Flow};
use crate::lower::inst::{Address, ControlOp, Element, ExchangeOp, Inst, Op, Role, Space};
use crate::lower::program::Program;

/// How ptxas may change an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It drops a repeated access.
    Repeated,
    /// It joins one with a neighbour.
    Joined,
    /// It moves one out of a loop.
    Hoisted,
    /// It repeats one in a round of a loop that it has unrolled.
    Unrolled,
}

/// A plain access of this kernel that is still in force.
#[derive(Debug, Clone, Copy)]
pub struct Access {
    /// Its instruction.
    pub pc: usize,
    /// Whether it stores.
    pub store: bool,
    /// The space that was written.
    pub space: Space,
    /// Its address.
    pub place: Place,
    /// Bytes of a lane.
    pub bytes: i64,
    /// Bytes of an element.
    pub element_bytes: i64,
}

impl Access {
    /// Whether both touch a byte, as far as their places can be compared.
    pub fn may_overlap(&self, other: &Self) -> bool {
        let apart = (self.place.offset - other.place.offset).abs();
        let spaces = self.space == other.space
            || self.space == Space::Generic
            || other.space == Space::Generic;
        let near = self.place.base != other.place.base || apart < self.bytes.max(other.bytes);
        spaces && near
    }

    fn covers(&self, other: &Self) -> bool {
        let (from, to) = (self.place.offset, other.place.offset);
        self.space == other.space
            && self.place.base == other.place.base
            && from <= to
            && to + other.bytes <= from + self.bytes
    }

    /// Whether one access of up to 16 bytes can replace both.
    fn joins(&self, other: &Self, values: &Values<'_>) -> bool {
        let first = if self.place.offset <= other.place.offset { self } else { other };
        let apart = (self.place.offset - other.place.offset).abs();
        self.store == other.store
            && self.space == Space::Shared
            && other.space == Space::Shared
            && self.place.base == other.place.base
            && self.element_bytes == other.element_bytes
            && apart > 0
            && apart + self.element_bytes <= 16
            && values.alignment(first.place) >= 2 * self.element_bytes as u64
    }
}

/// The plain accesses that ptxas may change, by instruction.
pub fn changes(
    program: &Program,
    (blocks, flow): (&[Block], &Flow),
    values: &Values<'_>,
) -> Vec<(usize, Change)> {
    let mut found = Vec::new();
    let mut at_end: Vec<Vec<Access>> = Vec::with_capacity(blocks.len());
    for (at, block) in blocks.iter().enumerate() {
        // Only lanes of one earlier block come here.
        let mut known = match flow.predecessors[at][..] {
            [before] if before < at => at_end[before].clone(),
            _ => Vec::new(),
        };
        for pc in block.start..block.end {
            step(&program.code[pc], pc, values, &mut known, &mut found);
        }
        at_end.push(known);
    }
    found
}

/// Goes over one instruction with the accesses that are in force before it.
fn step(
    inst: &Inst,
    pc: usize,
    values: &Values<'_>,
    known: &mut Vec<Access>,
    found: &mut Vec<(usize, Change)>,
) {
    match plain_access(inst, pc, values) {
        Some(access) => {
            let repeats = |before: &Access| match access.store {
                true => before.store && access.covers(before),
                false => before.covers(&access),
            };
            if known.iter().any(repeats) {
                found.push((pc, Change::Repeated));
            }
            if known.iter().any(|before| before.joins(&access, values)) {
                found.push((pc, Change::Joined));
            }
            if access.store {
                known.retain(|before| !before.may_overlap(&access));
            }
            known.push(access);
        }
        None if publishes(&inst.op) => known.clear(),
        None => {}
    }
    // A register that is written again is another address from here on.
    let writes = inst.registers(Role::Write);
    known.retain(|access| access.place.base.is_none_or(|base| !writes.contains(&base)));
}

/// An access that is neither volatile nor ordered.
pub fn plain_access(inst: &Inst, pc: usize, values: &Values<'_>) -> Option<Access> {
    let (store, element, address): (bool, Element, Address) = match inst.op {
        Op::Load { element, address, .. } => (false, element, address),
        Op::Store { element, address, .. } => (true, element, address),
        _ => return None,
    };
    let counted = matches!(address.space, Space::Global | Space::Shared | Space::Generic);
    (counted && !element.is_strong()).then(|| Access {
        pc,
        store,
        space: address.space,
        place: values.place(address),
        bytes: i64::from(element.total()),
        element_bytes: i64::from(element.bytes),
    })
}

/// Whether other threads may read earlier stores and write to later loads.
pub fn publishes(op: &Op) -> bool {
    match op {
        Op::Atomic(_)
        | Op::AtomicVector(_)
        | Op::Transfer(_)
        | Op::Mbarrier(_)
        | Op::Barrier(_)
        | Op::Fence { .. } => true,
        Op::Exchange(exchange) => matches!(exchange, ExchangeOp::WarpSync { .. }),
        Op::Control(control) => matches!(control, ControlOp::Call { .. }),
        _ => false,
    }
}
