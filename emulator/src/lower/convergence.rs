//! The points at which the lanes of a divergent branch meet again.
//!
//! Input: the blocks of a function. Output: for each conditional branch its [`Convergence`]: the
//! block at which all of its lanes meet (`flow`), and the blocks before it that several ways share,
//! as the arms of a short-circuit condition or a `switch` that falls through do. ptxas puts a
//! convergence barrier at both kinds, and removes a lane from the second kind where it can no
//! longer reach the block.

use super::block_set::BlockSet;
use super::blocks::{Block, Flow};
use super::inst::NOWHERE;
use std::ops::Range;

/// The meeting points of the lanes of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Convergence {
    /// The block at which all lanes meet, except those that leave the function before, or
    /// [`NOWHERE`].
    pub meet: u32,
    /// The zone from which `meet` can be reached, if some ways leave the function before it;
    /// otherwise [`NOWHERE`].
    pub zone: u32,
    /// Blocks at which some of them meet before that.
    pub joins: Vec<Join>,
    /// Several ways lead to a block before `meet`: to a join, or to a block with a zone that
    /// crosses a join's.
    pub is_irregular: bool,
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
    pub const NONE: Self =
        Self { meet: NOWHERE, zone: NOWHERE, joins: Vec::new(), is_irregular: false };
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

/// A block that several ways share, and the blocks from which lanes can reach it.
struct SharedBlock {
    block: usize,
    /// Its zone, with the block that dominates it and the block itself.
    zone: BlockSet,
    /// `None` if its zone crosses that of a join.
    join: Option<Join>,
}

/// The shared blocks of a function.
pub struct SharedBlocks {
    list: Vec<SharedBlock>,
    /// For each block, the shared blocks with a zone that contains it.
    by_block: Vec<Vec<usize>>,
}

impl SharedBlocks {
    /// Finds those of a function whose branches meet at `meets`, if `may_join` holds for them and
    /// the block above them. Of several whose zones cross, the first in ptxas's layout is a join.
    pub fn find(
        (blocks, flow): (&[Block], &Flow),
        meets: &[Option<usize>],
        may_join: impl Fn(usize, usize) -> bool,
        zones: &mut Vec<Zone>,
    ) -> Self {
        let mut order: Vec<usize> = (0..blocks.len()).filter(|&at| flow.is_reached(at)).collect();
        order.sort_by_key(|&at| flow.rank[at]);
        let mut this = Self { list: Vec::new(), by_block: vec![Vec::new(); blocks.len()] };
        for block in order {
            let Some(above) = flow.dominators[block] else { continue };
            let forward = flow.predecessors[block].iter().filter(|&&at| !flow.dominates(block, at));
            let is_shared = forward.count() > 1 && meets[above] != Some(block);
            if !is_shared || !may_join(block, above) {
                continue;
            }
            let zone = find_zone(flow, above, block);
            let join = (!this.is_crossed(block, &zone, above)).then(|| {
                zones.push(Zone::new(blocks, zone.iter()));
                Join { meet: blocks[block].start as u32, zone: zones.len() as u32 - 1 }
            });
            zone.iter().for_each(|at| this.by_block[at].push(this.list.len()));
            this.list.push(SharedBlock { block, zone, join });
        }
        this
    }

    /// The convergence of lanes that diverge at the end of a block and all meet at `meet`, or leave
    /// its zone.
    pub fn converge_at(&self, block: usize, (meet, zone): (u32, u32)) -> Convergence {
        let ahead = self.by_block[block].iter().map(|&at| &self.list[at]);
        let ahead = ahead.filter(|other| block != other.block);
        let joins = ahead.clone().filter_map(|other| other.join).collect();
        Convergence { meet, zone, joins, is_irregular: ahead.count() > 0 }
    }

    /// Whether the zone of `block` and that of a join share more than the block above them, and
    /// neither lies in the other.
    fn is_crossed(&self, block: usize, zone: &BlockSet, above: usize) -> bool {
        self.list.iter().filter(|other| other.join.is_some()).any(|other| {
            let is_inner = other.zone.contains(block) && zone.is_subset(&other.zone);
            let is_outer = zone.contains(other.block) && other.zone.is_subset(zone);
            zone.meets(&other.zone, above) && !is_inner && !is_outer
        })
    }
}

/// The blocks on the ways from `above` to `join`, both included.
fn find_zone(flow: &Flow, above: usize, join: usize) -> BlockSet {
    let mut zone = BlockSet::new(flow.rank.len());
    zone.insert(above);
    let mut waiting = vec![join];
    while let Some(block) = waiting.pop() {
        if zone.insert(block) {
            let lead = flow.predecessors[block].iter().copied();
            waiting.extend(lead.filter(|&at| flow.is_reached(at) && !zone.contains(at)));
        }
    }
    zone
}

impl Zone {
    /// The instructions of blocks, given in order.
    pub fn new(blocks: &[Block], inside: impl Iterator<Item = usize>) -> Self {
        let mut zone: Vec<Range<u32>> = Vec::new();
        for block in inside.map(|at| &blocks[at]) {
            let range = block.start as u32..block.end as u32;
            match zone.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => zone.push(range),
            }
        }
        Self(zone)
    }
}
