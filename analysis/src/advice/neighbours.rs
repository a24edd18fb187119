//! Neighbours: configurations that do the same work, and which of two is faster.
//!
//! Input: a series. Output: its configurations in groups of the same work, and the best of each by
//! the deciding metric. Two configurations do the same work if they declare the same bytes and
//! operations; without declarations, if they differ only in launch parameters. The time is linear
//! in the configurations.

use std::collections::HashMap;

use gpuprof_model::axis::AxisValue;
use gpuprof_model::language::Language;
use gpuprof_model::metric::{Class, Direction};
use gpuprof_model::run::{ConfigurationResult, SeriesResult, Status};
use gpuprof_model::threshold::Statistic;

use crate::compared_pair::{Evidence, Side};
use crate::stats::two_sample::SIGNIFICANCE;
use crate::view::best::{self, value};
use crate::view::columns::is_estimated;

/// The axes that change the launch of a kernel but not its result.
const LAUNCH: [&str; 4] = ["block", "grid", "shared", "cluster"];

/// The metrics that define the work of a configuration.
const WORK: [&str; 2] = ["bytes", "flops"];

/// The configurations of a series by their work.
#[derive(Debug)]
pub(super) struct Neighbours<'s> {
    series: &'s SeriesResult,
    /// The metric that decides which is best: the duration, if there is one.
    pub(super) metric: Option<&'s str>,
    /// Positions of finished configurations, those of the same work together.
    pub(super) groups: Vec<Group>,
    /// The group of each configuration, by position.
    group_of: Vec<Option<usize>>,
}

/// The work of a configuration.
#[derive(PartialEq, Eq, Hash)]
enum Work<'s> {
    /// Its declarations, as the bits of [`WORK`].
    Declared([Option<u64>; 2]),
    /// The values of what is not a launch parameter.
    Axes(Vec<Option<&'s AxisValue>>),
}

/// Configurations of the same work.
#[derive(Debug)]
pub(super) struct Group {
    /// Their positions.
    pub(super) rows: Vec<usize>,
    /// The best of them, if the metric decides.
    pub(super) best: Option<usize>,
}

impl<'s> Neighbours<'s> {
    /// The language of the kernel, if it is known.
    pub(super) fn language(&self) -> Option<Language> {
        self.series.language
    }

    pub(super) fn new(series: &'s SeriesResult) -> Self {
        let rows = &series.configurations;
        let timed = rows.iter().any(|row| value(row, "duration").is_some())
            && !is_estimated("duration", rows);
        // Fewer counts of one kind are not a gain, and neither is an estimate: only measured time
        // decides.
        let metric = timed.then_some("duration");
        let mut groups: Vec<Group> = Vec::new();
        let mut group_of = vec![None; rows.len()];
        let mut known: HashMap<Work<'_>, usize> = HashMap::new();
        let axes = work_axes(series);
        for (at, row) in rows.iter().enumerate().filter(|(_, r)| r.status == Status::Finished) {
            let group = *known.entry(Work::new(row, &axes)).or_insert_with(|| {
                groups.push(Group { rows: Vec::new(), best: None });
                groups.len() - 1
            });
            groups[group].rows.push(at);
            group_of[at] = Some(group);
        }
        let mut neighbours = Self { series, metric, groups: Vec::new(), group_of };
        for group in &mut groups {
            group.best = neighbours.best_of(&group.rows);
        }
        neighbours.groups = groups;
        neighbours
    }

    /// The configuration at `at`.
    pub(super) fn row(&self, at: usize) -> &'s ConfigurationResult {
        &self.series.configurations[at]
    }

    /// The best of each amount of work.
    pub(super) fn bests(&self) -> Vec<usize> {
        self.groups.iter().filter_map(|group| group.best).collect()
    }

    /// The group with the most work: of several that declare none, the last one.
    pub(super) fn largest(&self) -> Option<&Group> {
        let work = |group: &&Group| {
            let row = self.row(group.rows[0]);
            WORK.iter().filter_map(|metric| value(row, metric)).fold(0.0, f64::max)
        };
        self.groups.iter().max_by(|a, b| work(a).total_cmp(&work(b)))
    }

    /// The others that do the same work as the one at `at`.
    pub(super) fn of_same_work(&self, at: usize) -> impl Iterator<Item = usize> {
        let group = self.group_of.get(at).copied().flatten().and_then(|at| self.groups.get(at));
        group.into_iter().flat_map(|group| &group.rows).copied().filter(move |other| *other != at)
    }

    /// The rows of `group` that differ from the row `at` in `axis` alone, including that row, in
    /// the order of the series.
    pub(super) fn along(&self, group: &Group, at: usize, axis: &str) -> Vec<usize> {
        let own = self.row(at);
        let dependent = |name: &str| self.series.dependent_axes.iter().any(|other| other == name);
        let alike = |other: &&usize| {
            let other = &self.row(**other).configuration;
            let mut pairs = own.configuration.0.iter();
            pairs.all(|(name, value)| {
                name == axis || dependent(name) || other.get(name) == Some(value)
            })
        };
        group.rows.iter().filter(alike).copied().collect()
    }

    /// The configurations of `group` in sets that differ in `axis` alone, each in the order of the
    /// series.
    pub(super) fn slices(&self, group: &Group, axis: &str) -> Vec<Vec<usize>> {
        let dependent = |name: &str| self.series.dependent_axes.iter().any(|other| other == name);
        let mut known: HashMap<Vec<&(String, AxisValue)>, usize> = HashMap::new();
        let mut slices: Vec<Vec<usize>> = Vec::new();
        for &at in &group.rows {
            let pairs = self.row(at).configuration.0.iter();
            let rest = pairs.filter(|(name, _)| *name != axis && !dependent(name));
            let slice = *known.entry(rest.collect()).or_insert_with(|| {
                slices.push(Vec::new());
                slices.len() - 1
            });
            slices[slice].push(at);
        }
        slices
    }

    /// The change from the configuration at `a` to the one at `b`, with its evidence.
    pub(super) fn evidence(&self, a: usize, b: usize) -> Option<(Class, Evidence)> {
        let metric = self.metric?;
        let side = |at: usize| Side::from_row(self.row(at), metric, Statistic::Median).ok();
        let class = best::result(self.row(a), metric)?.class;
        Some((class, Evidence::compare(class, &side(a)?, &side(b)?)))
    }

    /// Whether the configuration at `a` is surely better than the one at `b`, of which `others`
    /// could have been compared as well.
    pub(super) fn is_surely_better(&self, a: usize, b: usize, others: usize) -> bool {
        let Some(metric) = self.metric else { return false };
        let (Some(ours), Some(theirs)) = (value(self.row(a), metric), value(self.row(b), metric))
        else {
            return false;
        };
        let direction = best::direction(&self.series.configurations, metric);
        let better = direction.unwrap_or(Direction::Neither).better(ours, theirs);
        let Some((class, evidence)) = self.evidence(a, b).filter(|_| better) else { return false };
        #[expect(clippy::cast_precision_loss, reason = "configurations are counted")]
        let pairs = (others * others.saturating_sub(1)).max(1) as f64;
        let sure = |p_value: f64| p_value / 2.0 <= SIGNIFICANCE / pairs;
        class == Class::Exact || evidence.confidence.is_some_and(|c| sure(c.p_value))
    }

    /// Whether the configuration at `a` has the better value than the one at `b`, by however
    /// little.
    pub(super) fn is_faster(&self, a: usize, b: usize) -> bool {
        let Some(metric) = self.metric else { return true };
        let direction = best::direction(&self.series.configurations, metric);
        match (value(self.row(a), metric), value(self.row(b), metric)) {
            (Some(a), Some(b)) => direction.unwrap_or(Direction::Neither).better(a, b),
            _ => true,
        }
    }

    fn best_of(&self, group: &[usize]) -> Option<usize> {
        let metric = self.metric?;
        let direction = best::direction(&self.series.configurations, metric)
            .filter(|direction| *direction != Direction::Neither)?;
        let mut best: Option<(usize, f64)> = None;
        for &at in group {
            let Some(value) = value(self.row(at), metric) else { continue };
            if best.is_none_or(|(_, so_far)| direction.better(value, so_far)) {
                best = Some((at, value));
            }
        }
        best.map(|(at, _)| at)
    }
}

/// The axes of `series` that say what is to do, and not how it is launched.
fn work_axes(series: &SeriesResult) -> Vec<&str> {
    let axes = series.axes.iter().map(|axis| axis.name.as_str());
    let dependent = |axis: &str| series.dependent_axes.iter().any(|other| other == axis);
    axes.filter(|axis| !LAUNCH.contains(axis) && !dependent(axis)).collect()
}

impl<'s> Work<'s> {
    fn new(row: &'s ConfigurationResult, axes: &[&str]) -> Self {
        let declared = WORK.map(|metric| value(row, metric).map(f64::to_bits));
        if declared.iter().any(Option::is_some) {
            return Self::Declared(declared);
        }
        Self::Axes(axes.iter().map(|axis| row.configuration.get(axis)).collect())
    }
}
