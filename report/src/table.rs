//! The table: a run as a person reads it, on a terminal or in the log of a CI job.
//!
//! Input: a run, whether to colour, and the width of a line. Output: the conclusion of the run, for
//! each series a heading, a table, notes and judged thresholds; then the summary. Tables that are
//! too wide are cut into several, each with the axes in front, since broken numbers cannot be
//! compared. The best value of a column has a `*` in front, and values indistinguishable from it a
//! `~`, so that nothing depends on colour.

use std::io::{self, Write};

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, TableStyle};
use gpuprof_model::advice::Advice;
use gpuprof_model::comparison::Outcome;
use gpuprof_model::run::{Run, SeriesResult};
use gpuprof_model::text::{one_line, printable};
use gpuprof_model::verdict::{Judgement, NotApplicable, Weight};

use super::curve::Curve;
use super::evidence::{evidence, others};
use super::note::Note;
use super::notes;
use super::paint::Paint;
use super::sheet::{self, Column, Sheet};
use super::{
    Report, Summary, advice, axes, changes, conclusion, grid, launches, measured_by, place_of, plot,
};
use gpuprof_analysis::view::by_device::parts;
use gpuprof_analysis::view::{SeriesView, View};
use gpuprof_system::wrap::wrapped;
use gpuprof_system::{pad, printable_output, sanitize};

/// Nothing but a rule under the header.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));

/// The mark in front of the best value of a column.
const MARK: &str = "* ";

/// The mark in front of a value that is indistinguishable from the best.
const TIED: &str = "~ ";

/// The most rows of a series by default: they fit a screen with their plot.
const MOST_ROWS: usize = 16;

/// The most lines of grids next to them.
const MOST_GRID_LINES: usize = 16;

/// Blanks around a column's content, one on either side.
const PADDING: u16 = 2;

/// The report for people.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Table {
    /// Whether to colour.
    pub colour: bool,
    /// The most columns of text a line may have; `None` where lines may be as long as they like.
    pub width: Option<u16>,
}

impl Report for Table {
    fn takes_view(&self) -> bool {
        true
    }

    fn write_as(&self, view: &View, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        // Next to our colours, untrusted ones would be indistinguishable.
        match self.colour.then(|| sanitize::run(run)).flatten() {
            Some(calm) => {
                printable_output::shown_in_colour(out, |out| self.whole(view, &calm, out))
            }
            None => {
                let plain = Self { colour: false, ..*self };
                printable_output::show_plain(out, |out| plain.whole(view, run, out))
            }
        }
    }
}

impl Table {
    fn whole(&self, view: &View, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        conclusion::screen::write(run, self.width, Paint(self.colour), out)?;
        for series in &run.series {
            for part in parts(series) {
                let place = place_of(&part, &run.provenance);
                let advised = advice::select_advice(run, &part);
                self.series(view, (&part.series, advised), &place, out)?;
                writeln!(out)?;
            }
        }
        self.end(run, out)
    }

    /// Writes what is said of the run as a whole, and the line that ends it.
    ///
    /// # Errors
    /// `out` could not be written.
    pub fn end(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        let paint = Paint(self.colour);
        if let Some(merged) = measured_by::sentence(run) {
            writeln!(out, " {}\n", paint.faint(one_line(&merged)))?;
        }
        let notes = changes::of_run(run);
        for (label, text) in &notes {
            let label = match *label {
                "baseline" | "differs" | "new" | "note" => paint.faint(label),
                _ => paint.doubtful(label),
            };
            writeln!(out, " {label}  {text}")?;
        }
        if !notes.is_empty() {
            writeln!(out)?;
        }
        conclusion::screen::write_sentence(run, paint, out)?;
        self.summary(&Summary::count(run), out)
    }

    /// Writes one device's part of a series: heading, table, notes, advice, thresholds. `on` names
    /// the device.
    ///
    /// # Errors
    /// `out` could not be written.
    pub(super) fn series(
        &self,
        view: &View,
        (series, advised): (&SeriesResult, &[Advice]),
        on: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let paint = Paint(self.colour);
        let viewed = view.within(series, MOST_ROWS);
        let columns = sheet::metric_names(series, view);
        let place = paint.faint(format_args!("{}:{}", one_line(&series.file), series.line));
        writeln!(out, "{}  {place}  {on}", paint.bold(one_line(&series.id.to_string())))?;
        if series.configurations.is_empty() {
            writeln!(out, "no configuration")?;
        } else {
            let sheet = Sheet::viewed(&viewed, view);
            for metrics in self.fitting(&sheet) {
                writeln!(out)?;
                for line in self.layout(&sheet.axes, metrics).lines() {
                    writeln!(out, "{}", highlighted(line.trim_end(), paint))?;
                }
            }
        }
        write_remarks(&notes::view::list_remarks(&viewed, view), self, out)?;
        self.write_shapes(&viewed, view, out)?;
        for section in &viewed.series.sections {
            let Some(sheet) = Sheet::of_section(&viewed, section) else { continue };
            writeln!(out, "\n{}", paint.bold(one_line(&section.title)))?;
            for metrics in self.fitting(&sheet) {
                for line in self.layout(&sheet.axes, metrics).lines() {
                    writeln!(out, "{}", highlighted(line.trim_end(), paint))?;
                }
            }
        }
        launches::write(&viewed.series, out)?;
        write_notes(&notes::list_notes(&viewed.series, &columns), self, out)?;
        advice::write(advised, self.width, paint, out)?;
        write_judgements(&series.judgements, self, out)?;
        for NotApplicable { threshold, .. } in &series.not_applicable {
            let threshold = one_line(threshold);
            writeln!(out, " {}", paint.faint(format_args!("not for this device: {threshold}")))?;
        }
        write_changes(series, paint, out)
    }

    /// Writes the grids and the effect of each axis.
    fn write_shapes(
        &self,
        viewed: &SeriesView<'_>,
        view: &View,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let paint = Paint(self.colour);
        let Some(metric) = view.headline(&viewed.series) else { return Ok(()) };
        let room = self.width.map(|width| width.saturating_sub(1));
        let fits = |rows: usize| view.all || rows <= MOST_ROWS * MOST_GRID_LINES;
        let whole = view.sort.is_none() && view.top.is_none();
        let mut grid = match whole && fits(viewed.series.configurations.len()) {
            true => grid::lines(&viewed.series, metric, room, paint),
            false => Vec::new(),
        };
        if !view.all && grid.len() > MOST_GRID_LINES {
            grid.clear();
        }
        let curve = Curve::choose(&viewed.series, metric);
        let plot = curve.map(|curve| plot::lines(&curve, room)).unwrap_or_default();
        for lines in [plot, grid, axes::lines(&viewed.series, metric)] {
            if !lines.is_empty() {
                writeln!(out)?;
            }
            for line in lines {
                writeln!(out, "{}", format!(" {line}").trim_end())?;
            }
        }
        Ok(())
    }

    /// Writes the line that ends a run.
    ///
    /// # Errors
    /// `out` could not be written.
    pub fn summary(&self, summary: &Summary, out: &mut dyn Write) -> io::Result<()> {
        let paint = Paint(self.colour);
        let (configurations, thresholds) = (&summary.configurations, &summary.thresholds);
        let line = if configurations.failed + configurations.timeout + thresholds.fail > 0 {
            paint.bad(summary)
        } else if configurations.skipped > 0
            || thresholds.total > thresholds.pass + thresholds.improved
        {
            paint.doubtful(summary)
        } else {
            paint.bold(summary)
        };
        writeln!(out, "{line}")
    }

    /// Cuts the metric columns into groups that fit the width next to the axes, at least one in
    /// each.
    fn fitting<'s>(&self, sheet: &'s Sheet) -> Vec<&'s [Column]> {
        let Some(limit) = self.width else { return vec![&sheet.metrics] };
        let widths = |columns: &[Column]| -> Vec<usize> {
            let widths = self.layout(&[], columns).column_max_content_widths();
            widths.into_iter().map(|width| usize::from(width + PADDING)).collect()
        };
        let axes: usize = widths(&sheet.axes).iter().sum();
        let room = usize::from(limit).saturating_sub(axes);
        let (mut cuts, mut used) = (vec![0], 0);
        for (index, width) in widths(&sheet.metrics).into_iter().enumerate() {
            if used > 0 && used + width > room {
                cuts.push(index);
                used = 0;
            }
            used += width;
        }
        cuts.push(sheet.metrics.len());
        cuts.windows(2).map(|cut| &sheet.metrics[cut[0]..cut[1]]).collect()
    }

    fn layout(&self, axes: &[Column], metrics: &[Column]) -> comfy_table::Table {
        let columns: Vec<&Column> = axes.iter().chain(metrics).collect();
        let mut table = comfy_table::Table::new();
        table.load_style(STYLE).set_header(columns.iter().map(|column| one_line(&column.title)));
        let rows = columns.first().map_or(0, |column| column.cells.len());
        for row in 0..rows {
            let text = |column: &&Column| {
                let cell = &column.cells[row];
                match (cell.best, cell.tied) {
                    (true, _) => format!("{MARK}{}", one_line(&cell.text)),
                    (false, true) => format!("{TIED}{}", one_line(&cell.text)),
                    (false, false) => one_line(&cell.text),
                }
            };
            table.add_row(columns.iter().map(text));
        }
        for (laid_out, column) in table.column_iter_mut().zip(&columns) {
            if column.numeric {
                laid_out.set_cell_alignment(CellAlignment::Right);
            }
        }
        if let Some(width) = self.width {
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
        }
        table
    }
}

/// Colours the marked values of a line; a mark is the only asterisk a table holds.
fn highlighted(line: &str, paint: Paint) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(MARK) {
        let value = &rest[start + MARK.len()..];
        let end = start + MARK.len() + value.find(' ').unwrap_or(value.len());
        out.push_str(&rest[..start]);
        out.push_str(&paint.good(&rest[start..end]));
        rest = &rest[end..];
    }
    out + rest
}

fn write_remarks(remarks: &[String], table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let paint = Paint(table.colour);
    if remarks.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    remarks.iter().try_for_each(|remark| {
        writeln!(out, " {}", paint.faint(wrapped(&printable(remark), table.width, 1, 3)))
    })
}

fn write_notes(notes: &[Note], table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let paint = Paint(table.colour);
    if notes.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let width = notes.iter().map(|note| note.label.len()).max().unwrap_or(0);
    for note in notes {
        let label = format!("{:width$}", note.label);
        let label = match note.weight {
            Weight::Bad => paint.bad(label),
            Weight::Doubtful | Weight::Warning => paint.doubtful(label),
            Weight::Fine => paint.faint(label),
        };
        let text = format!("{}: {}", one_line(&note.subject), note.text);
        writeln!(out, " {label}  {}", wrapped(&text, table.width, width + 3, width + 4))?;
    }
    Ok(())
}

fn write_judgements(
    judgements: &[Judgement],
    table: &Table,
    out: &mut dyn Write,
) -> io::Result<()> {
    let paint = Paint(table.colour);
    if judgements.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let word = |judgement: &Judgement| judgement.word().to_uppercase();
    let words = judgements.iter().map(|j| word(j).len()).max().unwrap_or(0);
    let texts =
        judgements.iter().map(|j| one_line(&j.threshold.text).chars().count()).max().unwrap_or(0);
    for judgement in judgements {
        let place = format!("[{}]", one_line(&judgement.written_in()));
        let threshold = pad::left(&one_line(&judgement.threshold.text), texts);
        let text = format!("{threshold}  {}  {place}", evidence(judgement));
        let text = wrapped(&text, table.width, words + 3, words + 5);
        let text = match text.strip_suffix(&place) {
            Some(before) => format!("{before}{}", paint.faint(&place)),
            None => text,
        };
        let word = format!("{:words$}", word(judgement));
        writeln!(out, " {}  {text}", paint.weight(judgement.weight(), word))?;
        for line in others(judgement) {
            let line = wrapped(&line, table.width, words + 5, words + 7);
            writeln!(out, " {:words$}    {line}", "")?;
        }
    }
    Ok(())
}

fn write_changes(series: &SeriesResult, paint: Paint, out: &mut dyn Write) -> io::Result<()> {
    let Some((lines, counts)) = changes::list_changes(series) else { return Ok(()) };
    writeln!(out)?;
    let words = lines.iter().map(|l| l.outcome.to_string().len()).max().unwrap_or(0);
    let subjects = lines.iter().map(|l| one_line(&l.subject).chars().count()).max().unwrap_or(0);
    for changes::Line { outcome, subject, text } in &lines {
        let word = format!("{:words$}", outcome.to_string());
        let word = match outcome {
            Outcome::Worse => paint.bad(word),
            Outcome::Better => paint.good(word),
            _ => paint.doubtful(word),
        };
        writeln!(out, " {word}  {}  {text}", pad::left(&one_line(subject), subjects))?;
    }
    writeln!(out, " {}", paint.faint(counts))
}
