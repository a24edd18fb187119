//! HTML: a run as one page that people open.
//!
//! Input: a run and a view. Output: one file that loads nothing: verdict first, then for each
//! series its charts, its best configuration, its tables and its noise; last its provenance. The
//! page is complete without its script, which adds sorting, filtering, columns and copying.
//! Invariants: every text is escaped, no character changes the direction of text, and a
//! content-security policy allows this style and this script by their hashes and nothing else,
//! because anyone may have written a stored run.

mod charted;
mod code;
mod cost;
mod files;
mod history;
mod links;
mod policy;
mod prose;
mod provenance;
mod rows;
mod section;
mod series;
mod source;
mod verdict;
mod why;

use std::io::{self, Write};

use gpuprof_analysis::gate::outcome::RunOutcome;
use gpuprof_analysis::view::View;
use gpuprof_analysis::view::by_device::{DeviceRows, parts};
use gpuprof_analysis::view::order::failures_first;
use gpuprof_model::run::Run;
use gpuprof_model::text::steers;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{Report, by_chip, changes};
pub use files::{ChartFile, chart_files};
pub use history::history_page;
use prose::prose;
use section::Section;

/// The most rows of all series of a page, so that a browser opens it, and the fewest of a series
/// that has as many.
const MOST_ROWS: usize = 1000;
const FEWEST_ROWS: usize = 10;

/// The style of a chart, on the page and in a separate file.
const CHART_STYLE: &str = include_str!("html/chart.css");

const STYLE: &str = concat!(
    include_str!("html/chart.css"),
    include_str!("html/style.css"),
    include_str!("html/source.css"),
    include_str!("html/why.css")
);
const SCRIPT: &str = include_str!("html/script.js");

/// One page without further files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Html {
    /// The outcome of the run, if it is known.
    pub outcome: Option<RunOutcome>,
}

impl Report for Html {
    fn takes_view(&self) -> bool {
        true
    }

    fn write_as(&self, view: &View, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        let parts: Vec<DeviceRows<'_>> = failures_first(run).into_iter().flat_map(parts).collect();
        let sections = sections(&parts, view);
        out.write_all(page(run, (self.outcome, view), &sections).as_bytes())
    }
}

/// A page with `\u{202e}` escapes for characters that change the direction of text or that no page
/// may contain: tags are escaped already, and our own text has no such characters.
fn escape_characters(page: &str) -> String {
    let mut out = String::with_capacity(page.len());
    for c in page.chars() {
        match steers(c) && c != '\n' && c != '\t' {
            true => out.extend(c.escape_unicode()),
            false => out.push(c),
        }
    }
    out
}

fn sections<'s>(parts: &'s [DeviceRows<'s>], view: &'s View) -> Vec<Section<'s>> {
    let most = (MOST_ROWS / parts.len().max(1)).max(FEWEST_ROWS);
    let section = |(at, part): (usize, &'s DeviceRows<'s>)| Section {
        at,
        part,
        viewed: view.within(&part.series, most),
        view,
    };
    parts.iter().enumerate().map(section).collect()
}

/// The kernels that several chips ran.
fn chips(run: &Run, view: &View) -> Markup {
    html! {
        @for table in by_chip::tables(run, view, MOST_ROWS) {
            section {
                h2 { (table.title) }
                (rows::of_sheet(&table.title, &table.sheet))
                @for note in &table.notes { p.key { (prose(note)) } }
            }
        }
    }
}

fn page(
    run: &Run,
    (outcome, view): (Option<RunOutcome>, &View),
    sections: &[Section<'_>],
) -> String {
    document(
        &format!("gpuprof: {}", run.id),
        &links::linked(&html! {
            header {
                h1 { "cargo gpuprof " small { (run.id) } }
                (verdict::sentence(run, outcome))
                (verdict::thresholds(sections))
            }
            @if sections.len() > 1 { (contents(sections)) }
            main {
                (chips(run, view))
                @for section in sections { (series::render(section, run)) }
            }
            (of_run(run))
            (provenance::render(run))
        }),
    )
}

/// A complete page around `body`.
fn document(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy::allow(STYLE, SCRIPT));
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (body)
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    escape_characters(&page.into_string())
}

/// Links to the series.
fn contents(sections: &[Section<'_>]) -> Markup {
    html! {
        nav aria-label="Series" {
            ul {
                @for section in sections {
                    li { a href={ "#" (section.id()) } { (section.part.series.id) } }
                }
            }
        }
    }
}

/// Notes on the run as a whole, and on its comparison.
fn of_run(run: &Run) -> Markup {
    let notes = changes::of_run(run);
    html! {
        @if !notes.is_empty() {
            section {
                h2 { "The run and its baseline" }
                dl.notes { @for (label, text) in &notes { dt { (label) } dd { (prose(text)) } } }
            }
        }
    }
}

#[cfg(test)]
#[path = "html/tests.rs"]
mod tests;
