//! The code of a series in two revisions, side by side.

use gpuprof_model::code::{CodeChange, DiffLine, DiffRow};
use gpuprof_model::run::Run;
use maud::{Markup, html};

use super::prose::prose;
use super::section::Section;
use crate::code_diff::{code_changes, facts, opcodes};

/// The kernels of a series that changed.
pub(super) fn render(section: &Section<'_>, run: &Run) -> Markup {
    let id = section.part.series.id.to_string();
    html! {
        @for change in code_changes(run).iter().filter(|change| change.series == id) {
            details.source open[!change.costs.is_empty()] {
                summary { "Code of " (change.kernel) " before and after, at " (change.configuration) }
                @for cost in &change.costs { p { (prose(cost)) } }
                (numbers(change))
                @for (title, rows) in [("Source", &change.source), ("PTX", &change.ptx)] {
                    @if !rows.is_empty() {
                        h4 { (title) }
                        (side_by_side(title, rows))
                    }
                }
            }
        }
    }
}

/// Facts and opcodes that differ.
fn numbers(change: &CodeChange) -> Markup {
    let rows: Vec<_> = facts(change).into_iter().chain(opcodes(change)).collect();
    html! {
        @if !rows.is_empty() {
            table {
                thead { tr { th scope="col" { "of the kernel" } th.number scope="col" { "before" } th.number scope="col" { "after" } } }
                tbody {
                    @for (name, before, after) in &rows {
                        tr { td { (name) } td.number { (before) } td.number { (after) } }
                    }
                }
            }
        }
    }
}

fn side_by_side(title: &str, rows: &[DiffRow]) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label=(title) {
            table.diff {
                thead { tr { th.number scope="col" { "line" } th scope="col" { "before" } th.number scope="col" { "line" } th scope="col" { "after" } } }
                tbody {
                    @for row in rows {
                        tr { (side(row.before.as_ref(), row.same, "gone")) (side(row.after.as_ref(), row.same, "new")) }
                    }
                }
            }
        }
    }
}

fn side(line: Option<&DiffLine>, same: bool, class: &'static str) -> Markup {
    let class = if same || line.is_none() { "" } else { class };
    html! {
        td.number { @if let Some(line) = line { (line.0) } }
        td.code.(class) { @if let Some(line) = line { (line.1) } }
    }
}
