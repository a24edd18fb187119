//! The undefined values of a warp: the lanes of registers and of words of local memory.

use super::fault::Fault;
use crate::lower::inst::{File, Slot};

/// How far defined bits have replaced some bits of an undefined value, as a store to a bit-field
/// does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Insertion {
    /// None have.
    #[default]
    None,
    /// A mask has cleared some.
    Cleared,
    /// They have.
    Done,
}

/// The undefined lanes of a register or of a word of local memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Undefined<K> {
    pub(super) place: K,
    pub(super) lanes: u32,
    /// The read that caused it.
    pub(super) origin: u32,
    pub(super) insertion: Insertion,
}

/// The undefined values of a warp.
#[derive(Debug, Default)]
pub struct Definedness {
    pub(super) registers: Vec<Undefined<(File, Slot)>>,
    pub(super) local: Vec<Undefined<u32>>,
    /// Reads of unwritten memory, one for each instruction, as the faults that they may become.
    pub(super) origins: Vec<Fault>,
}

/// Undefined lanes, and the read that caused the first of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Taint {
    /// The lanes.
    pub lanes: u32,
    pub(super) origin: u32,
    pub(super) insertion: Insertion,
}

impl Taint {
    /// In one of both.
    pub(super) fn join(self, other: Self) -> Self {
        match (self.lanes, other.lanes) {
            (0, _) => other,
            (_, 0) => self,
            _ => Self {
                lanes: self.lanes | other.lanes,
                insertion: self.insertion.min(other.insertion),
                ..self
            },
        }
    }

    /// Of those lanes only.
    pub(super) fn restrict(self, lanes: u32) -> Self {
        Self { lanes: self.lanes & lanes, ..self }
    }
}

impl Definedness {
    /// Whether every value is defined.
    #[inline(always)]
    pub fn is_complete(&self) -> bool {
        self.registers.is_empty() && self.local.is_empty()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.registers.clear();
        self.local.clear();
        self.origins.clear();
    }

    /// The undefined lanes of a register.
    pub fn get(&self, file: File, slot: Slot) -> Taint {
        let found = self.registers.iter().find(|entry| entry.place == (file, slot));
        found.map_or_else(Taint::default, |&Undefined { lanes, origin, insertion, .. }| Taint {
            lanes,
            origin,
            insertion,
        })
    }

    /// Of the lanes `on` of a register those of `taint` become undefined, and the others defined.
    pub(super) fn set(&mut self, (file, slot): (File, Slot), on: u32, taint: Taint) {
        // The other slots are constants, and the sink, which no instruction reads.
        if slot.0 & Slot::PRIVATE != 0 && slot != Slot::private(0) {
            put(&mut self.registers, (file, slot), on, taint);
        }
    }

    /// The words of local memory in `words` are defined in `lanes`.
    pub(super) fn define_local(&mut self, words: std::ops::Range<u32>, lanes: u32) {
        for entry in self.local.iter_mut().filter(|entry| words.contains(&entry.place)) {
            entry.lanes &= !lanes;
        }
        self.local.retain(|entry| entry.lanes != 0);
    }

    pub(super) fn origin(&mut self, fault: Box<Fault>) -> u32 {
        let known = self.origins.iter().position(|known| known.pc == fault.pc);
        let at = known.unwrap_or_else(|| {
            self.origins.push(*fault);
            self.origins.len() - 1
        });
        at as u32
    }
}

/// Of the lanes `on` of a place those of `taint` become undefined, and the others defined.
pub(super) fn put<K: PartialEq>(entries: &mut Vec<Undefined<K>>, place: K, on: u32, taint: Taint) {
    let lanes = taint.lanes & on;
    match entries.iter().position(|entry| entry.place == place) {
        Some(at) => {
            let entry = &mut entries[at];
            entry.lanes = entry.lanes & !on | lanes;
            if lanes != 0 {
                (entry.origin, entry.insertion) = (taint.origin, taint.insertion);
            }
            if entry.lanes == 0 {
                entries.swap_remove(at);
            }
        }
        None if lanes != 0 => {
            let Taint { origin, insertion, .. } = taint;
            entries.push(Undefined { place, lanes, origin, insertion });
        }
        None => {}
    }
}
