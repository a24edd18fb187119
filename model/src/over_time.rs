//! Counters over the time of a launch, or of a closure: CUPTI's PM sampling.
//!
//! Input: the samples of a GPU, of the whole device. Output: those in which a multiprocessor was
//! active, and the ones between them, with the time since the first one.

use serde::{Deserialize, Serialize};

use crate::quantity::Unit;
use crate::timeline::TimeSpan;

/// A counter that is sampled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SampledCounter {
    /// A PerfWorks name.
    pub name: String,
    /// Its title in reports.
    pub label: String,
    /// The unit of its values.
    pub unit: Unit,
}

/// The counters of one call of what is measured, or why there are none.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CountersOverTime {
    /// The time between two samples that the GPU was asked for, in nanoseconds.
    pub interval_ns: u64,
    /// The counters that this chip has and samples together.
    pub counters: Vec<SampledCounter>,
    /// The samples, in the order of their times.
    pub samples: Vec<CounterSample>,
    /// Why there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// The counters in one interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CounterSample {
    /// When it began and ended, in nanoseconds since the first one began.
    #[serde(flatten)]
    pub time: TimeSpan,
    /// A value of each counter, in its order; none if the GPU gave none.
    pub values: Vec<Option<f64>>,
    /// Whether the GPU switched to another context, so that not all of it is of this process.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub context_switch: bool,
}

impl CountersOverTime {
    /// None, and why.
    #[must_use]
    pub fn missing(reason: String) -> Self {
        Self { missing: Some(reason), ..Self::default() }
    }

    /// The values of the counter at position `counter`, in the order of the samples.
    pub fn values(&self, counter: usize) -> impl Iterator<Item = Option<f64>> {
        self.samples.iter().map(move |sample| sample.values.get(counter).copied().flatten())
    }
}
