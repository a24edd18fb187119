//! The request of a run: one type for all subcommands that run.
//!
//! Input: the options of `run`, `check` or `calibrate`. Output: one value, made once.
//! [`Inputs`](crate::commands::run::prepare::inputs::Inputs) resolves its settings with the configuration file.

use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_engine::divide::Cut;
use gpuprof_model::threshold::WrittenThreshold;

use crate::commands::Wanted;
use crate::commands::selection::Named;
use crate::options::{BackendChoice, CheckOptions, Checks, Given, Purpose, Repeats, RunOptions};

/// The wishes of a user for one run.
#[derive(Debug, Clone, Default)]
pub(in crate::commands) struct Request {
    /// The purpose of the run.
    pub purpose: Purpose,
    /// The settings that the command line gives.
    pub given: Given,
    /// Which series and configurations.
    pub named: Named,
    /// The workspace or the archive, and its configuration file.
    pub wanted: Wanted,
    /// The preset of the configuration file.
    pub preset: Option<String>,
    /// Whether everything is shown.
    pub all: bool,
    /// The metrics to show instead of the annotated ones.
    pub metrics: Vec<String>,
    /// The thresholds of the command line.
    pub thresholds: Vec<WrittenThreshold>,
    /// The archive of the other revision.
    pub base_archive: Option<Utf8PathBuf>,
    /// The name of the baseline to keep the run as.
    pub save_baseline: Option<String>,
    /// The slice to measure; none for the whole plan.
    pub slice: Option<Cut>,
    /// The folder of the slices, if it is not the usual one.
    pub slices: Option<Utf8PathBuf>,
    /// The run to resume.
    pub resume: Option<String>,
    /// Whether a slice is resumed if it has begun, and begun otherwise.
    pub resumes_or_begins: bool,
    /// How long to wait while another process works on the run.
    pub patience: Duration,
    /// Whether the plan is only shown.
    pub dry_run: bool,
    /// Whether the page is opened in the browser.
    pub open: bool,
    /// Whether the processes write to the terminal.
    pub no_capture: bool,
}

impl From<&RunOptions> for Request {
    fn from(options: &RunOptions) -> Self {
        let RunOptions { archive_file, extract_to, configuration, metrics, .. } = options.clone();
        let RunOptions { gate, slice, .. } = options.clone();
        Self {
            purpose: if options.quick { Purpose::Quick } else { Purpose::Profile },
            given: given(options),
            named: (&options.selection).into(),
            wanted: Wanted {
                archive: archive_file,
                extract_to,
                configuration: configuration.file(),
                ..(&options.cargo).into()
            },
            preset: configuration.preset,
            all: options.view.all,
            metrics,
            thresholds: WrittenThreshold::all(&options.threshold),
            base_archive: gate.base_archive,
            save_baseline: gate.save_baseline,
            slice: slice.wanted(),
            slices: slice.slices,
            resumes_or_begins: options.goes_on_or_begins(),
            patience: options.patience(),
            resume: gate.resume,
            dry_run: options.dry_run,
            open: options.output.open,
            no_capture: options.failures.no_capture,
        }
    }
}

/// The settings that `options` give; a quick run takes times once and gates nothing.
fn given(options: &RunOptions) -> Given {
    let given = options.given.clone();
    match options.quick {
        true => {
            Given { repeat: Some(Repeats::exactly(1).into()), gate: Some(false.into()), ..given }
        }
        false => given,
    }
}

impl From<&CheckOptions> for Request {
    fn from(options: &CheckOptions) -> Self {
        let CheckOptions { selection, cargo, configuration, output, .. } = options;
        Self {
            purpose: Purpose::Check,
            given: Given {
                backend: Some(BackendChoice::Emulator.into()),
                check: Some(Checks::ALL.into()),
                verify: Some(true.into()),
                gate: Some(false.into()),
                ..options.given.clone()
            },
            named: selection.into(),
            wanted: Wanted { configuration: configuration.file(), ..cargo.into() },
            preset: configuration.preset.clone(),
            open: output.open,
            no_capture: options.failures.no_capture,
            ..Self::default()
        }
    }
}

impl Request {
    /// The folder of the manifest; the present one by default.
    pub(in crate::commands) fn folder(&self) -> &Utf8Path {
        let manifest = self.wanted.cargo.manifest_path.as_deref();
        let folder = manifest.and_then(Utf8Path::parent).filter(|folder| *folder != "");
        folder.unwrap_or(Utf8Path::new("."))
    }
}
