//! The sentence of a conclusion.

use std::collections::BTreeSet;

use gpuprof_model::conclusion::{Conclusion, Cost, Ending, Finding, Sensitivity};
use gpuprof_model::measurement::{Source, Unverified};
use gpuprof_model::quantity::decimals_of_percent;
use gpuprof_model::run::Run;
use gpuprof_model::threshold::Severity;
use gpuprof_model::verdict::Verdict;

use super::counts::{JudgedCounts, unfinished};
use super::findings::is_regression;
use super::measurement_context::MeasurementContext;
use crate::gate::nothing_judged::Nothing;
use crate::gate::outcome::unmeasured;
use crate::view::columns::estimate_sign;

/// The inputs of a sentence.
pub(super) struct Parts<'p> {
    pub run: &'p Run,
    pub conclusion: &'p Conclusion,
    pub judged: JudgedCounts,
    pub measured: &'p MeasurementContext<'p>,
    /// The step that the run skipped as a whole.
    pub nothing: Option<&'p Nothing>,
}

impl Parts<'_> {
    /// The sentence.
    pub(super) fn sentence(&self) -> String {
        let conclusion = self.conclusion;
        let clauses = match conclusion.ending {
            Ending::NothingJudged => return self.nothing(),
            Ending::Unfinished => self.unfinished(),
            Ending::Regression => self.failed("Regression"),
            Ending::Violation => self.failed("Threshold violated"),
            Ending::Undecided => self.undecided(),
            Ending::Holds => self.holds(),
        };
        let clauses: Vec<String> = clauses.into_iter().flatten().collect();
        // With two sides the processes are part of the answer; a plain run shows its progress
        // anyway.
        let grew = conclusion.cost.processes.is_some() && self.measured.base.is_none();
        let cost = cost(&conclusion.cost, self.measured.base.is_some())
            .filter(|_| self.run.comparison.is_some() || grew);
        let cost = cost.map(|cost| format!("; {cost}")).unwrap_or_default();
        format!("{}{cost}.", clauses.join(", "))
    }

    fn holds(&self) -> Vec<Option<String>> {
        let compared = self.run.comparison.as_ref().is_some_and(|c| c.absent.is_none());
        let compared = compared && !(self.measured.stored && self.judged.relative == 0);
        let lead = if compared { "No regression" } else { "Every threshold holds" };
        vec![
            Some(format!(
                "{lead}: {} judged{}",
                configurations(self.judged.configurations),
                self.baseline_clause()
            )),
            self.missing_slices(),
            self.improved(),
            self.warned(),
            self.exact_only(),
            self.caught(),
        ]
    }

    fn undecided(&self) -> Vec<Option<String>> {
        let (open, doubts) = self.open();
        let missing = self.missing();
        let lead = match (open, doubts) {
            (0, 0) => {
                let missing = missing.clone().unwrap_or_else(|| self.first_reason());
                format!("Undecided: {missing}")
            }
            (0, _) => format!("Undecided: {} without a verdict", thresholds(doubts)),
            (_, 0) => {
                format!("Undecided: {open} of {}", judged(self.judged.configurations))
            }
            _ => format!(
                "Undecided: {open} of {}, and {} without a verdict",
                judged(self.judged.configurations),
                thresholds(doubts)
            ),
        };
        let missing = missing.filter(|_| open + doubts > 0);
        let none = match (open, self.nothing) {
            (_, Some(_)) => "nothing is decided".to_owned(),
            (0, None) => format!("none of {} failed", judged(self.judged.configurations)),
            _ => "none failed".to_owned(),
        };
        vec![Some(lead), missing, Some(none), self.improved(), self.exact_only(), self.caught()]
    }

    fn failed(&self, lead: &str) -> Vec<Option<String>> {
        let count = self.failing();
        let all = judged(self.judged.configurations);
        let worse = self.conclusion.failed.iter().filter(|found| is_regression(found));
        let others = counted(count - Self::distinct(worse), |others| {
            format!("{others} of them only by other limits")
        });
        vec![
            Some(format!("{lead}: {count} of {all} failed")),
            others.filter(|_| self.conclusion.ending == Ending::Regression),
            self.worst(),
            self.also_open(),
            self.improved(),
        ]
    }

    fn unfinished(&self) -> Vec<Option<String>> {
        let rows = self.run.series.iter().map(|series| series.configurations.len()).sum();
        let lead = format!(
            "Unfinished: {} of {} did not finish",
            unfinished(self.run),
            configurations(rows)
        );
        let judged = match (self.judged.configurations, self.failing()) {
            (0, _) => "nothing judged".to_owned(),
            (judged, 0) => format!("of {judged} judged none failed"),
            (judged, failing) => format!("of {judged} judged {failing} failed"),
        };
        vec![Some(lead), Some(judged), self.also_open()]
    }

    /// Why nothing was judged, or nothing compared.
    fn nothing(&self) -> String {
        let lacks = self.missing_slices().map(|text| format!("; {text}")).unwrap_or_default();
        let own = match self.conclusion.judged {
            0 => String::new(),
            judged => format!("; {} judged by other limits, none failed", configurations(judged)),
        };
        match self.nothing {
            Some(Nothing::Judged(reason)) => format!("Nothing judged: {reason}{lacks}."),
            Some(Nothing::Compared(reason)) => format!("Nothing compared: {reason}{own}{lacks}."),
            None => format!("Nothing judged: {}{lacks}.", self.first_reason()),
        }
    }

    /// The first reason for which something has no verdict.
    fn first_reason(&self) -> String {
        let comparison = self.run.comparison.as_ref();
        let obstacle = comparison.and_then(|c| c.absent.clone().or_else(|| c.obstacle()));
        let first = || self.conclusion.undecided.iter().find_map(|found| found.reason.clone());
        obstacle
            .or_else(first)
            .unwrap_or_else(|| "no threshold applies to anything measured on both sides".to_owned())
    }

    /// How many configurations have a finding of `all` that could fail the run.
    fn distinct<'f>(all: impl IntoIterator<Item = &'f Finding>) -> usize {
        let hard = all.into_iter().filter(|found| found.severity == Severity::Hard);
        let places: BTreeSet<_> =
            hard.map(|found| (&found.series, found.configuration.as_deref())).collect();
        places.len()
    }

    fn failing(&self) -> usize {
        Self::distinct(&self.conclusion.failed)
    }

    /// Configurations that are open, and thresholds that are in doubt as a whole.
    fn open(&self) -> (usize, usize) {
        let (mut open, mut doubts) = (BTreeSet::new(), 0);
        for found in &self.conclusion.undecided {
            match (&found.threshold, &found.configuration) {
                // An entry of one side alone, which `missing` reports.
                (None, _) => {}
                (Some(_), Some(configuration)) if found.value.is_some() => {
                    open.insert((&found.series, configuration));
                }
                // A threshold without any value is reported as vanished, if it has vanished.
                (Some(_), _) if found.verdict == Verdict::Missing && self.vanished_of(found) => {}
                (Some(_), _) if found.severity == Severity::Hard => doubts += 1,
                (Some(_), _) => {}
            }
        }
        (open.len(), doubts)
    }

    /// Whether one side has something of the series of `found` that the other has not.
    fn vanished_of(&self, found: &Finding) -> bool {
        let comparison = self.run.comparison.iter();
        let mut keys = comparison.flat_map(|of| of.vanished.iter().chain(&of.unheld));
        keys.any(|key| key.starts_with(&found.series))
    }

    /// The measurements or verifications that are missing; none if all are there.
    fn missing(&self) -> Option<String> {
        let comparison = self.run.comparison.as_ref();
        let [vanished, unheld, weaker] = comparison
            .map_or([0; 3], |c| [&c.vanished, &c.unheld, &c.weaker].map(|keys| keys.len()));
        let series = self.run.series.iter();
        let unmeasured = series.filter(|series| unmeasured(series).is_some()).count();
        let rows = self.run.series.iter().flat_map(|series| &series.configurations);
        let unverified = rows.filter(|row| row.unverified.is_some_and(Unverified::says_nothing));
        let clauses = [
            self.missing_slices(),
            counted(vanished, |count| match count {
                1 => "1 entry of the baseline is missing here".to_owned(),
                more => format!("{more} entries of the baseline are missing here"),
            }),
            counted(unheld, |count| {
                format!("the baseline has no finished configurations for {count} series")
            }),
            counted(weaker, |count| match count {
                1 => "1 check is weaker than in the baseline".to_owned(),
                more => format!("{more} checks are weaker than in the baseline"),
            }),
            counted(unmeasured, |count| format!("nothing of {count} series was measured")),
            counted(unverified.count(), |count| match count {
                1 => "the reference of 1 configuration rejects no result".to_owned(),
                more => format!("the references of {more} configurations reject no result"),
            }),
        ];
        let clauses: Vec<String> = clauses.into_iter().flatten().collect();
        (!clauses.is_empty()).then(|| clauses.join(", "))
    }

    /// The slices that a merged run lacks.
    fn missing_slices(&self) -> Option<String> {
        self.run.provenance.missing_slices.as_ref().map(ToString::to_string)
    }

    fn also_open(&self) -> Option<String> {
        let (open, doubts) = self.open();
        let parts = [
            (open > 0).then(|| format!("{open} undecided")),
            (doubts > 0).then(|| format!("{} without a verdict", thresholds(doubts))),
            self.missing(),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// The worst failure: `worst: scale at block=64 (duration +5.1 %)`.
    fn worst(&self) -> Option<String> {
        let worst = self.conclusion.failed.first()?;
        let (configuration, metric) = (worst.configuration.as_ref()?, worst.metric.as_ref()?);
        let series = self.run.series.iter().find(|series| series.id.to_string() == worst.series)?;
        let place = match configuration.as_str() {
            "" => series.id.name(),
            key => format!("{} at {key}", series.id.name()),
        };
        let by = match (worst.percent, worst.value) {
            (Some(percent), _) => format!("{percent:+.*} %", decimals_of_percent(percent)),
            (None, Some(value)) => value.to_string(),
            (None, None) => return Some(format!("worst: {place}")),
        };
        let sign = estimate_sign(metric, &series.configurations);
        Some(format!("worst: {place} ({metric} {sign}{by})"))
    }

    fn improved(&self) -> Option<String> {
        let count = Self::distinct(&self.conclusion.improved);
        (count > 0).then(|| format!("{count} improved"))
    }

    fn warned(&self) -> Option<String> {
        let soft = |found: &&Finding| found.severity == Severity::Warn;
        let warned = self.conclusion.failed.iter().filter(soft);
        let count = warned.map(|found| (&found.series, &found.threshold)).collect::<BTreeSet<_>>();
        match count.len() {
            0 => None,
            1 => Some("1 warning".to_owned()),
            more => Some(format!("{more} warnings")),
        }
    }

    fn exact_only(&self) -> Option<String> {
        let compared = self.run.comparison.is_some() && self.judged.by_time == 0;
        let mut judgements = self.run.series.iter().flat_map(|series| &series.judgements);
        let estimated =
            judgements.any(|it| it.source == Some(Source::Estimated) && it.baseline.is_some());
        let by = if estimated { "estimated times" } else { "not by time" };
        compared.then(|| format!("by exact metrics and {by}"))
    }

    fn baseline_clause(&self) -> String {
        match &self.run.comparison {
            Some(comparison) if self.measured.stored => {
                let which = match self.judged.relative {
                    all if all == self.conclusion.judged => String::new(),
                    0 => ", none of them".to_owned(),
                    some => format!(", {some} of them"),
                };
                format!("{which} against the baseline `{}`", comparison.baseline)
            }
            _ => String::new(),
        }
    }

    fn caught(&self) -> Option<String> {
        let Sensitivity { slowdown_percent, caught, simulated, .. } = self.conclusion.sensitivity?;
        let supposed = if simulated == 0 { " if the machine has not changed since" } else { "" };
        let often = match (100.0 * caught).floor() {
            100.0 => "over 99 %".to_owned(),
            often => format!("{often} %"),
        };
        Some(format!(
            "slowdowns of {slowdown_percent} % would have been caught with {often} probability{supposed}"
        ))
    }
}

fn counted(count: usize, clause: impl FnOnce(usize) -> String) -> Option<String> {
    (count > 0).then(|| clause(count))
}

fn configurations(count: usize) -> String {
    format!("{count} configuration{}", if count == 1 { "" } else { "s" })
}

/// The number of configurations that a threshold or comparison could judge, in words.
fn judged(count: usize) -> String {
    format!("{count} judged configuration{}", if count == 1 { "" } else { "s" })
}

fn thresholds(count: usize) -> String {
    format!("{count} threshold{}", if count == 1 { "" } else { "s" })
}

/// `2 min 10 s, 9.4 processes a side on average`, for a run with two sides.
fn cost(cost: &Cost, of_two: bool) -> Option<String> {
    let side = if of_two { " a side" } else { "" };
    let time =
        cost.seconds.map(|seconds| match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
            (0, 0, 0) => "under 1 s".to_owned(),
            (0, 0, seconds) => format!("{seconds} s"),
            (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
            (hours, minutes, _) => format!("{hours} h {minutes} min"),
        });
    let processes = cost.processes.map(|processes| match processes.least == processes.most {
        true => format!("{} processes{side}", processes.most),
        false => format!("{:.1} processes{side} on average", processes.average),
    });
    let parts: Vec<String> = [time, processes].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
