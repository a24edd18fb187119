//! Change points of a sequence of values: E-divisive with a permutation test.
//!
//! Input: values in order, and how sure a change must be. Output: the positions at which a new
//! level begins, each with its p-value. The method is that of Matteson & James, "A Nonparametric
//! Approach for Multiple Change Point Analysis of Multivariate Data", *Journal of the American
//! Statistical Association* 109 (2014), as Daly, Brown, Ingo, O'Leary & Bradford use it for a
//! performance history, "The Use of Change Point Detection to Identify Software Performance
//! Regressions in a Continuous Integration System", ICPE 2020: the right side of a split reaches to
//! the end of its segment. Its only assumption on the noise is that its order carries no
//! information.
//!
//! * The divergence of two sides is their energy distance (Székely & Rizzo 2005, exponent 1).
//! * Of all splits of all segments the one with the largest divergence is the candidate. It is a
//!   change if values shuffled within their segments rarely diverge as far; then its segment
//!   becomes two, and the search begins again.
//! * A permutation test ends as soon as it cannot succeed any more (Besag & Clifford, *Biometrika*
//!   78, 1991), so a sequence without a change costs a few permutations.
//! * All splits of a segment of n take n log n steps: the distances of a value to those before it
//!   come from sums over ranks (Fenwick, *Software: Practice and Experience* 24, 1994).

use std::ops::Range;

use crate::stats::random::{SEED, SplitMix, shuffle};

/// The fewest values of a level: fewer are outliers.
pub const LEAST: usize = 3;

/// The most values that are outliers.
const EDGE: usize = LEAST - 1;

/// How often values are shuffled for a change that holds at a given level, and how many of these
/// may diverge as far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permutations {
    count: u32,
    most: u32,
}

/// A position at which a new level begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Split {
    /// The first value of the new level.
    pub at: usize,
    /// The share of permutations that diverge at least as far, itself among them.
    pub p_value: f64,
}

impl Permutations {
    /// Enough for a p-value of at most `level`, with one to spare: at least 999.
    pub fn for_level(level: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
        let permutations = |chance: f64| chance.clamp(1.0, 1e6).ceil() as u32;
        let count = permutations(2.0 / level).max(1000) - 1;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at most count"
        )]
        let most = (level * f64::from(count + 1) + 1e-9) as u32;
        Self { count, most: most.saturating_sub(1) }
    }
}

/// Where `values` change, in order.
pub fn splits(values: &[f64], permutations: Permutations) -> Vec<Split> {
    let mut found: Vec<Split> = Vec::new();
    let mut random = SplitMix(SEED);
    loop {
        let segments = segments(&found, values.len());
        let Some((at, divergence)) = candidate(values, &segments) else { break };
        let Some(p_value) = p_value(values, &segments, divergence, permutations, &mut random)
        else {
            break;
        };
        found.push(Split { at, p_value });
        found.sort_by_key(|split| split.at);
    }
    found
}

/// The segments between splits.
pub fn segments(splits: &[Split], length: usize) -> Vec<Range<usize>> {
    let begins = [0].into_iter().chain(splits.iter().map(|split| split.at));
    let ends = splits.iter().map(|split| split.at).chain([length]);
    begins.zip(ends).map(|(begin, end)| begin..end).collect()
}

/// The split of any segment that diverges most, and how far.
fn candidate(values: &[f64], segments: &[Range<usize>]) -> Option<(usize, f64)> {
    let widest_in = |segment: &Range<usize>| {
        let (at, divergence) = widest(&values[segment.clone()])?;
        Some((segment.start + at, divergence))
    };
    let all = segments.iter().filter_map(widest_in);
    all.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, divergence)| *divergence > 0.0)
}

/// The p-value of `divergence`; none if it is too large.
fn p_value(
    values: &[f64],
    segments: &[Range<usize>],
    divergence: f64,
    Permutations { count, most }: Permutations,
    random: &mut SplitMix,
) -> Option<f64> {
    let mut shuffled = values.to_vec();
    let mut as_far = 0;
    for _ in 0..count {
        for segment in segments {
            shuffle(&mut shuffled[segment.clone()], random);
        }
        let far = candidate(&shuffled, segments).map_or(0.0, |(_, far)| far);
        // The same values in another order add up to a sum that differs in its last digits.
        as_far += u32::from(far >= divergence * (1.0 - 1e-9));
        if as_far > most {
            return None;
        }
    }
    Some(f64::from(as_far + 1) / f64::from(count + 1))
}

/// The split of `values` into two that diverges most, and how far; none if they are too few.
/// Outliers at an end are left aside.
fn widest(values: &[f64]) -> Option<(usize, f64)> {
    let length = values.len();
    if length < 2 * LEAST {
        return None;
    }
    let ranks = ranks(values);
    let before = within(values, &ranks, 0..length);
    let mut behind = within(values, &ranks, (0..length).rev());
    behind.reverse();
    let all = before[length - 1];
    #[expect(clippy::cast_precision_loss, reason = "revisions are counted")]
    let divergence = |at: usize| {
        let (left, right) = (at as f64, (length - at) as f64);
        let (within_left, within_right) = (before[at - 1], behind[at]);
        let across = (all - within_left - within_right) / (left * right);
        let mean = |sum: f64, count: f64| sum / (count * (count - 1.0) / 2.0);
        let energy = 2.0 * across - mean(within_left, left) - mean(within_right, right);
        energy * left * right / (left + right)
    };
    let farther =
        |best: (usize, f64), next: (usize, f64)| if next.1 > best.1 { next } else { best };
    let inside = (LEAST..=length - LEAST).map(|at| (at, divergence(at))).reduce(farther)?;
    // Two values at an end that differ from all others are not a level yet. Divided one value away
    // from them the sequence would diverge as well, at a revision that changed nothing.
    let edges = [EDGE, length - EDGE].map(|at| (at, divergence(at)));
    match edges.into_iter().fold(inside, farther).0 {
        EDGE => widest(&values[EDGE..]).map(|(at, far)| (EDGE + at, far)),
        at if at > length - LEAST => widest(&values[..at]),
        _ => Some(inside),
    }
}

/// The rank of each value; equal values have equal ranks.
fn ranks(values: &[f64]) -> Vec<usize> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    values.iter().map(|value| sorted.partition_point(|other| other < value)).collect()
}

/// The sum of the distances of all pairs among the values so far, in the order of `positions`.
fn within(values: &[f64], ranks: &[usize], positions: impl Iterator<Item = usize>) -> Vec<f64> {
    let mut smaller = Sums::new(values.len());
    let (mut count, mut total, mut pairs) = (0.0, 0.0, 0.0);
    let step = |at: usize| {
        let value = values[at];
        let (below, sum_below) = smaller.up_to(ranks[at]);
        let (above, sum_above) = (count - below, total - sum_below);
        pairs += value * below - sum_below + sum_above - value * above;
        smaller.add(ranks[at], value);
        count += 1.0;
        total += value;
        pairs
    };
    positions.map(step).collect()
}

/// Counts and sums of values by rank, as a binary indexed tree.
struct Sums(Vec<(f64, f64)>);

impl Sums {
    fn new(ranks: usize) -> Self {
        Self(vec![(0.0, 0.0); ranks + 1])
    }

    fn add(&mut self, rank: usize, value: f64) {
        let mut node = rank + 1;
        while let Some((count, sum)) = self.0.get_mut(node) {
            *count += 1.0;
            *sum += value;
            node += node & node.wrapping_neg();
        }
    }

    /// How many values have at most this rank, and their sum.
    fn up_to(&self, rank: usize) -> (f64, f64) {
        let (mut node, mut count, mut sum) = (rank + 1, 0.0, 0.0);
        while node > 0 {
            count += self.0[node].0;
            sum += self.0[node].1;
            node &= node - 1;
        }
        (count, sum)
    }
}

#[cfg(test)]
#[path = "e_divisive_tests.rs"]
mod tests;
