//! Baselines: runs kept by name.
//!
//! A baseline is a run document, one JSON file, and so anything that reads a run reads it. Two folders
//! hold them: `.config/gpuprof/baselines` of the workspace, for those that live in git, and
//! `gpuprof/baselines` of the target folder. Where both have a name, the one in git wins.

use std::fs;
use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::run::Run;
use gpuprof_model::suggest::did_you_mean;

use super::{document, write_whole};
use crate::error::{Failure, Result};

/// Where checked-in baselines are, below the workspace root.
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
pub struct Kept {
    /// What it is called.
    pub name: String,
    /// Its file.
    pub path: Utf8PathBuf,
    /// Whether it lives in git.
    pub checked_in: bool,
}

impl Baselines {
    /// The baselines of the workspace at `root`.
    pub fn new(root: &Utf8Path, target_directory: &Utf8Path) -> Self {
        Self {
            checked_in: root.join(CHECKED_IN),
            local: target_directory.join("gpuprof/baselines"),
        }
    }

    /// Every baseline by name; of two with one name the one that wins.
    pub fn all(&self) -> Vec<Kept> {
        let mut all: Vec<Kept> = Vec::new();
        for (folder, checked_in) in [(&self.checked_in, true), (&self.local, false)] {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let Ok(file) = entry.file_name().into_string() else { continue };
                let Some(name) = file.strip_suffix(".json") else { continue };
                if check_name(name).is_ok() && all.iter().all(|kept| kept.name != name) {
                    all.push(Kept { name: name.to_owned(), path: folder.join(&file), checked_in });
                }
            }
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// The baseline called `name`, if it is kept.
    pub fn find(&self, name: &str) -> Option<Kept> {
        self.all().into_iter().find(|kept| kept.name == name)
    }

    /// The run that `text` names: a file where it looks like a path, else a kept baseline.
    ///
    /// `Ok(Err(…))` says why there is none, which is a verdict and no error.
    ///
    /// # Errors
    /// A file that is there and no run document (exit code 96).
    pub fn read(&self, text: &str) -> Result<Result<Run, String>> {
        if is_path(text) {
            let path = Utf8Path::new(text);
            return if path.exists() {
                document::read(path).map(Ok)
            } else {
                Ok(Err(format!("there is no baseline file {path}")))
            };
        }
        match self.find(text) {
            Some(kept) => document::read(&kept.path).map(Ok),
            None => Ok(Err(self.none_called(text))),
        }
    }

    /// The message for a name that nothing is kept under.
    pub fn none_called(&self, name: &str) -> String {
        let all = self.all();
        let near = did_you_mean(name, all.iter().map(|kept| kept.name.as_str()))
            .unwrap_or_else(|| format!("make one with --save-baseline {name}"));
        format!("no baseline is called `{name}`: {near}")
    }

    /// Where a baseline of this name is to be written: where it is, or in the folder asked for.
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
    /// A name that cannot be a file's, or that of a baseline in git, which a run does not replace by
    /// itself (exit code 2).
    pub fn place_of_run(&self, name: &str) -> Result<Utf8PathBuf> {
        if self.find(name).is_some_and(|kept| kept.checked_in) {
            return Err(Failure::usage(format!(
                "the baseline `{name}` lives in {} and a run does not replace it; after a run, \
                 `cargo gpuprof baseline accept {name}` does",
                self.checked_in
            )));
        }
        self.place(name, false)
    }
}

/// Writes `run` to `path` as a baseline: indented, so that git can show what changed.
///
/// # Errors
/// It cannot be written (exit code 110).
pub fn write(path: &Utf8Path, run: &Run) -> Result<()> {
    let mut bytes = serde_json::to_vec_pretty(run).expect("runs are plain data");
    bytes.push(b'\n');
    let write = || -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        write_whole(path, &bytes)
    };
    write().map_err(|e| Failure::output(path.as_std_path(), &e))
}

/// `run` without the samples behind its values, for small files: what each process found stays, and
/// that is all a comparison needs.
#[must_use]
pub fn without_samples(mut run: Run) -> Run {
    for row in run.series.iter_mut().flat_map(|series| &mut series.configurations) {
        row.timings.clear();
        row.metrics.retain(|_, metric| metric.value.is_ok());
    }
    run
}

/// Whether a baseline's name is meant as a file.
pub fn is_path(text: &str) -> bool {
    text.contains('/') || text.ends_with(".json")
}

fn check_name(name: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !name.is_empty()
        && name.len() <= 100
        && !name.starts_with(['.', '-'])
        && name.chars().all(plain)
    {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "`{name}` cannot name a baseline: letters, digits, `-`, `_` and `.` do, and the first is a letter or digit"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuprof_model::ExitCode;
    use gpuprof_model::run::{Provenance, SCHEMA_VERSION};

    fn run(id: &str) -> Run {
        Run {
            schema_version: SCHEMA_VERSION,
            id: id.into(),
            provenance: Provenance::default(),
            series: Vec::new(),
            comparison: None,
        }
    }

    fn baselines() -> (tempfile::TempDir, Baselines) {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8PathBuf::from_path_buf(folder.path().to_owned()).unwrap();
        (folder, Baselines::new(&root, &root.join("target")))
    }

    #[test]
    fn the_one_in_git_wins_and_a_run_does_not_replace_it() {
        let (_keep, all) = baselines();
        write(&all.place("main", false).unwrap(), &run("local")).unwrap();
        assert_eq!(all.read("main").unwrap().unwrap().id, "local");
        write(&all.checked_in.join("main.json"), &run("git")).unwrap();
        assert_eq!(all.read("main").unwrap().unwrap().id, "git");
        assert_eq!(all.all().len(), 1);
        let refused = all.place_of_run("main").unwrap_err();
        assert_eq!(refused.code, ExitCode::Usage);
        assert!(
            refused.message.ends_with("`cargo gpuprof baseline accept main` does"),
            "{}",
            refused.message
        );
        assert_eq!(all.place("main", false).unwrap(), all.checked_in.join("main.json"));
    }

    #[test]
    fn a_baseline_that_is_not_there_is_told_and_no_error() {
        let (_keep, all) = baselines();
        write(&all.place("main", false).unwrap(), &run("x")).unwrap();
        assert_eq!(
            all.read("mian").unwrap().unwrap_err(),
            "no baseline is called `mian`: did you mean `main`?"
        );
        assert_eq!(
            all.read("zzzzzz").unwrap().unwrap_err(),
            "no baseline is called `zzzzzz`: make one with --save-baseline zzzzzz"
        );
        assert_eq!(
            all.read("./no.json").unwrap().unwrap_err(),
            "there is no baseline file ./no.json"
        );
    }

    #[test]
    fn a_torn_baseline_is_an_error() {
        let (_keep, all) = baselines();
        let path = all.place("main", false).unwrap();
        write(&path, &run("x")).unwrap();
        fs::write(&path, "{\"schema_version\": 1, \"id\": \"x").unwrap();
        let failure = all.read("main").unwrap_err();
        assert_eq!(failure.code, ExitCode::Configuration);
        assert!(
            failure.message.contains("main.json is no run document: byte 30"),
            "{}",
            failure.message
        );
    }

    #[test]
    fn names_stay_inside_the_folder() {
        let (_keep, all) = baselines();
        for bad in ["", "..", "../x", "a b", "-x", ".x", "ä", &"x".repeat(101)] {
            assert_eq!(all.place(bad, false).unwrap_err().code, ExitCode::Usage, "{bad}");
        }
        assert!(all.place("v1.2-rc_3", false).is_ok());
    }
}
