//! The natural loops of a function.

use super::blocks::Flow;
use std::collections::{BTreeMap, HashSet};

/// A loop.
pub struct Loop {
    /// Its blocks.
    pub blocks: HashSet<usize>,
    /// The block that all ways into it lead through.
    pub head: usize,
    /// Several blocks lead back to its head, and each of them closes a smaller loop.
    pub is_whole: bool,
}

/// The natural loops of a function, one for each edge back to a head; for a head with several
/// edges also their union.
pub fn find_loops(flow: &Flow) -> Vec<Loop> {
    let mut tails: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, nexts) in flow.successors.iter().enumerate() {
        for &head in nexts.iter().filter(|&&head| flow.dominates(head, at)) {
            tails.entry(head).or_default().push(at);
        }
    }
    let mut loops = Vec::new();
    for (head, tails) in tails {
        let close = |tails: &[usize], is_whole| Loop {
            blocks: blocks_between(flow, head, tails),
            head,
            is_whole,
        };
        loops.extend(tails.iter().map(|&tail| close(&[tail], false)));
        if tails.len() > 1 {
            loops.push(close(&tails, true));
        }
    }
    loops
}

/// The blocks on the ways from a head to blocks that it dominates, all included.
fn blocks_between(flow: &Flow, head: usize, tails: &[usize]) -> HashSet<usize> {
    let mut inside = HashSet::from([head]);
    let mut waiting = tails.to_vec();
    while let Some(next) = waiting.pop() {
        if inside.insert(next) {
            waiting.extend(&flow.predecessors[next]);
        }
    }
    inside
}
