//! The error budget of a run: how many questions its thresholds ask together.
//!
//! Input: how many configurations each series has, and its thresholds. Output: the levels at which
//! each of them may fail, so that the run as a whole keeps one promise, no matter how many there
//! are. Invariant: the budget is known before anything is measured, so that no result changes it.

use gpuprof_model::metric::{Catalogue, Class};
use gpuprof_model::threshold::Threshold;

use crate::sequential::{CriticalValues, FAIL_BUDGET, LOOKS};

/// The error probabilities of a run's thresholds.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// For limits relative to a baseline.
    pub relative: CriticalValues,
    /// For limits that are numbers, which the machine may hold or not whatever was changed.
    pub fixed: CriticalValues,
    /// For the same where a first look came before, which has half of the budget for failures.
    pub later: CriticalValues,
}

impl Budget {
    /// The budget for the given numbers of questions about noisy metrics: `relative` to a baseline,
    /// and compared with a `fixed` number.
    pub fn new(relative: usize, fixed: usize) -> Self {
        let [.., most] = LOOKS;
        Self::up_to(most, relative, fixed)
    }

    /// Like [`Self::new`], with a maximum number of rounds.
    pub fn up_to(most: u32, relative: usize, fixed: usize) -> Self {
        let [relative, fixed, later] = CriticalValues::each([relative, fixed, 2 * fixed], most);
        Self { relative, fixed, later }
    }

    /// The budget of a run, from the number of configurations of each series and the thresholds
    /// that judge it.
    pub fn planned<'t>(
        catalogue: &Catalogue,
        series: impl IntoIterator<Item = (usize, &'t Vec<Threshold>)>,
    ) -> Self {
        let noisy = |threshold: &&Threshold| {
            catalogue.find(&threshold.metric).is_none_or(|metric| metric.class == Class::Noisy)
        };
        let (mut relative, mut fixed) = (0, 0);
        for (configurations, thresholds) in series {
            let (against, numbers): (Vec<_>, Vec<_>) =
                thresholds.iter().filter(noisy).partition(|t| t.needs_baseline());
            relative += configurations * against.len();
            fixed += configurations * numbers.len();
        }
        Self::new(relative, fixed)
    }

    /// The p-value up to which one difference from a stored baseline is significant: the budget
    /// shared by all of them (Bonferroni).
    pub fn significance(&self) -> f64 {
        FAIL_BUDGET / questions(&self.relative)
    }

    /// Like [`Self::significance`], for a limit that is a number.
    pub fn significance_fixed(&self) -> f64 {
        FAIL_BUDGET / questions(&self.fixed)
    }

    /// Like [`Self::significance_fixed`], at the first of several looks.
    pub fn significance_at_first(&self) -> f64 {
        self.significance_fixed() / 2.0
    }
}

fn questions(bounds: &CriticalValues) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "questions are counted")]
    let count = bounds.family().max(1) as f64;
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_counts_the_noisy_thresholds_of_all_series() {
        let of = |gate: &[&str]| {
            let [one, two] = [
                &["throughput >= baseline - 3%", "registers <= baseline", "duration <= 1 s"][..],
                &["duration <= baseline + 5%", "best throughput >= 60% of peak"],
            ]
            .map(|texts| texts.iter().map(|text| Threshold::parse(text).unwrap()));
            let gate = gate.iter().map(|text| Threshold::parse(text).unwrap());
            let [one, two]: [Vec<_>; 2] = [one.chain(gate).collect(), two.collect()];
            let found = Budget::planned(&Catalogue::built_in(), [(10, &one), (4, &two)]);
            (found.relative.family(), found.fixed.family())
        };
        assert_eq!(of(&["every duration <= baseline + 2%"]), (10 * 2 + 4, 10 + 4));
        assert_eq!(of(&[]), (10 + 4, 10 + 4));
    }

    #[test]
    fn significance_gets_stricter_with_more_questions() {
        let of = |count| Budget::new(count, 2 * count);
        assert_eq!((of(0).significance(), of(1).significance()), (0.01, 0.01));
        assert!((of(500).significance() - 2e-5).abs() < 1e-18);
        assert!((of(500).significance_fixed() - 1e-5).abs() < 1e-18);
    }
}
