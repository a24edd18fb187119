//! Changes since the baseline: what is worth a line, and how many are not.
//!
//! Input: a series with its changes, or a run with its comparison. Output: lines for people.
//! Unchanged entries are counted and not listed.

use std::collections::BTreeSet;

use gpuprof_model::checks::CheckRecord;
use gpuprof_model::comparison::{Change, Outcome};
use gpuprof_model::run::{ConfigurationResult, Run, SeriesResult, Status};

use gpuprof_analysis::compared_pair::confidence_text;
use gpuprof_analysis::gate::baseline::count;
use gpuprof_analysis::gate::outcome::unmeasured;

use super::estimates::sign;

/// One listed change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// Its outcome.
    pub outcome: Outcome,
    /// The configuration and the metric.
    pub subject: String,
    /// Both values and the confidence.
    pub text: String,
}

/// The changes of `series` that are worth a line, and the counts of all; none without a baseline.
pub(super) fn list_changes(series: &SeriesResult) -> Option<(Vec<Line>, String)> {
    if series.changes.is_empty() {
        return None;
    }
    // A configuration that is new or has vanished is reported once, for the run.
    let worth = |change: &&Change| match change.outcome {
        Outcome::Same | Outcome::New => false,
        Outcome::Missing => change.reason.is_some(),
        _ => true,
    };
    let worth = folded(series.changes.iter().filter(worth));
    let lines = worth.iter().map(|alike| line(alike, &series.configurations)).collect();
    let counts: Vec<String> =
        count(&series.changes).iter().map(|(outcome, n)| format!("{n} {outcome}")).collect();
    Some((lines, format!("since the baseline: {}", counts.join(", "))))
}

/// The `changes`, with undecidable ones grouped by reason, such as counters that one process of a
/// side collected.
fn folded<'r>(changes: impl Iterator<Item = &'r Change>) -> Vec<Vec<&'r Change>> {
    let mut all: Vec<Vec<&Change>> = Vec::new();
    for change in changes {
        let doubtful = matches!(change.outcome, Outcome::Inconclusive | Outcome::Incomparable);
        let alike = |group: &&mut Vec<&Change>| {
            (group[0].outcome, &group[0].reason) == (change.outcome, &change.reason)
        };
        match all.iter_mut().find(alike).filter(|_| doubtful && change.reason.is_some()) {
            Some(group) => group.push(change),
            None => all.push(vec![change]),
        }
    }
    all
}

/// The line of `alike`: one change or several folded ones.
fn line(alike: &[&Change], rows: &[ConfigurationResult]) -> Line {
    if let [change] = alike {
        return line_of(change, sign(&change.metric, rows));
    }
    let first = alike[0];
    let count = |of: fn(&Change) -> &str| {
        alike.iter().map(|change| of(change)).collect::<BTreeSet<_>>().len()
    };
    let metrics_text = match count(|change| &change.metric) {
        1 => first.metric.clone(),
        metrics => format!("{metrics} metrics"),
    };
    let place = match count(|change| &change.configuration) {
        1 => first.configuration.clone(),
        configurations => format!("{configurations} configurations"),
    };
    let text = first.reason.clone().unwrap_or_default();
    Line { outcome: first.outcome, subject: format!("{place}  {metrics_text}"), text }
}

/// The line of `change`, with `sign` in front of its values.
fn line_of(change: &Change, sign: &str) -> Line {
    let configuration = match change.configuration.as_str() {
        "" => "the configuration",
        key => key,
    };
    let mut text = match (change.baseline, change.value) {
        (Some(before), Some(after)) => format!("{sign}{before} → {sign}{after}"),
        (Some(before), None) => format!("{sign}{before} → nothing"),
        (None, Some(after)) => format!("nothing → {sign}{after}"),
        (None, None) => String::new(),
    };
    if let Some(percent) = change.percent {
        text.push_str(&format!(" ({percent:+.2}%)"));
    }
    if let Some(confidence) = &change.confidence {
        text.push_str(&format!(", {}", confidence_text(confidence)));
    }
    if let Some(cycles) = change.cycles_percent {
        text.push_str(&format!(", {cycles:+.2}% in cycles"));
    }
    if let Some(reason) = &change.reason {
        text.push_str(&format!(": {reason}"));
    }
    Line { outcome: change.outcome, subject: format!("{configuration}  {}", change.metric), text }
}

/// The explanation of a quick run.
const QUICK: &str = "one process and few samples a configuration; nothing is judged or compared";

/// What is to be said of the run as a whole, and of its comparison: label and text.
pub(super) fn of_run(run: &Run) -> Vec<(&'static str, String)> {
    let unmeasured = run.series.iter().filter_map(|series| Some((series, unmeasured(series)?)));
    let mut out: Vec<_> =
        unmeasured.map(|(series, why)| ("unmeasured", format!("{}: {why}", series.id))).collect();
    out.extend(run.provenance.not_verified.clone().map(|why| ("not verified", why)));
    out.extend(unchecked(run).map(|checks| ("not checked", checks)));
    let not_gated = run.provenance.not_gated.as_ref();
    let decides = |why: &String| ("not gated", format!("thresholds do not decide: {why}"));
    out.extend(not_gated.map(decides));
    out.extend(run.provenance.quick.then(|| ("quick", QUICK.to_owned())));
    let Some(comparison) = &run.comparison else { return out };
    if let Some(id) = &comparison.run {
        let theirs = named(id, comparison.git_revision.as_deref());
        let ours = named(&run.id, run.provenance.git_revision.as_deref());
        out.push(("baseline", format!("`{}`, {theirs}; this is {ours}", comparison.baseline)));
    }
    if let Some(absent) = &comparison.absent {
        out.push(("missing", absent.clone()));
    }
    for mismatch in &comparison.mismatches {
        let label = if mismatch.matters { "incomparable" } else { "differs" };
        out.push((label, mismatch.to_string()));
    }
    for key in &comparison.vanished {
        let text =
            format!("{key} is in the baseline `{}` and not in this run", comparison.baseline);
        out.push(("missing", text));
    }
    let unheld = comparison.unheld.iter();
    out.extend(unheld.map(|key| ("missing", no_finished(&comparison.baseline, key))));
    out.extend(comparison.appeared.iter().map(|key| ("new", key.clone())));
    out.extend(comparison.notes.iter().map(|note| ("note", note.clone())));
    out.extend(comparison.weaker.iter().map(|text| ("weaker", text.clone())));
    out
}

/// The checks of the emulated driver that did not run, and in how many configurations.
pub(super) fn unchecked(run: &Run) -> Option<String> {
    let rows = run.series.iter().flat_map(|series| &series.configurations);
    let finished = rows.filter(|row| row.status == Status::Finished);
    let records: Vec<CheckRecord> = finished.filter_map(|row| row.checks).collect();
    let text = |name: &str, ran: fn(&CheckRecord) -> bool| {
        let off = records.iter().filter(|record| !ran(record)).count();
        (off > 0).then(|| format!("`{name}` in {off} of {} configurations", records.len()))
    };
    let texts = [text("init", |record| record.init), text("race", |record| record.race)];
    let texts: Vec<String> = texts.into_iter().flatten().collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// That nothing of the series `key` of the `baseline` could be compared.
pub(super) fn no_finished(baseline: &str, key: &str) -> String {
    format!(
        "the baseline `{baseline}` has no finished configuration of {key}, so nothing of it is \
         compared"
    )
}

/// "run 20251121T01-1 of 5de2eba228f4-dirty".
fn named(id: &str, revision: Option<&str>) -> String {
    let Some(revision) = revision else { return format!("run {id}") };
    let (hash, state) = revision.split_at(revision.find('-').unwrap_or(revision.len()));
    let short: String = hash.chars().take(12).collect();
    format!("run {id} of {short}{state}")
}
