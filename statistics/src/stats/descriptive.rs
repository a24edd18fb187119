//! Descriptive statistics of samples that come from several processes.
//!
//! Input: the samples of each process. Output: [`Statistics`] over all of them together, and
//! the headline value, which is the median over processes of each process' median: memory placement
//! differs from process to process, so a process, not a sample, is the unit of repetition.
//!
//! The method distinguishes two levels of variance, as in a one-way random-effects model (Searle,
//! Casella & McCulloch, *Variance Components*, 1992, chapter 3): samples scatter within a process,
//! and process medians scatter more than that explains. The interval of the headline value is the
//! narrowest pair of order statistics of the process medians that covers it with 95 % (David &
//! Nagaraja, *Order Statistics*, 2003, section 7.1). This makes no assumption on their
//! distribution; with fewer than six processes the interval is all of them, with its actual level.

use gpuprof_model::clock::Middle;
use gpuprof_model::comparison::Interval;
use gpuprof_model::run::Statistics;
use statistical::{mean, standard_deviation};

use crate::stats::median::{median, middle};
use crate::stats::sequence;

/// The probability with which the interval of the headline value should cover it.
const LEVEL: f64 = 0.95;

/// Statistics over the samples of all `processes`, read in steps of `step` (0 for a continuum);
/// `None` without samples.
///
/// Processes without samples do not count. The 95th percentile is the nearest rank: the smallest
/// sample that at least 95 % of the samples do not exceed. The standard deviation is that of a
/// sample (n − 1), and 0 for one sample.
pub fn over(processes: &[Vec<f64>], step: f64) -> Option<Statistics> {
    let medians = medians(processes, step);
    let mut pooled: Vec<f64> = processes.iter().flatten().copied().collect();
    pooled.sort_by(f64::total_cmp);
    let (&min, &max) = (pooled.first()?, pooled.last()?);
    let rank = (pooled.len() * 95).div_ceil(100);
    let average = mean(&pooled);
    let each = |of: fn(&[f64]) -> Option<f64>| processes.iter().filter_map(move |p| of(p));
    let larger = |a: f64, b: f64| if b.abs() > a.abs() { b } else { a };
    Some(Statistics {
        count: pooled.len(),
        processes: medians.len(),
        step: (step > 0.0).then_some(step),
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
        median_absolute_deviation: sequence::median_absolute_deviation(&pooled),
        interval: interval(&medians),
        within_percent: share(within_variance(processes).map(f64::sqrt), &medians),
        between_percent: share(between_deviation(processes, &medians), &medians),
        autocorrelation: median(&each(sequence::autocorrelation).collect::<Vec<_>>()),
        drift_percent: each(sequence::drift_percent).reduce(larger),
        outliers: processes.iter().map(|samples| sequence::outliers(samples).len()).sum(),
    })
}

/// The median over processes of each process' median, with samples read in steps of `step`; `None`
/// without samples.
pub fn median_of_medians(processes: &[Vec<f64>], step: f64) -> Option<f64> {
    middle(&medians(processes, step))
}

/// The median of each process that has samples, in ascending order.
fn medians(processes: &[Vec<f64>], step: f64) -> Vec<f64> {
    let of_process = |samples: &Vec<f64>| Some(Middle::locate(samples, step)?.value);
    let mut medians: Vec<f64> = processes.iter().filter_map(of_process).collect();
    medians.sort_by(f64::total_cmp);
    medians
}

/// How far the medians of several processes lie apart, in percent of their median.
fn spread_percent(sorted: &[f64]) -> Option<f64> {
    let center = middle(sorted).filter(|&center| center != 0.0)?;
    match sorted {
        [first, .., last] => Some(100.0 * (last - first) / center),
        _ => None,
    }
}

/// `deviation` in percent of the middle of `sorted`.
fn share(deviation: Option<f64>, sorted: &[f64]) -> Option<f64> {
    let center = middle(sorted).filter(|&center| center != 0.0)?;
    deviation.map(|deviation| 100.0 * deviation / center.abs())
}

/// The variance of samples within a process, the mean over processes.
///
/// It is robust, 1.4826 MAD squared (Rousseeuw & Croux, *JASA* 88, 1993), so that one slow sample
/// cannot pass for noise that explains differences between processes; if most samples are equal it
/// is the plain variance.
fn within_variance(processes: &[Vec<f64>]) -> Option<f64> {
    let robust = |samples: &Vec<f64>| match sequence::median_absolute_deviation(samples)? {
        mad if mad > 0.0 => Some((1.4826 * mad).powi(2)),
        _ => Some(standard_deviation(samples, None).powi(2)),
    };
    let several = processes.iter().filter(|samples| samples.len() > 1);
    let variances: Vec<f64> = several.filter_map(robust).collect();
    (!variances.is_empty()).then(|| mean(&variances))
}

/// The standard deviation between processes that the samples within them do not explain: the median
/// of n normal samples has itself the variance π/2 σ²/n.
fn between_deviation(processes: &[Vec<f64>], medians: &[f64]) -> Option<f64> {
    if medians.len() < 2 {
        return None;
    }
    let counts = processes.iter().map(Vec::len).filter(|&count| count > 0);
    #[expect(clippy::cast_precision_loss, reason = "sample counts are small")]
    let inverse: f64 = counts.map(|count| 1.0 / count as f64).sum();
    #[expect(clippy::cast_precision_loss, reason = "process counts are small")]
    let explained =
        std::f64::consts::FRAC_PI_2 * within_variance(processes).unwrap_or(0.0) * inverse
            / medians.len() as f64;
    Some((standard_deviation(medians, None).powi(2) - explained).max(0.0).sqrt())
}

/// The interval of the median of the population of `sorted`: the narrowest symmetric pair of order
/// statistics that covers it with at least 95 %, or the outermost one with its actual level.
pub fn interval(sorted: &[f64]) -> Option<Interval> {
    let count = sorted.len();
    if count < 2 {
        return None;
    }
    // x₍ₖ₎ … x₍ₙ₊₁₋ₖ₎ misses the median where fewer than k of n fair coins show heads, or tails.
    let (mut miss, mut term) = (0.0, 0.5_f64.powi(i32::try_from(count).unwrap_or(i32::MAX)));
    let mut best = None;
    for k in 1..=count / 2 {
        miss += 2.0 * term;
        #[expect(clippy::cast_precision_loss, reason = "process counts are small")]
        {
            term *= (count - k + 1) as f64 / k as f64;
        }
        let level = 1.0 - miss;
        if k > 1 && level < LEVEL {
            break;
        }
        best = Some(Interval { low: sorted[k - 1], high: sorted[count - k], level });
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_headline_is_the_median_over_processes_not_over_samples() {
        let processes = [vec![10.0; 100], vec![20.0, 21.0, 22.0], vec![30.0]];
        assert_eq!(median_of_medians(&processes, 0.0), Some(21.0));
        let all = over(&processes, 0.0).unwrap();
        assert_eq!((all.median, all.count, all.processes), (10.0, 104, 3));
        assert_eq!(all.process_spread_percent, Some(100.0 * 20.0 / 21.0));
    }

    #[test]
    fn the_95th_percentile_is_the_nearest_rank() {
        let one_to = |n: u32| vec![(1..=n).map(f64::from).collect::<Vec<f64>>()];
        for (n, expected) in [(1, 1.0), (2, 2.0), (19, 19.0), (20, 19.0), (100, 95.0), (101, 96.0)]
        {
            assert_eq!(over(&one_to(n), 0.0).unwrap().p95, expected, "{n} samples");
        }
    }

    #[test]
    fn the_standard_deviation_is_that_of_a_sample() {
        let all = over(&[vec![2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]], 0.0).unwrap();
        assert!((all.standard_deviation - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!((all.mean, all.median, all.process_spread_percent), (5.0, 4.5, None));
        assert_eq!(over(&[vec![3.0]], 0.0).unwrap().standard_deviation, 0.0);
    }

    #[test]
    fn no_samples_have_no_statistics_and_empty_processes_do_not_count() {
        assert_eq!(over(&[], 0.0), None);
        assert_eq!(over(&[vec![], vec![]], 0.0), None);
        assert_eq!(over(&[vec![], vec![1.0]], 0.0).unwrap().processes, 1);
    }

    #[test]
    fn statistics_of_many_equal_samples_are_computed() {
        assert_eq!(over(&[vec![32.0; 200_000]], 0.0).unwrap().median, 32.0);
    }

    #[test]
    fn the_interval_of_the_median_is_that_of_the_tables() {
        // Ranks and levels of the sign-test interval, as Conover's Practical Nonparametric
        // Statistics tabulates them.
        let one_to = |n: u32| (1..=n).map(f64::from).collect::<Vec<f64>>();
        for (n, low, high, level) in [
            (3, 1.0, 3.0, 0.75),
            (5, 1.0, 5.0, 0.9375),
            (6, 1.0, 6.0, 0.96875),
            (10, 2.0, 9.0, 0.978_515_625),
            (20, 6.0, 15.0, 0.958_610_534_667_968_8),
        ] {
            assert_eq!(interval(&one_to(n)), Some(Interval { low, high, level }), "{n}");
        }
        assert_eq!(interval(&one_to(1)), None);
    }

    #[test]
    fn the_two_levels_of_variance_are_distinguished() {
        let noise = |center: f64| (0..100).map(|i| center + f64::from(i % 11) - 5.0).collect();
        let alike = over(&[noise(1000.0), noise(1000.0), noise(1000.0)], 0.0).unwrap();
        assert!((alike.within_percent.unwrap() - 0.44).abs() < 0.01, "{alike:?}");
        assert_eq!(alike.between_percent, Some(0.0));
        let placed = over(&[noise(900.0), noise(1000.0), noise(1100.0)], 0.0).unwrap();
        assert_eq!(placed.within_percent, alike.within_percent);
        assert!((placed.between_percent.unwrap() - 10.0).abs() < 0.01, "{placed:?}");
        assert_eq!(over(&[noise(1000.0)], 0.0).unwrap().between_percent, None);
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_headline(values in prop::collection::vec(0.0..1e6_f64, 2..30)) {
            let processes: Vec<Vec<f64>> = values.iter().map(|&v| vec![v]).collect();
            let center = median_of_medians(&processes, 0.0).unwrap();
            let found = over(&processes, 0.0).unwrap().interval.unwrap();
            prop_assert!(found.low <= center && center <= found.high && found.level > 0.49);
        }

        #[test]
        fn statistics_lie_between_the_extremes(
            processes in prop::collection::vec(prop::collection::vec(0.0..1e12_f64, 0..40), 1..5)
        ) {
            if let Some(s) = over(&processes, 0.0) {
                let slack = 1e-9 * s.max;
                prop_assert!(s.min <= s.median && s.median <= s.max);
                prop_assert!(s.min - slack <= s.mean && s.mean <= s.max + slack);
                prop_assert!(s.median <= s.p95 && s.p95 <= s.max);
                prop_assert!(s.standard_deviation.is_finite() && s.standard_deviation >= 0.0);
                let headline = median_of_medians(&processes, 0.0).unwrap();
                prop_assert!(s.min <= headline && headline <= s.max);
            } else {
                prop_assert!(processes.iter().all(Vec::is_empty));
            }
        }
    }
}
