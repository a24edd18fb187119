//! Estimates of time: their interval, and the comparison of two of them.
//!
//! Input: the estimates of a configuration in a baseline and in a run. Output: why they cannot be
//! compared, or the limit that grew. Two estimates are numbers of one scale only if the same
//! version of the model made them for the same chip; then any difference comes from the code.

use gpuprof_model::Quantity;
use gpuprof_model::comparison::Interval;
use gpuprof_model::estimate::{Estimate, Limit};
use gpuprof_model::quantity::Unit;

/// The sign in front of an estimate.
pub const SIGN: &str = "≈";

/// The probability that an interval covers the measured duration.
const COVERAGE: f64 = 0.9;

/// The interval of a duration, in nanoseconds.
pub(crate) fn interval(of: &Estimate) -> Interval {
    Interval { low: of.low_ns.0, high: of.high_ns.0, level: COVERAGE }
}

/// Why both cannot be compared, if different models made them.
pub(crate) fn different_models(baseline: &Estimate, run: &Estimate) -> Option<String> {
    let named = |of: &Estimate| {
        let without = match (of.registers_known, of.machine_code_known) {
            (false, _) => " without registers",
            (true, false) => " without machine code",
            (true, true) => "",
        };
        format!("model {} of the {}{without}", of.model, of.chip)
    };
    let [before, after] = [baseline, run].map(named);
    (before != after)
        .then(|| format!("estimates of two models: {before} in the baseline, {after} here"))
}

/// Names the limit whose time grew most since the `baseline`; none if no time grew.
pub(crate) fn grown_limit(baseline: &Estimate, run: &Estimate) -> Option<String> {
    let time = |of: &Estimate, limit: Limit| {
        let share = of.limits.iter().find(|known| known.limit == limit);
        of.duration_ns.0 * share.map_or(0.0, |known| known.share)
    };
    let grown =
        run.limits.iter().map(|of| (of.limit, time(run, of.limit) - time(baseline, of.limit)));
    let (limit, more) = grown.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, more)| *more > 0.0)?;
    let more = Quantity::new(more, Unit::Nanoseconds);
    Some(format!("the limit `{limit}` grew most, by ≈{more}"))
}

#[cfg(test)]
mod tests {
    use gpuprof_model::estimate::LimitShare;
    use gpuprof_model::units::Nanoseconds;

    use super::*;

    fn estimate(duration_ns: f64, limits: &[(Limit, f64)]) -> Estimate {
        let share = |&(limit, share): &(Limit, f64)| LimitShare { limit, share };
        Estimate {
            duration_ns: Nanoseconds(duration_ns),
            low_ns: Nanoseconds(0.5 * duration_ns),
            high_ns: Nanoseconds(2.0 * duration_ns),
            limits: limits.iter().map(share).collect(),
            model: 1,
            chip: "H200".into(),
            characterised: true,
            registers_known: true,
            machine_code_known: true,
        }
    }

    #[test]
    fn the_limit_with_the_largest_growth_in_time_is_named() {
        let before = estimate(1000.0, &[(Limit::Dram, 0.9), (Limit::Issue, 0.5)]);
        let after = estimate(1500.0, &[(Limit::Issue, 0.9), (Limit::Dram, 0.7)]);
        let told = "the limit `issue` grew most, by ≈850 ns";
        assert_eq!(grown_limit(&before, &after).as_deref(), Some(told));
        assert_eq!(grown_limit(&before, &before), None);
    }

    #[test]
    fn estimates_of_different_models_are_named() {
        let of = estimate(1000.0, &[]);
        assert_eq!(different_models(&of, &of), None);
        let newer = Estimate { model: 2, ..of.clone() };
        let told = "estimates of two models: model 1 of the H200 in the baseline, model 2 of the \
                    H200 here";
        assert_eq!(different_models(&of, &newer).unwrap(), told);
        assert!(different_models(&of, &Estimate { chip: "L4".into(), ..of.clone() }).is_some());
        let without = Estimate { registers_known: false, ..of.clone() };
        let told = "estimates of two models: model 1 of the H200 without registers in the \
                    baseline, model 1 of the H200 here";
        assert_eq!(different_models(&without, &of).unwrap(), told);
    }
}
