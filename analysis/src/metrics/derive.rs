//! Derived metrics: formulas over the leaves, for a run as a whole, a process, or a single sample.
//!
//! Input: a catalogue entry with a formula, and pass results. Output: its value with
//! statistics where it depends on samples, or the reason of the operand that is not there.
//!
//! A formula with one timed operand is evaluated over the headline values, so that the columns of a
//! table agree with each other. A formula with several (`throughput_of_copy`) is evaluated in each
//! process first and then the median taken: both operands share that process' memory placement, and
//! dividing within the process is what cancels it.

use std::collections::BTreeMap;

use gpuprof_model::measurement::PassResult;
use gpuprof_model::metric::{self, Class, Metric, Origin, Undefined};
use gpuprof_model::run::Statistics;

use crate::metrics::leaf;
use crate::stats::descriptive;

/// The value of the derived `metric`, and statistics over the values at each duration sample.
pub(super) fn value(
    metric: &Metric,
    passes: &[PassResult],
) -> (Result<f64, String>, Option<Statistics>) {
    let timed = timed_leaves(metric);
    let headline = |passes: &[PassResult]| evaluate(metric, &|leaf| leaf::value(leaf, passes));
    let whole = headline(passes);
    let value = match whole {
        Ok(_) if timed.len() > 1 => {
            let each: Vec<f64> =
                passes.iter().filter_map(|p| headline(std::slice::from_ref(p)).ok()).collect();
            descriptive::median(&each)
                .ok_or_else(|| format!("no process measured both {}", quoted(&timed)))
        }
        whole => whole,
    };
    let statistics = match value {
        Ok(_) if timed.contains(&"duration") => over_samples(metric, passes),
        _ => None,
    };
    (value, statistics)
}

/// Evaluates `metric` once for each duration sample, its other operands being those of the process.
fn over_samples(metric: &Metric, passes: &[PassResult]) -> Option<Statistics> {
    let of_process = |pass: &PassResult| -> Vec<f64> {
        let mut others = BTreeMap::new();
        let pass_value = |leaf: &Metric| leaf::value(leaf, std::slice::from_ref(pass));
        for name in leaves(metric) {
            if let Some(Ok(value)) = metric::find(name).map(pass_value) {
                others.insert(name, value);
            }
        }
        let at = |sample: f64| {
            evaluate(metric, &|leaf| match leaf.name {
                "duration" => Ok(sample),
                name => others.get(name).copied().ok_or_else(String::new),
            })
        };
        let samples = leaf::samples("duration", std::slice::from_ref(pass));
        samples.into_iter().flatten().filter_map(|sample| at(sample).ok()).collect()
    };
    descriptive::over(&passes.iter().map(of_process).collect::<Vec<_>>())
}

/// Evaluates `metric` with `leaf` giving the values of what is not derived.
fn evaluate(metric: &Metric, leaf: &dyn Fn(&Metric) -> Result<f64, String>) -> Result<f64, String> {
    let Some(formula) = metric::formula(metric) else { return leaf(metric) };
    let operand = |name: &str| match metric::find(name) {
        Some(operand) => evaluate(operand, leaf),
        None => Err("no metric has this name".to_owned()),
    };
    match formula.evaluate(|name| operand(name).ok()) {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(_) => Err("the value is not a finite number".to_owned()),
        Err(Undefined::DivisionByZero(names)) => Err(zero(&names)),
        Err(Undefined::Operand(name)) => {
            let reason = operand(&name).err().unwrap_or_default();
            let derived =
                metric::find(&name).is_some_and(|m| matches!(m.origin, Origin::Derived(_)));
            Err(if derived { reason } else { format!("needs `{name}`: {reason}") })
        }
    }
}

/// "no global loads executed by warps (division by zero)".
fn zero(divisor: &[String]) -> String {
    match divisor.first().and_then(|name| metric::find(name)) {
        Some(Metric { class: Class::Exact, description, .. }) => {
            format!("no {description} (division by zero)")
        }
        Some(Metric { name, .. }) => format!("`{name}` is 0 (division by zero)"),
        None => "division by zero".to_owned(),
    }
}

/// The metrics that `metric` is made of in the end, in order of appearance.
fn leaves(metric: &Metric) -> Vec<&'static str> {
    let Some(formula) = metric::formula(metric) else { return Vec::new() };
    let mut out = Vec::new();
    for operand in formula.names().into_iter().filter_map(metric::find) {
        match operand.origin {
            Origin::Derived(_) => out.extend(leaves(operand)),
            _ => out.push(operand.name),
        }
    }
    out
}

/// The timed metrics that `metric` is made of, itself where it is one.
pub(super) fn timed_leaves(metric: &Metric) -> Vec<&'static str> {
    if metric.origin == Origin::Time {
        return vec![metric.name];
    }
    let timed = |name: &&str| metric::find(name).is_some_and(|m| m.origin == Origin::Time);
    let mut names: Vec<&'static str> = leaves(metric).into_iter().filter(timed).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_are_found_through_derived_operands() {
        let metric = metric::find("throughput_of_copy").unwrap();
        assert_eq!(leaves(metric), ["bytes", "duration", "copy_bandwidth"]);
        assert_eq!(timed_leaves(metric), ["copy_bandwidth", "duration"]);
    }
}
