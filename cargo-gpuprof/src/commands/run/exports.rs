//! Exports: what is wrong with their paths is told before anything runs.
//!
//! Input: the export options. Output: files; and standard output with one document at most, so
//! that a program can read it. The table gives way to an export and goes to standard error.

use std::io::{self, Write};

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_analysis::gate::run::Gate;
use gpuprof_analysis::view::View;
use gpuprof_model::run::Run;

use crate::commands::charts::ChartFolder;
use crate::commands::settings::Settings;
use crate::options::MessageFormat;
use gpuprof_engine::store::check_writable;
use gpuprof_report::{Csv, Html, Json, Junit, Markdown, Report};
use gpuprof_system::console::Notes;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::whole::write_whole_by;

/// The path that means standard output.
const STANDARD_OUTPUT: &str = "-";

/// Where the formats go.
pub(in crate::commands) struct Exports {
    files: Vec<(Utf8PathBuf, Box<dyn Report>)>,
    /// The folder of the charts.
    charts: Option<ChartFolder>,
}

impl Exports {
    /// Checks that every path can be written, and that standard output and every file are to hold
    /// one document. A path of the configuration file starts at the workspace's `root`; what `gate`
    /// fails, `JUnit` fails.
    ///
    /// # Errors
    /// A path that cannot (exit code 110); two documents for one place (exit code 2).
    pub(in crate::commands) fn open(
        settings: &Settings,
        gate: Gate,
        root: &Utf8Path,
    ) -> Result<Self> {
        let asked: [(_, _, Box<dyn Report>); 5] = [
            ("--export-csv", &settings.export_csv, Box::new(Csv)),
            ("--export-html", &settings.export_html, Box::new(Html)),
            ("--export-json", &settings.export_json, Box::new(Json)),
            ("--export-junit", &settings.export_junit, Box::new(Junit { gate })),
            ("--export-markdown", &settings.export_markdown, Box::new(Markdown)),
        ];
        let mut files: Vec<(Utf8PathBuf, Box<dyn Report>)> = Vec::new();
        let mut taken: Vec<(&str, Utf8PathBuf)> = Vec::new();
        for (name, setting, report) in asked {
            let Some(path) = Settings::export(setting, root) else { continue };
            taken.push((name, path.clone()));
            files.push((path, report));
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
        Ok(Self { files, charts })
    }

    /// Writes every file; all are tried, the first failure is told.
    ///
    /// # Errors
    /// A file that could not be written (exit code 110).
    pub(in crate::commands) fn write_files(&self, run: &Run) -> Result<()> {
        let mut outcome = Ok(());
        for (path, report) in self.files.iter().filter(|(path, _)| path != STANDARD_OUTPUT) {
            let written = write_whole_by(path, |file| report.write(run, file));
            outcome = outcome.and(written.map_err(|e| Failure::output(path.as_std_path(), &e)));
        }
        match &self.charts {
            Some(folder) => outcome.and(folder.write(run, &View::default())),
            None => outcome,
        }
    }

    /// Writes what standard output holds: the export that goes there, or else what `shown` writes.
    /// Beside an export that goes to standard error, as `notes` do.
    ///
    /// # Errors
    /// Those of `out`.
    pub(in crate::commands) fn show(
        &self,
        run: &Run,
        notes: Notes,
        out: &mut dyn Write,
        shown: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        match self.files.iter().find(|(path, _)| path == STANDARD_OUTPUT) {
            None => shown(&mut *out)?,
            Some((_, report)) => {
                report.write(run, &mut *out)?;
                // Whoever reads standard output has the run: a closed standard error loses nothing.
                notes.shown(shown);
            }
        }
        out.flush()
    }
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
