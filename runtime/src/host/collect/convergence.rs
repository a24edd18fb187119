//! When samples have converged: their median, and how sure it is.
//!
//! Input: durations. Output: the median, and its relative standard error, by which sampling stops.

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

/// The standard error of the median over the median, from order statistics: half the distance
/// between the samples √n/2 ranks below and above the middle, which holds the median of any
/// distribution with about 68 % confidence (David and Nagaraja, Order Statistics, §7.1).
pub(super) fn relative_standard_error(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    let middle = median(&mut sorted);
    let half = sorted.len() as f64 / 2.0;
    let reach = (sorted.len() as f64).sqrt() / 2.0;
    let low = (half - reach).floor().max(0.0) as usize;
    let high = ((half + reach).ceil() as usize).min(sorted.len() - 1);
    (sorted[high] - sorted[low]) / 2.0 / middle
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steady_samples_converge_and_scattered_ones_do_not() {
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
    fn the_median_of_an_even_count_is_between_the_middle_two() {
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
    }
}
