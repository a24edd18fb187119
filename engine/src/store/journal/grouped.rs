//! Lines of a journal with a row each, read together.
//!
//! Input: lines. Output: their results. Nine tenths of such a line are the series' common data: the
//! units of metrics, and the reasons for missing values. Lines that repeat this byte for byte are
//! parsed as one series with all their rows.

use std::ops::Range;

use gpuprof_model::run::{ConfigurationResult, SeriesResult};
use memchr::memmem;
use serde::Deserialize;

use super::line::LineKind;
use super::reader::{Entry, Invalid};

/// How many rows are parsed together, at most: as much of the journal is in memory twice.
const MOST: usize = 64;

/// How far into a line its row begins, at most.
const BEFORE_ROW: usize = 512;

const ROW: &[u8] = b",\"row\":{";
const CONFIGURATIONS: &[u8] = b"\"configurations\":[";
const END: &[u8] = b"],\"judgements\":[]}}";

/// The positions of a series and a configuration, and the result; none where a line has no row.
pub(super) type Placed = ((usize, usize), Option<ConfigurationResult>);

/// The line of a row as [`Journal`](super::Journal) writes it, taken apart and not yet parsed.
#[derive(Debug)]
struct RowLine {
    text: Vec<u8>,
    at: u64,
    /// The positions of series and configuration.
    place: (usize, usize),
    /// The place of the series' common data, up to the rows.
    head: Range<usize>,
    row: Range<usize>,
}

impl RowLine {
    /// The parts of `line`, if it has the usual form.
    fn split(line: Entry<'_>) -> Option<Self> {
        #[derive(Deserialize)]
        struct Positions {
            series: usize,
            configuration: usize,
        }
        let text = line.text;
        let before = memmem::find(&text[..text.len().min(BEFORE_ROW)], ROW)?;
        let series = before + ROW.len() - 1;
        let rows = series + memmem::find(&text[series..], CONFIGURATIONS)? + CONFIGURATIONS.len();
        let row = rows..rows + text[rows..].strip_suffix(END)?.len();
        let closed = [&text[..before], b"}"].concat();
        let at: Positions = serde_json::from_slice(&closed).ok()?;
        let place = (at.series, at.configuration);
        Some(Self { text: text.to_owned(), at: line.at, place, head: series..rows, row })
    }

    fn head(&self) -> &[u8] {
        &self.text[self.head.clone()]
    }

    fn row(&self) -> &[u8] {
        &self.text[self.row.clone()]
    }
}

/// The place of the row in `line` and its result; none where the line has no row.
///
/// # Errors
/// It is not the line of a row.
fn alone(line: Entry<'_>) -> Result<Placed, Invalid> {
    #[derive(Deserialize)]
    struct Row {
        series: usize,
        configuration: usize,
        row: SeriesResult,
    }
    let Row { series, configuration, row } = line.parse()?;
    Ok(((series, configuration), row.configurations.into_iter().next()))
}

/// Lines that differ in nothing but their rows.
#[derive(Debug, Default)]
pub(super) struct Group {
    lines: Vec<RowLine>,
}

impl Group {
    /// Takes `line` in, and the results out that cannot be parsed together with it.
    ///
    /// # Errors
    /// The first invalid line.
    pub(super) fn push(&mut self, line: Entry<'_>) -> Result<Vec<Placed>, Invalid> {
        let Some(row) = RowLine::split(line) else {
            let mut out = self.take()?;
            out.push(alone(line)?);
            return Ok(out);
        };
        let alike = self.lines.first().is_none_or(|first| first.head() == row.head());
        let out = if alike && self.lines.len() < MOST { Vec::new() } else { self.take()? };
        self.lines.push(row);
        Ok(out)
    }

    /// Takes all lines out: the place and the result of each.
    ///
    /// # Errors
    /// The first invalid line.
    pub(super) fn take(&mut self) -> Result<Vec<Placed>, Invalid> {
        let lines = std::mem::take(&mut self.lines);
        if let Some(rows) = parse_together(&lines) {
            return Ok(lines
                .iter()
                .map(|line| line.place)
                .zip(rows.into_iter().map(Some))
                .collect());
        }
        let entry =
            |line: &RowLine| alone(Entry { kind: LineKind::Row, text: &line.text, at: line.at });
        lines.iter().map(entry).collect()
    }
}

/// The rows of `lines`, one each; `None` where one of them has to be looked at alone.
fn parse_together(lines: &[RowLine]) -> Option<Vec<ConfigurationResult>> {
    let first = lines.first()?;
    let length = lines.iter().map(|line| line.row.len() + 1).sum::<usize>();
    let mut text = Vec::with_capacity(first.head.len() + length + END.len());
    text.extend_from_slice(first.head());
    for (number, line) in lines.iter().enumerate() {
        if number > 0 {
            text.push(b',');
        }
        text.extend_from_slice(line.row());
    }
    // The last brace closes the line.
    text.extend_from_slice(&END[..END.len() - 1]);
    let series: SeriesResult = serde_json::from_slice(&text).ok()?;
    (series.configurations.len() == lines.len()).then_some(series.configurations)
}
