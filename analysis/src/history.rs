//! Histories: the values of a metric of a configuration, revision by revision, and their changes.
//!
//! Input: the entries of a history in any order. Output: one [`Timeline`] for each metric of a
//! configuration under one set of conditions, with one point per revision, oldest first, and the
//! points at which it changed. Invariant: the order of the entries and repeated entries have no
//! effect, and values of two devices are never in one timeline.

mod entries;

use std::collections::BTreeMap;

use gpuprof_model::comparison::{Interval, Outcome};
use gpuprof_model::history::{Conditions, Entry, Revision, Value};
use gpuprof_model::measurement::Source;
use gpuprof_model::metric::{Class, Direction};
use gpuprof_model::quantity::Unit;
use serde::Serialize;

use crate::compared_pair::MINIMUM_PERCENT;
use crate::stats::e_divisive::{self, LEAST, Permutations, Split, segments};
use crate::stats::median::median;

pub use entries::entries;

/// How probable it should be at most that any timeline of those asked for shows a change where
/// there is none.
pub const LEVEL: f64 = 0.01;

/// The level of one timeline is never below this, since it takes 2 / level permutations: so
/// [`LEVEL`] holds for up to 50 timelines, and each further 50 add as much again.
const LEAST_LEVEL: f64 = LEVEL / 50.0;

/// A metric of a configuration over revisions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timeline {
    /// The conditions of all points.
    pub conditions: Conditions,
    /// The key of the series.
    pub series: String,
    /// The metric.
    pub metric: String,
    /// The configuration.
    pub configuration: String,
    /// The base unit of the values.
    pub unit: Unit,
    /// Whether lower or higher is better, or neither, as the newest entry has it.
    pub direction: Direction,
    /// Whether every difference counts.
    pub class: Class,
    /// The source of the values.
    pub source: Source,
    /// One for each revision, oldest first.
    pub points: Vec<Point>,
    /// Its changes, oldest first.
    pub changes: Vec<Change>,
}

/// A revision with a value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// The measured revision; none outside a repository.
    pub revision: Option<Revision>,
    /// The last run that measured it.
    pub run: String,
    /// When that run started.
    pub started: String,
    /// The median of the runs, or of an exact metric the last one.
    pub value: f64,
    /// The interval of the value, if there is only one run.
    pub interval: Option<Interval>,
    /// How many processes all runs had.
    pub processes: usize,
    /// How many runs measured it.
    pub runs: usize,
    /// The driver's version.
    pub driver: u32,
    /// The toolchain that built the kernels.
    pub toolchain: Option<String>,
}

/// A point at which a new level begins.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The position of the first point of the new level.
    pub at: usize,
    /// The revision there.
    pub revision: Option<Revision>,
    /// The revision of the previous point: the change comes after it.
    pub after_revision: Option<Revision>,
    /// The level before: the median of its points.
    pub before: f64,
    /// The new level.
    pub after: f64,
    /// How much it changed, in percent of the level before; none if that is 0.
    pub percent: Option<f64>,
    /// How probable a change as large would be without one; none of exact metrics.
    pub p_value: Option<f64>,
    /// Whether it is better or worse.
    pub outcome: Outcome,
    /// Other changes at this point: the driver, the toolchain.
    pub besides: Vec<String>,
}

/// The key of a timeline: conditions, series, metric, source, unit with class, and configuration.
type Key<'e> = (&'e Conditions, &'e str, &'e str, String, String, &'e str);

/// The timelines of `entries` for which `keep` says yes to an entry and a configuration, the last
/// `last` points of each.
pub fn timelines(
    entries: &[Entry],
    keep: impl Fn(&Entry, &str) -> bool,
    last: usize,
) -> Vec<Timeline> {
    let dates = dates(entries);
    let mut found: BTreeMap<Key<'_>, Vec<(&Entry, &Value)>> = BTreeMap::new();
    for entry in entries {
        for (configuration, value) in &entry.values {
            if keep(entry, configuration) {
                found.entry(key(entry, configuration)).or_default().push((entry, value));
            }
        }
    }
    let to_timeline = |(key, values): (Key<'_>, _)| timeline(key.5, values, &dates, last);
    let mut all: Vec<Timeline> = found.into_iter().filter_map(to_timeline).collect();
    let able = |t: &&Timeline| t.class == Class::Noisy && t.points.len() >= 2 * LEAST;
    #[expect(clippy::cast_precision_loss, reason = "timelines are counted")]
    let level = LEVEL / (all.iter().filter(able).count().max(1) as f64);
    let permutations = Permutations::for_level(level.max(LEAST_LEVEL));
    for timeline in &mut all {
        timeline.changes = changes(timeline, permutations);
    }
    all
}

fn key<'e>(entry: &'e Entry, configuration: &'e str) -> Key<'e> {
    let source = entry.source.to_string();
    let unit = format!("{:?} {:?}", entry.unit, entry.class);
    (&entry.conditions, &entry.series, &entry.metric, source, unit, configuration)
}

/// The commits with known dates: if a commit was measured twice, one machine may not have had the
/// repository.
fn dates(entries: &[Entry]) -> BTreeMap<&str, &str> {
    let revisions = entries.iter().filter_map(|entry| entry.revision.as_ref());
    revisions.filter_map(|r| Some((r.commit.as_str(), r.date.as_deref()?))).collect()
}

fn timeline(
    configuration: &str,
    mut values: Vec<(&Entry, &Value)>,
    dates: &BTreeMap<&str, &str>,
    last: usize,
) -> Option<Timeline> {
    values.sort_by(|(a, one), (b, other)| {
        let order = place(a, dates).cmp(&place(b, dates));
        order.then(one.value.total_cmp(&other.value))
    });
    values.dedup_by(|a, b| a.0.run == b.0.run && a.1 == b.1);
    let &(newest, _) = values.last()?;
    let grouped = values.chunk_by(|a, b| same_point(a.0, b.0));
    let mut points: Vec<Point> = grouped.filter_map(|runs| point(runs, newest.class)).collect();
    points.drain(..points.len().saturating_sub(last));
    Some(Timeline {
        conditions: newest.conditions.clone(),
        series: newest.series.clone(),
        metric: newest.metric.clone(),
        configuration: configuration.to_owned(),
        unit: newest.unit,
        direction: newest.direction,
        class: newest.class,
        source: newest.source,
        points,
        changes: Vec::new(),
    })
}

/// The position of an entry: by the date of its commit, or else by its own; a tree with changes
/// comes after its commit.
fn place<'e>(
    entry: &'e Entry,
    dates: &BTreeMap<&str, &'e str>,
) -> (&'e str, &'e str, bool, &'e str, &'e str) {
    let revision = entry.revision.as_ref();
    let date = revision.and_then(|revision| dates.get(revision.commit.as_str()).copied());
    let commit = revision.map_or("", |revision| &revision.commit);
    let dirty = revision.is_some_and(|revision| revision.dirty);
    (date.unwrap_or(&entry.started), commit, dirty, &entry.started, &entry.run)
}

/// Whether two runs measured the same code: a tree with changes is never the same.
fn same_point(a: &Entry, b: &Entry) -> bool {
    let commit = |entry: &Entry| {
        let clean = entry.revision.clone().filter(|revision| !revision.dirty);
        clean.map(|revision| revision.commit)
    };
    a.run == b.run || commit(a).is_some() && commit(a) == commit(b)
}

fn point(runs: &[(&Entry, &Value)], class: Class) -> Option<Point> {
    let &(newest, last) = runs.last()?;
    let values: Vec<f64> = runs.iter().map(|(_, value)| value.value).collect();
    Some(Point {
        revision: newest.revision.clone(),
        run: newest.run.clone(),
        started: newest.started.clone(),
        value: if class == Class::Exact { last.value } else { median(&values)? },
        interval: last.interval.filter(|_| runs.len() == 1),
        processes: runs.iter().map(|(_, value)| value.processes).sum(),
        runs: runs.len(),
        driver: newest.driver,
        toolchain: newest.toolchain.clone(),
    })
}

/// The changes of `timeline`: every difference of an exact metric, and every new level of a noisy
/// metric that differs from the previous level by more than [`MINIMUM_PERCENT`].
fn changes(timeline: &Timeline, permutations: Permutations) -> Vec<Change> {
    let values: Vec<f64> = timeline.points.iter().map(|point| point.value).collect();
    if timeline.class == Class::Exact {
        #[expect(clippy::float_cmp, reason = "a count is the same or is not")]
        let changed = (1..values.len()).filter(|&at| values[at] != values[at - 1]);
        return changed
            .map(|at| change(timeline, at, (values[at - 1], values[at]), None))
            .collect();
    }
    // Ratios count, so that a factor of two down is as far as one up.
    let logs: Vec<f64> = match values.iter().all(|value| *value > 0.0) {
        true => values.iter().map(|value| value.ln()).collect(),
        false => values.clone(),
    };
    let mut splits = e_divisive::splits(&logs, permutations);
    loop {
        let all = levels(&values, &splits);
        let changes: Vec<Change> = splits
            .iter()
            .zip(all.windows(2))
            .map(|(split, pair)| {
                change(timeline, split.at, (pair[0], pair[1]), Some(split.p_value))
            })
            .collect();
        let size = |change: &Change| change.percent.map_or(f64::INFINITY, f64::abs);
        let smallest =
            (0..changes.len()).min_by(|&a, &b| size(&changes[a]).total_cmp(&size(&changes[b])));
        match smallest.filter(|&at| size(&changes[at]) < MINIMUM_PERCENT) {
            Some(at) => splits.remove(at),
            None => return changes,
        };
    }
}

/// The median of each segment.
fn levels(values: &[f64], splits: &[Split]) -> Vec<f64> {
    let all = segments(splits, values.len()).into_iter();
    all.filter_map(|segment| median(&values[segment])).collect()
}

fn change(
    timeline: &Timeline,
    at: usize,
    (before, after): (f64, f64),
    p_value: Option<f64>,
) -> Change {
    let percent = (before != 0.0).then(|| 100.0 * (after - before) / before.abs());
    let outcome = match (timeline.direction, after > before) {
        (Direction::Neither, _) => Outcome::Changed,
        (Direction::Lower, more) if more => Outcome::Worse,
        (Direction::Higher, more) if !more => Outcome::Worse,
        (Direction::Lower | Direction::Higher, _) => Outcome::Better,
    };
    let (old, new) = (&timeline.points[at - 1], &timeline.points[at]);
    let mut besides = Vec::new();
    if old.driver != new.driver {
        besides.push(format!("driver {} to {}", old.driver, new.driver));
    }
    if let (Some(old), Some(new)) = (&old.toolchain, &new.toolchain)
        && old != new
    {
        besides.push(format!("toolchain {old} to {new}"));
    }
    let (revision, after_revision) = (new.revision.clone(), old.revision.clone());
    Change { at, revision, after_revision, before, after, percent, p_value, outcome, besides }
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
