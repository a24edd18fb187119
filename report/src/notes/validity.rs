//! Notes on the validity of the values of a row: a reference that its results agreed with, the
//! checks of the emulated driver, inputs that were the same for every sample, and the clock of its
//! times.
//!
//! Input: the rows of a series. Output: notes for people, none if nothing was verified or checked,
//! no kernel reads its own output, and the device took the times.

use std::collections::BTreeMap;

use gpuprof_analysis::metrics::{LAUNCHED_NOTHING, launched_nothing};
use gpuprof_model::checks::CheckRecord;
use gpuprof_model::measurement::{Reset, Unverified};
use gpuprof_model::run::{ConfigurationResult, Status};
use gpuprof_model::units::Nanoseconds;
use gpuprof_model::verdict::Weight;

use crate::note::{Note, keys, subject};

/// The word for verified rows without a check for races.
const UNRACED: &str = "verified (no race check)";

/// Results that accept a larger error, as a share of a typical value, have a note: a wrong kernel
/// may pass.
const WIDE: f64 = 0.1;

/// The notes on `rows`.
pub(super) fn list_notes(rows: &[ConfigurationResult]) -> Vec<Note> {
    let mut notes = verified(rows);
    notes.extend(empty(rows));
    notes.extend(wide(rows));
    notes.extend(checked(rows));
    notes.extend(resets(rows));
    notes.extend(setup(rows));
    notes.extend(event_times(rows));
    notes
}

/// Which rows were verified, with the largest error, and for which a comparison said nothing; where
/// any were compared, also which were not.
fn verified(rows: &[ConfigurationResult]) -> Vec<Note> {
    let finished = rows.iter().filter(|row| row.status == Status::Finished);
    let (verified, not): (Vec<_>, Vec<_>) = finished.partition(|row| row.verified);
    let because = |why| not.iter().copied().filter(|row| row.unverified == why).collect::<Vec<_>>();
    let [none, nothing, left, anything, halved, no_number] = [
        Unverified::NoReference,
        Unverified::NothingCompared,
        Unverified::NothingChanged,
        Unverified::AnythingAccepted,
        Unverified::HalfAccepted,
        Unverified::MostlyNan,
    ]
    .map(|why| because(Some(why)));
    let not = because(None);
    let (raced, unraced): (Vec<_>, Vec<_>) =
        verified.iter().copied().partition(|row| !lacks_race_check(row));
    let weighed = |weight, label, group: &[&ConfigurationResult], text: String| {
        (!group.is_empty()).then(|| Note { label, subject: subject(group, rows), text, weight })
    };
    let note =
        |label, group: &[&ConfigurationResult], text| weighed(Weight::Fine, label, group, text);
    let void =
        |group: &[&ConfigurationResult], text| weighed(Weight::Doubtful, "unverified", group, text);
    let agreement = |label, group: &[&ConfigurationResult]| {
        let (known, unknown): (Vec<_>, Vec<_>) =
            group.iter().copied().partition(|row| row.largest_error.is_some());
        let agreed = format!("agreed with the reference{}", compared_elements(&unknown));
        [note(label, &known, largest(&known)), note(label, &unknown, agreed)]
    };
    let lacking = "compared with no reference: there is no `verify`".to_owned();
    let all = [&verified, &nothing, &left, &anything, &halved, &no_number];
    let compared = all.iter().any(|rows| !rows.is_empty());
    let unverified: &[_] = if compared { &not } else { &[] };
    let empty = "nothing was compared: what the kernel writes has no elements".to_owned();
    let same = "the reference changes nothing, so a kernel that does nothing agrees".to_owned();
    let wide =
        "the tolerance or `compare` accepts what the buffers held before the launch".to_owned();
    let half = "the tolerance or `compare` accepts half of every expected value".to_owned();
    let nan = "most elements are NaN on both sides, in the kernel's result and the reference's";
    let nan = nan.to_owned();
    let [known, unknown] = agreement("verified", &raced);
    let [known_unraced, unknown_unraced] = agreement(UNRACED, &unraced);
    [
        known,
        unknown,
        known_unraced,
        unknown_unraced,
        note("unverified", &none, lacking),
        void(&nothing, empty),
        void(&left, same),
        void(&anything, wide),
        void(&halved, half),
        void(&no_number, nan),
        note("unverified", unverified, "compared with no reference".to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Which rows finished and launched nothing.
fn empty(rows: &[ConfigurationResult]) -> Option<Note> {
    let empty: Vec<&ConfigurationResult> =
        rows.iter().filter(|row| launched_nothing(row)).collect();
    (!empty.is_empty()).then(|| Note {
        label: "unmeasured",
        subject: subject(&empty, rows),
        text: LAUNCHED_NOTHING.to_owned(),
        weight: Weight::Doubtful,
    })
}

/// Which verified rows have a tolerance that accepts large errors.
fn wide(rows: &[ConfigurationResult]) -> Option<Note> {
    let share = |row: &ConfigurationResult| row.verification.as_ref().map_or(0.0, |v| v.tolerance);
    let verified = rows.iter().filter(|row| row.status == Status::Finished && row.verified);
    let wide: Vec<&ConfigurationResult> = verified.filter(|row| share(row) > WIDE).collect();
    let largest = wide.iter().map(|row| share(row)).max_by(f64::total_cmp)?;
    Some(Note {
        label: "tolerance",
        subject: subject(&wide, rows),
        text: format!(
            "accepts errors up to {:.0} % of a typical value, with which a wrong kernel may pass",
            100.0 * largest
        ),
        weight: Weight::Warning,
    })
}

/// Whether `row` was emulated without the check for races.
pub(crate) fn lacks_race_check(row: &ConfigurationResult) -> bool {
    row.checks.is_some_and(|checks| !checks.race)
}

/// The checks of the emulated driver that ran, and in how many blocks of all launches.
fn checked(rows: &[ConfigurationResult]) -> Vec<Note> {
    let mut found: BTreeMap<(bool, bool), (CheckRecord, Vec<&ConfigurationResult>)> =
        BTreeMap::new();
    for row in rows.iter().filter(|row| row.status == Status::Finished) {
        let Some(checks) = row.checks else { continue };
        found
            .entry((checks.init, checks.race))
            .and_modify(|(all, _)| *all = all.join(checks))
            .or_insert_with(|| (checks, Vec::new()))
            .1
            .push(row);
    }
    let note = |(checks, group): (CheckRecord, Vec<&ConfigurationResult>)| Note {
        label: "checks",
        subject: subject(&group, rows),
        text: checks.to_string(),
        weight: Weight::Fine,
    };
    found.into_values().map(note).collect()
}

/// The largest error of `rows` in words, its place, and what was compared.
fn largest(rows: &[&ConfigurationResult]) -> String {
    let errors = rows.iter().filter_map(|row| Some((row.largest_error?, row)));
    let compared = compared_elements(rows);
    match errors.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((error, row)) if error > 0.0 => {
            let of_several =
                if rows.len() > 1 { format!(", at {}", crate::key(row)) } else { String::new() };
            format!("largest error {} of the tolerance{of_several}{compared}", error_text(error))
        }
        _ => format!("equal to the reference{compared}"),
    }
}

/// ` (x: 64, y: 1024 to 4096 elements)`: the elements of each buffer of `rows` that were compared.
fn compared_elements(rows: &[&ConfigurationResult]) -> String {
    let mut lengths: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let verifications = rows.iter().filter_map(|row| row.verification.as_ref());
    for (name, &length) in verifications.flat_map(|verification| &verification.buffers) {
        let (least, most) = lengths.entry(name).or_insert((length, length));
        (*least, *most) = (length.min(*least), length.max(*most));
    }
    let of_buffer = |(name, (least, most)): (&str, (u64, u64))| {
        let more = if most > least { format!(" to {most}") } else { String::new() };
        format!("{name}: {least}{more}")
    };
    let all: Vec<String> = lengths.into_iter().map(of_buffer).collect();
    if all.is_empty() { String::new() } else { format!(" ({} elements)", all.join(", ")) }
}

/// `0.25`, and `3e-4` of what is less than a hundredth.
pub(super) fn error_text(error: f64) -> String {
    if error == 0.0 || error >= 0.01 { format!("{error:.2}") } else { format!("{error:.0e}") }
}

/// The state of buffers that a kernel reads and writes, at each sample.
fn resets(rows: &[ConfigurationResult]) -> Vec<Note> {
    let mut found: BTreeMap<(&[String], bool), Vec<&ConfigurationResult>> = BTreeMap::new();
    for row in rows {
        if let Some(in_place) = row.timings.iter().find_map(|timing| timing.in_place.as_ref()) {
            let each = in_place.reset == Reset::Each;
            found.entry((&in_place.buffers, each)).or_default().push(row);
        }
    }
    let several = found.len() > 1;
    let note = |((buffers, each), rows): ((&[String], bool), Vec<&ConfigurationResult>)| {
        let at = if several { format!(" at {}", keys(&rows)) } else { String::new() };
        let text = if each {
            "restored before every sample, outside the timed window"
        } else {
            "each sample continues from the previous one's output (reset = once)"
        };
        Note {
            label: "reset",
            subject: format!("{}{at}", buffers.join(", ")),
            text: text.to_owned(),
            weight: Weight::Fine,
        }
    };
    found.into_iter().map(note).collect()
}

/// The set-up that the processes made once for the series, before they measured.
fn setup(rows: &[ConfigurationResult]) -> Option<Note> {
    let made: Vec<&ConfigurationResult> =
        rows.iter().filter(|row| row.setup_ns.is_some()).collect();
    let longest = made.iter().filter_map(|row| row.setup_ns).reduce(Nanoseconds::max)?;
    Some(Note {
        label: "setup",
        subject: subject(&made, rows),
        text: format!("made once a process, not timed; it took up to {:.1} s", longest.0 / 1e9),
        weight: Weight::Fine,
    })
}

/// Which times are those of CUDA events, since the device's own are unknown.
fn event_times(rows: &[ConfigurationResult]) -> Vec<Note> {
    let mut found: BTreeMap<&str, Vec<&ConfigurationResult>> = BTreeMap::new();
    for row in rows {
        let reasons = row.timings.iter().find_map(|timing| timing.no_device_times.as_deref());
        if let Some(reason) = reasons {
            found.entry(reason).or_default().push(row);
        }
    }
    let note = |(reason, group): (&str, Vec<&ConfigurationResult>)| Note {
        label: "timer",
        subject: subject(&group, rows),
        text: format!("CUDA events, which add some 2 µs to a launch: {}", first_line(reason)),
        weight: Weight::Fine,
    };
    found.into_iter().map(note).collect()
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use gpuprof_analysis::fixture::{finished, gpu_pass, point};
    use gpuprof_model::measurement::{InPlace, PassResult, Verification};

    use super::*;

    const N: u64 = 1 << 20;

    fn row(block: u64, change: impl Fn(&mut PassResult)) -> ConfigurationResult {
        let mut passes = [gpu_pass(block, N, &[5.0]), gpu_pass(block, N, &[5.0])];
        passes.iter_mut().for_each(&change);
        finished(point(block, N), &passes)
    }

    fn verified_to(block: u64, error: Option<f64>) -> ConfigurationResult {
        row(block, |pass| (pass.verified, pass.largest_error) = (true, error))
    }

    fn lines(rows: &[ConfigurationResult]) -> Vec<String> {
        let line = |note: Note| format!("{} {}: {}", note.label, note.subject, note.text);
        list_notes(rows).into_iter().map(line).collect()
    }

    #[test]
    fn a_setup_is_named_with_its_longest_time() {
        let made = |block, seconds: f64| {
            row(block, |pass| pass.setup_ns = Some(Nanoseconds(seconds * 1e9)))
        };
        let expected = "setup every row: made once a process, not timed; it took up to 12.3 s";
        assert_eq!(lines(&[made(64, 12.3), made(128, 4.0)]), [expected]);
        assert_eq!(lines(&[row(64, |_| ())]), [""; 0]);
    }

    #[test]
    fn the_checks_of_the_emulated_driver_are_named_with_their_blocks() {
        let checked = |block: u64, race: bool| {
            row(block, |pass| {
                (pass.verified, pass.largest_error) = (true, Some(0.0));
                let (init, checked_blocks) = (true, 31);
                pass.checks = Some(CheckRecord {
                    init,
                    race,
                    races_in_part: false,
                    checked_blocks,
                    blocks: 256,
                });
            })
        };
        assert_eq!(
            lines(&[checked(64, true), checked(128, true)]),
            [
                "verified every row: equal to the reference",
                "checks every row: init, race in 62 of 512 blocks; memory, sync in all"
            ]
        );
        assert_eq!(
            lines(&[checked(64, false), checked(128, true)]),
            [
                "verified block=128,n=1048576: equal to the reference",
                "verified (no race check) block=64,n=1048576: equal to the reference",
                "checks block=64,n=1048576: init in 31 of 256 blocks; memory, sync in all",
                "checks block=128,n=1048576: init, race in 31 of 256 blocks; memory, sync in all"
            ]
        );
    }

    #[test]
    fn the_compared_buffers_are_named_with_their_elements() {
        let of = |block, lengths: &[(&str, u64)]| {
            let buffers: BTreeMap<_, _> =
                lengths.iter().map(|(name, length)| ((*name).to_owned(), *length)).collect();
            row(block, move |pass| {
                (pass.verified, pass.largest_error) = (true, Some(0.0));
                pass.verification =
                    Some(Verification { buffers: buffers.clone(), ..Verification::default() });
            })
        };
        assert_eq!(
            lines(&[of(64, &[("y", 1024)])]),
            ["verified every row: equal to the reference (y: 1024 elements)"]
        );
        assert_eq!(
            lines(&[of(64, &[("x", 64), ("y", 4096)]), of(128, &[("x", 64), ("y", 1024)])]),
            ["verified every row: equal to the reference (x: 64, y: 1024 to 4096 elements)"]
        );
    }

    #[test]
    fn what_was_verified_is_reported_with_its_largest_error() {
        let none = row(512, |_| ());
        assert_eq!(lines(std::slice::from_ref(&none)), [""; 0]);
        let exact = verified_to(64, Some(0.0));
        assert_eq!(
            lines(std::slice::from_ref(&exact)),
            ["verified every row: equal to the reference"]
        );
        let rows = [exact, verified_to(128, Some(0.254)), verified_to(256, None), none];
        assert_eq!(
            lines(&rows),
            [
                "verified block=64,n=1048576, block=128,n=1048576: largest error 0.25 of the tolerance, at \
             block=128,n=1048576",
                "verified block=256,n=1048576: agreed with the reference",
                "unverified block=512,n=1048576: compared with no reference",
            ]
        );
        assert_eq!(
            lines(&[verified_to(64, Some(3e-4))]),
            ["verified every row: largest error 3e-4 of the tolerance"]
        );
    }

    #[test]
    fn a_missing_reference_is_noted_unless_verification_is_off() {
        let bare = |block| row(block, |pass| pass.unverified = Some(Unverified::NoReference));
        let reason = "compared with no reference: there is no `verify`";
        assert_eq!(lines(&[bare(64), bare(128)]), [format!("unverified every row: {reason}")]);
        assert_eq!(lines(&[row(64, |_| ()), row(128, |_| ())]), [""; 0]);
    }

    #[test]
    fn a_meaningless_comparison_is_reported_as_unverified() {
        let empty = |block| row(block, |pass| pass.unverified = Some(Unverified::NothingCompared));
        let reason = "nothing was compared: what the kernel writes has no elements";
        assert_eq!(lines(&[empty(64)]), [format!("unverified every row: {reason}")]);
        let nan = row(64, |pass| pass.unverified = Some(Unverified::MostlyNan));
        let reason_of_nan =
            "most elements are NaN on both sides, in the kernel's result and the reference's";
        assert_eq!(lines(&[nan]), [format!("unverified every row: {reason_of_nan}")]);
        let half = row(64, |pass| pass.unverified = Some(Unverified::HalfAccepted));
        let reason_of_half = "the tolerance or `compare` accepts half of every expected value";
        assert_eq!(lines(&[half]), [format!("unverified every row: {reason_of_half}")]);
        let wide = row(128, |pass| pass.unverified = Some(Unverified::AnythingAccepted));
        assert_eq!(
            lines(&[empty(64), wide, verified_to(256, Some(0.5)), row(512, |_| ())]),
            [
                "verified block=256,n=1048576: largest error 0.50 of the tolerance".to_owned(),
                format!("unverified block=64,n=1048576: {reason}"),
                "unverified block=128,n=1048576: the tolerance or `compare` accepts what the buffers \
                 held before the launch"
                    .to_owned(),
                "unverified block=512,n=1048576: compared with no reference".to_owned(),
            ]
        );
    }

    #[test]
    fn a_tolerance_that_accepts_large_errors_has_a_note() {
        let accepts = |block, tolerance| {
            row(block, move |pass| {
                pass.verified = true;
                pass.verification = Some(Verification { tolerance, ..Verification::default() });
            })
        };
        let second_line = |rows: &[ConfigurationResult]| lines(rows).into_iter().nth(1);
        assert_eq!(second_line(&[accepts(64, 0.1), accepts(128, 1e-5)]), None);
        assert_eq!(
            second_line(&[accepts(64, 0.1), accepts(128, 0.49), accepts(256, 0.2)]).unwrap(),
            "tolerance block=128,n=1048576, block=256,n=1048576: accepts errors up to 49 % of a \
             typical value, with which a wrong kernel may pass"
        );
    }

    #[test]
    fn restored_buffers_are_reported_once_for_all_rows() {
        let reset = |block, reset| {
            row(block, move |pass| {
                let in_place = InPlace { reset, buffers: vec!["x".into(), "y".into()] };
                pass.timing.as_mut().unwrap().in_place = Some(in_place);
            })
        };
        let each = "x, y: restored before every sample, outside the timed window";
        assert_eq!(
            lines(&[reset(64, Reset::Each), reset(128, Reset::Each)]),
            [format!("reset {each}")]
        );
        assert_eq!(
            lines(&[reset(64, Reset::Once)]),
            ["reset x, y: each sample continues from the previous one's output (reset = once)"]
        );
    }
}
