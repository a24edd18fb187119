//! What the driver tells by itself while a program runs, for people and tools that do not call it.
//!
//! Input: what happens, and two environment variables that are read by `cuInit`. Output: with
//! `GPUEMU_TELL=1`, a line on standard error for each fault, each refused module or launch, and
//! each function that the driver lacks (once). With `GPUEMU_LOG=FILE`, a line of JSON in that file
//! for each of these and for each launch, and one where times between events are asked for. Several
//! processes may share a file: each line is appended by one write. A program may close what it has
//! not opened, and open something else in its place: what is written to is looked at before. With
//! `GPUEMU_LOG_WHOLE=FILE`, that file is removed once a line cannot be written, which also works
//! where the disk is full: whoever reads the log learns that it is not all.

use crate::device::{LaunchRecord, launch_json, quote};
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::mem;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// An open file, and which one it was when it was opened.
#[derive(Debug)]
struct Held {
    file: File,
    known: (u64, u64),
}

impl Held {
    fn new(file: File) -> io::Result<Self> {
        Ok(Self { known: identity(&file)?, file })
    }

    /// Whether nobody has closed it.
    fn is_open(&self) -> bool {
        identity(&self.file).is_ok_and(|now| now == self.known)
    }
}

fn identity(file: &File) -> io::Result<(u64, u64)> {
    file.metadata().map(|known| (known.dev(), known.ino()))
}

/// Where the driver tells what happens.
#[derive(Debug, Default)]
pub struct Log {
    tells: bool,
    /// The file of lines; none once a line could not be written.
    path: Option<PathBuf>,
    file: Option<Held>,
    /// What is removed then.
    whole: Option<PathBuf>,
    /// Functions that were called and are not supported.
    lacking: BTreeSet<&'static str>,
}

impl Log {
    /// As the environment says. A file that cannot be opened is told on standard error.
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

    /// Whether launches are written, and nobody else need keep them.
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
        self.tell(message);
    }

    /// A call of a function that the driver does not support.
    pub fn lacks(&mut self, function: &'static str) {
        if self.lacking.insert(function) {
            self.line(&format!("\"unsupported\":{}", quote(function)));
            self.tell(&format!("{function} is not supported (CUDA_ERROR_NOT_SUPPORTED)"));
        }
    }

    /// That times between events are the host's.
    pub fn times_events(&mut self, message: &str) {
        self.line("\"event_times\":\"host\"");
        self.tell(message);
    }

    /// Says `message` on standard error, where this was asked for.
    pub fn tell(&self, message: &str) {
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

    /// The file, where there is one.
    fn opened(&mut self) -> io::Result<Option<&File>> {
        let Some(path) = &self.path else { return Ok(None) };
        if !self.file.as_ref().is_some_and(Held::is_open) {
            // Its number may be another file's by now, which the program has open.
            mem::forget(self.file.take());
            let file = OpenOptions::new().append(true).create(true).open(path)?;
            self.file = Some(Held::new(file)?);
        }
        Ok(self.file.as_ref().map(|held| &held.file))
    }

    /// Says that the file cannot be written, where it cannot, and leaves it.
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

/// A standard error that is closed loses what is said.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "emulated CUDA driver: {text}");
}
