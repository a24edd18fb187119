//! Derived metrics: formulas over the leaves, for a run as a whole, a process, or a single sample.
//!
//! Input: a catalogue entry with a formula, and pass results. Output: its value, with statistics if
//! it depends on samples, or the reason of the operand without a value.
//!
//! A formula with one timed operand is evaluated over the headline values, so that the columns of a
//! table agree with each other. A formula with several (`throughput_of_copy`) is evaluated in each
//! process first and then the median taken: both operands share that process' memory placement, and
//! dividing within the process cancels it.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpuprof_model::clock::STEP_NS;
use gpuprof_model::comparison::Interval;
use gpuprof_model::measurement::PassResult;
use gpuprof_model::metric::{Catalogue, Class, Metric, Origin, Undefined};
use gpuprof_model::quantity::format_number;
use gpuprof_model::run::Statistics;

use crate::estimates::interval;
use crate::metrics::pass_value;
use crate::stats::descriptive;
use crate::stats::median::median;

/// A derived metric with all that it is made of.
#[derive(Debug, Clone)]
pub(super) struct DerivedMetric {
    metric: Arc<Metric>,
    /// Its operands and theirs, by name.
    operands: BTreeMap<String, Arc<Metric>>,
}

impl DerivedMetric {
    /// `metric` as `catalogue` has its operands. Of a metric that is not derived there are none.
    pub(super) fn new(metric: Arc<Metric>, catalogue: &Catalogue) -> Self {
        let mut operands = BTreeMap::new();
        add_operands(&metric, catalogue, &mut operands);
        Self { metric, operands }
    }

    /// Its value, and statistics over the values at each duration sample.
    pub(super) fn value(&self, passes: &[PassResult]) -> (Result<f64, String>, Option<Statistics>) {
        let timed = self.timed_leaves();
        let headline = |passes: &[PassResult]| {
            self.evaluate(&self.metric, &|leaf| pass_value::value(leaf, passes))
        };
        let whole = headline(passes);
        let value = match whole {
            Ok(_) if timed.len() > 1 => {
                let each: Vec<f64> =
                    passes.iter().filter_map(|p| headline(std::slice::from_ref(p)).ok()).collect();
                median(&each).ok_or_else(|| format!("no process measured both {}", quoted(&timed)))
            }
            whole => whole,
        };
        let statistics = match value {
            Ok(value) if self.depends_on_duration() => self.over_samples(value, passes),
            _ => None,
        };
        (value, statistics)
    }

    /// Whether it is a duration, or made of one.
    pub(super) fn depends_on_duration(&self) -> bool {
        self.timed_leaves().contains(&"duration")
    }

    /// Where its value lies if the duration is estimated: between those at both ends of the
    /// duration's interval. So a formula has to be monotone in the duration, as all built-in ones
    /// are.
    pub(super) fn interval(&self, passes: &[PassResult]) -> Option<Interval> {
        let of_duration = interval(passes.first()?.estimate.as_ref()?);
        let at = |duration: f64| {
            let leaf = |leaf: &Metric| match &*leaf.name {
                "duration" => Ok(duration),
                _ => pass_value::value(leaf, passes),
            };
            self.evaluate(&self.metric, &leaf).ok()
        };
        let (a, b) = (at(of_duration.low)?, at(of_duration.high)?);
        Some(Interval { low: a.min(b), high: a.max(b), ..of_duration })
    }

    /// Evaluates it, which as a whole is `value`, once for each duration sample, its other operands
    /// being those of the process.
    fn over_samples(&self, value: f64, passes: &[PassResult]) -> Option<Statistics> {
        let of_process = |pass: &PassResult| -> Vec<f64> {
            let mut others = BTreeMap::new();
            for leaf in self.leaves() {
                if let Ok(value) = pass_value::value(leaf, std::slice::from_ref(pass)) {
                    others.insert(&*leaf.name, value);
                }
            }
            let at = |sample: f64| {
                self.evaluate(&self.metric, &|leaf| match &*leaf.name {
                    "duration" => Ok(sample),
                    name => others.get(name).copied().ok_or_else(String::new),
                })
            };
            let samples = pass_value::samples("duration", std::slice::from_ref(pass));
            samples.into_iter().flatten().filter_map(|sample| at(sample).ok()).collect()
        };
        let durations = pass_value::samples("duration", passes);
        let of_duration = STEP_NS / descriptive::median_of_medians(&durations, STEP_NS)?;
        let processes: Vec<Vec<f64>> = passes.iter().map(of_process).collect();
        descriptive::over(&processes, value.abs() * of_duration)
    }

    /// Evaluates `metric`, itself or an operand, with `leaf` giving the values of what is not
    /// derived.
    fn evaluate(
        &self,
        metric: &Metric,
        leaf: &dyn Fn(&Metric) -> Result<f64, String>,
    ) -> Result<f64, String> {
        let Some(formula) = metric.formula() else { return leaf(metric) };
        let operand = |name: &str| match self.operands.get(name) {
            Some(operand) => self.evaluate(operand, leaf),
            None => Err("no metric has this name".to_owned()),
        };
        match formula.evaluate(|name| operand(name).ok()) {
            Ok(value) if value.is_finite() => Ok(value),
            Ok(_) => Err("the value is not a finite number".to_owned()),
            Err(Undefined::DivisionByZero(names)) => Err(self.zero(&names)),
            Err(Undefined::MoreThanWhole(parts, wholes)) => {
                let sum_text = |names: &[String]| {
                    let sum: Result<f64, String> = names.iter().map(|name| operand(name)).sum();
                    let joined = names.join(" + ");
                    format!("`{joined}` is {}", sum.map_or_else(|why| why, format_number))
                };
                Err(pass_value::more_than_whole(&sum_text(&parts), &sum_text(&wholes)))
            }
            Err(Undefined::Operand(name)) => {
                let reason = operand(&name).err().unwrap_or_default();
                let derived = self.operands.get(&name).is_some_and(|m| m.formula().is_some());
                Err(if derived { reason } else { format!("needs `{name}`: {reason}") })
            }
        }
    }

    /// "no global loads executed by warps (division by zero)".
    fn zero(&self, divisor: &[String]) -> String {
        match divisor.first().and_then(|name| self.operands.get(name)).map(|metric| &**metric) {
            Some(Metric { class: Class::Exact, description, .. }) => {
                format!("no {description} (division by zero)")
            }
            Some(Metric { name, .. }) => format!("`{name}` is 0 (division by zero)"),
            None => "division by zero".to_owned(),
        }
    }

    /// The metrics that it is made of in the end, by name.
    fn leaves(&self) -> impl Iterator<Item = &Metric> {
        self.operands.values().map(|metric| &**metric).filter(|metric| metric.formula().is_none())
    }

    /// The names of the metrics of each process that it is made of, itself where it is one: times
    /// and energy.
    pub(super) fn timed_leaves(&self) -> Vec<&str> {
        let all = std::iter::once(&*self.metric).chain(self.leaves());
        let timed = |metric: &&Metric| matches!(metric.origin, Origin::Time | Origin::Energy);
        all.filter(timed).map(|metric| &*metric.name).collect()
    }
}

fn add_operands(
    metric: &Metric,
    catalogue: &Catalogue,
    operands: &mut BTreeMap<String, Arc<Metric>>,
) {
    for name in metric.formula().into_iter().flat_map(|formula| formula.names()) {
        if operands.contains_key(name) {
            continue;
        }
        if let Some(operand) = catalogue.find(name) {
            operands.insert(name.to_owned(), Arc::clone(&operand));
            add_operands(&operand, catalogue, operands);
        }
    }
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_derived_metric_lists_its_measured_operands() {
        let catalogue = Catalogue::built_in();
        let metric = catalogue.find("throughput_of_copy").unwrap();
        let derived = DerivedMetric::new(metric, &catalogue);
        let leaves: Vec<&str> = derived.leaves().map(|leaf| &*leaf.name).collect();
        assert_eq!(leaves, ["bytes", "copy_bandwidth", "duration"]);
        assert_eq!(derived.timed_leaves(), ["copy_bandwidth", "duration"]);
    }
}
