//! Immediate post-dominators of a graph of blocks.
//!
//! Input: the edges, and the blocks that lead to the end. Output: each block's immediate
//! post-dominator (Cooper, Harvey and Kennedy's algorithm on the reversed graph).

/// Blocks by number, with their successors.
pub struct Graph<'g> {
    /// The successors of each block.
    pub edges: &'g [Vec<usize>],
}

impl Graph<'_> {
    /// For each block its immediate post-dominator, if only the blocks of `ends` lead to the end.
    /// `None`: only the end itself, or no way to it.
    pub fn post_dominators(&self, ends: &[usize]) -> Vec<Option<usize>> {
        let end = self.edges.len();
        let mut successors = self.edges.to_vec();
        for &block in ends {
            successors[block].push(end);
        }
        successors.push(Vec::new());
        let predecessors = reversed(&successors);
        let order = post_order(&predecessors, end);
        let mut rank = vec![usize::MAX; end + 1];
        for (position, &block) in order.iter().enumerate() {
            rank[block] = position;
        }
        let mut dominator: Vec<Option<usize>> = vec![None; end + 1];
        dominator[end] = Some(end);
        let mut changed = true;
        while changed {
            changed = false;
            for &block in order.iter().rev().filter(|block| **block != end) {
                let known = successors[block].iter().copied().filter(|&at| dominator[at].is_some());
                let best = known.reduce(|a, b| intersect(&dominator, &rank, a, b));
                if best.is_some() && dominator[block] != best {
                    dominator[block] = best;
                    changed = true;
                }
            }
        }
        (0..end).map(|block| dominator[block].filter(|meet| *meet != end)).collect()
    }
}

/// Which blocks `from` leads to, itself included.
pub fn reachable(edges: &[Vec<usize>], from: usize) -> Vec<bool> {
    let mut seen = vec![false; edges.len()];
    for block in post_order(edges, from) {
        seen[block] = true;
    }
    seen
}

fn intersect(dominator: &[Option<usize>], rank: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        while rank[a] < rank[b] {
            a = dominator[a].expect("ranked blocks have dominators");
        }
        while rank[b] < rank[a] {
            b = dominator[b].expect("ranked blocks have dominators");
        }
    }
    a
}

/// The edges in the other direction.
pub fn reversed(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut reversed = vec![Vec::new(); edges.len()];
    for (from, nexts) in edges.iter().enumerate() {
        for &to in nexts {
            reversed[to].push(from);
        }
    }
    reversed
}

/// The blocks that `root` leads to, each after those it leads to, loops apart.
pub fn post_order(edges: &[Vec<usize>], root: usize) -> Vec<usize> {
    let mut seen = vec![false; edges.len()];
    let mut order = Vec::new();
    let mut stack = vec![(root, 0)];
    seen[root] = true;
    while let Some((node, next)) = stack.pop() {
        match edges[node].get(next) {
            Some(&child) => {
                stack.push((node, next + 1));
                if !seen[child] {
                    seen[child] = true;
                    stack.push((child, 0));
                }
            }
            None => order.push(node),
        }
    }
    order
}
