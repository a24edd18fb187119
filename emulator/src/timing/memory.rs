//! The memory of a multiprocessor in a replay: shared memory and L1, and its share of L2 and of
//! device memory.

use super::rates::Rates;
use super::shape::Shape;
use super::ticks::{TICK, Ticks, ticks};
use crate::counters::trace::{Accesses, Trace};
use crate::counters::{Counts, Traffic};

/// Bytes of a sector.
const SECTOR: f64 = 32.0;

/// Bytes that a multiprocessor gets from L2 in a clock at most.
const PORT: f64 = 64.0;

/// Lines that L1 looks up in a clock.
const LOOKUPS: f64 = 3.3;

/// Bytes of stores that go to device memory during the launch.
pub fn written_back(traffic: &Traffic, shape: Shape, rates: &Rates) -> f64 {
    let written = traffic.written_bytes() as f64;
    let kept = written.min(f64::from(shape.l2_bytes));
    written - kept + rates.written_back * kept
}

/// Averages over all blocks, for those that are replayed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Averages {
    /// How much of the data that blocks touch for the first time comes from device memory, and not
    /// from L2 because another block has touched it.
    first: f64,
    /// Bytes that go to device memory for each sector that is stored.
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
        let touched: u64 = traces.iter().map(|trace| trace.distinct_sectors()).sum();
        let all = touched as f64 / traces.len().max(1) as f64 * shape.blocks as f64 * SECTOR;
        let share = |of: f64, all: f64| if all > 0.0 { of / all } else { 0.0 };
        let stored = counts.memory.store.sectors + traffic.updates();
        let updates = traffic.updates();
        Some(Self {
            first: share(traffic.read_bytes() as f64, all).min(1.0),
            written: share(written_back(traffic, shape, rates), stored as f64),
            update_ns: share(updates_ns, updates as f64),
            traces: traces.len().max(1) as u64,
        })
    }
}

/// Units that serve one request after the other.
#[derive(Debug)]
pub struct Memory {
    /// When L1 and the banks are free, the port to L2, the shares of atomics and device memory.
    front: Ticks,
    port: Ticks,
    updates: Ticks,
    device: Ticks,
    /// When the last store left.
    stored: Option<Ticks>,
    /// Ticks of a sector from L2, of one that is stored in part, of an atomic, and of a sector from
    /// and to device memory.
    sector_of_l2: Ticks,
    partial_sector: Ticks,
    update: Ticks,
    sector_of_device: Ticks,
    sector_to_device: Ticks,
    shared_latency: Ticks,
    l1_latency: Ticks,
    l2_latency: Ticks,
    device_latency: Ticks,
    /// Blocks that start together find no data in L2.
    first_wave: u64,
    averages: Averages,
    /// L1: a sector and when it is there, by a hash of the sector.
    lines: Vec<(u64, Ticks)>,
    /// Sectors that the blocks have touched, by a hash.
    touched: Vec<u64>,
}

impl Memory {
    /// That of one of `active` multiprocessors.
    pub fn new(shape: Shape, rates: &Rates, active: f64, averages: Averages) -> Self {
        let clocks = |ns: f64| ticks(ns * rates.clock_ghz * active);
        let per_clock = |per_ns: f64| (per_ns / rates.clock_ghz / active).min(PORT);
        let shared = u64::from(shape.shared_bytes) * u64::from(shape.resident);
        let cache = u64::from(shape.l1_bytes).saturating_sub(shared).max(16 << 10) / SECTOR as u64;
        Self {
            front: 0,
            port: 0,
            updates: 0,
            device: 0,
            stored: None,
            sector_of_l2: ticks(SECTOR / per_clock(rates.l2_bytes_per_ns)),
            partial_sector: clocks(1.0 / rates.partial_sectors_per_ns),
            update: clocks(averages.update_ns),
            sector_of_device: ticks(averages.first * SECTOR / per_clock(rates.dram_bytes_per_ns)),
            sector_to_device: clocks(averages.written / rates.dram_bytes_per_ns),
            shared_latency: u64::from(rates.shared_latency) * TICK,
            l1_latency: u64::from(rates.l1_latency) * TICK,
            l2_latency: u64::from(rates.l2_latency) * TICK,
            device_latency: u64::from(rates.dram_latency) * TICK,
            first_wave: u64::from(shape.resident),
            averages,
            lines: vec![(u64::MAX, 0); cache as usize],
            touched: vec![u64::MAX; 1 << 16],
        }
    }

    /// Data of a load that issues at a time, by a block.
    pub fn load(&mut self, at: Ticks, access: Accesses<'_>, cached: bool, block: u64) -> Ticks {
        let began = self.pass(at, access);
        let mut done = began + self.shared_latency;
        for &sector in access.sectors {
            // Blocks that follow the same trace have data of their own.
            let sector = sector ^ (block / self.averages.traces) << 40;
            let line = hash(sector) % self.lines.len();
            if cached && self.lines[line].0 == sector {
                done = done.max(began + self.l1_latency).max(self.lines[line].1);
                continue;
            }
            self.port = self.port.max(began) + self.sector_of_l2;
            let mut there = self.port + self.l2_latency;
            // Device memory gives two sectors at once.
            let both = sector >> 1;
            let place = hash(both) % self.touched.len();
            if self.touched[place] != both {
                self.touched[place] = both;
                self.device = self.device.max(began) + 2 * self.sector_of_device;
                let is_far = block < self.first_wave || self.averages.first > 0.5;
                let latency = if is_far { self.device_latency } else { self.l2_latency };
                there = there.max(self.device + latency);
            }
            self.lines[line] = (sector, there);
            done = done.max(there);
        }
        done
    }

    /// When a store that issues at a time is out of the way.
    pub fn store(&mut self, at: Ticks, access: Accesses<'_>) -> Ticks {
        let began = self.pass(at, access);
        let partial = u64::from(access.partial);
        let whole = (access.sectors.len() as u64).saturating_sub(partial);
        let taken = whole * self.sector_of_l2 + partial * self.partial_sector;
        self.port = self.port.max(began) + taken;
        self.leave(began, access.sectors, self.port);
        began
    }

    /// What is stored in L2 at some time leaves it.
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
        let began = self.pass(at, access);
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

    /// A request goes through L1 or the banks.
    fn pass(&mut self, at: Ticks, access: Accesses<'_>) -> Ticks {
        let Accesses { wavefronts, sectors, .. } = access;
        let began = self.front.max(at);
        let mut lines = 0;
        let mut last = u64::MAX;
        for sector in sectors {
            if sector / 4 != last {
                (last, lines) = (sector / 4, lines + 1);
            }
        }
        let lookups = (f64::from(lines) / LOOKUPS).max(sectors.len() as f64 / 4.0);
        self.front = began + ticks(f64::from(wavefronts).max(lookups)).max(TICK);
        began + u64::from(wavefronts.saturating_sub(1)) * TICK
    }
}

/// Neighbours are far apart.
fn hash(sector: u64) -> usize {
    (sector.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) as usize
}
