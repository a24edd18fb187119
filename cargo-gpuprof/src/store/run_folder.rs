//! The folder of one run: made whole, held by the process that writes it, kept until it is pruned.
//!
//! A folder appears under its name already locked, so that no other process takes it for one that
//! nobody uses. What a run starts and loads is copied into it first: another run in the same target
//! folder may build anew while this one measures, and the two must not mix.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::ExitCode;
use gpuprof_model::run::Run;

use super::document::BASE_FILE;
use super::{order, verdict_document, write_whole, write_whole_by};
use crate::awaited::Awaited;
use crate::build::host::Harness;
use crate::error::{Failure, Result};
use crate::plan::Side;

/// The file that the process of a run holds locked.
pub(super) const LOCK: &str = "lock";

/// The copies of harnesses and kernels, there while the run goes on.
const COPIES: &str = "copies";

/// How long the lock of a runner that was killed may outlive it: a process that it was just
/// starting shares its open files until it runs a program of its own, and the kernel keeps the lock
/// as long as one of both has the file.
const LINGERING: Duration = Duration::from_secs(3);

/// The folder of one run.
#[derive(Debug)]
pub struct RunFolder {
    /// Its name: the start of the run and the process.
    pub id: String,
    /// Its path.
    pub path: Utf8PathBuf,
    /// Held until the run ends, however it ends.
    lock: File,
}

impl RunFolder {
    /// Makes the folder of a new run below `target_directory`.
    ///
    /// # Errors
    /// It cannot be made (exit code 110).
    pub fn create(target_directory: &Utf8Path) -> Result<Self> {
        let runs = target_directory.join("gpuprof/runs");
        let make = || -> io::Result<Self> {
            fs::create_dir_all(&runs)?;
            // Harness processes run in other folders.
            let runs = runs.canonicalize_utf8()?;
            let new = tempfile::Builder::new().prefix(".new-").tempdir_in(&runs)?;
            readable(new.path())?;
            let lock = File::create(new.path().join(LOCK))?;
            lock.lock()?;
            fs::create_dir(new.path().join("passes"))?;
            let (number, turn) = order::next(&runs)?;
            let path = Utf8Path::from_path(new.path()).ok_or(io::ErrorKind::InvalidFilename)?;
            order::write(path, number)?;
            let id = place(new.path(), &runs)?;
            drop(turn);
            // It has another name by now.
            let _ = new.keep();
            Ok(Self { path: runs.join(&id), id, lock })
        };
        make().map_err(|e| Failure::output(runs.as_std_path(), &e))
    }

    /// The folder of a run that is resumed.
    ///
    /// # Errors
    /// Another process uses it (exit code 2); it cannot be written (exit code 110).
    pub fn reopen(path: &Utf8Path) -> Result<Self> {
        let failed = |e: io::Error| Failure::output(path.as_std_path(), &e);
        let lock = File::create(path.join(LOCK)).map_err(failed)?;
        let lock = match lock.try_lock() {
            Ok(()) => lock,
            Err(TryLockError::Error(e)) => return Err(failed(e)),
            Err(TryLockError::WouldBlock) => {
                let locked = Awaited::start(move || lock.lock().map(|()| lock)).map_err(failed)?;
                let locked = locked.within(LINGERING).ok_or_else(|| {
                    Failure::usage(format!(
                        "{path} is locked: another process is still working on this run"
                    ))
                });
                locked?.map_err(failed)?
            }
        };
        fs::create_dir_all(path.join("passes")).map_err(failed)?;
        let path = path.canonicalize_utf8().map_err(failed)?;
        Ok(Self { id: path.file_name().unwrap_or_default().to_owned(), path, lock })
    }

    /// Where the passes keep their requests, replies and outputs.
    pub fn passes(&self) -> Utf8PathBuf {
        self.path.join("passes")
    }

    /// Puts copies of the executables into the folder and makes `harnesses`, of a revision, name
    /// them.
    ///
    /// # Errors
    /// They cannot be copied (exit code 110).
    pub fn copy_harnesses(&self, side: Side, harnesses: &mut [Harness]) -> Result<()> {
        for harness in harnesses {
            let name = format!("{}-{}", harness.package, harness.target);
            harness.executable = self.copy(&harness.executable, side, &name)?;
        }
        Ok(())
    }

    /// Puts copies of the PTX files into the folder and makes `modules`, of a revision and by
    /// package, name them.
    ///
    /// # Errors
    /// They cannot be copied (exit code 110).
    pub fn copy_kernels(
        &self,
        side: Side,
        modules: &mut BTreeMap<String, Utf8PathBuf>,
    ) -> Result<()> {
        for (package, path) in modules {
            *path = self.copy(path, side, &format!("{package}.ptx"))?;
        }
        Ok(())
    }

    fn copy(&self, from: &Utf8Path, side: Side, name: &str) -> Result<Utf8PathBuf> {
        let folder = match side {
            Side::Head => self.path.join(COPIES),
            Side::Base => self.path.join(COPIES).join("base"),
        };
        let to = folder.join(name);
        fs::create_dir_all(&folder)
            // A run that was killed left its own, which may still be executing.
            .and_then(|()| match fs::remove_file(&to) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
                _ => fs::copy(from, &to).map(|_| to.clone()),
            })
            .map_err(|e| Failure::output(to.as_std_path(), &e))
    }

    /// Removes the folder of a run that has not begun.
    pub fn discard(&self) {
        let _ = fs::remove_dir_all(&self.path);
    }

    /// Writes `run.json`, `base.json` where another revision was measured beside it,
    /// `verdict.json`, and a copy of the latter beside all runs. All are tried.
    ///
    /// # Errors
    /// The first that cannot be written (exit code 110).
    pub fn save(
        &self,
        run: &Run,
        base: Option<&Run>,
        exit_code: ExitCode,
        gated: bool,
    ) -> Result<()> {
        let verdict = verdict_document(run, exit_code, gated);
        let latest = self.path.parent().and_then(Utf8Path::parent).map(|p| p.join("verdict.json"));
        let verdict = serde_json::to_vec_pretty(&verdict).expect("verdicts are plain data");
        let document = |name: &str, run: &Run| {
            let path = self.path.join(name);
            write_whole_by(&path, |file| Ok(serde_json::to_writer(file, run)?))
                .map_err(|e| Failure::output(path.as_std_path(), &e))
        };
        let mut outcome = document("run.json", run);
        if let Some(base) = base {
            outcome = outcome.and(document(BASE_FILE, base));
        }
        for path in [Some(self.path.join("verdict.json")), latest].into_iter().flatten() {
            let written = write_whole(&path, &verdict);
            outcome = outcome.and(written.map_err(|e| Failure::output(path.as_std_path(), &e)));
        }
        outcome
    }
}

impl Drop for RunFolder {
    /// What is left is what the run found; the copies are large and can be built again.
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.path.join(COPIES));
        // Closing the file would do so only once no process that is being started shares it.
        let _ = self.lock.unlock();
    }
}

/// Temporary folders are private; those of runs are as readable as any other.
fn readable(folder: &std::path::Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))
}

/// Gives the folder `new` a name that no run has, and returns it.
fn place(new: &std::path::Path, runs: &Utf8Path) -> io::Result<String> {
    let stamp = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S%3fZ").to_string();
    let process = std::process::id();
    let mut again = 1;
    loop {
        // Two containers may share a target folder, a process number and a millisecond.
        let id = match again {
            1 => format!("{stamp}-{process}"),
            n => format!("{stamp}-{process}-{n}"),
        };
        // A folder that holds anything is not replaced, and a run's holds its lock.
        match fs::rename(new, runs.join(&id)) {
            Ok(()) => return Ok(id),
            Err(e) if taken(&e) => again += 1,
            Err(e) => return Err(e),
        }
    }
}

fn taken(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, NotADirectory};
    matches!(error.kind(), AlreadyExists | DirectoryNotEmpty | NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target() -> (tempfile::TempDir, Utf8PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8PathBuf::from_path_buf(folder.path().to_owned()).unwrap();
        (folder, path)
    }

    #[test]
    fn every_run_has_a_folder_of_its_own() {
        let (_keep, target) = target();
        // Of one process and mostly of one millisecond.
        let folders: Vec<_> = (0..20).map(|_| RunFolder::create(&target).unwrap()).collect();
        let mut ids: Vec<&str> = folders.iter().map(|f| f.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 20);
        let left = fs::read_dir(target.join("gpuprof/runs")).unwrap().count();
        assert_eq!(left, 20, "nothing else is left in the folder of runs");
    }

    #[test]
    fn a_folder_in_use_is_not_reopened() {
        let (_keep, target) = target();
        let folder = RunFolder::create(&target).unwrap();
        let path = folder.path.clone();
        let refused = RunFolder::reopen(&path).unwrap_err();
        assert_eq!(refused.code, ExitCode::Usage);
        assert_eq!(
            refused.message,
            format!("{path} is locked: another process is still working on this run")
        );
        // As a process that is being started does.
        let shared = folder.lock.try_clone().unwrap();
        drop(folder);
        assert_eq!(RunFolder::reopen(&path).unwrap().path, path);
        drop(shared);
    }

    #[test]
    fn a_lock_that_outlives_its_runner_for_a_moment_is_waited_for() {
        let (_keep, target) = target();
        let folder = RunFolder::create(&target).unwrap();
        let path = folder.path.clone();
        let reopened = std::thread::scope(|scope| {
            let reopened =
                scope.spawn(|| RunFolder::reopen(&path).map(|folder| folder.path.clone()));
            // It finds the lock held, or does not: either way it has it in the end.
            std::thread::sleep(Duration::from_millis(10));
            drop(folder);
            reopened.join().unwrap()
        });
        assert_eq!(reopened.unwrap(), path);
    }

    #[test]
    fn what_a_run_uses_is_its_own_while_it_goes_on() {
        let (_keep, target) = target();
        let built = target.join("k.ptx");
        fs::write(&built, "first").unwrap();
        let folder = RunFolder::create(&target).unwrap();
        let mut modules = BTreeMap::from([("k".to_owned(), built.clone())]);
        folder.copy_kernels(Side::Head, &mut modules).unwrap();
        fs::write(&built, "second").unwrap();
        assert_eq!(fs::read_to_string(&modules["k"]).unwrap(), "first");
        drop(folder);
        assert!(!modules["k"].exists());
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_told() {
        let (_keep, target) = target();
        fs::write(target.join("gpuprof"), "").unwrap();
        let failure = RunFolder::create(&target).unwrap_err();
        assert_eq!(failure.code, ExitCode::OutputFailed);
        assert!(failure.message.starts_with(&format!("cannot write {target}/gpuprof/runs: ")));
    }
}
