//! One harness process: started, waited for, killed with everything it started.
//!
//! Input: a request. Output: the reply's bytes, or how the process ended without one and the
//! end of what it wrote to stderr. The request, the reply and both outputs stay in the run's
//! folder.

use std::collections::VecDeque;
use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::Checks;
use gpuprof_model::protocol::{
    Header, MeasureRequest, REQUEST_ENV, RUNNER_ENV, Request, RequestBody, Then, UNWRITTEN, VERSION,
};
use rustix::process::{Pid, Signal, kill_process_group};

use super::harness_line::HarnessLine;
use crate::device::VISIBLE_ENV;
use gpuprof_build::host::Harness;
use gpuprof_system::awaited::Awaited;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::interrupt::Interrupt;

/// Limits a context to one hardware queue for launches, which takes a tenth of a second off opening
/// one. Only what launches on several streams at once would see it.
const CONNECTIONS_ENV: &str = "CUDA_DEVICE_MAX_CONNECTIONS";

/// How long the system may take to take a killed process down: the driver frees what it held, which
/// takes seconds where that is much.
const TAKEN_DOWN: Duration = Duration::from_secs(5);

/// The file in which the emulated driver keeps how far a long launch is. Other drivers know none.
const PLACE_ENV: &str = "GPUEMU_WHERE";

/// The checks that the emulated driver runs. Other drivers know none.
pub const CHECKS_ENV: &str = "GPUEMU_CHECK";

/// How long a harness may take to say what it holds.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(60);

/// How much of a process' stderr is told.
const TAIL_BYTES: u64 = 4096;
const TAIL_LINES: usize = 12;

/// What harness processes have in common.
#[derive(Debug, Clone, Copy)]
pub struct HarnessProcess<'a> {
    /// Where requests, replies and outputs are kept.
    pub folder: &'a Utf8Path,
    /// The folder of the emulated driver, where it is to be found first.
    pub emulator_folder: Option<&'a Utf8Path>,
    /// The UUID of the only device that is shown to it; none where it sees what this process does.
    pub device: Option<&'a str>,
    /// The checks that the emulated driver runs.
    pub checks: Checks,
    /// How long a process may take.
    pub timeout: Duration,
    /// What may end it early.
    pub interrupt: &'a Interrupt,
}

impl<'a> HarnessProcess<'a> {
    /// Processes that say what they hold and what they see, and measure nothing.
    pub fn asked(folder: &'a Utf8Path, interrupt: &'a Interrupt) -> Self {
        Self {
            folder,
            emulator_folder: None,
            device: None,
            checks: Checks::default(),
            timeout: DISCOVERY_TIMEOUT,
            interrupt,
        }
    }
}

/// What a process is asked for, beside the question itself.
#[derive(Debug, Clone)]
pub struct Asked<'a> {
    /// What its files are called.
    pub name: &'a str,
    /// The executable.
    pub harness: &'a Harness,
    /// Whether it waits until the device is handed over; else it has it.
    pub waits: bool,
    /// Whether nothing in it launches on several streams at once.
    pub single_stream: bool,
    /// What it measures once it has replied; nothing where this is empty.
    pub then: Vec<MeasureRequest>,
}

/// How a process exited.
#[derive(Debug)]
pub(super) enum How {
    Well,
    Badly(String),
}

/// How a process ended.
#[derive(Debug)]
pub enum Ended {
    /// With a reply.
    Replied(Vec<u8>),
    /// Without one.
    Without {
        /// Whether SIGKILL ended it, as the system does where memory runs out.
        killed: bool,
        /// `exited with code 3`, `was killed by SIGKILL`.
        how: String,
        /// What it wrote.
        stderr: Stderr,
        /// The reply that it could not write, where that is why it ended.
        unwritten: Option<Utf8PathBuf>,
    },
    /// It took too long and was killed.
    TimedOut {
        /// The limit.
        seconds: u64,
        /// Where it was, if it told that: in code of the user's, or where its kernel was on the
        /// emulated driver.
        place: Option<String>,
        /// What it wrote.
        stderr: Stderr,
    },
    /// The run was interrupted and it was killed.
    Interrupted,
}

/// The end of what a process wrote to stderr.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stderr(String);

impl Stderr {
    fn read(path: &Utf8Path) -> Self {
        let read = || -> io::Result<String> {
            let mut file = File::open(path)?;
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        let text = read().unwrap_or_default();
        let lines: Vec<&str> = text.trim_end().lines().collect();
        Self(lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n"))
    }

    /// The last line of it, if there is one.
    pub fn last_line(&self) -> Option<&str> {
        self.0.lines().next_back()
    }

    /// The end, ready to be appended to a sentence; empty where nothing was written.
    pub fn tail(&self) -> String {
        if self.0.is_empty() {
            return String::new();
        }
        format!("; the end of its stderr:\n{}", self.0)
    }
}

impl HarnessProcess<'_> {
    /// Asks a harness something, and waits.
    ///
    /// # Errors
    /// The request cannot be written or the process not started.
    pub fn ask(&self, harness: &Harness, body: RequestBody) -> Result<Ended> {
        let kind = match body {
            RequestBody::Describe => "describe",
            RequestBody::Probe => "probe",
            RequestBody::Measure(_) => "measure",
            RequestBody::PlanCounters(_) => "counters",
        };
        let name = format!("{kind}-{}-{}", harness.package, harness.target);
        let asked =
            Asked { name: &name, harness, waits: false, single_stream: true, then: Vec::new() };
        Ok(self.start(asked, body)?.wait(self.timeout, self.interrupt))
    }

    /// Starts asking a harness; the process runs while the caller does something else.
    ///
    /// The system kills the process when the calling *thread* ends, so that none outlives a runner
    /// that is killed: the thread that starts a harness waits for it.
    ///
    /// # Errors
    /// The request cannot be written or the process not started.
    pub fn start(&self, asked: Asked<'_>, body: RequestBody) -> Result<Running> {
        let Asked { name, harness, waits, single_stream, then } = asked;
        let file = |kind: &str| self.folder.join(format!("{name}.{kind}"));
        let (request_path, reply_path, stderr_path, place_path) =
            (file("request.json"), file("reply.json"), file("stderr"), file("place"));
        let then_path = (!then.is_empty()).then(|| file("then.reply.json"));
        let header = Header { protocol: VERSION, version: env!("CARGO_PKG_VERSION").to_owned() };
        let request = Request {
            header,
            reply_path: reply_path.clone().into_std_path_buf(),
            waits,
            quiet: self.quiet(),
            body,
            then: then_path.clone().map(|path| Then { measure: then, reply_path: path.into() }),
        };
        let bytes = serde_json::to_vec(&request).expect("requests are plain data");
        let written = |path: &Utf8PathBuf, result: io::Result<()>| {
            result.map_err(|e| Failure::output(path.as_std_path(), &e))
        };
        written(&request_path, fs::write(&request_path, bytes))?;
        // Those of a run that was killed and is resumed are not the answers to this request.
        let replies: Vec<Utf8PathBuf> =
            [Some(reply_path), then_path].into_iter().flatten().collect();
        for path in replies.iter().chain([&place_path]) {
            let _ = fs::remove_file(path);
        }
        let create = |path: &Utf8PathBuf| {
            File::create(path).map_err(|e| Failure::output(path.as_std_path(), &e))
        };
        let started = |e: io::Error| {
            // The harness is a copy in the run's folder; where that is gone, nothing is wrong with
            // the harness.
            if !self.folder.is_dir() {
                return Failure::output(request_path.as_std_path(), &e);
            }
            Failure::new(
                gpuprof_model::ExitCode::DiscoveryFailed,
                format!("cannot start {}: {e}", harness.executable),
            )
        };
        let (line, stdin) = HarnessLine::new().map_err(started)?;
        let mut command = self.command(harness, &request_path, single_stream);
        command.env(PLACE_ENV, &place_path);
        command.stdin(stdin).stdout(create(&file("stdout"))?).stderr(create(&stderr_path)?);
        let mut child = command.spawn().map_err(started)?;
        let group = Pid::from_child(&child);
        let status = Awaited::start(move || child.wait()).map_err(|e| {
            kill(group);
            started(e)
        })?;
        let replies = replies.into();
        Ok(Running { group, status, exited: None, line, replies, stderr_path, place_path })
    }

    /// The command that asks `harness` what is in `request_path`.
    fn command(&self, harness: &Harness, request_path: &Utf8Path, single_stream: bool) -> Command {
        let mut command = Command::new(&harness.executable);
        command
            .arg("--bench")
            .current_dir(&harness.folder)
            .env(REQUEST_ENV, request_path)
            .env(RUNNER_ENV, std::process::id().to_string())
            .env("GPUPROF", "1")
            .env("CARGO_MANIFEST_DIR", &harness.folder)
            .env("CARGO", gpuprof_build::cargo())
            .env("LD_LIBRARY_PATH", self.library_path(harness))
            .env(CHECKS_ENV, self.checks.to_string())
            .process_group(0);
        if single_stream && env::var_os(CONNECTIONS_ENV).is_none() {
            command.env(CONNECTIONS_ENV, "1");
        }
        if let Some(uuid) = self.device {
            command.env(VISIBLE_ENV, uuid);
        }
        command
    }

    /// The lock of the device's quiet window; none where the device is emulated, each process
    /// having one of its own.
    pub(super) fn quiet(&self) -> Option<PathBuf> {
        // What happens on another device disturbs nobody on this one.
        let name = self.device.map_or_else(|| "quiet".to_owned(), |uuid| format!("quiet-{uuid}"));
        self.emulator_folder.is_none().then(|| self.folder.join(name).into())
    }

    fn library_path(&self, harness: &Harness) -> OsString {
        let inherited = env::var_os("LD_LIBRARY_PATH");
        let own = self.emulator_folder.iter().map(|f| f.as_os_str().to_owned());
        let paths = own
            .chain(harness.library_folders.iter().map(|f| f.as_os_str().to_owned()))
            .chain(inherited.filter(|paths| !paths.is_empty()))
            .chain(harness.stand_in.iter().map(|folder| folder.as_os_str().to_owned()));
        paths
            .reduce(|mut all, path| {
                all.push(":");
                all.push(path);
                all
            })
            .unwrap_or_default()
    }
}

/// How a process ended that seems to have done well and has not said what it found.
pub(super) const NO_REPLY: &str = "exited with code 0 before it had replied, as code that calls \
                                   `std::process::exit` makes it";

/// A harness process that was started. It is killed when this is dropped.
#[derive(Debug)]
pub struct Running {
    group: Pid,
    status: Awaited<io::Result<ExitStatus>>,
    exited: Option<io::Result<ExitStatus>>,
    /// Where it tells what it does, and is told to go on.
    pub(super) line: HarnessLine,
    /// Where those of its replies go that have not been read.
    replies: VecDeque<Utf8PathBuf>,
    stderr_path: Utf8PathBuf,
    /// Where the emulated driver keeps how far a long launch is.
    place_path: Utf8PathBuf,
}

impl Running {
    /// Waits for its end, at most as long as it may take.
    fn wait(mut self, timeout: Duration, interrupt: &Interrupt) -> Ended {
        let over = Instant::now().checked_add(timeout);
        while self.how().is_none() {
            if interrupt.signal().is_some() {
                return Ended::Interrupted;
            }
            if over.is_some_and(|over| over <= Instant::now()) {
                return self.timed_out(timeout);
            }
            if let Err(e) = interrupt.wait(&[self.status.as_fd()], over) {
                return self.without(format!("could not be waited for: {e}"));
            }
        }
        match (self.how(), self.reply()) {
            (Some(How::Well), Some(bytes)) => Ended::Replied(bytes),
            (Some(How::Badly(how)), _) => self.without(how),
            _ => self.without(NO_REPLY.to_owned()),
        }
    }

    /// How it exited, if it has.
    pub(super) fn how(&mut self) -> Option<How> {
        if self.exited.is_none() {
            self.exited = self.status.result();
        }
        Some(match self.exited.as_ref()? {
            Ok(status) if status.success() => How::Well,
            Ok(status) => How::Badly(ended_how(*status)),
            Err(e) => How::Badly(format!("could not be waited for: {e}")),
        })
    }

    /// What can be read once it has exited; none where that is known.
    pub(super) fn end(&self) -> Option<BorrowedFd<'_>> {
        self.exited.is_none().then(|| self.status.as_fd())
    }

    /// Its next reply, if it is there, each once. A reply is there whole or not at all.
    pub(super) fn reply(&mut self) -> Option<Vec<u8>> {
        let bytes = fs::read(self.replies.front()?).ok()?;
        self.replies.pop_front();
        Some(bytes)
    }

    /// The end of what it wrote to stderr.
    pub(super) fn stderr(&self) -> Stderr {
        Stderr::read(&self.stderr_path)
    }

    /// It ended in this way and gave no reply.
    pub(super) fn without(&self, how: String) -> Ended {
        let status = self.exited.as_ref().and_then(|exited| exited.as_ref().ok());
        let killed = status.is_some_and(|s| s.signal() == Some(Signal::KILL.as_raw()));
        let failed = status.is_some_and(|s| s.code() == Some(i32::from(UNWRITTEN)));
        let unwritten = self.replies.front().filter(|_| failed).cloned();
        let how = match self.line.phase() {
            Some(phase) => format!("{how}, {}", phase.words()),
            None => how,
        };
        Ended::Without { how, killed, stderr: self.stderr(), unwritten }
    }

    /// Kills it, since it has taken `limit`.
    pub(super) fn timed_out(&mut self, limit: Duration) -> Ended {
        take_down([&mut *self]);
        let place = fs::read_to_string(&self.place_path).ok().filter(|place| !place.is_empty());
        let _ = fs::remove_file(&self.place_path);
        let phase = self.line.phase().map(|phase| format!("the time was up {}", phase.words()));
        let place = phase.or(place);
        Ended::TimedOut { seconds: limit.as_secs(), place, stderr: self.stderr() }
    }
}

/// Kills processes and waits until they are gone, with what they held of the device, but not for
/// what the system cannot take down.
pub(super) fn take_down<'r>(processes: impl IntoIterator<Item = &'r mut Running>) {
    let processes: Vec<&mut Running> = processes.into_iter().collect();
    processes.iter().for_each(|process| kill(process.group));
    let end = Instant::now() + TAKEN_DOWN;
    for process in processes {
        if process.exited.is_none() {
            let left = end.saturating_duration_since(Instant::now());
            process.exited = process.status.within(left);
        }
    }
}

impl Drop for Running {
    /// Whatever the harness started and left behind would disturb the next pass.
    fn drop(&mut self) {
        kill(self.group);
    }
}

fn kill(group: Pid) {
    // A group that is already gone is what was wanted.
    let _ = kill_process_group(group, Signal::KILL);
}

fn ended_how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(0), _) => NO_REPLY.to_owned(),
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(signal)) => {
            let name = signal_hook::low_level::signal_name(signal).unwrap_or("an unnamed signal");
            format!("was killed by {name} (signal {signal})")
        }
        (None, None) => "ended with an unknown status".to_owned(),
    }
}
