//! The lists of a conclusion: failures, improvements, and undecided comparisons.
//!
//! Input: the judgements and changes of all series. Output: a finding for each case of a judgement,
//! with the numbers of its change. If a time and a metric derived from it say the same, only the
//! time is listed.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use gpuprof_model::comparison::{Change, Outcome};
use gpuprof_model::conclusion::Finding;
use gpuprof_model::measurement::Unverified;
use gpuprof_model::run::{ConfigurationResult, Run, SeriesResult};
use gpuprof_model::threshold::Severity;
use gpuprof_model::verdict::{Case, Judgement, Verdict};

use crate::compared_pair::depends_on_time;

/// The maximum probability that an unchanged run reports an improvement of a noisy metric without a
/// limit, over all of its changes (Bonferroni).
const BY_CHANCE: f64 = 0.05;

/// The findings of a run, by kind.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Findings {
    /// Violations of a limit.
    pub failed: Vec<Finding>,
    /// Improvements.
    pub improved: Vec<Finding>,
    /// Comparisons without a decision.
    pub undecided: Vec<Finding>,
}

/// Collects the findings of `run`.
pub(super) fn collect(run: &Run) -> Findings {
    let mut all = Findings::default();
    let changes = run.series.iter().flat_map(|series| &series.changes);
    let noisy = changes.filter(|change| change.confidence.is_some()).count();
    for series in &run.series {
        let changes: HashMap<(&str, &str), &Change> = series
            .changes
            .iter()
            .map(|change| ((change.configuration.as_str(), change.metric.as_str()), change))
            .collect();
        for judgement in &series.judgements {
            let asked = JudgedThreshold { series, judgement, changes: &changes };
            all.failed.extend(asked.failed());
            all.improved.extend(asked.all(Verdict::Improved, &judgement.improved));
            all.undecided.extend(asked.undecided());
        }
        all.improved.extend(changed(series, noisy));
    }
    all.undecided.extend(run.series.iter().flat_map(unverified));
    all.undecided.extend(vanished(run));
    once(&mut all.improved, run);
    all.improved.retain(|found| !reads_alike(found));
    all.improved.sort_by(larger_first);
    all.failed.sort_by(|a, b| hard_first(a).cmp(&hard_first(b)).then(larger_first(a, b)));
    all
}

/// Whether `failed` could fail the run since it is worse than the baseline.
pub(super) fn is_regression(failed: &Finding) -> bool {
    let fails = failed.severity == Severity::Hard;
    fails && failed.baseline.is_some() && !misses_a_goal(failed)
}

/// Whether `failed` demands an improvement over the baseline, and its metric did not become worse.
fn misses_a_goal(failed: &Finding) -> bool {
    let (Some(before), Some(after), Some(limit)) = (failed.baseline, failed.value, failed.limit)
    else {
        return false;
    };
    let between = |low: f64, high: f64| low < high && (low..=high).contains(&after.value);
    between(limit.value, before.value) || between(before.value, limit.value)
}

/// How many configurations `findings` have a value of.
pub(super) fn configurations(findings: &[Finding]) -> usize {
    let valued = findings.iter().filter(|finding| finding.value.is_some());
    let places: HashSet<_> =
        valued.map(|finding| (&finding.series, &finding.configuration)).collect();
    places.len()
}

/// How many configurations `undecided` leaves undecided since their processes scatter.
pub(super) fn scattered(undecided: &[Finding]) -> usize {
    let scattered = undecided
        .iter()
        .filter(|finding| finding.verdict == Verdict::Inconclusive && finding.interval.is_some());
    let places: HashSet<_> =
        scattered.map(|finding| (&finding.series, &finding.configuration)).collect();
    places.len()
}

/// A threshold that was judged over a series.
struct JudgedThreshold<'r> {
    series: &'r SeriesResult,
    judgement: &'r Judgement,
    changes: &'r HashMap<(&'r str, &'r str), &'r Change>,
}

impl JudgedThreshold<'_> {
    fn failed(&self) -> Vec<Finding> {
        match (self.judgement.verdict, self.judgement.violations.as_slice()) {
            (Verdict::Fail, []) => vec![self.whole()],
            (_, cases) => self.all(Verdict::Fail, cases),
        }
    }

    /// The cases that are open; or the judgement as a whole, if it is in doubt without any.
    fn undecided(&self) -> Vec<Finding> {
        let cases = self.all(Verdict::Inconclusive, &self.judgement.undecided);
        let doubtful = match self.judgement.verdict {
            Verdict::Pass | Verdict::Fail | Verdict::Improved => false,
            Verdict::Inconclusive => cases.is_empty(),
            Verdict::Missing | Verdict::Incomparable | Verdict::Unavailable => true,
        };
        let whole = doubtful.then(|| self.whole());
        cases.into_iter().chain(whole).collect()
    }

    fn all(&self, verdict: Verdict, cases: &[Case]) -> Vec<Finding> {
        cases.iter().map(|case| self.finding(verdict, case)).collect()
    }

    fn finding(&self, verdict: Verdict, case: &Case) -> Finding {
        let blank = self.blank(verdict);
        let key = (case.configuration.as_str(), blank.metric.as_deref().unwrap_or_default());
        let change = self.changes.get(&key);
        let plain = || {
            let (before, after) = (case.baseline?.value, case.value.value);
            (before != 0.0).then(|| 100.0 * (after - before) / before.abs())
        };
        let percent = case.percent.or_else(|| change?.percent).or_else(plain);
        Finding {
            configuration: Some(case.configuration.clone()),
            baseline: case.baseline,
            value: Some(case.value),
            limit: Some(case.limit),
            percent: percent.filter(|_| case.baseline.is_some()),
            interval: case.confidence.map(|confidence| confidence.percent),
            cycles_percent: case.cycles_percent.or_else(|| change?.cycles_percent),
            reason: case.reason.clone(),
            rounds: case.rounds,
            ..blank
        }
    }

    /// The judgement with its deciding value, or the reason why nothing decided.
    fn whole(&self) -> Finding {
        let judgement = self.judgement;
        Finding {
            configuration: judgement.configuration.clone(),
            baseline: judgement.baseline,
            value: judgement.value,
            limit: judgement.limit,
            interval: judgement.confidence.map(|confidence| confidence.percent),
            reason: judgement.reason.clone(),
            ..self.blank(judgement.verdict)
        }
    }

    fn blank(&self, verdict: Verdict) -> Finding {
        let threshold = &self.judgement.threshold;
        Finding {
            series: self.series.id.to_string(),
            metric: threshold.metric().map(str::to_owned),
            threshold: Some(threshold.text.clone()),
            severity: self.judgement.severity,
            ..nothing(verdict)
        }
    }
}

fn nothing(verdict: Verdict) -> Finding {
    Finding {
        series: String::new(),
        configuration: None,
        metric: None,
        threshold: None,
        severity: Severity::Hard,
        verdict,
        baseline: None,
        value: None,
        limit: None,
        percent: None,
        interval: None,
        cycles_percent: None,
        reason: None,
        rounds: None,
    }
}

/// The improvements of `series` that no threshold asks about; for a noisy metric only improvements
/// that are rare by chance among the `noisy` changes of the run.
fn changed(series: &SeriesResult, noisy: usize) -> impl Iterator<Item = Finding> + '_ {
    #[expect(clippy::cast_precision_loss, reason = "changes are counted")]
    let level = BY_CHANCE / noisy.max(1) as f64;
    let sure = move |change: &&Change| {
        change.outcome == Outcome::Better
            && change.confidence.is_none_or(|confidence| confidence.p_value <= level)
    };
    series.changes.iter().filter(sure).map(|change| Finding {
        series: series.id.to_string(),
        configuration: Some(change.configuration.clone()),
        metric: Some(change.metric.clone()),
        baseline: change.baseline,
        value: change.value,
        percent: change.percent,
        interval: change.confidence.map(|confidence| confidence.percent),
        cycles_percent: change.cycles_percent,
        ..nothing(Verdict::Improved)
    })
}

/// Configurations with a reference that rejects no result, of which nothing is known although they
/// were to be verified.
fn unverified(series: &SeriesResult) -> impl Iterator<Item = Finding> + '_ {
    let rows = series.configurations.iter();
    rows.filter(|row| row.unverified.is_some_and(Unverified::says_nothing)).map(|row| Finding {
        series: series.id.to_string(),
        configuration: Some(row.configuration.to_string()),
        reason: Some("its reference rejects no result".to_owned()),
        ..nothing(Verdict::Missing)
    })
}

/// Entries of one side alone: those of the baseline that the run lacks, and finished configurations
/// of a series that the baseline lacks; and checks that are weaker than its own.
fn vanished(run: &Run) -> impl Iterator<Item = Finding> + '_ {
    let missing = |key: &str, reason: &str| Finding {
        configuration: Some(key.to_owned()),
        reason: Some(reason.to_owned()),
        ..nothing(Verdict::Missing)
    };
    run.comparison.iter().flat_map(move |comparison| {
        let gone = comparison.vanished.iter();
        let gone = gone.map(move |key| missing(key, "in the baseline but not in this run"));
        let unheld = comparison.unheld.iter().map(move |key| {
            missing(key, "the baseline has no finished configuration of this series")
        });
        let weaker = comparison.weaker.iter().map(move |text| {
            let (key, reason) = text.split_once(": ").unwrap_or(("", text));
            missing(key, reason)
        });
        gone.chain(unheld).chain(weaker)
    })
}

/// Leaves each metric of a configuration once, and nothing that is made of its time next to that.
fn once(findings: &mut Vec<Finding>, run: &Run) {
    let mut seen: HashSet<(String, String, String)> = HashSet::new();
    let key = |finding: &Finding, metric: &str| {
        let configuration = finding.configuration.clone().unwrap_or_default();
        (finding.series.clone(), configuration, metric.to_owned())
    };
    findings.retain(|finding| seen.insert(key(finding, finding.metric.as_deref().unwrap_or(""))));
    let rows: HashMap<(String, String), &ConfigurationResult> = run
        .series
        .iter()
        .flat_map(|series| {
            let id = series.id.to_string();
            series
                .configurations
                .iter()
                .map(move |row| ((id.clone(), row.configuration.to_string()), row))
        })
        .collect();
    findings.retain(|finding| {
        let metric = finding.metric.as_deref().unwrap_or_default();
        let place = (finding.series.clone(), finding.configuration.clone().unwrap_or_default());
        let follows = metric != "duration"
            && rows.get(&place).is_some_and(|row| depends_on_time(row, metric))
            || metric == "sm_cycles";
        !(follows && seen.contains(&key(finding, "duration")))
    });
}

/// Whether both values of `finding` are the same text, in which reports round them.
fn reads_alike(finding: &Finding) -> bool {
    let both = finding.baseline.zip(finding.value);
    both.is_some_and(|(before, after)| before.to_string() == after.to_string())
}

/// Hard thresholds before soft ones.
fn hard_first(finding: &Finding) -> bool {
    finding.severity == Severity::Warn
}

/// Times first, then the largest changes, then those farthest beyond their limits.
fn larger_first(one: &Finding, other: &Finding) -> Ordering {
    let key = |finding: &Finding| {
        let beyond = finding.value.zip(finding.limit).map(|(value, limit)| {
            if limit.value == 0.0 { value.value } else { value.value / limit.value - 1.0 }
        });
        let size = finding.percent.map(|percent| percent / 100.0).or(beyond).map_or(0.0, f64::abs);
        (finding.metric.as_deref() != Some("duration"), size)
    };
    let (one, other) = (key(one), key(other));
    one.0.cmp(&other.0).then(other.1.total_cmp(&one.1))
}
