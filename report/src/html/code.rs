//! The code of a series in two revisions, side by side.

use gpuprof_model::code::DiffLine;
use gpuprof_model::run::Run;
use maud::{Markup, html};

use super::prose::prose;
use super::section::Section;
use crate::code_diff::{Table, Text, code_changes, tables, texts};

/// The kernels of a series that changed.
pub(super) fn render(section: &Section<'_>, run: &Run) -> Markup {
    let id = section.part.series.id.to_string();
    html! {
        @for change in code_changes(run).iter().filter(|change| change.series == id) {
            details.source open[!change.costs.is_empty()] {
                summary { "Code of " (change.kernel) " before and after, at " (change.configuration) }
                @for cost in &change.costs { p { (prose(cost)) } }
                @for table in tables(run, change) { (numbers(&table)) }
                @for text in texts(change) {
                    h4 { (text.title) }
                    (side_by_side(&text))
                }
            }
        }
    }
}

/// Values before and after.
fn numbers(Table { title, rows }: &Table) -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { (title) } th.number scope="col" { "before" } th.number scope="col" { "after" } } }
            tbody {
                @for row in rows {
                    tr { td { (row.name) } td.number { (row.before) } td.number { (row.after) } }
                }
            }
        }
    }
}

fn side_by_side(text: &Text<'_>) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label=(text.title) {
            table.diff {
                thead { tr { th.number scope="col" { (text.numbers()) } th scope="col" { "before" } th.number scope="col" { (text.numbers()) } th scope="col" { "after" } } }
                tbody {
                    @for row in text.rows {
                        @if let Some(file) = &row.file { tr { th colspan="4" scope="rowgroup" { (file) } } }
                        tr { (side(text, row.before.as_ref(), row.same, "gone")) (side(text, row.after.as_ref(), row.same, "new")) }
                    }
                }
            }
        }
    }
}

fn side(text: &Text<'_>, line: Option<&DiffLine>, same: bool, class: &'static str) -> Markup {
    let class = if same || line.is_none() { "" } else { class };
    html! {
        td.number { @if let Some(line) = line { (text.number(line)) } }
        td.code.(class) { @if let Some(line) = line { (line.1) } }
    }
}
