//! The conclusion on a terminal, and in the log of a CI job.

use comfy_table::{CellAlignment, LineStyle, TableStyle};
use gpuprof_model::run::Run;
use gpuprof_model::text::{one_line, printable};
use gpuprof_system::wrap::wrapped;

use super::{Column, ConclusionText, List, write_conclusion};
use crate::paint::Paint;
use crate::table_room::{COLUMNS, cap};

/// Nothing but a rule under the header.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));

/// The columns to leave out if room is short, the first one first: the threshold's own text has the
/// costly line, the limit, the interval and the reason, cycles mostly confirm a time, the heading
/// can name the only series, and a change matters more than its two values.
const SPARED: [&str; 8] =
    ["line", "limit", "in cycles", "95 % interval", "why", SERIES, "base", "head"];

/// The columns of series and of metrics.
const SERIES: &str = "series";
const METRIC: &str = "metric";

/// The conclusion of `run`, in lines of at most `width` and lists of at most so many, and the blank
/// line after it; nothing if it had no comparison and no further rounds: its thresholds then appear
/// with their values.
pub(crate) fn lines(run: &Run, (width, most): (Option<u16>, usize), paint: Paint) -> Vec<String> {
    let Some(told) = compared(run) else { return Vec::new() };
    let faint =
        |text: &String| split(&format!(" {}", paint.faint(wrapped(&one_line(text), width, 1, 1))));
    let mut lines = vec![sentence_of(&told, paint)];
    lines.extend(told.notes.iter().flat_map(faint));
    for list in &told.lists {
        let (title, shown) = laid_out(list, width);
        let shown = shown.iter().map(|line| format!(" {line}").trim_end().to_owned()).collect();
        lines.extend([String::new(), format!(" {}", paint.bold(one_line(&title)))]);
        lines.extend(cap((shown, "lines of this list"), most));
        lines.extend(list.rest.iter().flat_map(faint));
    }
    lines.push(String::new());
    lines
}

/// The sentence alone, like [`lines`]: a terminal shows the end of the output.
pub(crate) fn sentence(run: &Run, paint: Paint) -> Option<String> {
    compared(run).map(|told| sentence_of(&told, paint))
}

/// One line, however long, so that a search of a log finds it.
fn sentence_of(told: &ConclusionText, paint: Paint) -> String {
    paint.weight(told.weight, one_line(&told.sentence))
}

fn split(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

fn compared(run: &Run) -> Option<ConclusionText> {
    // A run that continued because of a limit names it.
    let cost = run.conclusion.as_ref().and_then(|conclusion| conclusion.cost.processes);
    (run.comparison.is_some() || cost.is_some()).then(|| write_conclusion(run)).flatten()
}

/// The series or metric that every line of `list` is about: its heading says it then.
fn only_one<'l>(list: &'l List, title: &str) -> Option<&'l str> {
    let column = list.columns.iter().find(|column| column.title == title)?;
    let mut cells = column.cells.iter().filter(|cell| !cell.is_empty());
    let first = cells.next()?;
    cells.all(|cell| cell == first).then_some(first)
}

/// The heading of `list` and its table, if that fits the terminal or, without one, a usual line; or
/// else its lines.
fn laid_out(list: &List, width: Option<u16>) -> (String, Vec<String>) {
    let fits = |lines: &[String]| {
        let longest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        longest < usize::from(width.unwrap_or(COLUMNS))
    };
    let (series, metric) = (only_one(list, SERIES), only_one(list, METRIC));
    let mut columns: Vec<&Column> = list.columns.iter().collect();
    columns.retain(|column| metric.is_none() || column.title != METRIC);
    let can_spare = |title: &str| title != SERIES || series.is_some();
    let spared = SPARED.into_iter().filter(|title| can_spare(title)).map(Some);
    for spared in std::iter::once(None).chain(spared) {
        columns.retain(|column| Some(column.title) != spared);
        let table = table(&columns);
        if !table.is_empty() && fits(&table) {
            let names_series = columns.iter().any(|column| column.title == SERIES);
            let series = series.filter(|_| !names_series).map(|series| format!(" of {series}"));
            let metric = metric.map(|metric| format!(", in {metric}")).unwrap_or_default();
            return (format!("{}{}{metric}", list.title, series.unwrap_or_default()), table);
        }
    }
    let lines = list.lines.iter().flat_map(|line| split(&wrapped(&printable(line), width, 1, 2)));
    (list.title.to_owned(), lines.collect())
}

fn table(columns: &[&Column]) -> Vec<String> {
    let rows = columns.first().map_or(0, |column| column.cells.len());
    if rows == 0 {
        return Vec::new();
    }
    let mut table = comfy_table::Table::new();
    table.load_style(STYLE).set_header(columns.iter().map(|column| column.title));
    for row in 0..rows {
        table.add_row(columns.iter().map(|column| one_line(&column.cells[row])));
    }
    for (laid_out, column) in table.column_iter_mut().zip(columns) {
        if column.numeric {
            laid_out.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}
