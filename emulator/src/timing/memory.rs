//! The memory of a multiprocessor in a replay: shared memory and L1, and its share of L2 and of
//! device memory.

use super::rates::Rates;
use super::shape::Shape;
use super::ticks::{TICK, Ticks, ticks};
use crate::counters::Traffic;
use crate::counters::trace::Trace;

/// Bytes of a sector.
const SECTOR: f64 = 32.0;

/// Bytes of L1 and shared memory together.
const L1_BYTES: u64 = 256 << 10;

/// Bytes that a multiprocessor gets from L2 in a clock at most.
const PORT: f64 = 64.0;

/// Lines that L1 looks up in a clock.
const LOOKUPS: f64 = 3.3;

/// How much of the data that blocks touch for the first time comes from device memory, and not from
/// L2 because another block has touched it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FirstTouches {
    share: f64,
    /// Traces that are replayed in turn.
    traces: u64,
}

impl FirstTouches {
    /// Of a launch with so many blocks.
    pub fn new(traffic: &Traffic, traces: &[&Trace], blocks: u64) -> Self {
        let touched: u64 = traces.iter().map(|trace| trace.distinct_sectors()).sum();
        let all = touched as f64 / traces.len().max(1) as f64 * blocks as f64 * SECTOR;
        let share = if all > 0.0 { (traffic.read_bytes() as f64 / all).min(1.0) } else { 0.0 };
        Self { share, traces: traces.len().max(1) as u64 }
    }
}

/// Units that serve one request after the other.
#[derive(Debug)]
pub struct Memory {
    /// When L1 and the banks are free, the port to L2, the share of device memory.
    front: Ticks,
    port: Ticks,
    device: Ticks,
    /// When the last store left.
    stored: Option<Ticks>,
    /// Ticks of a sector from L2 and from device memory.
    sector_of_l2: Ticks,
    sector_of_device: Ticks,
    shared_latency: Ticks,
    l1_latency: Ticks,
    l2_latency: Ticks,
    device_latency: Ticks,
    /// Blocks that start together find no data in L2.
    first_wave: u64,
    touches: FirstTouches,
    /// L1: a sector and when it is there, by a hash of the sector.
    lines: Vec<(u64, Ticks)>,
    /// Sectors that the blocks have touched, by a hash.
    touched: Vec<u64>,
}

impl Memory {
    /// That of one of `active` multiprocessors.
    pub fn new(shape: Shape, rates: &Rates, active: f64, touches: FirstTouches) -> Self {
        let per_clock = |per_ns: f64| (per_ns / rates.clock_ghz / active).min(PORT);
        let shared = u64::from(shape.shared_bytes) * u64::from(shape.resident);
        let cache = (L1_BYTES.saturating_sub(shared)).max(16 << 10) / SECTOR as u64;
        Self {
            front: 0,
            port: 0,
            device: 0,
            stored: None,
            sector_of_l2: ticks(SECTOR / per_clock(rates.l2_bytes_per_ns)),
            sector_of_device: ticks(touches.share * SECTOR / per_clock(rates.dram_bytes_per_ns)),
            shared_latency: u64::from(rates.shared_latency) * TICK,
            l1_latency: u64::from(rates.l1_latency) * TICK,
            l2_latency: u64::from(rates.l2_latency) * TICK,
            device_latency: u64::from(rates.dram_latency) * TICK,
            first_wave: u64::from(shape.resident),
            touches,
            lines: vec![(u64::MAX, 0); cache as usize],
            touched: vec![u64::MAX; 1 << 16],
        }
    }

    /// Data of a load that issues at a time, by a block.
    pub fn load(
        &mut self,
        at: Ticks,
        (wavefronts, sectors): (u32, &[u64]),
        cached: bool,
        block: u64,
    ) -> Ticks {
        let began = self.pass(at, wavefronts, sectors);
        let mut done = began + self.shared_latency;
        for &sector in sectors {
            // Blocks that follow the same trace have data of their own.
            let sector = sector ^ (block / self.touches.traces) << 40;
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
                let is_far = block < self.first_wave || self.touches.share > 0.5;
                let latency = if is_far { self.device_latency } else { self.l2_latency };
                there = there.max(self.device + latency);
            }
            self.lines[line] = (sector, there);
            done = done.max(there);
        }
        done
    }

    /// When a store that issues at a time is out of the way.
    pub fn store(&mut self, at: Ticks, (wavefronts, sectors): (u32, &[u64])) -> Ticks {
        let began = self.pass(at, wavefronts, sectors);
        self.port = self.port.max(began) + sectors.len() as u64 * self.sector_of_l2;
        if !sectors.is_empty() {
            self.stored = Some(self.port);
        }
        began
    }

    /// When the last store has arrived in L2, and the multiprocessor knows.
    pub fn drained(&self) -> Ticks {
        self.stored.map_or(0, |stored| stored + self.l2_latency)
    }

    /// The old value of an atomic that issues at a time.
    pub fn update(&mut self, at: Ticks, access: (u32, &[u64]), returns: bool) -> Ticks {
        let began = self.store(at, access);
        match (returns, access.1.is_empty()) {
            (false, _) => began,
            (true, true) => began + self.shared_latency + u64::from(access.0) * TICK,
            (true, false) => self.port.max(began) + self.l2_latency,
        }
    }

    /// A request goes through L1 or the banks.
    fn pass(&mut self, at: Ticks, wavefronts: u32, sectors: &[u64]) -> Ticks {
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
