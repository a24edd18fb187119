//! Where the lanes that take different ways at a branch meet again.
//!
//! Input: the blocks of a function. Output: for each conditional branch its [`Convergence`]: the
//! block at which all of its lanes meet (`flow`), and the blocks before it that several ways share,
//! as the arms of a short-circuit condition or a `switch` that falls through do. ptxas puts a
//! convergence barrier at both kinds, and removes a lane from the second kind where it can no
//! longer reach the block.

use super::blocks::{Block, rank, returning};
use super::inst::NOWHERE;
use std::ops::Range;

/// Where the lanes of a branch meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Convergence {
    /// Where all of them do, or [`NOWHERE`].
    pub meet: u32,
    /// Where some of them do before that.
    pub joins: Vec<Join>,
}

/// A block that several ways out of a branch lead through, but not all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Join {
    /// Its first instruction.
    pub meet: u32,
    /// The zone from which it can be reached.
    pub zone: u32,
}

impl Convergence {
    /// Of lanes that never meet.
    pub const NONE: Self = Self { meet: NOWHERE, joins: Vec::new() };
}

/// Instructions, as sorted ranges.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Zone(Vec<Range<u32>>);

impl Zone {
    /// Whether it holds an instruction.
    pub fn contains(&self, pc: u32) -> bool {
        let next = self.0.partition_point(|range| range.end <= pc);
        self.0.get(next).is_some_and(|range| range.start <= pc)
    }
}

/// The convergences of a program's branches.
#[derive(Debug)]
pub struct Convergences {
    list: Vec<Convergence>,
    /// The zones of their joins.
    pub zones: Vec<Zone>,
}

impl Default for Convergences {
    fn default() -> Self {
        Self { list: vec![Convergence::NONE], zones: Vec::new() }
    }
}

impl Convergences {
    /// Of a branch on which lanes never disagree.
    pub const NONE: u32 = 0;

    /// Adds one, and returns its number.
    pub fn add(&mut self, convergence: Convergence) -> u32 {
        self.list.push(convergence);
        self.list.len() as u32 - 1
    }

    /// The convergence with a number.
    pub fn get(&self, number: u32) -> &Convergence {
        &self.list[number as usize]
    }
}

/// Finds the joins of the branches of a function.
pub struct Joins<'b> {
    blocks: &'b [Block],
    /// Whether lanes can meet at a block: not where they only end, or panic.
    is_open: Vec<bool>,
    rank: Vec<usize>,
}

impl<'b> Joins<'b> {
    /// Of a function with these blocks, of which `is_bare_end` holds for those that only end it.
    pub fn new(blocks: &'b [Block], is_bare_end: impl Fn(&Block) -> bool) -> Self {
        let returning = returning(blocks);
        let is_open =
            blocks.iter().zip(returning).map(|(block, returns)| returns && !is_bare_end(block));
        Self { blocks, is_open: is_open.collect(), rank: rank(blocks) }
    }

    /// The joins of the branch at the end of block `at`, whose lanes all meet at block `meet`.
    pub fn find(&self, at: usize, meet: Option<usize>, zones: &mut Vec<Zone>) -> Vec<Join> {
        let region = Region { blocks: self.blocks, at, meet };
        let joins = region.joins(&self.rank).into_iter().filter(|&join| self.is_open[join]);
        joins
            .map(|join| {
                zones.push(region.zone(join));
                Join { meet: self.blocks[join].start as u32, zone: zones.len() as u32 - 1 }
            })
            .collect()
    }
}

/// The blocks between a branch and its meeting point.
struct Region<'b> {
    blocks: &'b [Block],
    at: usize,
    meet: Option<usize>,
}

impl Region<'_> {
    fn successors(&self, block: usize) -> impl Iterator<Item = usize> {
        let inside = |next: &usize| *next != self.at && Some(*next) != self.meet;
        self.blocks[block].successors.iter().copied().filter(inside)
    }

    /// Blocks that two ways out of the branch reach without a block in common before. Every block
    /// carries as label the last block that all ways to it share; a block that two labels reach is
    /// a join, and its own label from then on.
    fn joins(&self, rank: &[usize]) -> Vec<usize> {
        let mut label: Vec<Option<usize>> = vec![None; self.blocks.len()];
        let mut joins = Vec::new();
        let mut waiting: Vec<usize> = Vec::new();
        for next in self.successors(self.at) {
            label[next] = Some(next);
            waiting.push(next);
        }
        // A block after those that lead to it.
        while let Some(first) = waiting.iter().enumerate().min_by_key(|(_, block)| rank[**block]) {
            let block = waiting.swap_remove(first.0);
            for next in self.successors(block) {
                if label[next].is_none() {
                    label[next] = label[block];
                } else if label[next] == label[block] || joins.contains(&next) {
                    continue;
                } else {
                    label[next] = Some(next);
                    joins.push(next);
                }
                if !waiting.contains(&next) {
                    waiting.push(next);
                }
            }
        }
        joins
    }

    /// The blocks of the region from which `join` can be reached, itself included.
    fn zone(&self, join: usize) -> Zone {
        let mut reaches = vec![false; self.blocks.len()];
        reaches[join] = true;
        let mut changed = true;
        while changed {
            changed = false;
            for block in (0..self.blocks.len()).rev() {
                let outside = block == self.at || Some(block) == self.meet;
                if !outside && !reaches[block] && self.successors(block).any(|next| reaches[next]) {
                    reaches[block] = true;
                    changed = true;
                }
            }
        }
        let mut zone: Vec<Range<u32>> = Vec::new();
        for (block, _) in self.blocks.iter().zip(reaches).filter(|(_, reaches)| *reaches) {
            let range = block.start as u32..block.end as u32;
            match zone.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => zone.push(range),
            }
        }
        Zone(zone)
    }
}
