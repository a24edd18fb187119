//! The control-flow graph of a program, as the rules about accesses need it.
//!
//! Input: a program, in which a call is an ordinary instruction. Output: its blocks with those that
//! lead to each, and the blocks of each loop.

use crate::lower::blocks::{Block, split};
use crate::lower::program::Program;
use std::ops::Range;

/// The blocks of a kernel and its device functions.
pub struct Flow {
    blocks: Vec<Block>,
    predecessors: Vec<Vec<usize>>,
}

impl Flow {
    /// Of a program.
    pub fn new(program: &Program) -> Self {
        let blocks = split(&program.code, 0, &program.tables);
        let mut predecessors = vec![Vec::new(); blocks.len()];
        for (at, block) in blocks.iter().enumerate() {
            for &next in &block.successors {
                predecessors[next].push(at);
            }
        }
        Self { blocks, predecessors }
    }

    /// How many blocks there are. They are numbered in the order of the code.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// The instructions of a block.
    pub fn code(&self, block: usize) -> Range<usize> {
        self.blocks[block].start..self.blocks[block].end
    }

    /// The only block that leads to this one, if it comes earlier.
    pub fn only_predecessor(&self, block: usize) -> Option<usize> {
        match self.predecessors[block][..] {
            [before] if before < block => Some(before),
            _ => None,
        }
    }

    /// The instructions of each loop. A loop is what reaches an edge back to a block without
    /// passing that block; an edge leads back if it leads to the same or an earlier place.
    pub fn loops(&self) -> Vec<Vec<usize>> {
        (0..self.len()).filter_map(|head| self.loop_of(head)).collect()
    }

    fn loop_of(&self, head: usize) -> Option<Vec<usize>> {
        let back = self.predecessors[head].iter().copied().filter(|&from| from >= head);
        let mut open: Vec<usize> = back.collect();
        if open.is_empty() {
            return None;
        }
        let mut inside = vec![false; self.len()];
        inside[head] = true;
        while let Some(block) = open.pop() {
            if !std::mem::replace(&mut inside[block], true) {
                open.extend(&self.predecessors[block]);
            }
        }
        let blocks = (0..self.len()).filter(|&block| inside[block]);
        Some(blocks.flat_map(|block| self.code(block)).collect())
    }
}
