//! The check of an archive: whether it can be unpacked and its harnesses start here.
//!
//! Input: its file. Output: one line. The harnesses are asked for their series, as a run would, so
//! that a system library that is too old shows.

use camino::Utf8Path;

use super::check::{Check, State};
use crate::commands::{Source, Wanted};
use crate::discover;
use crate::error::Result;
use crate::execute::{HarnessProcess, Interrupt};
use crate::options::{CargoOptions, ConfigurationOptions};

/// What the line of the archive is called.
pub(super) const ARCHIVE: &str = "archive";

/// Whether the archive `file` can be run here.
pub(super) fn archive(file: &Utf8Path, interrupt: &Interrupt) -> Check {
    match asked(file, interrupt) {
        Ok(found) => Check::new(State::Ok, ARCHIVE, found),
        Err(failure) => Check::new(State::Fail, ARCHIVE, failure.message),
    }
}

fn asked(file: &Utf8Path, interrupt: &Interrupt) -> Result<String> {
    let (folder, source) = Source::open(&Wanted {
        archive: Some(file),
        extract_to: None,
        cargo: CargoOptions::default(),
        configuration: &ConfigurationOptions { no_config: true, ..Default::default() },
    })?;
    let folder = Utf8Path::from_path(folder.path()).expect("temporary paths are UTF-8");
    let process = HarnessProcess::asked(folder, interrupt);
    let described = discover::series(&process, &source.harnesses)?;
    let series: usize = described.values().map(Vec::len).sum();
    let (count, revision) = (source.harnesses.len(), source.git_revision());
    let plural = if count == 1 { " starts here and holds" } else { "es start here and hold" };
    let of = revision.map_or_else(String::new, |revision| format!(", of revision {revision}"));
    Ok(format!("{file}: {count} harness{plural} {series} series{of}"))
}
