//! The source lines whose loads and stores cost most.
//!
//! Input: a program and its counts. Output: for each kind of cost the line with the most of it;
//! nothing for a cost that the launch does not have, or if the PTX names no lines.

use super::{AccessCost, Counts};
use crate::lower::inst::Op;
use crate::lower::program::Program;
use std::collections::BTreeMap;

/// The line with the most of a kind of cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CostlyLine {
    /// The cost: `global_load_sectors`.
    pub cost: &'static str,
    /// The line: `src/lib.rs:12`.
    pub line: String,
    /// How much it costs there.
    pub amount: u64,
    /// How much it costs in all lines.
    pub total: u64,
}

/// A kind of cost: its name, whether stores have it, and its amount.
type Kind = (&'static str, bool, fn(&AccessCost) -> u64);

const KINDS: [Kind; 6] = [
    ("global_load_sectors", false, |cost| cost.sectors),
    ("global_store_sectors", true, |cost| cost.sectors),
    ("shared_load_wavefronts", false, |cost| cost.wavefronts),
    ("shared_store_wavefronts", true, |cost| cost.wavefronts),
    ("shared_load_conflicts", false, |cost| cost.conflicts),
    ("shared_store_conflicts", true, |cost| cost.conflicts),
];

/// The costly lines of a launch of `program`.
pub fn costly_lines(program: &Program, counts: &Counts) -> Vec<CostlyLine> {
    let mut lines: BTreeMap<(bool, String), AccessCost> = BTreeMap::new();
    let mut totals = [AccessCost::default(); 2];
    for (pc, (inst, count)) in program.code.iter().zip(&counts.profile).enumerate() {
        let stores = match inst.op {
            Op::Load { .. } => false,
            Op::Store { .. } => true,
            _ => continue,
        };
        totals[usize::from(stores)] += count.cost;
        if count.cost == AccessCost::default() {
            continue;
        }
        let pc = u32::try_from(pc).unwrap_or(u32::MAX);
        if let Some(place) = program.place(pc, &[]) {
            let line = format!("{}:{}", place.frame.file, place.frame.line);
            *lines.entry((stores, line)).or_default() += count.cost;
        }
    }
    let costliest = |(cost, stores, amount): Kind| {
        let of_kind = lines.iter().filter(|((of_stores, _), _)| *of_stores == stores);
        let found = of_kind.map(|((_, line), cost)| (amount(cost), line));
        // Of equal ones the first in the order of lines.
        let (most, line) = found.reduce(|a, b| if b.0 > a.0 { b } else { a })?;
        let total = amount(&totals[usize::from(stores)]);
        (most > 0).then(|| CostlyLine { cost, line: line.clone(), amount: most, total })
    };
    KINDS.into_iter().filter_map(costliest).collect()
}
