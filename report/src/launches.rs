//! The launches of one measured range, if it is a pipeline of several.
//!
//! Input: a series. Output: a [`Range`] for its first finished configuration that launches more
//! than once: the launches in the order in which each kernel and shape came first, with how many
//! there were and, on a GPU, how long they ran together. Terminal, Markdown and page show the same
//! one.

use std::collections::HashMap;

use comfy_table::{CellAlignment, LineStyle, TableStyle};
use gpuprof_model::measurement::LaunchRecord;
use gpuprof_model::quantity::{Quantity, Unit};
use gpuprof_model::run::{ConfigurationResult, SeriesResult, Status};
use gpuprof_model::series::without_place;
use gpuprof_model::text::one_line;
use gpuprof_system::symbol::name_in_cpp;

/// Nothing but a rule under the header.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));

/// The most kinds of launch that are shown.
const MOST: usize = 20;

/// Launches of one kernel and shape.
struct Kind<'r> {
    launch: &'r LaunchRecord,
    count: u64,
    /// How long they ran together, in nanoseconds, if the device's own times are known.
    time: Option<u64>,
}

/// The columns of a table of launches.
pub(super) const HEAD: [&str; 4] = ["launches", "kernel", "grid", "block"];

/// The further columns where times are known: the time of all launches of a row, and its part of
/// the time of all rows.
const TIMES: [&str; 2] = ["time", "share"];

/// The launches of one measured range.
pub(super) struct Range {
    /// Its title: `3 launches of block=32,n=1024`.
    pub(super) title: String,
    /// The columns: [`HEAD`], and more where times are known.
    pub(super) head: Vec<&'static str>,
    /// The cells of each kind of launch, under `head`.
    pub(super) rows: Vec<Vec<String>>,
    /// That there are more kinds than rows.
    pub(super) more: Option<String>,
}

impl Range {
    /// The range of `series`; none where every configuration launches once.
    pub(super) fn find(series: &SeriesResult) -> Option<Self> {
        let mut finished =
            series.configurations.iter().filter(|row| row.status == Status::Finished);
        let row = finished.find(|row| row.launches.len() > 1)?;
        let kinds = kinds(row);
        let all: Option<u64> = kinds.iter().map(|kind| kind.time).sum();
        let rows = kinds.iter().take(MOST).map(|Kind { launch, count, time }| {
            let kernel = name_in_cpp(&launch.kernel)
                .unwrap_or_else(|| without_place(&launch.kernel).to_owned());
            let mut row =
                vec![count.to_string(), kernel, dimensions(launch.grid), dimensions(launch.block)];
            if let (Some(time), Some(all)) = (time, all) {
                let (time, all) = (*time as f64, all as f64);
                row.push(Quantity::new(time, Unit::Nanoseconds).to_string());
                row.push(Quantity::new(100.0 * time / all, Unit::Percent).to_string());
            }
            row
        });
        let more = kinds.len().saturating_sub(MOST);
        Some(Self {
            title: format!("{} launches of {}", row.launches.len(), row.configuration),
            head: HEAD.into_iter().chain(all.into_iter().flat_map(|_| TIMES)).collect(),
            rows: rows.collect(),
            more: (more > 0).then(|| format!("and {more} more kinds of launch")),
        })
    }
}

/// The table of the range of `series`, without borders.
pub(super) fn lines(series: &SeriesResult) -> Vec<String> {
    let Some(Range { title, head, rows, more }) = Range::find(series) else { return Vec::new() };
    let calm = |row: Vec<String>| row.into_iter().map(|cell| one_line(&cell).to_string());
    let mut lines = vec![format!(" {}", one_line(&title))];
    lines.extend(table(&head[HEAD.len()..], rows.into_iter().map(calm)));
    lines.extend(more.map(|more| format!(" {more}")));
    lines
}

/// A table of `rows` of launches, kernel, grid, block and `further` columns, without borders.
pub(super) fn table<R: IntoIterator<Item = String>>(
    further: &[&str],
    rows: impl Iterator<Item = R>,
) -> Vec<String> {
    let mut table = comfy_table::Table::new();
    table.load_style(STYLE);
    table.set_header(HEAD.iter().chain(further));
    for row in rows {
        table.add_row(row);
    }
    // All but the kernel's name.
    for (_, column) in table.column_iter_mut().enumerate().filter(|(at, _)| *at != 1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

/// `256`, `16x16`, `8x8x4`.
pub(super) fn dimensions([x, y, z]: [u32; 3]) -> String {
    match (y, z) {
        (1, 1) => x.to_string(),
        (_, 1) => format!("{x}x{y}"),
        _ => format!("{x}x{y}x{z}"),
    }
}

/// The launches of `row` by kernel and shape.
fn kinds(row: &ConfigurationResult) -> Vec<Kind<'_>> {
    let mut kinds: Vec<Kind<'_>> = Vec::new();
    let mut places = HashMap::new();
    for launch in &row.launches {
        let LaunchRecord { kernel, grid, block, shared_bytes, cluster, .. } = launch;
        let at = *places.entry((kernel, grid, block, shared_bytes, cluster)).or_insert(kinds.len());
        match kinds.get_mut(at) {
            Some(kind) => {
                kind.count += 1;
                kind.time = kind.time.zip(launch.duration_ns).map(|(sum, time)| sum + time);
            }
            None => kinds.push(Kind { launch, count: 1, time: launch.duration_ns }),
        }
    }
    kinds
}
