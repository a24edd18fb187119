//! Two samples of processes: whether they differ, and by how much.
//!
//! Input: one number per process, such as each process' median duration, from two runs. Output: the
//! relative change of the mean with its 95 % interval, and the probability of such a difference if
//! there were none. Samples of one process share that process' memory placement and are not
//! independent; only processes are.
//!
//! The test is Welch's, which does not assume equal variances (Welch, *Biometrika* 34, 1947), with
//! the degrees of freedom of Welch and Satterthwaite. Durations are read off a clock with a
//! resolution, so each side's variance is at least that of rounding to it, resolution²/12: three
//! equal readings do not prove that there is no noise.
//!
//! Processes of one run that correlate with their neighbours, as on a machine that drifts, carry
//! less information than independent ones: a side with the lag-1 correlation ρ counts as n
//! (1−ρ)/(1+ρ) processes (Bayley & Hammersley, *Supplement to the JRSS* 8, 1946). Few processes
//! hardly show it, but those of all configurations of a series do.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::stats::sequence;

/// The fewest processes a side with which a difference is judged at all.
pub const MIN_PROCESSES: usize = 3;

/// The probability with which the interval of a change covers it.
pub const LEVEL: f64 = 0.95;

/// The probability under which a difference is significant: two-sided in reports, one-sided with a
/// limit.
pub const SIGNIFICANCE: f64 = 0.01;

/// The probability with which a change that passes lies on the right side of its limit.
pub const BOUND: f64 = 0.95;

/// The most processes that are ever advised.
const MOST_ADVISED: u32 = 50;

/// The fewest processes of a configuration that count for the correlation of the series.
const MIN_ALIKE: usize = 7;

/// How far the correlations of runs are from 0, as a standard deviation: what is known of it before
/// anything is measured.
const USUAL_ALIKE: f64 = 0.4;

/// The maximum assumed correlation: beyond it a run carries hardly any information.
const MOST_CORRELATION: f64 = 0.95;

/// How two samples differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Mean of the second minus mean of the first.
    pub change: f64,
    /// The two-sided probability of a difference at least as large, were there none.
    pub p_value: f64,
    /// The variance of one process on either side.
    variances: (f64, f64),
    /// How many independent processes either side counts as.
    counts: (f64, f64),
    /// The effective share of the processes of either side.
    shares: (f64, f64),
}

impl Difference {
    /// How far from `change` the true change lies at most on one side, with this `probability`:
    /// half the width of the 95 % interval for 0.975.
    pub fn reach(&self, probability: f64) -> f64 {
        reach(self.variances, self.counts, probability)
    }

    /// The one-sided probability that the change lies this far or farther from a value that it
    /// truly has.
    pub fn probability_of(&self, distance: f64) -> f64 {
        let errors = (self.variances.0 / self.counts.0, self.variances.1 / self.counts.1);
        let error = (errors.0 + errors.1).sqrt();
        if error == 0.0 {
            return if distance > 0.0 { 0.0 } else { 1.0 };
        }
        StudentsT::new(0.0, 1.0, freedom(errors, self.counts))
            .map_or(1.0, |t| t.sf(distance / error))
    }

    /// How many processes a side bring [`Self::reach`] under `distance`, if the noise stays as it
    /// is.
    ///
    /// `None` where even fifty do not.
    pub fn processes_needed(&self, distance: f64, probability: f64) -> Option<u32> {
        let enough = |&n: &u32| {
            let counts = (f64::from(n) * self.shares.0, f64::from(n) * self.shares.1);
            reach(self.variances, counts, probability) < distance
        };
        (3..=MOST_ADVISED).find(enough)
    }
}

/// Student's quantile times the error of a difference of means, with Welch's degrees of freedom.
fn reach(variances: (f64, f64), counts: (f64, f64), probability: f64) -> f64 {
    let (a, b) = (variances.0 / counts.0, variances.1 / counts.1);
    if a + b == 0.0 {
        return 0.0;
    }
    if counts.0.min(counts.1) < LEAST_INDEPENDENT {
        return f64::INFINITY;
    }
    StudentsT::new(0.0, 1.0, freedom((a, b), counts))
        .map_or(f64::INFINITY, |t| t.inverse_cdf(probability) * (a + b).sqrt())
}

/// Degrees of freedom of Welch and Satterthwaite, for the squared errors `a` and `b` of two means.
fn freedom((a, b): (f64, f64), counts: (f64, f64)) -> f64 {
    (a + b).powi(2) / (a * a / (counts.0 - 1.0) + b * b / (counts.1 - 1.0))
}

/// Compares two samples whose values are readings with this `resolution` (0 for a continuum).
///
/// `None` if a side has fewer than [`MIN_PROCESSES`] values or a value that is not finite, or
/// counts as fewer than [`LEAST_INDEPENDENT`].
pub fn welch(first: &[f64], second: &[f64], resolution: f64) -> Option<Difference> {
    welch_of_runs((first, None), (second, None), resolution)
}

/// As [`welch`], with the known correlation of neighbours of both runs ([`alike`]).
pub fn welch_of_runs(
    first: (&[f64], Option<f64>),
    second: (&[f64], Option<f64>),
    resolution: f64,
) -> Option<Difference> {
    let side = |(values, alike): (&[f64], Option<f64>)| -> Option<Side> {
        if values.len() < MIN_PROCESSES || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let mean = statistical::mean(values);
        let count = values.len() as f64;
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let variance = variance.max(resolution * resolution / 12.0);
        let independent = independent(count, alike);
        if independent < LEAST_INDEPENDENT {
            return None;
        }
        let variance = unbiased(variance, count, independent);
        Some(Side { mean, variance, count: independent, share: share(alike) })
    };
    let (a, b) = (side(first)?, side(second)?);
    let mut difference = Difference {
        change: b.mean - a.mean,
        p_value: 1.0,
        variances: (a.variance, b.variance),
        counts: (a.count, b.count),
        shares: (a.share, b.share),
    };
    difference.p_value = (2.0 * difference.probability_of(difference.change.abs())).min(1.0);
    Some(difference)
}

/// How many independent processes are equivalent to `count` of them with the correlation `alike`.
pub fn independent(count: f64, alike: Option<f64>) -> f64 {
    count * share(alike)
}

/// The fewest independent processes that show a variance.
pub const LEAST_INDEPENDENT: f64 = 2.0;

/// The variance of processes of which `count`, with a variance of `found`, are equivalent to
/// `independent` ones: neighbours that are alike differ less than others (Bayley & Hammersley).
fn unbiased(found: f64, count: f64, independent: f64) -> f64 {
    found * (1.0 - 1.0 / count) / (1.0 - 1.0 / independent)
}

fn share(alike: Option<f64>) -> f64 {
    let correlation = alike.unwrap_or(0.0);
    (1.0 - correlation) / (1.0 + correlation)
}

struct Side {
    mean: f64,
    variance: f64,
    count: f64,
    share: f64,
}

/// The correlation of neighbours among the processes of one run; each of `series` is the sequence
/// of one configuration: their mean, since most are too short for an estimate, as far as it is
/// known: with one standard error more, and then nearer to 0 by the share of its variance that is
/// chance (James & Stein, *Fourth Berkeley Symposium* 1, 1961). `None` if neighbours are not alike.
pub fn alike<'s>(series: impl IntoIterator<Item = &'s [f64]>) -> Option<f64> {
    let long = series.into_iter().filter(|values| values.len() >= MIN_ALIKE);
    let mut found: Vec<(f64, f64)> = long
        .filter_map(|values| Some((sequence::autocorrelation(values)?, values.len() as f64)))
        .collect();
    // A sum of floats depends on their order, and a merged run may have its rows in another one.
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    let count = found.len() as f64;
    // An estimate r of a short series is too small: its mean is ρ − (1 + 4ρ)/n (Marriott & Pope,
    // *Biometrika* 41, 1954). Its variance is about 1/n.
    let unbiased = |&(found, n): &(f64, f64)| (found + 1.0 / n) / (1.0 - 4.0 / n);
    let variance = |&(_, n): &(f64, f64)| 1.0 / n / (1.0 - 4.0 / n).powi(2);
    let mean = found.iter().map(unbiased).sum::<f64>() / count;
    let chance = found.iter().map(variance).sum::<f64>() / (count * count);
    let known = USUAL_ALIKE.powi(2) / (USUAL_ALIKE.powi(2) + chance);
    let most = (mean + chance.sqrt()) * known;
    (most > 0.0).then_some(most.min(MOST_CORRELATION))
}

/// Which of several differences are significant together, so that the chance of even one false
/// alarm among all stays under `level` (Holm, *Scandinavian Journal of Statistics* 6, 1979). Each
/// comes with its maximum p-value.
pub fn significant(p_values: &[f64], level: f64) -> Vec<(bool, f64)> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut out = vec![(false, level); p_values.len()];
    let mut so_far = true;
    for (rank, &index) in order.iter().enumerate() {
        let most = level / (p_values.len() - rank) as f64;
        so_far &= p_values[index] <= most;
        out[index] = (so_far, most);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-4 * expected.abs().max(1.0), "{value} {expected}");
    }

    /// Unchanged runs with correlated processes.
    #[test]
    fn correlated_processes_do_not_raise_the_false_alarm_rate() {
        let mut random = crate::stats::random::SplitMix(7);
        let mut run = |rho: f64| -> Vec<f64> {
            let mut last = random.normal();
            let next = |_| {
                last = rho * last + (1.0 - rho * rho).sqrt() * random.normal();
                100.0 + last
            };
            (0..40).map(next).collect()
        };
        let mut alarms = |rho: f64| {
            let found = (0..1000).filter(|_| {
                let (first, second) = (run(rho), run(rho));
                let [a, b] = [&first, &second].map(|run| (&run[..], alike([&run[..]])));
                welch_of_runs(a, b, 0.0).is_some_and(|found| found.p_value < 0.01)
            });
            found.count()
        };
        let (independent, correlated) = (alarms(0.0), alarms(0.7));
        assert!((1..=20).contains(&independent), "{independent}");
        assert!(correlated <= 10, "{correlated}; without the correction more than 250");
    }

    #[test]
    fn correlation_is_estimated_from_many_short_series() {
        let mut random = crate::stats::random::SplitMix(11);
        let mut all = |rho: f64| -> Vec<Vec<f64>> {
            let mut run = || {
                let mut last = random.normal();
                let next = |_| {
                    last = rho * last + (1.0 - rho * rho).sqrt() * random.normal();
                    100.0 + last
                };
                (0..10).map(next).collect()
            };
            (0..50).map(|_| run()).collect()
        };
        let of = |all: &[Vec<f64>]| alike(all.iter().map(Vec::as_slice));
        let found = of(&all(0.7)).unwrap();
        assert!((0.5..0.8).contains(&found), "{found}");
        let by_chance = (0..500).filter(|_| of(&all(0.0)) > Some(0.2)).count();
        assert!(by_chance <= 5, "{by_chance}");
        // One configuration hardly says anything.
        let single = (0..500).filter(|_| of(&all(0.0)[..1]) > Some(0.6)).count();
        assert!(single <= 25, "{single}");
        assert_eq!(alike([[1.0, 2.0, 3.0, 4.0].as_slice()]), None);
    }

    #[test]
    fn the_textbook_example_of_welch_comes_out() {
        // p = 0.021378 for these two samples: https://rosettacode.org/wiki/Welch%27s_t-test.
        let a = [
            27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7,
            21.4,
        ];
        let b = [
            27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5,
            24.4,
        ];
        let difference = welch(&a, &b, 0.0).unwrap();
        assert!((difference.p_value - 0.021_378_001_46).abs() < 1e-9, "{difference:?}");
    }

    #[test]
    fn the_interval_is_that_of_the_t_table() {
        // Equal variances of 1 and four values a side: error √(1/2), 6 degrees, t(0.975) = 2.4469.
        let a = [-1.0, 1.0, -1.0, 1.0].map(|x: f64| x * 0.75_f64.sqrt());
        let b = a.map(|x| x + 10.0);
        close(welch(&a, &b, 0.0).unwrap().reach(0.975), 2.446_912 * 0.5_f64.sqrt());
    }

    #[test]
    fn too_few_processes_give_no_comparison() {
        assert_eq!(welch(&[1.0, 2.0], &[5.0, 6.0, 7.0], 0.0), None);
        assert_eq!(welch(&[1.0, 2.0, f64::NAN], &[5.0, 6.0, 7.0], 0.0), None);
    }

    #[test]
    fn equal_readings_do_not_prove_that_there_is_no_noise() {
        let (a, b) = ([5024.0; 3], [5056.0; 3]);
        assert_eq!(welch(&a, &b, 0.0).unwrap().p_value, 0.0);
        assert!(welch(&a, &b, 32.0).unwrap().p_value > SIGNIFICANCE);
        assert_eq!(welch(&a, &a, 0.0).unwrap().p_value, 1.0);
    }

    #[test]
    fn holm_rejects_step_by_step() {
        let told = |p: &[f64]| -> Vec<bool> {
            significant(p, SIGNIFICANCE).into_iter().map(|(sure, _)| sure).collect()
        };
        assert_eq!(told(&[0.002, 0.2, 0.004]), [true, false, true]);
        assert_eq!(told(&[0.004, 0.2, 0.004]), [false; 3]);
        assert_eq!(told(&[0.01]), [true]);
        assert_eq!(told(&[]), [] as [bool; 0]);
    }

    #[test]
    fn advice_is_the_fewest_processes_that_resolve_the_difference() {
        // Variances of 1 and three values a side: t(0.975) is 2.1788 for 12 degrees, 2.3060 for 8.
        let a = [-1.0, 0.0, 1.0];
        let difference = welch(&a, &a.map(|x| x + 1.3), 0.0).unwrap();
        assert_eq!(
            difference.processes_needed(2.1788 * (2.0_f64 / 7.0).sqrt() + 1e-3, 0.975),
            Some(7)
        );
        assert_eq!(
            difference.processes_needed(2.3060 * (2.0_f64 / 5.0).sqrt() + 1e-3, 0.975),
            Some(5)
        );
        assert_eq!(difference.processes_needed(0.1, 0.975), None);
    }

    proptest! {
        #[test]
        fn a_change_is_significant_exactly_if_its_interval_excludes_zero(
            a in prop::collection::vec(1.0..2.0_f64, 3..9),
            b in prop::collection::vec(1.0..2.5_f64, 3..9),
        ) {
            let d = welch(&a, &b, 0.0).unwrap();
            let excluded = d.change.abs() > d.reach(0.975);
            if (d.p_value - 0.05).abs() > 1e-6 {
                prop_assert_eq!(d.p_value < 0.05, excluded, "{:?}", d);
            }
        }

        #[test]
        fn half_the_p_value_is_the_probability_of_the_change_on_its_side(
            a in prop::collection::vec(1.0..2.0_f64, 3..9),
            b in prop::collection::vec(1.0..2.5_f64, 3..9),
        ) {
            let d = welch(&a, &b, 0.1).unwrap();
            prop_assert!((d.probability_of(d.change.abs()) - d.p_value / 2.0).abs() < 1e-12);
            prop_assert!((d.probability_of(-1.0) + d.probability_of(1.0) - 1.0).abs() < 1e-9);
        }

        #[test]
        fn swapping_the_sides_only_reverses_the_sign(
            a in prop::collection::vec(1.0..2.0_f64, 3..9),
            b in prop::collection::vec(1.0..2.0_f64, 3..9),
        ) {
            let (there, back) = (welch(&a, &b, 0.1).unwrap(), welch(&b, &a, 0.1).unwrap());
            prop_assert!((there.change + back.change).abs() < 1e-12);
            prop_assert!((there.p_value - back.p_value).abs() < 1e-12);
        }

        #[test]
        fn correction_for_many_comparisons_is_never_more_lenient(
            p in prop::collection::vec(0.0..0.05_f64, 1..12),
        ) {
            for (p, (together, most)) in p.iter().zip(significant(&p, SIGNIFICANCE)) {
                prop_assert!(!together || (*p <= most && most <= SIGNIFICANCE));
            }
        }
    }

    #[test]
    fn identical_processes_differ_as_seldom_as_promised() {
        // 4,000 pairs of three and five normal processes from a fixed sequence: the share of p < 5
        // %.
        let mut state = 1_u64;
        let mut uniform = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
        };
        let mut normal =
            || (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
        let mut alarms = 0;
        for _ in 0..4000 {
            let a: Vec<f64> = (0..3).map(|_| normal()).collect();
            let b: Vec<f64> = (0..5).map(|_| normal()).collect();
            alarms += usize::from(welch(&a, &b, 0.0).unwrap().p_value < 0.05);
        }
        assert!((120..=240).contains(&alarms), "{alarms} of 4000 at 5 %");
    }
}
