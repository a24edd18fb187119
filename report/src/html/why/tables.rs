//! The tables of sections at one configuration.
//!
//! Input: a configuration and the sections of its series. Output: each table with its nonzero rows;
//! a cell's tooltip is its metric.

use gpuprof_analysis::view::best;
use gpuprof_model::run::{ConfigurationResult, SectionColumns, SectionRow, SectionTable};
use maud::{Markup, PreEscaped, html};

use crate::number::Scale;

/// The tables; empty where no cell of any has a value.
pub(super) fn render(row: &ConfigurationResult, sections: &[SectionColumns]) -> Markup {
    let tables = sections.iter().flat_map(|section| &section.tables);
    let mut all = String::new();
    for table in tables {
        if let Some(shown) = one(row, table) {
            all.push_str(&shown.into_string());
        }
    }
    PreEscaped(all)
}

fn one(row: &ConfigurationResult, table: &SectionTable) -> Option<Markup> {
    let value = |name: &String| best::value(row, name);
    let lines =
        table.rows.iter().filter(|line| line.cells.iter().any(|name| value(name).is_some()));
    let lines: Vec<&SectionRow> = lines.collect();
    let moved = |line: &&SectionRow| line.cells.iter().any(|n| value(n).is_some_and(|v| v != 0.0));
    let (shown, idle): (Vec<&SectionRow>, Vec<&SectionRow>) = lines.iter().partition(|l| moved(l));
    (!lines.is_empty()).then(|| {
        html! {
            h4 { (table.title) }
            @if !shown.is_empty() {
                div.wide tabindex="0" role="region" aria-label=(table.title) {
                    table {
                        thead {
                            tr {
                                th scope="col" {}
                                @for column in &table.columns { th.number scope="col" { (column) } }
                            }
                        }
                        tbody {
                            @for line in &shown {
                                tr {
                                    th scope="row" { (line.label) }
                                    @for name in &line.cells { (cell(row, name)) }
                                }
                            }
                        }
                    }
                }
            }
            @if !idle.is_empty() {
                p.key { "Nothing of: " (idle.iter().map(|line| &*line.label).collect::<Vec<_>>().join(", ")) "." }
            }
        }
    })
}

fn cell(row: &ConfigurationResult, name: &str) -> Markup {
    let result = best::result(row, name);
    let text = result.zip(best::value(row, name)).map(|(result, value)| {
        let scale = Scale::choose(result.unit, &[value]);
        match scale.symbol {
            "" => scale.text(value),
            "%" => format!("{}%", scale.text(value)),
            symbol => format!("{} {symbol}", scale.text(value)),
        }
    });
    let reason = result.and_then(|result| result.value.as_ref().err());
    let title = (!name.is_empty()).then(|| match reason {
        Some(reason) => format!("{name}: unavailable, {reason}"),
        None => name.to_owned(),
    });
    html! {
        @match text {
            Some(text) => td.number title=[&title] { (text) },
            None => td.number.faint title=[title] { @if name.is_empty() { "" } @else { "–" } },
        }
    }
}
