//! The table: a run as a person reads it, on a terminal or in the log of a CI job.
//!
//! Input: a run, whether to colour, and the width of a line. Output: the conclusion of the run, for
//! each series a heading, violated thresholds, changes, a table and notes; then the summary, which
//! also precedes series that need more than a screen. Series that failed come first. Unless all is
//! asked for, one series fits a screen, and each of many has a few lines. The best value of a
//! column has a `*` in front, and values indistinguishable from it a `~`, so that nothing depends
//! on colour.

mod series;
mod sheets;

use std::io::{self, Write};

use gpuprof_analysis::view::View;
use gpuprof_analysis::view::by_device::{DeviceRows, parts};
use gpuprof_analysis::view::order::failures_first;
use gpuprof_model::run::Run;
use gpuprof_model::text::one_line;
use gpuprof_system::wrap::wrapped;
use gpuprof_system::{printable_output, sanitize};

use self::series::Style;
use super::paint::Paint;
use super::table_room::{Detail, height};
use super::{Report, Summary, advice, by_chip, changes, conclusion, measured_by, place_of};

/// The most notes on a run, unless all are shown.
const MOST_NOTES: usize = 10;

/// The most rows of a kernel on several chips, unless all are shown.
const MOST_ROWS_OF_CHIPS: usize = 20;

/// The text after series of which something is left out.
const LEFT_OUT: &str = "cargo gpuprof report --all shows what is left out here";

/// The report for people.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Table {
    /// Whether to colour.
    pub colour: bool,
    /// The most columns of text a line may have, on a terminal. Elsewhere lines are as long as
    /// their text, so that a log can be searched, and tables have 100 columns unless all is shown.
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
        let paint = Paint(self.colour);
        let parts: Vec<DeviceRows<'_>> = failures_first(run).into_iter().flat_map(parts).collect();
        let detail = Detail::choose(view, parts.len());
        let (width, columns) = (self.width, detail.columns(self.width));
        let counts = Summary::count(run);
        let mut begin = conclusion::screen::lines(run, (width, detail.limits(false).list), paint);
        if detail.may_exceed_screen(parts.len()) {
            let counted = summary(&counts, width, paint);
            if begin.is_empty() {
                begin = counted;
                begin.push(String::new());
            } else {
                begin.splice(1..1, counted);
            }
        }
        let end = ending(run, &counts, (detail, width), paint);
        // The line on what is left out, and the blank line before it.
        let around = height(&begin, columns) + height(&end, columns) + 2;
        let room = detail.room(parts.len(), around);
        write_lines(&begin, out)?;
        let (mut last, mut anything) = (String::new(), false);
        for part in &parts {
            let place = place_of(part, &run.provenance);
            // A series without values does not say which it has.
            let rest = last.strip_prefix(&place);
            let is_said = rest.is_some_and(|more| more.is_empty() || more.starts_with(", "));
            let on = if detail == Detail::Digest && is_said { "" } else { &place };
            let advised = advice::select_advice(run, part);
            let blocks = |short| {
                let limits = detail.limits(short);
                let skipped = counts.reason_in_full();
                let sources = &run.provenance.sources;
                let style = Style { view, detail, limits, width, columns, paint, sources, skipped };
                series::blocks((&part.series, advised), on, style)
            };
            let loose = blocks(false);
            let fitting = if loose.fits(detail, room) { loose } else { blocks(true) };
            let (lines, left_out) = fitting.fit(detail, room);
            write_lines(&lines, out)?;
            writeln!(out)?;
            anything |= left_out;
            if !is_said {
                last = place;
            }
        }
        write_chips(run, view, (detail, columns), paint, out)?;
        if anything {
            writeln!(out, " {}\n", paint.faint(LEFT_OUT))?;
        }
        write_lines(&end, out)
    }
}

/// Writes the kernels that several chips ran.
fn write_chips(
    run: &Run,
    view: &View,
    (detail, columns): (Detail, Option<u16>),
    paint: Paint,
    out: &mut dyn Write,
) -> io::Result<()> {
    let most = if detail == Detail::All { usize::MAX } else { MOST_ROWS_OF_CHIPS };
    for table in by_chip::tables(run, view, most) {
        writeln!(out, "{}", paint.bold(one_line(&table.title)))?;
        let tables = sheets::tables(&table.sheet, (columns, true), paint);
        write_lines(&tables.concat(), out)?;
        let notes = table.notes.iter().map(|note| wrapped(&one_line(note), columns, 1, 3));
        notes.into_iter().try_for_each(|note| writeln!(out, " {}", paint.faint(note)))?;
        writeln!(out)?;
    }
    Ok(())
}

/// What is said of the run as a whole, and the lines that end it.
fn ending(
    run: &Run,
    counts: &Summary,
    (detail, width): (Detail, Option<u16>),
    paint: Paint,
) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut add = |text: String| lines.extend(text.lines().map(str::to_owned));
    if let Some(merged) = measured_by::sentence(run) {
        add(format!(" {}\n\n", paint.faint(wrapped(&one_line(&merged), width, 1, 3))));
    }
    let notes = changes::of_run(run);
    let most = if detail == Detail::All { usize::MAX } else { MOST_NOTES };
    for (label, text) in notes.iter().take(most) {
        let text = wrapped(text, width, label.len() + 3, label.len() + 4);
        let label = match *label {
            "baseline" | "differs" | "new" | "note" => paint.faint(label),
            _ => paint.doubtful(label),
        };
        add(format!(" {label}  {text}"));
    }
    if let Some(more @ 1..) = notes.len().checked_sub(most) {
        add(format!(" … {more} more notes"));
    }
    if !notes.is_empty() {
        add("\n".to_owned());
    }
    lines.extend(conclusion::screen::sentence(run, paint));
    lines.extend(summary(counts, width, paint));
    lines
}

/// The line that ends a run, or several where it is longer than a line.
fn summary(summary: &Summary, width: Option<u16>, paint: Paint) -> Vec<String> {
    let (configurations, thresholds) = (&summary.configurations, &summary.thresholds);
    let painted = |line: &str| {
        if configurations.failed + configurations.timeout + thresholds.fail > 0 {
            paint.bad(line)
        } else if configurations.skipped > 0
            || thresholds.total > thresholds.pass + thresholds.improved
        {
            paint.doubtful(line)
        } else {
            paint.bold(line)
        }
    };
    wrapped(&summary.to_string(), width, 0, 2).lines().map(painted).collect()
}

fn write_lines(lines: &[String], out: &mut dyn Write) -> io::Result<()> {
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))
}
