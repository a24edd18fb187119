//! What a journal holds of a run, for who goes on with it.
//!
//! Input: a journal, line by line. Output: what the run is made of, and where in the file the lines
//! are of what has ended: a pass is read again when its configuration is taken up, since all of
//! them together can be larger than what the run finds. What a process wrote after another one had
//! begun in its place does not count, nor does what was measured before of a series that a later
//! start measures anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead};
use std::os::unix::fs::FileExt;

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::measurement::{HardwareValue, PassResult};
use gpuprof_model::run::Status;
use serde::Deserialize;

use super::line::{self, Line, Start};
use super::made::Made;
use crate::schedule::{Collected, Step};
use crate::store::untrusted::{place, wrong};
use gpuprof_system::error::{Failure, Result};

/// Where a line is: its first byte, and how many bytes it has.
type Place = (u64, usize);

/// What a journal holds of a run that is resumed.
#[derive(Debug, Default)]
pub struct Replayed {
    /// The journal; none for a run that begins.
    pub(super) file: Option<File>,
    path: Utf8PathBuf,
    passes: BTreeMap<Step, Place>,
    /// The devices of the passes of a series: names by UUID.
    devices: BTreeMap<usize, BTreeMap<String, String>>,
    counters: BTreeMap<(usize, usize), Place>,
    /// What is collected so far, and of how many steps.
    collected: BTreeMap<(usize, usize), (usize, Place)>,
    ended: BTreeMap<(usize, usize), Status>,
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
    /// What the pass found, if it ended before.
    ///
    /// # Errors
    /// The journal cannot be read any more (exit code 96).
    pub fn pass(&self, step: Step) -> Result<Option<PassResult>> {
        let Some(place) = self.passes.get(&step) else { return Ok(None) };
        match self.line(*place)? {
            Line::Pass { result, .. } => Ok(Some(*result)),
            _ => Err(self.changed()),
        }
    }

    /// The counters of a configuration, if they were collected before.
    ///
    /// # Errors
    /// As [`Replayed::pass`].
    pub fn counters(
        &self,
        series: usize,
        configuration: usize,
    ) -> Result<Option<BTreeMap<String, HardwareValue>>> {
        let Some(place) = self.counters.get(&(series, configuration)) else { return Ok(None) };
        match self.line(*place)? {
            Line::Counters { hardware, .. } => Ok(Some(hardware)),
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

    /// How a configuration ended before, if it did so early.
    pub fn ended(&self, series: usize, configuration: usize) -> Option<&Status> {
        self.ended.get(&(series, configuration))
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

    /// Forgets what is known of the series in `again`, which are measured anew.
    fn forget(&mut self, again: &[usize]) {
        let stays = |series: usize| !again.contains(&series);
        self.passes.retain(|step, _| stays(step.series));
        self.devices.retain(|series, _| stays(*series));
        self.counters.retain(|at, _| stays(at.0));
        self.collected.retain(|at, _| stays(at.0));
        self.ended.retain(|at, _| stays(at.0));
        self.rows.retain(|at| stays(at.0));
    }

    pub(super) fn begin(&mut self, start: Start) {
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

    /// Takes the line at `place` of the process that works on the run.
    fn take(&mut self, line: Line, place: Place) {
        match line {
            Line::Pass { series, configuration, repeat, result } => {
                self.passes.insert(Step { series, configuration, repeat }, place);
                let device = result.device;
                self.devices.entry(series).or_default().insert(device.uuid, device.name);
            }
            Line::Counters { series, configuration, .. } => {
                self.counters.insert((series, configuration), place);
            }
            Line::CounterStep { series, configuration, of, .. } => {
                self.collected.insert((series, configuration), (of, place));
            }
            Line::Ended { series, configuration, status } => {
                self.ended.insert((series, configuration), status);
            }
            Line::Done { series } => {
                self.done.insert(series);
            }
            Line::Row { series, configuration, .. } => {
                self.rows.insert((series, configuration));
            }
            // What is read when slices are merged, and what `parse` takes itself.
            Line::Whole { .. } | Line::Made(_) | Line::Begin(_) => {}
        }
    }

    fn line(&self, (start, length): Place) -> Result<Line> {
        let failed = |e: io::Error| wrong(format!("cannot read {}: {e}", self.path));
        let Some(file) = &self.file else { return Err(self.changed()) };
        let mut text = vec![0; length];
        file.read_exact_at(&mut text, start).map_err(failed)?;
        let (line, _) = line::read(&text).map_err(|_| self.changed())?;
        Ok(line)
    }

    fn changed(&self) -> Failure {
        wrong(format!("{} changed while it was read: start a new run", self.path))
    }
}

/// The version of the tool that began the journal whose first line is `first`.
fn written_by(first: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct By {
        tool_version: String,
    }
    Some(serde_json::from_slice::<By>(first).ok()?.tool_version)
}

/// What the run was made of, what ended, and how many bytes are whole lines; nothing where another
/// version than `expected` began the journal, since it may write other lines.
pub(super) fn parse(
    mut journal: impl BufRead,
    path: &Utf8Path,
    expected: &str,
) -> Result<Option<(Made, Replayed, u64)>> {
    let failed = |e: io::Error| wrong(format!("cannot read {path}: {e}"));
    let mut made = None;
    let mut replayed = Replayed { path: path.to_owned(), ..Replayed::default() };
    let (mut at, mut line) = (0_u64, Vec::new());
    loop {
        line.clear();
        journal.read_until(b'\n', &mut line).map_err(failed)?;
        if made.is_none() && written_by(&line).is_some_and(|version| version != expected) {
            return Ok(None);
        }
        let Some(text) = line.strip_suffix(b"\n") else { break };
        let byte = usize::try_from(at).unwrap_or(usize::MAX);
        let (parsed, by) = line::read(text)
            .map_err(|e| wrong(format!("{path} is not a journal: {}", place(text, byte, &e))))?;
        match (parsed, made.is_some()) {
            (Line::Made(first), false) => made = Some(*first),
            (Line::Begin(start), true) => replayed.begin(*start),
            (Line::Made(_), true) | (_, false) => {
                return Err(wrong(format!(
                    "{path} is not a journal: byte {at}: only the first line may, and must, \
                     describe the run"
                )));
            }
            (parsed, true) if by.as_deref() == replayed.last_start().map(|start| &*start.id) => {
                replayed.take(parsed, (at, text.len()));
            }
            (_, true) => replayed.dropped += 1,
        }
        at += line.len() as u64;
    }
    match made {
        Some(made) => Ok(Some((made, replayed, at))),
        None => Err(wrong(format!(
            "{path} is not a journal: byte 0: it has no complete line, so the run had not begun; \
             start a new one"
        ))),
    }
}
