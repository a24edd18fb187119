//! What rules are asked with.

use gpuprof_model::measurement::DeviceRecord;
use gpuprof_model::metric::Catalogue;

use super::rule::Rule;

/// What rules are asked with.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a> {
    /// The rules.
    pub rules: &'a [Rule],
    /// The metrics that are known.
    pub catalogue: &'a Catalogue,
    /// The device of the run.
    pub device: Option<&'a DeviceRecord>,
}
