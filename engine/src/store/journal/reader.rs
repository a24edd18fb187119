//! The lines of a journal, for a run that is resumed and for slices that are merged.
//!
//! Input: a journal. Output: the run's build and device, and, to a [`Listener`], every start and
//! each line that counts. Lines of a process that another one had taken the place of do not. A line
//! that differs from its checksum is refused; journals of older versions have no checksums.

use std::io::{self, BufRead};

use camino::Utf8Path;
use memchr::memmem;
use serde::Deserialize;

use super::checksum;
use super::line::{LineKind, Start};
use super::run_identity::RunIdentity;
use crate::store::untrusted::{place, wrong};
use gpuprof_system::error::{Failure, Result};

/// How far into a line its kind ends, at most.
const HEADER: usize = 256;

/// A line that counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) kind: LineKind,
    /// Without its line break.
    pub(super) text: &'a [u8],
    /// The byte of the journal at which it begins.
    pub(super) at: u64,
}

/// An invalid line.
#[derive(Debug)]
pub(super) struct Invalid {
    text: Vec<u8>,
    at: u64,
    error: serde_json::Error,
}

impl Invalid {
    /// That it is in the file at `path`.
    pub(super) fn at(self, path: &Utf8Path) -> Failure {
        let start = usize::try_from(self.at).unwrap_or(usize::MAX);
        wrong(format!("{path} is not a journal: {}", place(&self.text, start, &self.error)))
    }
}

impl<'a> Entry<'a> {
    /// The line as `T`.
    ///
    /// # Errors
    /// It is none.
    pub(super) fn parse<T: Deserialize<'a>>(&self) -> std::result::Result<T, Invalid> {
        let invalid = |error| Invalid { text: self.text.to_owned(), at: self.at, error };
        serde_json::from_slice(self.text).map_err(invalid)
    }
}

/// Takes the lines of a journal.
pub(super) trait Listener {
    /// Takes a start; the next lines are its own.
    ///
    /// # Errors
    /// An earlier line is invalid.
    fn begin(&mut self, start: Start) -> std::result::Result<(), Invalid>;

    /// Takes a line of the last start.
    ///
    /// # Errors
    /// It or an earlier line is invalid.
    fn take(&mut self, line: Entry<'_>) -> std::result::Result<(), Invalid>;
}

/// The properties of a whole journal.
#[derive(Debug, Default)]
pub(super) struct Extent {
    /// The run's build and device; none if not even that was written.
    pub(super) made: Option<RunIdentity>,
    /// How many bytes are whole lines.
    pub(super) length: u64,
    /// How many lines do not count.
    pub(super) dropped: usize,
}

/// The writer and the kind of a line.
#[derive(Deserialize)]
struct Header {
    #[serde(default)]
    by: Option<String>,
    line: LineKind,
}

impl Header {
    /// The header of `text`. A row, the most of its line, is left to the caller.
    fn read(text: &[u8]) -> serde_json::Result<Self> {
        const ROW: &[u8] = b"\"line\":\"row\"";
        let end = memmem::find(&text[..text.len().min(HEADER)], ROW).map(|start| start + ROW.len());
        let closed = end.map(|end| [&text[..end], b"}"].concat());
        let before_row = closed.and_then(|closed| serde_json::from_slice(&closed).ok());
        before_row.map_or_else(|| serde_json::from_slice(text), Ok)
    }
}

/// The version of the tool in `first`, the first line of a journal.
fn written_by(first: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct By {
        tool_version: String,
    }
    Some(serde_json::from_slice::<By>(first).ok()?.tool_version)
}

/// Refuses `text`, the line with this `number` of the file at `path`, if it is not as it was
/// written. Only in a journal that was begun without checksums (not `sealed`) may a line lack one.
fn check(text: &[u8], sealed: bool, number: usize, path: &Utf8Path) -> Result<()> {
    let wrong_sum = match checksum::holds(text) {
        Some(true) => return Ok(()),
        None if !sealed => return Ok(()),
        Some(false) => "differs from its checksum",
        None => "has no checksum",
    };
    Err(wrong(format!(
        "{path}, line {number}: the line {wrong_sum}, so it was changed after it was written; \
         measure again, without --resume"
    )))
}

/// Gives the lines of `journal`, the file at `path`, to `listener`; nothing if another version than
/// `expected` began it, since it may write other lines.
///
/// # Errors
/// It cannot be read, or is not a journal (exit code 96).
pub(super) fn read(
    mut journal: impl BufRead,
    path: &Utf8Path,
    expected: Option<&str>,
    listener: &mut impl Listener,
) -> Result<Option<Extent>> {
    let failed = |e: io::Error| wrong(format!("cannot read {path}: {e}"));
    let mut extent = Extent::default();
    let mut last = None;
    let mut line = Vec::new();
    let (mut number, mut sealed) = (0, false);
    loop {
        line.clear();
        journal.read_until(b'\n', &mut line).map_err(failed)?;
        if let (None, Some(expected)) = (&extent.made, expected)
            && written_by(&line).is_some_and(|version| version != expected)
        {
            return Ok(None);
        }
        let Some(text) = line.strip_suffix(b"\n") else { break };
        let at = extent.length;
        let Header { by, line: kind } = Header::read(text)
            .map_err(|error| Invalid { text: text.to_owned(), at, error }.at(path))?;
        number += 1;
        check(text, sealed, number, path)?;
        let entry = Entry { kind, text, at };
        if (kind == LineKind::Made) != extent.made.is_none() {
            return Err(wrong(format!(
                "{path} is not a journal: byte {at}: only the first line may, and must, describe \
                 the run"
            )));
        }
        match kind {
            LineKind::Made => {
                extent.made = Some(entry.parse().map_err(|line| line.at(path))?);
                sealed = checksum::holds(text).is_some();
            }
            LineKind::Begin => {
                let start: Start = entry.parse().map_err(|line| line.at(path))?;
                last = Some(start.id.clone());
                listener.begin(start).map_err(|line| line.at(path))?;
            }
            _ if by.as_deref() == last.as_deref() => {
                listener.take(entry).map_err(|line| line.at(path))?
            }
            _ => extent.dropped += 1,
        }
        extent.length += line.len() as u64;
    }
    Ok(Some(extent))
}
