//! One harness process: started, waited for, killed with everything it started.
//!
//! Input: a request. Output: the reply's bytes, or how the process ended without one and the end of
//! its stderr. The request, the reply and both outputs stay in the run's folder.

use std::collections::VecDeque;
use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::Checks;
use gpuprof_model::machine::Chip;
use gpuprof_model::protocol::{
    Header, MeasureRequest, REQUEST_ENV, RUNNER_ENV, Request, RequestBody, Then, UNWRITTEN, VERSION,
};
use gpuprof_model::words::Word;
use rustix::process::{Pid, Signal, kill_process_group};

use super::harness_line::HarnessLine;
use crate::device::VISIBLE_ENV;
use gpuprof_build::harnesses::Harness;
use gpuprof_system::blocking_call::BlockingCall;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::interrupt::Interrupt;

/// Limits a context to one hardware queue for launches, which opens a tenth of a second faster.
/// Only concurrent launches on several streams are affected.
const CONNECTIONS_ENV: &str = "CUDA_DEVICE_MAX_CONNECTIONS";

/// The longest time for the system to end a killed process: the driver frees its memory, which
/// takes seconds if that is much.
const TAKEN_DOWN: Duration = Duration::from_secs(5);

/// The file in which the emulated driver keeps how far a long launch is. Other drivers know none.
const PLACE_ENV: &str = "GPUEMU_WHERE";

/// The checks that the emulated driver runs. Other drivers know none.
pub const CHECKS_ENV: &str = "GPUEMU_CHECK";

/// The chip that the emulated driver is. Other drivers know none.
pub const CHIP_ENV: &str = "GPUEMU_CHIP";

/// The library that NVTX loads into a process.
const NVTX_ENV: &str = "NVTX_INJECTION64_PATH";

/// Whether the emulated driver estimates times. Other drivers know no estimates.
const ESTIMATE_ENV: &str = "GPUEMU_ESTIMATE";

/// The longest time for a harness to list its series.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(60);

/// The most of a process's stderr in messages.
const TAIL_BYTES: u64 = 4096;
const TAIL_LINES: usize = 12;

/// The common settings of harness processes.
#[derive(Debug, Clone, Copy)]
pub struct HarnessProcess<'a> {
    /// The folder of requests, replies and outputs.
    pub folder: &'a Utf8Path,
    /// The folder of the emulated driver, if it is to be found first.
    pub emulator_folder: Option<&'a Utf8Path>,
    /// The UUID of the only device that the process sees; none if it sees the same devices as the
    /// runner.
    pub device: Option<&'a str>,
    /// The chip that the emulated driver is; none if the environment says it.
    pub chip: Option<Chip>,
    /// How long a process may take.
    pub timeout: Duration,
    /// Whether its outputs go to files; else they go to our stderr.
    pub captures: bool,
    /// Whether the emulated driver estimates times.
    pub estimates: bool,
    /// The library that reports NVTX ranges to the process; none if the user's is to be loaded.
    pub nvtx: Option<&'a Utf8Path>,
    /// Ends it early.
    pub interrupt: &'a Interrupt,
}

impl<'a> HarnessProcess<'a> {
    /// Processes that list series and devices, and measure nothing.
    pub fn for_query(folder: &'a Utf8Path, interrupt: &'a Interrupt) -> Self {
        Self {
            folder,
            emulator_folder: None,
            device: None,
            chip: None,
            timeout: DISCOVERY_TIMEOUT,
            captures: true,
            estimates: true,
            nvtx: None,
            interrupt,
        }
    }
}

/// The settings of a process, in addition to its request.
#[derive(Debug, Clone)]
pub struct ProcessOptions<'a> {
    /// The name of its files.
    pub name: &'a str,
    /// The executable.
    pub harness: &'a Harness,
    /// Whether it waits until the device is handed over; else it has it.
    pub waits: bool,
    /// Whether nothing in it launches on several streams at once.
    pub single_stream: bool,
    /// The checks that the emulated driver runs.
    pub checks: Checks,
    /// The requests that it measures after its reply; may be empty.
    pub then: Vec<MeasureRequest>,
}

/// How a process exited.
#[derive(Debug)]
pub(super) enum Exit {
    Success,
    Failure(String),
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
        /// Its stderr.
        stderr: Stderr,
        /// The reply that it could not write, if it ended for that reason.
        unwritten: Option<Utf8PathBuf>,
    },
    /// It took too long and was killed.
    TimedOut {
        /// The limit.
        seconds: u64,
        /// Its position, if it reported one: in user code, or in a kernel on the emulated driver.
        place: Option<String>,
        /// Its stderr.
        stderr: Stderr,
    },
    /// The run was interrupted and it was killed.
    Interrupted,
}

/// The end of a process's stderr.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
            RequestBody::ListCode(_) => "code",
        };
        let name = format!("{kind}-{}-{}", harness.package, harness.target);
        let options = ProcessOptions {
            name: &name,
            harness,
            waits: false,
            single_stream: true,
            checks: Checks::default(),
            then: Vec::new(),
        };
        Ok(self.start(options, body)?.wait(self.timeout, self.interrupt))
    }

    /// Starts asking a harness; the process runs while the caller does something else.
    ///
    /// The system kills the process when the calling *thread* ends, so that none outlives a runner
    /// that is killed: the thread that starts a harness waits for it.
    ///
    /// # Errors
    /// The request cannot be written or the process not started.
    pub fn start(&self, options: ProcessOptions<'_>, body: RequestBody) -> Result<Running> {
        let ProcessOptions { name, harness, waits, single_stream, checks, then } = options;
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
        let written =
            |path: &Utf8PathBuf, result: io::Result<()>| result.map_err(Failure::writing(path));
        written(&request_path, fs::write(&request_path, bytes))?;
        // Those of a run that was killed and is resumed are not the answers to this request.
        let replies: Vec<Utf8PathBuf> =
            [Some(reply_path), then_path].into_iter().flatten().collect();
        for path in replies.iter().chain([&place_path]) {
            let _ = fs::remove_file(path);
        }
        let started = |e: io::Error| {
            // The harness is a copy in the run's folder; if that is gone, the harness is not to
            // blame.
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
        command.env(PLACE_ENV, &place_path).env(CHECKS_ENV, checks.to_string());
        command.stdin(stdin);
        self.set_outputs(&mut command, &file("stdout"), &stderr_path)?;
        let mut child = command.spawn().map_err(started)?;
        let group = Pid::from_child(&child);
        let status = BlockingCall::start(move || child.wait()).map_err(|e| {
            kill(group);
            started(e)
        })?;
        let replies = replies.into();
        Ok(Running { group, status, exited: None, line, replies, stderr_path, place_path })
    }

    /// Sets where the outputs of `command` go.
    ///
    /// # Errors
    /// A file cannot be made (exit code 110).
    fn set_outputs(
        &self,
        command: &mut Command,
        stdout: &Utf8Path,
        stderr: &Utf8Path,
    ) -> Result<()> {
        let create = |path: &Utf8Path| File::create(path).map_err(Failure::writing(path));
        if self.captures {
            command.stdout(create(stdout)?).stderr(create(stderr)?);
            return Ok(());
        }
        // Our stdout has the results.
        command.stdout(io::stderr()).stderr(Stdio::inherit());
        // A process of a run that was killed and is resumed may have left one.
        let _ = fs::remove_file(stderr);
        Ok(())
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
            // A library that times itself goes on, and no time of this computer becomes a result.
            .env("GPUEMU_EVENT_TIMES", "zero")
            .process_group(0);
        if single_stream && env::var_os(CONNECTIONS_ENV).is_none() {
            command.env(CONNECTIONS_ENV, "1");
        }
        if let Some(uuid) = self.device {
            command.env(VISIBLE_ENV, uuid);
        }
        if let Some(chip) = self.chip {
            command.env(CHIP_ENV, chip.word());
        }
        if !self.estimates {
            command.env(ESTIMATE_ENV, "0");
        }
        if let Some(library) = self.nvtx {
            command.env(NVTX_ENV, library);
        }
        command
    }

    /// The lock of the device's quiet window; none for emulated devices, of which each process has
    /// one.
    pub(super) fn quiet(&self) -> Option<PathBuf> {
        // Processes on another device do not disturb this one.
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

/// How a process ended that succeeded without a reply.
pub(super) const NO_REPLY: &str = "exited with code 0 before it had replied, as code that calls \
                                   `std::process::exit` makes it";

/// A harness process that was started. It is killed when this is dropped.
#[derive(Debug)]
pub struct Running {
    group: Pid,
    status: BlockingCall<io::Result<ExitStatus>>,
    exited: Option<io::Result<ExitStatus>>,
    /// The pipe for its progress and our "continue".
    pub(super) line: HarnessLine,
    /// The paths of its unread replies.
    replies: VecDeque<Utf8PathBuf>,
    stderr_path: Utf8PathBuf,
    /// The file in which the emulated driver keeps the progress of a long launch.
    place_path: Utf8PathBuf,
}

impl Running {
    /// Waits for its end, at most as long as it may take.
    fn wait(mut self, timeout: Duration, interrupt: &Interrupt) -> Ended {
        let over = Instant::now().checked_add(timeout);
        while self.exit().is_none() {
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
        match (self.exit(), self.reply()) {
            (Some(Exit::Success), Some(bytes)) => Ended::Replied(bytes),
            (Some(Exit::Failure(how)), _) => self.without(how),
            _ => self.without(NO_REPLY.to_owned()),
        }
    }

    /// How it exited, if it has.
    pub(super) fn exit(&mut self) -> Option<Exit> {
        if self.exited.is_none() {
            self.exited = self.status.result();
        }
        Some(match self.exited.as_ref()? {
            Ok(status) if status.success() => Exit::Success,
            Ok(status) => Exit::Failure(ended_how(*status)),
            Err(e) => Exit::Failure(format!("could not be waited for: {e}")),
        })
    }

    /// Readable once it has exited; none if that is known.
    pub(super) fn end(&self) -> Option<BorrowedFd<'_>> {
        self.exited.is_none().then(|| self.status.as_fd())
    }

    /// Its next reply, if it is there, each once. A reply is there whole or not at all.
    pub(super) fn reply(&mut self) -> Option<Vec<u8>> {
        let bytes = fs::read(self.replies.front()?).ok()?;
        self.replies.pop_front();
        Some(bytes)
    }

    /// The end of its stderr.
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

/// Kills processes and waits until they have ended and released the device. It does not wait for
/// processes that the system cannot end.
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
