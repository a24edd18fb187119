//! Lines of a journal with a row each, read together.
//!
//! Input: lines. Output: their results. Nine tenths of such a line are what the series says once of
//! all its rows: the units of metrics, and the reasons for which some have no value. Lines that
//! repeat this byte for byte are parsed as one series with all their rows.

use std::borrow::Cow;

use gpuprof_model::run::{ConfigurationResult, SeriesResult};
use memchr::memmem;
use serde::Deserialize;

/// How many rows are parsed together, at most: as much of the journal is in memory twice.
const MOST: usize = 64;

/// How far into a line its row begins, at most.
const BEFORE_ROW: usize = 512;

const ROW: &[u8] = b",\"row\":{";
const CONFIGURATIONS: &[u8] = b"\"configurations\":[";
const END: &[u8] = b"],\"judgements\":[]}}";

/// The positions of a series and a configuration, and the result; none where a line has no row.
pub(super) type Placed = ((usize, usize), Option<ConfigurationResult>);

/// A line, and the byte of the journal at which it begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) text: &'a [u8],
    pub(super) at: usize,
}

/// A line that is not what it should be.
#[derive(Debug)]
pub(super) struct Wrong<'a> {
    pub(super) line: Line<'a>,
    pub(super) error: serde_json::Error,
}

impl<'a> Line<'a> {
    /// The error `error` in this line.
    pub(super) fn wrong(self, error: serde_json::Error) -> Wrong<'a> {
        Wrong { line: self, error }
    }
}

/// The line of a row as [`Journal`](super::Journal) writes it, taken apart and not yet parsed.
#[derive(Debug)]
pub(super) struct RowLine<'a> {
    line: Line<'a>,
    /// Who wrote it.
    pub(super) by: Option<Cow<'a, str>>,
    /// The positions of series and configuration.
    place: (usize, usize),
    /// What its series says of all rows, up to those.
    head: &'a [u8],
    row: &'a [u8],
}

/// What a line says before its row.
#[derive(Deserialize)]
struct Before<'a> {
    #[serde(borrow, default)]
    by: Option<Cow<'a, str>>,
    #[serde(borrow)]
    line: Cow<'a, str>,
    series: usize,
    configuration: usize,
}

impl<'a> RowLine<'a> {
    /// Of `line`, where it has the usual form.
    pub(super) fn of(line: Line<'a>) -> Option<Self> {
        let text = line.text;
        let before = memmem::find(&text[..text.len().min(BEFORE_ROW)], ROW)?;
        let series = before + ROW.len() - 1;
        let rows = series + memmem::find(&text[series..], CONFIGURATIONS)? + CONFIGURATIONS.len();
        let row = text[rows..].strip_suffix(END)?;
        let closed = [&text[..before], b"}"].concat();
        let Before { by, line: kind, series: of, configuration } =
            serde_json::from_slice(&closed).ok()?;
        let by = by.map(|by| Cow::Owned(by.into_owned()));
        (kind == "row").then_some(Self {
            line,
            by,
            place: (of, configuration),
            head: &text[series..rows],
            row,
        })
    }

    /// Its result, parsed alone.
    fn alone(&self) -> Result<Option<ConfigurationResult>, Wrong<'a>> {
        alone(self.line).map(|(_, row)| row)
    }
}

/// The place of the row in `line` and its result; none where the line has no row.
///
/// # Errors
/// It is not the line of a row.
pub(super) fn alone(line: Line<'_>) -> Result<Placed, Wrong<'_>> {
    #[derive(Deserialize)]
    struct Row {
        series: usize,
        configuration: usize,
        row: SeriesResult,
    }
    let Row { series, configuration, row } =
        serde_json::from_slice(line.text).map_err(|e| line.wrong(e))?;
    Ok(((series, configuration), row.configurations.into_iter().next()))
}

/// Lines that differ in nothing but their rows.
#[derive(Debug, Default)]
pub(super) struct Group<'a> {
    lines: Vec<RowLine<'a>>,
}

impl<'a> Group<'a> {
    /// Whether `line` can be parsed together with those that are here.
    pub(super) fn takes(&self, line: &RowLine<'a>) -> bool {
        self.lines.first().is_none_or(|first| first.head == line.head) && self.lines.len() < MOST
    }

    pub(super) fn push(&mut self, line: RowLine<'a>) {
        self.lines.push(line);
    }

    /// Takes all lines out: the place and the result of each.
    ///
    /// # Errors
    /// The first line that is not what it should be.
    pub(super) fn take(&mut self) -> Result<Vec<Placed>, Wrong<'a>> {
        let lines = std::mem::take(&mut self.lines);
        if let Some(rows) = together(&lines) {
            return Ok(lines
                .iter()
                .map(|line| line.place)
                .zip(rows.into_iter().map(Some))
                .collect());
        }
        lines.iter().map(|line| Ok((line.place, line.alone()?))).collect()
    }
}

/// The rows of `lines`, one each; `None` where one of them has to be looked at alone.
fn together(lines: &[RowLine<'_>]) -> Option<Vec<ConfigurationResult>> {
    let first = lines.first()?;
    let length = lines.iter().map(|line| line.row.len() + 1).sum::<usize>();
    let mut text = Vec::with_capacity(first.head.len() + length + END.len());
    text.extend_from_slice(first.head);
    for (number, line) in lines.iter().enumerate() {
        if number > 0 {
            text.push(b',');
        }
        text.extend_from_slice(line.row);
    }
    // The last brace closes the line.
    text.extend_from_slice(&END[..END.len() - 1]);
    let series: SeriesResult = serde_json::from_slice(&text).ok()?;
    (series.configurations.len() == lines.len()).then_some(series.configurations)
}
