//! One metric of one configuration.
//!
//! Input: a value, or the reason why there is none. Output: the value with its details, and its
//! serde form, which is either complete or leaves out the common data of its series.

use std::borrow::Cow;

use serde::{Deserialize, Serialize, Serializer};

use crate::comparison::Interval;
use crate::measurement::Source;
use crate::metric::{Class, Direction, Perturbation};
use crate::quantity::Unit;

/// One metric of one configuration.
///
/// Its serde form has one of `"value": NUMBER`, `"unavailable": REASON` and `"unstable": REASON`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "MetricDocument<'_>")]
pub struct MetricResult {
    /// The value (the median, if there are samples), or why there is none.
    pub value: Result<f64, String>,
    /// Whether there is none because the device would not hold still: it was measured, and the
    /// measurement says nothing of the kernel.
    pub unstable: bool,
    /// The base unit of the value and of the statistics.
    pub unit: Unit,
    /// Whether lower or higher is better, or neither.
    pub direction: Direction,
    /// Whether a section or a configuration file set the direction, instead of the built-in one.
    pub direction_set: bool,
    /// Whether it is a deterministic count.
    pub class: Class,
    /// Its source.
    pub source: Source,
    /// Of an estimate: where the value lies on a GPU, in the unit of the value.
    pub interval: Option<Interval>,
    /// Over the samples, if there are any.
    pub statistics: Option<Box<Statistics>>,
    /// Of a noisy metric: each process' own, in the order the processes ran.
    pub processes: Vec<ProcessValue>,
    /// Why the patched code that counted it may have moved it, if it may.
    pub perturbation: Option<Perturbation>,
}

/// A noisy metric in one process: the statistics of its samples, all the same where there is but
/// one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProcessValue {
    /// The middle of the samples; of a duration finer than the step of the clock.
    pub median: f64,
    /// The 95th percentile (nearest rank).
    pub p95: f64,
    /// The smallest sample.
    pub min: f64,
    /// The arithmetic mean.
    pub mean: f64,
}

/// The common data of a metric in all rows of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Traits {
    /// The base unit of its values and of their statistics.
    pub(super) unit: Unit,
    /// Whether lower or higher is better, or neither.
    pub(super) direction: Direction,
    /// Whether a section or a configuration file set that direction.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) direction_set: bool,
    /// Whether it is a deterministic count.
    pub(super) class: Class,
    /// Its source.
    pub(super) source: Source,
}

impl Traits {
    /// A placeholder for unknown data.
    pub(super) const UNKNOWN: Self = Self {
        unit: Unit::Count,
        direction: Direction::Neither,
        direction_set: false,
        class: Class::Noisy,
        source: Source::Measured,
    };
}

/// One metric of one configuration: one of its `value`, why it is `unavailable`, and why it is
/// `unstable`. Its unit, direction, class and source are those of the series where it has none.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "MetricResult"))]
pub(super) struct MetricDocument<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unavailable: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unstable: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unit: Option<Unit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    direction: Option<Direction>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    direction_set: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    class: Option<Class>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<Source>,
    /// Of an estimate: where the value lies on a GPU, in the unit of the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    interval: Option<Interval>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    statistics: Option<Cow<'a, Statistics>>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    processes: Cow<'a, [ProcessValue]>,
    /// Why the patched code that counted it may have moved it, if it may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    perturbation: Option<Perturbation>,
}

impl<'a> MetricDocument<'a> {
    /// Of `metric`, without what is in the `series`' traits.
    pub(super) fn new(metric: &'a MetricResult, series: Option<Traits>) -> Self {
        let traits = metric.traits();
        let own = Some(traits).filter(|_| series != Some(traits));
        let (value, reason) = match &metric.value {
            Ok(value) => (Some(*value), None),
            Err(reason) => (None, Some(Cow::from(reason))),
        };
        let (unstable, unavailable) = if metric.unstable { (reason, None) } else { (None, reason) };
        Self {
            value,
            unavailable,
            unstable,
            unit: own.map(|own| own.unit),
            direction: own.map(|own| own.direction),
            direction_set: own.is_some_and(|own| own.direction_set),
            class: own.map(|own| own.class),
            source: own.map(|own| own.source),
            interval: metric.interval,
            statistics: metric.statistics.as_deref().map(Cow::Borrowed),
            processes: Cow::Borrowed(&metric.processes),
            perturbation: metric.perturbation,
        }
    }

    /// Whether it leaves its traits to its series.
    pub(super) fn is_untold(&self) -> bool {
        (self.unit, self.direction, self.class, self.source) == (None, None, None, None)
    }

    /// The metric, with its own traits or else those of its `series`.
    ///
    /// # Errors
    /// It has neither, or not exactly one of a value and a reason.
    pub(super) fn metric(self, series: Option<Traits>) -> Result<MetricResult, &'static str> {
        let (value, unstable) = match (self.value, self.unavailable, self.unstable) {
            (Some(value), None, None) => (Ok(value), false),
            (None, Some(reason), None) => (Err(reason.into_owned()), false),
            (None, None, Some(reason)) => (Err(reason.into_owned()), true),
            _ => {
                return Err(
                    "a metric needs either a `value` or the reason it is `unavailable` or `unstable`",
                );
            }
        };
        let direction_set = self.direction_set;
        let traits = match (self.unit, self.direction, self.class, self.source) {
            (Some(unit), Some(direction), Some(class), Some(source)) => {
                Some(Traits { unit, direction, direction_set, class, source })
            }
            (None, None, None, None) => series,
            _ => None,
        };
        let traits = traits.ok_or(
            "a metric needs its `unit`, `direction`, `class` and `source`, or its series has them",
        )?;
        Ok(MetricResult {
            value,
            unstable,
            unit: traits.unit,
            direction: traits.direction,
            direction_set: traits.direction_set,
            class: traits.class,
            source: traits.source,
            interval: self.interval,
            statistics: self.statistics.map(|statistics| Box::new(statistics.into_owned())),
            processes: self.processes.into_owned(),
            perturbation: self.perturbation,
        })
    }
}

impl MetricResult {
    /// Its data that all rows of a series share.
    pub(super) fn traits(&self) -> Traits {
        Traits {
            unit: self.unit,
            direction: self.direction,
            direction_set: self.direction_set,
            class: self.class,
            source: self.source,
        }
    }

    /// Says that of it.
    pub(super) fn set_traits(&mut self, traits: Traits) {
        self.unit = traits.unit;
        self.direction = traits.direction;
        self.direction_set = traits.direction_set;
        self.class = traits.class;
        self.source = traits.source;
    }

    /// A metric that has no value for this `reason`.
    pub(super) fn absent(traits: Traits, reason: String) -> Self {
        Self {
            value: Err(reason),
            unstable: false,
            unit: traits.unit,
            direction: traits.direction,
            direction_set: traits.direction_set,
            class: traits.class,
            source: traits.source,
            interval: None,
            statistics: None,
            processes: Vec::new(),
            perturbation: None,
        }
    }

    /// Whether it has no value for a reason that does not lie in the measurement: other rows have
    /// none for the same.
    pub(super) fn is_absent(&self) -> bool {
        self.value.is_err() && !self.unstable
    }
}

impl Serialize for MetricResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        MetricDocument::new(self, None).serialize(serializer)
    }
}

impl TryFrom<MetricDocument<'_>> for MetricResult {
    type Error = &'static str;

    fn try_from(document: MetricDocument<'_>) -> Result<Self, Self::Error> {
        document.metric(None)
    }
}

/// Descriptive statistics over all samples of all processes.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Statistics {
    /// How many samples.
    pub count: usize,
    /// How many processes they come from.
    pub processes: usize,
    /// The step in which samples are read; none for a continuum, and in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<f64>,
    /// The middle sample.
    pub median: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The 95th percentile (nearest rank).
    pub p95: f64,
    /// The smallest sample.
    pub min: f64,
    /// The largest sample.
    pub max: f64,
    /// The sample standard deviation; 0 for one sample.
    pub standard_deviation: f64,
    /// (largest − smallest median of a process) / median of those medians, in percent; `None` for
    /// one process.
    pub process_spread_percent: Option<f64>,
    /// The median absolute deviation from the median, not scaled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_absolute_deviation: Option<f64>,
    /// The interval of the median of process medians, by order statistics; `None` for one process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// The standard deviation within a process (robust: 1.4826 times the median absolute
    /// deviation), in percent of the median of process medians.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_percent: Option<f64>,
    /// The standard deviation between processes that the one within does not explain, in percent of
    /// the median of process medians; `None` for one process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between_percent: Option<f64>,
    /// The correlation of neighbouring samples (lag 1), the median over processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autocorrelation: Option<f64>,
    /// How far the samples drift from the first half of a process to the second, in percent of
    /// their median, if a trend is significant: the largest over processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift_percent: Option<f64>,
    /// Samples far from the median of their process.
    #[serde(default)]
    pub outliers: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(value: Result<f64, String>) -> MetricResult {
        MetricResult {
            value,
            unstable: false,
            unit: Unit::Bytes,
            direction: Direction::Lower,
            direction_set: false,
            class: Class::Exact,
            source: Source::Declared,
            interval: None,
            statistics: None,
            processes: Vec::new(),
            perturbation: None,
        }
    }

    #[test]
    fn a_metric_is_written_with_its_value_or_its_reason() {
        let written = |m: &MetricResult| serde_json::to_string(m).unwrap();
        let rest = r#""unit":"B","direction":"lower","class":"exact","source":"declared"}"#;
        let unstable = MetricResult { unstable: true, ..metric(Err("too hot".into())) };
        for (metric, head) in [
            (metric(Ok(12.0)), r#"{"value":12.0,"#),
            (metric(Err("not here".into())), r#"{"unavailable":"not here","#),
            (unstable, r#"{"unstable":"too hot","#),
        ] {
            assert_eq!(written(&metric), format!("{head}{rest}"));
            assert_eq!(serde_json::from_str::<MetricResult>(&written(&metric)).unwrap(), metric);
        }
        let moved =
            MetricResult { perturbation: Some(Perturbation::Divergence), ..metric(Ok(12.0)) };
        let text = written(&moved);
        assert!(text.ends_with(r#""source":"declared","perturbation":"divergence"}"#), "{text}");
        assert_eq!(serde_json::from_str::<MetricResult>(&text).unwrap(), moved);
        for bad in [
            r#"{"value":null,"#,
            r#"{"value":1.0,"unavailable":"both","#,
            "{",
            r#"{"unstable":"a","unavailable":"b","#,
        ] {
            let error = serde_json::from_str::<MetricResult>(&format!("{bad}{rest}")).unwrap_err();
            assert!(error.to_string().contains("either a `value`"), "{error}");
        }
    }
}
