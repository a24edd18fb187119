//! Estimates for people: the sign in front of them, their interval, and notes on the model and on
//! the limits of each row.
//!
//! Input: rows of a series. Output: texts. Invariant: an estimate never looks measured.

pub(super) use gpuprof_analysis::estimates::SIGN;
pub(super) use gpuprof_analysis::view::columns::estimate_sign as sign;
use gpuprof_analysis::view::{best, columns};
use gpuprof_model::comparison::Interval;
use gpuprof_model::estimate::{Estimate, LimitShare};
use gpuprof_model::measurement::Source;
use gpuprof_model::run::{ConfigurationResult, Run};
use gpuprof_model::verdict::{Judgement, Weight};

use super::note::{Note, subject};
use super::number::Scale;

/// The labels of the notes on estimates.
pub(super) const LABELS: [&str; 2] = ["estimated", "limited"];

/// `metric` as a title: with the sign if its values are estimates.
pub(super) fn titled(metric: &str, rows: &[ConfigurationResult]) -> String {
    match columns::is_estimated(metric, rows) {
        true => format!("{SIGN} {metric}"),
        false => metric.to_owned(),
    }
}

/// "≈6.21 (4.14–9.32)": an estimate with its interval, in the unit of `scale`.
pub(super) fn cell(scale: &Scale, value: f64, Interval { low, high, .. }: Interval) -> String {
    format!("{SIGN}{} ({}–{})", scale.text(value), scale.text(low), scale.text(high))
}

/// Whether an estimate decided `judgement`.
pub(super) fn is_estimated(judgement: &Judgement) -> bool {
    judgement.source == Some(Source::Estimated)
}

/// The sign in front of the values of `judgement`; empty if they are no estimates.
pub(super) fn sign_of(judgement: &Judgement) -> &'static str {
    if is_estimated(judgement) { SIGN } else { "" }
}

/// How many verdicts of `run` rest on estimates; none if no verdict does.
pub(super) fn sentence(run: &Run) -> Option<String> {
    let judgements = || run.series.iter().flat_map(|series| &series.judgements);
    let all = judgements().count();
    match judgements().filter(|judgement| is_estimated(judgement)).count() {
        0 => None,
        1 => Some(format!("One of {all} verdicts rests on estimated times ({SIGN}).")),
        some => Some(format!("{some} of {all} verdicts rest on estimated times ({SIGN}).")),
    }
}

/// The notes on the estimates of `rows`, of which the metrics `names` are shown.
pub(super) fn list_notes(rows: &[ConfigurationResult], names: &[String]) -> Vec<Note> {
    let Some(first) = rows.iter().find_map(|row| row.estimate.as_ref()) else { return Vec::new() };
    let names: Vec<&str> =
        names.iter().filter(|name| columns::is_estimated(name, rows)).map(String::as_str).collect();
    if names.is_empty() {
        return Vec::new();
    }
    let level = rows.iter().find_map(|row| best::result(row, names[0])?.interval);
    let checked = if first.characterised { "" } else { "; not checked on hardware" };
    let estimates = || rows.iter().filter_map(|row| row.estimate.as_ref());
    let unknown = match () {
        () if !estimates().all(|it| it.registers_known) => "; registers unknown",
        () if !estimates().all(|it| it.machine_code_known) => "; machine code unknown",
        () => "",
    };
    let about = Note {
        label: LABELS[0],
        subject: names.join(", "),
        text: format!(
            "by model {} of the {}, not measured; {:.0}% intervals in parentheses{unknown}{checked}",
            first.model,
            first.chip,
            level.map_or(0.0, |interval| 100.0 * interval.level)
        ),
        weight: Weight::Fine,
    };
    std::iter::once(about).chain(limits(rows)).collect()
}

/// The limits of the rows, two of each: rows with the same two limits share a note.
fn limits(rows: &[ConfigurationResult]) -> Vec<Note> {
    let mut groups: Vec<(Vec<&LimitShare>, Vec<&ConfigurationResult>)> = Vec::new();
    for row in rows {
        let Some(Estimate { limits, .. }) = &row.estimate else { continue };
        let two: Vec<&LimitShare> = limits.iter().take(2).collect();
        let alike = |known: &[&LimitShare]| {
            known.iter().map(|of| of.limit).eq(two.iter().map(|of| of.limit))
        };
        match groups.iter_mut().find(|(known, _)| alike(known)) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((two, vec![row])),
        }
    }
    let note = |(two, group): (Vec<&LimitShare>, Vec<&ConfigurationResult>)| {
        let limit_text = |(at, of): (usize, &&LimitShare)| {
            let shares = group.iter().filter_map(|row| row.estimate.as_ref()?.limits.get(at));
            let shares: Vec<f64> = shares.map(|of| 100.0 * of.share).collect();
            let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
            let most = shares.iter().copied().fold(0.0, f64::max);
            match format!("{least:.0}") == format!("{most:.0}") {
                true => format!("{} ({most:.0}% of the time)", of.limit),
                false => format!("{} ({least:.0}–{most:.0}% of the time)", of.limit),
            }
        };
        let limits: Vec<String> = two.iter().enumerate().map(limit_text).collect();
        Note {
            label: LABELS[1],
            subject: subject(&group, rows),
            text: format!("by {}", limits.join(", then by ")),
            weight: Weight::Fine,
        }
    };
    groups.into_iter().map(note).collect()
}

#[cfg(test)]
mod tests {
    use gpuprof_analysis::fixture::{emulated, estimated};

    use super::*;

    fn lines(rows: &[ConfigurationResult]) -> Vec<String> {
        let names = ["duration", "global_sectors"].map(str::to_owned);
        let line = |note: &Note| format!("{}  {}: {}", note.label, note.subject, note.text);
        list_notes(rows, &names).iter().map(line).collect()
    }

    #[test]
    fn the_note_names_the_model_and_the_limit_of_each_row() {
        let mut rows = [64, 128, 256].map(|block| estimated(block, 1 << 20, 1000.0));
        let limits = |row: &mut ConfigurationResult| row.estimate.as_mut().unwrap().limits.clone();
        rows[1].estimate.as_mut().unwrap().limits[0].share = 0.91;
        let mut turned = limits(&mut rows[2]);
        turned.reverse();
        rows[2].estimate.as_mut().unwrap().limits = turned;
        assert_eq!(
            lines(&rows),
            [
                "estimated  duration: by model 1 of the H200, not measured; 90% intervals in \
                 parentheses",
                "limited  block=64,n=1048576, block=128,n=1048576: by dram (88–91% of the time), \
                 then by latency (25% of the time)",
                "limited  block=256,n=1048576: by latency (25% of the time), then by dram (88% of \
                 the time)",
            ]
        );
        rows[0].estimate.as_mut().unwrap().characterised = false;
        assert!(lines(&rows)[0].ends_with("; not checked on hardware"));
        assert_eq!(lines(&[emulated(64, 1 << 20)]), [""; 0]);
    }
}
