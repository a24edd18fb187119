//! Data that several blocks touch: which of them finds it in L2.
//!
//! Input: the recorded blocks. Output: the sectors that several of them touch, and how many of
//! these are still in device memory when a block that runs with all others comes to them.

use super::shape::Shape;
use crate::counters::trace::Trace;
use std::collections::{HashMap, HashSet};

/// Traces whose data are compared.
const COMPARED: usize = 4;

/// Steps by which a warp is surely earlier than another.
const EARLIER: usize = 32;

/// Sectors that several blocks touch.
#[derive(Debug, Default)]
pub struct Shared {
    sectors: HashSet<u64>,
    /// Of 1,024 of them, how many no other block has touched before, if all run at the same time.
    far: usize,
}

impl Shared {
    /// Those of a launch.
    pub fn new(traces: &[&Trace], shape: Shape) -> Self {
        let first: Vec<HashMap<u64, usize>> =
            traces.iter().take(COMPARED).map(|trace| trace.first_touches()).collect();
        let (mut sectors, mut earlier, mut pairs) = (HashSet::new(), 0u64, 0u64);
        for (one, of_one) in first.iter().enumerate() {
            for (sector, step) in of_one {
                let others = first.iter().enumerate().filter(|(other, _)| *other != one);
                let others: Vec<_> = others.map(|(_, of)| of.get(sector)).collect();
                let known = others.iter().flatten();
                if known.clone().count() > 0 {
                    sectors.insert(*sector);
                    pairs += others.len() as u64;
                    earlier += known.filter(|other| **other + EARLIER < *step).count() as u64;
                }
            }
        }
        let share = earlier as f64 / pairs.max(1) as f64;
        let at_once = shape.blocks.min(u64::from(shape.resident) * u64::from(shape.sms));
        let far = (1.0 - share).powf(at_once.saturating_sub(1) as f64);
        Self { sectors, far: (1024.0 * far) as usize }
    }

    /// Whether a block that runs with the first ones finds a sector in device memory only.
    pub fn is_far(&self, sector: u64) -> bool {
        !self.sectors.contains(&sector) || hash(sector) % 1024 < self.far
    }
}

/// Neighbours are far apart.
pub fn hash(sector: u64) -> usize {
    (sector.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) as usize
}
