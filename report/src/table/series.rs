//! The blocks of a series: heading, violated thresholds, changes, rows, notes, pictures, advice.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::{iter, ptr};

use gpuprof_analysis::view::columns::undecided;
use gpuprof_analysis::view::{SeriesView, View};
use gpuprof_model::advice::Advice;
use gpuprof_model::code::{CostlyLine, Sources};
use gpuprof_model::comparison::Outcome;
use gpuprof_model::run::SeriesResult;
use gpuprof_model::text::{one_line, printable};
use gpuprof_model::verdict::{Judgement, NotApplicable, Weight};
use gpuprof_system::pad;
use gpuprof_system::wrap::wrapped;

use super::sheets;
use crate::cells::{self, NO_VALUE, Sheet};
use crate::curve::Curve;
use crate::judgement::{evidence, others};
use crate::launches::{Range, Room};
use crate::note::Note;
use crate::paint::Paint;
use crate::source::on_line;
use crate::table_room::{Blocks, Detail, Keep, Limits, height};
use crate::{advice, axes, changes, estimates, grid, notes, over_time, plot, timeline};

/// The most lines of grids, unless all are shown, and the most rows in them.
const MOST_GRID_LINES: usize = 16;
const MOST_GRID_ROWS: usize = 256;

/// The rows of a series that is too long for a screen.
const ROWS_NEXT_TO_A_PLOT: usize = 10;

/// The kernels or named ranges of a series, unless more are asked for.
const ROWS_OF_PARTS: usize = 10;

/// The rows of one of many series that needs no attention.
const ROWS_OF_A_SETTLED_SERIES: usize = 3;

/// The metrics that a note names in a digest, and the reasons for missing values that are always
/// shown.
const NAMED_IN_A_DIGEST: usize = 2;
const LEAST_REASONS: usize = 4;

/// The most kernels, launches or named ranges of a table, unless all are shown; and the most
/// configurations with a table of their own.
const MOST_PARTS: usize = 100;
const MOST_CONFIGURATIONS: usize = 20;

/// The label of notes on rows that were not measured.
const SKIPPED: &str = "skipped";

/// How the blocks of a series are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style<'v> {
    /// What is shown.
    pub view: &'v View,
    /// How much of it.
    pub detail: Detail,
    /// The most lines of its parts.
    pub limits: Limits,
    /// The most columns of text.
    pub width: Option<u16>,
    /// The most columns of tables.
    pub columns: Option<u16>,
    /// Whether there are colours.
    pub paint: Paint,
    /// The text of the source.
    pub sources: &'v Sources,
    /// Why rows were skipped, if the last line says so.
    pub skipped: Option<&'v str>,
}

/// The blocks of `series`, for which `advised` is advised; `on` names its device.
pub(super) fn blocks(
    (series, advised): (&SeriesResult, &[Advice]),
    on: &str,
    style: Style<'_>,
) -> Blocks {
    let Style { view, detail, limits, width, columns, paint, .. } = style;
    let (passed, mut open): (Vec<&Judgement>, Vec<_>) =
        series.judgements.iter().partition(|judgement| judgement.weight() == Weight::Fine);
    open.sort_by_key(|judgement| Reverse(judgement.weight()));
    let named = named_lines(&open);
    let names = |judgement: &&Judgement| named.iter().any(|it| ptr::eq(*it, *judgement));
    open.sort_by_key(|judgement| (Reverse(judgement.weight()), !names(judgement)));
    let naming = open.iter().rposition(names).map_or(0, |last| last + 1);
    let mut viewed = view.within(series, style.rows(series));
    let mut blocks = Blocks::within(columns);
    let mut on = on.to_owned();
    if detail == Detail::Digest && viewed.left_out > 0 {
        let (few, all) = (viewed.shown.len(), viewed.shown.len() + viewed.left_out);
        on.push_str(&format!("{}{few} of {all} rows", if on.is_empty() { "" } else { ", " }));
        (viewed.left_out, blocks.left_out) = (0, true);
    }
    if detail == Detail::Digest && undecided(series).is_some() {
        on.push_str(&format!("{}no row is best", if on.is_empty() { "" } else { ", " }));
    }
    blocks.add(Keep::Always, style.heading(series, &on));
    let judged = (style.judgements(&open), "lines of thresholds that do not hold");
    let least = style.judgements(&open[..naming]).len();
    blocks.add_counted(Keep::Always, judged, least..=limits.lines);
    let source = style.costly_lines(series, &named);
    let excerpts = (source, "lines of source: cargo gpuprof report --source");
    let first = style.costly_lines(series, &named[..named.len().min(1)]).len();
    blocks.add_counted(Keep::Always, excerpts, first..=limits.lines);
    blocks.add_list(Keep::Change, style.changes(series), limits.lines);
    style.add_rows(&viewed, &mut blocks);
    // A screen always says how many rows it leaves out.
    let keep = if detail == Detail::Digest { Keep::Remark } else { Keep::Always };
    blocks.add(keep, style.remarks(&viewed));
    let assuring = style.add_notes(&viewed.series, &mut blocks);
    style.add_shapes(&viewed, &mut blocks);
    for section in &viewed.series.sections {
        let Some(sheet) = Sheet::of_section(&viewed, section) else { continue };
        let title = paint.bold(one_line(&section.title));
        let tables = sheets::tables(&sheet, (columns, true), paint).concat();
        blocks.add(Keep::Always, [vec![title], tables].concat());
    }
    style.add_launches(&viewed.series, &mut blocks);
    blocks.add(Keep::Assurance, style.notes(&assuring));
    if view.all || view.verbose {
        blocks.add(Keep::Always, style.notes(&notes::list_noise(&viewed.series)));
    }
    blocks.add(Keep::Advice, advice::lines(advised, width, paint));
    blocks.add(Keep::Passed, style.judgements(&passed));
    blocks.add(Keep::Launches, style.not_applicable(series));
    blocks
}

/// Those of the `judgements` that are the first to name a line of the source.
fn named_lines<'j>(judgements: &[&'j Judgement]) -> Vec<&'j Judgement> {
    let mut known = BTreeSet::new();
    let names = judgements.iter().filter(|judgement| {
        judgement.costly.as_ref().is_some_and(|costly| known.insert(&*costly.line))
    });
    names.copied().collect()
}

impl Style<'_> {
    /// The most rows of `series`: few of a long series, so that its plot is next to them. If a
    /// series meets its thresholds: the best, its runner-up and the worst.
    fn rows(self, series: &SeriesResult) -> usize {
        let most = self.limits.rows;
        let held = || series.judgements.iter().all(|j| j.weight() == Weight::Fine);
        match self.detail {
            Detail::Screen if series.configurations.len() > most => most.min(ROWS_NEXT_TO_A_PLOT),
            Detail::Digest if held() => most.min(ROWS_OF_A_SETTLED_SERIES),
            Detail::All | Detail::Screen | Detail::Digest => most,
        }
    }

    /// Whether the last line has `note`: of many series each would repeat it.
    fn is_said(self, note: &Note) -> bool {
        self.detail == Detail::Digest
            && note.label == SKIPPED
            && self.skipped == Some(note.text.as_str())
    }

    fn heading(self, series: &SeriesResult, on: &str) -> Vec<String> {
        let id = one_line(&series.id.to_string());
        let place = format!("{}:{}", one_line(&series.file), series.line);
        let long = [&*id, &*place, on].map(|part| part.chars().count() + 2).iter().sum::<usize>();
        let [name, place] = [self.paint.bold(&id), self.paint.faint(&place)];
        let end = format!("{place}  {on}");
        match self.columns {
            Some(width) if long > usize::from(width) + 2 => {
                vec![name, format!("  {}", end.trim_end())]
            }
            _ => vec![format!("{name}  {end}").trim_end().to_owned()],
        }
    }

    /// Adds the table of the rows; columns that do not fit are tables of their own.
    fn add_rows(self, viewed: &SeriesView<'_>, blocks: &mut Blocks) {
        if viewed.series.configurations.is_empty() {
            return blocks.add(Keep::Always, vec!["no configuration".to_owned()]);
        }
        let ruled = self.detail != Detail::Digest;
        let tables =
            sheets::tables(&Sheet::viewed(viewed, self.view), (self.columns, ruled), self.paint);
        for (at, table) in tables.into_iter().enumerate() {
            let asked = at == 0 || !self.view.columns.is_empty();
            blocks.add(if asked { Keep::Always } else { Keep::Columns }, table);
        }
    }

    /// Adds the named ranges and the kernels of a measured range, and all launches if all is shown.
    fn add_launches(self, series: &SeriesResult, blocks: &mut Blocks) {
        let metrics = cells::metric_names(series, self.view);
        let whole = self.view.all || self.view.verbose;
        let room = match (self.view.all, whole) {
            (true, _) => Room::ALL,
            (false, true) => Room { rows: MOST_PARTS, ..Room::ALL },
            (false, false) => Room {
                rows: self.limits.rows.min(ROWS_OF_PARTS),
                configurations: MOST_CONFIGURATIONS,
            },
        };
        let launches = Range::of_launches(series, &metrics, room);
        let counted = if launches.is_some() { Keep::Always } else { Keep::Launches };
        let launches = launches.filter(|_| whole).map(|range| (Keep::Always, range));
        let kernels = Range::of_kernels(series, &metrics, room).map(|range| (counted, range));
        let names = first_and_others(Range::of_names(series, &metrics, room));
        let over_time = first_and_others(over_time::tables(series, room));
        for (keep, range) in names.chain(kernels).chain(launches).chain(over_time) {
            blocks.left_out |= range.more.is_some();
            blocks.add(if whole { Keep::Always } else { keep }, self.range(range));
        }
        let Some((mut work, calls)) = timeline::tables(series) else { return };
        if whole {
            let tables = iter::once(work).chain(calls);
            tables.for_each(|range| blocks.add(Keep::Always, self.range(range)));
        } else {
            work.title.push_str("; -v shows them");
            blocks.add(Keep::Launches, vec![format!(" {}", one_line(&work.title))]);
        }
    }

    /// The table of a measured range.
    fn range(self, Range { title, sheet, more }: Range) -> Vec<String> {
        let whole = self.view.all || self.view.verbose;
        let tables = sheets::tables(&sheet, (self.columns, true), self.paint);
        let mut lines = vec![format!(" {}", one_line(&title))];
        lines.extend(tables.into_iter().take(if whole { usize::MAX } else { 1 }).flatten());
        lines.extend(more.map(|more| format!(" … {}", one_line(&more))));
        lines
    }

    fn remarks(self, viewed: &SeriesView<'_>) -> Vec<String> {
        let line = |remark: String| {
            let text = wrapped(&printable(&remark), self.width, 1, 3);
            lines_of(&format!(" {}", self.paint.faint(text)))
        };
        notes::view::list_remarks(viewed, self.view).into_iter().flat_map(line).collect()
    }

    /// Adds the notes that decide something; returns the reassuring ones.
    fn add_notes(self, series: &SeriesResult, blocks: &mut Blocks) -> Vec<Note> {
        let most = self.limits.lines;
        let named = match self.detail {
            Detail::Digest => NAMED_IN_A_DIGEST,
            Detail::All | Detail::Screen => notes::METRICS_NAMED,
        };
        let metrics = cells::metric_names(series, self.view);
        let listed = notes::list_notes(series, &metrics, named).into_iter();
        let listed = listed.filter(|note| !self.is_said(note));
        // Why something that was asked for has no value: the first reasons are always shown.
        let (missing, listed): (Vec<_>, Vec<_>) = listed.partition(|note| note.label == NO_VALUE);
        let (assuring, mut deciding): (Vec<_>, Vec<_>) = listed.into_iter().partition(|note| {
            note.weight == Weight::Fine && !estimates::LABELS.contains(&note.label)
        });
        // Those that matter least are left out first.
        deciding.sort_by_key(|note| Reverse(note.weight));
        blocks.add_list(Keep::Always, self.notes(&deciding), most);
        let first = self.notes(&missing[..missing.len().min(LEAST_REASONS)]);
        let least = first.len();
        // Next to many series they take no room from failures.
        if self.detail == Detail::Digest {
            blocks.beyond += height(&first, self.columns);
        }
        let missing = (self.notes(&missing), "lines of reasons");
        blocks.add_counted(Keep::Always, missing, least..=most.max(least));
        assuring
    }

    /// Adds the plot, the grids and the effect of each axis.
    fn add_shapes(self, viewed: &SeriesView<'_>, blocks: &mut Blocks) {
        let Some(metric) = self.view.headline(&viewed.series) else { return };
        let all = self.detail == Detail::All;
        let room = self.columns.map(|columns| columns.saturating_sub(1));
        let whole = self.view.sort.is_none() && self.view.top.is_none();
        let few = all || viewed.series.configurations.len() <= MOST_GRID_ROWS;
        let mut grid = match whole && few {
            true => grid::lines(&viewed.series, metric, room, self.paint),
            false => Vec::new(),
        };
        if !all && grid.len() > MOST_GRID_LINES {
            grid.clear();
        }
        let curve = Curve::choose(&viewed.series, metric);
        let plot = curve.map(|curve| plot::lines(&curve, room)).unwrap_or_default();
        let effects = axes::lines(&viewed.series, metric);
        for (keep, lines) in [(Keep::Plot, plot), (Keep::Grid, grid), (Keep::Effect, effects)] {
            let line = |line: String| format!(" {line}").trim_end().to_owned();
            blocks.add(keep, lines.into_iter().map(line).collect());
        }
    }

    fn notes(self, notes: &[Note]) -> Vec<String> {
        let longest = notes.iter().map(|note| note.label.len()).max().unwrap_or(0);
        let lines = |note: &Note| {
            let label = format!("{:longest$}", note.label);
            let label = match note.weight {
                Weight::Bad => self.paint.bad(label),
                Weight::Doubtful | Weight::Warning => self.paint.doubtful(label),
                Weight::Fine => self.paint.faint(label),
            };
            let text = format!("{}: {}", one_line(&note.subject), note.text);
            let text = wrapped(&text, self.width, longest + 3, longest + 4);
            lines_of(&format!(" {label}  {text}"))
        };
        notes.iter().flat_map(lines).collect()
    }

    fn judgements(self, judgements: &[&Judgement]) -> Vec<String> {
        let word = |judgement: &Judgement| judgement.word().to_uppercase();
        let words = judgements.iter().map(|j| word(j).len()).max().unwrap_or(0);
        let texts = judgements.iter().map(|j| one_line(&j.threshold.text).chars().count()).max();
        let lines = |judgement: &&Judgement| {
            let place = format!("[{}]", one_line(&judgement.written_in()));
            let threshold = pad::left(&one_line(&judgement.threshold.text), texts.unwrap_or(0));
            let evidence = evidence(judgement);
            let mut shown = evidence.to_string();
            // The verdict, the threshold, the value and its configuration; a reason may be cut.
            let needed = match evidence.value.chars().count() {
                0 => 0,
                value => words + 5 + texts.unwrap_or(0) + value,
            };
            let further = match self.limits.threshold {
                Some(_) => {
                    shown.push_str(&more_rows(judgement));
                    Vec::new()
                }
                None => others(judgement),
            };
            let text = wrapped(
                &format!("{threshold}  {shown}  {place}"),
                self.width,
                words + 3,
                words + 5,
            );
            let text = match text.strip_suffix(&place) {
                Some(before) => format!("{before}{}", self.paint.faint(&place)),
                None => text,
            };
            let word = self.paint.weight(judgement.weight(), format!("{:words$}", word(judgement)));
            let mut lines = lines_of(&format!(" {word}  {text}"));
            self.cut(&mut lines, needed, &place, judgement.costly.as_ref());
            for line in further {
                let line = wrapped(&line, self.width, words + 5, words + 7);
                lines.extend(lines_of(&format!(" {:words$}    {line}", "")));
            }
            lines
        };
        judgements.iter().flat_map(lines).collect()
    }

    /// The source lines that the thresholds of `series` name, each with its counts.
    fn costly_lines(self, series: &SeriesResult, named: &[&Judgement]) -> Vec<String> {
        let lines = named.iter().flat_map(|judgement| on_line(judgement, series, self.sources));
        lines.map(|line| format!("   {}", self.paint.faint(line))).collect()
    }

    /// Cuts the `lines` of a threshold to the limit; its `place` stays at the end, after the costly
    /// line that it names. On a narrow terminal they take a line more if the `needed` characters at
    /// the start leave no room for them.
    fn cut(self, lines: &mut Vec<String>, needed: usize, place: &str, costly: Option<&CostlyLine>) {
        let Some(mut most) = self.limits.threshold else { return };
        let line = costly.map_or(0, |costly| costly.line.chars().count() + 1);
        let kept = needed + " … ".chars().count() + line + place.chars().count();
        if self.width.is_some_and(|width| kept > most * usize::from(width)) {
            most += 1;
        }
        if height(lines, self.columns) <= most {
            return;
        }
        // Without a terminal they are one long line.
        let (kept, rows) = if self.width.is_some() { (most, 1) } else { (1, most) };
        lines.truncate(kept);
        let room = rows * usize::from(self.columns.unwrap_or(u16::MAX));
        let whole = lines.pop().unwrap_or_default();
        let shows = |line: &String| {
            let shown: String =
                whole.chars().take(room.saturating_sub(place.chars().count() + 3)).collect();
            lines.iter().any(|it| it.contains(line)) || shown.contains(line)
        };
        let named = costly.map(|costly| one_line(&costly.line)).filter(|line| !shows(line));
        let end = named.map_or_else(|| format!(" … {place}"), |line| format!(" … {line} {place}"));
        let last: String = whole.chars().take(room.saturating_sub(end.chars().count())).collect();
        // Half of a number would be another number.
        let last = match last.rfind(' ') {
            Some(end) if last.len() < whole.len() => &last[..end],
            _ => &last,
        };
        lines.push(format!("{}{}", last.trim_end(), self.paint.faint(end)));
    }

    fn not_applicable(self, series: &SeriesResult) -> Vec<String> {
        let line = |NotApplicable { threshold, .. }: &NotApplicable| {
            let threshold = one_line(threshold);
            format!(" {}", self.paint.faint(format_args!("not for this device: {threshold}")))
        };
        series.not_applicable.iter().map(line).collect()
    }

    /// The counts of changes since the baseline, and the changes that matter.
    fn changes(self, series: &SeriesResult) -> Vec<String> {
        let Some((lines, counts)) = changes::list_changes(series) else { return Vec::new() };
        let words = lines.iter().map(|l| l.outcome.to_string().len()).max().unwrap_or(0);
        let subjects =
            lines.iter().map(|l| one_line(&l.subject).chars().count()).max().unwrap_or(0);
        let line = |changes::Line { outcome, subject, text }: &changes::Line| {
            let word = format!("{:words$}", outcome.to_string());
            let word = match outcome {
                Outcome::Worse => self.paint.bad(word),
                Outcome::Better => self.paint.good(word),
                _ => self.paint.doubtful(word),
            };
            let text = format!("{}  {text}", pad::left(&one_line(subject), subjects));
            let text = wrapped(&text, self.width, words + 3, words + 5);
            lines_of(&format!(" {word}  {text}"))
        };
        let counts = format!(" {}", self.paint.faint(counts));
        std::iter::once(counts).chain(lines.iter().flat_map(line)).collect()
    }
}

/// The tables of several configurations: the first is always shown.
fn first_and_others(ranges: Vec<Range>) -> impl Iterator<Item = (Keep, Range)> {
    iter::once(Keep::Always).chain(iter::repeat(Keep::Others)).zip(ranges)
}

/// `, and 7 more rows`: how many others violate the threshold.
fn more_rows(judgement: &Judgement) -> String {
    match judgement.violations.len().saturating_sub(1) {
        0 => String::new(),
        1 => ", and 1 more row".to_owned(),
        more => format!(", and {more} more rows"),
    }
}

fn lines_of(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}
