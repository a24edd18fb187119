//! The inputs of a run before any harness is asked, and its series once they are known.

use camino::Utf8PathBuf;
use gpuprof_analysis::gate::baseline::Against;
use gpuprof_analysis::gate::outcome::Gate;
use gpuprof_model::protocol::SeriesDescription;

use super::base::Base;
use super::exports::Exports;
use super::request::Request;
use crate::commands::Source;
use crate::commands::settings::{Layers, Settings};
use crate::commands::viewed::PlacedView;
use gpuprof_catalogue::sections::Sections;
use gpuprof_engine::divide::Slice;
use gpuprof_engine::plan::{Checked, Selection};
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
