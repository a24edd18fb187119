//! nvcc, for files that NVRTC cannot compile: their host code needs the real standard library.
//!
//! Input: an explicit path, or the environment; then jobs, as NVRTC has them. Output: an [`Nvcc`],
//! or [`NotFound`]; then replies, as NVRTC gives them. Only device code is compiled (`-ptx`); the
//! host's compiler preprocesses. nvcc knows no name expressions: each becomes the value of a
//! variable, and is read from the PTX.

mod host_headers;
mod log;
mod search;

use std::ffi::OsString;
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

pub use search::{PROGRAM, Search};

use super::diagnostic;
use super::nvrtc::{Ended, Job, NoReply, Reply};
use super::program::Architecture;
use crate::toolkit::NotFound;
use gpuprof_system::blocking_call::BlockingCall;
use gpuprof_system::console::Notes;
use gpuprof_system::interrupt::Interrupt;
use gpuprof_system::scratch::Scratch;

/// The compiled file, and its outputs.
const SOURCE: &str = "gpuprof-sources.cu";
const PTX: &str = "out.ptx";
const RULE: &str = "headers";
const LOG: &str = "log";

/// The longest time for its version.
const ANSWERS: Duration = Duration::from_secs(10);

/// An nvcc that answers.
#[derive(Debug, Clone)]
pub struct Nvcc {
    file: PathBuf,
    place: &'static str,
    version: (u32, u32),
    /// `13.0.88`.
    release: String,
    /// Its version text.
    identity: String,
    architectures: Vec<u32>,
    /// The variables that it obeys, of [`Search::settings`].
    settings: Vec<(&'static str, OsString)>,
    interrupt: Interrupt,
    notes: Notes,
}

impl Nvcc {
    /// The first one of `search` that answers; `interrupt` ends a compile. Unless `quiet`, it
    /// reports each compile on standard error.
    ///
    /// # Errors
    /// There is none.
    pub fn find(search: &Search, interrupt: &Interrupt, quiet: bool) -> Result<Self, NotFound> {
        search.program.locate(&PROGRAM, |file, place| {
            let found = Self::identified(file, place, interrupt, quiet)?;
            found.with(&search.settings).allowed(search)
        })
    }

    fn identified(
        file: &Path,
        place: &'static str,
        interrupt: &Interrupt,
        quiet: bool,
    ) -> Result<Self, String> {
        let identity = ask_nvcc(file, "--version", interrupt)?;
        let release = identity.split_once(", V").and_then(|(_, it)| it.split_whitespace().next());
        let release = release.ok_or("it does not say its version")?.to_owned();
        let mut numbers = release.split('.').map_while(|it| it.parse().ok());
        let version = numbers.next().zip(numbers.next());
        let version = version.ok_or_else(|| format!("`{release}` is no version"))?;
        let architectures = ask_nvcc(file, "--list-gpu-arch", interrupt)?;
        let architectures = architectures.lines();
        let architectures =
            architectures.filter_map(|it| it.trim().strip_prefix("compute_")?.parse().ok());
        let mut architectures: Vec<u32> = architectures.collect();
        architectures.sort_unstable();
        Ok(Self {
            file: file.canonicalize().unwrap_or_else(|_| file.into()),
            place,
            version,
            release,
            identity,
            architectures,
            settings: Vec::new(),
            interrupt: interrupt.clone(),
            notes: Notes::new(quiet),
        })
    }

    /// Itself, with `settings` in its identity.
    fn with(mut self, settings: &[(&'static str, OsString)]) -> Self {
        self.settings = settings.to_vec();
        for (name, value) in settings {
            self.identity.push_str(&format!("{name}={}\n", value.display()));
        }
        self
    }

    /// Itself, if the driver accepts its PTX or the user named it.
    fn allowed(self, search: &Search) -> Result<Self, String> {
        match search.newest {
            Some(newest) if self.version > newest && search.program.variable.is_none() => {
                Err(format!(
                    "it is nvcc {}, and the driver accepts PTX of CUDA {}.{} at most",
                    self.release, newest.0, newest.1
                ))
            }
            _ => Ok(self),
        }
    }

    /// Its file, with links resolved.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Its path.
    pub fn place(&self) -> &str {
        self.place
    }

    /// Its version: `13.0.88`.
    pub fn release(&self) -> &str {
        &self.release
    }

    /// The identity of this build, with the settings that it obeys.
    pub(super) fn identity(&self) -> &str {
        &self.identity
    }

    /// The compute capabilities that it compiles for, as 90 for 9.0, in ascending order.
    pub(super) fn architectures(&self) -> &[u32] {
        &self.architectures
    }

    /// Ends a compile.
    pub(super) fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// Tells that `sources` are compiled for `architecture`.
    pub(super) fn announce(&self, sources: &str, architecture: Architecture) {
        let release = &self.release;
        self.notes.say(format_args!("compiling {sources} for {architecture} with nvcc {release}"));
    }

    /// The folders of the headers that it finds by itself.
    pub(super) fn headers(&self) -> Vec<PathBuf> {
        let Some(toolkit) = self.file.parent().and_then(Path::parent) else { return Vec::new() };
        let folders = ["include", "targets/x86_64-linux/include", "targets/sbsa-linux/include"];
        let folders = folders.map(|folder| toolkit.join(folder));
        folders.into_iter().flat_map(|it| [it.clone(), it.join("cccl")]).collect()
    }

    /// Whether it may find the `header`, which NVRTC does not find in the folders that both search.
    pub(super) fn may_find(&self, header: &str) -> bool {
        !self.settings.is_empty()
            || host_headers::may_have(header)
            || host_headers::is_in(&self.headers(), header)
    }

    /// Compiles `job` in `folder`, with the expressions of the instances `numbers`.
    ///
    /// # Errors
    /// [`NoReply`].
    pub(super) fn run(
        &self,
        folder: &Path,
        job: &Job,
        numbers: &[usize],
    ) -> Result<Reply, NoReply> {
        let own = Scratch::make().map_err(NoReply::Start)?;
        let at = |name: &str| own.path().join(name).into_std_path_buf();
        let texts = job.headers.iter().map(|(name, text)| (name.as_str(), text));
        for (name, text) in texts.chain([(SOURCE, &job.text)]) {
            let file = at(name);
            let made = file.parent().map_or(Ok(()), fs::create_dir_all);
            made.and_then(|()| fs::write(&file, text)).map_err(NoReply::Start)?;
        }
        let both = fs::File::create(at(LOG)).map_err(NoReply::Start)?;
        let mut command = Command::new(&self.file);
        command
            .args(["-ptx", "-MD", "-MF"])
            .arg(at(RULE))
            .arg("-o")
            .arg(at(PTX))
            .args(&job.options)
            .arg(at(SOURCE))
            .current_dir(folder)
            // Its intermediate files are removed with the folder.
            .env("TMPDIR", own.path())
            .envs(self.settings.iter().map(|(name, value)| (name, value)))
            // The host's compiler is read in English.
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(both.try_clone().map_err(NoReply::Start)?)
            .stderr(both)
            .process_group(0);
        let well = self.ended(command)?;
        let log = fs::read(at(LOG)).map_err(NoReply::Start)?;
        let log = log::as_written(&String::from_utf8_lossy(&log));
        let ptx = fs::read_to_string(at(PTX)).ok().filter(|_| well);
        let names = ptx.as_deref().map(|ptx| log::names(ptx, numbers));
        let ended = match (ptx, names) {
            (Some(ptx), Some(Some(names))) => Ended::Well { ptx, names },
            (Some(_), _) => Ended::Refused("its PTX lacks names that were asked for".to_owned()),
            (None, _) if diagnostic::log(&log).has_errors() => Ended::WithErrors,
            (None, _) if log::lacks_host_compiler(&log) => return Err(host_headers::none()),
            (None, _) => Ended::Refused("it ended with an error and named none".to_owned()),
        };
        let rule = fs::read_to_string(at(RULE)).unwrap_or_default();
        let files = log::files(&rule).into_iter().map(PathBuf::from);
        // Names in `#line` are in the list too.
        let of_others = |file: &PathBuf| {
            let name = file.to_string_lossy();
            !file.starts_with(own.path()) && !name.starts_with("gpuprof-")
        };
        Ok(Reply {
            version: self.version,
            architectures: self.architectures.clone(),
            log,
            ended,
            headers: Some(files.filter(of_others).collect()),
        })
    }

    /// Runs `command` to its end: whether it was well.
    fn ended(&self, mut command: Command) -> Result<bool, NoReply> {
        let mut child = command.spawn().map_err(NoReply::Start)?;
        let group = Pid::from_child(&child);
        let ended = BlockingCall::start(move || child.wait()).map_err(NoReply::Start)?;
        loop {
            if let Some(signal) = self.interrupt.signal() {
                // It starts others, which do the work.
                let _ = kill_process_group(group, Signal::KILL);
                return Err(NoReply::Interrupted(signal));
            }
            if let Some(status) = ended.result() {
                let status = status.map_err(NoReply::Start)?;
                return match status.code() {
                    Some(code) => Ok(code == 0),
                    None => Err(NoReply::Ended(status)),
                };
            }
            self.interrupt.wait(&[ended.as_fd()], None).map_err(NoReply::Start)?;
        }
    }
}

/// The answer of the nvcc in `file` to `question`.
fn ask_nvcc(file: &Path, question: &str, interrupt: &Interrupt) -> Result<String, String> {
    let cannot = |error| format!("cannot be started: {error}");
    let mut command = Command::new(file);
    command.arg(question).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let child = command.process_group(0).spawn().map_err(cannot)?;
    let group = Pid::from_child(&child);
    let ended = BlockingCall::start(move || child.wait_with_output()).map_err(cannot)?;
    let until = Instant::now().checked_add(ANSWERS);
    let output = loop {
        if let Some(output) = ended.result() {
            break output.map_err(cannot)?;
        }
        let is_late = until.is_some_and(|until| Instant::now() >= until);
        if is_late || interrupt.signal().is_some() {
            let _ = kill_process_group(group, Signal::KILL);
            return Err(format!("did not answer `{question}` within {} s", ANSWERS.as_secs()));
        }
        interrupt.wait(&[ended.as_fd()], until).map_err(cannot)?;
    };
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("`{question}` ended with {}", output.status)),
    }
}
