//! A planned series with everything that is asked of it.

use std::sync::Arc;

use gpuprof_analysis::gate::applied_thresholds::ConfiguredThreshold;
use gpuprof_model::metric::{Catalogue, Metric};
use gpuprof_model::run::SectionColumns;
use gpuprof_model::series::SeriesId;

use super::PlannedSeries;

/// A planned series with its thresholds and columns.
#[derive(Debug, Clone)]
pub struct Checked {
    /// The series and its configurations.
    pub planned: PlannedSeries,
    /// The thresholds as written.
    pub thresholds: Vec<ConfiguredThreshold>,
    /// The metrics that are asked for.
    pub columns: Vec<String>,
    /// The sections that are asked for.
    pub sections: Vec<SectionColumns>,
    /// The metrics that the view names.
    pub viewed: Vec<String>,
    /// The metrics that rules of advice read, if they are to be collected.
    pub advice: Vec<String>,
}

impl Checked {
    /// The series called `id` among `all`.
    pub fn find<'c>(all: &'c [Self], id: &SeriesId) -> Option<&'c Self> {
        all.iter().find(|it| it.planned.series.id == *id)
    }

    /// How many configurations it has.
    pub fn count(&self) -> usize {
        self.planned.configurations.len()
    }

    /// Every metric that is shown or judged.
    pub fn asked(&self, catalogue: &Catalogue) -> impl Iterator<Item = Arc<Metric>> {
        let shown = self.columns.iter().chain(&self.viewed).chain(self.in_sections());
        let judged = self.thresholds.iter().map(|own| &own.threshold.metric);
        shown.chain(judged).filter_map(|name| catalogue.find(name))
    }

    /// Whether a metric that is asked for `is` so.
    pub fn asks(&self, catalogue: &Catalogue, is: fn(&Catalogue, &Metric) -> bool) -> bool {
        self.asked(catalogue).any(|metric| is(catalogue, &metric))
    }

    /// The metrics of its sections, and of rules: a chip may lack them.
    pub fn in_sections(&self) -> impl Iterator<Item = &String> {
        self.sections.iter().flat_map(SectionColumns::names).chain(&self.advice)
    }
}
