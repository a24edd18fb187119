//! The quiet window: while one process of a run measures, no other one prepares or leaves on the
//! same device.
//!
//! Input: the path of a file that all processes of a run share for one device. Output: *stages*,
//! which any number of processes work on at once (opening a context, loading a module, filling a
//! buffer, leaving), and *windows*, which one process has while no stage runs anywhere: a batch of
//! samples, or a counter pass, with the start of CUPTI before it if the cache is not flushed after
//! that.
//!
//! Stages hold the file's lock shared, windows hold it exclusively. A second file, the turnstile,
//! keeps both sides moving: each passes through it while it waits. A process that wants a window
//! keeps new stages out, so that it waits only for those under way; a stage that waits for a window
//! to end keeps the next window out, so that consecutive windows do not starve it. The kernel does
//! the waiting. It has no time limit for a lock, so a window that is not free at once is waited for
//! in a separate thread, which is abandoned after a while. The runner gets a notice when a process
//! waits for a window, and does not count that time. No process waits for anything else while
//! holding the lock, and the system releases the lock of a killed process.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use gpuprof_model::notice::Notice;

use crate::host::error::{Error, Result};
use crate::host::runner::line::Handover;

/// How long a process waits for a window: longer than any stage that ends by itself.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a process that leaves may keep the lock: it is gone long before, unless the user's code
/// lingers.
const GRACE: Duration = Duration::from_secs(1);

/// A process' part in keeping the device quiet.
#[derive(Debug)]
pub(crate) struct MeasureLock {
    files: Option<Files>,
    /// The runner that gets notices of this process's waiting.
    runner: Rc<Handover>,
    patience: Duration,
    grace: Duration,
}

#[derive(Debug)]
struct Files {
    path: PathBuf,
    turnstile: Arc<File>,
    device: Arc<File>,
}

/// A lock that ends with this.
#[derive(Debug)]
struct LockGuard(Arc<File>);

impl Drop for LockGuard {
    fn drop(&mut self) {
        // Only a descriptor that is none is refused.
        let _ = self.0.unlock();
    }
}

/// The time in which nothing else happens on the device; it ends with this.
pub(crate) struct Window {
    _held: Option<LockGuard>,
    /// How long it took to come.
    pub(crate) waited: Duration,
}

impl MeasureLock {
    /// The lock at `path`, none if no other process of the run is near the device; `runner` gets a
    /// notice when this process waits.
    ///
    /// # Errors
    /// The files cannot be opened.
    pub(crate) fn open(path: Option<&Path>, runner: Rc<Handover>) -> io::Result<Self> {
        let files = path.map(Files::open).transpose()?;
        Ok(Self { files, runner, patience: PATIENCE, grace: GRACE })
    }

    /// Notifies the runner which user code runs, so that it can report where time was spent.
    pub(crate) fn notify(&self, notice: Notice) {
        self.runner.notify(notice);
    }

    /// Does work that would disturb another process' window. Stages do not nest, nor do they lie in
    /// a window.
    ///
    /// # Errors
    /// Those of `work`, or the lock's.
    pub(crate) fn stage<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let _held = self.share()?;
        work()
    }

    /// Waits until nothing else happens on the device, and keeps it so.
    ///
    /// # Errors
    /// A stage that does not end. The runner then runs this again, alone.
    pub(crate) fn window(&self) -> Result<Window> {
        let Some(files) = &self.files else {
            return Ok(Window { _held: None, waited: Duration::ZERO });
        };
        let begin = Instant::now();
        let held = match files.window_at_once()? {
            Some(held) => held,
            None => {
                self.runner.notify(Notice::Waits);
                let held = files.window_within(self.patience);
                self.runner.notify(Notice::Works);
                held?
            }
        };
        Ok(Window { _held: Some(held), waited: begin.elapsed() })
    }

    /// Does the remaining work with the device, as a stage that lasts until the process is gone:
    /// memory of a library or the user's code is freed by then.
    pub(crate) fn leave<T>(self, work: impl FnOnce() -> T) -> T {
        // If the lock fails, there is still nothing else to do than to leave.
        let held = self.share().ok().flatten();
        let (done, grace) = (work(), self.grace);
        if let Some(held) = held {
            // The process' end is not waited for, and takes the thread and the lock along.
            let _ = thread::Builder::new().spawn(move || {
                thread::sleep(grace);
                drop(held);
            });
        }
        done
    }

    fn share(&self) -> io::Result<Option<LockGuard>> {
        let Some(Files { turnstile, device, .. }) = &self.files else { return Ok(None) };
        retried(|| turnstile.lock_shared())?;
        let waiting = LockGuard(turnstile.clone());
        retried(|| device.lock_shared())?;
        drop(waiting);
        Ok(Some(LockGuard(device.clone())))
    }
}

impl Files {
    fn open(path: &Path) -> io::Result<Self> {
        let (turnstile, device) = (Arc::new(open(&turnstile(path))?), Arc::new(open(path)?));
        Ok(Self { path: path.to_owned(), turnstile, device })
    }

    /// The window, if it is free now.
    fn window_at_once(&self) -> io::Result<Option<LockGuard>> {
        if !lock_at_once(&self.turnstile)? {
            return Ok(None);
        }
        let _passing = LockGuard(self.turnstile.clone());
        Ok(lock_at_once(&self.device)?.then(|| LockGuard(self.device.clone())))
    }

    /// The window, if it comes within `patience`.
    fn window_within(&self, patience: Duration) -> Result<LockGuard> {
        // Opened again: a lock belongs to an open file, and a thread that is given up may get one
        // while this process is in a stage.
        let files = Self::open(&self.path)?;
        let turnstile = files.turnstile.clone();
        let given_up = Arc::new(AtomicBool::new(false));
        let (sender, window) = mpsc::channel();
        thread::Builder::new().spawn({
            let given_up = given_up.clone();
            // An abandoned window is dropped with the message.
            move || sender.send(files.window(&given_up))
        })?;
        if let Ok(held) = window.recv_timeout(patience) {
            return Ok(held?);
        }
        given_up.store(true, Ordering::SeqCst);
        // Lets stages through where the thread has passed; it has not seen that it was given up.
        let _ = turnstile.unlock();
        Err(Error::no_exclusive_access(format!(
            "no exclusive access to the device within {} s: another process of this run hangs \
             while preparing or exiting",
            patience.as_secs_f64()
        )))
    }

    /// Waits for the window, however long that takes.
    fn window(&self, given_up: &AtomicBool) -> io::Result<LockGuard> {
        retried(|| self.turnstile.lock())?;
        let passing = LockGuard(self.turnstile.clone());
        if given_up.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        retried(|| self.device.lock())?;
        drop(passing);
        Ok(LockGuard(self.device.clone()))
    }
}

/// The file next to the lock through which everybody passes.
fn turnstile(path: &Path) -> PathBuf {
    let mut turnstile = OsString::from(path);
    turnstile.push(".turnstile");
    turnstile.into()
}

fn open(path: &Path) -> io::Result<File> {
    // Over NFS a shared lock takes a file that may be read, and an exclusive one a file that may be
    // written.
    OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path).map_err(|e| {
        io::Error::new(e.kind(), format!("the measurement lock {}: {e}", path.display()))
    })
}

fn lock_at_once(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Interrupted => Ok(false),
        Err(TryLockError::Error(e)) => Err(e),
    }
}

fn retried(lock: impl Fn() -> io::Result<()>) -> io::Result<()> {
    loop {
        match lock() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(test)]
impl MeasureLock {
    /// A lock that is always free.
    pub(crate) fn none() -> Self {
        Self::open(None, Rc::new(Handover::none())).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::mpsc;

    use gpuprof_model::failure::FailureKind;
    use gpuprof_model::measurement::PassOutcome;

    use super::*;

    struct Device {
        _folder: tempfile::TempDir,
        path: PathBuf,
    }

    impl Device {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("quiet");
            Self { _folder: folder, path }
        }

        /// As another process has it: locks are between files that were opened, not between
        /// processes.
        fn process(&self) -> MeasureLock {
            MeasureLock::open(Some(&self.path), Rc::new(Handover::none())).unwrap()
        }

        /// Whether a process waits for a window: stages do not pass.
        fn is_waited_for(&self) -> bool {
            open(&turnstile(&self.path)).unwrap().try_lock_shared().is_err()
        }
    }

    /// Longer than any machine needs.
    const FOREVER: Duration = Duration::from_secs(600);

    fn comes<T>(receiver: &mpsc::Receiver<T>) -> bool {
        receiver.recv_timeout(FOREVER).is_ok()
    }

    /// Whether nothing is sent for a time that is long against a lock that is free.
    fn stays_away<T>(receiver: &mpsc::Receiver<T>) -> bool {
        receiver.recv_timeout(Duration::from_millis(100)).is_err()
    }

    /// Starts a stage of another process; it begins when something is received, and ends when the
    /// sender is dropped.
    fn stage(device: &Device) -> (mpsc::Receiver<()>, mpsc::Sender<()>) {
        let ((begun, begins), (end, ends)) = (mpsc::channel(), mpsc::channel::<()>());
        let path = device.path.clone();
        thread::spawn(move || {
            let quiet = MeasureLock::open(Some(&path), Rc::new(Handover::none())).unwrap();
            quiet.stage(|| {
                begun.send(()).unwrap();
                let _ = ends.recv();
                Ok(())
            })
        });
        (begins, end)
    }

    #[test]
    fn stages_overlap_and_a_window_is_exclusive() {
        let device = Device::new();
        let (first, end_first) = stage(&device);
        let (second, end_second) = stage(&device);
        assert!(comes(&first) && comes(&second));
        let path = device.path.clone();
        let (quiet, is_quiet) = mpsc::channel();
        let (over, is_over) = mpsc::channel::<()>();
        let window = thread::spawn(move || {
            let measuring = MeasureLock::open(Some(&path), Rc::new(Handover::none())).unwrap();
            let _window = measuring.window().unwrap();
            quiet.send(()).unwrap();
            let _ = is_over.recv();
        });
        assert!(stays_away(&is_quiet) && device.is_waited_for());
        // A stage that comes later waits for the window that waits for those under way.
        let (third, end_third) = stage(&device);
        assert!(stays_away(&third));
        drop((end_first, end_second));
        assert!(comes(&is_quiet));
        assert!(stays_away(&third) && !device.is_waited_for());
        drop(over);
        assert!(comes(&third));
        drop(end_third);
        window.join().unwrap();
    }

    #[test]
    fn consecutive_windows_let_a_stage_in() {
        let device = Device::new();
        let measuring = device.process();
        let window = measuring.window().unwrap();
        let (begun, end) = stage(&device);
        let turnstile = &measuring.files.as_ref().unwrap().turnstile;
        while lock_at_once(turnstile).unwrap() {
            turnstile.unlock().unwrap();
            thread::yield_now();
        }
        assert!(begun.try_recv().is_err());
        drop(window);
        drop(end);
        // Asked for at once: the stage, which has waited longer, goes first.
        let _window = measuring.window().unwrap();
        assert!(begun.try_recv().is_ok());
    }

    #[test]
    fn a_window_waits_for_a_hanging_stage_and_reports_it() {
        let device = Device::new();
        let (begun, end) = stage(&device);
        assert!(comes(&begun));
        let mut measuring = device.process();
        measuring.patience = Duration::from_millis(50);
        let outcome = measuring.window().err().unwrap().into_outcome();
        let kind = FailureKind::NoExclusiveAccess;
        assert!(matches!(outcome, PassOutcome::Failed { kind: k, .. } if k == kind), "{outcome:?}");
        assert!(!device.is_waited_for());
        // Nothing is left of the attempt: stages continue.
        let (other, end_other) = stage(&device);
        assert!(comes(&other));
        drop((end, end_other));
        measuring.patience = FOREVER;
        assert!(measuring.window().is_ok());
    }

    #[test]
    fn an_exiting_process_excludes_windows_until_it_is_gone() {
        let device = Device::new();
        let leave = |grace| {
            let mut process = device.process();
            process.grace = grace;
            let mut left = false;
            process.leave(|| left = true);
            assert!(left);
        };
        let mut measuring = device.process();
        // Not gone for long, as far as this test is concerned, but no longer than that.
        leave(Duration::from_millis(1));
        measuring.patience = FOREVER;
        assert!(measuring.window().is_ok());
        leave(FOREVER);
        measuring.patience = Duration::from_millis(50);
        assert!(measuring.window().is_err());
    }

    #[test]
    fn a_panic_ends_a_stage_and_a_window() {
        let device = Device::new();
        let work = |window: bool| {
            let quiet = device.process();
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let _window = window.then(|| quiet.window().unwrap());
                if window {
                    panic!("on purpose");
                }
                quiet.stage::<()>(|| panic!("on purpose"))
            }));
            assert!(panicked.is_err());
            // Its files stay open, as they do in a process that continues.
            quiet
        };
        let _kept = [work(true), work(false)];
        assert!(device.process().window().is_ok());
    }

    #[test]
    fn lock_files_are_readable_and_writable_as_nfs_requires() {
        use std::io::{Read, Write};

        let quiet = Device::new().process();
        let Files { turnstile, device, .. } = quiet.files.as_ref().unwrap();
        for mut file in [&**turnstile, &**device] {
            assert_eq!(file.read(&mut [0]).unwrap(), 0);
            assert_eq!(file.write(&[0]).unwrap(), 1);
        }
    }

    #[test]
    fn without_a_lock_nothing_waits() {
        let quiet = MeasureLock::none();
        drop(quiet.window().unwrap());
        assert_eq!(quiet.stage(|| Ok(7)).unwrap(), 7);
        quiet.leave(|| ());
    }

    #[test]
    fn the_runner_is_notified_of_waits_only() {
        let device = Device::new();
        let (handover, mut runner) = Handover::pair();
        let mut measuring = MeasureLock::open(Some(&device.path), Rc::new(handover)).unwrap();
        drop(measuring.window().unwrap());
        let (begun, end) = stage(&device);
        assert!(comes(&begun));
        measuring.patience = Duration::from_millis(50);
        assert!(measuring.window().is_err());
        drop((measuring, end));
        let mut heard = Vec::new();
        std::io::Read::read_to_end(&mut runner, &mut heard).unwrap();
        assert_eq!(heard, [Notice::Waits, Notice::Works].map(Notice::byte));
    }
}
