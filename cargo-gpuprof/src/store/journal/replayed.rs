//! What a journal holds of a run, for who goes on with it.
//!
//! Input: the bytes of a journal. Output: what the run is made of, and what of it has ended. What a
//! process wrote after another one had begun in its place does not count, nor does what was
//! measured before of a series that a later start measures anew.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;
use gpuprof_model::measurement::{HardwareValue, PassResult};
use gpuprof_model::run::Status;
use serde::Deserialize;

use super::line::{self, Line, Start};
use super::made::Made;
use crate::error::Result;
use crate::execute::Collected;
use crate::schedule::Step;
use crate::store::untrusted::{place, wrong};

/// What a journal holds of a run that is resumed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Replayed {
    passes: BTreeMap<Step, PassResult>,
    counters: BTreeMap<(usize, usize), BTreeMap<String, HardwareValue>>,
    /// What is collected so far, and of how many steps.
    collected: BTreeMap<(usize, usize), (usize, Collected)>,
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
        self.passes.values().map(|pass| (&*pass.device.uuid, &*pass.device.name)).collect()
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

    /// Takes a line of the process that works on the run.
    fn take(&mut self, line: Line) {
        match line {
            Line::Pass { series, configuration, repeat, result } => {
                self.passes.insert(Step { series, configuration, repeat }, *result);
            }
            Line::Counters { series, configuration, hardware } => {
                self.counters.insert((series, configuration), hardware);
            }
            Line::CounterStep { series, configuration, of, collected } => {
                self.collected.insert((series, configuration), (of, collected));
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
}

/// The version of the tool that began the journal, whatever else it wrote.
pub(super) fn written_by(bytes: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct By {
        tool_version: String,
    }
    let first = bytes.split(|&b| b == b'\n').next()?;
    Some(serde_json::from_slice::<By>(first).ok()?.tool_version)
}

/// What the run was made of, what ended, and how many bytes are whole lines.
pub(super) fn parse(bytes: &[u8], path: &Utf8Path) -> Result<(Made, Replayed, usize)> {
    let mut made = None;
    let mut replayed = Replayed::default();
    let mut at = 0;
    for line in bytes.split_inclusive(|&b| b == b'\n') {
        let Some(text) = line.strip_suffix(b"\n") else { break };
        let (parsed, by) = line::read(text)
            .map_err(|e| wrong(format!("{path} is not a journal: {}", place(text, at, &e))))?;
        match (parsed, made.is_some()) {
            (Line::Made(first), false) => made = Some(*first),
            (Line::Begin(start), true) => replayed.begin(*start),
            (Line::Made(_), true) | (_, false) => {
                return Err(wrong(format!(
                    "{path} is not a journal: byte {at}: only the first line may, and must, \
                     describe the run"
                )));
            }
            (line, true) if by.as_deref() == replayed.last_start().map(|start| &*start.id) => {
                replayed.take(line);
            }
            (_, true) => replayed.dropped += 1,
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
