//! The default gate on time, which every baseline brings.

/// How many percent `duration` may grow where nothing else is said.
pub(crate) const DEFAULT_PERCENT: u32 = 2;

/// The threshold of the default gate on time.
pub fn default_gate() -> String {
    format!("every duration <= baseline + {DEFAULT_PERCENT}%")
}
