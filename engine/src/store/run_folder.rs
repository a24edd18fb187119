//! The folder of one run: made whole, held by the process that writes it, kept until it is pruned.
//!
//! A folder is locked before it gets its name, so that no other process takes it for an unused one.
//! Executables and libraries are copied into it first: another run in the same target folder may
//! rebuild while this one measures, and the two must not mix.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::ExitCode;
use gpuprof_model::run::Run;

use super::document::BASE_FILE;
use super::manifest::Manifest;
use super::run_order::NEW;
use super::{file_lock, journal, run_order, verdict_document};
use crate::plan::Side;
use gpuprof_build::declared::file_name;
use gpuprof_build::harnesses::Harness;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::interrupt::Interrupt;
use gpuprof_system::scratch::Scratch;
use gpuprof_system::whole::{write_whole, write_whole_by};

/// The file that the process of a run holds locked.
pub(super) const LOCK: &str = "lock";

/// The outcome of a run, in its folder, and of the last run next to all folders.
const VERDICT: &str = "verdict.json";

/// The copies of harnesses and kernels, present while the run lasts.
pub(super) const COPIES: &str = "copies";

/// The folder of one run.
#[derive(Debug)]
pub struct RunFolder {
    /// Its name: the start of the run and the process.
    pub id: String,
    /// Its path.
    pub path: Utf8PathBuf,
    /// Whether the run has begun before, and is resumed.
    pub resumes: bool,
    /// Held until the run ends, however it ends; none if no other process can use the folder, and
    /// on a file system without locks.
    lock: Option<File>,
    /// The private folder of a slice: its own folder may lie on a file system that many machines
    /// share.
    scratch: Option<Scratch>,
}

impl RunFolder {
    /// Makes the folder of a new run below `target_directory`, and removes the copy of the last
    /// run's verdict, so that no verdict is mistaken for this run's before it ends.
    ///
    /// # Errors
    /// It cannot be made (exit code 110).
    pub fn create(target_directory: &Utf8Path) -> Result<Self> {
        let runs = target_directory.join("gpuprof/runs");
        let make = || -> io::Result<Self> {
            fs::create_dir_all(&runs)?;
            // Harness processes run in other folders.
            let runs = runs.canonicalize_utf8()?;
            let new = tempfile::Builder::new().prefix(NEW).tempdir_in(&runs)?;
            readable(new.path())?;
            let lock = File::create(new.path().join(LOCK))?;
            lock.lock()?;
            fs::create_dir(new.path().join("passes"))?;
            let (number, turn) = run_order::next(&runs)?;
            let path = Utf8Path::from_path(new.path()).ok_or(io::ErrorKind::InvalidFilename)?;
            run_order::write(path, number)?;
            let id = place(new.path(), &runs)?;
            drop(turn);
            // It has another name by now.
            let _ = new.keep();
            let path = runs.join(&id);
            Ok(Self { path, id, resumes: false, lock: Some(lock), scratch: None })
        };
        make().map_err(|e| file_lock::failed(&runs, &e))
    }

    /// Removes the copy of the last run's verdict from the folder `stored`, so that a run that ends
    /// early leaves no verdict of an earlier one.
    pub fn remove_last_verdict(stored: &Utf8Path) {
        let _ = fs::remove_file(stored.join("gpuprof").join(VERDICT));
    }

    /// The folder of a run that is resumed; a process that uses it is waited for as long as `wait`.
    ///
    /// # Errors
    /// Another process uses it (exit code 75); it cannot be written (exit code 110).
    pub fn reopen(path: &Utf8Path, wait: Duration, interrupt: &Interrupt) -> Result<Self> {
        let failed = |e: io::Error| Failure::output(path.as_std_path(), &e);
        let lock = File::create(path.join(LOCK)).map_err(failed)?;
        let lock = file_lock::within(wait, lock, path, interrupt)?;
        fs::create_dir_all(path.join("passes")).map_err(failed)?;
        let path = path.canonicalize_utf8().map_err(failed)?;
        let id = path.file_name().unwrap_or_default().to_owned();
        Ok(Self { id, path, resumes: true, lock: Some(lock), scratch: None })
    }

    /// The folder of a slice before its number is known: on this machine alone.
    ///
    /// # Errors
    /// It cannot be made (exit code 110).
    pub fn of_slice() -> Result<Self> {
        let scratch = Scratch::new()?;
        let failed = |e: io::Error| Failure::output(scratch.path().as_std_path(), &e);
        fs::create_dir(scratch.path().join("passes")).map_err(failed)?;
        let path = scratch.path().canonicalize_utf8().map_err(failed)?;
        Ok(Self { id: new_id(), path, resumes: false, lock: None, scratch: Some(scratch) })
    }

    /// Gives a slice its `folder`. If the slice has begun there, this run resumes it, if it `may`
    /// and once the folder is free, for which it waits up to `wait`.
    ///
    /// # Errors
    /// Another process has it (exit code 75); it has begun, and must not be resumed (exit code 2);
    /// it cannot be written (exit code 110).
    pub fn place(
        &mut self,
        folder: &Utf8Path,
        (may, wait): (bool, Duration),
        interrupt: &Interrupt,
    ) -> Result<()> {
        let failed = |e: io::Error| Failure::output(folder.as_std_path(), &e);
        fs::create_dir_all(folder).map_err(failed)?;
        let folder = folder.canonicalize_utf8().map_err(failed)?;
        let lock = File::create(folder.join(LOCK)).map_err(failed)?;
        self.lock = file_lock::within_if_any(wait, lock, &folder, interrupt)?;
        let journal = folder.join(journal::FILE);
        // A kill may have come before its first line was whole.
        let begun = fs::read(&journal).is_ok_and(|bytes| bytes.contains(&b'\n'));
        if begun && !may {
            return Err(Failure::usage(format!(
                "this slice has begun in {folder}: --resume=auto goes on with it; to measure it \
                 again, give --slices another folder"
            )));
        }
        if begun {
            self.id = Manifest::read(&folder)?.run;
            // From here on the journal has more than they say.
            for stale in ["run.json", BASE_FILE] {
                match fs::remove_file(folder.join(stale)) {
                    Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(failed(e)),
                    Ok(()) | Err(_) => {}
                }
            }
        } else if journal.exists() {
            fs::remove_file(&journal).map_err(failed)?;
        }
        self.resumes = begun;
        self.path = folder;
        Ok(())
    }

    /// The folder of private files.
    fn own(&self) -> Utf8PathBuf {
        let scratch = self.scratch.as_ref().map(Scratch::path);
        scratch.map_or_else(|| self.path.clone(), Utf8Path::to_owned)
    }

    /// The folder of the passes' requests, replies and outputs.
    pub fn passes(&self) -> Utf8PathBuf {
        self.own().join("passes")
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
    /// package or declared module, name them.
    ///
    /// # Errors
    /// They cannot be copied (exit code 110).
    pub fn copy_kernels(
        &self,
        side: Side,
        modules: &mut BTreeMap<String, Utf8PathBuf>,
    ) -> Result<()> {
        for (package, path) in modules {
            *path = self.copy(path, side, &file_name(package, path))?;
        }
        Ok(())
    }

    fn copy(&self, from: &Utf8Path, side: Side, name: &str) -> Result<Utf8PathBuf> {
        let folder = match side {
            Side::Head => self.own().join(COPIES),
            Side::Base => self.own().join(COPIES).join("base"),
        };
        let to = folder.join(name);
        fs::create_dir_all(&folder)
            // A run that was killed left its own, which may still be executing.
            .and_then(|()| match fs::remove_file(&to) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
                _ => fs::copy(from, &to).map(|_| to.clone()),
            })
            .map_err(Failure::writing(&to))
    }

    /// Removes the folder of a run that has not begun; that of a slice goes by itself.
    pub fn discard(&self) {
        if self.scratch.is_none() {
            let _ = fs::remove_dir_all(&self.path);
        }
    }

    /// Writes `run.json`, `base.json` if another revision was measured, and, except for a slice,
    /// which decides nothing, `verdict.json` with a copy next to all runs. A failure does not stop
    /// the others.
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
        let latest = self.path.parent().and_then(Utf8Path::parent).map(|p| p.join(VERDICT));
        let verdict = serde_json::to_vec_pretty(&verdict).expect("verdicts are plain data");
        let document = |name: &str, run: &Run| {
            let path = self.path.join(name);
            write_whole_by(&path, |file| Ok(serde_json::to_writer(file, run)?))
                .map_err(Failure::writing(&path))
        };
        let mut outcome = document("run.json", run);
        if let Some(base) = base {
            outcome = outcome.and(document(BASE_FILE, base));
        }
        if self.scratch.is_some() {
            return outcome;
        }
        for path in [Some(self.path.join(VERDICT)), latest].into_iter().flatten() {
            let written = write_whole(&path, &verdict);
            outcome = outcome.and(written.map_err(Failure::writing(&path)));
        }
        outcome
    }
}

impl Drop for RunFolder {
    /// The results stay; the copies are large and can be rebuilt. A run that was refused, or only
    /// planned, has no results.
    fn drop(&mut self) {
        let left = [journal::FILE, "run.json"].iter().any(|file| self.path.join(file).exists());
        if self.scratch.is_none() && !self.resumes && !left {
            let _ = fs::remove_dir_all(&self.path);
        }
        let _ = fs::remove_dir_all(self.own().join(COPIES));
        // Closing the file would do so only once no process that is being started shares it.
        let _ = self.lock.as_ref().map(File::unlock);
    }
}

/// Temporary folders are private; those of runs are as readable as any other.
fn readable(folder: &std::path::Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))
}

/// Gives the folder `new` a name that no run has, and returns it.
fn place(new: &std::path::Path, runs: &Utf8Path) -> io::Result<String> {
    let name = new_id();
    let mut again = 1;
    loop {
        // Two containers may share a target folder, a process number and a millisecond.
        let id = match again {
            1 => name.clone(),
            n => format!("{name}-{n}"),
        };
        // A folder that holds anything is not replaced, and a run's holds its lock.
        match fs::rename(new, runs.join(&id)) {
            Ok(()) => return Ok(id),
            Err(e) if taken(&e) => again += 1,
            Err(e) => return Err(e),
        }
    }
}

/// The start of a run and its process.
fn new_id() -> String {
    let stamp = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S%3fZ");
    format!("{stamp}-{}", std::process::id())
}

fn taken(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, NotADirectory};
    matches!(error.kind(), AlreadyExists | DirectoryNotEmpty | NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(3);

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
    fn the_last_verdict_is_removed_before_a_run() {
        let (_keep, target) = target();
        fs::create_dir_all(target.join("gpuprof/runs")).unwrap();
        fs::write(target.join("gpuprof/verdict.json"), "{}").unwrap();
        RunFolder::remove_last_verdict(&target);
        assert!(!target.join("gpuprof/verdict.json").exists());
    }

    #[test]
    fn a_folder_in_use_is_not_reopened() {
        let (_keep, target) = target();
        let folder = RunFolder::create(&target).unwrap();
        let path = folder.path.clone();
        let never = Interrupt::default();
        let short = Duration::from_millis(10);
        let refused = RunFolder::reopen(&path, short, &never).unwrap_err();
        assert_eq!(refused.code, ExitCode::Busy);
        assert_eq!(
            refused.message,
            format!("{path} is locked: another process is still working on this run")
        );
        fs::write(path.join(journal::FILE), "").unwrap();
        // As a process that is being started does.
        let shared = folder.lock.as_ref().unwrap().try_clone().unwrap();
        drop(folder);
        assert_eq!(RunFolder::reopen(&path, PATIENCE, &never).unwrap().path, path);
        drop(shared);
    }

    #[test]
    fn reopening_waits_for_a_lock_that_is_just_being_released() {
        let (_keep, target) = target();
        let folder = RunFolder::create(&target).unwrap();
        let path = folder.path.clone();
        fs::write(path.join(journal::FILE), "").unwrap();
        let reopened = std::thread::scope(|scope| {
            let reopened = scope.spawn(|| {
                let opened = RunFolder::reopen(&path, PATIENCE, &Interrupt::default());
                opened.map(|folder| folder.path.clone())
            });
            // It finds the lock held, or does not: either way it has it in the end.
            std::thread::sleep(Duration::from_millis(10));
            drop(folder);
            reopened.join().unwrap()
        });
        assert_eq!(reopened.unwrap(), path);
    }

    #[test]
    fn a_run_that_never_began_leaves_no_folder() {
        let (_keep, target) = target();
        let refused = RunFolder::create(&target).unwrap().path.clone();
        assert!(!refused.exists());
        let begun = RunFolder::create(&target).unwrap();
        fs::write(begun.path.join(journal::FILE), "").unwrap();
        let path = begun.path.clone();
        drop(begun);
        assert!(path.exists());
    }

    #[test]
    fn temporary_files_of_a_slice_are_local_and_removed_with_it() {
        let (_keep, target) = target();
        let mut slice = RunFolder::of_slice().unwrap();
        let passes = slice.passes();
        let never = Interrupt::default();
        slice.place(&target.join("s"), (false, PATIENCE), &never).unwrap();
        assert_eq!((slice.passes(), slice.path.clone()), (passes.clone(), target.join("s")));
        fs::write(slice.path.join(journal::FILE), "whole\n").unwrap();
        let mut second = RunFolder::of_slice().unwrap();
        let busy = second.place(&target.join("s"), (true, Duration::ZERO), &never).unwrap_err();
        assert_eq!(busy.code, ExitCode::Busy);
        drop(slice);
        assert!(!passes.exists() && target.join("s").join(journal::FILE).exists());
        let begun = second.place(&target.join("s"), (false, PATIENCE), &never).unwrap_err();
        assert_eq!(begun.code, ExitCode::Usage);
        drop(second);
        // Without a whole line it had not begun.
        fs::write(target.join("s").join(journal::FILE), "torn").unwrap();
        let mut third = RunFolder::of_slice().unwrap();
        third.place(&target.join("s"), (true, PATIENCE), &never).unwrap();
        assert!(!third.resumes && !target.join("s").join(journal::FILE).exists());
    }

    #[test]
    fn a_run_uses_its_own_copies_of_kernels() {
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
    fn a_run_folder_that_cannot_be_created_is_reported() {
        let (_keep, target) = target();
        fs::write(target.join("gpuprof"), "").unwrap();
        let failure = RunFolder::create(&target).unwrap_err();
        assert_eq!(failure.code, ExitCode::OutputFailed);
        assert!(failure.message.starts_with(&format!("cannot write {target}/gpuprof/runs: ")));
    }
}
