//! Pairs the configurations of the run with those of the baseline.
//!
//! Input: a threshold and both sides' configurations. Output: the pairs in which both sides have a
//! value, and the reasons why the others form no pair.

use gpuprof_model::metric::Metric;
use gpuprof_model::run::{ConfigurationResult, Status};
use gpuprof_model::threshold::Threshold;
use gpuprof_model::verdict::Verdict;

use crate::compared_pair::Side;
use crate::gate::by_key::ByKey;

/// The obstacles to a pass.
#[derive(Default)]
pub(super) struct Lacks {
    missing: Vec<String>,
    unavailable: Vec<String>,
    unstable: Vec<String>,
}

impl Lacks {
    /// Their verdict, and its reason.
    pub(super) fn first(&self) -> Option<(Verdict, String)> {
        let summary = |all: &[String]| match all {
            [one] => one.clone(),
            [first, more @ ..] => format!("{first}, and {} more", more.len()),
            [] => String::new(),
        };
        if !self.missing.is_empty() {
            return Some((Verdict::Missing, summary(&self.missing)));
        }
        if !self.unavailable.is_empty() {
            return Some((Verdict::Unavailable, summary(&self.unavailable)));
        }
        (!self.unstable.is_empty()).then(|| (Verdict::Inconclusive, summary(&self.unstable)))
    }
}

fn is_unstable(row: &ConfigurationResult, metric: &str) -> bool {
    row.metrics.get(metric).is_some_and(|result| result.unstable)
}

/// A configuration of the run with both sides' values.
pub(super) type Pair<'r> = (&'r ConfigurationResult, Side, Side);

/// The pairs of `every` and `where`.
pub(super) fn every<'r>(
    threshold: &Threshold,
    ours: &'r [ConfigurationResult],
    theirs: &'r [ConfigurationResult],
    whole: bool,
    lacks: &mut Lacks,
) -> Vec<Pair<'r>> {
    let speaks_of = |row: &&ConfigurationResult| threshold.selector.matches(&row.configuration);
    let (before, after) = (ByKey::new(theirs), ByKey::new(ours));
    let [of_theirs, of_ours] =
        [theirs, ours].map(|rows| Side::correlation(rows, &threshold.metric, threshold.statistic));
    let mut pairs = Vec::new();
    for row in ours.iter().filter(speaks_of) {
        let key = &row.configuration;
        let Some(before) = before.get(row) else { continue };
        // A configuration that could not be launched then, and can now, is new.
        if matches!(before.status, Status::Invalid { .. }) && row.status == Status::Finished {
            continue;
        }
        let side = |row| Side::from_row(row, &threshold.metric, threshold.statistic);
        if let Status::Invalid { reason } = &row.status {
            // A configuration that never could be launched is ignored; if it no longer can, it is
            // gone.
            if side(before).is_ok() {
                lacks
                    .missing
                    .push(format!("{key} ran in the baseline and is invalid here: {reason}"));
            }
            continue;
        }
        match (side(before), side(row)) {
            (Ok(before), Ok(after)) => {
                pairs.push((
                    row,
                    before.with_correlation(of_theirs),
                    after.with_correlation(of_ours),
                ));
            }
            (_, Err(why)) if is_unstable(row, &threshold.metric) => {
                lacks.unstable.push(format!("{key}: {why}"));
            }
            (_, Err(why)) if row.status == Status::Finished => {
                lacks.unavailable.push(format!("{key}: {why}"));
            }
            (_, Err(why)) => lacks.missing.push(format!("{key} {why}")),
            (Err(why), Ok(_)) => {
                lacks.missing.push(format!("{key} has no value in the baseline: {why}"))
            }
        }
    }
    if whole {
        let gone = theirs.iter().filter(speaks_of).filter(|row| !after.has(row));
        lacks.missing.extend(
            gone.map(|row| format!("{} is in the baseline and not in this run", row.configuration)),
        );
    }
    pairs
}

/// The best of the run with the best of the baseline.
pub(super) fn best<'r>(
    threshold: &Threshold,
    metric: &Metric,
    ours: &'r [ConfigurationResult],
    theirs: &'r [ConfigurationResult],
    lacks: &mut Lacks,
) -> Option<Pair<'r>> {
    let best = |rows: &'r [ConfigurationResult]| {
        let sides = rows.iter().filter_map(|row| {
            Side::from_row(row, &threshold.metric, threshold.statistic).ok().map(|side| (row, side))
        });
        let direction = threshold.wanted(metric);
        sides.reduce(|a, b| if direction.better(b.1.value, a.1.value) { b } else { a })
    };
    match (best(theirs), best(ours)) {
        (Some((_, before)), Some((row, after))) => Some((row, before, after)),
        (_, None) => {
            let why = ours.iter().find_map(|row| {
                Side::from_row(row, &threshold.metric, threshold.statistic).err().map(str::to_owned)
            });
            let unstable = ours.iter().any(|row| is_unstable(row, &threshold.metric));
            let list = if unstable { &mut lacks.unstable } else { &mut lacks.unavailable };
            list.push(why.unwrap_or_else(|| "the series has no configuration".into()));
            None
        }
        (None, Some(_)) => {
            lacks.missing.push(format!("the baseline has no `{}`", metric.name));
            None
        }
    }
}
