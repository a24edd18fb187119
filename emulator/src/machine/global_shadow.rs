//! The shadow of global memory: it finds races of the checked blocks of a launch.
//!
//! Input: the logs of blocks. Those of one block come in their order, those of blocks that may
//! order each other in the order of execution, and those of other blocks in the order of blocks.
//! Output: the first access that races with an earlier one.
//!
//! Within a block the rules are those of `shadow`. Two accesses of different blocks race if one of
//! them writes, not both are strong, and no fence and flag order them (`KnownOrder`). Nobody sees
//! which of several plain stores of one value came first, so they do not race.
//!
//! Time is counted in ticks, one for each event that orders anything in some block. Ticks continue
//! from launch to launch, so nothing has to be cleared between them.

use super::access_log::{AccessLog, Entry, LaneAccess, Meeting, lanes_of};
use super::cells::{Accessor, Cells, Record};
use super::hazard::{By, Touch};
use super::known_order::{KnownOrder, Publisher};
use super::lane_order::LaneOrder;
use super::regions::{Read, Regions};
use std::collections::HashMap;
use std::ops::Range;

/// From here on the next launch begins with new ticks.
const LATE: u32 = 1 << 30;
/// The tick at which time stands still.
const LAST: u32 = u32::MAX - 1;

/// An access that races with an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GlobalRace {
    /// Its address.
    pub address: u64,
    /// Its bytes.
    pub bytes: u32,
    /// Whether it reads, writes or updates.
    pub touch: Touch,
    /// Its thread and instruction.
    pub by: By,
    /// Those of the earlier one.
    pub other: By,
    /// The block of the earlier one.
    pub other_block: u32,
    /// Whether the earlier one wrote.
    pub wrote: bool,
}

/// When the threads of a block met.
#[derive(Debug)]
struct Met {
    all: u32,
    /// For each warp a tick: all that the block did before it comes before the warp's next access.
    ordered: [u32; 32],
    /// When all met, or a warp last executed an operation that orders memory.
    last_order: u32,
    /// When each warp last saw the accesses of other threads.
    looked: [u32; 32],
    warps: [u32; 32],
    lanes: LaneOrder,
}

impl Met {
    /// Of a block that begins at this tick.
    fn new(tick: u32) -> Self {
        let (none, lanes) = ([0; 32], LaneOrder::default());
        Self { all: tick, ordered: none, last_order: tick, looked: none, warps: none, lanes }
    }

    /// Threads meet, or warps order memory, at this tick.
    fn meet(&mut self, meeting: Meeting, tick: u32) {
        if meeting.block || meeting.ordering != 0 {
            self.last_order = tick;
        }
        if meeting.block {
            self.all = tick;
        }
        for warp in lanes_of(meeting.ordering | meeting.caught_up) {
            self.ordered[warp] = self.last_order;
        }
        for warp in lanes_of(meeting.warps) {
            self.warps[warp] = tick;
        }
        for warp in lanes_of(meeting.looked) {
            self.looked[warp] = tick;
        }
    }

    /// Lanes of a warp, and the accesses that a meeting or a look orders before their next one.
    fn publisher(&self, warp: u32, lanes: u32) -> Publisher {
        let at = warp as usize;
        let met = self.all.max(self.looked[at]);
        let warp_met = met.max(self.warps[at]).max(self.lanes.last_of(warp));
        Publisher { warp, lanes, met, warp_met }
    }
}

/// The shadow.
#[derive(Debug, Default)]
pub struct GlobalShadow {
    cells: Cells,
    regions: Regions,
    order: KnownOrder,
    blocks: HashMap<u32, Met>,
    now: u32,
    /// A cell is `1 << grain` bytes.
    grain: u32,
    /// Whether blocks may order each other.
    orders: bool,
}

/// Reads the log of one block.
struct Reader<'s> {
    shadow: &'s mut GlobalShadow,
    block: u32,
    checked: bool,
    met: Met,
}

impl GlobalShadow {
    /// A launch begins. A cell is `1 << grain` bytes, as many as the narrowest access has.
    /// `orders`: blocks may order each other. `allocations` are those of the device.
    pub fn begin(
        &mut self,
        grain: u32,
        orders: bool,
        allocations: impl Iterator<Item = Range<u64>>,
    ) {
        self.regions.begin(allocations);
        let forget = self.now >= LATE;
        self.now = if forget { 1 } else { self.now + 1 };
        self.cells.begin(self.now, forget);
        self.order.clear();
        self.blocks.clear();
        (self.grain, self.orders) = (grain, orders);
    }

    /// Whether the launch accessed more memory than is recorded, so that races may be missed.
    pub fn is_full(&self) -> bool {
        self.cells.is_full
    }

    fn tick(&mut self) -> u32 {
        self.now = (self.now + 1).min(LAST);
        self.now
    }

    /// Looks at the next part of a block's log.
    ///
    /// # Errors
    /// The first access that races with an earlier one.
    pub fn read(&mut self, block: u32, log: &AccessLog) -> Result<(), GlobalRace> {
        let met = self.blocks.remove(&block);
        let met = met.unwrap_or_else(|| Met::new(self.tick()));
        let mut reader = Reader { shadow: self, block, checked: log.checking, met };
        let mut words = log.words.as_slice();
        let found = log.entries.iter().try_for_each(|entry| reader.follow(entry, &mut words));
        let Reader { met, .. } = reader;
        self.blocks.insert(block, met);
        found
    }

    /// Remembers a read that was kept.
    fn note_read(&mut self, read: &Read, offsets: &[u32]) {
        let grain = self.grain;
        for (lane, offset) in lanes_of(read.lanes).zip(offsets) {
            let me = Accessor { by: read.me.by.lane(lane), ..read.me };
            let address = read.first + u64::from(*offset);
            let last = address + u64::from(read.bytes) - 1;
            for cell in address >> grain..(last >> grain) + 1 {
                self.cells.note(cell, &me, (Touch::Read, 0));
            }
        }
    }

    /// A block has ended.
    pub fn end(&mut self, block: u32) {
        self.blocks.remove(&block);
    }
}

/// The first words of a log.
fn take<'w>(words: &mut &'w [u32], count: usize) -> &'w [u32] {
    let (taken, rest) = words.split_at_checked(count).unwrap_or((words, &[]));
    *words = rest;
    taken
}

impl Reader<'_> {
    fn follow(&mut self, entry: &Entry, words: &mut &[u32]) -> Result<(), GlobalRace> {
        match *entry {
            Entry::Meeting(meeting) => self.meet(meeting),
            Entry::PartMeets(warp, lanes) => {
                let now = self.shadow.tick();
                self.met.lanes.meet(warp, lanes, now);
            }
            Entry::Fence(warp, lanes) => self.fence(warp, lanes),
            Entry::ReadRow(by, first) => {
                let me = self.accessor(by);
                if self.keep(&row_access(by, Touch::Read), first, None) {
                    return Ok(());
                }
                let row = self.row(first);
                if !row.is_some_and(|cell| self.shadow.cells.read_row(cell, &me)) {
                    self.access(&row_access(by, Touch::Read), first, &row_offsets(), &[])?;
                }
            }
            Entry::WriteRow(by, first) => {
                let taken = take(words, 32);
                self.settle(first);
                let row = self.row(first);
                let me = self.accessor(by);
                let whole = taken.first_chunk::<32>();
                let done = row
                    .zip(whole)
                    .is_some_and(|(cell, values)| self.shadow.cells.write_row(cell, &me, values));
                if !done {
                    let access = row_access(by, Touch::Write(true));
                    self.access(&access, first, &row_offsets(), taken)?;
                }
            }
            Entry::Lanes(access, first) => {
                let lanes = access.lanes.count_ones() as usize;
                let offsets = take(words, lanes);
                let written = match access.touch {
                    Touch::Write(_) => lanes * access.bytes.div_ceil(4) as usize,
                    Touch::Read | Touch::Update(_) => 0,
                };
                let values = take(words, written);
                if access.by.is_strong() && self.shadow.orders {
                    self.order(&access, first, offsets);
                }
                if self.checked {
                    if self.keep(&access, first, Some(offsets)) {
                        return Ok(());
                    }
                    if access.touch != Touch::Read {
                        offsets.iter().for_each(|offset| self.settle(first + u64::from(*offset)));
                    }
                    self.access(&access, first, offsets, values)?;
                }
            }
        }
        Ok(())
    }

    /// Keeps a plain read of an allocation that has not been written: a row if there are no
    /// offsets.
    #[inline(always)]
    fn keep(&mut self, access: &LaneAccess, first: u64, offsets: Option<&[u32]>) -> bool {
        if access.touch != Touch::Read || access.by.is_strong() {
            return false;
        }
        self.touch();
        let (me, LaneAccess { lanes, bytes, .. }) = (self.accessor(access.by), *access);
        let is_row = offsets.is_none();
        let read = Read { me, lanes, bytes, first, is_row };
        self.shadow.regions.keep(read, offsets.unwrap_or_default())
    }

    /// The allocation of `address` is written: its reads so far count from now on.
    fn settle(&mut self, address: u64) {
        let Some(kept) = self.shadow.regions.write(address) else { return };
        let mut words = kept.words.as_slice();
        for read in kept.reads {
            if read.is_row {
                self.shadow.note_read(&read, &row_offsets());
            } else {
                let offsets = take(&mut words, read.lanes.count_ones() as usize);
                self.shadow.note_read(&read, offsets);
            }
        }
    }

    /// The block accesses memory that is checked.
    fn touch(&mut self) {
        if self.shadow.orders {
            self.shadow.order.touch(self.block);
        }
    }

    /// The cell of the first word of a row, if words are cells.
    fn row(&mut self, first: u64) -> Option<u64> {
        self.touch();
        (self.shadow.grain == 2 && first.is_multiple_of(4)).then_some(first / 4)
    }

    fn accessor(&self, by: By) -> Accessor {
        let warp = by.warp();
        let met = self.met.all.max(self.met.ordered[warp]);
        let warp_met = met.max(self.met.warps[warp]);
        let (block, now) = (self.block, self.shadow.now);
        let in_parts = self.met.lanes.last(by) > warp_met;
        let read_met = if in_parts { u32::MAX } else { warp_met };
        Accessor { block, by, now, met, warp_met, read_met }
    }

    fn meet(&mut self, meeting: Meeting) {
        let before = self.shadow.now;
        let now = self.shadow.tick();
        self.met.meet(meeting, now);
        if self.shadow.orders && meeting.block {
            self.shadow.order.end_reads(self.block, before);
        }
        let meets = Meeting { caught_up: 0, looked: 0, ..meeting } != Meeting::default();
        if self.shadow.orders && meets {
            self.shadow.order.meet(self.block);
        }
    }

    fn fence(&mut self, warp: u32, lanes: u32) {
        let (tick, by) = (self.shadow.now, self.met.publisher(warp, lanes));
        self.shadow.order.fence(self.block, tick, by);
        self.shadow.tick();
    }

    /// A strong access may order blocks.
    fn order(&mut self, access: &LaneAccess, first: u64, offsets: &[u32]) {
        let warp = access.by.warp() as u32;
        if access.order.releases {
            self.fence(warp, access.lanes);
        }
        if access.touch != Touch::Read && self.shadow.order.is_pending(self.block) {
            self.shadow.tick();
        }
        let me = (self.block, self.shadow.now);
        if access.touch != Touch::Read {
            self.shadow.order.publish(me, self.met.publisher(warp, access.lanes));
        }
        for offset in offsets {
            for at in (0..access.bytes).step_by(4) {
                let place = first + u64::from(*offset) + u64::from(at);
                self.shadow.order.access(me, place, access.touch, access.order);
            }
        }
    }

    /// Remembers the updates of all lanes, unless one of them may race.
    fn update(&mut self, access: &LaneAccess, first: u64, offsets: &[u32]) -> bool {
        let (me, grain) = (self.accessor(access.by), self.shadow.grain);
        let is_one_place = offsets.windows(2).all(|pair| pair[0] == pair[1]);
        // A cell keeps the highest lane.
        let lanes = if is_one_place { 1 << access.lanes.ilog2() } else { access.lanes };
        lanes_of(lanes).zip(offsets).all(|(lane, offset)| {
            let me = Accessor { by: me.by.lane(lane), ..me };
            let address = first + u64::from(*offset);
            let last = address + u64::from(access.bytes) - 1;
            let mut cells = address >> grain..(last >> grain) + 1;
            cells.all(|cell| self.shadow.cells.update(cell, &me, access.touch))
        })
    }

    /// Looks at all lanes of an access, then remembers them.
    fn access(
        &mut self,
        access: &LaneAccess,
        first: u64,
        offsets: &[u32],
        values: &[u32],
    ) -> Result<(), GlobalRace> {
        self.touch();
        if matches!(access.touch, Touch::Update(_)) && self.update(access, first, offsets) {
            return Ok(());
        }
        let grain = self.shadow.grain;
        let places = lanes_of(access.lanes).zip(offsets).enumerate();
        let cells = places.flat_map(|(at, (lane, offset))| {
            let address = first + u64::from(*offset);
            let last = address + u64::from(access.bytes) - 1;
            (address >> grain..(last >> grain) + 1).map(move |cell| (at, lane, address, cell))
        });
        let words = access.bytes.div_ceil(4) as usize;
        let value = |at: usize, address: u64, cell: u64| {
            let byte = (cell << grain).saturating_sub(address) as usize;
            let word = values.get(at * words + byte / 4).copied().unwrap_or(0);
            let bits = 8 << grain;
            let low = word >> (8 * (byte % 4));
            if bits < 32 { low & ((1 << bits) - 1) } else { low }
        };
        let me = self.accessor(access.by);
        let order = &self.shadow.order;
        let (block, lanes_met) = (self.block, &self.met.lanes);
        let knows = |by: By, other: &Record, wrote: bool| match other.block == block {
            true => lanes_met.knows(by, (other.by, other.when)),
            false => order.knows(block, other, wrote),
        };
        for (at, lane, address, cell) in cells.clone() {
            let me = Accessor { by: me.by.lane(lane), ..me };
            let touch = (access.touch, value(at, address, cell));
            let knows = |other: &Record, wrote| knows(me.by, other, wrote);
            if let Some((other, wrote)) = self.shadow.cells.race(cell, &me, touch, knows) {
                let (touch, bytes) = (access.touch, access.bytes);
                let (by, other, other_block) = (me.by, other.by, other.block);
                return Err(GlobalRace { address, bytes, touch, by, other, other_block, wrote });
            }
        }
        for (at, lane, address, cell) in cells {
            let me = Accessor { by: me.by.lane(lane), ..me };
            self.shadow.cells.note(cell, &me, (access.touch, value(at, address, cell)));
        }
        Ok(())
    }
}

fn row_access(by: By, touch: Touch) -> LaneAccess {
    LaneAccess { by, touch, order: Default::default(), bytes: 4, lanes: u32::MAX }
}

fn row_offsets() -> [u32; 32] {
    std::array::from_fn(|lane| 4 * lane as u32)
}
