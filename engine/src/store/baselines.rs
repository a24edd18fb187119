//! Baselines: runs kept by name.
//!
//! A baseline is a run document, one JSON file, so every reader of runs reads it. Two folders hold
//! them: `.config/gpuprof/baselines` of the workspace, for those in git, and `gpuprof/baselines` of
//! the target folder. If a name is in both, the one in git wins.

use std::collections::BTreeSet;
use std::fs;
use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_analysis::gate::baseline::any_finished;
use gpuprof_model::run::{Run, SeriesResult};
use gpuprof_model::suggest::did_you_mean;

use super::document;
use super::run_name::Unnamed;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::whole::{remove_leftovers, write_whole_by};

/// The folder of checked-in baselines, below the workspace root.
pub const CHECKED_IN: &str = ".config/gpuprof/baselines";

/// The two folders of baselines.
#[derive(Debug, Clone)]
pub struct Baselines {
    /// The one in git.
    pub checked_in: Utf8PathBuf,
    /// The one in the target folder.
    pub local: Utf8PathBuf,
}

/// A kept baseline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredBaseline {
    /// Its name.
    pub name: String,
    /// Its file.
    pub path: Utf8PathBuf,
    /// Whether it lives in git.
    pub checked_in: bool,
}

/// The resolution of a baseline's name.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one of it, for a moment")]
pub enum ResolvedBaseline {
    /// A run.
    Run(Run),
    /// Nothing, for this reason: a verdict and no error.
    Missing(String),
}

impl From<ResolvedBaseline> for std::result::Result<Run, String> {
    fn from(found: ResolvedBaseline) -> Self {
        match found {
            ResolvedBaseline::Run(run) => Ok(run),
            ResolvedBaseline::Missing(reason) => Err(reason),
        }
    }
}

impl Baselines {
    /// The baselines of the workspace at `root`.
    pub fn new(root: &Utf8Path, target_directory: &Utf8Path) -> Self {
        Self {
            checked_in: root.join(CHECKED_IN),
            local: target_directory.join("gpuprof/baselines"),
        }
    }

    /// Every baseline by name; of two with one name the one with priority.
    pub fn all(&self) -> Vec<StoredBaseline> {
        let mut all: Vec<StoredBaseline> = Vec::new();
        for (folder, checked_in) in [(&self.checked_in, true), (&self.local, false)] {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let Ok(file) = entry.file_name().into_string() else { continue };
                let Some(name) = file.strip_suffix(".json") else { continue };
                if check_name(name).is_ok() && all.iter().all(|kept| kept.name != name) {
                    all.push(StoredBaseline {
                        name: name.to_owned(),
                        path: folder.join(&file),
                        checked_in,
                    });
                }
            }
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// The baseline called `name`, if it is kept.
    pub fn find(&self, name: &str) -> Option<StoredBaseline> {
        self.all().into_iter().find(|kept| kept.name == name)
    }

    /// The run that `text` names: a file where it looks like a path, else a kept baseline.
    ///
    /// # Errors
    /// A file that is there and no run document (exit code 96).
    pub fn read(&self, text: &str) -> Result<ResolvedBaseline> {
        if is_path(text) {
            let path = Utf8Path::new(text);
            return if path.exists() {
                document::read(path).map(ResolvedBaseline::Run)
            } else {
                Ok(ResolvedBaseline::Missing(format!("there is no baseline file {path}")))
            };
        }
        match self.find(text) {
            Some(kept) => document::read(&kept.path).map(ResolvedBaseline::Run),
            None => Ok(ResolvedBaseline::Missing(self.none_called(text))),
        }
    }

    /// The run that `text` names: a kept baseline, or else any that [`document::find`] finds below
    /// `target_directory`.
    ///
    /// # Errors
    /// Nothing, or more than one, has the name (exit code 2); a file that is not a run document
    /// (exit code 96).
    pub fn stored(&self, target_directory: &Utf8Path, text: &str) -> Result<Run> {
        let path = match self.find(text) {
            Some(kept) => kept.path,
            None => document::locate(target_directory, text).map_err(|unnamed| {
                let unnamed = match (unnamed, self.near(text)) {
                    (Unnamed::None(_) | Unnamed::Empty(_), Some(near)) => Unnamed::None(near),
                    (unnamed, _) => unnamed,
                };
                unnamed.failure("baseline, file or run", text)
            })?,
        };
        document::read(&path)
    }

    /// The names that `name` may have been meant to be.
    fn near(&self, name: &str) -> Option<String> {
        did_you_mean(name, self.all().iter().map(|kept| kept.name.as_str()))
    }

    /// The message for a name that nothing is kept under.
    pub fn none_called(&self, name: &str) -> String {
        let near = self.near(name).unwrap_or_else(|| match check_name(name) {
            Ok(()) => format!("make one with --save-baseline {name}"),
            Err(_) => "`cargo gpuprof baseline accept NAME` makes one of the last run".to_owned(),
        });
        format!("no baseline is named `{name}`: {near}")
    }

    /// The path for a baseline of this name: its present one, or the requested folder.
    ///
    /// # Errors
    /// A name that cannot be a file's (exit code 2).
    pub fn place(&self, name: &str, checked_in: bool) -> Result<Utf8PathBuf> {
        check_name(name)?;
        let folder = if checked_in { &self.checked_in } else { &self.local };
        Ok(self.find(name).map_or_else(|| folder.join(format!("{name}.json")), |kept| kept.path))
    }

    /// Where `--save-baseline` writes.
    ///
    /// # Errors
    /// A name that cannot be a file's, or that of a baseline in git, which a run does not replace
    /// by itself (exit code 2).
    pub fn place_of_run(&self, name: &str) -> Result<Utf8PathBuf> {
        if self.find(name).is_some_and(|kept| kept.checked_in) {
            return Err(Failure::usage(format!(
                "the baseline `{name}` is in {}, where a run does not replace it; after the run, \
                 use `cargo gpuprof baseline accept {name}`",
                self.checked_in
            )));
        }
        self.place(name, false)
    }
}

/// Writes `run` to `path` as a baseline: indented, so that git can show changes.
///
/// # Errors
/// It is a quick run (exit code 2); it cannot be written (exit code 110).
pub fn write(path: &Utf8Path, run: &Run) -> Result<()> {
    if run.provenance.quick {
        return Err(Failure::usage(format!(
            "{} is a quick run: times of one process with few samples cannot be a baseline; run \
             without --quick",
            run.id
        )));
    }
    let write = || -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
            remove_leftovers(folder);
        }
        write_whole_by(path, |file| {
            serde_json::to_writer_pretty(&mut *file, run)?;
            file.write_all(b"\n")
        })
    };
    write().map_err(Failure::writing(path))
}

/// The warning before `run` replaces the baseline at `path`: configurations that are no longer
/// compared, for example after a run of a part, or a column of a remaining series, for example
/// without counters. None if nothing is lost, or if there is no baseline.
pub fn lost(path: &Utf8Path, run: &Run) -> Option<String> {
    let keys = |run: &Run| -> BTreeSet<String> {
        let of = |series: &SeriesResult| {
            let id = series.id.to_string();
            let rows = series.configurations.iter().map(move |row| &row.configuration);
            rows.map(|key| format!("{id}/{key}")).collect::<Vec<_>>()
        };
        run.series.iter().flat_map(of).collect()
    };
    // One that cannot be read is replaced all the same.
    let mut baseline = document::read(path).ok()?;
    baseline.name_as(&run.series, false);
    let (before, after) = (keys(&baseline), keys(run));
    let columns = lost_columns(&baseline, run);
    let mut lost = before.difference(&after).chain(&columns);
    let (first, more) = (lost.next()?, lost.count());
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    Some(format!("it no longer contains {first}{more}, which the previous one did"))
}

/// The note on a `run` that becomes a baseline and has series without a finished configuration: no
/// run can be compared with them.
pub fn unfinished(run: &Run) -> Option<String> {
    let mut all = run.series.iter().filter(|series| !any_finished(series));
    let (first, more) = (all.next()?, all.count());
    let more = if more == 0 { String::new() } else { format!(" and {more} more series") };
    Some(format!(
        "it has no finished configuration of {}{more}, so nothing can be compared there; measure \
         again and accept that run",
        first.id
    ))
}

/// The columns of `baseline` that a series of `run` has no value of any more, by series.
fn lost_columns(baseline: &Run, run: &Run) -> Vec<String> {
    let has = |series: &SeriesResult, name: &str| {
        let mut rows = series.configurations.iter();
        rows.any(|row| row.metrics.get(name).is_some_and(|metric| metric.value.is_ok()))
    };
    let of = |theirs: &SeriesResult| {
        let Some(ours) = run.series.iter().find(|ours| ours.id == theirs.id) else {
            return Vec::new();
        };
        let lost = theirs.columns.iter().filter(|name| has(theirs, name) && !has(ours, name));
        lost.map(|name| format!("{name} of {}", theirs.id)).collect::<Vec<_>>()
    };
    baseline.series.iter().flat_map(of).collect()
}

/// `run` without the samples behind its values, for small files: a comparison needs only the
/// results of each process, which stay.
#[must_use]
pub fn without_samples(mut run: Run) -> Run {
    for row in run.series.iter_mut().flat_map(|series| &mut series.configurations) {
        row.timings.clear();
        row.metrics.forget_absent();
    }
    run
}

/// Whether a baseline's name is meant as a file.
pub fn is_path(text: &str) -> bool {
    text.contains('/') || text.ends_with(".json")
}

/// The longest name of a baseline: with its ending, every file system takes it.
const MAX_NAME: usize = 100;

fn check_name(name: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let why = if name.is_empty() || name.starts_with(['.', '-', '_']) || !name.chars().all(plain) {
        "use letters, digits, `-`, `_` and `.`, starting with a letter or digit".to_owned()
    } else if name.ends_with(".json") {
        "this ending makes it a file".to_owned()
    } else if name == "latest" {
        "`latest` always means the last run".to_owned()
    } else if name.len() > MAX_NAME {
        format!("it has {} characters; the limit is {MAX_NAME}", name.len())
    } else {
        return Ok(());
    };
    Err(Failure::usage(format!("`{name}` cannot name a baseline: {why}")))
}

#[cfg(test)]
#[path = "baselines_tests.rs"]
mod tests;
