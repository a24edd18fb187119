//! Descriptive statistics of samples that come from several processes.
//!
//! Comes in: the samples of each process. Goes out: [`Statistics`] over all of them together, and the
//! headline value, which is the median over processes of each process' median: memory placement
//! differs from process to process, so a process, not a sample, is the unit of repetition.
//!
//! The `statistical` crate gives mean and standard deviation. Its `median` sorts with a quicksort that
//! is quadratic in time and linear in stack where samples are equal, and CUDA events, with their
//! resolution of 32 ns, make many equal samples; so samples are sorted here and it gets the middle.

use gpuprof_model::run::Statistics;
use statistical::{mean, standard_deviation};

/// Statistics over the samples of all `processes`; `None` without samples.
///
/// Processes without samples do not count. The 95th percentile is the nearest rank: the smallest
/// sample that at least 95 % of the samples do not exceed. The standard deviation is that of a sample
/// (n − 1), and 0 for one sample.
pub fn over(processes: &[Vec<f64>]) -> Option<Statistics> {
    let medians = medians(processes);
    let mut pooled: Vec<f64> = processes.iter().flatten().copied().collect();
    pooled.sort_by(f64::total_cmp);
    let (&min, &max) = (pooled.first()?, pooled.last()?);
    let rank = (pooled.len() * 95).div_ceil(100);
    let average = mean(&pooled);
    Some(Statistics {
        count: pooled.len(),
        processes: medians.len(),
        median: middle(&pooled)?,
        mean: average,
        p95: pooled[rank - 1],
        min,
        max,
        standard_deviation: match pooled.len() {
            1 => 0.0,
            _ => standard_deviation(&pooled, Some(average)),
        },
        process_spread_percent: spread_percent(&medians),
    })
}

/// The median over processes of each process' median; `None` without samples.
pub fn median_of_medians(processes: &[Vec<f64>]) -> Option<f64> {
    middle(&medians(processes))
}

/// The middle of `samples`, in any order; `None` without samples.
pub fn median(samples: &[f64]) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    middle(&sorted)
}

/// The median of each process that has samples, in ascending order.
fn medians(processes: &[Vec<f64>]) -> Vec<f64> {
    let mut medians: Vec<f64> = processes.iter().filter_map(|samples| median(samples)).collect();
    medians.sort_by(f64::total_cmp);
    medians
}

/// The middle of a sorted slice: one element, or the mean of two.
fn middle(sorted: &[f64]) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    Some(mean(&sorted[last / 2..=sorted.len() / 2]))
}

/// How far the medians of several processes lie apart, in percent of their median.
fn spread_percent(sorted: &[f64]) -> Option<f64> {
    let center = middle(sorted).filter(|&center| center != 0.0)?;
    match sorted {
        [first, .., last] => Some(100.0 * (last - first) / center),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_headline_is_the_median_over_processes_not_over_samples() {
        let processes = [vec![10.0; 100], vec![20.0, 21.0, 22.0], vec![30.0]];
        assert_eq!(median_of_medians(&processes), Some(21.0));
        let all = over(&processes).unwrap();
        assert_eq!((all.median, all.count, all.processes), (10.0, 104, 3));
        assert_eq!(all.process_spread_percent, Some(100.0 * 20.0 / 21.0));
    }

    #[test]
    fn the_95th_percentile_is_the_nearest_rank() {
        let one_to = |n: u32| vec![(1..=n).map(f64::from).collect::<Vec<f64>>()];
        for (n, expected) in [(1, 1.0), (2, 2.0), (19, 19.0), (20, 19.0), (100, 95.0), (101, 96.0)]
        {
            assert_eq!(over(&one_to(n)).unwrap().p95, expected, "{n} samples");
        }
    }

    #[test]
    fn the_standard_deviation_is_that_of_a_sample() {
        let all = over(&[vec![2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]]).unwrap();
        assert!((all.standard_deviation - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!((all.mean, all.median, all.process_spread_percent), (5.0, 4.5, None));
        assert_eq!(over(&[vec![3.0]]).unwrap().standard_deviation, 0.0);
    }

    #[test]
    fn no_samples_have_no_statistics_and_empty_processes_do_not_count() {
        assert_eq!(over(&[]), None);
        assert_eq!(over(&[vec![], vec![]]), None);
        assert_eq!(over(&[vec![], vec![1.0]]).unwrap().processes, 1);
    }

    #[test]
    fn many_equal_samples_are_no_trouble() {
        assert_eq!(over(&[vec![32.0; 200_000]]).unwrap().median, 32.0);
    }

    proptest! {
        #[test]
        fn statistics_lie_between_the_extremes(
            processes in prop::collection::vec(prop::collection::vec(0.0..1e12_f64, 0..40), 1..5)
        ) {
            if let Some(s) = over(&processes) {
                let slack = 1e-9 * s.max;
                prop_assert!(s.min <= s.median && s.median <= s.max);
                prop_assert!(s.min - slack <= s.mean && s.mean <= s.max + slack);
                prop_assert!(s.median <= s.p95 && s.p95 <= s.max);
                prop_assert!(s.standard_deviation.is_finite() && s.standard_deviation >= 0.0);
                let headline = median_of_medians(&processes).unwrap();
                prop_assert!(s.min <= headline && headline <= s.max);
            } else {
                prop_assert!(processes.iter().all(Vec::is_empty));
            }
        }
    }
}
