//! Reads a journal to resume a run.
//!
//! Input: a journal, line by line. Output: the run's build and device, and the places of the lines
//! of finished passes: a pass is read again when its configuration is resumed, since all of them
//! together can be larger than the run's results. Lines of a process that was replaced do not
//! count, nor do earlier measurements of a series that a later start measures again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead};
use std::os::unix::fs::FileExt;

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::measurement::{Energy, PassResult};
use gpuprof_model::run::Status;

use super::line::{Line, Start};
use super::reader::{self, Entry, Invalid, Listener};
use super::run_identity::RunIdentity;
use crate::schedule::{Collected, Step};
use crate::store::untrusted::wrong;
use gpuprof_system::error::{Failure, Result};

/// The place of a line: its first byte, and its length.
type Place = (u64, usize);

/// The journal of a resumed run.
#[derive(Debug, Default)]
pub struct Replayed {
    /// The journal; none for a run that begins.
    pub(super) file: Option<File>,
    path: Utf8PathBuf,
    passes: BTreeMap<Step, Place>,
    energy: BTreeMap<Step, Energy>,
    /// The devices of the passes of a series: names by UUID.
    devices: BTreeMap<usize, BTreeMap<String, String>>,
    counters: BTreeMap<(usize, usize), Place>,
    /// What is collected so far, and of how many steps.
    collected: BTreeMap<(usize, usize), (usize, Place)>,
    failed_attempts: BTreeMap<(usize, usize), Vec<String>>,
    ended: BTreeMap<(usize, usize), Status>,
    retried: BTreeMap<(usize, usize), String>,
    /// The series that are measured to their end.
    done: BTreeSet<usize>,
    /// The configurations with results.
    rows: BTreeSet<(usize, usize)>,
    /// Every start, in order.
    starts: Vec<Start>,
    /// Lines of a process that another one had taken the place of.
    pub(super) dropped: usize,
}

impl Replayed {
    /// The pass's result, if it ended before.
    ///
    /// # Errors
    /// The journal cannot be read any more (exit code 96).
    pub fn pass(&self, step: Step) -> Result<Option<PassResult>> {
        let Some(place) = self.passes.get(&step) else { return Ok(None) };
        match self.line(*place)? {
            Line::Pass { result, .. } => {
                Ok(Some(PassResult { energy: self.energy.get(&step).cloned(), ..*result }))
            }
            _ => Err(self.changed()),
        }
    }

    /// The counters of a configuration and of its parts, if they were collected before.
    ///
    /// # Errors
    /// As [`Replayed::pass`].
    pub fn counters(&self, series: usize, configuration: usize) -> Result<Option<Collected>> {
        let Some(place) = self.counters.get(&(series, configuration)) else { return Ok(None) };
        match self.line(*place)? {
            Line::Counters { hardware, parts, .. } => {
                Ok(Some(Collected { hardware, parts, ..Collected::default() }))
            }
            _ => Err(self.changed()),
        }
    }

    /// What was collected of a configuration's counters, which take `of` steps, before all of them
    /// were.
    ///
    /// # Errors
    /// As [`Replayed::pass`].
    pub fn collected(
        &self,
        series: usize,
        configuration: usize,
        of: usize,
    ) -> Result<Option<Collected>> {
        let known = self.collected.get(&(series, configuration));
        let Some((_, place)) = known.filter(|(steps, _)| *steps == of) else { return Ok(None) };
        match self.line(*place)? {
            Line::CounterStep { collected, .. } => Ok(Some(collected)),
            _ => Err(self.changed()),
        }
    }

    /// The failures of processes of a configuration that were started again.
    pub fn failed_attempts(&self, series: usize, configuration: usize) -> &[String] {
        self.failed_attempts.get(&(series, configuration)).map_or(&[], Vec::as_slice)
    }

    /// How a configuration ended before, if it did so early.
    pub fn ended(&self, series: usize, configuration: usize) -> Option<&Status> {
        self.ended.get(&(series, configuration))
    }

    /// How a configuration first failed next to others, if it was retried alone.
    pub fn retried(&self, series: usize, configuration: usize) -> Option<&str> {
        self.retried.get(&(series, configuration)).map(String::as_str)
    }

    /// The series that are measured to their end.
    pub fn done(&self) -> &BTreeSet<usize> {
        &self.done
    }

    /// The configurations that there are results of.
    pub(super) fn rows(&self) -> &BTreeSet<(usize, usize)> {
        &self.rows
    }

    /// The devices that the passes ran on, each once, by UUID.
    pub fn devices(&self) -> BTreeMap<&str, &str> {
        self.devices.values().flatten().map(|(uuid, name)| (&**uuid, &**name)).collect()
    }

    /// The last start, but for journals of versions that knew none.
    pub fn last_start(&self) -> Option<&Start> {
        self.starts.last()
    }

    /// The series that something is known of and that are not done.
    pub(super) fn unfinished(&self) -> Vec<usize> {
        let passes = self.passes.keys().map(|step| step.series);
        let counters = self.counters.keys().chain(self.collected.keys()).map(|at| at.0);
        let all: BTreeSet<usize> =
            passes.chain(counters).chain(self.ended.keys().map(|at| at.0)).collect();
        all.difference(&self.done).copied().collect()
    }

    /// Forgets the series in `again`, which are measured again.
    fn forget(&mut self, again: &[usize]) {
        let stays = |series: usize| !again.contains(&series);
        self.passes.retain(|step, _| stays(step.series));
        self.energy.retain(|step, _| stays(step.series));
        self.devices.retain(|series, _| stays(*series));
        self.counters.retain(|at, _| stays(at.0));
        self.collected.retain(|at, _| stays(at.0));
        self.failed_attempts.retain(|at, _| stays(at.0));
        self.ended.retain(|at, _| stays(at.0));
        self.retried.retain(|at, _| stays(at.0));
        self.rows.retain(|at| stays(at.0));
    }

    /// Adds a start, which measures some series again.
    pub(super) fn add_start(&mut self, start: Start) {
        self.forget(&start.again);
        self.starts.push(start);
    }

    /// How many passes it holds.
    pub fn len(&self) -> usize {
        self.passes.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.passes.is_empty()
    }

    /// Adds the line at `place`.
    fn add(&mut self, line: Line, place: Place) {
        match line {
            Line::Pass { series, configuration, repeat, result } => {
                self.passes.insert(Step { series, configuration, repeat }, place);
                let device = result.device;
                self.devices.entry(series).or_default().insert(device.uuid, device.name);
            }
            Line::Energy { series, configuration, repeat, energy } => {
                self.energy.insert(Step { series, configuration, repeat }, energy);
            }
            Line::Counters { series, configuration, .. } => {
                self.counters.insert((series, configuration), place);
            }
            Line::CounterStep { series, configuration, of, .. } => {
                self.collected.insert((series, configuration), (of, place));
            }
            Line::FailedAttempt { series, configuration, reason } => {
                self.failed_attempts.entry((series, configuration)).or_default().push(reason);
            }
            Line::Ended { series, configuration, status } => {
                self.ended.insert((series, configuration), status);
            }
            Line::Retried { series, configuration, reason } => {
                self.retried.entry((series, configuration)).or_insert(reason);
            }
            Line::Done { series } => {
                self.done.insert(series);
            }
            Line::Row { series, configuration, .. } => {
                self.rows.insert((series, configuration));
            }
            // The first is for merges of slices, and the reader takes the others itself.
            Line::Whole { .. } | Line::Made(_) | Line::Begin(_) => {}
        }
    }

    fn line(&self, (start, length): Place) -> Result<Line> {
        let failed = |e: io::Error| wrong(format!("cannot read {}: {e}", self.path));
        let Some(file) = &self.file else { return Err(self.changed()) };
        let mut text = vec![0; length];
        file.read_exact_at(&mut text, start).map_err(failed)?;
        serde_json::from_slice(&text).map_err(|_| self.changed())
    }

    fn changed(&self) -> Failure {
        wrong(format!("{} changed while it was read: start a new run", self.path))
    }
}

impl Listener for Replayed {
    fn begin(&mut self, start: Start) -> std::result::Result<(), Invalid> {
        self.add_start(start);
        Ok(())
    }

    fn take(&mut self, line: Entry<'_>) -> std::result::Result<(), Invalid> {
        self.add(line.parse()?, (line.at, line.text.len()));
        Ok(())
    }
}

/// A journal that was read.
#[derive(Debug)]
pub(super) struct Parsed {
    /// The build and device of its run.
    pub(super) identity: RunIdentity,
    /// The finished passes.
    pub(super) replayed: Replayed,
    /// The bytes in whole lines.
    pub(super) length: u64,
}

/// Reads a journal. `None` if another version than `expected` began it.
pub(super) fn parse(
    journal: impl BufRead,
    path: &Utf8Path,
    expected: &str,
) -> Result<Option<Parsed>> {
    let mut replayed = Replayed { path: path.to_owned(), ..Replayed::default() };
    let Some(extent) = reader::read(journal, path, Some(expected), &mut replayed)? else {
        return Ok(None);
    };
    replayed.dropped = extent.dropped;
    match extent.made {
        Some(identity) => Ok(Some(Parsed { identity, replayed, length: extent.length })),
        None => Err(wrong(format!(
            "{path} is not a journal: byte 0: it has no complete line, so the run had not begun; \
             start a new one"
        ))),
    }
}
