//! Against a baseline: which of its series and configurations a run is held against.
//!
//! Comes in: a baseline, or why there is none, and what the run was to hold of it. Goes out: for each
//! series what thresholds refer to, the changes of its columns, and what vanished or appeared. Joined by
//! name, never by position.

use std::collections::BTreeSet;

use gpuprof_model::comparison::{Change, Comparison, Mismatch, Outcome};
use gpuprof_model::metric::{self, Class, Direction};
use gpuprof_model::run::{ConfigurationResult, Provenance, Run, SeriesResult};
use gpuprof_model::series::SeriesId;

use super::judge::Baseline;
use super::{best, fingerprint, pair};

/// What a run was to hold of its baseline.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scope {
    /// Whether all series and configurations of the built harnesses were selected.
    pub whole: bool,
    /// Packages that exist and were not selected.
    pub other_packages: BTreeSet<String>,
    /// The bench targets that were selected; all where it is empty.
    pub targets: Vec<String>,
}

impl Scope {
    /// Everything.
    pub fn whole() -> Self {
        Self { whole: true, ..Self::default() }
    }

    fn holds(&self, id: &SeriesId) -> bool {
        self.whole
            && !self.other_packages.contains(&id.package)
            && (self.targets.is_empty() || self.targets.contains(&id.target))
    }
}

/// A baseline that a run is held against.
#[derive(Debug, Clone)]
pub struct Against {
    /// As it was asked for.
    pub name: String,
    /// What it holds, or why it cannot be had.
    pub run: Result<Run, String>,
    /// Whether it may come from another device.
    pub across_devices: bool,
    /// What the run was to hold of it.
    pub scope: Scope,
}

impl Against {
    /// What the thresholds of the series `id` of a run with this `provenance` refer to.
    pub fn series(&self, id: &SeriesId, provenance: &Provenance) -> Baseline<'_> {
        let run = match &self.run {
            Ok(run) => run,
            Err(reason) => return Baseline::Absent(reason.clone()),
        };
        let mismatches = fingerprint::mismatches(&run.provenance, provenance, self.across_devices);
        if let Some(obstacle) = obstacle(&mismatches) {
            return Baseline::Incomparable(obstacle);
        }
        match run.series.iter().find(|series| series.id == *id) {
            Some(series) => Baseline::Held {
                configurations: &series.configurations,
                whole: self.scope.holds(id),
            },
            None => Baseline::Absent(format!("the baseline `{}` has no series {id}", self.name)),
        }
    }

    /// The changes of the columns of `series`; what only the baseline has comes last.
    pub fn changes(&self, series: &SeriesResult, provenance: &Provenance) -> Vec<Change> {
        let baseline = self.series(&series.id, provenance);
        let theirs = match &baseline {
            Baseline::Held { configurations, .. } => *configurations,
            Baseline::Incomparable(_) | Baseline::Absent(_) => return Vec::new(),
        };
        let find = |rows: &'_ [ConfigurationResult], row: &ConfigurationResult| {
            rows.iter().position(|other| other.configuration == row.configuration)
        };
        let mut changes = Vec::new();
        for row in &series.configurations {
            let before = find(theirs, row).map(|at| &theirs[at]);
            changes
                .extend(series.columns.iter().filter_map(|m| pair::change(m, before, Some(row))));
        }
        if self.scope.holds(&series.id) {
            for row in theirs.iter().filter(|row| find(&series.configurations, row).is_none()) {
                changes
                    .extend(series.columns.iter().filter_map(|m| pair::change(m, Some(row), None)));
            }
        }
        changes
    }

    /// What the whole of `run` was compared with.
    pub fn comparison(&self, run: &Run) -> Comparison {
        let mut comparison = Comparison {
            baseline: self.name.clone(),
            run: None,
            git_revision: None,
            absent: None,
            mismatches: Vec::new(),
            vanished: Vec::new(),
            appeared: Vec::new(),
        };
        let baseline = match &self.run {
            Ok(baseline) => baseline,
            Err(reason) => return Comparison { absent: Some(reason.clone()), ..comparison },
        };
        comparison.run = Some(baseline.id.clone());
        comparison.git_revision.clone_from(&baseline.provenance.git_revision);
        comparison.mismatches =
            fingerprint::mismatches(&baseline.provenance, &run.provenance, self.across_devices);
        comparison.mismatches.extend(fingerprint::moved(baseline, run));
        if comparison.obstacle().is_some() {
            return comparison;
        }
        for theirs in baseline.series.iter().filter(|series| self.scope.holds(&series.id)) {
            match run.series.iter().find(|series| series.id == theirs.id) {
                None => comparison.vanished.push(theirs.id.to_string()),
                Some(ours) => {
                    comparison.vanished.extend(only_in(theirs, ours));
                    comparison.vanished.extend(lost_metrics(theirs, ours));
                }
            }
        }
        for ours in &run.series {
            match baseline.series.iter().find(|series| series.id == ours.id) {
                None => comparison.appeared.push(ours.id.to_string()),
                Some(theirs) => comparison.appeared.extend(only_in(ours, theirs)),
            }
        }
        comparison
    }
}

fn obstacle(mismatches: &[Mismatch]) -> Option<String> {
    let texts: Vec<String> =
        mismatches.iter().filter(|m| m.matters).map(ToString::to_string).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

/// Keys of the configurations that `one` has and `other` has not.
fn only_in<'r>(
    one: &'r SeriesResult,
    other: &'r SeriesResult,
) -> impl Iterator<Item = String> + 'r {
    let here = |row: &&ConfigurationResult| {
        other.configurations.iter().all(|o| o.configuration != row.configuration)
    };
    one.configurations.iter().filter(here).map(|row| format!("{}/{}", one.id, row.configuration))
}

/// Columns of the baseline that no configuration of the run has a value of any more.
fn lost_metrics<'r>(
    theirs: &'r SeriesResult,
    ours: &'r SeriesResult,
) -> impl Iterator<Item = String> + 'r {
    let has = |series: &SeriesResult, name: &str| {
        series.configurations.iter().any(|row| best::value(row, name).is_some())
    };
    let lost = move |name: &&String| has(theirs, name) && !has(ours, name);
    theirs.columns.iter().filter(lost).map(|name| format!("{}: {name}", ours.id))
}

/// The thresholds that a baseline brings for a series that names none of its own: no exact metric
/// among its columns may get worse at all, and `duration` not by more than [`DEFAULT_PERCENT`].
pub fn default_thresholds(series: &SeriesResult) -> Vec<String> {
    // What is exact on the emulator may not be so on hardware, so the results are asked.
    let measured = |name: &String| {
        series.configurations.iter().find_map(|row| Some(row.metrics.get(name)?.class))
    };
    let of = |name: &String| {
        let metric = metric::find(name)?;
        match (measured(name).unwrap_or(metric.class), metric.direction, name.as_str()) {
            (Class::Exact, Direction::Lower, _) => Some(format!("every {name} <= baseline")),
            (Class::Exact, Direction::Higher, _) => Some(format!("every {name} >= baseline")),
            (Class::Noisy, _, "duration") => {
                Some(format!("every duration <= baseline + {DEFAULT_PERCENT}%"))
            }
            (Class::Noisy, ..) => None,
        }
    };
    series.columns.iter().filter_map(of).collect()
}

/// How many percent `duration` may grow where nothing else is said.
pub const DEFAULT_PERCENT: u32 = 2;

/// How many changes have each outcome, in the order of [`Outcome`]'s variants.
pub fn count(changes: &[Change]) -> Vec<(Outcome, usize)> {
    let all = [
        Outcome::Worse,
        Outcome::Better,
        Outcome::Same,
        Outcome::Inconclusive,
        Outcome::Missing,
        Outcome::New,
        Outcome::Incomparable,
    ];
    let of = |outcome| (outcome, changes.iter().filter(|c| c.outcome == outcome).count());
    all.map(of).into_iter().filter(|(_, count)| *count > 0).collect()
}

#[cfg(test)]
mod tests {
    use gpuprof_model::run::SCHEMA_VERSION;

    use super::*;
    use crate::compare::fixture::{block, emulated, gh100, gpu, h200, rows, series};

    fn run(series: Vec<SeriesResult>) -> Run {
        let provenance = Provenance { device: Some(gh100()), ..Provenance::default() };
        Run { schema_version: SCHEMA_VERSION, id: "r".into(), provenance, series, comparison: None }
    }

    fn against(baseline: Run, scope: Scope) -> Against {
        Against { name: "main".into(), run: Ok(baseline), across_devices: false, scope }
    }

    fn named(kernel: &str, values: &[f64]) -> SeriesResult {
        let mut named = series(rows("global_sectors", values));
        named.id.kernel = kernel.into();
        named.columns = vec!["global_sectors".into()];
        named
    }

    #[test]
    fn what_vanished_and_what_appeared_is_told_by_key() {
        let before = run(vec![named("a", &[1.0, 2.0]), named("gone", &[1.0])]);
        let after = run(vec![named("a", &[1.0]), named("fresh", &[1.0])]);
        let told = against(before.clone(), Scope::whole()).comparison(&after);
        assert_eq!(told.vanished, ["saxpy::kernels::a/block=1", "saxpy::kernels::gone"]);
        assert_eq!(told.appeared, ["saxpy::kernels::fresh"]);
        let part = against(before.clone(), Scope::default()).comparison(&after);
        assert_eq!(part.vanished, [] as [&str; 0]);
        let other_packages = BTreeSet::from(["saxpy".to_owned()]);
        let elsewhere = Scope { whole: true, other_packages, ..Scope::default() };
        assert_eq!(against(before, elsewhere).comparison(&after).vanished, [] as [&str; 0]);
    }

    #[test]
    fn a_metric_that_nothing_has_any_more_has_vanished() {
        let before = run(vec![named("a", &[1.0])]);
        let mut after = before.clone();
        after.series[0].configurations[0].metrics.clear();
        let told = against(before, Scope::whole()).comparison(&after);
        assert_eq!(told.vanished, ["saxpy::kernels::a: global_sectors"]);
    }

    #[test]
    fn another_device_makes_every_series_incomparable() {
        let before = run(vec![named("a", &[1.0])]);
        let here = Provenance { device: Some(h200()), ..Provenance::default() };
        let baseline = against(before.clone(), Scope::whole());
        let told = baseline.series(&before.series[0].id, &here);
        assert!(
            matches!(told, Baseline::Incomparable(reason) if reason.starts_with("device: GH100"))
        );
        assert_eq!(baseline.changes(&before.series[0], &here), []);
        let across = Against { across_devices: true, ..baseline };
        assert!(matches!(across.series(&before.series[0].id, &here), Baseline::Held { .. }));
    }

    #[test]
    fn changes_are_joined_by_name_not_by_position() {
        let before = run(vec![named("a", &[1.0, 2.0, 3.0])]);
        let mut after = before.series[0].clone();
        after.configurations.reverse();
        after.configurations.pop();
        let told = against(before.clone(), Scope::whole()).changes(&after, &before.provenance);
        let told: Vec<(String, Outcome)> =
            told.into_iter().map(|c| (c.configuration, c.outcome)).collect();
        let key = |at| block(at).to_string();
        assert_eq!(
            told,
            [(key(2), Outcome::Same), (key(1), Outcome::Same), (key(0), Outcome::Missing)]
        );
    }

    #[test]
    fn the_default_gate_holds_counts_exactly_and_time_within_two_percent() {
        let raw = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
        let columns = ["duration", "throughput", "global_sectors", raw, "theoretical_occupancy"];
        let of =
            |rows| SeriesResult { columns: columns.map(str::to_owned).to_vec(), ..series(rows) };
        assert_eq!(
            default_thresholds(&of(vec![gpu(64, 1 << 20, &[100.0])])),
            [
                "every duration <= baseline + 2%",
                "every global_sectors <= baseline",
                "every theoretical_occupancy >= baseline",
            ]
        );
        // L1's own counters repeat on the emulator only.
        let emulated = of(vec![emulated(64, 1 << 20)]);
        assert!(default_thresholds(&emulated).contains(&format!("every {raw} <= baseline")));
        for text in default_thresholds(&emulated) {
            let threshold = gpuprof_model::Threshold::parse(&text).unwrap();
            threshold.check(metric::find(&threshold.metric).unwrap()).unwrap();
        }
    }
}
