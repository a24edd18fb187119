//! Exports: problems of their paths are reported before anything runs.
//!
//! Input: the export options. Output: files; and standard output with one document at most, so
//! that a program can read it. The table gives way to an export and goes to standard error.

use std::io::{self, Write};

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_analysis::gate::outcome::RunOutcome;
use gpuprof_analysis::view::View;
use gpuprof_model::run::Run;

use crate::commands::StandardOutput;
use crate::commands::charts::ChartFolder;
use crate::commands::run::baseline::new_baseline::NewBaseline;
use crate::commands::settings::Settings;
use crate::options::MessageFormat;
use gpuprof_engine::store::check_writable;
use gpuprof_report::{Format, FormatSettings, Screen};
use gpuprof_system::console::Notes;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::whole::write_whole_by;

/// The path that means standard output.
const STANDARD_OUTPUT: &str = "-";

/// The destinations of the formats.
pub(in crate::commands) struct Exports {
    files: Vec<(Utf8PathBuf, Format)>,
    /// The folder of the charts.
    charts: Option<ChartFolder>,
    /// The progress messages, next to which the table goes if an export takes standard output.
    notes: Notes,
}

/// The end of a measurement.
pub(in crate::commands) struct Ended {
    /// The outcome, the failure included.
    pub outcome: RunOutcome,
    /// The failure that ended the measurement early.
    pub result: Result<()>,
}

/// The places where a run is kept. `S` stores the run with its outcome, once more if a later output
/// makes the outcome worse.
pub(in crate::commands) struct Storage<'a, S: Fn(RunOutcome) -> Result<()>> {
    /// Stores the run.
    pub save: S,
    /// The baseline that the run becomes.
    pub baseline: Option<NewBaseline<'a>>,
}

/// How a stored run is shown.
#[derive(Clone, Copy)]
pub(in crate::commands) struct StoredView<'a> {
    /// The rows and columns.
    pub view: &'a View,
    /// The settings of the format.
    pub settings: &'a Settings,
    /// Standard output.
    pub stdout: StandardOutput,
}

impl Exports {
    /// Checks that every path can be written, and that standard output and every file are to hold
    /// one document. A path of the configuration file starts at the workspace's `root`.
    ///
    /// # Errors
    /// A path that cannot (exit code 110); two documents for one place (exit code 2).
    pub(in crate::commands) fn open(settings: &Settings, root: &Utf8Path) -> Result<Self> {
        let asked = [
            ("--export-csv", &settings.export_csv, Format::Csv),
            ("--export-html", &settings.export_html, Format::Html),
            ("--export-json", &settings.export_json, Format::Json),
            ("--export-junit", &settings.export_junit, Format::Junit),
            ("--export-markdown", &settings.export_markdown, Format::Markdown),
        ];
        let mut files: Vec<(Utf8PathBuf, Format)> = Vec::new();
        let mut taken: Vec<(&str, Utf8PathBuf)> = Vec::new();
        for (name, setting, format) in asked {
            let Some(path) = Settings::export(setting, root) else { continue };
            taken.push((name, path.clone()));
            files.push((path, format));
        }
        if settings.message_format.value == MessageFormat::Json {
            taken.push(("--message-format json", STANDARD_OUTPUT.into()));
        }
        check_places(&taken)?;
        for (path, _) in files.iter().filter(|(path, _)| path != STANDARD_OUTPUT) {
            check_writable(path)?;
        }
        let charts = Settings::export(&settings.export_svg, root);
        let charts = charts.map(|path| ChartFolder::open(&path)).transpose()?;
        Ok(Self { files, charts, notes: settings.notes() })
    }

    /// Ends a run: writes the files, stores it, makes it a baseline, and shows it to `out`, as an
    /// export or by `show`. All are tried, but a run that is not stored becomes no baseline. If
    /// output fails, earlier files are written again with the worse outcome.
    ///
    /// # Errors
    /// The first failure, with the exit code of the outcome.
    pub(in crate::commands) fn conclude(
        &self,
        run: &Run,
        ended: Ended,
        storage: Storage<'_, impl Fn(RunOutcome) -> Result<()>>,
        out: &mut dyn Write,
        show: impl FnOnce(RunOutcome, &mut dyn Write) -> io::Result<()>,
    ) -> Result<RunOutcome> {
        let and = |outcome: RunOutcome, result: &Result<()>| match result {
            Ok(()) => outcome,
            Err(failure) => outcome.or_worse(failure.code),
        };
        let Storage { save, baseline } = storage;
        let outcome = baseline.as_ref().map_or(ended.outcome, |it| it.adjust(ended.outcome));
        let written = self.write_files(run, outcome);
        let after_files = and(outcome, &written);
        let saved = save(after_files);
        let kept = match baseline {
            Some(baseline) if written.is_ok() && saved.is_ok() => baseline.write(run, self.notes),
            Some(_) | None => Ok(()),
        };
        let stored = and(and(after_files, &saved), &kept);
        let shown = self.show(run, stored, out, |out| show(stored, out));
        let shown = shown.map_err(Failure::standard_output);
        let last = and(stored, &shown);
        if last != outcome {
            // The first failure is reported; these files then agree with the exit code.
            let _ = self.write_files(run, last);
            let _ = save(last);
        }
        let whole = ended.result.and(written).and(saved).and(kept).and(shown);
        whole.map_err(|mut failure| {
            failure.code = last.exit_code;
            failure
        })?;
        Ok(last)
    }

    /// Writes every file; a failure does not stop the others, and the first one is reported.
    fn write_files(&self, run: &Run, outcome: RunOutcome) -> Result<()> {
        let mut result = Ok(());
        for (path, format) in self.files.iter().filter(|(path, _)| path != STANDARD_OUTPUT) {
            let written = write_whole_by(path, |file| write(*format, run, outcome, file));
            result = result.and(written.map_err(Failure::writing(path)));
        }
        match &self.charts {
            Some(folder) => result.and(folder.write(run, &View::default())),
            None => result,
        }
    }

    /// As [`Exports::conclude`], of a run that is measured already, shown as `stored_view` says.
    ///
    /// # Errors
    /// As [`Exports::conclude`].
    pub(in crate::commands) fn conclude_stored(
        &self,
        run: &Run,
        outcome: RunOutcome,
        storage: Storage<'_, impl Fn(RunOutcome) -> Result<()>>,
        stored_view: StoredView<'_>,
        out: &mut dyn Write,
    ) -> Result<RunOutcome> {
        let StoredView { view, settings, stdout } = stored_view;
        let format = match settings.message_format.value {
            MessageFormat::Json => Format::JsonLines,
            MessageFormat::Human => Format::Table,
        };
        let screen = stdout.screen(settings.color.value);
        let show = |outcome, out: &mut dyn Write| {
            format
                .report(FormatSettings { screen, outcome: Some(outcome) })
                .write_as(view, run, out)
        };
        self.conclude(run, Ended { outcome, result: Ok(()) }, storage, out, show)
    }

    /// Writes standard output: the export with that destination, or else the output of `shown`. If
    /// an export takes it, that output goes to standard error, like the notes.
    fn show(
        &self,
        run: &Run,
        outcome: RunOutcome,
        out: &mut dyn Write,
        shown: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        match self.files.iter().find(|(path, _)| path == STANDARD_OUTPUT) {
            None => shown(&mut *out)?,
            Some((_, format)) => {
                write(*format, run, outcome, &mut *out)?;
                // Whoever reads standard output has the run: a closed standard error loses nothing.
                self.notes.show(shown);
            }
        }
        out.flush()
    }
}

fn write(format: Format, run: &Run, outcome: RunOutcome, out: &mut dyn Write) -> io::Result<()> {
    let terms = FormatSettings { screen: Screen::default(), outcome: Some(outcome) };
    format.report(terms).write(run, out)
}

/// Each place holds one document.
fn check_places(taken: &[(&str, Utf8PathBuf)]) -> Result<()> {
    for (at, (second, path)) in taken.iter().enumerate() {
        let Some((first, _)) = taken[..at].iter().find(|(_, other)| other == path) else {
            continue;
        };
        let (place, remedy) = match path.as_str() {
            STANDARD_OUTPUT => ("standard output", "a file"),
            file => (file, "another file"),
        };
        return Err(Failure::usage(format!(
            "{first} and {second} both write to {place}: give one of them {remedy}"
        )));
    }
    Ok(())
}
