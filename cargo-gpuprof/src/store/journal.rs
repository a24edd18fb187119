//! The journal of a run: what has ended, on disk before the next process measures.
//!
//! A line of JSON each: first what the run is made of, then one for every pass that ended. A line
//! is written at once and synchronised; a kill at any instant leaves whole lines and at most the
//! beginning of one, which is dropped when the run is resumed. Anything else that is no journal is
//! refused with its path and byte. The file is locked while a run writes it, so that two never
//! write one.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{Seek, SeekFrom, Write};

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::Axis;
use gpuprof_model::measurement::{HardwareValue, PassResult};
use gpuprof_model::run::Status;
use serde::{Deserialize, Serialize};

use super::untrusted::{place, read_open, wrong};
use crate::error::{Failure, Result};
use crate::execute::Collected;
use crate::options::Repeats;
use crate::schedule::Step;

/// The file's name in a run's folder.
pub const FILE: &str = "journal.jsonl";

/// What changed, where another version wrote the journal.
const TOOL_VERSION: &str = "the version of cargo-gpuprof";

/// What changed, where other counters are collected.
const COUNTERS: &str = "the counters";

/// Why a run that began without counters, which can be had now, is not resumed with them.
const WITHOUT: &str = "it began without hardware counters (denied, or not requested), but now they \
                       are collected; to continue without them, add --replay-mode none";

/// Why a run with counters is not resumed where none are collected.
const NO_LONGER: &str = "it began with hardware counters, but now none are collected; to continue, \
                         make them available again (`cargo gpuprof doctor` checks them)";

/// What a run is made of: a resumed run must be made of the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Made {
    /// The version of the tool.
    pub tool_version: String,
    /// SHA-256 of the PTX of each kernel package.
    pub kernels: BTreeMap<String, String>,
    /// SHA-256 of each harness, which holds the host's half.
    pub harnesses: BTreeMap<String, String>,
    /// The axes of each series, and its configurations as one hash.
    pub series: Vec<(String, Vec<Axis>, String)>,
    /// The other revision that is measured beside it. Lines count its series behind these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<MadeOf>,
    /// Name, UUID and driver of the device; none on the emulated driver.
    pub device: Option<(String, String, u32)>,
    /// The UUIDs of all devices, where the configurations are spread over several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
    /// The backend.
    pub backend: String,
    /// What is done to the cache.
    pub cache_control: String,
    /// What is done to the clocks; journals before that could be chosen say nothing of them.
    #[serde(default = "untouched")]
    pub clock_control: String,
    /// How counters are collected; none where none are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay_mode: Option<String>,
    /// In which order passes run.
    pub order: Option<String>,
    /// Processes that time each configuration.
    pub repeat: Repeats,
    /// The counters collected.
    pub counters: Vec<String>,
}

/// What the other revision of a run is made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MadeOf {
    /// As [`Made::kernels`].
    pub kernels: BTreeMap<String, String>,
    /// As [`Made::harnesses`].
    pub harnesses: BTreeMap<String, String>,
    /// As [`Made::series`].
    pub series: Vec<(String, Vec<Axis>, String)>,
}

fn untouched() -> String {
    "none".to_owned()
}

impl Made {
    /// The first thing in which `now` differs, in words; none where all is the same.
    pub fn difference(&self, now: &Self) -> Option<&'static str> {
        let checks = [
            (self.kernels == now.kernels, "the kernels (their PTX)"),
            (self.series == now.series, "the axes or the selection of configurations"),
            (self.base == now.base, "the other revision (--base)"),
            (self.devices == now.devices, "the choice of devices (--devices)"),
            (self.device == now.device, "the device or its driver"),
            (self.backend == now.backend, "the backend"),
            (self.harnesses == now.harnesses, "the harness executables"),
            (self.cache_control == now.cache_control, "--cache-control"),
            (self.clock_control == now.clock_control, "--clock-control"),
            (self.order == now.order, "--interleave, --isolate or --ahead"),
            (self.repeat == now.repeat, "--repeat"),
            (self.counters == now.counters, COUNTERS),
            (self.replay_mode == now.replay_mode, "--replay-mode"),
            (self.tool_version == now.tool_version, TOOL_VERSION),
        ];
        checks.into_iter().find(|(same, _)| !same).map(|(_, what)| what)
    }
}

/// A line of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "line")]
enum Line {
    Made(Box<Made>),
    Pass { series: usize, configuration: usize, repeat: u32, result: Box<PassResult> },
    Counters { series: usize, configuration: usize, hardware: BTreeMap<String, HardwareValue> },
    CounterStep { series: usize, configuration: usize, of: usize, collected: Collected },
    Ended { series: usize, configuration: usize, status: Status },
}

/// What a journal holds of a run that is resumed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Replayed {
    passes: BTreeMap<Step, PassResult>,
    counters: BTreeMap<(usize, usize), BTreeMap<String, HardwareValue>>,
    /// What is collected so far, and of how many steps.
    collected: BTreeMap<(usize, usize), (usize, Collected)>,
    ended: BTreeMap<(usize, usize), Status>,
}

impl Replayed {
    /// What the pass found, if it ended before.
    pub fn pass(&self, step: Step) -> Option<&PassResult> {
        self.passes.get(&step)
    }

    /// The counters of a configuration, if they were collected before.
    pub fn counters(
        &self,
        series: usize,
        configuration: usize,
    ) -> Option<&BTreeMap<String, HardwareValue>> {
        self.counters.get(&(series, configuration))
    }

    /// What was collected of a configuration's counters, which take `of` steps, before all of them
    /// were.
    pub fn collected(&self, series: usize, configuration: usize, of: usize) -> Option<&Collected> {
        let (steps, collected) = self.collected.get(&(series, configuration))?;
        (*steps == of).then_some(collected)
    }

    /// How a configuration ended before, if it did so early.
    pub fn ended(&self, series: usize, configuration: usize) -> Option<&Status> {
        self.ended.get(&(series, configuration))
    }

    /// How many passes it holds.
    pub fn len(&self) -> usize {
        self.passes.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.passes.is_empty()
    }
}

/// An open journal.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: Utf8PathBuf,
    /// How many bytes are whole lines.
    whole: u64,
}

impl Journal {
    /// Begins the journal of a new run in `folder`.
    ///
    /// # Errors
    /// It cannot be written (exit code 110).
    pub fn begin(folder: &Utf8Path, made: &Made) -> Result<Self> {
        let path = folder.join(FILE);
        let failed = |e: &std::io::Error| Failure::output(path.as_std_path(), e);
        let file = File::options()
            .create_new(true)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(|e| failed(&e))?;
        lock(&file, &path)?;
        let mut journal = Self { file, path, whole: 0 };
        journal.write(&Line::Made(Box::new(made.clone())))?;
        Ok(journal)
    }

    /// Goes on with the journal in `folder`, whose run must be made of `made`.
    ///
    /// # Errors
    /// Another process writes it, or it was made of something else (exit code 2); it is no journal
    /// (exit code 96); it cannot be written (exit code 110).
    pub fn resume(folder: &Utf8Path, made: &Made) -> Result<(Self, Replayed)> {
        let path = folder.join(FILE);
        let failed = |e: &std::io::Error| Failure::output(path.as_std_path(), e);
        let mut file =
            File::options().read(true).write(true).open(&path).map_err(|e| failed(&e))?;
        lock(&file, &path)?;
        let bytes = read_open(&mut file, &path)?;
        let refused = |why: String| {
            Failure::usage(format!(
                "{folder} cannot be resumed: {why}; to start over, leave out --resume"
            ))
        };
        let changed = |what: &str| refused(format!("{what} changed since"));
        // Another version may write other lines.
        if written_by(&bytes).is_some_and(|version| version != made.tool_version) {
            return Err(changed(TOOL_VERSION));
        }
        let (before, replayed, whole) = parse(&bytes, &path)?;
        if let Some(what) = before.difference(made) {
            return Err(match (what, before.counters.is_empty(), made.counters.is_empty()) {
                (COUNTERS, true, false) => refused(WITHOUT.to_owned()),
                (COUNTERS, false, true) => refused(NO_LONGER.to_owned()),
                _ => changed(what),
            });
        }
        let whole = whole as u64;
        file.set_len(whole).map_err(|e| failed(&e))?;
        file.seek(SeekFrom::End(0)).map_err(|e| failed(&e))?;
        Ok((Self { file, path, whole }, replayed))
    }

    /// Records a pass that ran to its end.
    ///
    /// # Errors
    /// It is not on disk (exit code 110).
    pub fn pass(&mut self, step: Step, result: &PassResult) -> Result<()> {
        let Step { series, configuration, repeat } = step;
        self.write(&Line::Pass { series, configuration, repeat, result: Box::new(result.clone()) })
    }

    /// Records what is collected of a configuration's counters, which take `of` steps.
    ///
    /// # Errors
    /// As [`Journal::pass`].
    pub fn collected(
        &mut self,
        (series, configuration): (usize, usize),
        of: usize,
        collected: &Collected,
    ) -> Result<()> {
        self.write(&if collected.steps == of {
            Line::Counters { series, configuration, hardware: collected.hardware.clone() }
        } else {
            Line::CounterStep { series, configuration, of, collected: collected.clone() }
        })
    }

    /// Records a configuration that ended early. One that was skipped has not ended.
    ///
    /// # Errors
    /// As [`Journal::pass`].
    pub fn ended(
        &mut self,
        (series, configuration): (usize, usize),
        status: &Status,
    ) -> Result<()> {
        if matches!(status, Status::Skipped { .. }) {
            return Ok(());
        }
        self.write(&Line::Ended { series, configuration, status: status.clone() })
    }

    fn write(&mut self, line: &Line) -> Result<()> {
        let mut bytes = serde_json::to_vec(line).expect("journal lines are plain data");
        bytes.push(b'\n');
        let written = self.file.write_all(&bytes).and_then(|()| self.file.sync_data());
        if written.is_err() {
            // A full disk takes part of a line; what may follow once there is room must not join
            // it.
            let _ = self.file.set_len(self.whole).and_then(|()| self.file.seek(SeekFrom::End(0)));
        } else {
            self.whole += bytes.len() as u64;
        }
        written.map_err(|e| Failure::output(self.path.as_std_path(), &e))
    }
}

impl Drop for Journal {
    /// Closing the file would give the lock back only once no process that is being started shares
    /// it.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

fn lock(file: &File, path: &Utf8Path) -> Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(Failure::usage(format!(
            "{path} is locked: another process is still working on this run"
        ))),
        Err(TryLockError::Error(e)) => Err(Failure::output(path.as_std_path(), &e)),
    }
}

/// The version of the tool that began the journal, whatever else it wrote.
fn written_by(bytes: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct By {
        tool_version: String,
    }
    let first = bytes.split(|&b| b == b'\n').next()?;
    Some(serde_json::from_slice::<By>(first).ok()?.tool_version)
}

/// What the run was made of, what ended, and how many bytes are whole lines.
fn parse(bytes: &[u8], path: &Utf8Path) -> Result<(Made, Replayed, usize)> {
    let mut made = None;
    let mut replayed = Replayed::default();
    let mut at = 0;
    for line in bytes.split_inclusive(|&b| b == b'\n') {
        let Some(text) = line.strip_suffix(b"\n") else { break };
        let parsed: Line = serde_json::from_slice(text)
            .map_err(|e| wrong(format!("{path} is not a journal: {}", place(text, at, &e))))?;
        match (parsed, made.is_some()) {
            (Line::Made(first), false) => made = Some(*first),
            (Line::Pass { series, configuration, repeat, result }, true) => {
                replayed.passes.insert(Step { series, configuration, repeat }, *result);
            }
            (Line::Counters { series, configuration, hardware }, true) => {
                replayed.counters.insert((series, configuration), hardware);
            }
            (Line::CounterStep { series, configuration, of, collected }, true) => {
                replayed.collected.insert((series, configuration), (of, collected));
            }
            (Line::Ended { series, configuration, status }, true) => {
                replayed.ended.insert((series, configuration), status);
            }
            _ => {
                return Err(wrong(format!(
                    "{path} is not a journal: byte {at}: only the first line may, and must, \
                     describe the run"
                )));
            }
        }
        at += line.len();
    }
    match made {
        Some(made) => Ok((made, replayed, at)),
        None => Err(wrong(format!(
            "{path} is not a journal: byte 0: it has no complete line, so the run had not begun; \
             start a new one"
        ))),
    }
}

#[cfg(test)]
mod tests;
