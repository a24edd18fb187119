//! The lock of a device: one gpuprof measures on it at a time.
//!
//! Input: a device's UUID. Output: a lock that the kernel (`flock`) releases when its process ends,
//! however it ends. The file contains the owner, so that waiting processes can name it; without a
//! lock its contents mean nothing. The file stays when the lock is released: removing it would let
//! two processes lock two files of one name.
//!
//! The kernel wakes a waiting process. A second file, the turnstile, admits them one after the
//! other: a process that releases the lock and requests it again does not overtake a waiting
//! process.
//!
//! All users of a machine must find the same file, so its folder depends on the machine and not on
//! `TMPDIR` or a user's runtime folder, and all users may write to it. A container has its own
//! folders: [`FOLDER_ENV`] names a shared one.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gpuprof_model::ExitCode;
use rustix::fs::{OFlags, inotify};
use serde::{Deserialize, Serialize};

use gpuprof_model::text::printable;
use gpuprof_system::blocking_call::BlockingCall;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::interrupt::Interrupt;

/// The environment variable that names another folder for the locks.
pub const FOLDER_ENV: &str = "GPUPROF_LOCK_DIR";

/// When an owner that has not named itself will not do so any more.
const SETTLED: Duration = Duration::from_millis(1100);

/// The longest command line in messages.
const COMMAND_CHARS: usize = 120;

/// Who holds a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The process, as its own namespace numbers it.
    pub pid: u32,
    /// The user.
    pub user: String,
    /// The machine or container.
    pub host: String,
    /// The command line.
    pub command: String,
    /// Since when, RFC 3339, UTC.
    pub since: String,
}

impl Owner {
    /// This process, from now on.
    pub fn this_process() -> Self {
        let user = ["USER", "LOGNAME"].iter().find_map(|name| env::var(name).ok());
        let number = || format!("uid {}", rustix::process::getuid().as_raw());
        let mut words = env::args().skip(1).peekable();
        let name =
            if words.peek().is_some_and(|word| word == "gpuprof") { "cargo" } else { "gpuprof" };
        let command: Vec<String> = std::iter::once(name.to_owned()).chain(words).collect();
        Self {
            pid: std::process::id(),
            user: user.filter(|user| !user.is_empty()).unwrap_or_else(number),
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            command: command.join(" ").chars().take(COMMAND_CHARS).collect(),
            since: jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        }
    }
}

impl fmt::Display for Owner {
    /// Any user may have written the file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pid, user, host, command, since } = self;
        let text = format!("process {pid} of {user} on {host}, since {since}: {command}");
        f.write_str(&printable(&text).replace(['\n', '\t'], " "))
    }
}

/// The result of one attempt.
#[derive(Debug)]
pub enum Try {
    /// The lock is ours.
    Held(Lock),
    /// Another process holds it: this one, if it is known.
    Busy(Option<Owner>),
}

/// A lock that this process holds until it is dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
    left: bool,
}

impl Drop for Lock {
    /// Leaves an empty file: it has no owner.
    fn drop(&mut self) {
        if !self.left {
            let _ = self.file.set_len(0);
        }
        let _ = self.file.unlock();
    }
}

/// The content of a lock file for a process that does not want the lock.
#[derive(Debug)]
pub enum Left {
    /// Its last owner gave it back, or there never was one.
    Nothing,
    /// It is held.
    Busy,
    /// Its last owner was killed.
    Behind(Owner),
}

/// The content of `path`.
///
/// # Errors
/// A file that cannot be opened or locked (exit code 107).
pub fn left(path: &Path) -> Result<Left> {
    let find_left = || -> io::Result<Left> {
        if !path.try_exists()? {
            return Ok(Left::Nothing);
        }
        let mut file = open(path)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(Left::Busy),
            Err(TryLockError::Error(error)) => return Err(error),
            Ok(()) => {}
        }
        Ok(read(&mut file).map_or(Left::Nothing, Left::Behind))
    };
    find_left().map_err(|e| unusable(path, &e))
}

/// The owner that an open file names.
fn read(file: &mut File) -> Option<Owner> {
    let mut text = Vec::new();
    file.take(4096).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// The folder of all locks of this machine: `/run/lock` where everybody may write it, else `/tmp`.
pub fn folder() -> PathBuf {
    let everybody = |path: &&str| {
        fs::metadata(path).is_ok_and(|m| m.is_dir() && m.permissions().mode() & 0o1777 == 0o1777)
    };
    let named = env::var_os(FOLDER_ENV).filter(|path| !path.is_empty()).map(PathBuf::from);
    named.unwrap_or_else(|| {
        ["/run/lock"].into_iter().find(|p| everybody(p)).unwrap_or("/tmp").into()
    })
}

/// The file called `name` in `folder`.
pub fn path(folder: &Path, name: &str) -> PathBuf {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    folder.join(format!("gpuprof-{}.lock", name.chars().map(safe).collect::<String>()))
}

/// Tries to lock `path` for `owner`, once.
///
/// # Errors
/// A file that cannot be made, opened or locked.
pub fn try_lock(path: &Path, owner: &Owner) -> io::Result<Try> {
    let mut file = open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Try::Held(Lock::new(file, owner))),
        Err(TryLockError::WouldBlock) => Ok(Try::Busy(read(&mut file))),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

impl Lock {
    /// The lock of a file that was locked just now.
    fn new(file: File, owner: &Owner) -> Self {
        let mut lock = Self { file, left: false };
        lock.write(&serde_json::to_vec(owner).unwrap_or_default());
        lock
    }

    /// Replaces the file's content. If the file belongs to another user and is read-only, it stays
    /// unchanged: the lock is valid all the same.
    fn write(&mut self, bytes: &[u8]) {
        let _ = self.file.set_len(0);
        let _ = self.file.seek(SeekFrom::Start(0)).and_then(|_| self.file.write_all(bytes));
    }

    /// Gives the lock back as if its owner had been killed: the file keeps its name.
    pub fn leave(mut self) {
        self.left = true;
    }
}

/// Opens the file for everybody. `O_CREAT` is left out where it is there: in a sticky folder the
/// kernel refuses it for another user's file (`fs.protected_regular`).
fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits().cast_signed();
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags);
    let opened = loop {
        let present = match options.write(true).open(path) {
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                options.write(false).open(path)
            }
            present => present,
        };
        match present {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            present => break present?,
        }
        match options.clone().write(true).create_new(true).mode(0o666).open(path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
            Ok(file) => {
                // The mask of this process may have taken bits away.
                file.set_permissions(fs::Permissions::from_mode(0o666))?;
                break file;
            }
        }
    };
    if opened.metadata()?.is_file() {
        Ok(opened)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
    }
}

/// A lock that is waited for, until this is dropped.
#[derive(Debug)]
pub struct Claim(BlockingCall<io::Result<File>>);

impl Claim {
    /// Queues for the lock `path`.
    ///
    /// # Errors
    /// The system cannot wait for it.
    pub fn on(path: &Path) -> io::Result<Self> {
        let path = path.to_owned();
        let locked = move || {
            let mut turnstile = OsString::from(&path);
            turnstile.push(".turnstile");
            let passing = locked(open(turnstile.as_ref())?)?;
            let file = locked(open(&path)?)?;
            drop(passing);
            Ok(file)
        };
        BlockingCall::start(locked).map(Self)
    }

    /// The lock, once this process has it; one of its threads may have it by then.
    ///
    /// # Errors
    /// A file that cannot be made, opened or locked.
    pub fn held(&self, owner: &Owner) -> io::Result<Option<Lock>> {
        // The owner is written here, after the wait: until now readers would name the wrong one.
        self.0.result().map(|file| Ok(Lock::new(file?, owner))).transpose()
    }
}

impl AsFd for Claim {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The file, locked, however long that takes.
fn locked(file: File) -> io::Result<File> {
    loop {
        match file.lock() {
            Ok(()) => return Ok(file),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Readable once the existing lock `path` is free; others may have taken it by then.
///
/// # Errors
/// The system cannot wait for that.
pub fn freed(path: &Path) -> io::Result<BlockingCall<io::Result<()>>> {
    let path = path.to_owned();
    BlockingCall::start(move || locked(open(&path)?).map(drop))
}

/// Readable when `path` is written. None if the system does not support this: then a change of the
/// owner is not reported.
fn changes(path: &Path) -> Option<OwnedFd> {
    let changes =
        inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK).ok()?;
    inotify::add_watch(&changes, path, inotify::WatchFlags::MODIFY).ok()?;
    Some(changes)
}

/// Locks `path`, waiting for it; `busy` gets each new owner, and may refuse to wait.
///
/// # Errors
/// The lock cannot be had at all, or not without waiting (exit code 107); an interrupt.
pub fn wait(
    path: &Path,
    owner: &Owner,
    interrupt: &Interrupt,
    mut busy: impl FnMut(Option<&Owner>) -> Result<()>,
) -> Result<Lock> {
    let failed = |e: io::Error| unusable(path, &e);
    match try_lock(path, owner).map_err(failed)? {
        Try::Held(lock) => return Ok(lock),
        Try::Busy(other) => busy(other.as_ref())?,
    }
    let settled = Instant::now() + SETTLED;
    let changes = changes(path);
    let claim = Claim::on(path).map_err(failed)?;
    loop {
        if let Some(lock) = claim.held(owner).map_err(failed)? {
            return Ok(lock);
        }
        if let Some(signal) = interrupt.signal() {
            let message = "interrupted while waiting for the device; nothing was measured";
            return Err(Failure::new(ExitCode::Signal(signal), message));
        }
        busy(open(path).ok().and_then(|mut file| read(&mut file)).as_ref())?;
        let until = (Instant::now() < settled).then_some(settled);
        let others: Vec<_> = [Some(claim.as_fd()), changes.as_ref().map(AsFd::as_fd)]
            .into_iter()
            .flatten()
            .collect();
        interrupt.wait(&others, until).map_err(failed)?;
        if let Some(changes) = &changes {
            // The change itself is read from the file.
            while rustix::io::read(changes, &mut [0; 4096]).is_ok_and(|count| count > 0) {}
        }
    }
}

/// That `path` cannot be used as a lock, and what to do (exit code 107).
pub fn unusable(path: &Path, error: &io::Error) -> Failure {
    let message = format!(
        "the lock of the device, {}, cannot be used: {error}. It keeps two runs from measuring on \
         one device at once. Remove the file if gpuprof did not create it, or choose a folder that \
         all users of the machine can write to: {FOLDER_ENV}=/some/folder",
        path.display()
    );
    Failure::new(ExitCode::NotPossible, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(command: &str) -> Owner {
        Owner { command: command.to_owned(), ..Owner::this_process() }
    }

    fn busy(path: &Path) -> Option<Owner> {
        match try_lock(path, &owner("second")).unwrap() {
            Try::Busy(owner) => owner,
            Try::Held(_) => panic!("it was free"),
        }
    }

    #[test]
    fn a_held_lock_names_its_owner_and_a_free_one_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let path = path(folder.path(), "GPU-1");
        let Try::Held(first) = try_lock(&path, &owner("first")).unwrap() else {
            panic!("it is free")
        };
        assert_eq!(busy(&path).unwrap().command, "first");
        drop(first);
        assert_eq!(fs::read(&path).unwrap(), b"");
        assert!(matches!(try_lock(&path, &owner("third")).unwrap(), Try::Held(_)));
    }

    #[test]
    fn the_owner_in_an_unlocked_file_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let path = path(folder.path(), "GPU-1");
        fs::write(&path, serde_json::to_vec(&owner("long dead")).unwrap()).unwrap();
        let Try::Held(_lock) = try_lock(&path, &owner("now")).unwrap() else {
            panic!("it is free")
        };
        assert_eq!(busy(&path).unwrap().command, "now");
    }

    #[test]
    fn an_unreadable_owner_is_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let path = path(folder.path(), "GPU-1");
        let held = try_lock(&path, &owner("first")).unwrap();
        fs::write(&path, b"\xff{").unwrap();
        assert_eq!(busy(&path), None);
        drop(held);
    }

    #[test]
    fn control_characters_of_an_owner_are_removed() {
        let mut hostile = owner("\u{1b}[2J\nrm -rf");
        hostile.user = "\u{1b}]0;title\u{7}eve".into();
        let shown = hostile.to_string();
        assert!(!shown.contains(char::is_control), "{shown:?}");
        assert!(shown.contains("rm -rf"), "{shown:?}");
    }

    #[test]
    fn links_and_pipes_as_lock_files_are_refused_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let link = path(folder.path(), "GPU-1");
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        let failure = wait(&link, &owner("x"), &Interrupt::default(), |_| Ok(())).unwrap_err();
        assert_eq!(failure.code, ExitCode::NotPossible);
        let start = format!("the lock of the device, {}, cannot be used: ", link.display());
        assert!(failure.message.starts_with(&start), "{failure}");
        assert!(failure.message.ends_with("GPUPROF_LOCK_DIR=/some/folder"), "{failure}");
        let pipe = path(folder.path(), "GPU-2");
        let node = rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        );
        node.unwrap();
        let error = try_lock(&pipe, &owner("x")).unwrap_err();
        assert_eq!(error.to_string(), "it is not a regular file");
    }

    #[test]
    fn lock_files_are_writable_by_every_user() {
        let folder = tempfile::tempdir().unwrap();
        let path = path(folder.path(), "MIG-1/2");
        assert_eq!(path.file_name().unwrap(), "gpuprof-MIG-1_2.lock");
        let _held = try_lock(&path, &owner("x")).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o666);
    }

    #[test]
    fn the_default_lock_folder_is_shared_by_all_users() {
        let folder = folder();
        assert!(["/run/lock", "/tmp"].map(PathBuf::from).contains(&folder), "{folder:?}");
    }
}
