//! The inputs of a conclusion in addition to a judged run.

use gpuprof_model::run::Run;

use crate::gate::budget::Budget;
use crate::gate::prediction::Ability;

/// How a run was measured and judged, as far as that is known.
#[derive(Debug, Clone, Copy, Default)]
pub struct MeasurementContext<'m> {
    /// The other side, if both were measured in rounds.
    pub base: Option<&'m Run>,
    /// Whether the other side was measured earlier.
    pub stored: bool,
    /// The decisions that the baseline allows, by the scatter of its processes.
    pub ability: Option<&'m Ability>,
    /// The run's error budget.
    pub budget: Option<&'m Budget>,
    /// The most rounds of a configuration.
    pub most_rounds: Option<u32>,
    /// Whether the run is a slice of a plan: other slices may measure the rest of a series.
    pub slice: bool,
    /// Seconds that it took.
    pub seconds: Option<u64>,
}
