//! The launches of one measured range, if it is a pipeline of several.
//!
//! Input: a series. Output: a [`Range`] of its first finished configuration that launches more than
//! once: the kernels in the order of their first launches, with how many launches each has, their
//! metrics where they were counted apart and, on a GPU, how long they ran together; another one
//! with each launch, if each was counted by itself; and one with the named ranges. Terminal,
//! Markdown and page show the same.

use std::collections::BTreeMap;

use comfy_table::{CellAlignment, LineStyle, TableStyle};
use gpuprof_analysis::view::columns;
use gpuprof_model::measurement::LaunchRecord;
use gpuprof_model::parts::{Part, PartResult};
use gpuprof_model::quantity::{Quantity, Unit};
use gpuprof_model::run::{ConfigurationResult, SeriesResult, Status};
use gpuprof_model::series::without_place;
use gpuprof_system::symbol::name_in_cpp;

use super::number::Scale;
use super::sheet::{Column, NO_VALUE, Sheet};

/// Nothing but a rule under the header.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));

/// The most kernels that are shown.
const MOST: usize = 20;

/// The cell of kernels whose launches differ.
const VARIES: &str = "varies";

/// The columns of a table of launches before others.
const HEAD: [&str; 4] = ["launches", "kernel", "grid", "block"];

/// The launches of one measured range.
pub(super) struct Range {
    /// Its title: `3 launches of block=32,n=1024`.
    pub(super) title: String,
    /// A row for each kernel, or for each launch.
    pub(super) sheet: Sheet,
    /// That there are more kernels than rows.
    pub(super) more: Option<String>,
}

/// What a row is of: launches, and their metrics.
struct Row<'r> {
    /// How many launches, or which.
    first: String,
    launches: Vec<&'r LaunchRecord>,
    part: Option<&'r PartResult>,
}

impl Range {
    /// The kernels of the range of `series`, with the values of `metrics` that they have; none
    /// where every configuration launches once.
    pub(super) fn of_kernels(series: &SeriesResult, metrics: &[String]) -> Option<Self> {
        let row = several(series)?;
        let rows = kernels(row);
        let more = rows.len().saturating_sub(MOST);
        let mut sheet = sheet(HEAD[0], &rows, row, metrics);
        for column in sheet.axes.iter_mut().chain(&mut sheet.metrics) {
            column.cells.truncate(MOST);
        }
        let more = (more > 0).then(|| format!("and {more} more kernels"));
        Some(Self { title: title(row), sheet, more })
    }

    /// The launches of the same range, if each was counted by itself.
    pub(super) fn of_launches(series: &SeriesResult, metrics: &[String]) -> Option<Self> {
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
        (!rows.is_empty()).then(|| Self { title: title(row), sheet, more: None })
    }

    /// The named ranges of the first configuration that has some.
    pub(super) fn of_names(series: &SeriesResult, metrics: &[String]) -> Option<Self> {
        let mut finished = finished(series);
        let named = |part: &PartResult| matches!(part.part, Part::Range(_));
        let whole = finished.find(|row| row.parts.iter().any(named))?;
        let rows = whole.parts.iter().filter_map(|part| {
            let Part::Range(path) = &part.part else { return None };
            Some(Row { first: path.clone(), launches: Vec::new(), part: Some(part) })
        });
        let rows: Vec<Row<'_>> = rows.collect();
        let names = Column::plain("range", false, rows.iter().map(|row| row.first.clone()));
        let metrics = columns_of(metrics, &rows, whole);
        let sheet = Sheet { axes: vec![names], metrics };
        Some(Self { title: format!("ranges of {}", whole.configuration), sheet, more: None })
    }

    /// Those that there are.
    pub(super) fn all(series: &SeriesResult, metrics: &[String]) -> impl Iterator<Item = Self> {
        let names = Self::of_names(series, metrics);
        let kernels = Self::of_kernels(series, metrics);
        names.into_iter().chain(kernels).chain(Self::of_launches(series, metrics))
    }
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
    let measured = |row: &Row<'_>| {
        let sum: Option<u64> = row.launches.iter().map(|launch| launch.duration_ns).sum();
        sum.map(|sum| sum as f64)
    };
    if let Some(times) = rows.iter().map(measured).collect::<Option<Vec<f64>>>() {
        let time = |time: &f64| Quantity::new(*time, Unit::Nanoseconds).to_string();
        let all: f64 = times.iter().sum();
        let share = |time: &f64| Quantity::new(100.0 * time / all, Unit::Percent).to_string();
        return vec![
            Column::plain("time", true, times.iter().map(time)),
            Column::plain("share", true, times.iter().map(share)),
        ];
    }
    let estimated = |row: &Row<'_>| Some(row.part?.estimate.as_ref()?.duration_ns);
    match rows.iter().map(estimated).collect::<Option<Vec<f64>>>() {
        // To whole percents, as an estimate knows no more.
        Some(times) => {
            let all: f64 = times.iter().sum();
            let share = |time: &f64| format!("{:.0}%", 100.0 * time / all);
            vec![Column::plain("≈ share", true, times.iter().map(share))]
        }
        None => Vec::new(),
    }
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
