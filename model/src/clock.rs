//! Durations that are read off a clock with a step.
//!
//! Input: samples in any order. Output: their middle, finer than the step, and how sure it is. The
//! number of a process is this middle: in tables, for the judge, and to end sampling.

/// The GPU's clock counts in steps of 32 ns, on all GPUs seen so far.
pub const STEP_NS: f64 = 32.0;

/// How far a sample counts, in steps: readings of one duration are less than a step from it.
const REACH: f64 = 1.5;

/// The middle of samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Middle {
    /// The number from which the distances of the samples, of which none counts for more than 1.5
    /// steps, add up to 0.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
}

impl Middle {
    /// Of `samples` that are read in steps of `step` (0 for a continuum); none without samples.
    ///
    /// The difference of two readings of a clock is the duration plus the difference of two phases,
    /// so if the phases are random, readings of a duration of 1,000 ns are 992 and 1,024 ns, with a
    /// mean of 1,000. For samples that scatter by less than a step this is the mean. For others it
    /// is nearly the median, which outliers do not move. It is an estimate of location by Huber
    /// (*Annals of Mathematical Statistics* 35, 1964).
    pub fn locate(samples: &[f64], step: f64) -> Option<Self> {
        let start = median(samples)?;
        let reach = REACH * step;
        if !(reach.is_finite() && reach > 0.0 && start.is_finite()) {
            return Some(Self { value: start, error: 0.0 });
        }
        // Half of the samples or more are on either side of the median, so this contains the
        // result.
        let (mut low, mut high, mut at) = (start - reach, start + reach, start);
        for _ in 0..ITERATIONS {
            let Distances { sum, inside, .. } = Distances::new(samples, at, reach);
            if sum > 0.0 {
                low = at
            } else {
                high = at
            }
            let next = at + sum / inside;
            let next = if next > low && next < high { next } else { f64::midpoint(low, high) };
            if sum == 0.0 || (next - at).abs() <= PRECISION * reach {
                break;
            }
            at = next;
        }
        Some(Self {
            value: at,
            error: Distances::new(samples, at, reach).error(samples.len(), step),
        })
    }
}

/// More than any samples need to reach [`PRECISION`], a share of the reach.
const ITERATIONS: u32 = 64;
const PRECISION: f64 = 1e-12;

/// The distances of samples from a number.
struct Distances {
    /// Their sum, of which none counts for more than the reach.
    sum: f64,
    /// The sum of their squares, the same.
    squares: f64,
    /// How many are within the reach.
    inside: f64,
}

impl Distances {
    fn new(samples: &[f64], from: f64, reach: f64) -> Self {
        let mut all = Self { sum: 0.0, squares: 0.0, inside: 0.0 };
        for sample in samples {
            let distance = (sample - from).clamp(-reach, reach);
            all.sum += distance;
            all.squares += distance * distance;
            all.inside += if (sample - from).abs() <= reach { 1.0 } else { 0.0 };
        }
        all
    }

    /// The standard error of the number in which the sum is 0 (Huber's theorem 4). If all of n
    /// samples are on one step, about one in n + 2 such samples is on another one (Laplace's rule).
    fn error(&self, samples: usize, step: f64) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "samples are counted")]
        let next = step / (samples as f64 + 2.0);
        if self.inside == 0.0 {
            f64::INFINITY
        } else {
            (self.squares.sqrt() / self.inside).max(next)
        }
    }
}

/// The middle of `samples`: one of them, or the mean of two.
fn median(samples: &[f64]) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    Some(f64::midpoint(sorted[last / 2], sorted[sorted.len() / 2]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(samples: &[f64], step: f64) -> Option<f64> {
        Middle::locate(samples, step).map(|middle| middle.value)
    }

    /// `count` readings of a duration, by a clock with a step of 32 and at phases that are spread
    /// evenly (Weyl's sequence of the golden ratio).
    fn readings(duration: f64, count: u32) -> Vec<f64> {
        let phase = |at: u32| (f64::from(at) * 0.618_033_988_749_895).fract();
        (0..count).map(|at| 32.0 * (duration / 32.0 + phase(at)).floor()).collect()
    }

    #[test]
    fn readings_at_all_phases_resolve_a_fraction_of_the_step() {
        for tenth in 0..10 {
            let duration = 640.0 + 3.2 * f64::from(tenth);
            let found = Middle::locate(&readings(duration, 100), 32.0).unwrap();
            assert!((found.value - duration).abs() < 0.7, "{found:?} {duration}");
            // √(p (1 − p) / n) steps, and at least a step of n.
            let share = f64::from(tenth) / 10.0;
            let expected = (32.0 * (share * (1.0 - share)).sqrt() / 10.0).max(32.0 / 102.0);
            assert!((found.error - expected).abs() < 0.05, "{found:?} {expected}");
        }
    }

    #[test]
    fn for_wide_scatter_the_error_is_that_of_the_median() {
        // A uniform scatter of ±s: the error of its median is s / √n.
        let samples: Vec<f64> = (0..1000).map(|at| 1e6 + 10.0 * (f64::from(at) - 499.5)).collect();
        let found = Middle::locate(&samples, 32.0).unwrap();
        assert!((found.value - 1e6).abs() < 1e-6, "{found:?}");
        assert!((found.error / (5000.0 / 1000.0_f64.sqrt()) - 1.0).abs() < 0.1, "{found:?}");
    }

    #[test]
    fn outliers_move_the_middle_little_more_than_the_median() {
        let mut samples = vec![992.0; 90];
        samples.extend([9000.0; 10]);
        let found = value(&samples, 32.0).unwrap();
        assert!((found - 992.0 - 48.0 / 9.0).abs() < 1e-9, "{found}");
        assert_eq!(value(&[1.0, 100.0, 1000.0, 1100.0], 0.5), Some(550.0));
    }

    #[test]
    fn equal_and_continuous_samples_have_their_median() {
        assert_eq!(value(&[0.1; 7], 32.0), Some(0.1));
        assert_eq!(value(&[1.0, 2.0, 9.0], 0.0), Some(2.0));
        assert_eq!(value(&[960.0, 992.0, 1024.0], 32.0), Some(992.0));
        assert_eq!(value(&[], 32.0), None);
    }

    proptest! {
        #[test]
        fn the_middle_is_within_one_and_a_half_steps_of_the_median(
            samples in prop::collection::vec(0.0..1e4_f64, 1..60), step in 0.1..100.0_f64,
        ) {
            let (found, middle) = (value(&samples, step).unwrap(), median(&samples).unwrap());
            prop_assert!((found - middle).abs() <= 1.5 * step + 1e-9);
            let least = samples.iter().copied().fold(f64::INFINITY, f64::min);
            prop_assert!(found >= least - 1e-9);
            let of = |at: f64| -> f64 {
                samples.iter().map(|x| (x - at).clamp(-1.5 * step, 1.5 * step)).sum()
            };
            prop_assert!(of(found).abs() < 1e-6 * step.max(1.0));
        }
    }
}
