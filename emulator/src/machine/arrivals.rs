//! The writes of a warp to shared memory after it arrived at an `mbarrier`.
//!
//! The arrival orders all accesses before it. Later writes of the warp are ordered by its next
//! arrival, or by anything else that orders memory.

use super::hazard::By;

/// Further writes are taken as ordered.
const MOST_WRITES: usize = 1024;

/// A write: the cell, and the thread and instruction as the shadow keeps them.
pub type Write = (usize, i32);

/// The writes that no arrival has published.
#[derive(Debug, Default)]
pub struct Arrivals {
    /// A bit for each warp that has arrived.
    arrived: u32,
    writes: Vec<Write>,
}

impl Arrivals {
    /// All writes are ordered.
    #[inline(always)]
    pub fn clear(&mut self) {
        if self.arrived != 0 {
            self.arrived = 0;
            self.writes.clear();
        }
    }

    /// All writes of a warp so far are ordered.
    pub fn publish(&mut self, warp: u32) {
        self.arrived &= !(1 << (warp & 31));
        self.writes.retain(|(_, by)| By(*by).thread() / 32 != warp);
    }

    /// A warp arrives.
    pub fn arrive(&mut self, warp: u32) {
        self.publish(warp);
        self.arrived |= 1 << (warp & 31);
    }

    /// Whether some warp has arrived.
    #[inline(always)]
    pub fn any(&self) -> bool {
        self.arrived != 0
    }

    /// A thread writes.
    pub fn note(&mut self, cell: usize, by: By) {
        let is_after = self.arrived & (1 << (by.thread() / 32)) != 0;
        if is_after && !by.is_strong() && self.writes.len() < MOST_WRITES {
            self.writes.push((cell, by.0));
        }
    }

    /// The warps that have arrived, and their writes since.
    pub fn unpublished(&self) -> (u32, &[Write]) {
        (self.arrived, &self.writes)
    }
}
