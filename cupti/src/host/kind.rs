//! The kinds of base metrics.

use std::fmt;

use cudarc::cupti::sys;

/// The kind of a base metric, which decides its submetrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MetricKind {
    /// A count, such as `dram__bytes`: `.sum`, `.avg`, `.min`, `.max`, each also per time and per
    /// peak.
    Counter,
    /// A quotient of counters, such as `lts__t_sector_hit_rate`: `.ratio`, `.pct`, `.max_rate`.
    Ratio,
    /// The busiest of several counters, in percent of its peak, such as `sm__throughput`.
    Throughput,
}

impl MetricKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Counter, Self::Ratio, Self::Throughput];

    pub(super) const fn to_cupti(self) -> sys::CUpti_MetricType {
        match self {
            Self::Counter => sys::CUpti_MetricType::CUPTI_METRIC_TYPE_COUNTER,
            Self::Ratio => sys::CUpti_MetricType::CUPTI_METRIC_TYPE_RATIO,
            Self::Throughput => sys::CUpti_MetricType::CUPTI_METRIC_TYPE_THROUGHPUT,
        }
    }

    /// A submetric that every metric of this kind has. CUPTI 12 lists submetrics and properties
    /// only for a full name.
    pub(super) const fn any_submetric(self) -> &'static str {
        match self {
            Self::Counter => ".sum",
            Self::Ratio => ".ratio",
            Self::Throughput => ".avg.pct_of_peak_sustained_elapsed",
        }
    }
}

impl fmt::Display for MetricKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Counter => "counter",
            Self::Ratio => "ratio",
            Self::Throughput => "throughput",
        })
    }
}
