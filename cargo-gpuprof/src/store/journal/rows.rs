//! The results that the journal of a slice holds, for who merges slices.
//!
//! Input: the bytes of a journal. Output: the result of every configuration that has ended, with
//! the device it was measured on; passes are passed over, so that this takes no longer than it
//! must. What a process wrote after another one had begun in its place does not count.

use std::borrow::Cow;
use std::collections::BTreeMap;

use camino::Utf8Path;
use gpuprof_model::measurement::{DeviceRecord, PassResult};
use gpuprof_model::run::{ConfigurationResult, SeriesResult, Shared};
use memchr::memmem;
use serde::Deserialize;

use super::line::Start;
use crate::error::Result;
use crate::store::untrusted::{place, wrong};

/// What a journal holds of a slice.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rows {
    /// The results, by the positions of series and configuration in the slice.
    pub rows: BTreeMap<(usize, usize), ConfigurationResult>,
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
struct Row {
    series: usize,
    configuration: usize,
    row: SeriesResult,
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
        let mut found = Self::default();
        let mut at = 0;
        for line in bytes.split_inclusive(|&b| b == b'\n') {
            let Some(text) = line.strip_suffix(b"\n") else { break };
            found
                .line(text, shared)
                .map_err(|e| wrong(format!("{path} is not a journal: {}", place(text, at, &e))))?;
            at += line.len();
        }
        Ok(found)
    }

    fn line(&mut self, text: &[u8], shared: &mut Shared) -> serde_json::Result<()> {
        let kind: Kind<'_> = serde_json::from_slice(text)?;
        if kind.line == "begin" {
            let start: Start = serde_json::from_slice(text)?;
            self.rows.retain(|at, _| !start.again.contains(&at.0));
            self.starts.push(start);
            return Ok(());
        }
        if kind.line == "made" {
            return Ok(());
        }
        let Some(start) = self.starts.last().filter(|start| Some(&*start.id) == kind.by.as_deref())
        else {
            self.dropped += 1;
            return Ok(());
        };
        match &*kind.line {
            "row" => {
                let Row { series, configuration, row } = serde_json::from_slice(text)?;
                let only = match &start.devices[..] {
                    [device] => Some(device.clone()),
                    _ => None,
                };
                if let Some(mut row) = row.configurations.into_iter().next() {
                    shared.keep_once(&mut row.metrics);
                    row.device = row.device.or(only);
                    self.rows.insert((series, configuration), row);
                }
            }
            "pass" if self.device.is_none() || memmem::find(text, b"\"input_files\"").is_some() => {
                let PassResult { device, input_files, .. } =
                    serde_json::from_slice::<Pass>(text)?.result;
                self.device.get_or_insert(device);
                let files = input_files.into_iter().map(|file| (file.path, file.sha256));
                self.input_sha256.extend(files);
            }
            "whole" => self.whole = Some(serde_json::from_slice::<Whole>(text)?.at),
            _ => {}
        }
        Ok(())
    }
}
