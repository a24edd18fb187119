//! The quiet window: while one process of a run measures, no other one prepares or leaves on the
//! same device.
//!
//! Input: the path of a file that all processes of a run share for one device. Output:
//! *stages*, which any number of processes work on at once (opening a context, loading a module,
//! filling a buffer, leaving), and *windows*, which one process has with no stage going on
//! anywhere: a batch of samples, or a counter pass, with the start of CUPTI before it where the
//! cache is not emptied after that.
//!
//! Stages hold the file's lock shared, windows hold it exclusively. A second file, the gate, keeps
//! both sides moving: each passes through it while it waits. Who wants a window keeps new stages
//! out, so that it waits for those under way and no others; a stage that waits for a window to end
//! keeps the next window out, so that windows that follow each other do not shut it out. The runner
//! sees by the gate who waits for a window, and does not count that time (`protocol::gate`). Nobody
//! waits for anything else while holding the lock, and the system releases what a killed process
//! held.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use gpuprof_model::protocol::{self, DISTURBED};

use super::error::{Error, Result};

/// How often one who wants a window looks whether the stages under way are over.
const TICK: Duration = Duration::from_micros(200);

/// How long one who wants a window waits: longer than any stage that ends by itself.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a process that leaves may keep the lock: it is gone long before, unless the user's code
/// lingers.
const GRACE: Duration = Duration::from_secs(1);

/// A process' part in keeping the device quiet.
#[derive(Debug)]
pub(crate) struct MeasureLock {
    files: Option<Files>,
    patience: Duration,
    grace: Duration,
}

#[derive(Debug)]
struct Files {
    gate: File,
    device: File,
}

/// A lock that ends with this.
struct Held<'a>(&'a File);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // Only a descriptor that is none is refused.
        let _ = self.0.unlock();
    }
}

/// The time in which nothing else happens on the device; it ends with this.
pub(crate) struct Window<'a> {
    _held: Option<Held<'a>>,
    /// How long it took to come.
    pub(crate) waited: Duration,
}

impl MeasureLock {
    /// The lock at `path`; none where no other process of the run is near the device.
    ///
    /// # Errors
    /// The files cannot be opened.
    pub(crate) fn of(path: Option<&Path>) -> io::Result<Self> {
        let files = match path {
            Some(path) => Some(Files { gate: open(&protocol::gate(path))?, device: open(path)? }),
            None => None,
        };
        Ok(Self { files, patience: PATIENCE, grace: GRACE })
    }

    /// Does what would disturb another process' window. No stage lies in another one, or in a
    /// window.
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
    pub(crate) fn window(&self) -> Result<Window<'_>> {
        let Some(Files { gate, device }) = &self.files else {
            return Ok(Window { _held: None, waited: Duration::ZERO });
        };
        let begin = Instant::now();
        for file in [gate, device] {
            while !lock_at_once(file)? {
                if begin.elapsed() >= self.patience {
                    // Of a gate that is not held, nothing is released.
                    let _ = gate.unlock();
                    return Err(Error::failed(format!(
                        "{DISTURBED} within {} s: another process of this run hangs while it prepares or ends",
                        self.patience.as_secs_f64()
                    )));
                }
                thread::sleep(TICK);
            }
        }
        gate.unlock()?;
        Ok(Window { _held: Some(Held(device)), waited: begin.elapsed() })
    }

    /// Does what is left to be done with the device, as a stage that lasts until the process is
    /// gone: what a library or the user's code still holds is freed by then.
    pub(crate) fn leave<T>(self, work: impl FnOnce() -> T) -> T {
        // Where the lock fails, there is still nothing else to do than to leave.
        let held = self.share().ok().flatten();
        let done = work();
        std::mem::forget(held);
        if self.files.is_some() {
            // The process' end is not waited for, and takes the thread and the lock along.
            let _ = thread::Builder::new().spawn(move || {
                thread::sleep(self.grace);
                drop(self);
            });
        }
        done
    }

    fn share(&self) -> io::Result<Option<Held<'_>>> {
        let Some(Files { gate, device }) = &self.files else { return Ok(None) };
        retried(|| gate.lock_shared())?;
        let waiting = Held(gate);
        retried(|| device.lock_shared())?;
        drop(waiting);
        Ok(Some(Held(device)))
    }
}

fn open(path: &Path) -> io::Result<File> {
    // Over NFS a shared lock takes a file that may be read, and an exclusive one a file that may be
    // written.
    OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path).map_err(|e| {
        io::Error::new(e.kind(), format!("the lock of the quiet window, {}: {e}", path.display()))
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
mod tests {
    use std::path::PathBuf;
    use std::sync::mpsc;

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
            MeasureLock::of(Some(&self.path)).unwrap()
        }

        /// Whether the runner sees that somebody waits for a window.
        fn is_waited_for(&self) -> bool {
            open(&protocol::gate(&self.path)).unwrap().try_lock_shared().is_err()
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
        let quiet = device.process();
        thread::spawn(move || {
            quiet.stage(|| {
                begun.send(()).unwrap();
                let _ = ends.recv();
                Ok(())
            })
        });
        (begins, end)
    }

    #[test]
    fn stages_go_on_together_and_a_window_alone() {
        let device = Device::new();
        let (first, end_first) = stage(&device);
        let (second, end_second) = stage(&device);
        assert!(comes(&first) && comes(&second));
        let measuring = device.process();
        let (quiet, is_quiet) = mpsc::channel();
        let (over, is_over) = mpsc::channel::<()>();
        let window = thread::spawn(move || {
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
    fn windows_that_follow_each_other_let_a_stage_in() {
        let device = Device::new();
        let measuring = device.process();
        let window = measuring.window().unwrap();
        let (begun, end) = stage(&device);
        let gate = &measuring.files.as_ref().unwrap().gate;
        while lock_at_once(gate).unwrap() {
            gate.unlock().unwrap();
            thread::sleep(TICK);
        }
        assert!(begun.try_recv().is_err());
        drop(window);
        drop(end);
        // Asked for at once: the stage, which has waited longer, goes first.
        let _window = measuring.window().unwrap();
        assert!(begun.try_recv().is_ok());
    }

    #[test]
    fn a_stage_that_hangs_is_told_and_the_next_window_comes_when_it_ended() {
        let device = Device::new();
        let (begun, end) = stage(&device);
        assert!(comes(&begun));
        let mut measuring = device.process();
        measuring.patience = Duration::from_millis(50);
        let error = measuring.window().err().unwrap().to_string();
        assert!(error.starts_with(DISTURBED) && !device.is_waited_for(), "{error}");
        // Nothing is left of the attempt: stages go on.
        let (other, end_other) = stage(&device);
        assert!(comes(&other));
        drop((end, end_other));
        measuring.patience = FOREVER;
        assert!(measuring.window().is_ok());
    }

    #[test]
    fn one_that_leaves_is_left_alone_until_it_is_gone() {
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
            // Its files stay open, as they do in a process that goes on.
            quiet
        };
        let _kept = [work(true), work(false)];
        assert!(device.process().window().is_ok());
    }

    #[test]
    fn both_kinds_of_lock_can_be_had_over_nfs() {
        use std::io::{Read, Write};

        let quiet = Device::new().process();
        let Files { gate, device } = quiet.files.as_ref().unwrap();
        for mut file in [gate, device] {
            assert_eq!(file.read(&mut [0]).unwrap(), 0);
            assert_eq!(file.write(&[0]).unwrap(), 1);
        }
    }

    #[test]
    fn without_a_lock_nothing_waits() {
        let quiet = MeasureLock::of(None).unwrap();
        drop(quiet.window().unwrap());
        assert_eq!(quiet.stage(|| Ok(7)).unwrap(), 7);
        quiet.leave(|| ());
    }
}
