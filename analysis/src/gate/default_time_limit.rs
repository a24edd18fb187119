//! The default gate on time, which every baseline brings.

use gpuprof_model::threshold::{Comparison, Threshold};

/// How many percent `duration` may grow where nothing else is said.
pub(crate) const DEFAULT_PERCENT: u32 = 2;

/// The threshold of the default gate on time.
pub fn default_gate() -> Threshold {
    Threshold::against_baseline("duration", Comparison::AtMost, f64::from(DEFAULT_PERCENT))
}
