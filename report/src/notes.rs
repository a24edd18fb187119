//! Notes under a series: why a row did not finish, why a value is `-`, and what was only declared.
//!
//! Input: a series. Output: notes in the order of the rows and columns they explain; entries with
//! the same reason share a note.

pub(super) mod validity;
pub(super) mod view;

use std::collections::HashMap;
use std::hash::Hash;

use gpuprof_model::Quantity;
use gpuprof_model::measurement::Source;
use gpuprof_model::quantity::Unit;
use gpuprof_model::run::{ConfigurationResult, SeriesResult, Status};
use gpuprof_model::verdict::Weight;

use super::cells::{NO_VALUE, UNSTABLE};
use super::estimates;
use super::key;
use super::noise;
use super::note::{Note, keys, span};
use super::over_time;
use super::patched;
use gpuprof_analysis::view::best;
use gpuprof_analysis::view::declared_work::{Excess, excesses};

/// How many metrics a note names before it counts the rest: a section can hold twenty of one
/// reason.
pub(super) const METRICS_NAMED: usize = 12;

/// The notes of `series` where the metrics `columns` are shown, without those of [`list_noise`]. A
/// note names at most so many metrics, as are `named`.
pub(super) fn list_notes(series: &SeriesResult, columns: &[String], named: usize) -> Vec<Note> {
    let mut notes = unfinished(&series.configurations);
    notes.extend(retried(&series.configurations));
    notes.extend(failed_attempts(&series.configurations));
    let names = shown(series, columns);
    notes.extend(over_time::list_notes(series));
    notes.extend(unavailable(series, &names, named));
    notes.extend(patched::list_notes(&series.configurations, &names));
    notes.extend(hidden(series));
    notes.extend(unexpected_sources(series, columns));
    notes.extend(estimates::list_notes(&series.configurations, columns));
    notes.extend(excessive(&series.configurations));
    notes.extend(validity::list_notes(&series.configurations));
    notes
}

/// The notes on the noise of the times of `series`: no verdict depends on them.
pub(super) fn list_noise(series: &SeriesResult) -> Vec<Note> {
    slowed(&series.configurations).into_iter().chain(noise::list_notes(series)).collect()
}

/// Samples that were repeated; an unstable configuration has its own note.
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
        weight: Weight::Fine,
    })
}

/// How many reasons that differ in their numbers alone have a note each.
const ALIKE: usize = 4;

/// Why rows did not finish, each reason once; many that differ in their numbers alone are one note.
pub(super) fn unfinished(rows: &[ConfigurationResult]) -> Vec<Note> {
    let unfinished = rows.iter().filter(|row| row.status != Status::Finished);
    let mut notes = by_reason(unfinished.map(|row| ((row.status.word(), reason(row)), row)));
    notes.iter_mut().for_each(|(note, first)| note.weight = first.status.weight());
    notes.into_iter().map(|(note, _)| note).collect()
}

/// Which finished rows were measured again alone, and why: a kernel that fails only next to others
/// has a fault that the user may want to know.
fn retried(rows: &[ConfigurationResult]) -> Vec<Note> {
    let finished = rows.iter().filter(|row| row.status == Status::Finished);
    let again = finished.filter_map(|row| Some((("retried", row.retried.as_deref()?), row)));
    let alone = |note: Note| Note {
        text: format!("measured again alone after failing next to others: {}", note.text),
        weight: Weight::Doubtful,
        ..note
    };
    by_reason(again).into_iter().map(|(note, _)| alone(note)).collect()
}

/// A note for each label and reason of `reasons`, with the first of its rows; many that differ in
/// their numbers alone are one note.
fn by_reason<'r>(
    reasons: impl Iterator<Item = ((&'static str, &'r str), &'r ConfigurationResult)>,
) -> Vec<(Note, &'r ConfigurationResult)> {
    let reasons = grouped(reasons);
    let note = |(label, text): (&'static str, &str), rows: &[&'r ConfigurationResult]| {
        let (subject, text) = (keys(rows), text.to_owned());
        (Note { label, subject, text, weight: Weight::Fine }, rows[0])
    };
    let alike = grouped(
        reasons
            .into_iter()
            .map(|((label, text), rows)| ((label, without_numbers(text)), ((label, text), rows))),
    );
    let notes = alike.into_iter().flat_map(|(_, reasons)| {
        if reasons.len() <= ALIKE {
            return reasons.iter().map(|(reason, rows)| note(*reason, rows)).collect();
        }
        let rows: Vec<_> = reasons.iter().flat_map(|(_, rows)| rows.iter().copied()).collect();
        let ((label, text), first) = &reasons[0];
        let others = rows.len() - first.len();
        let text = format!("{text} ({others} more differ only in their numbers)");
        let (alike, row) = note((label, &text), &rows);
        vec![(Note { subject: span(&rows), ..alike }, row)]
    });
    notes.collect()
}

/// Failures of processes that were started again, each once.
fn failed_attempts(rows: &[ConfigurationResult]) -> impl Iterator<Item = Note> {
    let again = rows.iter().filter(|row| !row.failed_attempts.is_empty());
    let groups = grouped(again.map(|row| ((row.is_flaky(), &row.failed_attempts), row)));
    groups.into_iter().map(|((flaky, attempts), rows)| {
        let reasons =
            (1..).zip(attempts).map(|(number, reason)| format!("attempt {number}: {reason}"));
        let reasons = reasons.collect::<Vec<_>>().join("; ");
        let text = match flaky {
            true => format!("passed attempt {} ({reasons})", attempts.len() + 1),
            false => reasons,
        };
        let label = if flaky { "flaky" } else { "attempts" };
        Note { label, subject: keys(&rows), text, weight: Weight::Warning }
    })
}

fn reason(row: &ConfigurationResult) -> &str {
    row.status.reason().unwrap_or_default().trim_end()
}

/// `reason` with a sign in place of each number.
fn without_numbers(reason: &str) -> String {
    let mut text = reason.replace(|c: char| c.is_ascii_digit(), "0");
    while text.contains("00") {
        text = text.replace("00", "0");
    }
    text
}

/// Groups by key, in the order of the first of each.
fn grouped<K: Clone + Eq + Hash, V>(all: impl Iterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let (mut groups, mut places) = (Vec::<(K, Vec<V>)>::new(), HashMap::new());
    for (key, value) in all {
        let place = *places.entry(key.clone()).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, group)) => group.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// The metrics of `columns` and of sections, each once.
fn shown<'a>(series: &'a SeriesResult, columns: &'a [String]) -> Vec<&'a String> {
    let in_sections = series.sections.iter().flat_map(|section| &section.columns);
    let mut names: Vec<&String> = columns.iter().collect();
    for column in in_sections {
        if !names.contains(&&column.name) {
            names.push(&column.name);
        }
    }
    names
}

fn unavailable(series: &SeriesResult, names: &[&String], named: usize) -> Vec<Note> {
    let finished: Vec<_> =
        series.configurations.iter().filter(|row| row.status == Status::Finished).collect();
    let mut groups: Vec<((bool, String), Vec<String>)> = Vec::new();
    for &name in names {
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
        subject: match subjects.len().saturating_sub(named) {
            0 => subjects.join(", "),
            more => format!("{} and {more} more", subjects[..named].join(", ")),
        },
        text,
        weight: if unstable { Weight::Doubtful } else { Weight::Fine },
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
        weight: Weight::Doubtful,
    })
}

/// Columns with values from another source than the device in the heading.
fn unexpected_sources(series: &SeriesResult, columns: &[String]) -> Option<Note> {
    let declared = |name: &&String| {
        let known_result = |row| best::result(row, name).filter(|result| result.value.is_ok());
        series
            .configurations
            .iter()
            .filter_map(known_result)
            .any(|result| result.source == Source::Declared)
    };
    let names: Vec<&str> = columns.iter().filter(declared).map(String::as_str).collect();
    (!names.is_empty()).then(|| Note {
        label: "declared",
        subject: names.join(", "),
        text: "by the annotation, not measured".to_owned(),
        weight: Weight::Fine,
    })
}

/// Declarations of more than twice what was counted, with the numbers of the worst row.
fn excessive(rows: &[ConfigurationResult]) -> Vec<Note> {
    let found = excesses(rows);
    let of = |(metric, unit, what): (&str, Unit, &str)| {
        let mut found = found.iter().filter(|excess| excess.metric == metric);
        let first = found.next()?;
        let times = |excess: &Excess<'_>| excess.declared / excess.counted;
        let worst = found.fold(first, |a, b| if times(b) > times(a) { b } else { a });
        let [declared, counted] =
            [worst.declared, worst.counted].map(|value| Quantity::new(value, unit));
        Some(Note {
            label: "declared",
            subject: format!("{metric} at {}", key(worst.row)),
            text: format!("{declared} by the annotation, but {what} {counted}"),
            weight: Weight::Doubtful,
        })
    };
    let bytes = ("bytes", Unit::Bytes, "global loads, stores and atomics ask for");
    let flops = ("flops", Unit::Count, "the additions and multiplications are");
    [bytes, flops].into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use gpuprof_analysis::fixture;
    use gpuprof_analysis::metrics::collect;

    use super::*;

    #[test]
    fn work_that_the_counts_contradict_is_named_with_the_worst_row() {
        let row = |n: u64, times: u64| {
            let mut pass = fixture::emulated_pass(64, n);
            pass.declared_bytes = Some(12 * n * times);
            fixture::finished(fixture::point(64, n), &[pass])
        };
        let [note] = &excessive(&[row(1 << 10, 1), row(1 << 20, 1000), row(1 << 10, 3)])[..] else {
            panic!("one note");
        };
        assert_eq!(note.subject, "bytes at block=64,n=1048576");
        assert_eq!(
            note.text,
            "11.72 GiB by the annotation, but global loads, stores and atomics ask for 12 MiB"
        );
        assert_eq!(excessive(&[row(1 << 10, 1), row(1 << 10, 2)]), []);
    }

    fn too_large(block: u64) -> ConfigurationResult {
        let reason = format!("a block of {block} threads exceeds the device's limit of 1024");
        collect::unfinished(fixture::block(block), Status::Invalid { reason })
    }

    fn list_unfinished(rows: &[ConfigurationResult]) -> Vec<String> {
        let notes = unfinished(rows).into_iter();
        notes.map(|note| format!("{}  {}: {}", note.label, note.subject, note.text)).collect()
    }

    #[test]
    fn many_reasons_that_differ_in_their_numbers_alone_are_one_note() {
        let mut rows: Vec<_> = (1025..=1056).map(too_large).collect();
        rows.insert(7, fixture::failed(64));
        let notes = list_unfinished(&rows);
        assert_eq!(
            notes[0],
            "invalid  32 configurations between block=1025 and block=1056: a block of 1025 threads exceeds the \
             device's limit of 1024 (31 more differ only in their numbers)"
        );
        assert_eq!(notes.len(), 2);
        assert!(notes[1].starts_with("failed  block=64: "), "{}", notes[1]);
    }

    #[test]
    fn rows_retried_alone_are_named_with_the_reason() {
        let again = |block: u64, row: ConfigurationResult| ConfigurationResult {
            retried: Some(format!("counter pass {block}: it faulted")),
            ..row
        };
        let finished =
            |block| fixture::finished(fixture::block(block), &[fixture::emulated_pass(block, 1)]);
        let rows = [again(1, fixture::failed(1)), again(2, finished(2)), finished(3)];
        let [note] = &retried(&rows)[..] else { panic!("one note") };
        let text = "measured again alone after failing next to others: counter pass 2: it faulted";
        assert_eq!((note.label, &*note.subject, &*note.text), ("retried", "block=2", text));
        assert_eq!(note.weight, Weight::Doubtful);
    }

    #[test]
    fn each_of_few_reasons_has_a_note() {
        let few: Vec<_> = (1025..=1028).map(too_large).collect();
        assert_eq!(list_unfinished(&few).len(), 4);
        let same = |block| {
            let reason = "no room".to_owned();
            collect::unfinished(fixture::block(block), Status::Invalid { reason })
        };
        let same: Vec<_> = (1..=20).map(same).collect();
        assert_eq!(
            list_unfinished(&same),
            ["invalid  block=1, block=2, block=3, block=4 and 16 more: no room"]
        );
    }
}
