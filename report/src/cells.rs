//! The cells of a series as text, before any layout: shared by the table and the Markdown page.
//!
//! Input: a series. Output: a column for each axis, then a column for each metric with its unit in
//! the title, the best values marked and the ties with the deciding one, and the ratio to the best
//! next to the headline metric. An unfinished row has its status in its first metric column; a
//! missing value is `-`, and [`super::notes`] says why; it also explains a metric that no row has,
//! which gets no column.

use std::collections::HashMap;

use gpuprof_model::axis::{Axis, AxisKind};
use gpuprof_model::comparison::Change;
use gpuprof_model::each_once::add_new;
use gpuprof_model::metric::Catalogue;
use gpuprof_model::quantity::Unit;
use gpuprof_model::run::{
    ConfigurationResult, SectionColumn, SectionColumns, SeriesResult, Status,
};

use gpuprof_model::verdict::Verdict;

use super::estimates;
use super::number::{Scale, grouped};
use gpuprof_analysis::view::best;
use gpuprof_analysis::view::columns;
use gpuprof_analysis::view::pareto;
use gpuprof_analysis::view::rank::ranking;
use gpuprof_analysis::view::{SeriesView, View};

/// The text for a value that is not there.
pub(super) const NO_VALUE: &str = "-";

/// The cell of a configuration without a stable time.
pub(super) const UNSTABLE: &str = "unstable";

/// A series as text.
pub(super) struct Sheet {
    /// One column an axis.
    pub axes: Vec<Column>,
    /// The metrics and what is derived from them; never empty.
    pub metrics: Vec<Column>,
}

/// One column.
pub(super) struct Column {
    /// The title, with the unit in brackets where there is one.
    pub title: String,
    /// Its tooltip: the counters and the formula; empty if the title says it all.
    pub behind: String,
    /// Whether its cells are numbers and stand to the right.
    pub numeric: bool,
    /// One cell a row, in the order shown.
    pub cells: Vec<Cell>,
}

/// One cell.
#[derive(Clone)]
pub(super) struct Cell {
    /// The text, without a mark.
    pub text: String,
    /// Whether this is the best value of its column.
    pub best: bool,
    /// Whether it is indistinguishable from the best, in the deciding column.
    pub tied: bool,
}

impl Cell {
    /// A text without a mark.
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), best: false, tied: false }
    }
}

impl Column {
    /// A column of texts that its title explains.
    pub(super) fn plain(
        title: &str,
        numeric: bool,
        cells: impl Iterator<Item = impl Into<String>>,
    ) -> Self {
        let cells = cells.map(Cell::plain).collect();
        Self { title: title.to_owned(), behind: String::new(), numeric, cells }
    }

    /// A column of words that its title explains.
    fn of_words(title: &str, cells: Vec<Cell>) -> Self {
        Self { title: title.to_owned(), behind: String::new(), numeric: false, cells }
    }
}

impl Sheet {
    /// The sheet of a series under `view`.
    pub fn viewed(viewed: &SeriesView<'_>, view: &View) -> Self {
        let series = &*viewed.series;
        let rows = &series.configurations;
        let headline = view.headline(series);
        let names = ordered_names(series, view);
        let compared = compared_metric(series, headline, &names);
        let mut metrics = Vec::new();
        // A column of nothing but `-` says less than its note.
        let has_value = |name: &&String| rows.iter().any(|row| best::value(row, name).is_some());
        let some = names.iter().any(|name| has_value(&name));
        for name in names.iter().filter(|name| !some || has_value(name)) {
            metrics.push(metric_column(name, rows));
            if Some(name.as_str()) == headline {
                if let Some(column) = metrics.last_mut() {
                    mark_headline(column, name, rows);
                }
                metrics.push(ratio_column("vs best", best::ratios(rows, name), rows));
                if let (Some(reference), Some(ratios)) =
                    (&view.reference, view.reference_ratios(series, name))
                {
                    metrics.push(ratio_column(&format!("vs {}", reference.0), ratios, rows));
                }
            }
            if Some(name.as_str()) == compared {
                metrics.extend(base_columns(name, series));
            }
            if name == "theoretical_occupancy" && rows.iter().any(|r| r.occupancy_limiter.is_some())
            {
                metrics.push(limiter_column(rows));
            }
        }
        if !view.pareto.is_empty() {
            let on_front = pareto::front(rows, &view.pareto);
            let text = |on_front: bool| Cell::plain(if on_front { "front" } else { "" });
            let cells = on_front.into_iter().map(text).collect();
            metrics.push(Column::of_words("pareto", cells));
        }
        if metrics.is_empty() {
            let cells = rows.iter().map(|row| Cell::plain(row.status.word())).collect();
            metrics.push(Column::of_words("status", cells));
        } else {
            for (row, cell) in rows.iter().zip(&mut metrics[0].cells) {
                if row.status != Status::Finished {
                    *cell = Cell::plain(row.status.word());
                }
            }
        }
        let mut axes: Vec<Column> =
            axes_of(series, view).map(|axis| axis_column(axis, rows)).collect();
        show(viewed, axes.iter_mut().chain(&mut metrics));
        Self { axes, metrics }
    }

    /// The sheet of a section, with the rows that are shown of its series and under its own labels;
    /// none where no row has any of it.
    pub fn of_section(viewed: &SeriesView<'_>, section: &SectionColumns) -> Option<Self> {
        let series = &*viewed.series;
        let rows = &series.configurations;
        let positive = |name: &str| rows.iter().any(|row| best::value(row, name) > Some(0.0));
        if section.needs.as_deref().is_some_and(|name| !positive(name)) {
            return None;
        }
        let has_value = |column: &&SectionColumn| {
            rows.iter().any(|row| best::value(row, &column.name).is_some())
        };
        let mut metrics: Vec<Column> = section
            .columns
            .iter()
            .filter(has_value)
            .map(|column| match column.largest_of.is_empty() {
                true => titled_column(&column.label, &column.name, rows),
                false => largest_column(column, rows),
            })
            .collect();
        let mut axes: Vec<Column> =
            series.axes.iter().map(|axis| axis_column(axis, rows)).collect();
        show(viewed, axes.iter_mut().chain(&mut metrics));
        (!metrics.is_empty()).then_some(Self { axes, metrics })
    }
}

/// Leaves of `columns` the rows that are shown, in their order.
fn show<'c>(viewed: &SeriesView<'_>, columns: impl Iterator<Item = &'c mut Column>) {
    for column in columns {
        column.cells = viewed.shown.iter().map(|&row| column.cells[row].clone()).collect();
    }
}

/// The metrics that `view` shows of `series`. The deciding column comes first, so it is never left
/// out.
fn ordered_names(series: &SeriesResult, view: &View) -> Vec<String> {
    let mut names = metric_names(series, view);
    let headline = view.headline(series);
    let at = names.iter().position(|name| Some(name.as_str()) == headline);
    if let Some(at) = at.filter(|_| !view.all && view.columns.is_empty()) {
        names[..=at].rotate_right(1);
    }
    names
}

/// The metric next to which the baseline's values are: the deciding metric, or else the first of
/// `names` that was compared.
fn compared_metric<'n>(
    series: &SeriesResult,
    headline: Option<&'n str>,
    names: &'n [String],
) -> Option<&'n str> {
    let known = |name: &&String| series.changes.iter().any(|change| change.metric == **name);
    headline.or_else(|| names.iter().find(known).map(String::as_str))
}

/// The metrics that `view` shows of `series`: the requested ones, and the deciding one. Without a
/// request, also the metrics of violated thresholds, so that no row's value is hidden.
pub(super) fn metric_names(series: &SeriesResult, view: &View) -> Vec<String> {
    let is_axis = |name: &str| series.axes.iter().any(|axis| axis.name == name);
    // What is neither is an axis of another series.
    let is_metric = |name: &&String| {
        !is_axis(name) && columns::unit_and_class(name, &series.configurations).is_some()
    };
    let mut names: Vec<String> = if view.columns.is_empty() {
        let mut names = series.columns.clone();
        add_new(&mut names, violated(series));
        names
    } else {
        view.columns.iter().filter(is_metric).cloned().collect()
    };
    add_new(&mut names, view.best_by.iter().chain(&view.pareto).cloned());
    names
}

/// The metrics of violated thresholds, if rows have values of them.
fn violated(series: &SeriesResult) -> impl Iterator<Item = String> {
    let failed = series.judgements.iter().filter(|judgement| judgement.verdict == Verdict::Fail);
    failed
        .filter_map(|judgement| judgement.threshold.metric().map(str::to_owned))
        .filter(|name| series.configurations.iter().any(|row| best::value(row, name).is_some()))
}

/// The axes that `view` shows: those asked for, or all of them.
fn axes_of<'s>(
    series: &'s SeriesResult,
    view: &'s View,
) -> Box<dyn Iterator<Item = &'s Axis> + 's> {
    let find = |name: &'s String| series.axes.iter().find(|axis| axis.name == *name);
    let asked = view.columns.iter().filter_map(find);
    if asked.clone().next().is_none() { Box::new(series.axes.iter()) } else { Box::new(asked) }
}

fn axis_column(axis: &Axis, rows: &[ConfigurationResult]) -> Column {
    let text = |row: &ConfigurationResult| {
        row.configuration.get(&axis.name).map_or_else(|| NO_VALUE.to_owned(), ToString::to_string)
    };
    Column {
        title: axis.name.clone(),
        behind: String::new(),
        numeric: axis.kind() != AxisKind::Word,
        cells: rows.iter().map(|row| Cell::plain(text(row))).collect(),
    }
}

/// Marks the best of the deciding column, and the cells indistinguishable from it.
fn mark_headline(column: &mut Column, name: &str, rows: &[ConfigurationResult]) {
    for (cell, best) in column.cells.iter_mut().zip(columns::marks_of_best(name, rows)) {
        cell.best = best;
    }
    let Some(ranking) = ranking(rows, name) else { return };
    let best = best::best(rows, name).and_then(|row| best::value(&rows[row], name));
    for row in ranking.tied().filter(|&row| best::value(&rows[row], name) != best) {
        column.cells[row].tied = true;
    }
}

fn metric_column(name: &str, rows: &[ConfigurationResult]) -> Column {
    titled_column(name, name, rows)
}

fn titled_column(title: &str, name: &str, rows: &[ConfigurationResult]) -> Column {
    let unit = columns::unit_and_class(name, rows).map_or(Unit::Count, |(unit, _)| unit);
    let values: Vec<Option<f64>> = rows.iter().map(|row| best::value(row, name)).collect();
    let scale = Scale::choose(unit, &values.iter().flatten().copied().collect::<Vec<_>>());
    let scale = if columns::is_estimated(name, rows) { scale.rounded() } else { scale };
    let text = |row: &ConfigurationResult, value: Option<f64>| {
        let interval = best::result(row, name).and_then(|result| result.interval);
        match (value, interval) {
            (Some(value), Some(interval)) => estimates::cell(&scale, value, interval),
            (Some(value), None) => scale.text(value),
            (None, _) => NO_VALUE.to_owned(),
        }
    };
    let cells =
        rows.iter().zip(values).zip(columns::marks(name, rows)).map(|((row, value), best)| {
            if row.status == Status::Finished {
                let unstable = best::result(row, name).is_some_and(|result| result.unstable);
                Cell {
                    text: if unstable { UNSTABLE.to_owned() } else { text(row, value) },
                    best,
                    tied: false,
                }
            } else {
                Cell::plain("")
            }
        });
    let title = scale.titled(title);
    Column { title, behind: behind(name), numeric: true, cells: cells.collect() }
}

/// The name of a metric with its formula, and the counters that it takes.
fn behind(name: &str) -> String {
    let catalogue = Catalogue::built_in();
    let Some(metric) = catalogue.find(name) else { return name.to_owned() };
    let formula = metric.formula().map(|formula| format!(" = {}", formula.text()));
    let counters = catalogue.hardware_names(&metric).join(", ");
    let counters = match counters.as_str() {
        "" => String::new(),
        same if same == name => String::new(),
        all => format!(" (counters: {all})"),
    };
    format!("{name}{}{counters}", formula.unwrap_or_default())
}

/// The label of the largest of several metrics, row by row.
fn largest_column(column: &SectionColumn, rows: &[ConfigurationResult]) -> Column {
    let text = |row: &ConfigurationResult| {
        let values = column
            .largest_of
            .iter()
            .filter_map(|(label, name)| Some((label, best::value(row, name)?)));
        let largest = values.reduce(|a, b| if b.1 > a.1 { b } else { a });
        match (largest, &row.status) {
            (Some((label, _)), _) => label.clone(),
            (None, Status::Finished) => NO_VALUE.to_owned(),
            (None, _) => String::new(),
        }
    };
    let cells = rows.iter().map(|row| Cell::plain(text(row))).collect();
    let behind = format!("the largest part of {}", column.name);
    Column { title: column.label.clone(), behind, numeric: false, cells }
}

fn ratio_column(title: &str, ratios: Vec<Option<f64>>, rows: &[ConfigurationResult]) -> Column {
    let text = |(row, ratio): (&ConfigurationResult, Option<f64>)| match (ratio, &row.status) {
        (Some(ratio), _) => format!("{}x", grouped(ratio, 2)),
        (None, Status::Finished) => NO_VALUE.to_owned(),
        (None, _) => String::new(),
    };
    let cells = rows.iter().zip(ratios).map(text).map(Cell::plain).collect();
    Column { title: title.to_owned(), behind: String::new(), numeric: true, cells }
}

/// The baseline's values of the metric `name`, and the changes from them; none without a baseline.
fn base_columns(name: &str, series: &SeriesResult) -> Vec<Column> {
    let rows = &series.configurations;
    let of_metric = series.changes.iter().filter(|change| change.metric == name);
    let changes: HashMap<&str, &Change> =
        of_metric.map(|change| (change.configuration.as_str(), change)).collect();
    let found =
        |row: &ConfigurationResult| changes.get(row.configuration.to_string().as_str()).copied();
    let found: Vec<Option<&Change>> = rows.iter().map(found).collect();
    let value = |change: &Change| change.baseline.map(|quantity| quantity.value);
    let values: Vec<Option<f64>> = found.iter().map(|change| value((*change)?)).collect();
    if values.iter().all(Option::is_none) {
        return Vec::new();
    }
    let unit = columns::unit_and_class(name, rows).map_or(Unit::Count, |(unit, _)| unit);
    let scale = Scale::choose(unit, &values.iter().flatten().copied().collect::<Vec<_>>());
    let title = scale.titled("base");
    let text = |text: Option<String>| Cell::plain(text.unwrap_or_else(|| NO_VALUE.to_owned()));
    let column = |title: &str, behind: String, cells: Vec<Cell>| Column {
        title: title.to_owned(),
        behind,
        numeric: true,
        cells,
    };
    let sign = estimates::sign(name, rows);
    let of_base = |value: f64| format!("{sign}{}", scale.text(value));
    let bases = values.into_iter().map(|value| text(value.map(of_base)));
    let percent = |change: &Change| Some(format!("{:+.2}%", change.percent?));
    let changes = found.into_iter().map(|change| text(change.and_then(percent)));
    vec![
        column(&title, format!("{name} of the baseline"), bases.collect()),
        column("change", format!("the change of {name} from the baseline"), changes.collect()),
    ]
}

fn limiter_column(rows: &[ConfigurationResult]) -> Column {
    let text = |row: &ConfigurationResult| match (row.occupancy_limiter, &row.status) {
        (Some(limiter), _) => limiter.to_string(),
        (None, Status::Finished) => NO_VALUE.to_owned(),
        (None, _) => String::new(),
    };
    let cells = rows.iter().map(text).map(Cell::plain).collect();
    let behind = "the resource that limits the blocks on a multiprocessor".to_owned();
    Column { title: "limited by".into(), behind, numeric: false, cells }
}

#[cfg(test)]
mod tests {
    use gpuprof_analysis::fixture;
    use gpuprof_analysis::gate::judge::Baseline;
    use gpuprof_model::metric::Catalogue;

    use gpuprof_model::threshold::Threshold;

    use super::*;

    /// The columns of a series with a judgement of `threshold`.
    fn list_columns(threshold: &str, view: &View) -> Vec<String> {
        let mut series = fixture::series(vec![fixture::emulated(64, 1024)]);
        series.columns = vec!["ptx_instructions".into()];
        let threshold = Threshold::parse(threshold).unwrap();
        let (catalogue, rows) = (Catalogue::built_in(), &series.configurations);
        let none = Baseline::none();
        let judgement = fixture::judge(&catalogue, &threshold, "attribute", rows, None, &none);
        series.judgements.push(judgement);
        metric_names(&series, view)
    }

    #[test]
    fn only_violated_thresholds_add_a_column() {
        let all = View::default();
        let violated = "every load_sectors_per_request <= 1";
        assert_eq!(list_columns(violated, &all), ["ptx_instructions", "load_sectors_per_request"]);
        assert_eq!(list_columns("every load_sectors_per_request <= 4", &all), ["ptx_instructions"]);
        assert_eq!(list_columns("every ptx_instructions <= 1", &all), ["ptx_instructions"]);
        let asked = View { columns: vec!["global_sectors".into()], ..View::default() };
        assert_eq!(list_columns(violated, &asked), ["global_sectors"]);
    }
}
