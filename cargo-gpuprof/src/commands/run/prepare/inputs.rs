//! The inputs of a run before any harness is asked, and its series once they are known.

use camino::Utf8PathBuf;
use gpuprof_analysis::gate::baseline::Against;
use gpuprof_analysis::gate::outcome::Gate;
use gpuprof_model::protocol::SeriesDescription;

use crate::commands::Source;
use crate::commands::run::output::exports::Exports;
use crate::commands::run::prepare::other_revision::Base;
use crate::commands::run::prepare::request::Request;
use crate::commands::settings::{Layers, Settings};
use crate::commands::view_settings::PlacedView;
use gpuprof_catalogue::sections::Sections;
use gpuprof_engine::divide::Slice;
use gpuprof_engine::plan::{Checked, Selection};
use gpuprof_engine::store::RunFolder;
use gpuprof_system::console::Notes;
use gpuprof_system::scratch::Scratch;

/// The inputs from the command line, the configuration and the workspace or archive.
pub(in crate::commands) struct Inputs {
    /// What is asked for.
    pub(in crate::commands) request: Request,
    /// How the run is shown.
    pub(in crate::commands) view: PlacedView,
    /// The rules of its exit code: a slice decides nothing.
    pub(in crate::commands) gate: Gate,
    /// Which files it is written to as well.
    pub(in crate::commands) exports: Exports,
    /// Harnesses, and the source of kernels.
    pub(in crate::commands) source: Source,
    /// The folder of an unpacked archive, as long as it is needed.
    pub(in crate::commands) _unpacked: Scratch,
    /// The run's own folder.
    pub(in crate::commands) folder: RunFolder,
    /// The configuration file and the preset.
    pub(in crate::commands) layers: Layers,
    /// The settings.
    pub(in crate::commands) settings: Settings,
    /// The stored baseline to compare with.
    pub(in crate::commands) against: Option<Against>,
    /// The other revision, in its place.
    pub(in crate::commands) base: Option<Base>,
    /// The baseline to keep the run as: its name and file.
    pub(in crate::commands) save_to: Option<(String, Utf8PathBuf)>,
    /// The slice of the plan that is measured, if it is not the whole.
    pub(in crate::commands) slice: Option<Slice>,
}

impl Inputs {
    /// The progress messages.
    pub(in crate::commands) fn notes(&self) -> Notes {
        self.settings.notes()
    }
}

/// The series that a run takes.
pub(in crate::commands) struct Chosen {
    /// Every series of this revision's harnesses.
    pub(in crate::commands) described: Vec<SeriesDescription>,
    /// Which series and configurations, with the settings of every layer.
    pub(in crate::commands) selection: Selection,
    /// The series of this revision.
    pub(in crate::commands) checked: Vec<Checked>,
    /// The sections of the workspace.
    pub(in crate::commands) sections: Sections,
    /// Notes on properties that both sides of a comparison share.
    pub(in crate::commands) notes: Vec<String>,
}
