//! One harness process: started, waited for, killed with everything it started.
//!
//! Comes in: a request. Goes out: the reply's bytes, or how the process ended without one and the end
//! of what it wrote to stderr. The request, the reply and both outputs stay in the run's folder.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::protocol::{Header, REQUEST_ENV, Request, RequestBody, VERSION};
use rustix::process::{Pid, Signal, kill_process_group};

use super::Interrupt;
use crate::build::{self, host::Harness};
use crate::error::{Failure, Result};

/// How often an interrupt is looked for while a process runs.
const TICK: Duration = Duration::from_millis(20);

/// How much of a process' stderr is told.
const TAIL_BYTES: u64 = 4096;
const TAIL_LINES: usize = 12;

/// What harness processes have in common.
#[derive(Debug)]
pub struct HarnessProcess<'a> {
    /// Where requests, replies and outputs are kept.
    pub folder: &'a Utf8Path,
    /// The folder of the emulated driver, where it is to be found first.
    pub emulator_folder: Option<&'a Utf8Path>,
    /// How long a process may take.
    pub timeout: Duration,
    /// What may end it early.
    pub interrupt: &'a Interrupt,
}

/// How a process ended.
#[derive(Debug)]
pub enum Ended {
    /// With a reply.
    Replied(Vec<u8>),
    /// Without one.
    Without {
        /// `exited with code 3`, `was killed by SIGKILL`.
        how: String,
        /// What it wrote.
        stderr: Stderr,
    },
    /// It took too long and was killed.
    TimedOut {
        /// The limit.
        seconds: u64,
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

    /// The end, ready to be appended to a sentence; empty where nothing was written.
    pub fn tail(&self) -> String {
        if self.0.is_empty() {
            return String::new();
        }
        format!("; the end of its stderr:\n{}", self.0)
    }
}

impl HarnessProcess<'_> {
    /// Asks a harness something that has no name of its own.
    ///
    /// # Errors
    /// The request cannot be written or the process not started.
    pub fn ask(&self, harness: &Harness, body: RequestBody) -> Result<Ended> {
        let kind = match body {
            RequestBody::Describe => "describe",
            RequestBody::Probe => "probe",
            RequestBody::Measure(_) | RequestBody::MeasureEach(_) => "measure",
            RequestBody::PlanCounters(_) => "counters",
        };
        self.ask_as(&format!("{kind}-{}-{}", harness.package, harness.target), harness, body)
    }

    /// Asks a harness; files of the request are called `name`.
    ///
    /// # Errors
    /// The request cannot be written or the process not started.
    pub fn ask_as(&self, name: &str, harness: &Harness, body: RequestBody) -> Result<Ended> {
        Ok(self.start(name, harness, body)?.wait())
    }

    /// The path of the reply to the request called `name`.
    pub fn reply_path(&self, name: &str) -> Utf8PathBuf {
        self.folder.join(format!("{name}.reply.json"))
    }

    /// Starts asking a harness; the process runs while the caller does something else.
    ///
    /// # Errors
    /// The request cannot be written or the process not started.
    pub fn start(&self, name: &str, harness: &Harness, body: RequestBody) -> Result<Running> {
        let file = |kind: &str| self.folder.join(format!("{name}.{kind}"));
        let (request_path, reply_path, stderr_path) =
            (file("request.json"), file("reply.json"), file("stderr"));
        let header = Header { protocol: VERSION, version: env!("CARGO_PKG_VERSION").to_owned() };
        let request = Request { header, reply_path: reply_path.clone().into_std_path_buf(), body };
        let bytes = serde_json::to_vec(&request).expect("requests are plain data");
        let written = |path: &Utf8PathBuf, result: io::Result<()>| {
            result.map_err(|e| Failure::output(path.as_std_path(), &e))
        };
        written(&request_path, fs::write(&request_path, bytes))?;
        let create = |path: &Utf8PathBuf| {
            File::create(path).map_err(|e| Failure::output(path.as_std_path(), &e))
        };
        let mut command = Command::new(&harness.executable);
        command
            .arg("--bench")
            .current_dir(&harness.folder)
            .env(REQUEST_ENV, &request_path)
            .env("GPUPROF", "1")
            .env("CARGO_MANIFEST_DIR", &harness.folder)
            .env("CARGO", build::cargo())
            .env("LD_LIBRARY_PATH", self.library_path(harness))
            .stdin(Stdio::null())
            .stdout(create(&file("stdout"))?)
            .stderr(create(&stderr_path)?)
            .process_group(0);
        let child = command.spawn().map_err(|e| {
            Failure::new(
                gpuprof_model::ExitCode::DiscoveryFailed,
                format!("cannot start {}: {e}", harness.executable),
            )
        })?;
        let group = Pid::from_child(&child);
        let (sender, status) = mpsc::channel();
        thread::spawn(move || {
            let mut child = child;
            let _ = sender.send(child.wait());
        });
        Ok(Running {
            group,
            status,
            started: Instant::now(),
            timeout: self.timeout,
            interrupt: self.interrupt.clone(),
            reply_path,
            stderr_path,
        })
    }

    fn library_path(&self, harness: &Harness) -> OsString {
        let inherited = env::var_os("LD_LIBRARY_PATH");
        let own = self.emulator_folder.iter().map(|f| f.as_os_str().to_owned());
        let paths = own
            .chain(harness.library_folders.iter().map(|f| f.as_os_str().to_owned()))
            .chain(inherited.filter(|paths| !paths.is_empty()));
        paths
            .reduce(|mut all, path| {
                all.push(":");
                all.push(path);
                all
            })
            .unwrap_or_default()
    }
}

/// A harness process that was started. It is killed when this is dropped.
#[derive(Debug)]
pub struct Running {
    group: Pid,
    status: Receiver<io::Result<ExitStatus>>,
    started: Instant,
    timeout: Duration,
    interrupt: Interrupt,
    reply_path: Utf8PathBuf,
    stderr_path: Utf8PathBuf,
}

impl Running {
    /// Waits for its end, at most as long as it may take.
    pub fn wait(self) -> Ended {
        let status = loop {
            match self.status.recv_timeout(TICK) {
                Ok(status) => break status,
                Err(_) if self.interrupt.signal().is_some() => return Ended::Interrupted,
                Err(_) if self.started.elapsed() >= self.timeout => {
                    kill(self.group);
                    let _ = self.status.recv_timeout(Duration::from_secs(5));
                    let seconds = self.timeout.as_secs();
                    return Ended::TimedOut { seconds, stderr: Stderr::read(&self.stderr_path) };
                }
                Err(_) => {}
            }
        };
        match (status, fs::read(&self.reply_path)) {
            (Ok(status), Ok(bytes)) if status.success() => Ended::Replied(bytes),
            (status, _) => Ended::Without {
                how: status.map_or_else(|e| format!("could not be waited for: {e}"), ended_how),
                stderr: Stderr::read(&self.stderr_path),
            },
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
        (Some(0), _) => "exited without a reply".to_owned(),
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(signal)) => {
            let name =
                signal_hook::low_level::signal_name(signal).unwrap_or("a signal without a name");
            format!("was killed by {name} (signal {signal})")
        }
        (None, None) => "ended in a way the system does not tell".to_owned(),
    }
}
