//! The memory of a multiprocessor in a replay: shared memory and L1, and its share of L2 and of
//! device memory.

use super::rates::Rates;
use super::shape::Shape;
use super::sharing::{Shared, hash};
use super::ticks::{TICK, Ticks, ticks};
use crate::counters::trace::{Accesses, Trace};
use crate::counters::traffic::Blocks;
use crate::counters::{Counts, Traffic};

/// Bytes of a sector.
const SECTOR: f64 = 32.0;

/// Bytes that a multiprocessor gets from L2 in a clock at most.
const PORT: f64 = 64.0;

/// Lines that L1 looks up in a clock.
const LOOKUPS: f64 = 3.3;

/// Places of a sector in L1.
const WAYS: usize = 4;

/// Clocks for which a multiprocessor loads a word of constants for a warp, and by which each
/// further word is later: on an H200, for 1 to 8 warps that load 1 to 32 words
/// (docs/scripts/estimate).
const WORD_OF_CONSTANTS: (u64, u64) = (2, 11);

/// Sectors of a line.
const LINE: u64 = 4;

/// Lines whose stores L1 gathers if a warp stores to them again and again.
pub const GATHERED: usize = 4;

/// Clocks between lines of one request that L1 does not have.
const LINE_CLOCKS: f64 = 1.8;

/// Clocks by which each further line of a request to device memory is later.
const LINE_OF_DEVICE: Ticks = 14 * TICK;

/// Bytes that device memory moves at once, and those that it could move in the time in which it
/// reads or writes anything of a block of 256 bytes.
const BURST: f64 = 64.0;
const READ_BLOCK: f64 = 103.0;
const WRITTEN_BLOCK: f64 = 147.0;

/// The time of device memory for the reads of a launch, in bytes that it could move instead.
pub fn read_cost(blocks: &Blocks) -> f64 {
    blocks.sum(|_, pairs| (BURST * f64::from(pairs)).max(READ_BLOCK))
}

/// The time of device memory for stores that leave L2 during the launch, and for the reads that
/// they and atomics cause, in bytes like [`read_cost`].
pub fn written_cost(counts: &Counts, traffic: &Traffic, shape: Shape, rates: &Rates) -> f64 {
    let written = traffic.written_bytes() as f64;
    if written == 0.0 {
        return 0.0;
    }
    let kept = written.min(f64::from(shape.l2_bytes));
    let beyond = 1.0 - kept / written;
    let blocks = traffic.written_blocks();
    let cost = blocks.sum(|sectors, _| (SECTOR * f64::from(sectors)).max(WRITTEN_BLOCK));
    // What is stored in part is read before it leaves, and atomics read all that they change.
    let incomplete = (1.0 - counts.memory.store.bytes as f64 / written).clamp(0.0, 1.0);
    let is_updated = traffic.updates() > counts.memory.store.sectors;
    let filled = if is_updated { 1.0 } else { beyond };
    rates.written_back * kept + beyond * cost + filled * incomplete * read_cost(&blocks)
}

/// Averages over all blocks, for those that are replayed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Averages {
    /// How much of the data that blocks touch for the first time comes from device memory, and not
    /// from L2 because another block has touched it.
    first: f64,
    /// Bytes of device memory's time for each pair of sectors that a block touches.
    read: f64,
    /// Bytes of device memory's time for each stored sector.
    written: f64,
    /// Nanoseconds of an update.
    update_ns: f64,
    /// Traces that are replayed in turn.
    traces: u64,
}

impl Averages {
    /// Of a launch.
    pub fn new(
        counts: &Counts,
        traces: &[&Trace],
        shape: Shape,
        rates: &Rates,
        updates_ns: f64,
    ) -> Option<Self> {
        let traffic = counts.traffic.as_deref()?;
        let of_all =
            |touched: u64| touched as f64 / traces.len().max(1) as f64 * shape.blocks as f64;
        let sectors = of_all(traces.iter().map(|trace| trace.distinct(0)).sum());
        let pairs = of_all(traces.iter().map(|trace| trace.distinct(1)).sum());
        let share = |of: f64, all: f64| if all > 0.0 { of / all } else { 0.0 };
        let stored = counts.memory.store.sectors + traffic.updates();
        let updates = traffic.updates();
        Some(Self {
            first: share(traffic.read_bytes() as f64, sectors * SECTOR).min(1.0),
            read: share(read_cost(&traffic.read_blocks()), pairs),
            written: share(written_cost(counts, traffic, shape, rates), stored as f64),
            update_ns: share(updates_ns, updates as f64),
            traces: traces.len().max(1) as u64,
        })
    }
}

/// Ticks of a request to L2 for a part of a line.
#[derive(Debug, Clone, Copy)]
struct Request {
    sector: Ticks,
    line: Ticks,
}

impl Request {
    /// The time that the `last` sector of a line adds to the earlier ones. A load of few sectors
    /// takes as long as any line.
    fn more(self, last: u64) -> Ticks {
        let until = |sectors: u64| match sectors {
            0 => 0,
            _ => (sectors * self.sector).max(self.line),
        };
        until(last) - until(last - 1)
    }
}

/// Units that serve one request after the other.
#[derive(Debug)]
pub struct Memory<'r> {
    shared: &'r Shared,
    /// When L1 and the banks are free, the port to L2, the shares of atomics and device memory, and
    /// the unit of constants.
    front: Ticks,
    port: Ticks,
    updates: Ticks,
    device: Ticks,
    constants: Ticks,
    /// When the last store left.
    stored: Option<Ticks>,
    /// Ticks of a request to L2, of one that stores, of an atomic, of a pair of sectors from device
    /// memory and of a sector to it.
    of_l2: Request,
    to_l2: Request,
    update: Ticks,
    pair_of_device: Ticks,
    sector_to_device: Ticks,
    /// How long L2 was busy.
    pub busy: Ticks,
    shared_latency: Ticks,
    l1_latency: Ticks,
    l2_latency: Ticks,
    device_latency: Ticks,
    /// Blocks that start together find no data in L2.
    first_wave: u64,
    averages: Averages,
    /// L1: sectors and when they are there, by a hash of the sector.
    l1: Vec<[(u64, Ticks); WAYS]>,
    /// Sectors that the blocks have touched, by a hash.
    touched: Vec<u64>,
}

impl<'r> Memory<'r> {
    /// The memory of one of `active` multiprocessors.
    pub fn new(
        shape: Shape,
        rates: &Rates,
        active: f64,
        averages: Averages,
        of_blocks: &'r Shared,
    ) -> Self {
        let clocks = |ns: f64| ticks(ns * rates.clock_ghz * active);
        let per_clock = |per_ns: f64| (per_ns / rates.clock_ghz / active).min(PORT);
        let shared = u64::from(shape.shared_bytes) * u64::from(shape.resident);
        let cache = u64::from(shape.l1_bytes).saturating_sub(shared).max(16 << 10) / SECTOR as u64;
        Self {
            shared: of_blocks,
            front: 0,
            port: 0,
            updates: 0,
            device: 0,
            constants: 0,
            stored: None,
            of_l2: Request {
                sector: ticks(SECTOR / per_clock(rates.l2_bytes_per_ns)),
                line: clocks(1.0 / rates.l2_lines_per_ns).max(ticks(LINE_CLOCKS)),
            },
            to_l2: Request {
                sector: ticks(SECTOR / per_clock(rates.l2_stored_bytes_per_ns)),
                line: clocks(1.0 / rates.l2_lines_per_ns),
            },
            busy: 0,
            update: clocks(averages.update_ns),
            pair_of_device: ticks(averages.read / per_clock(rates.dram_bytes_per_ns)),
            sector_to_device: clocks(averages.written / rates.dram_bytes_per_ns),
            shared_latency: u64::from(rates.shared_latency) * TICK,
            l1_latency: u64::from(rates.l1_latency) * TICK,
            l2_latency: u64::from(rates.l2_latency) * TICK,
            device_latency: u64::from(rates.dram_latency) * TICK,
            first_wave: u64::from(shape.resident),
            averages,
            l1: vec![[(u64::MAX, 0); WAYS]; cache as usize / WAYS],
            touched: vec![u64::MAX; 1 << 16],
        }
    }

    /// Data of a load that issues at a time, by a block.
    pub fn load(
        &mut self,
        at: Ticks,
        access: Accesses<'_>,
        (cached, part): (bool, f64),
        block: u64,
    ) -> Ticks {
        let began = self.pass(at, access, part);
        let mut done = began + self.shared_latency;
        let (mut line, mut of_line, mut far_lines) = (u64::MAX, 0, 0);
        for &shared in access.sectors {
            let sector = self.shared.of_block(shared, block / self.averages.traces);
            let set = self.set(sector);
            let way = self.l1[set].iter().position(|known| known.0 == sector);
            // The one that was used last is the first.
            self.l1[set][..=way.unwrap_or(WAYS - 1)].rotate_right(1);
            if cached && way.is_some() {
                done = done.max(began + self.l1_latency).max(self.l1[set][0].1);
                continue;
            }
            if sector / LINE != line {
                (line, of_line) = (sector / LINE, 0);
            }
            of_line += 1;
            let arrived = self.take(began, self.of_l2.more(of_line)) + self.l2_latency;
            let there = match self.fetch(began, sector, self.is_far(shared, block)) {
                None => arrived,
                Some((fetched, false)) => arrived.max(fetched + self.l2_latency),
                Some((fetched, true)) => {
                    far_lines += u64::from(of_line == 1);
                    let others = far_lines.saturating_sub(1) * LINE_OF_DEVICE;
                    arrived.max(fetched + self.device_latency + others)
                }
            };
            self.l1[set][0] = (sector, there);
            done = done.max(there);
        }
        done
    }

    /// When L1 and the banks are free.
    pub fn front(&self) -> Ticks {
        self.front
    }

    /// When data that L1 has are there, of a load that issues at a time.
    pub fn hit(&self, at: Ticks) -> Ticks {
        at + self.l1_latency
    }

    /// When constants can be loaded, of which the lanes of a warp load so many different words: the
    /// time of one word less than their own.
    pub fn load_constants(&mut self, at: Ticks, words: u32) -> Ticks {
        let (words, began) = (u64::from(words), self.constants.max(at));
        self.constants = began + words * WORD_OF_CONSTANTS.0 * TICK;
        began + (words - 1) * WORD_OF_CONSTANTS.1 * TICK
    }

    /// The places in L1 that a sector may have. Each line has places for all of its sectors: an
    /// H200 holds the words of 1,536 lines, but not of 2,048 (docs/scripts/estimate).
    fn set(&self, sector: u64) -> usize {
        let lines = self.l1.len() / LINE as usize;
        hash(sector / LINE) % lines * LINE as usize + (sector % LINE) as usize
    }

    /// L2 is busy with a request that comes at a time; when it has served it.
    fn take(&mut self, at: Ticks, busy: Ticks) -> Ticks {
        self.port = self.port.max(at) + busy;
        self.busy += busy;
        self.port
    }

    /// Device memory moves the pair of sectors to which one belongs, if no block has touched it;
    /// when it has, and whether it is far.
    fn fetch(&mut self, at: Ticks, sector: u64, is_far: bool) -> Option<(Ticks, bool)> {
        let pair = sector >> 1;
        let place = hash(pair) % self.touched.len();
        if std::mem::replace(&mut self.touched[place], pair) == pair {
            return None;
        }
        self.device = self.device.max(at) + self.pair_of_device;
        Some((self.device, is_far))
    }

    /// Whether a block finds a sector that it touches first in device memory, and not in L2.
    fn is_far(&self, sector: u64, block: u64) -> bool {
        self.averages.first > 0.5 || block < self.first_wave && self.shared.is_far(sector)
    }

    /// A store that issues at a time. `gathered`: the lines of the warp's last stores.
    pub fn store(
        &mut self,
        at: Ticks,
        access: Accesses<'_>,
        part: f64,
        gathered: &mut [u64; GATHERED],
    ) {
        let began = self.pass(at, access, part);
        let mut lines: Vec<u64> = access.sectors.iter().map(|sector| sector / LINE).collect();
        lines.dedup();
        let fits = lines.len() <= GATHERED;
        if !(fits && lines.iter().all(|line| gathered.contains(line))) {
            let to_l2 = self.to_l2;
            let sectors = access.sectors.len() as u64;
            self.take(began, sectors * to_l2.sector + lines.len() as u64 * to_l2.line);
            *gathered = [u64::MAX; GATHERED];
            if fits {
                gathered[..lines.len()].copy_from_slice(&lines);
            }
        }
        self.leave(began, access.sectors, self.port);
    }

    /// Charges device memory for stored `sectors`, which leave L2 at some time.
    fn leave(&mut self, began: Ticks, sectors: &[u64], arrived: Ticks) {
        if !sectors.is_empty() {
            let taken = sectors.len() as u64 * self.sector_to_device;
            self.device = self.device.max(began) + taken;
            self.stored = Some(arrived.max(self.stored.unwrap_or(0)));
        }
    }

    /// When the last store has arrived in L2, and the multiprocessor knows.
    pub fn drained(&self) -> Ticks {
        self.stored.map_or(0, |stored| stored + self.l2_latency)
    }

    /// The old value of an atomic that issues at a time.
    pub fn update(&mut self, at: Ticks, access: Accesses<'_>, returns: bool) -> Ticks {
        let began = self.pass(at, access, 1.0);
        if !access.sectors.is_empty() {
            self.updates = self.updates.max(began) + access.sectors.len() as u64 * self.update;
            self.leave(began, access.sectors, self.updates);
        }
        match (returns, access.sectors.is_empty()) {
            (false, _) => began,
            (true, true) => began + self.shared_latency + u64::from(access.wavefronts) * TICK,
            (true, false) => self.updates.max(began) + self.l2_latency,
        }
    }

    /// A request goes through L1 or the banks. Only this part of it is left in machine code.
    fn pass(&mut self, at: Ticks, access: Accesses<'_>, part: f64) -> Ticks {
        let Accesses { wavefronts, sectors } = access;
        let wavefronts = part * f64::from(wavefronts);
        let began = self.front.max(at);
        let mut lines = 0;
        let mut last = u64::MAX;
        for sector in sectors {
            if sector / 4 != last {
                (last, lines) = (sector / 4, lines + 1);
            }
        }
        let lookups = part * (f64::from(lines) / LOOKUPS).max(sectors.len() as f64 / 4.0);
        self.front = began + ticks(wavefronts.max(lookups).max(part));
        began + ticks((wavefronts - 1.0).max(0.0))
    }
}
