//! What every threshold of a run is judged by.

use gpuprof_model::measurement::DeviceRecord;
use gpuprof_model::metric::Catalogue;

use crate::gate::budget::Budget;

/// What every threshold of a run is judged by.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'t> {
    /// The metrics that are known.
    pub catalogue: &'t Catalogue,
    /// The device, whose peak a limit in percent of peak refers to.
    pub device: Option<&'t DeviceRecord>,
    /// What all thresholds of the run share.
    pub budget: &'t Budget,
    /// How many processes there were at the first look, where what limits on a number left open was
    /// measured further.
    pub first_look: Option<u32>,
}
