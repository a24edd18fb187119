//! Views: which rows of a series are shown, in which order, and their reference.
//!
//! Input: a series and a [`View`]. Output: the rows to show, and a text for everything that was
//! left out. A filter narrows what is *compared*: best, ratios, front and sensitivity are over the
//! rows that it keeps. Sorting and `top` choose what is *shown* of them. A view does not affect
//! judging or storing.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap, HashSet};

use gpuprof_model::each_once::{add_new, each_once};
use gpuprof_model::expression::{Expression, Type, Value};
use gpuprof_model::metric::{Catalogue, Direction};
use gpuprof_model::run::{ConfigurationResult, SeriesResult};
use gpuprof_model::{AxisValue, Configuration, ParseError};

use crate::view::best;
use crate::view::columns;
use crate::view::cut;

/// How to look at a series.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct View {
    /// The metric that decides what is best, instead of the headline metric.
    pub best_by: Option<String>,
    /// The configuration that rows are compared with, in addition to the best.
    pub reference: Option<Reference>,
    /// The rows to look at.
    pub filter: Option<Expression>,
    /// Axes and metrics to show, instead of all axes and the series' metrics.
    pub columns: Vec<String>,
    /// The order of the rows.
    pub sort: Option<Sort>,
    /// The most rows to show.
    pub top: Option<usize>,
    /// The metrics of the marked front.
    pub pareto: Vec<String>,
    /// Whether everything is shown where a report would leave some out.
    pub all: bool,
    /// Whether the notes on noise are shown where a report would leave them out.
    pub verbose: bool,
}

/// A reference configuration: values of some axes. Each row's reference has these, and the row's
/// own values of all other axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference(pub Configuration);

/// A sort key and its direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Sort {
    /// An axis or a metric.
    pub key: String,
    /// Whether the largest comes first.
    pub descending: bool,
}

impl Reference {
    /// Parses `block=256` or `block=256,n=16M`.
    ///
    /// # Errors
    /// The place that does not follow the grammar.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut pairs: Vec<(String, AxisValue)> = Vec::new();
        let mut start = 0;
        for part in text.split(',') {
            let place = start..start + part.len();
            start = place.end + 1;
            let help = "a reference is a value for one axis or more: block=256,n=16M";
            let (name, value) = part.split_once('=').ok_or_else(|| {
                ParseError::new("expected AXIS=VALUE", place.clone()).with_help(help)
            })?;
            let name = name.trim();
            if name.is_empty() || pairs.iter().any(|(other, _)| other == name) {
                let message = if name.is_empty() { "expected an axis" } else { "duplicate axis" };
                return Err(ParseError::new(message, place).with_help(help));
            }
            let shift = place.end - value.len();
            let value = AxisValue::try_from(value.to_owned()).map_err(|e| e.shifted(shift))?;
            pairs.push((name.to_owned(), value));
        }
        Ok(Self(Configuration(pairs)))
    }

    /// For each row of `series` the position of the row that it is compared with.
    pub fn places(&self, series: &SeriesResult) -> Vec<Option<usize>> {
        // A derived axis follows from the reference's values, not from the row's.
        let free = |axis: &str| {
            self.0.get(axis).is_none() && series.dependent_axes.iter().all(|other| other != axis)
        };
        let rest = |row: &'_ ConfigurationResult| -> Vec<(String, AxisValue)> {
            row.configuration.0.iter().filter(|(axis, _)| free(axis)).cloned().collect()
        };
        let mut by_rest = HashMap::new();
        for (at, row) in series.configurations.iter().enumerate() {
            let mut fixed = self.0.0.iter();
            if fixed.all(|(axis, value)| row.configuration.get(axis).is_none_or(|v| v == value)) {
                by_rest.entry(rest(row)).or_insert(at);
            }
        }
        series.configurations.iter().map(|row| by_rest.get(&rest(row)).copied()).collect()
    }
}

impl Sort {
    /// Parses `duration`, `block desc`, `n asc`.
    ///
    /// # Errors
    /// A second word that is neither `asc` nor `desc`.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut words = text.split_whitespace();
        let (key, order, more) = (words.next(), words.next(), words.next());
        let descending = match (order, more) {
            (None, _) | (Some("asc"), None) => false,
            (Some("desc"), None) => true,
            _ => {
                return Err(ParseError::new(
                    "expected an axis or a metric, then asc or desc",
                    0..text.len(),
                )
                .with_help("write --sort 'duration desc'"));
            }
        };
        match key {
            Some(key) => Ok(Self { key: key.to_owned(), descending }),
            None => Err(ParseError::new("expected an axis or a metric", 0..text.len())),
        }
    }
}

/// A series as a view shows it.
#[derive(Debug)]
pub struct SeriesView<'s> {
    /// The series with the rows that are compared.
    pub series: Cow<'s, SeriesResult>,
    /// The positions of the rows to show, in order.
    pub shown: Vec<usize>,
    /// How many further rows did not fit.
    pub left_out: usize,
    /// A sentence for each omitted part and each inapplicable option.
    pub remarks: Vec<String>,
}

impl View {
    /// Looks at `series`.
    pub fn apply<'s>(&self, series: &'s SeriesResult) -> SeriesView<'s> {
        let mut remarks = Vec::new();
        let series = self.filtered(series, &mut remarks);
        let mut shown: Vec<usize> = (0..series.configurations.len()).collect();
        let order = self.order(&series);
        if let Some((key, descending)) = &order {
            sort(&mut shown, &series, key, *descending);
        }
        if let Some(top) = self.top
            && top < shown.len()
        {
            let by = match &order {
                Some((key, _)) if self.sort.is_none() => format!("the best by {key}"),
                Some((key, descending)) => {
                    format!("sorted by {key}{}", if *descending { ", largest first" } else { "" })
                }
                None => "in series order".to_owned(),
            };
            remarks.push(format!("--top shows {top} of {} rows, {by}", shown.len()));
            shown.truncate(top);
        }
        if let Some(reference) = &self.reference {
            let missing: Vec<&str> = reference
                .0
                .0
                .iter()
                .map(|(axis, _)| axis.as_str())
                .filter(|axis| series.axes.iter().all(|own| own.name != *axis))
                .collect();
            if !missing.is_empty() {
                remarks.push(format!("--reference: the series has no axis {}", missing.join(", ")));
            } else if reference.places(&series).iter().all(Option::is_none) {
                let axes = reference.0.0.iter().map(|(axis, _)| axis);
                let values: Vec<String> = axes.map(|axis| values_of(axis, &series)).collect();
                let values = values.join("; ");
                remarks.push(format!("--reference: no row is {}; {values}", reference.0));
            }
        }
        SeriesView { series, shown, left_out: 0, remarks }
    }

    /// Applies the view to `series` with room for `most` rows: those of importance, unless the
    /// view sets how many it shows.
    pub fn within<'s>(&self, series: &'s SeriesResult, most: usize) -> SeriesView<'s> {
        let mut viewed = self.apply(series);
        if self.all || self.top.is_some() {
            return viewed;
        }
        let series = &viewed.series;
        let places = self.reference.as_ref().map(|reference| reference.places(series));
        let references: BTreeSet<usize> = places.into_iter().flatten().flatten().collect();
        let references: Vec<usize> = references.into_iter().collect();
        let kept = cut::rows(series, &viewed.shown, most, (self.headline(series), &references));
        if kept.len() < viewed.shown.len() {
            let (few, all) = (kept.len(), viewed.shown.len());
            viewed.left_out = all - few;
            viewed.shown = kept;
        }
        viewed
    }

    /// The series with the rows that the filter keeps.
    fn filtered<'s>(
        &self,
        series: &'s SeriesResult,
        remarks: &mut Vec<String>,
    ) -> Cow<'s, SeriesResult> {
        let Some(filter) = &self.filter else { return Cow::Borrowed(series) };
        if let Err(error) = filter.check_condition(&types(series)) {
            remarks.push(format!("--filter does not apply: {}", error.message));
            return Cow::Borrowed(series);
        }
        let keeps = |row: &&ConfigurationResult| {
            filter.holds(&|name| Ok(row.configuration.get(name).map(Value::from))).unwrap_or_else(
                |error| {
                    // A row is not hidden by a condition that has no answer there.
                    let remark = format!("--filter: {} at {}", error.message, row.configuration);
                    add_new(remarks, [remark]);
                    true
                },
            )
        };
        let rows: Vec<ConfigurationResult> =
            series.configurations.iter().filter(keeps).cloned().collect();
        let (kept, all) = (rows.len(), series.configurations.len());
        if kept < all {
            remarks.push(format!("--filter keeps {kept} of {all} rows"));
        }
        Cow::Owned(narrowed(series, rows))
    }

    /// The sort key of rows, and whether the largest comes first.
    fn order(&self, series: &SeriesResult) -> Option<(String, bool)> {
        if let Some(sort) = &self.sort {
            return Some((sort.key.clone(), sort.descending));
        }
        self.top?;
        let metric = self.headline(series)?;
        let found = series.configurations.iter().find_map(|row| best::result(row, metric))?;
        Some((metric.to_owned(), found.direction == Direction::Higher))
    }

    /// The metric that decides what is best in `series`.
    pub fn headline<'v>(&'v self, series: &'v SeriesResult) -> Option<&'v str> {
        match &self.best_by {
            Some(metric) => {
                let has =
                    series.configurations.iter().any(|row| best::value(row, metric).is_some());
                has.then_some(metric.as_str())
            }
            None => columns::headline(series),
        }
    }

    /// How many times worse each row is than its reference: below 1 where it is better.
    pub fn reference_ratios(
        &self,
        series: &SeriesResult,
        metric: &str,
    ) -> Option<Vec<Option<f64>>> {
        let reference = self.reference.as_ref()?;
        let rows = &series.configurations;
        let ratio = |(row, place): (&ConfigurationResult, Option<usize>)| {
            let other = &rows[place?];
            let (value, base) = (best::value(row, metric)?, best::value(other, metric)?);
            best::result(row, metric)?.direction.times_worse(value, base)
        };
        Some(rows.iter().zip(reference.places(series)).map(ratio).collect())
    }

    /// The names of axes and metrics that the view applies to.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let sorted = self.sort.iter().map(|sort| &sort.key);
        let all = self.best_by.iter().chain(&self.columns).chain(sorted).chain(&self.pareto);
        all.map(String::as_str)
    }

    /// The names that no metric of `catalogue` and none of `axes` has, each as the option without
    /// dashes that says it and what is wrong, with the nearest names.
    pub fn misfits(
        &self,
        catalogue: &Catalogue,
        axes: &[(&str, Type)],
    ) -> Vec<(&'static str, String)> {
        let names = each_once(axes.iter().map(|(axis, _)| *axis));
        let listed = names.join(", ");
        let is_axis = |name: &str| names.contains(&name);
        let unknown = |name: &str| match catalogue.find(name) {
            Some(_) => None,
            None => Some(catalogue.unknown(name)),
        };
        let neither = |name: &str| match is_axis(name) {
            true => None,
            false => unknown(name).map(|why| format!("{why}; the axes are {listed}")),
        };
        let directed = |name: &str| match catalogue.find(name) {
            Some(metric) if metric.direction == Direction::Neither => Some(format!(
                "neither direction of `{name}` is better; `[metrics.\"{name}\"]` with `direction \
                 = \"lower\"` or \"higher\" in the configuration file sets one"
            )),
            _ => unknown(name),
        };
        let no_axis = |axis: &str| {
            let near = || gpuprof_model::suggest::did_you_mean(axis, names.iter().copied());
            (!is_axis(axis)).then(|| {
                let near = near().unwrap_or_else(|| format!("the axes are {listed}"));
                format!("no series has an axis `{axis}`: {near}")
            })
        };
        let best_by = self.best_by.iter().map(|name| ("best-by", directed(name)));
        let pareto = self.pareto.iter().map(|name| ("pareto", directed(name)));
        let columns = self.columns.iter().map(|name| ("columns", neither(name)));
        let sort = self.sort.iter().map(|sort| ("sort", neither(&sort.key)));
        let fixed = self.reference.iter().flat_map(|reference| &reference.0.0);
        let reference = fixed.map(|(axis, _)| ("reference", no_axis(axis)));
        let all = best_by.chain(pareto).chain(columns).chain(sort).chain(reference);
        all.filter_map(|(option, why)| Some((option, why?))).collect()
    }
}

/// The axes of `series` with their types.
pub fn types(series: &SeriesResult) -> Vec<(&str, Type)> {
    series.axes.iter().map(|axis| (axis.name.as_str(), axis.kind().into())).collect()
}

/// `series` with these of its `rows` only, and the values of its axes that occur in them.
pub(super) fn narrowed(series: &SeriesResult, rows: Vec<ConfigurationResult>) -> SeriesResult {
    let mut narrowed = SeriesResult { configurations: rows, ..without_rows(series) };
    for axis in &mut narrowed.axes {
        let rows = narrowed.configurations.iter();
        let left: HashSet<_> = rows.filter_map(|row| row.configuration.get(&axis.name)).collect();
        axis.values.retain(|value| left.contains(value));
    }
    narrowed
}

/// A copy of `series` without its rows.
fn without_rows(series: &SeriesResult) -> SeriesResult {
    SeriesResult {
        id: series.id.clone(),
        axes: series.axes.clone(),
        dependent_axes: series.dependent_axes.clone(),
        file: series.file.clone(),
        line: series.line,
        language: series.language,
        columns: series.columns.clone(),
        sections: series.sections.clone(),
        configurations: Vec::new(),
        thresholds: series.thresholds.clone(),
        judgements: series.judgements.clone(),
        not_applicable: series.not_applicable.clone(),
        changes: series.changes.clone(),
    }
}

/// Sorts `rows` by an axis or a metric; rows without it come last, and equals keep their order.
fn sort(rows: &mut [usize], series: &SeriesResult, key: &str, descending: bool) {
    let place = |row: usize| series.configurations[row].configuration.get(key);
    if series.axes.iter().any(|axis| axis.name == key) {
        rows.sort_by(|&a, &b| directed(place(a), place(b), descending, |a, b| a.cmp(b)));
        return;
    }
    let value = |row: usize| best::value(&series.configurations[row], key);
    rows.sort_by(|&a, &b| directed(value(a), value(b), descending, f64::total_cmp));
}

fn directed<T>(
    a: Option<T>,
    b: Option<T>,
    descending: bool,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) if descending => compare(&b, &a),
        (Some(a), Some(b)) => compare(&a, &b),
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}

/// `block is 64, 128`: the values that the rows of `series` have, of many the first.
fn values_of(axis: &str, series: &SeriesResult) -> String {
    const MOST: usize = 12;
    let mut values: Vec<&AxisValue> = Vec::new();
    for value in series.configurations.iter().filter_map(|row| row.configuration.get(axis)) {
        if !values.contains(&value) && values.len() <= MOST {
            values.push(value);
        }
    }
    let mut texts: Vec<String> = values.iter().map(ToString::to_string).collect();
    if texts.len() > MOST {
        texts[MOST] = "…".to_owned();
    }
    format!("{axis} is {}", texts.join(", "))
}

#[cfg(test)]
#[path = "viewed_tests.rs"]
mod tests;
