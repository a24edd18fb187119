//! Locks on files, and file systems that have none.
//!
//! Input: an open file. Output: the lock on it, which ends with the process, or why there is none:
//! another process has it, or the file system knows no locks (Lustre that is mounted without
//! `flock`, some FUSE file systems, NFS without its lock service).

use std::fs::{File, TryLockError};
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use camino::Utf8Path;
use gpuprof_model::ExitCode;
use rustix::io::Errno;

use gpuprof_system::blocking_call::BlockingCall;
use gpuprof_system::console;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::interrupt::Interrupt;

/// A longer wait is reported.
const TOLD: Duration = Duration::from_secs(3);

/// The message for file systems without locks.
pub(super) const NO_LOCKS: &str = "this file system has no file locks";

/// Takes the lock on `file`, which is at `path`, at once, if the file system has locks: a missing
/// lock of the run's folder was reported before.
///
/// # Errors
/// Another process has it (exit code 75); it cannot be taken (exit code 110).
pub(super) fn at_once_if_any(file: &File, path: &Utf8Path) -> Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(busy(path)),
        Err(TryLockError::Error(e)) if are_none(&e) => Ok(()),
        Err(TryLockError::Error(e)) => Err(failed(path, &e)),
    }
}

/// Takes the lock on `file`, which is at `path`, once its owner releases it, within `wait`.
///
/// # Errors
/// Another process has it, or a signal ends the wait (exit code 75); there are no locks, or it
/// cannot be taken (exit code 110).
pub(super) fn within(
    wait: Duration,
    file: File,
    path: &Utf8Path,
    interrupt: &Interrupt,
) -> Result<File> {
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::Error(e)) => return Err(failed(path, &e)),
        Err(TryLockError::WouldBlock) => {}
    }
    if wait > TOLD {
        let seconds = wait.as_secs();
        console::say(format_args!(
            "waiting up to {seconds} s for another process that is working on {path}"
        ));
    }
    let fail = |e: io::Error| failed(path, &e);
    let locked = BlockingCall::start(move || file.lock().map(|()| file)).map_err(fail)?;
    let until = Instant::now().checked_add(wait);
    loop {
        interrupt.wait(&[locked.as_fd()], until).map_err(fail)?;
        if let Some(locked) = locked.result() {
            return locked.map_err(fail);
        }
        let late = until.is_some_and(|until| Instant::now() >= until);
        if late || interrupt.signal().is_some() {
            return Err(busy(path));
        }
    }
}

/// As [`within`], but continues without a lock, with a warning, if the file system has none.
///
/// # Errors
/// As [`within`].
pub(super) fn within_if_any(
    wait: Duration,
    file: File,
    path: &Utf8Path,
    interrupt: &Interrupt,
) -> Result<Option<File>> {
    if let Err(TryLockError::Error(e)) = file.try_lock()
        && are_none(&e)
    {
        console::say(format_args!(
            "{path}: {NO_LOCKS}, so two processes could measure this slice at once; what the first \
             of them measures then does not count"
        ));
        return Ok(None);
    }
    within(wait, file, path, interrupt).map(Some)
}

fn busy(path: &Utf8Path) -> Failure {
    Failure::new(
        ExitCode::Busy,
        format!("{path} is locked: another process is still working on this run"),
    )
}

/// That the file at `path` could not be locked.
pub(super) fn failed(path: &Utf8Path, error: &io::Error) -> Failure {
    let failure = Failure::output(path.as_std_path(), error);
    if !are_none(error) {
        return failure;
    }
    let text = format!(
        "cannot lock {path}: {NO_LOCKS}; choose a target folder on one that has (--target-dir), or \
         measure with --slices DIR, which does without"
    );
    failure.with_message(ExitCode::OutputFailed, text)
}

/// Whether `error` says that the file system has no locks.
pub(super) fn are_none(error: &io::Error) -> bool {
    // `EOPNOTSUPP` and `ENOTSUP` are one number on Linux.
    let none = [Errno::NOSYS, Errno::OPNOTSUPP, Errno::NOLCK];
    Errno::from_io_error(error).is_some_and(|errno| none.contains(&errno))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_without_locks_is_reported_with_the_remedy() {
        let path = Utf8Path::new("target/gpuprof/runs");
        for errno in [Errno::NOSYS, Errno::OPNOTSUPP, Errno::NOLCK] {
            let told = failed(path, &errno.into());
            assert_eq!(told.code, ExitCode::OutputFailed);
            assert_eq!(
                told.message,
                "cannot lock target/gpuprof/runs: this file system has no file locks; choose a \
                 target folder on one that has (--target-dir), or measure with --slices DIR, which \
                 does without"
            );
        }
        let full = failed(path, &Errno::NOSPC.into()).message;
        assert!(full.starts_with("cannot write target/gpuprof/runs: No space left"), "{full}");
    }
}
