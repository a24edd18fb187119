//! The results that the journal of a slice holds, for who merges slices.
//!
//! Input: the bytes of a journal. Output: the result of every configuration that has ended, with
//! the device it was measured on; passes are passed over, so that this takes no longer than it
//! must. What a process wrote after another one had begun in its place does not count.

use std::borrow::Cow;
use std::collections::BTreeMap;

use camino::Utf8Path;
use gpuprof_model::measurement::{DeviceRecord, PassResult};
use gpuprof_model::run::{ConfigurationResult, Shared};
use memchr::memmem;
use serde::Deserialize;

use super::grouped::{Group, Line, Placed, RowLine, Wrong, alone};
use super::line::Start;
use super::made::Made;
use crate::store::untrusted::{place, wrong};
use gpuprof_system::error::Result;

/// What a journal holds of a slice.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rows {
    /// What the run was made of; none where not even that was written.
    pub made: Option<Made>,
    /// The results, by the positions of series and configuration in the slice.
    pub rows: BTreeMap<(usize, usize), ConfigurationResult>,
    /// The position of the start that measured each of them.
    pub by: BTreeMap<(usize, usize), usize>,
    /// When everything was measured, where it was.
    pub whole: Option<String>,
    /// Every start, in order.
    pub starts: Vec<Start>,
    /// The device of the first pass.
    pub device: Option<DeviceRecord>,
    /// SHA-256 of each file that buffers were filled from.
    pub input_sha256: BTreeMap<String, String>,
    /// Lines of a process that another one had taken the place of.
    pub dropped: usize,
}

/// What kind of line it is, and who wrote it.
#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(borrow, default)]
    by: Option<Cow<'a, str>>,
    #[serde(borrow)]
    line: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Pass {
    result: PassResult,
}

#[derive(Deserialize)]
struct Whole {
    at: String,
}

impl Rows {
    /// What the journal in `bytes`, which came from `path`, holds; `shared` is what rows have in
    /// common.
    ///
    /// # Errors
    /// It is no journal (exit code 96).
    pub fn parse(bytes: &[u8], path: &Utf8Path, shared: &mut Shared) -> Result<Self> {
        Self::read(bytes, shared).map_err(|Wrong { line, error }| {
            wrong(format!("{path} is not a journal: {}", place(line.text, line.at, &error)))
        })
    }

    fn read<'a>(bytes: &'a [u8], shared: &mut Shared) -> std::result::Result<Self, Wrong<'a>> {
        let mut found = Self::default();
        let mut group = Group::default();
        let mut at = 0;
        for line in bytes.split_inclusive(|&b| b == b'\n') {
            let Some(text) = line.strip_suffix(b"\n") else { break };
            found.line(Line { text, at }, &mut group, shared)?;
            at += line.len();
        }
        found.add(group.take()?, shared);
        Ok(found)
    }

    fn line<'a>(
        &mut self,
        line: Line<'a>,
        group: &mut Group<'a>,
        shared: &mut Shared,
    ) -> std::result::Result<(), Wrong<'a>> {
        if let Some(row) = RowLine::of(line) {
            if self.counts(row.by.as_deref()) {
                if !group.takes(&row) {
                    self.add(group.take()?, shared);
                }
                group.push(row);
            }
            return Ok(());
        }
        let failed = |error| line.wrong(error);
        let kind: Kind<'_> = serde_json::from_slice(line.text).map_err(failed)?;
        if kind.line == "begin" {
            self.add(group.take()?, shared);
            let start: Start = serde_json::from_slice(line.text).map_err(failed)?;
            self.rows.retain(|at, _| !start.again.contains(&at.0));
            self.starts.push(start);
            return Ok(());
        }
        if kind.line == "made" {
            self.made = Some(serde_json::from_slice(line.text).map_err(failed)?);
            return Ok(());
        }
        if !self.counts(kind.by.as_deref()) {
            return Ok(());
        }
        match &*kind.line {
            "row" => {
                self.add(group.take()?, shared);
                self.add(vec![alone(line)?], shared);
            }
            "pass" if self.device.is_none() || has_input_files(line.text) => {
                let PassResult { device, input_files, .. } =
                    serde_json::from_slice::<Pass>(line.text).map_err(failed)?.result;
                self.device.get_or_insert(device);
                let files = input_files.into_iter().map(|file| (file.path, file.sha256));
                self.input_sha256.extend(files);
            }
            "whole" => {
                let Whole { at } = serde_json::from_slice(line.text).map_err(failed)?;
                self.whole = Some(at);
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether what `by` wrote counts: it was the last to begin. What does not is counted.
    fn counts(&mut self, by: Option<&str>) -> bool {
        let counts = self.starts.last().is_some_and(|start| Some(&*start.id) == by);
        self.dropped += usize::from(!counts);
        counts
    }

    /// The machine that measured what is at this place.
    pub fn host(&self, place: (usize, usize)) -> &str {
        let start = self.by.get(&place).and_then(|&start| self.starts.get(start));
        start.map_or("", |start| start.host.as_str())
    }

    /// Adds the results of the last start.
    fn add(&mut self, rows: Vec<Placed>, shared: &mut Shared) {
        let only = match self.starts.last().map(|start| &start.devices[..]) {
            Some([device]) => Some(device.clone()),
            _ => None,
        };
        let start = self.starts.len().saturating_sub(1);
        for (place, row) in rows {
            if let Some(mut row) = row {
                self.by.insert(place, start);
                shared.keep_once(&mut row.metrics);
                row.device = row.device.or_else(|| only.clone());
                self.rows.insert(place, row);
            }
        }
    }
}

/// Whether the pass in `text` may have read files.
fn has_input_files(text: &[u8]) -> bool {
    memmem::find(text, b"\"input_files\"").is_some()
}
