//! The catalogue of a chip: base metrics, their submetrics and properties, and whether a name is
//! one.

use std::collections::BTreeMap;
use std::mem::offset_of;

use cudarc::cupti::sys;

use super::{Host, MetricKind, c_string, string, strings};
use crate::abi::Call;
use crate::{Code, Failure};

/// CUPTI's data on a metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Properties {
    /// One line about it, in NVIDIA's words.
    pub description: String,
    /// The unit of the GPU that counts it, such as `l1tex`.
    pub hw_unit: String,
    /// The dimension of its values, such as `l2_sector` or `cycle`.
    pub dim_unit: String,
    /// Its kind.
    pub kind: MetricKind,
}

/// Why a name cannot be collected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetricProblem {
    /// The chip has no such base metric.
    #[error("{chip} has no metric `{base}`")]
    UnknownBase {
        /// The name up to the roll-up.
        base: String,
        /// The chip.
        chip: String,
    },
    /// The base metric alone: it needs a roll-up or submetric.
    #[error("`{base}` needs a roll-up; it has {}", available.join(" "))]
    MissingRollup {
        /// The base metric.
        base: String,
        /// The possible suffixes, each with its dot.
        available: Vec<String>,
    },
    /// The base metric has no such submetric.
    #[error("`{base}` has no submetric `{submetric}`; it has {}", available.join(" "))]
    UnknownSubmetric {
        /// The base metric.
        base: String,
        /// The suffix of the name, with its dot.
        submetric: String,
        /// The possible suffixes, each with its dot.
        available: Vec<String>,
    },
    /// CUPTI failed while it was asked.
    #[error("{0}")]
    Failed(#[from] Failure),
}

impl MetricProblem {
    /// The base metric that is at fault; none if CUPTI failed.
    #[must_use]
    pub fn base(&self) -> Option<&str> {
        match self {
            Self::UnknownBase { base, .. }
            | Self::MissingRollup { base, .. }
            | Self::UnknownSubmetric { base, .. } => Some(base),
            Self::Failed(_) => None,
        }
    }
}

/// A metric's name by its parts.
struct SplitName<'n> {
    base: &'n str,
    /// The rest, with its dot; may be empty.
    submetric: &'n str,
    kind: MetricKind,
}

impl Host {
    /// The base metrics of one kind, in CUPTI's order.
    ///
    /// # Errors
    /// Whatever CUPTI answers.
    pub fn base_metrics(&self, kind: MetricKind) -> Result<Vec<String>, Failure> {
        let mut call = Call::<sys::CUpti_Profiler_Host_GetBaseMetrics_Params>::new();
        call.fields().pHostObject = self.object.as_ptr();
        call.fields().metricType = kind.to_cupti();
        // SAFETY: a host function on a live object.
        unsafe { self.api.functions.host_base_metrics.call(&mut call) }?;
        // SAFETY: on success the list has `numMetrics` strings that live as long as the object.
        Ok(unsafe { strings((*call.out()).ppMetricNames, (*call.out()).numMetrics) })
    }

    /// The possible suffixes of the base metric of `name`, each with its dot: `.sum`,
    /// `.avg.per_second` …
    ///
    /// # Errors
    /// [`MetricProblem::UnknownBase`] or [`MetricProblem::Failed`].
    pub fn sub_metrics(&self, name: &str) -> Result<Vec<String>, MetricProblem> {
        let SplitName { base, kind, .. } = self.split(name)?;
        Ok(self.sub_metrics_of(base, kind)?)
    }

    fn sub_metrics_of(&self, base: &str, kind: MetricKind) -> Result<Vec<String>, Failure> {
        self.by_name(base, kind, |name| {
            let name = c_string(name);
            let mut call = Call::<sys::CUpti_Profiler_Host_GetSubMetrics_Params>::new();
            call.fields().pHostObject = self.object.as_ptr();
            call.fields().metricType = kind.to_cupti();
            call.fields().pMetricName = name.as_ptr();
            // SAFETY: a host function on a live object; the name lives until it returns.
            unsafe { self.api.functions.host_sub_metrics.call(&mut call) }?;
            // SAFETY: on success the list has `numOfSubmetrics` strings that live as long as the
            // object.
            Ok(unsafe { strings((*call.out()).ppSubMetrics, (*call.out()).numOfSubmetrics) })
        })
    }

    /// CUPTI's data on the metric `name`, with or without a roll-up.
    ///
    /// # Errors
    /// [`MetricProblem::UnknownBase`] or [`MetricProblem::Failed`].
    pub fn properties(&self, name: &str) -> Result<Properties, MetricProblem> {
        let SplitName { base, kind, .. } = self.split(name)?;
        Ok(self.by_name(base, kind, |name| {
            let name = c_string(name);
            let mut call = Call::<sys::CUpti_Profiler_Host_GetMetricProperties_Params>::new();
            call.fields().pHostObject = self.object.as_ptr();
            call.fields().pMetricName = name.as_ptr();
            // SAFETY: a host function on a live object; the name lives until it returns.
            unsafe { self.api.functions.host_properties.call(&mut call) }?;
            let kind = offset_of!(sys::CUpti_Profiler_Host_GetMetricProperties_Params, metricType);
            // SAFETY: on success three strings that live as long as the object.
            let [description, hw_unit, dim_unit] = unsafe {
                let out = call.out();
                [string((*out).pDescription), string((*out).pHwUnit), string((*out).pDimUnit)]
            };
            let kind = match call.number_at(kind) {
                1 => MetricKind::Ratio,
                2 => MetricKind::Throughput,
                _ => MetricKind::Counter,
            };
            Ok(Properties { description, hw_unit, dim_unit, kind })
        })?)
    }

    /// Whether `name` is a base metric of this chip with a submetric that it has. It may still not
    /// be collectable ([`Host::config_image`]).
    ///
    /// # Errors
    /// Why it is not.
    pub fn validate(&self, name: &str) -> Result<(), MetricProblem> {
        let SplitName { base, submetric, kind } = self.split(name)?;
        let available = self.sub_metrics_of(base, kind)?;
        let base = base.to_owned();
        if submetric.is_empty() {
            Err(MetricProblem::MissingRollup { base, available })
        } else if available.iter().any(|it| it == submetric) {
            Ok(())
        } else {
            let submetric = submetric.to_owned();
            Err(MetricProblem::UnknownSubmetric { base, submetric, available })
        }
    }

    /// Splits a name. Base metrics may have dots themselves (`CTC.TriageCompute.ctc__rx_bytes`), so
    /// the longest one wins.
    fn split<'n>(&self, name: &'n str) -> Result<SplitName<'n>, MetricProblem> {
        let kinds = self.kinds()?;
        let ends = name.match_indices('.').map(|(at, _)| at).chain([name.len()]);
        let longest = ends.filter_map(|at| Some((at, *kinds.get(&name[..at])?))).next_back();
        if let Some((at, kind)) = longest {
            return Ok(SplitName { base: &name[..at], submetric: &name[at..], kind });
        }
        let base = name.split_once('.').map_or(name, |(base, _)| base);
        Err(MetricProblem::UnknownBase { base: base.to_owned(), chip: self.chip().to_owned() })
    }

    fn kinds(&self) -> Result<&BTreeMap<String, MetricKind>, Failure> {
        if let Some(kinds) = self.kinds.get() {
            return Ok(kinds);
        }
        let mut kinds = BTreeMap::new();
        for kind in MetricKind::ALL {
            kinds.extend(self.base_metrics(kind)?.into_iter().map(|name| (name, kind)));
        }
        Ok(self.kinds.get_or_init(|| kinds))
    }

    /// Asks by the base name, and if that is refused (CUPTI 12) by a full name.
    fn by_name<T>(
        &self,
        base: &str,
        kind: MetricKind,
        ask: impl Fn(&str) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        match ask(base) {
            Err(Failure { code: Code::InvalidMetricName | Code::InvalidParameter, .. }) => {
                ask(&format!("{base}{}", kind.any_submetric()))
            }
            answer => answer,
        }
    }
}
