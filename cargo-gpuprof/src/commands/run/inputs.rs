//! The inputs of a run before any harness is asked, and its series once they are known.

use std::sync::Arc;

use camino::Utf8PathBuf;
use gpuprof_analysis::gate::baseline::Against;
use gpuprof_analysis::gate::outcome::Gate;
use gpuprof_model::metric::{Catalogue, Metric};
use gpuprof_model::protocol::SeriesDescription;
use gpuprof_model::run::SectionColumns;
use gpuprof_model::series::SeriesId;

use super::base::Base;
use super::exports::Exports;
use super::request::Request;
use super::slice::Slice;
use crate::commands::Source;
use crate::commands::settings::{Layers, Settings};
use crate::commands::thresholds::Placed;
use crate::commands::viewed::PlacedView;
use gpuprof_catalogue::sections::Sections;
use gpuprof_engine::plan::{PlannedSeries, Selection};
use gpuprof_engine::store::RunFolder;
use gpuprof_system::console::Notes;
use gpuprof_system::scratch::Scratch;

/// The inputs from the command line, the configuration and the workspace or archive.
pub(super) struct Inputs {
    /// What is asked for.
    pub(super) request: Request,
    /// How the run is shown.
    pub(super) view: PlacedView,
    /// The rules of its exit code: a slice decides nothing.
    pub(super) gate: Gate,
    /// Which files it is written to as well.
    pub(super) exports: Exports,
    /// Harnesses, and the source of kernels.
    pub(super) source: Source,
    /// The folder of an unpacked archive, as long as it is needed.
    pub(super) _unpacked: Scratch,
    /// The run's own folder.
    pub(super) folder: RunFolder,
    /// The configuration file and the preset.
    pub(super) layers: Layers,
    /// The settings.
    pub(super) settings: Settings,
    /// The stored baseline to compare with.
    pub(super) against: Option<Against>,
    /// The other revision, in its place.
    pub(super) base: Option<Base>,
    /// The baseline to keep the run as: its name and file.
    pub(super) save_to: Option<(String, Utf8PathBuf)>,
    /// The slice of the plan that is measured, if it is not the whole.
    pub(super) slice: Option<Slice>,
}

impl Inputs {
    /// The progress messages.
    pub(super) fn notes(&self) -> Notes {
        self.settings.notes()
    }
}

/// The series that a run takes.
pub(super) struct Chosen {
    /// Every series of this revision's harnesses.
    pub(super) described: Vec<SeriesDescription>,
    /// Which series and configurations, with the settings of every layer.
    pub(super) selection: Selection,
    /// The series of this revision.
    pub(super) checked: Vec<Checked>,
    /// The sections of the workspace.
    pub(super) sections: Sections,
    /// Notes on properties that both sides of a comparison share.
    pub(super) notes: Vec<String>,
}

/// A planned series with its thresholds and columns.
#[derive(Debug, Clone)]
pub(super) struct Checked {
    pub(super) planned: PlannedSeries,
    pub(super) thresholds: Vec<Placed>,
    pub(super) columns: Vec<String>,
    pub(super) sections: Vec<SectionColumns>,
    pub(super) viewed: Vec<String>,
    /// The metrics that rules of advice read, if they are to be collected.
    pub(super) advice: Vec<String>,
}

/// The planned series of this name.
pub(super) fn find<'c>(planned: &'c [Checked], id: &SeriesId) -> Option<&'c Checked> {
    planned.iter().find(|it| it.planned.series.id == *id)
}

impl Checked {
    /// How many configurations it has.
    pub(super) fn count(&self) -> usize {
        self.planned.configurations.len()
    }

    /// Every metric that is shown or judged.
    pub(super) fn asked(&self, catalogue: &Catalogue) -> impl Iterator<Item = Arc<Metric>> {
        let shown = self.columns.iter().chain(&self.viewed).chain(self.in_sections());
        shown
            .chain(self.thresholds.iter().map(|p| &p.threshold.metric))
            .filter_map(|n| catalogue.find(n))
    }

    /// Whether a metric that is asked for `is` so.
    pub(super) fn asks(&self, catalogue: &Catalogue, is: fn(&Catalogue, &Metric) -> bool) -> bool {
        self.asked(catalogue).any(|metric| is(catalogue, &metric))
    }

    /// Whether the energy of its launches is asked for.
    pub(super) fn wants_energy(&self, catalogue: &Catalogue) -> bool {
        self.asks(catalogue, Catalogue::needs_energy)
    }

    /// The metrics of its sections, and of rules: a chip may lack them.
    pub(super) fn in_sections(&self) -> impl Iterator<Item = &String> {
        self.sections.iter().flat_map(SectionColumns::names).chain(&self.advice)
    }
}
