//! Pruning: of the runs below a target folder only the newest stay.
//!
//! Input: the number to keep. Output: the ids of the removed runs. Invariants: nothing that a
//! process uses is removed; only folders named like runs are; and a run is renamed before it is
//! removed, so that a kill in between leaves no half of one. Baselines are copies in separate
//! folders, which this never touches.

use std::fs::{self, File};
use std::time::Duration;

use camino::Utf8Path;

use super::journal;
use super::run_folder::{COPIES, LOCK};
use super::run_order::{self, NEW};
use crate::store::KeepRuns;

/// A run on its way out.
const REMOVED: &str = ".removed-";

/// A new folder that has no name for so long belongs to a killed process.
const NAMED_WITHIN: Duration = Duration::from_secs(60);

/// Removes the oldest runs below `target_directory` until no more than `keep` are left, and returns
/// their ids. Folders of runs that never began, left by a refused or broken start, are removed
/// without mention if they are older than the newest run.
pub fn prune(target_directory: &Utf8Path, keep: KeepRuns) -> Vec<String> {
    let runs = target_directory.join("gpuprof/runs");
    sweep(&runs);
    let KeepRuns::Newest(keep) = keep else { return Vec::new() };
    let mut began = Vec::new();
    let mut idle = Vec::new();
    for entry in fs::read_dir(&runs).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        // Of the entry itself: a link to a folder is not a run's folder.
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let folder = runs.join(&name);
        if name.starts_with(REMOVED) {
            let _ = fs::remove_dir_all(&folder);
        } else if is_id(&name) {
            let begun = folder.join(journal::FILE).exists() || folder.join("run.json").exists();
            if begun { &mut began } else { &mut idle }.push(run_order::place(&runs, name));
        }
    }
    began.sort_unstable();
    idle.retain(|place| began.last().is_some_and(|newest| place < newest));
    for (_, id) in idle {
        remove(&runs, &id);
    }
    let old = began.len().saturating_sub(keep.get() as usize);
    began.into_iter().take(old).map(|(_, id)| id).filter(|id| remove(&runs, id)).collect()
}

/// Removes the copies of harnesses and kernels that runs left which were killed: they are large,
/// and a run that is resumed makes its own. Removes folders of runs that were killed before they
/// had a name.
fn sweep(runs: &Utf8Path) {
    for entry in fs::read_dir(runs).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let folder = runs.join(&name);
        if name.starts_with(NEW) {
            let age = entry.metadata().and_then(|it| it.modified()).map(|made| made.elapsed());
            if age.is_ok_and(|age| age.is_ok_and(|age| age > NAMED_WITHIN)) {
                let _ = fs::remove_dir_all(&folder);
            }
            continue;
        }
        let copies = folder.join(COPIES);
        let is_run = is_id(&name) && entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_run || !copies.is_dir() {
            continue;
        }
        let Ok(lock) = File::options().append(true).open(folder.join(LOCK)) else { continue };
        if lock.try_lock().is_ok() {
            let _ = fs::remove_dir_all(&copies);
        }
    }
}

/// Whether a folder is named as a run: its start, `-`, and digits.
pub(super) fn is_id(name: &str) -> bool {
    let Some((stamp, process)) = name.split_once('-') else { return false };
    let shape = |pattern: &str, text: &str| {
        text.len() == pattern.len()
            && pattern.bytes().zip(text.bytes()).all(|(p, c)| match p {
                b'0' => c.is_ascii_digit(),
                other => other == c,
            })
    };
    shape("00000000T000000000Z", stamp)
        && process.bytes().all(|c| c.is_ascii_digit() || c == b'-')
        && !process.is_empty()
}

/// Removes the run unless a process uses it; whether it is gone.
pub(super) fn remove(runs: &Utf8Path, id: &str) -> bool {
    let folder = runs.join(id);
    // The journal was the only lock of earlier versions.
    let lock = |file: &str| match File::options().append(true).open(folder.join(file)) {
        Ok(file) => file.try_lock().ok().map(|()| Some(file)),
        // A missing lock blocks nothing.
        Err(_) => Some(None),
    };
    let (Some(_own), Some(_journal)) = (lock(LOCK), lock(journal::FILE)) else { return false };
    let removed = runs.join(format!("{REMOVED}{id}"));
    if fs::rename(&folder, &removed).is_err() {
        return false;
    }
    let _ = fs::remove_dir_all(&removed);
    true
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::time::SystemTime;

    use super::*;
    use crate::store::RunFolder;
    use camino::Utf8PathBuf;
    use gpuprof_system::interrupt::Interrupt;

    const IDS: [&str; 4] = [
        "20251121T010000000Z-1",
        "20251121T020000000Z-7",
        "20251122T010000000Z-1",
        "20251122T010000000Z-1-2",
    ];

    fn target() -> (tempfile::TempDir, Utf8PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8PathBuf::from_path_buf(folder.path().to_owned()).unwrap();
        for id in IDS {
            let run = path.join("gpuprof/runs").join(id);
            fs::create_dir_all(run.join("passes")).unwrap();
            fs::write(run.join("run.json"), "{}").unwrap();
            fs::write(run.join(LOCK), "").unwrap();
        }
        (folder, path)
    }

    fn newest(n: u32) -> KeepRuns {
        KeepRuns::Newest(NonZeroU32::new(n).unwrap())
    }

    fn left(target: &Utf8Path) -> Vec<String> {
        let entries = fs::read_dir(target.join("gpuprof/runs")).unwrap().flatten();
        let mut names: Vec<String> =
            entries.map(|e| e.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn an_old_unnamed_folder_is_removed() {
        let (_keep, target) = target();
        let runs = target.join("gpuprof/runs");
        let [old, young] = ["old", "young"].map(|name| runs.join(format!("{NEW}{name}")));
        for folder in [&old, &young] {
            fs::create_dir(folder).unwrap();
        }
        let before = SystemTime::now() - 2 * NAMED_WITHIN;
        File::open(&old).unwrap().set_modified(before).unwrap();
        prune(&target, KeepRuns::All);
        assert_eq!((old.exists(), young.exists()), (false, true));
    }

    #[test]
    fn the_newest_runs_are_kept() {
        let (_keep, target) = target();
        assert_eq!(prune(&target, newest(4)), [""; 0]);
        assert_eq!(prune(&target, KeepRuns::All), [""; 0]);
        assert_eq!(prune(&target, newest(3)), IDS[..1]);
        assert_eq!(prune(&target, newest(1)), IDS[1..3]);
        assert_eq!(left(&target), IDS[3..]);
    }

    #[test]
    fn copies_of_a_killed_run_are_removed_unless_in_use() {
        let (_keep, target) = target();
        let runs = target.join("gpuprof/runs");
        let in_use = File::create(runs.join(IDS[1]).join(LOCK)).unwrap();
        in_use.lock().unwrap();
        for id in &IDS[..2] {
            fs::create_dir_all(runs.join(id).join(COPIES).join("base")).unwrap();
        }
        assert_eq!(prune(&target, KeepRuns::All), [""; 0]);
        let left = [0, 1].map(|at| runs.join(IDS[at]).join(COPIES).exists());
        assert_eq!(left, [false, true]);
    }

    #[test]
    fn a_run_in_use_is_never_removed() {
        let (_keep, target) = target();
        let in_use = {
            let path = target.join("gpuprof/runs").join(IDS[0]);
            RunFolder::reopen(&path, Duration::ZERO, &Interrupt::default()).unwrap()
        };
        // A run of an earlier version has its journal locked and nothing else.
        let old = target.join("gpuprof/runs").join(IDS[1]);
        fs::remove_file(old.join(LOCK)).unwrap();
        let journal = File::create(old.join(journal::FILE)).unwrap();
        journal.lock().unwrap();
        assert_eq!(prune(&target, newest(1)), IDS[2..3]);
        drop((in_use, journal));
        assert_eq!(prune(&target, newest(1)), IDS[..2]);
    }

    #[test]
    fn nothing_but_runs_is_removed() {
        let (_keep, target) = target();
        let runs = target.join("gpuprof/runs");
        let elsewhere = target.join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("run.json"), "{}").unwrap();
        std::os::unix::fs::symlink(&elsewhere, runs.join("20240101T000000000Z-1")).unwrap();
        for name in ["notes", "20240101-1", "20240101T000000000Z-x", "20240101T000000000Z-"] {
            fs::create_dir(runs.join(name)).unwrap();
            fs::write(runs.join(name).join("run.json"), "{}").unwrap();
        }
        assert_eq!(prune(&target, newest(1)), IDS[..3]);
        assert!(elsewhere.join("run.json").exists());
        assert_eq!(left(&target).len(), 6);
    }

    #[test]
    fn an_old_run_without_a_start_is_removed_and_not_counted() {
        let (_keep, target) = target();
        let runs = target.join("gpuprof/runs");
        for id in ["20251121T030000000Z-1", "20251123T000000000Z-1"] {
            fs::create_dir(runs.join(id)).unwrap();
        }
        // A kill in the middle of a removal.
        fs::create_dir(runs.join(".removed-20240101T000000000Z-1")).unwrap();
        assert_eq!(prune(&target, newest(4)), [""; 0]);
        assert_eq!(left(&target), [&IDS[..], &["20251123T000000000Z-1"]].concat());
    }

    #[test]
    fn the_setting_is_a_number_or_all() {
        let read =
            |text: &str| toml::from_str::<std::collections::BTreeMap<String, KeepRuns>>(text);
        assert_eq!(read("k = 7").unwrap()["k"], newest(7));
        assert_eq!(read("k = \"all\"").unwrap()["k"], KeepRuns::All);
        for bad in ["k = 0", "k = -1", "k = \"none\"", "k = 1.5", "k = 5000000000"] {
            let error = read(bad).unwrap_err().to_string();
            assert!(error.contains("expected a number of runs, at least 1, or \"all\""), "{error}");
        }
        assert_eq!(("7".parse(), "all".parse()), (Ok(newest(7)), Ok(KeepRuns::All)));
        assert!("0".parse::<KeepRuns>().is_err() && "every".parse::<KeepRuns>().is_err());
    }
}
