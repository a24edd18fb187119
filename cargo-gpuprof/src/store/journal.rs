//! The journal of a run: what has ended, on disk before the next pass starts.
//!
//! A line of JSON each: first what the run is made of, then one for every pass that ended. A line is
//! written at once and synchronised; a kill at any instant leaves whole lines and at most the beginning
//! of one, which is dropped when the run is resumed. Anything else that is no journal is refused with
//! its path and byte. The file is locked while a run writes it, so that two never write one.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::measurement::{HardwareValue, PassResult};
use gpuprof_model::run::Status;
use gpuprof_model::{Axis, ExitCode};
use serde::{Deserialize, Serialize};

use super::document::byte_of;
use crate::error::{Failure, Result};
use crate::execute::Collected;
use crate::schedule::Step;

/// The file's name in a run's folder.
pub const FILE: &str = "journal.jsonl";

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
    /// Name, UUID and driver of the device; none on the emulated driver.
    pub device: Option<(String, String, u32)>,
    /// The backend.
    pub backend: String,
    /// What is done to the cache.
    pub cache_control: String,
    /// What is done to the clocks.
    pub clock_control: String,
    /// In which order passes run.
    pub order: Option<String>,
    /// Processes that time each configuration.
    pub repeat: u32,
    /// The counters collected.
    pub counters: Vec<String>,
}

impl Made {
    /// The first thing in which `now` differs, in words; none where all is the same.
    pub fn difference(&self, now: &Self) -> Option<&'static str> {
        let checks = [
            (self.kernels == now.kernels, "the kernels (their PTX)"),
            (self.series == now.series, "the axes or the selection of configurations"),
            (self.device == now.device, "the device or its driver"),
            (self.backend == now.backend, "the backend"),
            (self.harnesses == now.harnesses, "the harness executables"),
            (self.cache_control == now.cache_control, "--cache-control"),
            (self.clock_control == now.clock_control, "--clock-control"),
            (self.order == now.order, "--interleave"),
            (self.repeat == now.repeat, "--repeat"),
            (self.counters == now.counters, "the counters"),
            (self.tool_version == now.tool_version, "the version of cargo-gpuprof"),
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

    /// What was collected of a configuration's counters, which take `of` steps, before all of them were.
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
        let mut journal = Self { file, path };
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
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|e| failed(&e))?;
        let (before, replayed, whole) = parse(&bytes, &path)?;
        if let Some(what) = before.difference(made) {
            return Err(Failure::usage(format!(
                "{folder} cannot be resumed: {what} changed since; start a new run without --resume"
            )));
        }
        file.set_len(whole as u64).map_err(|e| failed(&e))?;
        file.seek(SeekFrom::End(0)).map_err(|e| failed(&e))?;
        Ok((Self { file, path }, replayed))
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
        self.file
            .write_all(&bytes)
            .and_then(|()| self.file.sync_data())
            .map_err(|e| Failure::output(self.path.as_std_path(), &e))
    }
}

fn lock(file: &File, path: &Utf8Path) -> Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(Failure::usage(format!(
            "{path} is locked: its run is still going on in another process"
        ))),
        Err(TryLockError::Error(e)) => Err(Failure::output(path.as_std_path(), &e)),
    }
}

/// What the run was made of, what ended, and how many bytes are whole lines.
fn parse(bytes: &[u8], path: &Utf8Path) -> Result<(Made, Replayed, usize)> {
    let wrong = |message: String| Failure::new(ExitCode::Configuration, message);
    let mut made = None;
    let mut replayed = Replayed::default();
    let mut at = 0;
    for line in bytes.split_inclusive(|&b| b == b'\n') {
        let Some(text) = line.strip_suffix(b"\n") else { break };
        let parsed: Line = serde_json::from_slice(text).map_err(|e| {
            wrong(format!("{path} is no journal: byte {}: {e}", at + byte_of(text, &e)))
        })?;
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
                    "{path} is no journal: byte {at}: its first line, and no other, says what the run is made of"
                )));
            }
        }
        at += line.len();
    }
    match made {
        Some(made) => Ok((made, replayed, at)),
        None => Err(wrong(format!(
            "{path} is no journal: byte 0: not one line is whole; the run has not begun, start a new one"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::fixture::gpu_pass;
    use proptest::prelude::*;
    use std::fs;

    fn made() -> Made {
        Made {
            tool_version: "0.1.0".into(),
            kernels: [("saxpy".to_owned(), "abc".to_owned())].into(),
            harnesses: BTreeMap::new(),
            series: vec![("s".into(), vec![Axis::parse("block=64..128").unwrap()], "h".into())],
            device: Some(("NVIDIA H200".into(), "GPU-1".into(), 13000)),
            backend: "cuda".into(),
            cache_control: "all".into(),
            clock_control: "none".into(),
            order: Some("rounds, seed 1".into()),
            repeat: 3,
            counters: Vec::new(),
        }
    }

    fn step(configuration: usize, repeat: u32) -> Step {
        Step { series: 0, configuration, repeat }
    }

    fn folder() -> (tempfile::TempDir, Utf8PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8PathBuf::from_path_buf(folder.path().to_owned()).unwrap();
        (folder, path)
    }

    /// A journal of three passes and a failure, and the offsets at which its lines end.
    fn written() -> (Vec<u8>, Vec<usize>) {
        let (_keep, path) = folder();
        let mut journal = Journal::begin(&path, &made()).unwrap();
        let result = gpu_pass(64, 1 << 20, &[1.0, 2.0]);
        journal.pass(step(0, 0), &result).unwrap();
        journal.pass(step(1, 0), &result).unwrap();
        journal.ended((0, 2), &Status::Failed { reason: "boom".into() }).unwrap();
        journal.ended((0, 3), &Status::Skipped { reason: "interrupt".into() }).unwrap();
        journal.pass(step(0, 1), &result).unwrap();
        drop(journal);
        let bytes = fs::read(path.join(FILE)).unwrap();
        let ends = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(at, _)| at + 1);
        (bytes.clone(), ends.collect())
    }

    #[test]
    fn a_kill_at_any_byte_loses_at_most_the_line_in_flight() {
        let (bytes, ends) = written();
        assert_eq!(ends.len(), 5, "a skipped configuration has not ended");
        // Every byte around the line ends, and some between them.
        let near =
            |cut: &usize| cut.is_multiple_of(97) || ends.iter().any(|end| cut.abs_diff(*end) < 3);
        for cut in (0..=bytes.len()).filter(near) {
            let whole = ends.iter().filter(|end| **end <= cut).count();
            let (_keep, path) = folder();
            fs::write(path.join(FILE), &bytes[..cut]).unwrap();
            match Journal::resume(&path, &made()) {
                Err(failure) => {
                    assert_eq!((whole, failure.code), (0, ExitCode::Configuration), "{cut}");
                }
                Ok((mut journal, replayed)) => {
                    assert_eq!(replayed.len() + replayed.ended.len() + 1, whole, "{cut}");
                    // What was torn is gone, and what follows is whole again.
                    journal.pass(step(9, 9), &gpu_pass(64, 1 << 20, &[1.0])).unwrap();
                    drop(journal);
                    let (_, again) = Journal::resume(&path, &made()).unwrap();
                    assert_eq!(again.len(), replayed.len() + 1, "{cut}");
                }
            }
        }
    }

    #[test]
    fn what_was_recorded_is_what_is_replayed() {
        let (bytes, _) = written();
        let (before, replayed, whole) = parse(&bytes, Utf8Path::new("j")).unwrap();
        assert_eq!((before, whole), (made(), bytes.len()));
        assert_eq!(replayed.pass(step(0, 1)), Some(&gpu_pass(64, 1 << 20, &[1.0, 2.0])));
        assert_eq!(replayed.pass(step(1, 1)), None);
        assert_eq!(replayed.ended(0, 2), Some(&Status::Failed { reason: "boom".into() }));
        assert_eq!(replayed.ended(0, 3), None);
    }

    #[test]
    fn counters_are_taken_up_where_they_were_left() {
        let (_keep, path) = folder();
        let mut journal = Journal::begin(&path, &made()).unwrap();
        let value = [("a".to_owned(), HardwareValue::Value(1.0))];
        let mut collected = Collected { steps: 2, hardware: value.into(), left_out: None };
        journal.collected((0, 1), 3, &collected).unwrap();
        drop(journal);
        let (mut journal, replayed) = Journal::resume(&path, &made()).unwrap();
        assert_eq!(replayed.collected(0, 1, 3), Some(&collected));
        assert_eq!(replayed.collected(0, 1, 4), None, "the plan is another one");
        assert_eq!(replayed.counters(0, 1), None);
        collected.steps = 3;
        journal.collected((0, 1), 3, &collected).unwrap();
        drop(journal);
        let (_, replayed) = Journal::resume(&path, &made()).unwrap();
        assert_eq!(replayed.counters(0, 1), Some(&collected.hardware));
    }

    #[test]
    fn a_run_made_of_something_else_is_not_resumed() {
        type Change = (&'static str, fn(&mut Made));
        let changes: [Change; 4] = [
            ("the kernels (their PTX)", |m| m.kernels.clear()),
            ("the axes or the selection of configurations", |m| m.series.clear()),
            ("the device or its driver", |m| m.device = None),
            ("--repeat", |m| m.repeat = 5),
        ];
        for (what, change) in changes {
            let (_keep, path) = folder();
            drop(Journal::begin(&path, &made()).unwrap());
            let mut now = made();
            change(&mut now);
            let failure = Journal::resume(&path, &now).unwrap_err();
            assert_eq!(failure.code, ExitCode::Usage);
            assert_eq!(
                failure.message,
                format!(
                    "{path} cannot be resumed: {what} changed since; start a new run without --resume"
                )
            );
        }
    }

    #[test]
    fn two_runs_never_write_one_journal() {
        let (_keep, path) = folder();
        let first = Journal::begin(&path, &made()).unwrap();
        let second = Journal::resume(&path, &made()).unwrap_err();
        assert!(
            second.message.ends_with("is locked: its run is still going on in another process")
        );
        drop(first);
        assert!(Journal::resume(&path, &made()).is_ok());
        assert_eq!(Journal::begin(&path, &made()).unwrap_err().code, ExitCode::OutputFailed);
    }

    #[test]
    fn a_hostile_journal_is_refused_with_its_path_and_byte() {
        let (bytes, ends) = written();
        let mut broken = bytes.clone();
        broken[ends[1] + 5] = b'\0';
        let failure = parse(&broken, Utf8Path::new("run/journal.jsonl")).unwrap_err();
        assert_eq!(failure.code, ExitCode::Configuration);
        let start = format!("run/journal.jsonl is no journal: byte {}:", ends[1] + 5);
        assert!(failure.message.starts_with(&start), "{}", failure.message);
        let headless = parse(&bytes[ends[0]..], Utf8Path::new("j")).unwrap_err();
        assert!(headless.message.starts_with("j is no journal: byte 0: its first line"));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes, Utf8Path::new("j"));
        }
    }
}
