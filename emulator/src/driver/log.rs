//! The driver's log of a running program, for people and tools that do not call the driver.
//!
//! Input: events of the driver, and two environment variables that `cuInit` reads. Output: with
//! `GPUEMU_TELL=1`, a line on standard error for each fault, each refused module or launch, and
//! each function that the driver lacks (once). With `GPUEMU_LOG=FILE`, a line of JSON in that file
//! for each of these and for each launch, and one when times between events are requested. Several
//! processes may share a file: each line is appended by one write. A program may close descriptors
//! that it did not open and reuse their numbers, so the identity of the file is checked before each
//! write. With `GPUEMU_LOG_WHOLE=FILE`, that file is removed once a line cannot be written, which
//! also works on a full disk; its absence marks the log as incomplete.

use crate::device::{LaunchRecord, launch_json, quote};
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::mem;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// An open file, and which one it was when it was opened.
#[derive(Debug)]
struct OpenFile {
    file: File,
    known: (u64, u64),
}

impl OpenFile {
    fn new(file: File) -> io::Result<Self> {
        Ok(Self { known: identity(&file)?, file })
    }

    /// Whether it is still open.
    fn is_open(&self) -> bool {
        identity(&self.file).is_ok_and(|now| now == self.known)
    }
}

fn identity(file: &File) -> io::Result<(u64, u64)> {
    file.metadata().map(|known| (known.dev(), known.ino()))
}

/// The destinations of the driver's log.
#[derive(Debug, Default)]
pub struct Log {
    tells: bool,
    /// The file of lines; none once a line could not be written.
    path: Option<PathBuf>,
    file: Option<OpenFile>,
    /// What is removed then.
    whole: Option<PathBuf>,
    /// Functions that were called and are not supported.
    lacking: BTreeSet<&'static str>,
    /// Whether times between events were requested.
    has_event_times: bool,
}

impl Log {
    /// From the environment. If a file cannot be opened, standard error says so.
    pub fn from_environment() -> Self {
        let tells = std::env::var_os("GPUEMU_TELL").is_some_and(|value| value == "1");
        // The program may go to another folder.
        let path = |name: &str| {
            let path = std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from)?;
            Some(std::path::absolute(&path).unwrap_or(path))
        };
        let (path, whole) = (path("GPUEMU_LOG"), path("GPUEMU_LOG_WHOLE"));
        let mut log = Self { tells, path, whole, ..Self::default() };
        let opened = log.opened().map(drop);
        log.keep(opened);
        log
    }

    /// Whether launches are written, so that no other copy is needed.
    pub fn keeps_launches(&self) -> bool {
        self.path.is_some()
    }

    /// A launch that ended well.
    pub fn launch(&mut self, launch: &LaunchRecord) {
        self.line(&format!("\"launch\":{}", launch_json(launch)));
    }

    /// A fault, or something that was refused: its JSON and its sentence.
    pub fn fault(&mut self, json: &str, message: &str) {
        self.line(&format!("\"fault\":{json}"));
        self.write(message);
    }

    /// A call of a function that the driver does not support.
    pub fn lacks(&mut self, function: &'static str) {
        if self.lacking.insert(function) {
            self.line(&format!("\"unsupported\":{}", quote(function)));
            self.write(&format!("{function} is not supported (CUDA_ERROR_NOT_SUPPORTED)"));
        }
    }

    /// NVIDIA's CUDA runtime, which does not run here: always on standard error, since the runtime
    /// itself gives no reason.
    pub fn refuses_runtime(&mut self) {
        self.line("\"unsupported\":\"NVIDIA's CUDA runtime\"");
        say(FOREIGN_RUNTIME);
    }

    /// Warns once that times between events are the host's.
    pub fn times_events(&mut self) {
        if !mem::replace(&mut self.has_event_times, true) {
            self.line("\"event_times\":\"host\"");
            self.write(
                "times between events are this computer's: they say how long emulation took",
            );
        }
    }

    /// Writes `message` to standard error, if the user asked for it.
    pub fn write(&self, message: &str) {
        if self.tells {
            let shown: String =
                message.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            say(&shown);
        }
    }

    fn line(&mut self, text: &str) {
        let line = format!("{{\"process\":{},{text}}}\n", std::process::id());
        let written = self.opened().and_then(|file| match file {
            Some(mut file) => file.write_all(line.as_bytes()),
            None => Ok(()),
        });
        self.keep(written);
    }

    /// The file, if there is one.
    fn opened(&mut self) -> io::Result<Option<&File>> {
        let Some(path) = &self.path else { return Ok(None) };
        if !self.file.as_ref().is_some_and(OpenFile::is_open) {
            // Its number may be another file's by now, which the program has open.
            mem::forget(self.file.take());
            let file = OpenOptions::new().append(true).create(true).open(path)?;
            self.file = Some(OpenFile::new(file)?);
        }
        Ok(self.file.as_ref().map(|held| &held.file))
    }

    /// If the write failed, reports that and closes the file.
    fn keep(&mut self, written: io::Result<()>) {
        let Err(error) = written else { return };
        let path = self.path.take().unwrap_or_default();
        say(&format!("cannot write {}: {error}", path.display()));
        if let Some(whole) = &self.whole {
            // Another process may have removed it for the same reason.
            let _ = fs::remove_file(whole);
        }
    }
}

/// What to do about NVIDIA's CUDA runtime.
pub const FOREIGN_RUNTIME: &str = "the program carries NVIDIA's CUDA runtime, which runs on NVIDIA's driver alone. Build it with \
     the shared runtime, PTX and source lines: NVCC_APPEND_FLAGS='-cudart=shared -lineinfo -gencode \
     arch=compute_80,code=compute_80'. If it must link a static runtime, let it link that of this \
     driver";

/// A standard error that is closed loses what is said.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "emulated CUDA driver: {text}");
}
