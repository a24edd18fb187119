//! The check of an archive: whether it can be unpacked and its harnesses start here.
//!
//! Input: its file, opened. Output: one line. The harnesses are asked for their series, as a run
//! would, so that a system library that is too old shows.

use camino::Utf8Path;
use gpuprof_model::ExitCode;

use super::check::{Check, Obstacle, State};
use crate::commands::Opened;
use crate::commands::settings::Settings;
use crate::options::{BuildOptions, CargoRequest};
use gpuprof_engine::execute::HarnessProcess;
use gpuprof_system::error::Result;
use gpuprof_system::interrupt::Interrupt;

/// The name of the archive's line.
const ARCHIVE: &str = "archive";

/// An archive that does not work here.
const NO_ARCHIVE: Obstacle =
    Obstacle { code: ExitCode::Archive, sentence: "the archive cannot be run here" };

/// Whether the archive `file` can be run here.
pub(super) fn archive(
    file: &Utf8Path,
    opened: Result<Opened>,
    settings: &Settings,
    interrupt: &Interrupt,
) -> Check {
    match opened.and_then(|opened| asked(file, opened, settings, interrupt)) {
        Ok(found) => Check::new(State::Ok, ARCHIVE, found),
        Err(failure) => Check::obstacle(NO_ARCHIVE, ARCHIVE, failure.message),
    }
}

fn asked(
    file: &Utf8Path,
    opened: Opened,
    settings: &Settings,
    interrupt: &Interrupt,
) -> Result<String> {
    let build = settings.build_options(CargoRequest::default());
    let (folder, source) = opened.build(BuildOptions { quiet: true, ..build })?;
    let folder = folder.path();
    let process = HarnessProcess::for_query(folder, interrupt);
    let described = source.series(&process)?;
    let series: usize = described.values().map(Vec::len).sum();
    let (count, revision) = (source.harnesses.len(), source.git_revision());
    let plural = if count == 1 { " starts here and holds" } else { "es start here and hold" };
    let origin = revision.map_or_else(String::new, |revision| format!(", of revision {revision}"));
    Ok(format!("{file}: {count} harness{plural} {series} series{origin}"))
}
