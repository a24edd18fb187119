//! Markdown: a run as a page, such as the summary of a GitHub job.
//!
//! Input: a run. Output: for each series a heading, a table with the best values in bold,
//! notes and a table of thresholds; then the summary. All text that is not ours is escaped: a pipe
//! in a threshold or a tag in the tail of a process' stderr cannot change the page.

use std::io::{self, Write};

use gpuprof_model::run::{Run, SeriesResult};
use gpuprof_model::verdict::{Judgement, Weight};

use super::escaped::{markdown as escaped, markdown_paragraph};
use super::evidence::{evidence, others};
use super::sheet::{Cell, NO_VALUE, Sheet, metric_names};
use super::{Report, Summary, changes, notes, place_of, remarks};
use gpuprof_analysis::view::by_device::parts;
use gpuprof_analysis::view::{View, Viewed};

/// GitHub-flavoured Markdown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Markdown;

impl Report for Markdown {
    fn takes_view(&self) -> bool {
        true
    }

    fn write_as(&self, view: &View, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        for part in run.series.iter().flat_map(parts) {
            let series = &*part.series;
            writeln!(out, "### {}\n", escaped(&series.id.to_string()))?;
            let place = markdown_paragraph(&format!("{}:{}", series.file, series.line));
            writeln!(out, "{place} {}\n", escaped(&place_of(&part, &run.provenance)))?;
            let viewed = view.of(series);
            write_table(&viewed, view, out)?;
            write_remarks(&remarks::of(&viewed, view), out)?;
            write_notes(&viewed.series, &metric_names(series, view), out)?;
            write_judgements(&series.judgements, out)?;
            write_changes(series, out)?;
        }
        let notes = changes::of_run(run);
        for (label, text) in &notes {
            writeln!(out, "* {label}: {}", escaped(text))?;
        }
        if !notes.is_empty() {
            writeln!(out)?;
        }
        writeln!(out, "**{}**", Summary::of(run))
    }
}

fn write_table(viewed: &Viewed<'_>, view: &View, out: &mut dyn Write) -> io::Result<()> {
    let series = &*viewed.series;
    if series.configurations.is_empty() {
        return writeln!(out, "no configuration\n");
    }
    write_sheet(&Sheet::viewed(viewed, view), viewed.shown.len(), out)?;
    for section in &series.sections {
        if let Some(sheet) = Sheet::of_section(viewed, section) {
            writeln!(out, "#### {}\n", escaped(&section.title))?;
            write_sheet(&sheet, viewed.shown.len(), out)?;
        }
    }
    Ok(())
}

fn write_sheet(sheet: &Sheet, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    let columns: Vec<_> = sheet.axes.iter().chain(&sheet.metrics).collect();
    write_row(columns.iter().map(|column| escaped(&column.title)), out)?;
    write_row(columns.iter().map(|c| if c.numeric { "---:" } else { ":---" }.to_owned()), out)?;
    for row in 0..rows {
        let text = |cell: &Cell| match (cell.best, cell.tied) {
            (true, _) => format!("**{}**", escaped(&cell.text)),
            (false, true) => escaped(&format!("~ {}", cell.text)),
            (false, false) => escaped(&cell.text),
        };
        write_row(columns.iter().map(|column| text(&column.cells[row])), out)?;
    }
    writeln!(out)
}

fn write_remarks(remarks: &[String], out: &mut dyn Write) -> io::Result<()> {
    remarks.iter().try_for_each(|remark| writeln!(out, "* {}", escaped(remark)))?;
    if remarks.is_empty() { Ok(()) } else { writeln!(out) }
}

fn write_notes(series: &SeriesResult, columns: &[String], out: &mut dyn Write) -> io::Result<()> {
    let notes = notes::of(series, columns);
    for note in &notes {
        // A dash at the start of a list item would begin a list of its own.
        let label = if note.label == NO_VALUE { "\\-" } else { note.label };
        writeln!(out, "* {label} {}: {}", escaped(&note.subject), escaped(&note.text))?;
    }
    if notes.is_empty() { Ok(()) } else { writeln!(out) }
}

fn write_judgements(judgements: &[Judgement], out: &mut dyn Write) -> io::Result<()> {
    if judgements.is_empty() {
        return Ok(());
    }
    write_row(["verdict", "threshold", "decided by", "written in"].map(str::to_owned), out)?;
    write_row([":---"; 4].map(str::to_owned), out)?;
    for judgement in judgements {
        let cells = [
            format!("{} {}", sign(judgement), judgement.word()),
            escaped(&judgement.threshold),
            escaped(&[&[evidence(judgement)], &others(judgement)[..]].concat().join("\n")),
            escaped(&judgement.written_in()),
        ];
        write_row(cells, out)?;
    }
    writeln!(out)
}

fn write_changes(series: &SeriesResult, out: &mut dyn Write) -> io::Result<()> {
    let Some((lines, counts)) = changes::of(series) else { return Ok(()) };
    if !lines.is_empty() {
        write_row(["change", "of", "from the baseline"].map(str::to_owned), out)?;
        write_row([":---"; 3].map(str::to_owned), out)?;
        for changes::Line { outcome, subject, text } in &lines {
            write_row([outcome.to_string(), escaped(subject), escaped(text)], out)?;
        }
        writeln!(out)?;
    }
    writeln!(out, "{}\n", escaped(&counts))
}

fn write_row(cells: impl IntoIterator<Item = String>, out: &mut dyn Write) -> io::Result<()> {
    let cells: Vec<String> = cells.into_iter().collect();
    writeln!(out, "| {} |", cells.join(" | "))
}

fn sign(judgement: &Judgement) -> char {
    match judgement.weight() {
        Weight::Fine => '✅',
        Weight::Bad => '❌',
        Weight::Warning | Weight::Doubtful => '⚠',
    }
}
