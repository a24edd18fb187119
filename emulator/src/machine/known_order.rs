//! The order of blocks in a grid, by fences and by strong accesses that publish them.
//!
//! A block that executed a fence publishes its accesses before the fence with the first strong
//! write or atomic operation after it. The place then carries two ticks: of the block's last fence,
//! and of the write. A block that reads the place by a strong access knows every access, in
//! whatever block, that was fenced up to the one and published up to the other: at once if it
//! acquires or is atomic, otherwise once it executes a fence, or its threads meet. That is more
//! than PTX promises, so a race may be missed, and none is made up.

use super::hazard::Touch;
use crate::lower::inst::GridOrder;
use std::collections::HashMap;

/// Further places share one tick.
const MOST_PLACES: usize = 1 << 20;
/// Fences of a block that are remembered; accesses before older ones count as known.
const MOST_FENCES: usize = 1 << 12;

/// A tick that never comes.
const NEVER: u32 = u32::MAX;

/// The order of a launch's blocks.
#[derive(Debug, Default)]
pub struct KnownOrder {
    /// The ticks that each strongly written word carries.
    carried: HashMap<u64, Ticks>,
    /// The ticks that all places carry together, once there are too many.
    carried_anywhere: Ticks,
    blocks: HashMap<u32, Block>,
}

/// A fence, and the write that published it.
#[derive(Debug, Clone, Copy, Default)]
struct Ticks {
    fence: u32,
    write: u32,
}

impl Ticks {
    fn max(self, other: Self) -> Self {
        Self { fence: self.fence.max(other.fence), write: self.write.max(other.write) }
    }
}

#[derive(Debug, Default)]
struct Block {
    /// Up to which ticks it knows what was fenced and published.
    known: Ticks,
    /// The same once it executes a fence or its threads meet.
    seen: Ticks,
    /// Its last fence.
    fence: u32,
    /// Fences after which it accessed memory that is checked.
    fences: Vec<Ticks>,
    /// How many of the last ones no write has published.
    unpublished: usize,
    /// Up to which tick its fences are forgotten.
    forgotten: u32,
    /// Whether there were such accesses since the last fence.
    touched: bool,
}

impl KnownOrder {
    /// A launch begins.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    fn block(&mut self, block: u32) -> &mut Block {
        self.blocks.entry(block).or_default()
    }

    /// A block accesses memory that is checked.
    pub fn touch(&mut self, block: u32) {
        self.block(block).touched = true;
    }

    /// Threads of a block meet, or it executes a fence.
    pub fn meet(&mut self, block: u32) {
        let block = self.block(block);
        block.known = block.known.max(block.seen);
    }

    /// A block executes a fence at `tick`.
    pub fn fence(&mut self, block: u32, tick: u32) {
        let block = self.block(block);
        block.fence = tick;
        if std::mem::take(&mut block.touched) {
            block.fences.push(Ticks { fence: tick, write: NEVER });
            block.unpublished += 1;
        }
        if block.fences.len() > MOST_FENCES {
            block.forgotten = block.fences[MOST_FENCES / 2].fence;
            block.fences.drain(..=MOST_FENCES / 2);
            block.unpublished = block.unpublished.min(block.fences.len());
        }
    }

    /// Whether a strong write of a block would publish accesses.
    pub fn is_pending(&self, block: u32) -> bool {
        self.blocks.get(&block).is_some_and(|block| block.unpublished > 0)
    }

    /// A block accesses the word at `address` strongly, at `tick`.
    pub fn access(
        &mut self,
        (block, tick): (u32, u32),
        address: u64,
        touch: Touch,
        order: GridOrder,
    ) {
        let place = address / 4;
        let carried = self.carried.get(&place).copied().unwrap_or_default();
        let carried = carried.max(self.carried_anywhere);
        let state = self.block(block);
        if !matches!(touch, Touch::Write(_)) {
            state.seen = state.seen.max(carried);
            if touch == Touch::Update || order.acquires {
                state.known = state.known.max(state.seen);
            }
        }
        if touch == Touch::Read || state.fence == 0 {
            return;
        }
        let first = state.fences.len() - std::mem::take(&mut state.unpublished);
        state.fences[first..].iter_mut().for_each(|fence| fence.write = tick);
        let carried = carried.max(Ticks { fence: state.fence, write: tick });
        if self.carried.len() < MOST_PLACES {
            self.carried.insert(place, carried);
        } else {
            self.carried_anywhere = self.carried_anywhere.max(carried);
        }
    }

    /// Whether `block` knows what `other` did at `tick`.
    pub fn knows(&self, block: u32, (other, tick): (u32, u32)) -> bool {
        let (Some(block), Some(other)) = (self.blocks.get(&block), self.blocks.get(&other)) else {
            return false;
        };
        let first = other.fences.partition_point(|at| at.fence < tick);
        let is_known = |at: &Ticks| at.fence <= block.known.fence && at.write <= block.known.write;
        tick <= other.forgotten || other.fences.get(first).is_some_and(is_known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAG: u64 = 64;

    #[test]
    fn a_block_knows_what_was_fenced_before_the_flag_that_it_acquires() {
        let mut order = KnownOrder::default();
        let acquire = GridOrder { acquires: true, ..GridOrder::default() };
        for (tick, fenced) in [(1, false), (4, true)] {
            order.touch(0);
            if fenced {
                order.fence(0, tick + 1);
            }
            order.access((0, tick + 2), FLAG, Touch::Write(true), GridOrder::default());
            order.access((1, tick + 2), FLAG, Touch::Read, acquire);
            assert_eq!(order.knows(1, (0, tick)), fenced);
        }
        assert!(!order.knows(1, (0, 6)), "it came after the fence");
        assert!(!order.knows(2, (0, 4)), "that one acquired nothing");
    }

    #[test]
    fn a_relaxed_read_needs_a_fence_or_a_meeting_after_it() {
        let mut order = KnownOrder::default();
        order.touch(0);
        order.fence(0, 2);
        order.access((0, 3), FLAG, Touch::Update, GridOrder::default());
        order.access((1, 3), FLAG, Touch::Read, GridOrder::default());
        assert!(!order.knows(1, (0, 1)));
        order.meet(1);
        assert!(order.knows(1, (0, 1)));
        // An atomic operation needs none.
        order.access((2, 3), FLAG, Touch::Update, GridOrder::default());
        assert!(order.knows(2, (0, 1)));
    }

    #[test]
    fn a_later_fence_of_another_block_does_not_publish() {
        let mut order = KnownOrder::default();
        // Block 0 fences two accesses, and publishes the first.
        order.touch(0);
        order.fence(0, 2);
        order.access((0, 3), FLAG, Touch::Write(true), GridOrder::default());
        order.touch(0);
        order.fence(0, 5);
        order.fence(1, 6);
        order.access((1, 7), 2 * FLAG, Touch::Update, GridOrder::default());
        for place in [FLAG, 2 * FLAG] {
            order.access((2, 7), place, Touch::Update, GridOrder::default());
        }
        assert!(order.knows(2, (0, 1)) && !order.knows(2, (0, 4)));
        order.access((0, 8), FLAG, Touch::Write(true), GridOrder::default());
        order.access((2, 8), FLAG, Touch::Update, GridOrder::default());
        assert!(order.knows(2, (0, 4)));
    }

    #[test]
    fn many_fences_and_places_are_forgotten_for_good() {
        let mut order = KnownOrder::default();
        for tick in 1..=2 * MOST_FENCES as u32 {
            order.touch(0);
            order.fence(0, tick);
        }
        order.access((1, 3), FLAG, Touch::Read, GridOrder::default());
        assert!(order.knows(1, (0, 1)) && !order.knows(1, (0, 2 * MOST_FENCES as u32)));
        assert!(order.blocks[&0].fences.len() <= MOST_FENCES);
    }
}
