//! Markdown: a run as a page, such as the summary of a GitHub job.
//!
//! Input: a run. Output: the conclusion of the run; for each series, failed ones first, a heading,
//! violated thresholds, changes, a table with the best values in bold, a chart, notes, and the
//! thresholds that hold; then the summary. Long tables are folded and cut, and series left out,
//! until the page fits GitHub's limit; it says what is missing. All untrusted text is escaped: a
//! pipe in a threshold or a tag in the tail of a process's stderr cannot change the page.

use std::io::{self, Write};
use std::iter;

use gpuprof_model::advice::Advice;
use gpuprof_model::run::{Run, SeriesResult};
use gpuprof_model::verdict::{Judgement, Weight};

use super::by_chip::{self, ChipTable};
use super::cells::{Cell, Column, NO_VALUE, Sheet, metric_names};
use super::curve::Curve;
use super::escaped::{markdown as escaped, markdown_paragraph};
use super::judgement::{evidence, others};
use super::launches::{Range, Room};
use super::{
    Report, Summary, advice, changes, conclusion, mermaid, notes, over_time, place_of, timeline,
};
use gpuprof_analysis::gate::outcome::RunOutcome;
use gpuprof_analysis::view::by_device::{DeviceRows, parts};
use gpuprof_analysis::view::order::failures_first;
use gpuprof_analysis::view::{SeriesView, View};

/// GitHub-flavoured Markdown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Markdown {
    /// The outcome of the run, if it is known.
    pub outcome: Option<RunOutcome>,
}

/// The most bytes of a page: GitHub refuses comments of more than 65,536 characters.
const MOST_BYTES: usize = 60_000;

/// How many rows a series shows, and how many more it folds away; the first of these with which the
/// page is small enough.
const ROOMS: [(usize, usize); 4] = [(16, 250), (16, 0), (4, 0), (1, 0)];

/// The most changes of a series that are not folded away.
const MOST_CHANGES: usize = 20;

/// The most notes of a series, and of the run.
const MOST_NOTES: usize = 20;

impl Report for Markdown {
    fn takes_view(&self) -> bool {
        true
    }

    fn write_as(&self, view: &View, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        let (begin, end) = (begin(run, self.outcome)?, end(run)?);
        let around = begin.len() + end.len();
        let mut sections = Vec::new();
        for room in ROOMS {
            sections = sections_of(run, view, room)?;
            if sections.iter().map(Vec::len).sum::<usize>() + around <= MOST_BYTES {
                break;
            }
        }
        out.write_all(&begin)?;
        let mut left = MOST_BYTES.saturating_sub(around);
        let mut left_out = 0;
        for section in &sections {
            match left.checked_sub(section.len()) {
                Some(rest) => {
                    out.write_all(section)?;
                    left = rest;
                }
                None => left_out += 1,
            }
        }
        if left_out > 0 {
            writeln!(
                out,
                "{left_out} more of {} series are not on this page, for which there is a limit of \
                 {MOST_BYTES} bytes; `cargo gpuprof report` shows them.\n",
                sections.len()
            )?;
        }
        let mut chips = Vec::new();
        write_chips(run, view, &mut chips)?;
        if chips.len() <= left {
            out.write_all(&chips)?;
        }
        out.write_all(&end)
    }
}

/// The kernels that several chips ran.
fn write_chips(run: &Run, view: &View, out: &mut dyn Write) -> io::Result<()> {
    for ChipTable { title, sheet, notes } in by_chip::tables(run, view, ROOMS[0].0) {
        writeln!(out, "### {}\n", escaped(&title))?;
        let rows = sheet.metrics[0].cells.len();
        write_sheet(&sheet, rows, out)?;
        write_remarks(&notes, out)?;
    }
    Ok(())
}

/// The text of each series.
fn sections_of(run: &Run, view: &View, room: (usize, usize)) -> io::Result<Vec<Vec<u8>>> {
    let section = |part: DeviceRows<'_>| {
        let mut out = Vec::new();
        write_series(&part, run, (view, room), &mut out).map(|()| out)
    };
    failures_first(run).into_iter().flat_map(parts).map(section).collect()
}

fn write_series(
    part: &DeviceRows<'_>,
    run: &Run,
    (view, (most, folded)): (&View, (usize, usize)),
    out: &mut dyn Write,
) -> io::Result<()> {
    let series = &*part.series;
    writeln!(out, "### {}\n", escaped(&series.id.to_string()))?;
    let place = markdown_paragraph(&format!("{}:{}", series.file, series.line));
    writeln!(out, "{place} {}\n", escaped(&place_of(part, &run.provenance)))?;
    // Whoever asks for every row elsewhere asks for no page that is refused.
    let view = &View { all: false, verbose: view.all || view.verbose, ..view.clone() };
    let viewed = view.within(series, most);
    let (passed, open): (Vec<&Judgement>, Vec<_>) =
        series.judgements.iter().partition(|judgement| judgement.weight() == Weight::Fine);
    write_judgements(&open, out)?;
    write_changes(series, folded, out)?;
    write_table(&viewed, view, out)?;
    if viewed.left_out > 0 && folded > 0 {
        write_folded(&view.within(series, folded), view, out)?;
    }
    let metric = view.headline(&viewed.series);
    if let Some(curve) = metric.and_then(|metric| Curve::choose(&viewed.series, metric)) {
        writeln!(out, "```mermaid\n{}```\n", mermaid::chart(&curve))?;
    }
    write_remarks(&notes::view::list_remarks(&viewed, view), out)?;
    let metrics = metric_names(series, view);
    let timeline = timeline::tables(&viewed.series).into_iter();
    let timeline = timeline.flat_map(|(work, calls)| iter::once(work).chain(calls));
    let room = Room { rows: most, configurations: most };
    let over_time = over_time::tables(&viewed.series, room);
    let ranges = Range::all(&viewed.series, &metrics, room).into_iter();
    ranges.chain(timeline).chain(over_time).try_for_each(|range| write_launches(range, out))?;
    write_notes(&viewed.series, (&metrics, view.verbose), out)?;
    write_advice(advice::select_advice(run, part), out)?;
    write_judgements(&passed, out)
}

/// What is said of the run as a whole.
fn end(run: &Run) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    let notes = changes::of_run(run);
    for (label, text) in notes.iter().take(MOST_NOTES) {
        writeln!(out, "* {label}: {}", escaped(text))?;
    }
    write_more(notes.len(), &mut out)?;
    if !notes.is_empty() {
        writeln!(out)?;
    }
    writeln!(out, "**{}**", Summary::count(run))?;
    Ok(out)
}

/// How many of `notes` were left out.
fn write_more(notes: usize, out: &mut dyn Write) -> io::Result<()> {
    match notes.saturating_sub(MOST_NOTES) {
        0 => Ok(()),
        more => writeln!(out, "* and {more} more; `cargo gpuprof report` shows them"),
    }
}

/// A table that exceeds the room, folded.
fn write_folded(viewed: &SeriesView<'_>, view: &View, out: &mut dyn Write) -> io::Result<()> {
    let (few, all) = (viewed.shown.len(), viewed.shown.len() + viewed.left_out);
    let label = if few == all { format!("All {all} rows") } else { format!("{few} of {all} rows") };
    writeln!(out, "<details><summary>{label}</summary>\n")?;
    write_sheet(&Sheet::viewed(viewed, view), few, out)?;
    writeln!(out, "</details>\n")
}

/// The conclusion of the run: the sentence, its basis, and its lists.
fn begin(run: &Run, outcome: Option<RunOutcome>) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    if let Some(told) = conclusion::conclude_ended(run, outcome) {
        write_conclusion(&told, &mut out)?;
    }
    Ok(out)
}

fn write_conclusion(told: &conclusion::ConclusionText, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "## {} {}\n", conclusion::sign(told.weight), escaped(&told.sentence))?;
    if !told.notes.is_empty() {
        writeln!(out, "{}\n", escaped(&told.notes.join(" ")))?;
    }
    for list in &told.lists {
        writeln!(out, "**{}**\n", list.title)?;
        if list.columns.is_empty() {
            list.lines.iter().try_for_each(|line| writeln!(out, "* {}", escaped(line)))?;
        } else {
            write_row(list.columns.iter().map(|column| column.title.to_owned()), out)?;
            let side = |numeric| if numeric { "---:" } else { ":---" }.to_owned();
            write_row(list.columns.iter().map(|column| side(column.numeric)), out)?;
            for row in 0..list.columns[0].cells.len() {
                write_row(list.columns.iter().map(|column| escaped(&column.cells[row])), out)?;
            }
        }
        writeln!(out)?;
        for rest in &list.rest {
            writeln!(out, "{}\n", escaped(rest))?;
        }
    }
    Ok(())
}

fn write_table(viewed: &SeriesView<'_>, view: &View, out: &mut dyn Write) -> io::Result<()> {
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

/// A table of the launches of a measured range.
fn write_launches(Range { title, sheet, more }: Range, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}\n", escaped(&title))?;
    let columns: Vec<&Column> = sheet.axes.iter().chain(&sheet.metrics).collect();
    let side = |column: &&Column| if column.numeric { "---:" } else { ":---" }.to_owned();
    write_row(columns.iter().map(|column| escaped(&column.title)), out)?;
    write_row(columns.iter().map(side), out)?;
    for row in 0..columns[0].cells.len() {
        write_row(columns.iter().map(|column| escaped(&column.cells[row].text)), out)?;
    }
    writeln!(out)?;
    more.map_or(Ok(()), |more| writeln!(out, "{more}\n"))
}

fn write_notes(
    series: &SeriesResult,
    (columns, verbose): (&[String], bool),
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut notes = notes::list_notes(series, columns, notes::METRICS_NAMED);
    notes.extend(verbose.then(|| notes::list_noise(series)).into_iter().flatten());
    for note in notes.iter().take(MOST_NOTES) {
        // A dash at the start of a list item would begin a nested list.
        let label = if note.label == NO_VALUE { "\\-" } else { note.label };
        writeln!(out, "* {label} {}: {}", escaped(&note.subject), escaped(&note.text))?;
    }
    write_more(notes.len(), out)?;
    if notes.is_empty() { Ok(()) } else { writeln!(out) }
}

/// What is advised, folded: a reader of a pull request looks at the verdict first.
fn write_advice(pieces: &[Advice], out: &mut dyn Write) -> io::Result<()> {
    if pieces.is_empty() {
        return Ok(());
    }
    let count =
        if pieces.len() == 1 { "one piece".to_owned() } else { format!("{} pieces", pieces.len()) };
    writeln!(out, "<details><summary>Advice: {count}</summary>\n")?;
    write_row(["worth", "advice"].map(str::to_owned), out)?;
    write_row([":---"; 2].map(str::to_owned), out)?;
    for piece in pieces.iter().take(MOST_NOTES) {
        write_row([escaped(&advice::worth(piece)), escaped(&advice::describe_advice(piece))], out)?;
    }
    writeln!(out, "\n{}\n", escaped(advice::KEY))?;
    writeln!(out, "</details>\n")
}

fn write_judgements(judgements: &[&Judgement], out: &mut dyn Write) -> io::Result<()> {
    if judgements.is_empty() {
        return Ok(());
    }
    write_row(["verdict", "threshold", "decided by", "written in"].map(str::to_owned), out)?;
    write_row([":---"; 4].map(str::to_owned), out)?;
    for judgement in judgements {
        let cells = [
            format!("{} {}", conclusion::sign(judgement.weight()), judgement.word()),
            escaped(&judgement.threshold.text),
            escaped(
                &[&[evidence(judgement).to_string()], &others(judgement)[..]].concat().join("\n"),
            ),
            escaped(&judgement.written_in()),
        ];
        write_row(cells, out)?;
    }
    writeln!(out)
}

/// The changes since the baseline; of many the first, and up to `folded` more folded away.
fn write_changes(series: &SeriesResult, folded: usize, out: &mut dyn Write) -> io::Result<()> {
    let Some((lines, counts)) = changes::list_changes(series) else { return Ok(()) };
    writeln!(out, "{}\n", escaped(&counts))?;
    let (first, more) = lines.split_at(lines.len().min(MOST_CHANGES));
    write_change_table(first, out)?;
    let shown = &more[..more.len().min(folded)];
    if !shown.is_empty() {
        writeln!(out, "<details><summary>{} more changes</summary>\n", shown.len())?;
        write_change_table(shown, out)?;
        writeln!(out, "</details>\n")?;
    }
    match more.len() - shown.len() {
        0 => Ok(()),
        left => writeln!(out, "{left} more changes: `cargo gpuprof report --all` shows them.\n"),
    }
}

fn write_change_table(lines: &[changes::Line], out: &mut dyn Write) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    write_row(["change", "of", "from the baseline"].map(str::to_owned), out)?;
    write_row([":---"; 3].map(str::to_owned), out)?;
    for changes::Line { outcome, subject, text } in lines {
        write_row([outcome.to_string(), escaped(subject), escaped(text)], out)?;
    }
    writeln!(out)
}

fn write_row(cells: impl IntoIterator<Item = String>, out: &mut dyn Write) -> io::Result<()> {
    let cells: Vec<String> = cells.into_iter().collect();
    writeln!(out, "| {} |", cells.join(" | "))
}
