//! Data that several blocks touch, and the blocks that find it in L1 or L2.
//!
//! Input: the recorded blocks, and the reads of the launch. Output: the sectors that several blocks
//! touch; how many of them are still in device memory when a block that runs with all others reads
//! them; and the sectors of unrecorded blocks.

use super::shape::Shape;
use crate::counters::trace::Trace;
use crate::counters::traffic::{LINE_SHIFT, PAGE_SHIFT};
use std::collections::{HashMap, HashSet};

/// The number of traces that are compared.
const COMPARED: usize = 4;

/// Steps by which a warp is surely earlier than another.
const EARLIER: usize = 32;

/// The average number of blocks that read a line of a page, above which they share more than its
/// edges.
const MANY: f64 = 32.0;

/// A page of memory of which blocks read the same lines.
#[derive(Debug, Clone, Copy)]
struct Page {
    /// The lines that the launch reads.
    lines: u64,
    /// How many blocks read a line, on average.
    readers: f64,
}

/// Data that several blocks touch.
#[derive(Debug)]
pub struct Shared {
    sectors: HashSet<u64>,
    /// Of 1,024 of them, how many no other block has touched before, if all run at the same time.
    far: usize,
    pages: HashMap<u64, Page>,
}

impl Shared {
    /// The shared data of a launch that reads these numbers of `lines` of each page.
    pub fn new(traces: &[&Trace], shape: Shape, lines: &HashMap<u64, u64>) -> Self {
        let first: Vec<HashMap<u64, usize>> =
            traces.iter().map(|trace| trace.first_touches()).collect();
        let pages = pages(&first, shape, lines);
        let first = &first[..first.len().min(COMPARED)];
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
        Self { sectors, far: (1024.0 * far) as usize, pages }
    }

    /// Whether a block that runs with the first ones finds a sector in device memory only.
    pub fn is_far(&self, sector: u64) -> bool {
        let of_page = self.pages.get(&(sector >> PAGE_SHIFT));
        let far = match self.sectors.contains(&sector) {
            true => Some(self.far),
            false => of_page.map(|page| (1024.0 / page.readers) as usize),
        };
        far.is_none_or(|far| hash(sector) % 1024 < far)
    }

    /// The sector that a block touches if a recorded one with its trace touches this one. So many
    /// blocks before it have that trace. Its data are its own, unless all blocks read the same.
    pub fn of_block(&self, sector: u64, after: u64) -> u64 {
        let Some(page) = self.pages.get(&(sector >> PAGE_SHIFT)).filter(|_| after > 0) else {
            return sector ^ after << 40;
        };
        let line = hash(sector >> LINE_SHIFT ^ after << 44) as u64 % page.lines;
        let of_line = sector & ((1 << LINE_SHIFT) - 1);
        sector >> PAGE_SHIFT << PAGE_SHIFT | line << LINE_SHIFT | of_line
    }
}

/// The pages of which blocks read the same lines, by the sectors that recorded blocks touch.
fn pages(
    touched: &[HashMap<u64, usize>],
    shape: Shape,
    lines: &HashMap<u64, u64>,
) -> HashMap<u64, Page> {
    let mut counts: HashMap<u64, u64> = HashMap::new();
    for sectors in touched {
        let lines: HashSet<u64> = sectors.keys().map(|sector| sector >> LINE_SHIFT).collect();
        for line in lines {
            *counts.entry(line >> (PAGE_SHIFT - LINE_SHIFT)).or_default() += 1;
        }
    }
    let of_all = shape.blocks as f64 / touched.len().max(1) as f64;
    let page = |(page, count): (u64, u64)| {
        let lines = lines.get(&page).copied().filter(|lines| *lines > 0)?;
        let readers = count as f64 * of_all / lines as f64;
        (readers >= MANY).then_some((page, Page { lines, readers }))
    };
    counts.into_iter().filter_map(page).collect()
}

/// Neighbours are far apart.
pub fn hash(sector: u64) -> usize {
    (sector.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks that read the lines of `first`, and how many lines the launch reads.
    fn shared(first: impl Fn(u64) -> u64, lines: u64) -> Shared {
        let trace = |block| {
            let mut trace = Trace::new(block, 1);
            for line in first(block)..first(block) + 8 {
                trace.step(0, 0);
                trace.touch(line << LINE_SHIFT, line << LINE_SHIFT);
                trace.finish(0);
            }
            trace
        };
        let traces: Vec<Trace> = (0..4).map(trace).collect();
        let shape = Shape {
            blocks: 4096,
            warps: 1,
            resident: 16,
            sms: 132,
            shared_bytes: 0,
            l1_bytes: 256 << 10,
            l2_bytes: 50 << 20,
            registers_known: true,
        };
        let traces: Vec<&Trace> = traces.iter().collect();
        Shared::new(&traces, shape, &HashMap::from([(0, lines)]))
    }

    #[test]
    fn unrecorded_blocks_share_tables_and_have_their_own_data() {
        let table = shared(|_| 0, 8);
        let sectors: HashSet<u64> = (0..100).map(|after| table.of_block(4, after)).collect();
        assert!(sectors.len() > 1 && sectors.iter().all(|of| *of < 8 << LINE_SHIFT), "{sectors:?}");
        let own = shared(|block| 8 * block, 8 * 4096);
        let sectors: HashSet<u64> = (0..100).map(|after| own.of_block(4, after)).collect();
        assert_eq!(sectors.len(), 100);
        assert_eq!([table.of_block(4, 0), own.of_block(4, 0)], [4, 4]);
    }
}
