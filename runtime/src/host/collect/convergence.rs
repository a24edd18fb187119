//! When samples have converged: their middle, and how sure it is.
//!
//! Input: durations. Output: the median, and the relative standard error by which sampling stops.

use gpuprof_model::clock::{Middle, STEP_NS};

/// Samples that a window of the warm-up, or a batch, holds.
pub(super) const WINDOW: usize = 8;

/// The median; `values` are sorted by it.
pub(super) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) {
        f64::midpoint(values[middle - 1], values[middle])
    } else {
        values[middle]
    }
}

/// The standard error of the middle of `samples` over that middle.
pub(super) fn relative_standard_error(samples: &[f64]) -> f64 {
    Middle::locate(samples, STEP_NS).map_or(f64::INFINITY, |middle| middle.error / middle.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_steady_samples_converge() {
        let steady: Vec<f64> = (0..100).map(|i| 1000.0 + f64::from(i % 5)).collect();
        assert!(relative_standard_error(&steady) < 0.005);
        let scattered: Vec<f64> = (0..24).map(|i| 1000.0 + 100.0 * f64::from(i % 7)).collect();
        assert!(relative_standard_error(&scattered) > 0.005);
    }

    #[test]
    fn the_error_of_normal_samples_is_near_its_theory() {
        // Quantiles of a normal distribution of standard deviation 1: the error of its median is
        // sqrt(pi/2)/sqrt(n) = 0.0396 at n = 1000.
        let samples: Vec<f64> = (0..1000)
            .map(|i| {
                100.0 + 1.702_f64.recip() * ((f64::from(i) + 0.5) / (999.5 - f64::from(i))).ln()
            })
            .collect();
        let error = relative_standard_error(&samples) * 100.0;
        assert!((0.03..0.05).contains(&error), "{error}");
    }

    #[test]
    fn the_error_of_equal_samples_follows_from_the_clock_step() {
        // One of 24 + 2 is taken to be a step longer.
        let error = relative_standard_error(&[96.0; 24]);
        assert!((error - 32.0 / 26.0 / 96.0).abs() < 1e-9, "{error}");
    }

    #[test]
    fn the_median_of_an_even_count_is_between_the_middle_two() {
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
    }
}
