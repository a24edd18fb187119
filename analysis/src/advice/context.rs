//! The context of rules.

use gpuprof_model::measurement::DeviceRecord;
use gpuprof_model::metric::Catalogue;

use super::rule::Rule;

/// The context of rules.
#[derive(Debug, Clone, Copy)]
pub struct AdviceContext<'a> {
    /// The rules.
    pub rules: &'a [Rule],
    /// The metrics that are known.
    pub catalogue: &'a Catalogue,
    /// The device of the run.
    pub device: Option<&'a DeviceRecord>,
}
