//! The summary: how many configurations and thresholds ended how.
//!
//! Input: a run. Output: counts, for programs, and one line of text, for people.

use std::fmt;

use gpuprof_analysis::gate::nothing_judged;
use gpuprof_model::measurement::Unverified;
use gpuprof_model::run::{Run, SeriesResult, Status};
use gpuprof_model::threshold::Severity;
use gpuprof_model::verdict::{Verdict, Weight};
use serde::Serialize;

use crate::changes;

/// Beyond so many characters the reason for a lack of judgement is cut.
const MOST: usize = 96;

/// Counts over a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Summary {
    /// Series.
    pub series: usize,
    /// Configurations by how they ended.
    pub configurations: StatusCounts,
    /// Thresholds by verdict.
    pub thresholds: VerdictCounts,
    /// Configurations of the baseline that are not in the run.
    pub vanished: usize,
    /// Checks that are weaker than in the baseline.
    #[serde(skip)]
    pub weaker: usize,
    /// The slices that a merged run lacks.
    #[serde(skip)]
    pub missing_slices: Option<String>,
    /// What was not judged, with the first reason; none if everything was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_judged: Option<String>,
    /// Why configurations were not measured; none if all were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_measured: Option<String>,
    /// Why no result is verified; none if results are.
    #[serde(skip)]
    pub not_verified: Option<String>,
    /// The checks of the emulated driver that are off.
    #[serde(skip)]
    pub not_checked: Option<String>,
    /// Rows with a void verification, which accepts anything or compares nothing.
    #[serde(skip)]
    pub unverified: usize,
    /// Finished rows without a reference.
    #[serde(skip)]
    pub unreferenced: usize,
    /// Finished rows of which the output has no elements.
    #[serde(skip)]
    pub uncompared: usize,
    /// Whether the run judges nothing.
    #[serde(skip)]
    pub quick: bool,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Configurations by how they ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct StatusCounts {
    /// All of them.
    pub total: usize,
    /// Every pass ran to its end.
    pub finished: usize,
    /// The launch was refused.
    pub invalid: usize,
    /// A pass went wrong.
    pub failed: usize,
    /// A pass ran out of time.
    pub timeout: usize,
    /// The run ended before.
    pub skipped: usize,
    /// Those that finished after a process had failed.
    #[serde(skip_serializing_if = "is_zero")]
    pub flaky: usize,
}

/// Thresholds by verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct VerdictCounts {
    /// All of them.
    pub total: usize,
    /// The condition holds.
    pub pass: usize,
    /// The condition is violated.
    pub fail: usize,
    /// The condition of a soft threshold is violated.
    pub warning: usize,
    /// Better than the baseline.
    pub improved: usize,
    /// Too much noise to decide.
    pub inconclusive: usize,
    /// Something that should be there is not.
    pub missing: usize,
    /// The two sides differ in their conditions.
    pub incomparable: usize,
    /// The metric cannot be had on this machine.
    pub unavailable: usize,
    /// Thresholds for other devices, which are not among all.
    #[serde(skip)]
    pub not_applicable: usize,
}

impl Summary {
    /// The counts of `run`.
    pub fn count(run: &Run) -> Self {
        let vanished = run.comparison.as_ref().map_or(0, |comparison| comparison.vanished.len());
        let weaker = run.comparison.as_ref().map_or(0, |comparison| comparison.weaker.len());
        let missing_slices = run.provenance.missing_slices.as_ref().map(ToString::to_string);
        let series = run.series.len();
        let mut summary = Self { series, vanished, weaker, missing_slices, ..Self::default() };
        run.series.iter().for_each(|series| summary.add(series));
        summary.not_verified.clone_from(&run.provenance.not_verified);
        summary.not_checked = changes::unchecked(run);
        let rows = run.series.iter().flat_map(|series| &series.configurations);
        let mut skipped = rows.filter(|row| matches!(row.status, Status::Skipped { .. }));
        summary.not_measured = skipped.find_map(|row| row.status.reason().map(str::to_owned));
        summary.quick = run.provenance.quick;
        if summary.quick {
            summary.not_judged = Some("a quick run, in which nothing is judged".to_owned());
            return summary;
        }
        let nothing = nothing_judged::found(run, false).map(|nothing| nothing.words());
        summary.not_judged = nothing.or_else(|| {
            let all = run.series.iter().flat_map(|series| {
                series.judgements.iter().map(move |judgement| (&series.id, judgement))
            });
            let doubtful = all.filter(|(_, it)| it.weight() == Weight::Doubtful);
            let reasons: Vec<_> =
                doubtful.filter_map(|(id, it)| Some((id, it.reason.as_ref()?))).collect();
            let &(id, reason) = reasons.first()?;
            let of_several = reasons.iter().any(|(other, _)| *other != id)
                && reasons.iter().all(|(_, other)| *other == reason);
            Some(match of_several || run.series.len() == 1 {
                true => format!("not judged: {reason}"),
                false => format!("not judged: {}: {reason}", id.name()),
            })
        });
        summary
    }

    fn add(&mut self, series: &SeriesResult) {
        let by_status = &mut self.configurations;
        for configuration in &series.configurations {
            by_status.total += 1;
            by_status.flaky += usize::from(configuration.is_flaky());
            let says_nothing = configuration.unverified.is_some_and(Unverified::says_nothing);
            self.unverified += usize::from(says_nothing);
            if configuration.status == Status::Finished {
                let is = |why| usize::from(configuration.unverified == Some(why));
                self.unreferenced += is(Unverified::NoReference);
                self.uncompared += is(Unverified::NothingCompared);
            }
            *match configuration.status {
                Status::Finished => &mut by_status.finished,
                Status::Invalid { .. } => &mut by_status.invalid,
                Status::Failed { .. } => &mut by_status.failed,
                Status::Timeout { .. } => &mut by_status.timeout,
                Status::Skipped { .. } => &mut by_status.skipped,
            } += 1;
        }
        let by_verdict = &mut self.thresholds;
        by_verdict.not_applicable += series.not_applicable.len();
        for judgement in &series.judgements {
            by_verdict.total += 1;
            *match judgement.verdict {
                Verdict::Pass => &mut by_verdict.pass,
                Verdict::Fail if judgement.severity == Severity::Warn => &mut by_verdict.warning,
                Verdict::Fail => &mut by_verdict.fail,
                Verdict::Improved => &mut by_verdict.improved,
                Verdict::Inconclusive => &mut by_verdict.inconclusive,
                Verdict::Missing => &mut by_verdict.missing,
                Verdict::Incomparable => &mut by_verdict.incomparable,
                Verdict::Unavailable => &mut by_verdict.unavailable,
            } += 1;
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let c = &self.configurations;
        let plural = if c.total == 1 { "" } else { "s" };
        write!(f, "{} configuration{plural} of {} series", c.total, self.series)?;
        counts(
            f,
            ": ",
            &[
                (c.finished, "finished"),
                (c.invalid, "invalid"),
                (c.failed, "failed"),
                (c.timeout, "timed out"),
                (c.skipped, "skipped"),
            ],
        )?;
        if c.flaky > 0 {
            write!(f, ", {} of them flaky", c.flaky)?;
        }
        let t = &self.thresholds;
        if self.quick {
            return self.lacks(f);
        }
        if t.total == 0 {
            let other = if t.not_applicable > 0 { " for this device" } else { "" };
            write!(f, "; no thresholds{other}")?;
            return self.lacks(f);
        }
        counts(
            f,
            if t.total == 1 { "; threshold: " } else { "; thresholds: " },
            &[
                (t.pass, "passed"),
                (t.fail, "failed"),
                (t.warning, "warned"),
                (t.improved, "improved"),
                (t.inconclusive, "inconclusive"),
                (t.missing, "missing"),
                (t.incomparable, "incomparable"),
                (t.unavailable, "unavailable"),
                (t.not_applicable, "not for this device"),
            ],
        )?;
        self.lacks(f)
    }
}

impl Summary {
    /// The reason of [`Summary::not_measured`], if the text of the summary has all of it.
    pub(crate) fn reason_in_full(&self) -> Option<&str> {
        self.not_measured.as_deref().filter(|reason| cut(reason) == **reason)
    }

    fn lacks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(reason) = &self.not_measured {
            write!(f, "; {} not measured: {}", self.configurations.skipped, cut(reason))?;
        }
        let reasons = match &self.not_verified {
            Some(why) => vec![(self.configurations.finished, why.as_str())],
            None => vec![
                (self.unverified, "void comparison"),
                (self.unreferenced, "no reference"),
                (self.uncompared, "no elements"),
            ],
        };
        for (count, reason) in reasons.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, "; {count} not verified: {reason}")?;
        }
        if let Some(checks) = &self.not_checked {
            write!(f, "; not checked: {checks}")?;
        }
        if self.vanished > 0 {
            write!(f, "; {} of the baseline missing", self.vanished)?;
        }
        match self.weaker {
            0 => {}
            1 => write!(f, "; 1 check weaker than in the baseline")?,
            more => write!(f, "; {more} checks weaker than in the baseline")?,
        }
        if let Some(slices) = &self.missing_slices {
            write!(f, "; {slices}")?;
        }
        match &self.not_judged {
            Some(text) => write!(f, "; {}", cut(text)),
            None => Ok(()),
        }
    }
}

/// `text` in one line of at most [`MOST`] characters: a longer one ends with a word, outside of
/// quoted text.
fn cut(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let Some((end, _)) = line.char_indices().nth(MOST) else { return line.to_owned() };
    let whole = |end: &usize| line[..*end].matches('`').count().is_multiple_of(2);
    let mut words = line[..end].match_indices(' ').map(|(at, _)| at).filter(whole);
    let end = words.next_back().unwrap_or(end);
    format!("{}…", line[..end].trim_end_matches([' ', ':', ';', ',']))
}

/// The counts that are not zero, joined by commas behind `lead`; nothing where all are zero.
fn counts(f: &mut fmt::Formatter<'_>, lead: &str, counts: &[(usize, &str)]) -> fmt::Result {
    let mut separator = lead;
    for (count, word) in counts.iter().filter(|(count, _)| *count > 0) {
        write!(f, "{separator}{count} {word}")?;
        separator = ", ";
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_reason_ends_with_a_word_and_outside_of_a_command() {
        let command = "install it with `python3 -m pip install nvidia-cuda-nvcc==13.0.88`";
        let text = format!("ptxas assigns registers, and none was found here at all: {command}");
        assert_eq!(
            cut(&text),
            "ptxas assigns registers, and none was found here at all: install it with…"
        );
        assert_eq!(cut("short"), "short");
    }
}
