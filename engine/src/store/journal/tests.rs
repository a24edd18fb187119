use super::*;
use gpuprof_analysis::fixture::{self, gpu_pass};
use gpuprof_analysis::stats::repeats::Repeats;
use gpuprof_model::Axis;
use gpuprof_model::ExitCode;
use gpuprof_model::machine::{Backend, CacheControl, Chip, ClockControl};
use gpuprof_model::measurement::{Energy, HardwareValue};
use gpuprof_model::protocol::{CounterRange, Replay};
use gpuprof_model::run::SharedRows;
use gpuprof_model::units::Nanoseconds;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;

fn made() -> RunIdentity {
    RunIdentity {
        tool_version: "0.1.0".into(),
        kernels: [("saxpy".to_owned(), "abc".to_owned())].into(),
        harnesses: BTreeMap::new(),
        series: vec![("s".into(), vec![Axis::parse("block=64..128").unwrap()], "h".into())],
        base: None,
        baseline: None,
        device: Some(("NVIDIA H200".into(), "GPU-1".into(), 13000)),
        devices: Vec::new(),
        chips: Vec::new(),
        backend: Backend::Cuda,
        cache_control: CacheControl::All,
        clock_control: ClockControl::None,
        replay_mode: None,
        counter_range: None,
        nvtx: Vec::new(),
        order: Some("rounds, seed 1".into()),
        repeat: Repeats::exactly(3),
        quick: false,
        counters: Vec::new(),
        checks: None,
        thresholds: Vec::new(),
        metrics: None,
        strict: false,
        collection: None,
    }
}

fn start(id: &str) -> Start {
    Start { id: id.into(), ..Start::default() }
}

fn step(configuration: usize, repeat: u32) -> Step {
    Step { series: 0, configuration, repeat }
}

fn folder() -> (tempfile::TempDir, Utf8PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = Utf8PathBuf::from_path_buf(folder.path().to_owned()).unwrap();
    (folder, path)
}

/// A journal of three passes and a failure, and the offsets at which its lines end.
fn written() -> (Vec<u8>, Vec<usize>) {
    let (_keep, path) = folder();
    let mut journal = Journal::begin(&path, &made(), start("a")).unwrap();
    let result = gpu_pass(64, 1 << 20, &[1.0, 2.0]);
    journal.pass(step(0, 0), &result).unwrap();
    journal.pass(step(1, 0), &result).unwrap();
    journal.ended((0, 2), &Status::Failed { reason: "boom".into() }).unwrap();
    journal.ended((0, 3), &Status::Skipped { reason: "interrupt".into() }).unwrap();
    journal.pass(step(0, 1), &result).unwrap();
    drop(journal);
    let bytes = fs::read(path.join(FILE)).unwrap();
    let ends = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(at, _)| at + 1);
    (bytes.clone(), ends.collect())
}

#[test]
fn a_kill_at_any_byte_loses_at_most_the_line_in_flight() {
    let (bytes, ends) = written();
    assert_eq!(ends.len(), 6, "a skipped configuration has not ended");
    // Every byte around the line ends, and some between them.
    let near =
        |cut: &usize| cut.is_multiple_of(97) || ends.iter().any(|end| cut.abs_diff(*end) < 3);
    for cut in (0..=bytes.len()).filter(near) {
        let whole = ends.iter().filter(|end| **end <= cut).count();
        let (_keep, path) = folder();
        fs::write(path.join(FILE), &bytes[..cut]).unwrap();
        match Journal::resume(&path, &made(), start("b")) {
            Err(failure) => {
                assert_eq!((whole, failure.code), (0, ExitCode::Configuration), "{cut}");
            }
            Ok((mut journal, replayed)) => {
                let ended = usize::from(replayed.ended(0, 2).is_some());
                // The first two lines hold the parts of the run and the process that begins it.
                assert_eq!(replayed.len() + ended + 2, whole.max(2), "{cut}");
                // The torn line is gone, and the following ones are whole.
                journal.pass(step(9, 9), &gpu_pass(64, 1 << 20, &[1.0])).unwrap();
                drop(journal);
                let (_, again) = Journal::resume(&path, &made(), start("b")).unwrap();
                assert_eq!(again.len(), replayed.len() + 1, "{cut}");
            }
        }
    }
}

#[test]
fn recorded_passes_are_replayed() {
    let (bytes, _) = written();
    let (_keep, path) = folder();
    fs::write(path.join(FILE), &bytes).unwrap();
    let (journal, replayed) = Journal::resume(&path, &made(), start("b")).unwrap();
    assert!(journal.whole > bytes.len() as u64, "the second start has a line");
    assert_eq!(replayed.pass(step(0, 1)).unwrap(), Some(gpu_pass(64, 1 << 20, &[1.0, 2.0])));
    assert_eq!(replayed.pass(step(1, 1)).unwrap(), None);
    assert_eq!(replayed.ended(0, 2), Some(&Status::Failed { reason: "boom".into() }));
    assert_eq!(replayed.ended(0, 3), None);
    // Passes stay in the file until they are asked for.
    fs::write(path.join(FILE), vec![b' '; bytes.len()]).unwrap();
    let failure = replayed.pass(step(0, 1)).unwrap_err();
    assert!(failure.message.contains("changed while it was read"), "{}", failure.message);
}

#[test]
fn the_energy_of_a_pass_is_resumed() {
    let (_keep, path) = folder();
    let mut journal = Journal::begin(&path, &made(), start("a")).unwrap();
    let pass = gpu_pass(64, 1 << 20, &[1.0]);
    let (joules, resolution, launches, took_ns) = (0.25, 0.001, 1200, Nanoseconds(1.1e9));
    let energy = Energy::Measured { joules, resolution, launches, took_ns };
    [0, 1].into_iter().for_each(|at| journal.pass(step(0, at), &pass).unwrap());
    journal.energy(step(0, 1), &energy).unwrap();
    drop(journal);
    let (_, replayed) = Journal::resume(&path, &made(), start("b")).unwrap();
    assert_eq!(replayed.pass(step(0, 0)).unwrap(), Some(pass.clone()));
    let with_energy = PassResult { energy: Some(energy), ..pass };
    assert_eq!(replayed.pass(step(0, 1)).unwrap(), Some(with_energy));
}

#[test]
fn collection_of_counters_is_resumed() {
    let (_keep, path) = folder();
    let mut journal = Journal::begin(&path, &made(), start("a")).unwrap();
    let value = [("a".to_owned(), HardwareValue::Value(1.0))];
    let mut collected = Collected { steps: 2, hardware: value.into(), ..Collected::default() };
    journal.collected((0, 1), 3, &collected).unwrap();
    journal.retried((0, 1), "it faulted next to others").unwrap();
    journal.retried((0, 1), "and again").unwrap();
    journal.failed_attempt((0, 1), "it crashed").unwrap();
    journal.failed_attempt((0, 1), "it timed out").unwrap();
    drop(journal);
    let (mut journal, replayed) = Journal::resume(&path, &made(), start("b")).unwrap();
    assert_eq!(replayed.collected(0, 1, 3).unwrap(), Some(collected.clone()));
    assert_eq!(replayed.collected(0, 1, 4).unwrap(), None, "the plan is another one");
    assert_eq!(replayed.counters(0, 1).unwrap(), None);
    assert_eq!(replayed.retried(0, 1), Some("it faulted next to others"), "the first reason");
    assert_eq!(replayed.failed_attempts(0, 1), ["it crashed", "it timed out"]);
    assert_eq!(replayed.failed_attempts(0, 0), [] as [&str; 0]);
    collected.steps = 3;
    journal.collected((0, 1), 3, &collected).unwrap();
    drop(journal);
    let (_, replayed) = Journal::resume(&path, &made(), start("b")).unwrap();
    assert_eq!(replayed.counters(0, 1).unwrap(), Some(Collected { steps: 0, ..collected }));
}

#[test]
fn a_run_of_other_code_axes_or_devices_is_not_resumed() {
    type Change = (&'static str, fn(&mut RunIdentity));
    let changes: [Change; 5] = [
        ("the kernels (their PTX)", |m| m.kernels.clear()),
        ("the axes or the selection of configurations", |m| m.series.clear()),
        ("the device or its driver", |m| m.device = None),
        ("the other revision (--base)", |m| {
            let (kernels, harnesses, series) = Default::default();
            m.base = Some(IdentityPart { kernels, harnesses, series });
        }),
        ("the choice of devices (--devices)", |m| m.devices = vec!["GPU-2".into()]),
    ];
    for (what, change) in changes {
        let (_keep, path) = folder();
        drop(Journal::begin(&path, &made(), start("a")).unwrap());
        let mut now = made();
        change(&mut now);
        let failure = Journal::resume(&path, &now, start("b")).unwrap_err();
        assert_eq!(failure.code, ExitCode::Usage);
        assert_eq!(
            failure.message,
            format!(
                "{path} cannot be resumed: {what} changed since; to start over, leave out --resume"
            )
        );
    }
}

#[test]
fn a_run_with_another_value_of_an_option_is_not_resumed_and_both_values_are_named() {
    type Change = (&'static str, fn(&mut RunIdentity));
    let changes: [Change; 9] = [
        ("--backend was `cuda` when it began, and is `emulator` now", |m| {
            m.backend = Backend::Emulator;
        }),
        ("--chip was nothing when it began, and is `l4,h100` now", |m| {
            m.chips = vec![Chip::L4, Chip::H100];
        }),
        ("--repeat was `3` when it began, and is `5` now", |m| m.repeat = Repeats::exactly(5)),
        ("--replay-mode was `none` when it began, and is `range` now", |m| {
            m.replay_mode = Some(Replay::Range);
        }),
        ("--nvtx was nothing when it began, and is `phase/*` now", |m| {
            m.nvtx = vec!["phase/*".parse().unwrap()];
        }),
        ("--range was `auto` when it began, and is `launch` now", |m| {
            m.counter_range = Some(CounterRange::Launch);
        }),
        ("--cache-control was `all` when it began, and is `none` now", |m| {
            m.cache_control = CacheControl::None;
        }),
        ("--app-replay-mode was `strict` when it began, and is `balanced` now", |m| {
            m.collection = Some(collection(&[("--app-replay-mode", "balanced")]));
        }),
        ("--section was nothing when it began, and is `PmSampling` now", |m| {
            m.collection = Some(collection(&[("--section", "PmSampling")]));
        }),
    ];
    for (difference, change) in changes {
        let (_keep, path) = folder();
        let before = RunIdentity { collection: Some(collection(&[])), ..made() };
        drop(Journal::begin(&path, &before, start("a")).unwrap());
        let mut now = before.clone();
        change(&mut now);
        let failure = Journal::resume(&path, &now, start("b")).unwrap_err();
        assert_eq!(failure.code, ExitCode::Usage);
        let message = failure.message;
        assert!(message.contains(&format!("cannot be resumed: {difference};")), "{message}");
        Journal::resume(&path, &before, start("c")).expect("with the same");
    }
    let (_keep, path) = folder();
    drop(Journal::begin(&path, &made(), start("a")).unwrap());
    let now = RunIdentity { collection: Some(collection(&[])), ..made() };
    Journal::resume(&path, &now, start("b")).expect("an older journal does not say");
}

/// The collection settings of a run, with `other` options than usual.
fn collection(other: &[(&str, &str)]) -> BTreeMap<String, String> {
    let usual = [("--section", ""), ("--app-replay-mode", "strict")];
    let all = usual.iter().chain(other);
    all.map(|(option, value)| ((*option).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn added_or_removed_counters_are_refused_with_the_remedy() {
    let counting = || RunIdentity { counters: vec!["a.sum".into()], ..made() };
    let resumed = |before: &RunIdentity, now: &RunIdentity| {
        let (_keep, path) = folder();
        drop(Journal::begin(&path, before, start("a")).unwrap());
        let message = Journal::resume(&path, now, start("b")).unwrap_err().message;
        assert!(message.ends_with("; to start over, leave out --resume"), "{message}");
        message
    };
    let came = resumed(&made(), &counting());
    assert!(
        came.contains("it began without hardware counters (denied, or not requested)"),
        "{came}"
    );
    assert!(came.contains("to continue without them, add --replay-mode none"), "{came}");
    let gone = resumed(&counting(), &made());
    assert!(gone.contains("it began with hardware counters, but now none are collected"), "{gone}");
    let others = resumed(&counting(), &RunIdentity { counters: vec!["b.sum".into()], ..made() });
    assert!(others.contains(": the counters changed since"), "{others}");
}

#[test]
fn a_run_is_resumed_with_the_baseline_that_it_began_with() {
    let with = |name: Option<&str>| RunIdentity { baseline: name.map(str::to_owned), ..made() };
    let resumed = |before: Option<&str>, now: Option<&str>| {
        let (_keep, path) = folder();
        drop(Journal::begin(&path, &with(before), start("a")).unwrap());
        Journal::resume(&path, &with(now), start("b")).map(|_| ()).map_err(|f| f.message)
    };
    assert_eq!(resumed(Some("main"), Some("main")), Ok(()));
    let lost = resumed(Some("main"), None).unwrap_err();
    let reason = "it began with baseline `main`, and now has no baseline; to continue, add \
                --baseline main; to start over, leave out --resume";
    assert!(lost.ends_with(reason), "{lost}");
    let came = resumed(None, Some("old")).unwrap_err();
    assert!(came.contains("it began with no baseline, and now has baseline `old`"), "{came}");
}

#[test]
fn a_run_is_not_resumed_with_fewer_checks() {
    let resumed = |before: &RunIdentity, now: &RunIdentity| {
        let (_keep, path) = folder();
        drop(Journal::begin(&path, before, start("a")).unwrap());
        Journal::resume(&path, now, start("b")).map(|_| ()).map_err(|f| f.message)
    };
    let verifies = |verify: &str| RunIdentity {
        checks: Some([("verify".to_owned(), verify.to_owned())].into()),
        ..made()
    };
    for (before, now) in [("true", "false"), ("false", "true")] {
        let refused = resumed(&verifies(before), &verifies(now)).unwrap_err();
        assert!(refused.contains("verify, check or estimate changed since"), "{refused}");
    }
    assert_eq!(resumed(&made(), &verifies("true")), Ok(()), "an older journal does not say");
    let asks = |texts: &[&str]| RunIdentity {
        thresholds: texts.iter().map(|&text| text.to_owned()).collect(),
        ..made()
    };
    assert_eq!(resumed(&asks(&["a"]), &asks(&["b", "a"])), Ok(()));
    let refused = resumed(&asks(&["a"]), &asks(&["b"])).unwrap_err();
    assert!(refused.contains("the thresholds changed since"), "{refused}");
    let defines = |metrics: &str| RunIdentity { metrics: Some(metrics.to_owned()), ..made() };
    let refused = resumed(&defines("a"), &defines("b")).unwrap_err();
    assert!(refused.contains("the metrics of the configuration file changed since"), "{refused}");
    assert_eq!(resumed(&made(), &defines("a")), Ok(()), "an older journal does not say");
    let strict = || RunIdentity { strict: true, ..made() };
    assert_eq!(resumed(&made(), &strict()), Ok(()));
    let refused = resumed(&strict(), &made()).unwrap_err();
    assert!(refused.contains("--strict changed since"), "{refused}");
}

#[test]
fn another_chip_does_not_continue_a_run() {
    let on = |chips: &[Chip]| RunIdentity { chips: chips.to_vec(), ..made() };
    let (_keep, path) = folder();
    drop(Journal::begin(&path, &on(&[Chip::A100]), start("a")).unwrap());
    Journal::resume(&path, &on(&[Chip::A100]), start("b")).unwrap();
    let refused = Journal::resume(&path, &on(&[Chip::L4]), start("c")).unwrap_err().message;
    assert!(refused.contains("--chip"), "{refused}");
}

#[test]
fn on_another_gpu_of_the_model_only_unfinished_series_are_measured_again() {
    let on = |uuid: &str| RunIdentity { device: Some(("H200".into(), uuid.into(), 1)), ..made() };
    let (_keep, path) = folder();
    let mut journal = Journal::begin(&path, &on("GPU-1"), start("a")).unwrap();
    let result = gpu_pass(64, 1 << 20, &[1.0, 2.0]);
    journal.pass(step(0, 0), &result).unwrap();
    journal.done(0).unwrap();
    journal.pass(Step { series: 1, ..step(0, 0) }, &result).unwrap();
    drop(journal);
    let (same, replayed) = Journal::resume(&path, &on("GPU-1"), start("b")).unwrap();
    assert_eq!((replayed.len(), replayed.last_start().unwrap().again.len()), (2, 0));
    drop(same);
    let (mut other, replayed) = Journal::resume(&path, &on("GPU-2"), start("c")).unwrap();
    assert_eq!(replayed.last_start().unwrap().again, [1]);
    assert_eq!(replayed.pass(step(0, 0)).unwrap().as_ref(), Some(&result));
    assert_eq!(replayed.pass(Step { series: 1, ..step(0, 0) }).unwrap(), None);
    other.pass(Step { series: 1, ..step(7, 0) }, &result).unwrap();
    drop(other);
    // And back again: its measurements on the second GPU do not count on the first.
    let (_, replayed) = Journal::resume(&path, &on("GPU-1"), start("d")).unwrap();
    assert_eq!((replayed.len(), replayed.done().len()), (1, 1));
}

#[test]
fn another_model_is_refused_and_both_are_named() {
    let (_keep, path) = folder();
    drop(Journal::begin(&path, &made(), start("a")).unwrap());
    let a100 = Some(("NVIDIA A100".into(), "GPU-1".into(), 13000));
    let now = RunIdentity { device: a100, ..made() };
    let refused = Journal::resume(&path, &now, start("b")).unwrap_err();
    assert_eq!(refused.code, ExitCode::NotPossible);
    let said = "it began on NVIDIA H200, and this is NVIDIA A100; resume it on NVIDIA H200";
    assert!(refused.message.contains(said), "{}", refused.message);
}

#[test]
fn lines_of_a_superseded_writer_are_ignored() {
    let (_keep, path) = folder();
    let mut lost = Journal::begin(&path, &made(), start("a")).unwrap();
    let result = gpu_pass(64, 1 << 20, &[1.0, 2.0]);
    lost.pass(step(0, 0), &result).unwrap();
    // The file system gave the lock of a machine away that was only cut off.
    lost.file.unlock().unwrap();
    let (mut next, _) = Journal::resume(&path, &made(), start("b")).unwrap();
    lost.pass(step(1, 0), &result).unwrap();
    next.pass(step(2, 0), &result).unwrap();
    drop((lost, next));
    let bytes = fs::read(path.join(FILE)).unwrap();
    let whole = parse(&bytes[..], &path, "0.1.0").unwrap().unwrap().length;
    assert_eq!(whole, bytes.len() as u64, "both appended whole lines");
    let (_, replayed) = Journal::resume(&path, &made(), start("c")).unwrap();
    let passes = [0, 1, 2].map(|at| replayed.pass(step(at, 0)).unwrap().is_some());
    assert_eq!((passes, replayed.dropped), ([true, false, true], 1));
}

#[test]
fn two_runs_never_write_one_journal() {
    let (_keep, path) = folder();
    let first = Journal::begin(&path, &made(), start("a")).unwrap();
    let second = Journal::resume(&path, &made(), start("b")).unwrap_err();
    assert_eq!(second.code, ExitCode::Busy);
    assert!(second.message.ends_with("is locked: another process is still working on this run"));
    drop(first);
    assert!(Journal::resume(&path, &made(), start("b")).is_ok());
    assert_eq!(
        Journal::begin(&path, &made(), start("a")).unwrap_err().code,
        ExitCode::OutputFailed
    );
}

/// Both readers refuse `bytes`: that of a run that is resumed, and that of slices to merge.
fn refusals(bytes: &[u8]) -> [String; 2] {
    let resumed = parse(bytes, Utf8Path::new("journal.jsonl"), "0.1.0").unwrap_err();
    let merged = rows_of(bytes).unwrap_err();
    [resumed, merged].map(|failure| {
        assert_eq!(failure.code, ExitCode::Configuration);
        failure.message
    })
}

#[test]
fn a_malformed_line_is_refused_at_its_byte() {
    let (bytes, ends) = written();
    let with = |end: usize, line: &[u8]| [&bytes[..end], line, &bytes[end..]].concat();
    let byte = ends[1] + 5;
    let broken = [&bytes[..byte], b"\0", &bytes[byte + 1..]].concat();
    for message in refusals(&broken) {
        let start = format!("journal.jsonl is not a journal: byte {byte}: ");
        assert!(message.starts_with(&start), "{message}");
    }
    for &end in &ends[1..] {
        let start = format!("journal.jsonl is not a journal: byte {end}: ");
        for message in refusals(&with(end, b"\x93\x00\xff\x1b\n")) {
            assert!(message.starts_with(&start), "{message}");
        }
        let kind = b"{\"by\":\"a\",\"line\":\"rumour\",\"series\":0}\n";
        for message in refusals(&with(end, kind)) {
            assert!(message.contains("unknown variant `rumour`"), "{message}");
        }
    }
}

#[test]
fn a_journal_that_does_not_begin_with_the_run_is_refused() {
    let (bytes, ends) = written();
    let twice = [&bytes[..ends[1]], &bytes].concat();
    for (bytes, byte) in [(&bytes[ends[0]..], 0), (&twice[..], ends[1])] {
        let start = format!("journal.jsonl is not a journal: byte {byte}: only the first line");
        for message in refusals(bytes) {
            assert!(message.starts_with(&start), "{message}");
        }
    }
}

#[test]
fn a_torn_line_before_the_last_is_refused() {
    let (bytes, ends) = written();
    for (from, to) in ends.iter().zip(&ends[1..]).take(ends.len() - 2) {
        // Its end is lost, with its line break and without.
        for cut in [*to - 1, *to] {
            let torn = [&bytes[..(from + to) / 2], &bytes[cut..]].concat();
            for message in refusals(&torn) {
                assert!(message.starts_with("journal.jsonl is not a journal: byte "), "{message}");
            }
        }
    }
}

#[test]
fn a_start_without_a_random_name_is_an_error() {
    assert!(!Start::now(BTreeMap::new()).unwrap().id.is_empty());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("uuid");
    for what in ["No such file", "it is empty"] {
        let failure = line::random_name(path.to_str().unwrap()).unwrap_err();
        assert_eq!(failure.code, ExitCode::NotPossible);
        assert!(failure.message.contains(what), "{}", failure.message);
        fs::write(&path, "\n").unwrap();
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse(&bytes[..], Utf8Path::new("j"), "0.1.0");
        let _ = rows_of(&bytes);
    }
}

/// A row of the `n`th configuration, with these durations of its launches.
fn row(n: u64, ns: f64) -> ConfigurationResult {
    fixture::finished(fixture::block(32 * (n + 1)), &[gpu_pass(32, 1 << 20, &[ns])])
}

fn id(kernel: &str) -> SeriesId {
    SeriesId::new("p", "t", kernel)
}

/// A journal with rows of two series, more than are parsed together; a second start, on another
/// device, measures the second series again. And what it holds.
fn with_rows() -> (Vec<u8>, BTreeMap<(usize, usize), ConfigurationResult>) {
    let (_keep, path) = folder();
    let mut expected = BTreeMap::new();
    let mut write = |journal: &mut Journal, at: (usize, usize), ns: f64, device: &str| {
        let mut row = row(at.1 as u64, ns);
        if at.1 == 7 {
            row.metrics.clear();
        }
        let step = Step { series: at.0, configuration: at.1, repeat: 0 };
        journal.pass(step, &gpu_pass(64, 1, &[ns])).unwrap();
        journal.row(at, &id(["a", "b"][at.0]), row.clone()).unwrap();
        expected.insert(at, ConfigurationResult { device: Some(device.into()), ..row });
    };
    let mut journal = Journal::begin(&path, &made(), start("a")).unwrap();
    (0..100).for_each(|n| write(&mut journal, (0, n), 1000.0 + n as f64, "GPU-1"));
    journal.done(0).unwrap();
    (0..30).for_each(|n| write(&mut journal, (1, n), 1500.0, "GPU-1"));
    drop(journal);
    let moved =
        RunIdentity { device: Some(("NVIDIA H200".into(), "GPU-2".into(), 13000)), ..made() };
    let mut journal = Journal::resume(&path, &moved, start("b")).unwrap().0;
    (0..50).for_each(|n| write(&mut journal, (1, n), 2000.0, "GPU-2"));
    journal.whole().unwrap();
    drop(journal);
    (fs::read(path.join(FILE)).unwrap(), expected)
}

fn rows_of(bytes: &[u8]) -> Result<Rows> {
    Rows::parse(bytes, "journal.jsonl".into(), &mut SharedRows::default())
}

#[test]
fn rows_read_in_bulk_equal_the_written_ones() {
    let (bytes, expected) = with_rows();
    let found = rows_of(&bytes).unwrap();
    assert_eq!(found.rows, expected);
    assert_eq!((found.starts.len(), found.dropped), (2, 0));
    assert!(found.whole.is_some());
}

/// The journal in `bytes` as versions without checksums wrote it.
fn without_checksums(bytes: &[u8]) -> String {
    let text = std::str::from_utf8(bytes).unwrap();
    let rest = |line: &str| format!("{{{}", line.split_once(',').unwrap().1);
    text.split_inclusive('\n').map(rest).collect()
}

#[test]
fn a_line_with_a_wrong_checksum_is_refused_with_its_number() {
    let (bytes, ends) = written();
    let text = String::from_utf8(bytes).unwrap();
    let edited = |from: &str, to: &str| {
        assert_eq!(text[ends[1]..ends[2]].matches(from).count(), 1, "{from}");
        [&text[..ends[1]], &text[ends[1]..ends[2]].replacen(from, to, 1), &text[ends[2]..]].concat()
    };
    let unsealed = without_checksums(&text.as_bytes()[ends[1]..ends[2]]);
    let unsealed = [&text[..ends[1]], &unsealed, &text[ends[2]..]].concat();
    for (changed, what) in [
        (edited("\"repeat\":0", "\"repeat\":1"), "differs from its checksum"),
        (edited("\"line\":\"pass\"", "\"line\" :\"pass\""), "differs from its checksum"),
        (unsealed, "has no checksum"),
    ] {
        for message in refusals(changed.as_bytes()) {
            let said = format!("journal.jsonl, line 3: the line {what}, so it was changed");
            assert!(message.starts_with(&said), "{message}");
        }
    }
}

#[test]
fn a_journal_without_checksums_is_resumed_and_continued_with_them() {
    let (bytes, _) = written();
    let (_keep, path) = folder();
    fs::write(path.join(FILE), without_checksums(&bytes)).unwrap();
    let (mut journal, replayed) = Journal::resume(&path, &made(), start("b")).unwrap();
    assert_eq!(replayed.len(), 3);
    journal.pass(step(5, 0), &gpu_pass(64, 1 << 20, &[1.0, 2.0])).unwrap();
    drop((journal, replayed));
    let (_, replayed) = Journal::resume(&path, &made(), start("c")).unwrap();
    assert_eq!(replayed.len(), 4);
    let text = fs::read_to_string(path.join(FILE)).unwrap();
    let edited =
        text.replacen("\"configuration\":5,\"repeat\":0", "\"configuration\":5,\"repeat\":2", 1);
    assert_ne!(edited, text);
    fs::write(path.join(FILE), edited).unwrap();
    let failure = Journal::resume(&path, &made(), start("d")).unwrap_err();
    assert!(failure.message.contains("line 8: the line differs"), "{}", failure.message);
}

#[test]
fn a_broken_row_is_refused_at_its_byte() {
    let (bytes, _) = with_rows();
    let text = without_checksums(&bytes);
    let third = text.match_indices("\"status\":").nth(2).unwrap().0;
    let mut broken = text.into_bytes();
    broken[third + 8] = b'?';
    let failure = rows_of(&broken).unwrap_err();
    assert_eq!(failure.code, ExitCode::Configuration);
    let place = format!("journal.jsonl is not a journal: byte {}: ", third + 8);
    assert!(failure.message.starts_with(&place), "{}", failure.message);
}

#[test]
fn rows_in_another_form_are_read_one_by_one() {
    let (bytes, _) = with_rows();
    let expected = rows_of(&bytes).unwrap().rows;
    // Spaces that the subcommand does not write.
    let text = without_checksums(&bytes).replace(",\"row\":{", ", \"row\": {");
    assert_eq!(rows_of(text.as_bytes()).unwrap().rows, expected);
}
