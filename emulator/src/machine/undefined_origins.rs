//! Where the undefined values of a block's shared memory come from.

use super::fault::Fault;
use std::collections::HashMap;

/// For cells of shared memory that hold an undefined value the read of unwritten memory that it
/// comes from, as the fault that it may become.
#[derive(Debug, Default)]
pub struct Origins {
    cells: HashMap<usize, usize>,
    /// One for each instruction that reads.
    reads: Vec<Fault>,
}

impl Origins {
    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.cells.clear();
        self.reads.clear();
    }

    /// A value of this origin was stored to `cell`.
    pub fn set(&mut self, cell: usize, origin: &Fault) {
        let known = self.reads.iter().position(|known| known.pc == origin.pc);
        let at = known.unwrap_or_else(|| {
            self.reads.push(origin.clone());
            self.reads.len() - 1
        });
        self.cells.insert(cell, at);
    }

    /// The origin of the undefined value in `cell`.
    pub fn get(&self, cell: usize) -> Option<&Fault> {
        self.cells.get(&cell).map(|&at| &self.reads[at])
    }
}
