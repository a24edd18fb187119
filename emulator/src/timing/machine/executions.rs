//! How often each block of machine code executes, by the counts of the PTX.
//!
//! ptxas copies blocks of the PTX (it unrolls loops), and merges and moves their instructions. So a
//! block of the PTX belongs to a loop of machine code if the loop contains most of the block's
//! instructions. The number of copies of the block in an iteration is the number that most of its
//! instructions have there; if the block has memory accesses or arithmetic on floats, only these
//! count, since ptxas seldom changes them. A loop with more copies gets the executions that fill
//! its iterations, and the other loops get the rest.

use super::flow::Flow;
use super::instruction::Instruction;
use super::source::{Anchor, Source};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A loop of machine code by its number, or the code outside of all.
type Place = Option<usize>;

/// The instructions of a block of the PTX in one place of the machine code.
#[derive(Debug, Default)]
struct Part {
    /// By instruction of the PTX: the machine instructions from it, and how many of them are of the
    /// same kind.
    instructions: BTreeMap<usize, (u32, u32)>,
}

/// The copies of a block of the PTX in one place.
#[derive(Debug, Clone, Copy)]
struct Copies {
    place: Place,
    depth: usize,
    count: u32,
}

/// The executions of machine code.
#[derive(Debug)]
pub struct Executions {
    /// Of each block of the machine code.
    pub of_block: Vec<f64>,
    /// The block of the PTX by whose executions each of them was counted.
    pub leaders: Vec<Option<usize>>,
}

impl Executions {
    /// The executions of machine code with this `flow`, by the counts of its PTX in `source`.
    pub fn new(code: &[Instruction], flow: &Flow, source: &Source<'_>) -> Self {
        let mut parts: BTreeMap<usize, BTreeMap<Place, Part>> = BTreeMap::new();
        let mut present = vec![HashSet::new(); flow.blocks.len()];
        for (block, present) in flow.blocks.iter().zip(&mut present).filter(|(of, _)| of.runs) {
            for instruction in &code[block.instructions.clone()] {
                let Some(pc) = source.pc(instruction.ptx_line) else { continue };
                let of_ptx = source.block(pc);
                present.insert(of_ptx);
                let part = parts.entry(of_ptx).or_default().entry(block.of_loop).or_default();
                let (all, own) = part.instructions.entry(pc).or_default();
                *all += 1;
                *own += u32::from(is_own(source.anchor(pc), instruction));
            }
        }
        let mut shares = HashMap::new();
        for (of_ptx, parts) in &parts {
            let all = complete(parts, flow, source, source.is_repeated(*of_ptx));
            for (place, executions) in divide(source, *of_ptx, &all) {
                shares.insert((*of_ptx, place), executions);
            }
        }
        let mut all = Self { of_block: Vec::new(), leaders: Vec::new() };
        for (block, present) in flow.blocks.iter().zip(&present) {
            let share = |of: &usize| Some((*shares.get(&(*of, block.of_loop))?, Some(*of)));
            let most = present.iter().filter_map(share).reduce(larger);
            let (times, leader) = most.unwrap_or_else(|| all.before(flow, block.of_loop));
            all.leaders.push(leader);
            all.of_block.push(if block.runs { times } else { 0.0 });
        }
        all
    }

    /// The executions of the last known block in a place: a block that consists of moved
    /// instructions executes as often as the block before it.
    fn before(&self, flow: &Flow, place: Place) -> (f64, Option<usize>) {
        let known = (0..self.of_block.len()).rev().filter(|at| flow.blocks[*at].of_loop == place);
        let last = known.into_iter().find(|at| self.of_block[*at] > 0.0);
        last.map_or((0.0, None), |at| (self.of_block[at], self.leaders[at]))
    }
}

/// The one with more executions; of those with as many, the one of the earlier block.
fn larger(one: (f64, Option<usize>), other: (f64, Option<usize>)) -> (f64, Option<usize>) {
    match one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)) {
        std::cmp::Ordering::Less => other,
        _ => one,
    }
}

/// Whether a machine instruction is of the kind of the one of the PTX from which it comes.
fn is_own(anchor: Anchor, of: &Instruction) -> bool {
    match anchor {
        Anchor::Access(access) => of.access == Some(access),
        Anchor::Barrier => of.is_barrier,
        Anchor::Float | Anchor::Other { .. } => true,
    }
}

/// The places with at least half of the instructions that any place has, and how many copies of the
/// block each has.
fn complete(
    parts: &BTreeMap<Place, Part>,
    flow: &Flow,
    source: &Source<'_>,
    is_repeated: bool,
) -> Vec<Copies> {
    let most = parts.values().map(|part| part.instructions.len()).max().unwrap_or(0);
    let complete = parts.iter().filter(|(_, part)| 2 * part.instructions.len() >= most);
    complete
        .map(|(&place, part)| Copies {
            place,
            depth: flow.depth(place),
            count: if is_repeated { part.copies(source) } else { 1 },
        })
        .collect()
}

impl Part {
    /// How many copies it has.
    fn copies(&self, source: &Source<'_>) -> u32 {
        let (mut sure, mut others) = (Vec::new(), Vec::new());
        for (&pc, &(all, own)) in &self.instructions {
            match source.anchor(pc) {
                Anchor::Other { issues: 0 } => {}
                Anchor::Other { issues } => others.push(((all + issues / 2) / issues).max(1)),
                _ if own > 0 => sure.push(own),
                _ => {}
            }
        }
        // Merged accesses are fewer than the copies, and moved arithmetic is more often elsewhere.
        match sure.is_empty() {
            false => most_frequent(&sure, u32::max),
            true => most_frequent(&others, u32::min),
        }
    }
}

/// The most frequent of these numbers; if several are, the choice of `choose`. 1 if there is none.
fn most_frequent(numbers: &[u32], choose: impl Fn(u32, u32) -> u32) -> u32 {
    let count = |number: u32| numbers.iter().filter(|other| **other == number).count();
    let best = numbers.iter().copied().reduce(|one, other| match count(one).cmp(&count(other)) {
        std::cmp::Ordering::Less => other,
        std::cmp::Ordering::Greater => one,
        std::cmp::Ordering::Equal => choose(one, other),
    });
    best.unwrap_or(1)
}

/// The executions of a block of the PTX in each place.
fn divide(source: &Source<'_>, of_ptx: usize, all: &[Copies]) -> Vec<(Place, f64)> {
    let shallowest = all.iter().map(|of| of.depth).min().unwrap_or(0);
    let mut order = all.to_vec();
    order.sort_by_key(|of| (of.depth == shallowest, std::cmp::Reverse(of.count)));
    let entries = source.entries(of_ptx);
    let mut left = if entries > 0.0 { source.executions(of_ptx) / entries } else { 0.0 };
    let mut shares = Vec::new();
    for (at, of) in order.iter().enumerate() {
        let copies = f64::from(of.count);
        let is_last = at + 1 == order.len();
        let iterations = if is_last { left / copies } else { (left / copies + 1e-9).floor() };
        // What is outside of the others' loops runs once at most.
        let is_outside = of.depth == shallowest && order.len() > 1;
        let iterations = if is_outside { iterations.min(1.0) } else { iterations };
        left -= iterations * copies;
        shares.push((of.place, iterations * entries));
    }
    shares
}
