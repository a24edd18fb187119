//! The launches of one measured range, where it is a pipeline of several.
//!
//! Input: a series. Output: for its first finished configuration the launches in the order in which
//! each kernel and shape came first, with how many there were; nothing where every configuration
//! launches once.

use std::io::{self, Write};

use comfy_table::CellAlignment;
use gpuprof_model::measurement::LaunchRecord;
use gpuprof_model::run::{ConfigurationResult, SeriesResult, Status};
use gpuprof_model::series::without_place;
use gpuprof_model::text::one_line;

use super::emulated::{STYLE, dimensions};

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
    let mut table = comfy_table::Table::new();
    table.load_style(STYLE);
    table.set_header(["launches", "kernel", "grid", "block"]);
    for (launch, count) in kinds.iter().take(MOST) {
        let kernel = one_line(without_place(&launch.kernel)).to_string();
        let shape = [dimensions(launch.grid), dimensions(launch.block)];
        table.add_row([count.to_string(), kernel].into_iter().chain(shape));
    }
    for (_, column) in table.column_iter_mut().enumerate().filter(|(at, _)| *at != 1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.lines().try_for_each(|line| writeln!(out, "{}", line.trim_end()))?;
    if let Some(more) = kinds.len().checked_sub(MOST).filter(|&more| more > 0) {
        writeln!(out, " and {more} more kinds of launch")?;
    }
    Ok(())
}

/// The launches of `row` by kernel and shape.
fn kinds(row: &ConfigurationResult) -> Vec<Kind<'_>> {
    let mut kinds: Vec<Kind<'_>> = Vec::new();
    for launch in &row.launches {
        let alike = |(other, _): &&mut Kind<'_>| {
            let shape = |it: &LaunchRecord| (it.grid, it.block, it.shared_bytes, it.cluster);
            other.kernel == launch.kernel && shape(other) == shape(launch)
        };
        match kinds.iter_mut().find(alike) {
            Some((_, count)) => *count += 1,
            None => kinds.push((launch, 1)),
        }
    }
    kinds
}
