//! The runs below a target folder, as `runs` lists and removes them.
//!
//! Input: the target folder. Output: the properties and the outcome of each run, from the documents
//! in its folder, of which only listed fields are read; and the removal of chosen runs. A running
//! one is recognised by its lock, and never removed.

use std::fs::{self, File, TryLockError};

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::ExitCode;
use gpuprof_model::run::Provenance;
use gpuprof_model::series::{SeriesId, tell_apart};
use jiff::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::document::stored_exit_code;
use super::prune::{self, is_id};
use super::run_folder::LOCK;
use super::{journal, run_order, untrusted};

/// A stored run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRun {
    /// The name of its folder.
    pub id: String,
    /// Its folder.
    pub folder: Utf8PathBuf,
    /// How far it is.
    pub state: State,
    /// The bytes of all its files.
    pub bytes: u64,
}

/// How far a run is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// A process works on it.
    UnderWay,
    /// It stopped before its document was written; with the reason if the document cannot be read.
    Unfinished(Option<String>),
    /// It ended.
    Ended(Outline),
}

/// What is listed of a run that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    /// When it started, as its document says.
    pub started: String,
    /// Its series.
    pub series: Vec<String>,
    /// How many configurations they have.
    pub configurations: usize,
    /// Its exit code; none if its verdict is gone.
    pub exit_code: Option<u8>,
}

/// Every run below `target_directory`, the newest last; folders of runs that never began are none.
pub fn all(target_directory: &Utf8Path) -> Vec<StoredRun> {
    let runs = target_directory.join("gpuprof/runs");
    let entries = fs::read_dir(&runs).into_iter().flatten().flatten();
    // Of the entry itself: a link to a folder is not a run's folder.
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut ids: Vec<String> =
        folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    ids.retain(|id| is_id(id));
    run_order::sort(&runs, &mut ids);
    ids.into_iter().filter_map(|id| stored(&runs.join(&id), id)).collect()
}

fn stored(folder: &Utf8Path, id: String) -> Option<StoredRun> {
    let document = folder.join("run.json");
    let state = if is_under_way(folder) {
        State::UnderWay
    } else if document.exists() {
        outline(folder).map_or_else(|reason| State::Unfinished(Some(reason)), State::Ended)
    } else if folder.join(journal::FILE).exists() {
        State::Unfinished(None)
    } else {
        return None;
    };
    Some(StoredRun { id, bytes: size(folder), folder: folder.to_owned(), state })
}

/// Whether a process holds the lock of the run in `folder`.
fn is_under_way(folder: &Utf8Path) -> bool {
    let lock = File::options().append(true).open(folder.join(LOCK));
    lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
}

/// What is listed of the run in `folder`, or why its document cannot be read.
fn outline(folder: &Utf8Path) -> Result<Outline, String> {
    #[derive(Deserialize)]
    struct Series {
        id: SeriesId,
        configurations: Vec<IgnoredAny>,
    }
    #[derive(Deserialize)]
    struct Document {
        id: String,
        provenance: Provenance,
        series: Vec<Series>,
    }
    let read = |name: &str| untrusted::read(&folder.join(name)).map_err(|failure| failure.message);
    let mut document: Document = serde_json::from_slice(&read("run.json")?)
        .map_err(|e| format!("run.json is not a run document: {e}"))?;
    tell_apart(document.series.iter_mut().map(|series| &mut series.id));
    Ok(Outline {
        started: document.provenance.started,
        series: document.series.iter().map(|series| series.id.to_string()).collect(),
        configurations: document.series.iter().map(|series| series.configurations.len()).sum(),
        exit_code: stored_exit_code(folder, &document.id).map(ExitCode::code),
    })
}

fn size(folder: &Utf8Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let entry_size = |entry: fs::DirEntry| match (entry.file_type(), entry.file_name().to_str()) {
        (Ok(kind), Some(name)) if kind.is_dir() => size(&folder.join(name)),
        _ => entry.metadata().map_or(0, |known| known.len()),
    };
    entries.map(entry_size).sum()
}

impl StoredRun {
    /// When it started, by its id.
    pub fn began(&self) -> Option<Timestamp> {
        let (stamp, _) = self.id.split_once('-')?;
        // Milliseconds stand behind the seconds without a point.
        let (seconds, _) = stamp.split_at_checked("00000000T000000".len())?;
        format!("{seconds}Z").parse().ok()
    }

    /// Removes it, unless a process works on it; whether it is gone.
    pub fn remove(&self) -> bool {
        let Some(runs) = self.folder.parent() else { return false };
        prune::remove(runs, &self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::RunFolder;
    use gpuprof_analysis::fixture;
    use gpuprof_model::ExitCode;

    const OLD: &str = "20200102T030405678Z-7";

    /// A target folder with a finished run, a stopped one, and a run that never began.
    fn target() -> (tempfile::TempDir, Utf8PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let target = Utf8PathBuf::from_path_buf(folder.path().to_owned()).unwrap();
        let ended = RunFolder::create(&target).unwrap();
        let series = fixture::series(vec![fixture::emulated(64, 1024), fixture::failed(128)]);
        let run = fixture::run(&ended.id, vec![series]);
        ended.save(&run, None, ExitCode::ProcessFailed, true).unwrap();
        drop(ended);
        let stopped = target.join("gpuprof/runs").join(OLD);
        fs::create_dir(&stopped).unwrap();
        fs::write(stopped.join(journal::FILE), "{}\n").unwrap();
        fs::create_dir(target.join("gpuprof/runs/20200102T030405678Z-8")).unwrap();
        fs::create_dir(target.join("gpuprof/runs/notes")).unwrap();
        (folder, target)
    }

    #[test]
    fn runs_are_listed_with_their_outcome() {
        let (_keep, target) = target();
        let under_way = RunFolder::create(&target).unwrap();
        let listed = all(&target);
        assert_eq!(listed.len(), 3);
        assert_eq!((listed[0].id.as_str(), &listed[0].state), (OLD, &State::Unfinished(None)));
        assert_eq!(listed[0].bytes, 3);
        assert_eq!(listed[0].began(), Some("2020-01-02T03:04:05Z".parse().unwrap()));
        let State::Ended(outline) = &listed[1].state else { panic!("{:?}", listed[1]) };
        assert_eq!(outline.series, ["saxpy::saxpy"]);
        assert_eq!((outline.configurations, outline.exit_code), (2, Some(105)));
        assert_eq!((listed[2].id.as_str(), &listed[2].state), (&*under_way.id, &State::UnderWay));
        fs::write(listed[1].folder.join("run.json"), "{").unwrap();
        let State::Unfinished(Some(reason)) = &all(&target)[1].state else { panic!() };
        assert!(reason.starts_with("run.json is not a run document: EOF"), "{reason}");
    }

    #[test]
    fn a_running_run_is_not_removed() {
        let (_keep, target) = target();
        let under_way = RunFolder::create(&target).unwrap();
        let removed: Vec<bool> = all(&target).iter().map(StoredRun::remove).collect();
        assert_eq!(removed, [true, true, false]);
        let left: Vec<String> = all(&target).into_iter().map(|run| run.id).collect();
        assert_eq!(left, std::slice::from_ref(&under_way.id));
    }
}
