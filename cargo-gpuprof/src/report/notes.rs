//! Notes under a series: why a row did not finish, why a value is `-`, and what was only declared.
//!
//! Input: a series. Output: notes in the order of the rows and columns they explain; what has
//! the same reason shares a note.

use gpuprof_model::measurement::Source;
use gpuprof_model::run::{ConfigurationResult, SeriesResult, Status};

use super::grounds;
use super::noise;
use super::note::{Note, keys};
use super::sheet::{NO_VALUE, UNSTABLE};
use gpuprof_analysis::view::best;

/// How many metrics a note names before it counts the rest: a section can hold twenty of one
/// reason.
const METRICS_NAMED: usize = 12;

/// The notes of `series` where the metrics `columns` are shown.
pub(super) fn of(series: &SeriesResult, columns: &[String]) -> Vec<Note> {
    let mut notes = unfinished(&series.configurations);
    notes.extend(unavailable(series, columns));
    notes.extend(hidden(series));
    notes.extend(unexpected_sources(series, columns));
    notes.extend(slowed(&series.configurations));
    notes.extend(grounds::of(&series.configurations));
    notes.extend(noise::of(series));
    notes
}

/// Samples that were taken again; a configuration whose time could not be told says so itself.
fn slowed(rows: &[ConfigurationResult]) -> Option<Note> {
    let again = |row: &&ConfigurationResult| {
        row.timings.iter().any(|t| t.discarded > 0)
            && row.timings.iter().all(|t| t.unstable.is_none())
    };
    let again: Vec<&ConfigurationResult> = rows.iter().filter(again).collect();
    let count: u32 = again.iter().flat_map(|row| &row.timings).map(|t| t.discarded).sum();
    (count > 0).then(|| Note {
        label: "slowed",
        subject: keys(&again),
        text: format!("{count} samples were discarded and retaken because the GPU was throttled"),
    })
}

/// Why rows did not finish, each reason once.
pub(super) fn unfinished(rows: &[ConfigurationResult]) -> Vec<Note> {
    let mut groups: Vec<(&Status, Vec<&ConfigurationResult>)> = Vec::new();
    for row in rows.iter().filter(|row| row.status != Status::Finished) {
        match groups.iter_mut().find(|(status, _)| **status == row.status) {
            Some((_, group)) => group.push(row),
            None => groups.push((&row.status, vec![row])),
        }
    }
    let note = |(status, group): (&Status, Vec<&ConfigurationResult>)| Note {
        label: status_label(status),
        subject: keys(&group),
        text: status.reason().unwrap_or_default().trim_end().to_owned(),
    };
    groups.into_iter().map(note).collect()
}

fn status_label(status: &Status) -> &'static str {
    match status {
        Status::Finished => "finished",
        Status::Invalid { .. } => "invalid",
        Status::Failed { .. } => "failed",
        Status::Timeout { .. } => "timeout",
        Status::Skipped { .. } => "skipped",
    }
}

fn unavailable(series: &SeriesResult, columns: &[String]) -> Vec<Note> {
    let finished: Vec<_> =
        series.configurations.iter().filter(|row| row.status == Status::Finished).collect();
    let mut groups: Vec<((bool, String), Vec<String>)> = Vec::new();
    let in_sections = series.sections.iter().flat_map(|section| &section.columns);
    let mut names: Vec<&String> = columns.iter().collect();
    for column in in_sections {
        if !names.contains(&&column.name) {
            names.push(&column.name);
        }
    }
    for name in names {
        let mut reasons: Vec<((bool, &str), Vec<&ConfigurationResult>)> = Vec::new();
        for &row in &finished {
            let Some(reason) = best::no_value_reason(row, name) else { continue };
            let unstable = best::result(row, name).is_some_and(|result| result.unstable);
            let reason = (unstable, reason);
            match reasons.iter_mut().find(|(other, _)| *other == reason) {
                Some((_, rows)) => rows.push(row),
                None => reasons.push((reason, vec![row])),
            }
        }
        for (reason, rows) in reasons {
            let subject = if rows.len() == finished.len() {
                name.clone()
            } else {
                format!("{name} at {}", keys(&rows))
            };
            let reason = (reason.0, reason.1.to_owned());
            match groups.iter_mut().find(|(other, _)| *other == reason) {
                Some((_, subjects)) => subjects.push(subject),
                None => groups.push((reason, vec![subject])),
            }
        }
    }
    let note = |((unstable, text), subjects): ((bool, String), Vec<String>)| Note {
        label: if unstable { UNSTABLE } else { NO_VALUE },
        subject: match subjects.len().saturating_sub(METRICS_NAMED) {
            0 => subjects.join(", "),
            more => format!("{} and {more} more", subjects[..METRICS_NAMED].join(", ")),
        },
        text,
    };
    groups.into_iter().map(note).collect()
}

/// Sections that were asked for and speak of work that the kernel does not do.
fn hidden(series: &SeriesResult) -> Option<Note> {
    let zero = |name: &str| {
        let mut values = series.configurations.iter().filter_map(|row| best::value(row, name));
        values.next().is_some_and(|first| first <= 0.0) && values.all(|value| value <= 0.0)
    };
    let needs = series.sections.iter().filter_map(|s| Some((s.id.as_str(), s.needs.as_deref()?)));
    let (ids, needs): (Vec<_>, Vec<_>) = needs.filter(|(_, name)| zero(name)).unzip();
    (!ids.is_empty()).then(|| Note {
        label: NO_VALUE,
        subject: ids.join(", "),
        text: format!("not shown: {} is zero everywhere", needs.join(", ")),
    })
}

/// Columns whose values came from somewhere else than the device in the heading.
fn unexpected_sources(series: &SeriesResult, columns: &[String]) -> Option<Note> {
    let declared = |name: &&String| {
        let of = |row| best::result(row, name).filter(|result| result.value.is_ok());
        series.configurations.iter().filter_map(of).any(|result| result.source == Source::Declared)
    };
    let names: Vec<&str> = columns.iter().filter(declared).map(String::as_str).collect();
    (!names.is_empty()).then(|| Note {
        label: "declared",
        subject: names.join(", "),
        text: "by the annotation, not measured".to_owned(),
    })
}
