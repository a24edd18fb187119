//! The launches of one measured range, where it is a pipeline of several.
//!
//! Input: a series. Output: for its first finished configuration the launches in the order in which
//! each kernel and shape came first, with how many there were; nothing where every configuration
//! launches once.

use std::collections::HashMap;
use std::io::{self, Write};

use comfy_table::{CellAlignment, LineStyle, TableStyle};
use gpuprof_model::measurement::LaunchRecord;
use gpuprof_model::run::{ConfigurationResult, SeriesResult, Status};
use gpuprof_model::series::without_place;
use gpuprof_model::text::one_line;

/// Nothing but a rule under the header.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));

/// The most kinds of launch that are shown.
const MOST: usize = 20;

/// Launches of one kernel and shape, and how many there were.
type Kind<'r> = (&'r LaunchRecord, u64);

/// Writes the table of the range of `series`, without borders.
///
/// # Errors
/// `out` could not be written.
pub(super) fn write(series: &SeriesResult, out: &mut dyn Write) -> io::Result<()> {
    let finished = || series.configurations.iter().filter(|row| row.status == Status::Finished);
    let Some(row) = finished().find(|row| row.launches.len() > 1) else { return Ok(()) };
    let kinds = kinds(row);
    let total = row.launches.len();
    writeln!(out, "\n {total} launches of {}", one_line(&row.configuration.to_string()))?;
    let rows = kinds.iter().take(MOST).map(|(launch, count)| {
        let kernel = one_line(without_place(&launch.kernel)).to_string();
        [count.to_string(), kernel, dimensions(launch.grid), dimensions(launch.block)]
    });
    table(&[], rows, out)?;
    if let Some(more) = kinds.len().checked_sub(MOST).filter(|&more| more > 0) {
        writeln!(out, " and {more} more kinds of launch")?;
    }
    Ok(())
}

/// Writes `rows` of launches, kernel, grid, block and `further` columns, without borders.
///
/// # Errors
/// `out` could not be written.
pub(super) fn table<R: IntoIterator<Item = String>>(
    further: &[&str],
    rows: impl Iterator<Item = R>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut table = comfy_table::Table::new();
    table.load_style(STYLE);
    table.set_header(["launches", "kernel", "grid", "block"].iter().chain(further));
    for row in rows {
        table.add_row(row);
    }
    // All but the kernel's name.
    for (_, column) in table.column_iter_mut().enumerate().filter(|(at, _)| *at != 1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.lines().try_for_each(|line| writeln!(out, "{}", line.trim_end()))
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
            Some((_, count)) => *count += 1,
            None => kinds.push((launch, 1)),
        }
    }
    kinds
}
