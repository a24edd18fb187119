//! The context of all thresholds of a run.

use gpuprof_model::measurement::DeviceRecord;
use gpuprof_model::metric::Catalogue;

use crate::gate::budget::Budget;

/// The context of all thresholds of a run.
#[derive(Debug, Clone, Copy)]
pub struct JudgeContext<'t> {
    /// The metrics that are known.
    pub catalogue: &'t Catalogue,
    /// The device with the peak for limits in percent of peak.
    pub device: Option<&'t DeviceRecord>,
    /// The error budget of all thresholds of the run.
    pub budget: &'t Budget,
    /// How many processes there were at the first look, if open numeric limits got more.
    pub first_look: Option<u32>,
}
