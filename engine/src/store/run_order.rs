//! The order of runs: each run's number is higher than all that exist when it begins.
//!
//! Input: the folder of runs. Output: the next number, and runs sorted by theirs. Clocks go wrong
//! and are set back, so the time in a run's name orders nothing but the runs of versions that knew
//! no numbers; those come before all others. The number is one above the highest there is, taken
//! and written under a lock: nothing else has to be kept, and a process that is killed in between
//! leaves nothing behind that counts.

use std::fs::{self, File};
use std::io::{self, Write};

use camino::Utf8Path;

/// The file with the number of a run, in its folder.
pub(super) const FILE: &str = "number";

/// The beginning of the name of a run's folder until it has its number and its own name.
pub(super) const NEW: &str = ".new-";

/// The lock for taking a number, next to the folder of runs.
const LOCK: &str = "runs.lock";

/// The place of a run among the others: by its number, or without one by its name.
pub(super) type Place = (Option<u64>, String);

/// The number that the next run in the folder `runs` has. No other process has the same as long as
/// the file is held, which must be until the run's folder is there.
///
/// # Errors
/// The lock cannot be made or taken.
pub(super) fn next(runs: &Utf8Path) -> io::Result<(u64, File)> {
    let lock = File::create(runs.with_file_name(LOCK))?;
    lock.lock()?;
    let entries = fs::read_dir(runs)?.flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let last = names.filter_map(|name| number(&runs.join(name))).max();
    Ok((last.unwrap_or(0).saturating_add(1), lock))
}

/// Writes `number` into the `folder` of a run.
///
/// # Errors
/// It cannot be written.
pub(super) fn write(folder: &Utf8Path, number: u64) -> io::Result<()> {
    let mut file = File::create(folder.join(FILE))?;
    writeln!(file, "{number}")?;
    // The folder gets its name next, and must not be there without its number.
    file.sync_data()
}

/// The place of the run `id`.
pub(super) fn place(runs: &Utf8Path, id: String) -> Place {
    (number(&runs.join(&id)), id)
}

/// Sorts the `ids` of runs, the newest last.
pub(super) fn sort(runs: &Utf8Path, ids: &mut [String]) {
    ids.sort_by_cached_key(|id| place(runs, id.clone()));
}

/// The number of the run in `folder`; none of a run of a version before there were any.
fn number(folder: &Utf8Path) -> Option<u64> {
    fs::read_to_string(folder.join(FILE)).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{KeepRuns, RunFolder, document, prune, runs};
    use camino::Utf8PathBuf;
    use std::num::NonZeroU32;

    const OLD: &str = "20200102T030405678Z-7";
    const FUTURE: &str = "20990102T030405678Z-7";

    fn finish(folder: &Utf8Path) {
        let id = folder.file_name().unwrap();
        let run = gpuprof_analysis::fixture::run(id, Vec::new());
        fs::write(folder.join("run.json"), serde_json::to_vec(&run).unwrap()).unwrap();
    }

    /// A run made now, which a wrong clock named.
    fn named(target: &Utf8Path, id: &str) {
        let folder = RunFolder::create(target).unwrap();
        let path = folder.path.with_file_name(id);
        fs::rename(&folder.path, &path).unwrap();
        finish(&path);
    }

    fn target() -> (tempfile::TempDir, Utf8PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let target = Utf8PathBuf::from_path_buf(folder.path().to_owned()).unwrap();
        let before_numbers = target.join("gpuprof/runs").join(OLD);
        fs::create_dir_all(&before_numbers).unwrap();
        finish(&before_numbers);
        (folder, target)
    }

    #[test]
    fn a_run_dated_in_the_future_is_superseded_by_the_next() {
        let (_keep, target) = target();
        let latest = || document::find(&target, "latest").unwrap().id;
        assert_eq!(latest(), OLD);
        named(&target, FUTURE);
        assert_eq!(latest(), FUTURE);
        let now = RunFolder::create(&target).unwrap();
        finish(&now.path);
        assert_eq!(latest(), now.id);
        assert!(now.id.as_str() < FUTURE);
        let id = now.id.clone();
        drop(now);
        let listed: Vec<String> = runs::all(&target).into_iter().map(|run| run.id).collect();
        assert_eq!(listed, [OLD, FUTURE, &id]);
        let one = KeepRuns::Newest(NonZeroU32::new(1).unwrap());
        assert_eq!(prune::prune(&target, one), [OLD, FUTURE]);
        assert_eq!(latest(), id);
    }

    #[test]
    fn a_new_run_dated_in_the_past_is_the_latest() {
        let (_keep, target) = target();
        let first = RunFolder::create(&target).unwrap();
        finish(&first.path);
        named(&target, "20010102T030405678Z-7");
        assert_eq!(document::find(&target, "latest").unwrap().id, "20010102T030405678Z-7");
    }

    #[test]
    fn concurrent_runs_have_distinct_numbers() {
        let (_keep, target) = target();
        let begin = || RunFolder::create(&target).unwrap();
        let folders: Vec<RunFolder> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(begin)).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        let mut numbers: Vec<u64> = folders.iter().filter_map(|f| number(&f.path)).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn an_unreadable_run_number_is_ignored() {
        let (_keep, target) = target();
        let begun = RunFolder::create(&target).unwrap();
        for torn in ["", "x", "-1", "99999999999999999999"] {
            fs::write(begun.path.join(FILE), torn).unwrap();
            assert_eq!(place(begun.path.parent().unwrap(), begun.id.clone()).0, None, "{torn}");
        }
    }
}
