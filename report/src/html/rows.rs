//! The table of all rows of a series, and of its sections.

use gpuprof_model::run::{SectionColumns, Status};
use maud::{Markup, html};

use super::section::Section;
use crate::cells::{Cell, Column, Sheet};

/// All shown rows, with a row's `id` for links.
pub(super) fn render(section: &Section<'_>) -> Markup {
    let sheet = Sheet::viewed(&section.viewed, section.view);
    let columns: Vec<&Column> = sheet.axes.iter().chain(&sheet.metrics).collect();
    let rows = &section.viewed.series.configurations;
    html! {
        (frame("Configurations", "rows", &columns, html! {
            @for (line, &row) in section.viewed.shown.iter().enumerate() {
                tr id=(section.row(row)) class=[failed(&rows[row].status)] {
                    @for column in &columns { (cell(column, &column.cells[line])) }
                }
            }
        }))
    }
}

/// The rows of a section of metrics; nothing where no row has any of it.
pub(super) fn of_section(section: &Section<'_>, columns: &SectionColumns) -> Option<Markup> {
    let sheet = Sheet::of_section(&section.viewed, columns)?;
    let all: Vec<&Column> = sheet.axes.iter().chain(&sheet.metrics).collect();
    Some(frame(&columns.title, "section", &all, rows_of(&all, section.viewed.shown.len())))
}

/// A whole sheet.
pub(super) fn of_sheet(title: &str, sheet: &Sheet) -> Markup {
    let all: Vec<&Column> = sheet.axes.iter().chain(&sheet.metrics).collect();
    let rows = all.first().map_or(0, |column| column.cells.len());
    frame(title, "section", &all, rows_of(&all, rows))
}

fn rows_of(all: &[&Column], rows: usize) -> Markup {
    html! {
        @for line in 0..rows {
            tr { @for column in all { (cell(column, &column.cells[line])) } }
        }
    }
}

fn frame(label: &str, class: &str, columns: &[&Column], body: Markup) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label=(label) {
            table class=(class) {
                thead { tr { @for column in columns { th scope="col" class=[number(column)] title=[behind(column)] { (title(column)) } } } }
                tbody { (body) }
            }
        }
    }
}

fn cell(column: &Column, cell: &Cell) -> Markup {
    html! {
        td class=[number(column)] {
            @if cell.best { span.mark title="best" { "★ " } }
            @if cell.tied { span.mark title="it is indistinguishable from the best" { "~ " } }
            (cell.text)
        }
    }
}

/// The title, which may break after an underscore, so that many columns fit.
fn title(column: &Column) -> Markup {
    html! {
        @for (at, word) in column.title.split_inclusive('_').enumerate() {
            @if at > 0 { wbr; }
            (word)
        }
    }
}

fn behind(column: &Column) -> Option<&str> {
    (!column.behind.is_empty()).then_some(&*column.behind)
}

fn number(column: &Column) -> Option<&'static str> {
    column.numeric.then_some("number")
}

fn failed(status: &Status) -> Option<&'static str> {
    match status {
        Status::Finished => None,
        Status::Invalid { .. } | Status::Skipped { .. } => Some("faint"),
        Status::Failed { .. } | Status::Timeout { .. } => Some("bad"),
    }
}
