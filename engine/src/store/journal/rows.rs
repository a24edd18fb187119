//! The results in the journal of a slice, for a merge.
//!
//! Input: the bytes of a journal. Output: the result of every configuration that has ended, with
//! its device; passes are skipped, for speed. Lines of a process that was replaced do not count.

use std::collections::BTreeMap;

use camino::Utf8Path;
use gpuprof_model::measurement::{DeviceRecord, PassResult};
use gpuprof_model::run::{ConfigurationResult, SharedRows};
use memchr::memmem;
use serde::Deserialize;

use super::grouped::{Group, Placed};
use super::line::{LineKind, Start};
use super::reader::{self, Entry, Invalid, Listener};
use super::run_identity::RunIdentity;
use gpuprof_system::error::Result;

/// The contents of the journal of a slice.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rows {
    /// The run's build and device; none if not even that was written.
    pub made: Option<RunIdentity>,
    /// The results, by the positions of series and configuration in the slice.
    pub rows: BTreeMap<(usize, usize), ConfigurationResult>,
    /// The position of the start that measured each of them.
    pub by: BTreeMap<(usize, usize), usize>,
    /// When everything had been measured, if it has.
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

#[derive(Deserialize)]
struct Pass {
    result: PassResult,
}

#[derive(Deserialize)]
struct Whole {
    at: String,
}

impl Rows {
    /// The results of the journal in `bytes`, from the file `path`; `shared` has the rows' common
    /// data.
    ///
    /// # Errors
    /// It is not a journal (exit code 96).
    pub fn parse(bytes: &[u8], path: &Utf8Path, shared: &mut SharedRows) -> Result<Self> {
        let mut rows = Reading { found: Self::default(), group: Group::default(), shared };
        let extent = reader::read(bytes, path, None, &mut rows)?.unwrap_or_default();
        rows.flush().map_err(|line| line.at(path))?;
        Ok(Self { made: extent.made, dropped: extent.dropped, ..rows.found })
    }

    /// The machine that measured what is at this place.
    pub fn host(&self, place: (usize, usize)) -> &str {
        let start = self.by.get(&place).and_then(|&start| self.starts.get(start));
        start.map_or("", |start| start.host.as_str())
    }
}

/// The results so far, and the rows that are yet to be parsed.
struct Reading<'s> {
    found: Rows,
    group: Group,
    shared: &'s mut SharedRows,
}

impl Listener for Reading<'_> {
    fn begin(&mut self, start: Start) -> std::result::Result<(), Invalid> {
        self.flush()?;
        self.found.rows.retain(|at, _| !start.again.contains(&at.0));
        self.found.starts.push(start);
        Ok(())
    }

    fn take(&mut self, line: Entry<'_>) -> std::result::Result<(), Invalid> {
        match line.kind {
            LineKind::Row => {
                let rows = self.group.push(line)?;
                self.add(rows);
            }
            LineKind::Pass => {
                let Rows { device, input_sha256, .. } = &mut self.found;
                if device.is_none() || has_input_files(line.text) {
                    let Pass { result } = line.parse()?;
                    device.get_or_insert(result.device);
                    let files = result.input_files.into_iter();
                    input_sha256.extend(files.map(|file| (file.path, file.sha256)));
                }
            }
            LineKind::Whole => self.found.whole = Some(line.parse::<Whole>()?.at),
            // Their outcome is in the rows, and the reader takes the first two itself.
            LineKind::Made
            | LineKind::Begin
            | LineKind::Energy
            | LineKind::Counters
            | LineKind::CounterStep
            | LineKind::FailedAttempt
            | LineKind::Ended
            | LineKind::Retried
            | LineKind::Done => {}
        }
        Ok(())
    }
}

impl Reading<'_> {
    /// Parses the rows of the group.
    fn flush(&mut self) -> std::result::Result<(), Invalid> {
        let rows = self.group.take()?;
        self.add(rows);
        Ok(())
    }

    /// Adds the results of the last start.
    fn add(&mut self, rows: Vec<Placed>) {
        let Rows { starts, by, rows: all, .. } = &mut self.found;
        let only = match starts.last().map(|start| &start.devices[..]) {
            Some([device]) => Some(device.clone()),
            _ => None,
        };
        let start = starts.len().saturating_sub(1);
        for (place, row) in rows {
            if let Some(mut row) = row {
                by.insert(place, start);
                self.shared.keep_once(&mut row.metrics, &mut row.code);
                row.device = row.device.or_else(|| only.clone());
                all.insert(place, row);
            }
        }
    }
}

/// Whether the pass in `text` may have read files.
fn has_input_files(text: &[u8]) -> bool {
    memmem::find(text, b"\"input_files\"").is_some()
}
