//! Wilcoxon's signed rank: its statistic, and its exact distribution.
//!
//! Input: numbers that are symmetric around 0 under the null hypothesis. Output: the sum of the
//! ranks of the positive ones, and how probable one as large is.

/// How probable a sum of ranks at least as large as each index is, for a growing number of values.
pub(super) struct Tails {
    values: u32,
    /// P(W = w).
    law: Vec<f64>,
}

impl Tails {
    /// Of no values.
    pub(super) fn new() -> Self {
        Self { values: 0, law: vec![1.0] }
    }

    /// Of `values` values, of which there are as many or more than before. Each value has its rank
    /// on the positive side with probability ½, independently of the others.
    pub(super) fn grow(&mut self, values: u32) {
        for rank in self.values + 1..=values {
            let mut next: Vec<f64> = self.law.iter().map(|p| p / 2.0).collect();
            next.resize(self.law.len() + rank as usize, 0.0);
            for (with, p) in next[rank as usize..].iter_mut().zip(&self.law) {
                *with += p / 2.0;
            }
            self.law = next;
        }
        self.values = self.values.max(values);
    }

    /// The largest sum of which one as small has at most probability `level`; none if 0 is more
    /// probable.
    pub(super) fn at_most(&self, level: f64) -> Option<u32> {
        let mut sum = 0.0;
        let fits = |p: &&f64| {
            sum += **p;
            sum <= level
        };
        let count = self.law.iter().take_while(fits).count();
        u32::try_from(count).ok()?.checked_sub(1)
    }

    /// The smallest sum of which one as large has at most probability `level`; none if the
    /// largest is more probable.
    pub(super) fn at_least(&self, level: f64) -> Option<u32> {
        // The law is symmetric.
        Some(self.most() - self.at_most(level)?)
    }

    /// The probability of a sum of at most `sum`.
    pub(super) fn cumulative(&self, sum: f64) -> f64 {
        let last = sum.floor();
        if last < 0.0 {
            return 0.0;
        }
        self.law.iter().zip(0_u32..).take_while(|(_, at)| f64::from(*at) <= last).map(|p| p.0).sum()
    }

    fn most(&self) -> u32 {
        self.values * (self.values + 1) / 2
    }
}

/// The sum of the ranks of the positive `values` by size. Values of one size share the mean of
/// their ranks; a zero counts for half.
pub(super) fn sum(values: &[f64]) -> f64 {
    let mut ordered: Vec<f64> = values.to_vec();
    ordered.sort_unstable_by(|a, b| a.abs().total_cmp(&b.abs()));
    let (mut sum, mut below) = (0.0, 0.0);
    for tied in ordered.chunk_by(|a, b| a.abs() == b.abs()) {
        #[expect(clippy::cast_precision_loss, reason = "rounds are counted")]
        let count = tied.len() as f64;
        let rank = below + f64::midpoint(count, 1.0);
        let weight = |value: &f64| match *value {
            0.0 => 0.5,
            value if value > 0.0 => 1.0,
            _ => 0.0,
        };
        sum += rank * tied.iter().map(weight).sum::<f64>();
        below += count;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tails(values: u32) -> Tails {
        let mut tails = Tails::new();
        tails.grow(values);
        tails
    }

    #[test]
    fn the_distribution_equals_that_of_all_sign_patterns() {
        for values in 1..=10_u32 {
            let mut counts = vec![0_u32; (values * (values + 1) / 2 + 1) as usize];
            for signs in 0..1_u32 << values {
                let sum: u32 = (0..values).filter(|at| signs >> at & 1 == 1).map(|at| at + 1).sum();
                counts[sum as usize] += 1;
            }
            let all = 0.5_f64.powi(i32::try_from(values).unwrap());
            for (p, count) in tails(values).law.iter().zip(counts) {
                assert!((p - f64::from(count) * all).abs() < 1e-15, "{values} values");
            }
        }
    }

    #[test]
    fn critical_values_are_those_of_the_tables() {
        // One-sided: Wilcoxon & Wilcox, Some Rapid Approximate Statistical Procedures, 1964.
        for (values, level, sum) in
            [(10, 0.05, 10), (10, 0.01, 5), (20, 0.025, 52), (50, 0.05, 466)]
        {
            let tails = tails(values);
            assert_eq!(tails.at_most(level), Some(sum), "{values} values");
            assert_eq!(tails.at_least(level), Some(values * (values + 1) / 2 - sum));
            assert!(tails.cumulative(f64::from(sum)) <= level);
            assert!(tails.cumulative(f64::from(sum) + 1.0) > level);
        }
        assert_eq!(tails(5).at_most(1.0 / 64.0), None);
    }

    #[test]
    fn growing_the_distribution_in_steps_gives_the_same() {
        let mut grown = tails(6);
        grown.grow(6);
        grown.grow(41);
        assert_eq!(grown.law, tails(41).law);
    }

    #[test]
    fn ties_share_ranks_and_zeros_count_half() {
        assert_eq!(sum(&[3.0, -1.0, 2.0]), 5.0);
        assert_eq!(sum(&[1.0, -1.0, 2.0]), 4.5);
        assert_eq!(sum(&[0.0, 0.0, 5.0]), 4.5);
        assert_eq!(sum(&[-1.0, -2.0]), 0.0);
        assert_eq!(sum(&[]), 0.0);
    }
}
