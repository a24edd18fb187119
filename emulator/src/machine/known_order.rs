//! The order of blocks in a grid, by fences and by strong accesses that publish them.
//!
//! A fence covers the earlier accesses of its lanes, and those of other threads of the block before
//! they met its warp. A barrier of the block covers its reads: they have their values, so that no
//! later write changes them, though PTX asks for a fence. CUB relies on it where it compacts in
//! place. The first strong write or atomic operation after a fence or barrier publishes it, if its
//! lanes are those of the fence or met its warp since. The place then carries two ticks: of the
//! block's last fence, and of the write; and two of its last barrier. A block that reads the place
//! by a strong access knows every access, in whatever block, with a fence that covers it and was
//! executed up to the one tick and published up to the other: at once if it acquires or is atomic,
//! otherwise once it executes a fence, or its threads meet. That is more than PTX promises, so a
//! race may be missed, and none is made up.

use super::cells::Record;
use super::hazard::{LANES, Touch};
use crate::lower::inst::GridOrder;
use std::collections::HashMap;

/// Further places share one tick.
const MOST_PLACES: usize = 1 << 20;
/// Fences of a block that are remembered; accesses before older ones count as known.
const MOST_FENCES: usize = 1 << 12;
/// Fences of a block that may wait for a write; older ones count as published.
const MOST_UNPUBLISHED: usize = 64;

/// A tick that never comes.
const NEVER: u32 = u32::MAX;

/// The order of a launch's blocks.
#[derive(Debug, Default)]
pub struct KnownOrder {
    /// The ticks that each strongly written word carries.
    carried: HashMap<u64, Known>,
    /// The ticks that all places carry together, once there are too many.
    carried_anywhere: Known,
    blocks: HashMap<u32, Block>,
}

/// Lanes that execute a fence or write to a flag.
#[derive(Debug, Clone, Copy, Default)]
pub struct Publisher {
    /// Their warp.
    pub warp: u32,
    /// The lanes.
    pub lanes: u32,
    /// Accesses of other warps before this tick are ordered before theirs.
    pub met: u32,
    /// So are accesses of other lanes of the warp before this tick.
    pub warp_met: u32,
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

/// Up to which ticks fences and barriers are known.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    fences: Ticks,
    barriers: Ticks,
}

impl Known {
    fn max(self, other: Self) -> Self {
        let (fences, barriers) = (&other.fences, &other.barriers);
        Self { fences: self.fences.max(*fences), barriers: self.barriers.max(*barriers) }
    }

    /// Whether `fence` is among them.
    fn contains(&self, fence: &Fence) -> bool {
        let known = if fence.of_reads { self.barriers } else { self.fences };
        fence.ticks.fence <= known.fence && fence.ticks.write <= known.write
    }
}

/// A fence, or a barrier of the block.
#[derive(Debug)]
struct Fence {
    ticks: Ticks,
    by: Publisher,
    /// It is a barrier, which orders reads alone.
    of_reads: bool,
}

impl Fence {
    /// Whether it orders an access of its block, a write or not, before later ones.
    fn covers(&self, record: &Record, wrote: bool) -> bool {
        if self.of_reads {
            return !wrote;
        }
        let (when, by) = (record.when, record.by);
        let is_own = || {
            let lane = 1 << (by.thread() % 32);
            by.0 & LANES != 0 || self.by.lanes & lane != 0 || when < self.by.warp_met
        };
        let is_of_warp = by.warp() as u32 == self.by.warp;
        by.of_several_warps() || when < self.by.met || (is_of_warp && is_own())
    }

    /// Whether it is ordered before the access of `writer`.
    fn is_before(&self, writer: &Publisher) -> bool {
        let when = self.ticks.fence;
        if self.of_reads {
            return when < writer.met;
        }
        let is_own = self.by.lanes & writer.lanes != 0 || when < writer.warp_met;
        when < writer.met || (self.by.warp == writer.warp && is_own)
    }
}

#[derive(Debug, Default)]
struct Block {
    /// Up to which ticks it knows what was fenced and published.
    known: Known,
    /// The same once it executes a fence or its threads meet.
    seen: Known,
    /// Its last fence.
    fence: u32,
    /// Its last barrier.
    barrier: u32,
    /// Fences after which it accessed memory that is checked.
    fences: Vec<Fence>,
    /// How many of the last ones may wait for a write that publishes them.
    unpublished: usize,
    /// Up to which tick its fences are forgotten.
    forgotten: u32,
    /// The warps that have executed no fence since the last such access.
    behind: u32,
}

impl Block {
    /// The fences that may wait for a write.
    fn unpublished(&mut self) -> &mut [Fence] {
        let first = self.fences.len() - self.unpublished;
        &mut self.fences[first..]
    }

    /// A fence is executed.
    fn push(&mut self, fence: Fence) {
        let tick = fence.ticks.fence;
        self.fences.push(fence);
        self.unpublished += 1;
        if self.unpublished > MOST_UNPUBLISHED {
            self.publish(tick, None);
        }
        if self.fences.len() > MOST_FENCES {
            self.forgotten = self.fences[MOST_FENCES / 2].ticks.fence;
            self.fences.drain(..=MOST_FENCES / 2);
            self.unpublished = self.unpublished.min(self.fences.len());
        }
    }

    fn publish(&mut self, tick: u32, writer: Option<&Publisher>) {
        let is_waiting = |fence: &Fence| fence.ticks.write == NEVER;
        for fence in self.unpublished() {
            if is_waiting(fence) && writer.is_none_or(|writer| fence.is_before(writer)) {
                fence.ticks.write = tick;
            }
        }
        let done = self.unpublished().iter().take_while(|fence| !is_waiting(fence)).count();
        self.unpublished -= done;
    }
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
        self.block(block).behind = u32::MAX;
    }

    /// Threads of a block meet, or it executes a fence.
    pub fn meet(&mut self, block: u32) {
        let block = self.block(block);
        block.known = block.known.max(block.seen);
    }

    /// Lanes of a block execute a fence at `tick`.
    pub fn fence(&mut self, block: u32, tick: u32, by: Publisher) {
        let block = self.block(block);
        block.fence = tick;
        let warp = 1 << (by.warp & 31);
        if block.behind & warp != 0 {
            block.behind &= !warp;
            block.push(Fence { ticks: Ticks { fence: tick, write: NEVER }, by, of_reads: false });
        }
    }

    /// The reads of a block so far have their values, as its threads meet: at `tick`.
    pub fn end_reads(&mut self, block: u32, tick: u32) {
        let block = self.block(block);
        block.barrier = tick;
        let ticks = Ticks { fence: tick, write: NEVER };
        match block.unpublished().last_mut() {
            Some(last) if last.of_reads && last.ticks.write == NEVER => last.ticks = ticks,
            _ => block.push(Fence { ticks, by: Publisher::default(), of_reads: true }),
        }
    }

    /// Whether a strong write of a block may publish accesses.
    pub fn is_pending(&self, block: u32) -> bool {
        self.blocks.get(&block).is_some_and(|block| block.unpublished > 0)
    }

    /// Lanes of a block write strongly at `tick`.
    pub fn publish(&mut self, (block, tick): (u32, u32), writer: Publisher) {
        self.block(block).publish(tick, Some(&writer));
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
        // Nobody learns anything by a reduction, or if the old value decides nothing.
        if matches!(touch, Touch::Read | Touch::Update(true)) {
            state.seen = state.seen.max(carried);
            if touch != Touch::Read || order.acquires {
                state.known = state.known.max(state.seen);
            }
        }
        if touch == Touch::Read || state.fence.max(state.barrier) == 0 {
            return;
        }
        let written_after = |fence: u32| match fence {
            0 => Ticks::default(),
            _ => Ticks { fence, write: tick },
        };
        let (fences, barriers) = (written_after(state.fence), written_after(state.barrier));
        let carried = carried.max(Known { fences, barriers });
        if self.carried.len() < MOST_PLACES {
            self.carried.insert(place, carried);
        } else {
            self.carried_anywhere = self.carried_anywhere.max(carried);
        }
    }

    /// Whether `block` knows an access of another, a write or not.
    pub fn knows(&self, block: u32, record: &Record, wrote: bool) -> bool {
        let Some(other) = self.blocks.get(&record.block) else { return false };
        let Some(Block { known, .. }) = self.blocks.get(&block) else { return false };
        let first = other.fences.partition_point(|at| at.ticks.fence < record.when);
        let last = known.fences.fence.max(known.barriers.fence);
        let up_to_now = other.fences[first..].iter().take_while(|at| at.ticks.fence <= last);
        let mut published = up_to_now.filter(|at| known.contains(at));
        record.when <= other.forgotten || published.any(|at| at.covers(record, wrote))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::inst::Sharing;
    use crate::machine::hazard::By;

    const FLAG: u64 = 64;

    /// Lane 0 of a warp, which met no other thread.
    fn lane_0(warp: u32) -> Publisher {
        Publisher { warp, lanes: 1, met: 0, warp_met: 0 }
    }

    /// Whether a block knows an access of lane 0 of the first warp of another.
    fn knows(order: &KnownOrder, block: u32, (other, when): (u32, u32)) -> bool {
        let record = Record { when, block: other, by: By::new(0, 0, Sharing::Plain) };
        order.knows(block, &record, true)
    }

    /// Lane 0 of the first warp writes a flag.
    fn write(order: &mut KnownOrder, me: (u32, u32), place: u64, touch: Touch) {
        order.publish(me, lane_0(0));
        order.access(me, place, touch, GridOrder::default());
    }

    #[test]
    fn acquiring_a_flag_orders_writes_fenced_before_it() {
        let mut order = KnownOrder::default();
        let acquire = GridOrder { acquires: true, ..GridOrder::default() };
        for (tick, fenced) in [(1, false), (4, true)] {
            order.touch(0);
            if fenced {
                order.fence(0, tick + 1, lane_0(0));
            }
            write(&mut order, (0, tick + 2), FLAG, Touch::Write(true));
            order.access((1, tick + 2), FLAG, Touch::Read, acquire);
            assert_eq!(knows(&order, 1, (0, tick)), fenced);
        }
        assert!(!knows(&order, 1, (0, 6)), "it came after the fence");
        assert!(!knows(&order, 2, (0, 4)), "that one acquired nothing");
    }

    #[test]
    fn a_relaxed_read_orders_only_with_a_later_fence_or_barrier() {
        let mut order = KnownOrder::default();
        order.touch(0);
        order.fence(0, 2, lane_0(0));
        write(&mut order, (0, 3), FLAG, Touch::Update(true));
        order.access((1, 3), FLAG, Touch::Read, GridOrder::default());
        assert!(!knows(&order, 1, (0, 1)));
        order.meet(1);
        assert!(knows(&order, 1, (0, 1)));
        // An atomic operation needs none.
        write(&mut order, (2, 3), FLAG, Touch::Update(true));
        assert!(knows(&order, 2, (0, 1)));
    }

    #[test]
    fn a_barrier_and_a_flag_order_reads_alone() {
        let mut order = KnownOrder::default();
        let reader = |order: &KnownOrder, wrote| {
            let record = Record { when: 1, block: 0, by: By::new(0, 0, Sharing::Plain) };
            order.knows(1, &record, wrote)
        };
        let after_barrier = Publisher { met: 2, warp_met: 2, ..lane_0(0) };
        order.end_reads(0, 1);
        for (tick, publisher, known) in [(3, lane_0(0), false), (5, after_barrier, true)] {
            order.publish((0, tick), publisher);
            order.access((0, tick), FLAG, Touch::Write(true), GridOrder::default());
            order.access((1, tick), FLAG, Touch::Read, GridOrder::default());
            assert!(!reader(&order, false), "it has not met since");
            order.meet(1);
            assert_eq!((reader(&order, false), reader(&order, true)), (known, false));
        }
        // A later barrier, before anything was published, is one with the first.
        for tick in 6..100 {
            order.end_reads(0, tick);
        }
        assert_eq!(order.blocks[&0].fences.len(), 2);
    }

    #[test]
    fn a_fence_of_another_block_does_not_publish() {
        let mut order = KnownOrder::default();
        // Block 0 fences two accesses, and publishes the first.
        order.touch(0);
        order.fence(0, 2, lane_0(0));
        write(&mut order, (0, 3), FLAG, Touch::Write(true));
        order.touch(0);
        order.fence(0, 5, lane_0(0));
        order.fence(1, 6, lane_0(0));
        write(&mut order, (1, 7), 2 * FLAG, Touch::Update(true));
        for place in [FLAG, 2 * FLAG] {
            write(&mut order, (2, 7), place, Touch::Update(true));
        }
        assert!(knows(&order, 2, (0, 1)) && !knows(&order, 2, (0, 4)));
        write(&mut order, (0, 8), FLAG, Touch::Write(true));
        write(&mut order, (2, 8), FLAG, Touch::Update(true));
        assert!(knows(&order, 2, (0, 4)));
    }

    #[test]
    fn the_number_of_remembered_fences_and_addresses_is_bounded() {
        let mut order = KnownOrder::default();
        for tick in 1..=2 * MOST_FENCES as u32 {
            order.touch(0);
            order.fence(0, tick, lane_0(0));
        }
        order.access((1, 3), FLAG, Touch::Read, GridOrder::default());
        assert!(knows(&order, 1, (0, 1)) && !knows(&order, 1, (0, 2 * MOST_FENCES as u32)));
        assert!(order.blocks[&0].fences.len() <= MOST_FENCES);
    }
}
