//! What the driver tells by itself while a program runs, for people and tools that do not call it.
//!
//! Input: what happens, and two environment variables that are read by `cuInit`. Output: with
//! `GPUEMU_TELL=1`, a line on standard error for each fault, each refused module or launch, and
//! each function that the driver lacks (once). With `GPUEMU_LOG=FILE`, a line of JSON in that file
//! for each of these and for each launch, and one where times between events are asked for. Several
//! processes may share a file: each line is appended by one write.

use crate::device::{LaunchRecord, launch_json, quote};
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::Write;

/// Where the driver tells what happens.
#[derive(Debug, Default)]
pub struct Log {
    tells: bool,
    file: Option<File>,
    /// Functions that were called and are not supported.
    lacking: BTreeSet<&'static str>,
}

impl Log {
    /// As the environment says. A file that cannot be opened is told on standard error.
    pub fn from_environment() -> Self {
        let tells = std::env::var_os("GPUEMU_TELL").is_some_and(|value| value == "1");
        let mut log = Self { tells, ..Self::default() };
        let Some(path) = std::env::var_os("GPUEMU_LOG").filter(|path| !path.is_empty()) else {
            return log;
        };
        match OpenOptions::new().append(true).create(true).open(&path) {
            Ok(file) => log.file = Some(file),
            Err(error) => {
                say(&format!("cannot write {}: {error}", path.display()));
            }
        }
        log
    }

    /// Whether launches are written, and nobody else need keep them.
    pub fn keeps_launches(&self) -> bool {
        self.file.is_some()
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
        let Some(file) = &mut self.file else { return };
        let line = format!("{{\"process\":{},{text}}}\n", std::process::id());
        if let Err(error) = file.write_all(line.as_bytes()) {
            say(&format!("cannot write what happens: {error}"));
            self.file = None;
        }
    }
}

/// A standard error that is closed loses what is said.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "emulated CUDA driver: {text}");
}
