//! One sample of processes against a number.
//!
//! Input: one number a process, and a limit. Output: how far their mean is from it, and how surely.
//! Numbers that are all positive are compared by their logarithms, since noise multiplies times.
//! The test is Student's (*Biometrika* 6, 1908); as in `two_sample`, the variance is at least that
//! of rounding to the step in which the numbers are read.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::stats::two_sample::MIN_PROCESSES;

/// The most processes that are ever advised.
const MOST_ADVISED: u32 = 431;

/// How a sample lies to a limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distance {
    /// Mean of the sample minus limit, of the logarithms where `relative`.
    pub above: f64,
    /// Whether it is a share of the limit.
    pub relative: bool,
    /// The standard deviation of one process.
    deviation: f64,
    processes: u32,
}

impl Distance {
    /// Of `values` from `limit`, read in steps of `resolution` (0 for a continuum).
    ///
    /// `None` for fewer than [`MIN_PROCESSES`] values, or if one is not a finite number.
    pub fn from_values(values: &[f64], limit: f64, resolution: f64) -> Option<Self> {
        let finite = limit.is_finite() && values.iter().all(|value| value.is_finite());
        if values.len() < MIN_PROCESSES || !finite {
            return None;
        }
        let relative = limit > 0.0 && values.iter().all(|&value| value > 0.0);
        let scaled: Vec<f64> = match relative {
            true => values.iter().map(|value| (value / limit).ln()).collect(),
            false => values.iter().map(|value| value - limit).collect(),
        };
        let step = if relative { resolution / limit } else { resolution };
        let above = statistical::mean(&scaled);
        let deviation = statistical::standard_deviation(&scaled, Some(above));
        let deviation = deviation.max(step / 12.0_f64.sqrt());
        Some(Self { above, relative, deviation, processes: u32::try_from(values.len()).ok()? })
    }

    /// The probability of a mean so far above the limit, or farther, were the true one at it.
    pub fn probability_above(&self) -> f64 {
        self.tail(self.above)
    }

    /// The probability of a mean so far below the limit, or farther, were the true one at it.
    pub fn probability_below(&self) -> f64 {
        self.tail(-self.above)
    }

    fn tail(&self, distance: f64) -> f64 {
        let error = self.deviation / f64::from(self.processes).sqrt();
        if error == 0.0 {
            return if distance > 0.0 { 0.0 } else { 1.0 };
        }
        student(self.processes).map_or(1.0, |t| t.sf(distance / error))
    }

    /// How far from the mean the true one lies at most on one side, with 1 − `level`.
    pub fn reach(&self, level: f64) -> f64 {
        reach(self.deviation, self.processes, level)
    }

    /// How many processes bring [`Self::reach`] under the distance from the limit; none if even 431
    /// do not.
    pub fn processes_needed(&self, level: f64) -> Option<u32> {
        let least = u32::try_from(MIN_PROCESSES).unwrap_or(u32::MAX);
        (least..=MOST_ADVISED).find(|&n| reach(self.deviation, n, level) < self.above.abs())
    }
}

fn student(processes: u32) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, f64::from(processes) - 1.0).ok()
}

fn reach(deviation: f64, processes: u32, level: f64) -> f64 {
    let error = deviation / f64::from(processes).sqrt();
    student(processes).map_or(f64::INFINITY, |t| t.inverse_cdf(1.0 - level) * error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_that_of_the_t_table() {
        // Deviations ±1 around 2.1318 errors: t(0.95) is 2.1318 with 4 degrees of freedom.
        let deviations = [-1.0, 1.0, -1.0, 1.0, 0.0];
        let error = 1.0 / 5.0_f64.sqrt();
        let values = deviations.map(|d| d + 2.131_85 * error - 10.0);
        let found = Distance::from_values(&values, -10.0, 0.0).unwrap();
        assert!(!found.relative && (found.probability_above() - 0.05).abs() < 1e-5, "{found:?}");
        assert!((found.probability_below() - 0.95).abs() < 1e-5);
        assert!((found.reach(0.05) - 2.131_85 * error).abs() < 1e-4);
    }

    #[test]
    fn positive_numbers_are_compared_by_their_ratio() {
        let found = Distance::from_values(&[99.0, 100.0, 101.0], 50.0, 0.0).unwrap();
        assert!(found.relative && (found.above - 2.0_f64.ln()).abs() < 1e-4, "{found:?}");
    }

    #[test]
    fn equal_readings_are_as_sure_as_the_step_allows() {
        let of = |step| Distance::from_values(&[5024.0; 3], 5020.0, step).unwrap();
        assert_eq!((of(0.0).probability_above(), of(0.0).probability_below()), (0.0, 1.0));
        assert!(of(32.0).probability_above() > 0.05);
        assert_eq!(Distance::from_values(&[5024.0; 2], 5020.0, 0.0), None);
        assert_eq!(Distance::from_values(&[1.0, f64::NAN, 1.0], 1.0, 0.0), None);
    }

    #[test]
    fn advice_is_the_fewest_processes_that_decide() {
        let near = Distance::from_values(&[101.0, 102.0, 100.0, 101.0], 100.0, 0.0).unwrap();
        let needed = near.processes_needed(0.01).unwrap();
        assert!(reach(near.deviation, needed, 0.01) < near.above);
        assert!(reach(near.deviation, needed - 1, 0.01) >= near.above);
        let at = Distance::from_values(&[99.0, 100.0, 101.0], 100.0, 0.0).unwrap();
        assert_eq!(at.processes_needed(0.05), None);
    }
}
