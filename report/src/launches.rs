//! The launches of one measured range, if it is a pipeline of several.
//!
//! Input: a series. Output: a [`Range`] of its first finished configuration that launches more than
//! once: the kernels in the order of their first launches, with how many launches each has, their
//! metrics where they were counted apart and, on a GPU, how long they ran together; another one
//! with each launch, if each was counted by itself; and one with the named ranges of each
//! configuration. If there is no room for all rows, the rows with the most time are shown.
//! Terminal, Markdown and page show the same, the page all of it.

use std::collections::BTreeMap;

use comfy_table::{CellAlignment, LineStyle, TableStyle};
use gpuprof_analysis::view::columns;
use gpuprof_model::measurement::LaunchRecord;
use gpuprof_model::parts::{Part, PartResult};
use gpuprof_model::quantity::{Quantity, Unit};
use gpuprof_model::run::{ConfigurationResult, SeriesResult, Status};
use gpuprof_model::series::without_place;
use gpuprof_system::symbol::name_in_cpp;

use super::cells::{Column, NO_VALUE, Sheet};
use super::number::Scale;

/// Nothing but a rule under the header.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));

/// The cell of kernels with different launches.
const VARIES: &str = "varies";

/// The columns of a table of launches before others.
const HEAD: [&str; 4] = ["launches", "kernel", "grid", "block"];

/// The launches of one measured range.
pub(super) struct Range {
    /// Its title: `3 launches of block=32,n=1024`.
    pub(super) title: String,
    /// A row for each kernel, or for each launch.
    pub(super) sheet: Sheet,
    /// What is not in it.
    pub(super) more: Option<String>,
}

/// How much is shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// The most rows of a table.
    pub(super) rows: usize,
    /// The most configurations with tables of their own.
    pub(super) configurations: usize,
}

impl Room {
    /// No limits.
    pub(super) const ALL: Self = Self { rows: usize::MAX, configurations: usize::MAX };
}

/// The subject of a row: launches, and their metrics.
struct Row<'r> {
    /// How many launches, or which.
    first: String,
    launches: Vec<&'r LaunchRecord>,
    part: Option<&'r PartResult>,
}

impl Range {
    /// The kernels of the range of `series`, with the values of `metrics` that they have; none
    /// where every configuration launches once.
    pub(super) fn of_kernels(
        series: &SeriesResult,
        metrics: &[String],
        room: Room,
    ) -> Option<Self> {
        let row = several(series)?;
        let rows = kernels(row);
        let sheet = sheet(HEAD[0], &rows, row, metrics);
        Some(Self::within(title(row), sheet, &rows, metrics, (room, "kernels")))
    }

    /// The launches of the same range, if each was counted by itself.
    pub(super) fn of_launches(
        series: &SeriesResult,
        metrics: &[String],
        room: Room,
    ) -> Option<Self> {
        let row = several(series)?;
        let launch = |part: &'_ PartResult| match part.part {
            Part::Launch(at) => Some((at, row.launches.get(at)?)),
            Part::Kernel(_) | Part::Range(_) => None,
        };
        let rows = row.parts.iter().filter_map(|part| {
            let (at, record) = launch(part)?;
            let first = (at + 1).to_string();
            Some(Row { first, launches: vec![record], part: Some(part) })
        });
        let rows: Vec<Row<'_>> = rows.collect();
        let sheet = sheet("launch", &rows, row, metrics);
        let launches = || Self::within(title(row), sheet, &rows, metrics, (room, "launches"));
        (!rows.is_empty()).then(launches)
    }

    /// The named ranges of each configuration that has values of some.
    pub(super) fn of_names(series: &SeriesResult, metrics: &[String], room: Room) -> Vec<Self> {
        let named = finished(series).filter_map(|row| named(row, metrics, room));
        of_several(named.collect(), room, "named ranges")
    }

    /// Those that there are.
    pub(super) fn all(series: &SeriesResult, metrics: &[String], room: Room) -> Vec<Self> {
        let mut all = Self::of_names(series, metrics, room);
        all.extend(Self::of_kernels(series, metrics, room));
        all.extend(Self::of_launches(series, metrics, room));
        all
    }

    /// The `sheet` of these `rows` under this name: all in their order. Without room for all, it
    /// shows the rows that took the most time, or without times the rows with the highest first
    /// metric.
    fn within(
        title: String,
        mut sheet: Sheet,
        rows: &[Row<'_>],
        metrics: &[String],
        (room, called): (Room, &str),
    ) -> Self {
        let more = rows.len().saturating_sub(room.rows);
        if more == 0 {
            return Self { title, sheet, more: None };
        }
        let mut order: Vec<usize> = (0..rows.len()).collect();
        let mut left_out = format!("and {more} more {called}");
        if let Some((weights, of)) = weigh(rows, metrics) {
            order.sort_by(|a, b| weights[*b].total_cmp(&weights[*a]));
            left_out.push_str(&format!("; these have the most {of}"));
        }
        order.truncate(room.rows);
        for column in sheet.axes.iter_mut().chain(&mut sheet.metrics) {
            column.cells = order.iter().map(|&at| column.cells[at].clone()).collect();
        }
        Self { title, sheet, more: Some(left_out) }
    }
}

/// The first of these `ranges` of one configuration each; the last of them says how many more
/// configurations have `what`.
pub(super) fn of_several(mut ranges: Vec<Range>, room: Room, what: &str) -> Vec<Range> {
    let more = ranges.len().saturating_sub(room.configurations);
    ranges.truncate(room.configurations);
    if let (Some(last), 1..) = (ranges.last_mut(), more) {
        let rest = match more {
            1 => format!("the {what} of 1 more configuration"),
            _ => format!("the {what} of {more} more configurations"),
        };
        last.more = Some(match last.more.take() {
            Some(before) => format!("{before}; and {rest}"),
            None => format!("and {rest}"),
        });
    }
    ranges
}

/// The named ranges of `whole`; none if none has a value.
fn named(whole: &ConfigurationResult, metrics: &[String], room: Room) -> Option<Range> {
    let rows = whole.parts.iter().filter_map(|part| {
        let Part::Range(path) = &part.part else { return None };
        Some(Row { first: path.clone(), launches: Vec::new(), part: Some(part) })
    });
    let rows: Vec<Row<'_>> = rows.collect();
    let mut axes = vec![Column::plain("range", false, rows.iter().map(|row| row.first.clone()))];
    // Ranges may lie in each other: they are parts of the whole, and not of their sum.
    let whole_time = whole.estimate.as_ref().map(|estimate| estimate.duration_ns.0);
    let times: Vec<Option<f64>> = rows.iter().map(estimated).collect();
    let all = whole_time.filter(|_| times.iter().any(Option::is_some));
    axes.extend(all.map(|all| shares(&times, all)));
    let sheet = Sheet { metrics: columns_of(metrics, &rows, whole), axes };
    let title = format!("ranges of {}", whole.configuration);
    let has_values = sheet.axes.len() > 1 || !sheet.metrics.is_empty();
    has_values.then(|| Range::within(title, sheet, &rows, metrics, (room, "ranges")))
}

/// How much each of `rows` weighs, and by what.
fn weigh(rows: &[Row<'_>], metrics: &[String]) -> Option<(Vec<f64>, String)> {
    let times: Option<Vec<f64>> = rows.iter().map(measured).collect();
    let times = times.map(|times| (times, "time".to_owned()));
    let of_metric = || {
        let value = |row: &Row<'_>, name: &String| row.part?.metrics.get(name).copied();
        let name = metrics.iter().find(|name| rows.iter().any(|row| value(row, name).is_some()))?;
        let values = rows.iter().map(|row| value(row, name).unwrap_or(f64::NEG_INFINITY));
        Some((values.collect(), name.clone()))
    };
    let estimates: Vec<Option<f64>> = rows.iter().map(estimated).collect();
    let estimates = estimates.iter().any(Option::is_some).then(|| {
        let times = estimates.into_iter().map(|time| time.unwrap_or(f64::NEG_INFINITY));
        (times.collect(), "estimated time".to_owned())
    });
    times.or(estimates).or_else(of_metric)
}

/// The time of the launches of a row by the device's clock.
fn measured(row: &Row<'_>) -> Option<f64> {
    let times = row.launches.iter().map(|launch| launch.duration_ns);
    let sum: Option<u64> = times.sum();
    sum.filter(|_| !row.launches.is_empty()).map(|sum| sum as f64)
}

/// The estimated time of a row.
fn estimated(row: &Row<'_>) -> Option<f64> {
    Some(row.part?.estimate.as_ref()?.duration_ns.0)
}

/// The first finished configuration of several launches.
fn several(series: &SeriesResult) -> Option<&ConfigurationResult> {
    finished(series).find(|row| row.launches.len() > 1)
}

fn finished(series: &SeriesResult) -> impl Iterator<Item = &ConfigurationResult> {
    series.configurations.iter().filter(|row| row.status == Status::Finished)
}

fn title(row: &ConfigurationResult) -> String {
    let (all, of) = (row.launches.len(), &row.configuration);
    match row.launches.iter().filter(|launch| !launch.outside).count() {
        inside if inside < all => {
            format!("{inside} of {all} launches of {of}: those in the range")
        }
        _ => format!("{all} launches of {of}"),
    }
}

/// The launches of `row` by kernel.
fn kernels(row: &ConfigurationResult) -> Vec<Row<'_>> {
    let mut kernels: Vec<&String> = Vec::new();
    let mut launches: BTreeMap<&String, Vec<&LaunchRecord>> = BTreeMap::new();
    for launch in row.launches.iter().filter(|launch| !launch.outside) {
        let of_kernel = launches.entry(&launch.kernel).or_default();
        if of_kernel.is_empty() {
            kernels.push(&launch.kernel);
        }
        of_kernel.push(launch);
    }
    let part = |kernel: &String| {
        let is_its =
            |part: &&PartResult| matches!(&part.part, Part::Kernel(name) if name == kernel);
        row.parts.iter().find(is_its)
    };
    let of_kernel = |kernel: &String| {
        let launches = launches.remove(kernel).unwrap_or_default();
        Row { first: launches.len().to_string(), launches, part: part(kernel) }
    };
    kernels.into_iter().map(of_kernel).collect()
}

/// The table of `rows`, which are parts of `whole`; `first` is the title of the first column.
fn sheet(first: &str, rows: &[Row<'_>], whole: &ConfigurationResult, metrics: &[String]) -> Sheet {
    let column = |title: &str, numeric: bool, cell: &dyn Fn(&Row<'_>) -> String| {
        Column::plain(title, numeric, rows.iter().map(cell))
    };
    let shape = |of: fn(&LaunchRecord) -> [u32; 3]| {
        move |row: &Row<'_>| {
            let mut shapes = row.launches.iter().map(|launch| of(launch));
            let shape = shapes.next().unwrap_or_default();
            if shapes.all(|other| other == shape) { dimensions(shape) } else { VARIES.to_owned() }
        }
    };
    let mut axes = vec![
        column(first, true, &|row| row.first.clone()),
        column(HEAD[1], false, &|row| {
            row.launches.first().map_or_else(String::new, |l| kernel_name(l))
        }),
        column(HEAD[2], true, &shape(|launch| launch.grid)),
        column(HEAD[3], true, &shape(|launch| launch.block)),
    ];
    axes.extend(times(rows));
    Sheet { axes, metrics: columns_of(metrics, rows, whole) }
}

/// A column for each of `metrics` that one of `rows`, parts of `whole`, has a value of.
fn columns_of(metrics: &[String], rows: &[Row<'_>], whole: &ConfigurationResult) -> Vec<Column> {
    let columns = metrics.iter().filter_map(|name| {
        let value = |row: &Row<'_>| row.part?.metrics.get(name).copied();
        let values: Vec<Option<f64>> = rows.iter().map(value).collect();
        let known: Vec<f64> = values.iter().flatten().copied().collect();
        let (unit, _) = columns::unit_and_class(name, std::slice::from_ref(whole))?;
        let scale = Scale::choose(unit, &known);
        let cell = |value: Option<f64>| {
            value.map_or_else(|| NO_VALUE.to_owned(), |value| scale.text(value))
        };
        let title = scale.titled(name);
        (!known.is_empty()).then(|| Column::plain(&title, true, values.into_iter().map(cell)))
    });
    columns.collect()
}

/// The time of each row by the device's clock, and its share of all; or else its share of the
/// estimated time. None if a launch has neither.
fn times(rows: &[Row<'_>]) -> Vec<Column> {
    if let Some(times) = rows.iter().map(measured).collect::<Option<Vec<f64>>>() {
        let time = |time: &f64| Quantity::new(*time, Unit::Nanoseconds).to_string();
        let all: f64 = times.iter().sum();
        let share = |time: &f64| Quantity::new(100.0 * time / all, Unit::Percent).to_string();
        return vec![
            Column::plain("time", true, times.iter().map(time)),
            Column::plain("share", true, times.iter().map(share)),
        ];
    }
    let estimates: Vec<Option<f64>> = rows.iter().map(estimated).collect();
    match estimates.iter().copied().sum() {
        Some(all) => vec![shares(&estimates, all)],
        None => Vec::new(),
    }
}

/// The share of each of these estimated `times` of `all`.
fn shares(times: &[Option<f64>], all: f64) -> Column {
    // To whole percents, as an estimate knows no more.
    let share = |time: &Option<f64>| {
        time.map_or_else(|| NO_VALUE.to_owned(), |time| format!("{:.0}%", 100.0 * time / all))
    };
    Column::plain("≈ share", true, times.iter().map(share))
}

/// A table of `rows` of launches, kernel, grid, block and `further` columns, without borders.
pub(super) fn table<R: IntoIterator<Item = String>>(
    further: &[&str],
    rows: impl Iterator<Item = R>,
) -> Vec<String> {
    let mut table = comfy_table::Table::new();
    table.load_style(STYLE);
    table.set_header(HEAD.iter().chain(further));
    for row in rows {
        table.add_row(row);
    }
    // All but the kernel's name.
    for (_, column) in table.column_iter_mut().enumerate().filter(|(at, _)| *at != 1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

/// The kernel's name for people.
pub(super) fn kernel_name(launch: &LaunchRecord) -> String {
    let kernel = &launch.kernel;
    name_in_cpp(kernel).unwrap_or_else(|| without_place(kernel).to_owned())
}

/// `256`, `16x16`, `8x8x4`.
pub(super) fn dimensions([x, y, z]: [u32; 3]) -> String {
    match (y, z) {
        (1, 1) => x.to_string(),
        (_, 1) => format!("{x}x{y}"),
        _ => format!("{x}x{y}x{z}"),
    }
}
