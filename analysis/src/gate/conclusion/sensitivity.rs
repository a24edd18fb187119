//! The slowdown that a run in rounds would have caught.
//!
//! Input: the processes that both sides recorded, their limits, and the bounds that judged them.
//! Output: the smallest slowdown of one configuration that fails the run with at least [`CAUGHT`].
//! It is simulated: processes are drawn again from the recorded ones and judged by the code that
//! judges a run. Only limits on `duration` count, since other metrics derived from times follow
//! them; including these could only catch more.

use std::collections::BTreeMap;

use gpuprof_model::conclusion::Sensitivity;
use gpuprof_model::run::{ConfigurationResult, Run, SeriesResult};
use gpuprof_model::threshold::{Limit, Severity, Statistic, Threshold};

use crate::compared_pair::{Side, processes, resolution};
use crate::gate::budget::Budget;
use crate::gate::by_key::ByKey;
use crate::gate::prediction::Ability;
use crate::gate::simulate::{Pool, Trial};
use crate::sequential::{FIRST_TO_DECIDE, LOOKS, next_look};
use crate::stats::median::median;
use crate::stats::random::SEED;
use crate::stats::two_sample::MIN_PROCESSES;

/// The probability with which a slowdown is to be caught, to be named.
const CAUGHT: f64 = 0.95;

/// How often each slowdown is simulated: the probability is off by 0.7 % (standard error).
const DRAWS: u32 = 1_000;

/// The slowdowns that may be named, in percent.
const SLOWDOWNS: [f64; 24] = [
    0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 12.0, 15.0, 20.0,
    25.0, 30.0, 40.0, 50.0, 75.0, 100.0,
];

/// The slowdown that `run` would have caught, measured in rounds with `base`, at most `most` each.
///
/// # Errors
/// Why it is unknown.
pub(super) fn estimate(
    run: &Run,
    base: &Run,
    budget: &Budget,
    most: u32,
) -> Result<Sensitivity, String> {
    let mut recorded = Recorded::default();
    for series in &run.series {
        let Some(theirs) = base.series.iter().find(|theirs| theirs.id == series.id) else {
            continue;
        };
        recorded.add(series, theirs);
    }
    let configurations = recorded.count();
    if configurations == 0 {
        return Err(format!(
            "it takes {FIRST_TO_DECIDE} processes a side of a configuration, and none has as many"
        ));
    }
    let rounds = recorded.most(most);
    let groups = recorded.groups();
    let caught = |slowdown: f64| simulated(&groups, budget, (rounds, configurations), slowdown);
    // The more a configuration is slower, the more often it is caught.
    let at = SLOWDOWNS.partition_point(|&slowdown| caught(slowdown) < CAUGHT);
    let slowdown_percent = *SLOWDOWNS.get(at).ok_or_else(|| {
        let [.., largest] = SLOWDOWNS;
        format!("in {rounds} rounds not even a slowdown of {largest} % fails with 95 %")
    })?;
    Ok(Sensitivity {
        slowdown_percent,
        caught: caught(slowdown_percent),
        simulated: DRAWS,
        configurations,
    })
}

/// The slowdown that a run against a stored baseline would have caught, if the machine has not
/// changed since; none if `undecided` configurations scatter too much for a decision.
///
/// # Errors
/// Why it is unknown.
pub(super) fn of_stored(ability: &Ability, undecided: usize) -> Result<Sensitivity, String> {
    if undecided > 0 {
        let (count, scatter) = match undecided {
            1 => ("1 configuration".to_owned(), "scatters"),
            more => (format!("{more} configurations"), "scatter"),
        };
        return Err(format!(
            "{count} of this run {scatter} too much to be decided, so the baseline's scatter does \
             not tell; `--base` measures both sides together"
        ));
    }
    let Some(percent) = ability.catches_percent else {
        return Err(format!(
            "a difference needs {MIN_PROCESSES} processes a side, and {} of {} comparisons have \
             fewer; `--base` measures both sides together",
            ability.hopeless, ability.questions
        ));
    };
    Ok(Sensitivity {
        // Not less than it is.
        slowdown_percent: (10.0 * percent).ceil() / 10.0,
        caught: CAUGHT,
        simulated: 0,
        configurations: ability.questions,
    })
}

/// Configurations that one limit holds.
struct Group {
    limit_percent: f64,
    /// The step of their clock.
    resolution: f64,
    /// Their processes.
    pool: Pool,
    /// How many there are.
    count: usize,
}

/// The share of configurations of `groups`, `slowdown` percent slower, that fail.
fn simulated(
    groups: &[Group],
    budget: &Budget,
    (most, configurations): (u32, usize),
    slowdown: f64,
) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "configurations are counted")]
    let share = |count: usize| count as f64 / configurations as f64;
    let caught = |(group, seed): (&Group, u64)| {
        let share = share(group.count);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "of DRAWS")]
        let draws = (share * f64::from(DRAWS)).ceil() as u32;
        let Group { limit_percent, resolution, ref pool, .. } = *group;
        let trial = Trial { pool, limit_percent, share: 1.0, resolution, most, draws, seed };
        share * trial.simulate(&budget.relative, slowdown).fail
    };
    groups.iter().zip(SEED..).map(caught).sum()
}

/// The processes of configurations, by the limit that they are compared with in percent and the
/// step of their clock.
#[derive(Default)]
struct Recorded {
    /// By the bits of both numbers, which are not negative.
    groups: BTreeMap<(u64, u64), Vec<Vec<f64>>>,
    /// The rounds of what is undecided, and the most of any.
    open: Vec<u32>,
    rounds: u32,
}

impl Recorded {
    /// Adds the configurations of `ours` that limits on a duration compare with `theirs`.
    fn add(&mut self, ours: &SeriesResult, theirs: &SeriesResult) {
        let judgements = ours.judgements.iter();
        let judgements = judgements.filter(|judged| judged.severity == Severity::Hard);
        for judgement in judgements.clone() {
            self.open.extend(
                judgement
                    .undecided
                    .iter()
                    .filter_map(|case| u32::try_from(case.confidence?.processes).ok()),
            );
        }
        let limits: Vec<&Threshold> =
            judgements.filter_map(|judged| judged.threshold.parsed.as_ref().ok()).collect();
        let there = ByKey::new(&theirs.configurations);
        for row in &ours.configurations {
            let Some(base) = there.get(row) else { continue };
            let allowance = |threshold: &&Threshold| {
                let allowed = allowed(threshold, row, base)?;
                Some((allowed, threshold.statistic))
            };
            let tightest = limits.iter().filter_map(allowance).min_by(|a, b| a.0.total_cmp(&b.0));
            let Some((percent, statistic)) = tightest else { continue };
            self.add_row(row, base, percent, statistic);
        }
    }

    fn add_row(
        &mut self,
        row: &ConfigurationResult,
        base: &ConfigurationResult,
        percent: f64,
        statistic: Statistic,
    ) {
        let side =
            |row: &ConfigurationResult| Some(processes(row.metrics.get("duration")?, statistic));
        let (Some(before), Some(after)) = (side(base), side(row)) else { return };
        if before.len().min(after.len()) < FIRST_TO_DECIDE as usize {
            return;
        }
        let Some(center) = median(&before).filter(|center| *center > 0.0) else { return };
        let pool: Vec<f64> = [&before, &after]
            .into_iter()
            .flat_map(|side| spread(side))
            .map(|share| center * share)
            .collect();
        self.rounds = self.rounds.max(u32::try_from(after.len()).unwrap_or(u32::MAX));
        let step = resolution(row, "duration", center, statistic);
        self.groups.entry((percent.to_bits(), step.to_bits())).or_default().push(pool);
    }

    fn count(&self) -> usize {
        self.groups.values().map(Vec::len).sum()
    }

    /// The most rounds that a slower configuration would have had: the run's `most`, unless time
    /// was up before.
    fn most(&self, most: u32) -> u32 {
        let [.., last] = LOOKS;
        // Only the next look: with all looks in one expression, LLVM's release optimisation makes a
        // branch for each subset of looks, and does not end.
        let next = |&rounds: &u32| next_look(rounds);
        let out_of_time = self.open.iter().filter_map(next).any(|look| look <= most);
        if out_of_time { self.rounds } else { most.min(last) }
    }

    fn groups(self) -> Vec<Group> {
        let group = |((percent, step), pools): ((u64, u64), Vec<Vec<f64>>)| Group {
            limit_percent: f64::from_bits(percent),
            resolution: f64::from_bits(step),
            count: pools.len(),
            pool: Pool::Recorded(pools),
        };
        self.groups.into_iter().map(group).collect()
    }
}

/// By how many percent `threshold` allows the duration of `row` to be longer than that of `base`;
/// none if it does not ask about it.
fn allowed(
    threshold: &Threshold,
    row: &ConfigurationResult,
    base: &ConfigurationResult,
) -> Option<f64> {
    let Limit::Baseline(tolerance) = threshold.limit else { return None };
    let asks = threshold.metric == "duration"
        && !threshold.selector.is_best()
        && threshold.selector.matches(&row.configuration);
    let before = Side::from_row(base, "duration", threshold.statistic).ok().filter(|_| asks)?;
    let limit = tolerance.limit(before.value, threshold.comparison);
    // Equal limits of different times differ by how they are rounded.
    let percent = (1e8 * (limit / before.value - 1.0)).round() / 1e6;
    // A limit that demands an improvement fails for an unchanged run, so it detects no slowdowns.
    (percent >= 0.0).then_some(percent)
}

/// The numbers of a side relative to their median, their distances as wide as those of all
/// processes are likely to be: those of a sample are smaller by the factor that makes its standard
/// deviation unbiased (Davison & Hinkley, *Bootstrap Methods and their Application*, 1997, 2.7).
fn spread(side: &[f64]) -> Vec<f64> {
    let Some(center) = median(side).filter(|center| *center > 0.0) else { return Vec::new() };
    #[expect(clippy::cast_precision_loss, reason = "processes are counted")]
    let count = side.len() as f64;
    let wider = (count / (count - 1.0)).sqrt();
    side.iter().map(|value| 1.0 + wider * (value / center - 1.0)).collect()
}
