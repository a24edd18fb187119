//! A history as people, programs and spreadsheets read it.
//!
//! Input: timelines. Output: for people a line a configuration with a sparkline, then each change
//! with its revision, and with that asked for every revision; JSON with all there is; CSV with a
//! row a revision.

use std::fmt::Write;
use std::io;

use gpuprof_analysis::history::{Change, Point, Timeline};
use gpuprof_model::comparison::Outcome;
use gpuprof_model::history::{BadLine, Revision};
use gpuprof_model::machine::{CacheControl, ClockControl};
use gpuprof_model::metric::Class;
use gpuprof_model::text::{printable_in_colour, printable_whole};

use super::axes::{sparkline, values_a_bar};
use super::escaped;
use super::number::{Scale, grouped};
use super::paint::Paint;
use gpuprof_system::pad;

/// The separator between the levels of a sparkline.
const BREAK: char = '│';

/// The timelines for people; with `revisions` every point as well.
pub fn table(timelines: &[Timeline], revisions: bool, colour: bool) -> String {
    let paint = Paint(colour);
    let mut text = String::new();
    for (group, first) in timelines.chunk_by(alike).zip(0..) {
        if first > 0 {
            text.push('\n');
        }
        let kind = kind(&group[0], timelines);
        text.push_str(&format!("{}{kind}\n", heading(&group[0], paint)));
        text.push_str(&overview(group, paint));
        text.push_str(&changes(group, paint));
        if revisions {
            group.iter().for_each(|timeline| text.push_str(&points(timeline, paint)));
        }
    }
    // Colours in a history file were removed when it was read.
    if colour { printable_in_colour(&text) } else { printable_whole(&text) }
}

/// Whether two timelines have a common heading.
pub(super) fn alike(a: &Timeline, b: &Timeline) -> bool {
    (&a.series, &a.metric, &a.conditions, a.source, a.unit, a.class)
        == (&b.series, &b.metric, &b.conditions, b.source, b.unit, b.class)
}

/// Which metric of which series, and under which conditions.
pub(super) fn heading(timeline: &Timeline, paint: Paint) -> String {
    let conditions = &timeline.conditions;
    let mut on = match conditions.device.as_str() {
        "" => format!("the {} backend", conditions.backend),
        device => device.to_owned(),
    };
    if conditions.cache_control == CacheControl::None {
        on.push_str(", L2 not flushed");
    }
    if conditions.clock_control != ClockControl::None {
        let _ = write!(on, ", {} clocks", conditions.clock_control);
    }
    format!("{}  {} on {on}", paint.bold(&timeline.series), paint.bold(&timeline.metric))
}

/// The values that distinguish `timeline` from others of `all` with the same heading.
fn kind(timeline: &Timeline, all: &[Timeline]) -> String {
    let plain = Paint(false);
    let kind = |timeline: &Timeline| {
        let backend = &timeline.conditions.backend;
        format!(" ({}, {} backend, {})", timeline.class.name(), backend, timeline.source)
    };
    let (own, of_this) = (heading(timeline, plain), kind(timeline));
    let mut alike = all.iter().filter(|other| heading(other, plain) == own);
    if alike.any(|other| kind(other) != of_this) { of_this } else { String::new() }
}

/// A line a configuration: its first and last value, how they differ, and a bar a revision.
fn overview(group: &[Timeline], paint: Paint) -> String {
    let titles = ["configuration", "first", "last", "change", "revisions"];
    let mut rows = vec![titles.map(str::to_owned)];
    let newest = group.iter().filter_map(|timeline| timeline.points.last()).map(date).max();
    for timeline in group {
        let values: Vec<f64> = timeline.points.iter().map(|point| point.value).collect();
        let (Some(&first), Some(&last)) = (values.first(), values.last()) else { continue };
        let scale = Scale::choose(timeline.unit, &values);
        let with_unit = |value: f64| format!("{} {}", scale.text(value), scale.symbol);
        let percent = (first != 0.0).then(|| 100.0 * (last - first) / first.abs());
        rows.push([
            timeline.configuration.clone(),
            with_unit(first).trim_end().to_owned(),
            with_unit(last).trim_end().to_owned(),
            percent.map_or("-".to_owned(), signed),
            match timeline.points.last().map(date).filter(|last| Some(*last) < newest) {
                Some(last) => format!("{}, none since {last}", values.len()),
                None => values.len().to_string(),
            },
        ]);
    }
    let bars = group.iter().map(|timeline| bars(timeline, paint));
    let bars = [String::new()].into_iter().chain(bars);
    aligned(&rows, bars)
}

/// A bar for each revision, with a stroke where the metric changed.
fn bars(timeline: &Timeline, paint: Paint) -> String {
    let values: Vec<f64> = timeline.points.iter().map(|point| point.value).collect();
    let together = values_a_bar(values.len());
    let starts = |at: usize| timeline.changes.iter().find(|change| change.at / together == at);
    let mut text = String::new();
    for (bar, at) in sparkline(&values).chars().zip(0..) {
        if let Some(change) = starts(at) {
            text.push_str(&coloured(paint, change.outcome, BREAK));
        }
        text.push(bar);
    }
    text
}

/// Every change, below the revision at which it shows, oldest first.
fn changes(group: &[Timeline], paint: Paint) -> String {
    let mut all: Vec<(&Timeline, &Change)> = Vec::new();
    for timeline in group {
        all.extend(timeline.changes.iter().map(|change| (timeline, change)));
    }
    if all.is_empty() {
        let most = group.iter().map(|timeline| timeline.points.len()).max().unwrap_or(0);
        let why = if most < 2 { "one revision so far" } else { "no change found" };
        return format!("  {}\n", paint.faint(why));
    }
    let place = |(timeline, change): &(&Timeline, &Change)| {
        let point = &timeline.points[change.at];
        (date(point).to_owned(), label(point))
    };
    all.sort_by_key(place);
    let mut text = String::new();
    for same in all.chunk_by(|a, b| place(a) == place(b)) {
        let (timeline, change) = same[0];
        let (point, before) = (&timeline.points[change.at], &timeline.points[change.at - 1]);
        let besides = change.besides.iter().map(|besides| format!("; {besides}"));
        let _ = writeln!(
            text,
            "  changed at {} ({}), after {}{}",
            paint.bold(label(point)),
            date(point),
            label(before),
            besides.collect::<String>(),
        );
        for (timeline, change) in same {
            text.push_str(&describe_change(timeline, change, paint));
        }
    }
    text
}

/// `    worse  block=64  100.1 µs to 104.2 µs (+4.1%), p = 0.001`.
fn describe_change(timeline: &Timeline, change: &Change, paint: Paint) -> String {
    let scale = Scale::choose(timeline.unit, &[change.before, change.after]);
    let percent = change.percent.map(|percent| format!(" ({})", signed(percent)));
    let p_value = change.p_value.map(|p| format!(", p = {p:.4}"));
    let symbol = if scale.symbol.is_empty() { String::new() } else { format!(" {}", scale.symbol) };
    format!(
        "    {}  {}  {}{symbol} to {}{symbol}{}{}\n",
        coloured(paint, change.outcome, change.outcome),
        timeline.configuration,
        scale.text(change.before),
        scale.text(change.after),
        percent.unwrap_or_default(),
        p_value.unwrap_or_default(),
    )
}

/// Every revision of `timeline` with its value.
fn points(timeline: &Timeline, paint: Paint) -> String {
    let values: Vec<f64> = timeline.points.iter().map(|point| point.value).collect();
    let scale = Scale::choose(timeline.unit, &values);
    let unit = if scale.symbol.is_empty() { String::new() } else { format!(" [{}]", scale.symbol) };
    let value = format!("{}{unit}", timeline.metric);
    let titles = ["revision", "date", &value, "interval", "processes"];
    let mut rows = vec![titles.map(str::to_owned)];
    let mut marks = vec![String::new()];
    for (point, at) in timeline.points.iter().zip(0..) {
        let interval =
            point.interval.map(|i| format!("{} to {}", scale.text(i.low), scale.text(i.high)));
        rows.push([
            label(point),
            date(point).to_owned(),
            scale.text(point.value),
            interval.unwrap_or_else(|| "-".to_owned()),
            point.processes.to_string(),
        ]);
        let change = timeline.changes.iter().find(|change| change.at == at);
        marks.push(
            change.map_or(String::new(), |change| coloured(paint, change.outcome, change.outcome)),
        );
    }
    format!("  {}\n{}", paint.faint(&timeline.configuration), aligned(&rows, marks.into_iter()))
}

/// Rows in columns, the first to the left and the others to the right, each with a last cell.
fn aligned<const N: usize>(rows: &[[String; N]], last: impl Iterator<Item = String>) -> String {
    let width = |column: usize| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut text = String::new();
    for (row, last) in rows.iter().zip(last) {
        let mut line = String::from("  ");
        for ((cell, width), column) in row.iter().zip(&widths).zip(0..) {
            line.push_str(&match column {
                0 => pad::left(cell, *width),
                _ => pad::right(cell, *width),
            });
            line.push_str("  ");
        }
        line.push_str(&last);
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The revision of `point` in twelve digits, or else its run.
pub(super) fn label(point: &Point) -> String {
    let Some(Revision { commit, dirty, .. }) = &point.revision else { return point.run.clone() };
    let short: String = commit.chars().take(12).collect();
    if *dirty { format!("{short}-dirty") } else { short }
}

/// The day of `point`'s commit, or else of its run.
pub(super) fn date(point: &Point) -> &str {
    let commit = point.revision.as_ref().and_then(|revision| revision.date.as_deref());
    let date = commit.unwrap_or(&point.started);
    date.split('T').next().unwrap_or_default()
}

pub(super) fn signed(percent: f64) -> String {
    let sign = if percent > 0.0 { "+" } else { "" };
    format!("{sign}{}%", grouped(percent, 1))
}

fn coloured(paint: Paint, outcome: Outcome, text: impl std::fmt::Display) -> String {
    match outcome {
        Outcome::Better => paint.good(text),
        Outcome::Worse => paint.bad(text),
        _ => paint.bold(text),
    }
}

/// Everything: the timelines, and the lines that could not be read.
pub fn json(timelines: &[Timeline], bad: &[BadLine]) -> String {
    let document = serde_json::json!({ "timelines": timelines, "bad_lines": bad });
    format!("{document}\n")
}

/// The columns of [`csv`].
const COLUMNS: [&str; 23] = [
    "series",
    "configuration",
    "metric",
    "device",
    "backend",
    "cache_control",
    "clock_control",
    "source",
    "class",
    "commit",
    "date",
    "dirty",
    "run",
    "started",
    "value",
    "unit",
    "low",
    "high",
    "processes",
    "runs",
    "outcome",
    "change_percent",
    "p_value",
];

/// A row a revision; the last three columns have a text where the metric changed.
///
/// # Errors
/// None that memory does not have.
pub fn csv(timelines: &[Timeline]) -> io::Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS)?;
    for timeline in timelines {
        for (point, at) in timeline.points.iter().zip(0..) {
            let change = timeline.changes.iter().find(|change| change.at == at);
            writer.write_record(record(timeline, point, change))?;
        }
    }
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

fn record(timeline: &Timeline, point: &Point, change: Option<&Change>) -> [String; 23] {
    let conditions = &timeline.conditions;
    let revision = point.revision.as_ref();
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let text = |text: &str| escaped::csv(text);
    [
        text(&timeline.series),
        text(&timeline.configuration),
        text(&timeline.metric),
        text(&conditions.device),
        conditions.backend.to_string(),
        conditions.cache_control.to_string(),
        conditions.clock_control.to_string(),
        timeline.source.to_string(),
        match timeline.class {
            Class::Exact => "exact".to_owned(),
            Class::Noisy => "noisy".to_owned(),
        },
        revision.map(|revision| text(&revision.commit)).unwrap_or_default(),
        revision.and_then(|revision| revision.date.clone()).unwrap_or_default(),
        revision.map(|revision| revision.dirty.to_string()).unwrap_or_default(),
        text(&point.run),
        point.started.clone(),
        point.value.to_string(),
        timeline.unit.symbol().to_owned(),
        number(point.interval.map(|interval| interval.low)),
        number(point.interval.map(|interval| interval.high)),
        point.processes.to_string(),
        point.runs.to_string(),
        change.map(|change| change.outcome.to_string()).unwrap_or_default(),
        number(change.and_then(|change| change.percent)),
        number(change.and_then(|change| change.p_value)),
    ]
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
