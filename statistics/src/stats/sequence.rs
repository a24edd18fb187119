//! Samples in the order they were taken: neighbours that agree too much, drift, and outliers.
//!
//! Input: the samples of one process. Output: their lag-1 autocorrelation, the drift where a
//! trend is significant, and which samples are outliers. Outliers are named and never dropped: a
//! kernel that is sometimes slow is slow for someone.

use statrs::distribution::{Binomial, DiscreteCDF};

use crate::stats::median::median;

/// A trend is reported if chance would make one as clear less often than this.
const TREND_LEVEL: f64 = 0.01;

/// A modified z-score beyond which a sample is an outlier (Iglewicz & Hoaglin, *How to Detect and
/// Handle Outliers*, 1993).
const OUTLIER_SCORE: f64 = 3.5;

/// The correlation of each sample with the next one, from −1 to 1: `Σ (xᵢ−x̄)(xᵢ₊₁−x̄) / Σ
/// (xᵢ−x̄)²` (Box & Jenkins, *Time Series Analysis*, 1970). `None` under three samples or if all
/// are equal.
pub fn autocorrelation(samples: &[f64]) -> Option<f64> {
    let [first, rest @ ..] = samples else { return None };
    // The mean of equal samples is rounded, so their distances from it need not be 0.
    if samples.len() < 3 || rest.iter().all(|sample| sample == first) {
        return None;
    }
    let mean = statistical::mean(samples);
    let total: f64 = samples.iter().map(|x| (x - mean).powi(2)).sum();
    let lagged: f64 = samples.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    Some(lagged / total)
}

/// How far the samples drift from the first half to the second, in percent of their median; `None`
/// if no trend is significant.
///
/// The trend is tested by the signs of `xᵢ₊ₙ⁄₂ − xᵢ`, of which a series without trend has as many
/// up as down (Cox & Stuart, *Biometrika* 42, 1955), at 1 %. The drift is the median of the
/// differences.
pub fn drift_percent(samples: &[f64]) -> Option<f64> {
    let half = samples.len() / 2;
    let (first, second) = (&samples[..half], &samples[samples.len() - half..]);
    let differences: Vec<f64> = first.iter().zip(second).map(|(a, b)| b - a).collect();
    let up = differences.iter().filter(|d| **d > 0.0).count() as u64;
    let down = differences.iter().filter(|d| **d < 0.0).count() as u64;
    if up + down == 0 {
        return None;
    }
    let tail = Binomial::new(0.5, up + down).ok()?.cdf(up.min(down));
    let center = median(samples).filter(|&center| center != 0.0)?;
    (2.0 * tail < TREND_LEVEL).then_some(100.0 * median(&differences)? / center)
}

/// The median absolute deviation from the median, not scaled; `None` without samples.
pub fn median_absolute_deviation(samples: &[f64]) -> Option<f64> {
    let center = median(samples)?;
    median(&samples.iter().map(|x| (x - center).abs()).collect::<Vec<_>>())
}

/// The positions of outliers among `samples`: a modified z-score `|x − median| / (1.4826 MAD)`
/// above 3.5. If more than half of the samples are equal, so that the MAD is 0, the mean absolute
/// deviation times 1.2533 replaces it.
pub fn outliers(samples: &[f64]) -> Vec<usize> {
    let Some(center) = median(samples) else { return Vec::new() };
    let deviations: Vec<f64> = samples.iter().map(|x| (x - center).abs()).collect();
    let scale = match median(&deviations) {
        Some(mad) if mad > 0.0 => 1.4826 * mad,
        _ => 1.2533 * statistical::mean(&deviations),
    };
    let far = |(position, deviation): (usize, &f64)| {
        (*deviation > OUTLIER_SCORE * scale).then_some(position)
    };
    deviations.iter().enumerate().filter_map(far).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn autocorrelation_follows_its_definition() {
        // 1..5: Σ(xᵢ−3)(xᵢ₊₁−3) = 2+0+0+2 = 4 over 10.
        assert_eq!(autocorrelation(&[1.0, 2.0, 3.0, 4.0, 5.0]), Some(0.4));
        assert_eq!(autocorrelation(&[1.0, -1.0, 1.0, -1.0]), Some(-0.75));
        assert_eq!(autocorrelation(&[1.0, 1.0, 1.0]), None);
        // A third of their sum is not 0.1.
        assert_eq!(autocorrelation(&[0.1, 0.1, 0.1]), None);
        assert_eq!(autocorrelation(&[1.0, 2.0]), None);
    }

    #[test]
    fn a_steady_rise_is_drift_and_scatter_is_not() {
        let rise: Vec<f64> = (0..40).map(|i| 1000.0 + f64::from(i)).collect();
        let drift = drift_percent(&rise).unwrap();
        assert!((drift - 100.0 * 20.0 / 1019.5).abs() < 1e-9, "{drift}");
        let scatter: Vec<f64> = (0..40).map(|i| 1000.0 + f64::from(i * 17 % 23)).collect();
        assert_eq!(drift_percent(&scatter), None);
        assert_eq!(drift_percent(&[1.0, 2.0, 3.0, 4.0]), None);
        assert_eq!(drift_percent(&[5.0; 50]), None);
        assert_eq!(drift_percent(&[]), None);
    }

    #[test]
    fn a_far_sample_is_an_outlier_even_among_equal_ones() {
        let mut samples = vec![10.0; 50];
        samples[17] = 90.0;
        assert_eq!(outliers(&samples), [17]);
        let spread: Vec<f64> = (0..50).map(|i| 10.0 + f64::from(i % 5)).collect();
        assert_eq!(outliers(&spread), [] as [usize; 0]);
        assert_eq!(outliers(&[]), [] as [usize; 0]);
        assert_eq!(outliers(&[7.0; 9]), [] as [usize; 0]);
    }

    #[test]
    fn the_median_absolute_deviation_of_the_textbook() {
        // 1, 1, 2, 2, 4, 6, 9: deviations from 2 are 1, 1, 0, 0, 2, 4, 7 with median 1.
        let samples = [1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0];
        assert_eq!(median_absolute_deviation(&samples), Some(1.0));
    }

    proptest! {
        #[test]
        fn autocorrelation_is_a_correlation(samples in prop::collection::vec(-1e6..1e6_f64, 3..60)) {
            if let Some(r) = autocorrelation(&samples) {
                prop_assert!((-1.0..=1.0).contains(&r), "{r}");
            }
        }

        #[test]
        fn scale_and_offset_do_not_change_outliers(
            samples in prop::collection::vec(1.0..100.0_f64, 3..40), scale in 1.0..8.0_f64,
        ) {
            // Powers of two scale exactly.
            let factor = scale.log2().floor().exp2();
            let scaled: Vec<f64> = samples.iter().map(|x| x * factor).collect();
            prop_assert_eq!(outliers(&samples), outliers(&scaled));
        }
    }
}
