//! A kernel on several emulated chips as text, before any layout: rows are configurations, columns
//! are chips.
//!
//! Input: a run and a view. Output: for each kernel on several chips its title, a sheet and notes.
//! The best row of each chip is marked. Columns have different chips, so none is marked among them.

use gpuprof_analysis::view::by_chip::{ByChip, groups};
use gpuprof_analysis::view::{View, best, columns};
use gpuprof_model::axis::{Axis, AxisKind};
use gpuprof_model::quantity::Unit;
use gpuprof_model::run::{ConfigurationResult, Run, SeriesResult, Status};

use super::cells::{Cell, Column, NO_VALUE, Sheet};
use super::estimates;
use super::number::Scale;

/// A kernel on several chips.
pub(super) struct ChipTable {
    /// The kernel and the metric, with its unit.
    pub title: String,
    /// A column for each axis, then one for each chip.
    pub sheet: Sheet,
    /// Its lines below the table.
    pub notes: Vec<String>,
}

/// The tables of `run` with at most so many rows.
pub(super) fn tables(run: &Run, view: &View, most: usize) -> Vec<ChipTable> {
    groups(run).iter().filter_map(|group| table(group, view, most)).collect()
}

fn table(group: &ByChip<'_>, view: &View, most: usize) -> Option<ChipTable> {
    let metric = group.metric(view)?;
    let viewed = view.within(group.series[0], most);
    let rows: Vec<&ConfigurationResult> =
        viewed.shown.iter().map(|&at| &viewed.series.configurations[at]).collect();
    let scale = scale(group, metric);
    let chips = group.series.iter().filter_map(|series| {
        let own = &series.configurations;
        let marks = group.marks(series, view);
        let cell = |row: &&ConfigurationResult| {
            let Some(at) = own.iter().position(|own| own.configuration == row.configuration) else {
                return Cell::plain(NO_VALUE);
            };
            let best = marks.get(at) == Some(&true);
            Cell { best, ..value(&own[at], metric, &scale) }
        };
        let title = series.id.chip?.to_string();
        let cells = rows.iter().map(cell).collect();
        Some(Column { title, behind: String::new(), numeric: true, cells })
    });
    let metrics: Vec<Column> = chips.collect();
    let axes = axes(group.series[0], &rows);
    let sign = group.series.iter().map(|series| estimates::sign(metric, &series.configurations));
    let sign = sign.max().filter(|sign| !sign.is_empty()).map(|sign| format!("{sign} "));
    let title = scale.titled(&format!("{}{metric}", sign.unwrap_or_default()));
    Some(ChipTable {
        title: format!("{} by chip: {title}", group.id),
        sheet: Sheet { axes, metrics },
        notes: notes(group, view, viewed.left_out),
    })
}

fn axes(series: &SeriesResult, rows: &[&ConfigurationResult]) -> Vec<Column> {
    let text = |row: &&ConfigurationResult, name: &str| {
        row.configuration.get(name).map_or_else(|| NO_VALUE.to_owned(), ToString::to_string)
    };
    let column = |axis: &Axis| {
        let texts = rows.iter().map(|row| text(row, &axis.name));
        Column::plain(&axis.name, axis.kind() != AxisKind::Word, texts)
    };
    series.axes.iter().map(column).collect()
}

/// One scale for all chips, so that columns can be compared.
fn scale(group: &ByChip<'_>, metric: &str) -> Scale {
    let unit_in = |series: &&SeriesResult| columns::unit_and_class(metric, &series.configurations);
    let unit = group.series.iter().find_map(unit_in).map_or(Unit::Count, |(unit, _)| unit);
    let rows = group.series.iter().flat_map(|series| &series.configurations);
    let values: Vec<f64> = rows.filter_map(|row| best::value(row, metric)).collect();
    let scale = Scale::choose(unit, &values);
    let mut series = group.series.iter();
    match series.any(|series| columns::is_estimated(metric, &series.configurations)) {
        true => scale.rounded(),
        false => scale,
    }
}

/// The value of a row, or its status.
fn value(row: &ConfigurationResult, metric: &str, scale: &Scale) -> Cell {
    let sign = estimates::sign(metric, std::slice::from_ref(row));
    match (best::value(row, metric), &row.status) {
        (Some(value), _) => Cell::plain(format!("{sign}{}", scale.text(value))),
        (None, Status::Finished) => Cell::plain(NO_VALUE),
        (None, status) => Cell::plain(status.word()),
    }
}

fn notes(group: &ByChip<'_>, view: &View, left_out: usize) -> Vec<String> {
    let mut notes = Vec::new();
    let bests = group.bests(view);
    if left_out > 0 {
        notes.push(format!("{left_out} more rows; `cargo gpuprof report --all` shows them"));
    }
    if let Some(metric) = group.decider(view).filter(|_| !bests.is_empty()) {
        let mut found: Vec<(String, Vec<String>)> = Vec::new();
        for (chip, row) in &bests {
            let key = row.configuration.to_string();
            match found.iter_mut().find(|(known, _)| *known == key) {
                Some((_, chips)) => chips.push(chip.to_string()),
                None => found.push((key, vec![chip.to_string()])),
            }
        }
        let kernels = found.iter().map(|(key, chips)| format!("{key} on {}", chips.join(", ")));
        notes.push(format!("best by {metric}: {}", kernels.collect::<Vec<_>>().join("; ")));
    }
    let unchecked: Vec<String> = group.unchecked().iter().map(ToString::to_string).collect();
    if !unchecked.is_empty() {
        notes.push(format!("not checked on hardware: {}", unchecked.join(", ")));
    }
    notes
}
