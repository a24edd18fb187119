//! Merging, on runs that are divided by hand.

use std::collections::BTreeMap;

use camino::Utf8PathBuf;
use gpuprof_analysis::fixture::{self, block, gpu_pass, h200};
use gpuprof_analysis::gate::applied_thresholds::ConfiguredThreshold;
use gpuprof_analysis::gate::applied_thresholds::{Counterpart, plan};
use gpuprof_analysis::gate::baseline::{Against, Scope};
use gpuprof_analysis::gate::budget::Budget;
use gpuprof_analysis::gate::conclusion::{self, MeasurementContext};
use gpuprof_analysis::gate::outcome::{Gate, RunOutcome};
use gpuprof_analysis::gate::run::judge;
use gpuprof_analysis::series;
use gpuprof_analysis::stats::repeats::Repeats;
use gpuprof_model::machine::{Backend, CacheControl, ClockControl};
use gpuprof_model::measurement::{DeviceRecord, Timer};
use gpuprof_model::metric::Catalogue;
use gpuprof_model::protocol::SeriesDescription;
use gpuprof_model::run::{ConfigurationResult, Provenance, Run, SCHEMA_VERSION};
use gpuprof_model::series::SeriesId;
use gpuprof_model::verdict::Layer;
use gpuprof_model::words::Word;
use gpuprof_model::{Axis, ExitCode, Space, Threshold};
use gpuprof_report::{Format, FormatSettings};
use proptest::prelude::*;

use super::*;
use crate::schedule::partition::{self, Method, Part, PartitionBy};
use crate::store::journal::{Rows, RunIdentity, Start};
use crate::store::manifest::{Manifest, OutlineSeries, OwnSeries, OwnThreshold, ranges};
use crate::store::verdict_document;

const THRESHOLDS: [&str; 3] =
    ["best duration <= 1 us", "every duration <= baseline + 5%", "every registers <= 8"];

/// A series with rows that one GPU measured, of which every fourth is slow.
fn measured(kernel: &str, rows: u64, at: u64) -> (SeriesDescription, Vec<ConfigurationResult>) {
    let blocks: Vec<String> = (1..=rows).map(|n| (32 * n).to_string()).collect();
    let axes = match rows {
        0 => Vec::new(),
        _ => vec![Axis::parse(&format!("block={}", blocks.join(","))).unwrap()],
    };
    let description = SeriesDescription {
        id: SeriesId::new("p", "t", kernel),
        source_package: "p".into(),
        source_folder: "p".into(),
        file: "p/src/lib.rs".into(),
        line: 7,
        path: format!("p::{kernel}"),
        docs: String::new(),
        space: Space { axes, ..Space::default() },
        old_ranges: Vec::new(),
        thresholds: Vec::new(),
        metrics: vec!["duration".into(), "registers".into()],
        check: None,
        device_function: true,
        declared: None,
        launches: Default::default(),
        declared_launches: Vec::new(),
    };
    let row = |n: u64| {
        let slow = if n.is_multiple_of(4) { 1.3 } else { 1.0 };
        let base = (1000.0 + 10.0 * n as f64 + at as f64) * slow;
        let pass = |p: u32| gpu_pass(32 * n, 1 << 20, &[base, base + f64::from(p)]);
        let passes: Vec<_> = (0..7).map(pass).collect();
        fixture::finished(block(32 * n), &passes)
    };
    (description, (1..=rows).map(row).collect())
}

fn whole() -> Vec<(SeriesDescription, Vec<ConfigurationResult>)> {
    vec![measured("a", 4, 0), measured("b", 1, 3), measured("c", 6, 5), measured("d", 0, 0)]
}

/// A stored baseline, a little faster.
fn baseline() -> Run {
    let all = whole().into_iter().zip(0..).map(|((description, _), _)| {
        let rows = description.space.axes.first().map_or(0, |axis| axis.values.len() as u64);
        let (_, rows) = measured(&description.id.kernel, rows, 0);
        series::assemble(&description, &description.metrics, &[], rows)
    });
    let provenance = Provenance { device: Some(h200()), ..of_start() };
    Run { provenance, ..fixture::run("before", all.collect()) }
}

fn of_start() -> Provenance {
    Provenance { backend: Backend::Cuda, started: "2026".into(), ..Provenance::default() }
}

/// The file that every process read.
fn input_sha256() -> BTreeMap<String, String> {
    [("p/graph.bin".to_owned(), "1f".to_owned())].into()
}

fn against() -> Against {
    Against {
        name: "before".into(),
        run: Ok(baseline()),
        across_devices: false,
        in_rounds: false,
        scope: Scope::whole(),
    }
}

fn written() -> Vec<ConfiguredThreshold> {
    THRESHOLDS
        .iter()
        .map(|text| ConfiguredThreshold::new(Threshold::parse(text).unwrap(), Layer::Attribute))
        .collect()
}

/// The whole, as one process measures it.
fn undivided() -> Run {
    let catalogue = Catalogue::built_in();
    let provenance = Provenance {
        device: Some(h200()),
        timer: Some(Timer::Events),
        input_sha256: input_sha256(),
        ..of_start()
    };
    let mut run = Run { provenance, ..fixture::run("id", Vec::new()) };
    run.schema_version = SCHEMA_VERSION;
    let (all, written, against) = (whole(), written(), against());
    let limits = |(description, rows): &(SeriesDescription, Vec<ConfigurationResult>)| {
        let counterpart = Counterpart::find(&description.id, Some(&against));
        (rows.len(), plan(written.iter().map(|own| &own.threshold), Some(&h200()), counterpart))
    };
    let limits: Vec<_> = all.iter().map(limits).collect();
    let counts = limits.iter().map(|(count, own)| (*count, own));
    let budget = Budget::planned(&catalogue, counts);
    for (description, rows) in all {
        let mut series = series::assemble(&description, &description.metrics, &[], rows);
        judge(&catalogue, &mut series, &written, &run, Some(&against), &budget);
        run.series.push(series);
    }
    run.comparison = Some(against.comparison(&run));
    let known =
        MeasurementContext { stored: true, budget: Some(&budget), ..MeasurementContext::default() };
    run.conclusion = conclusion::conclude(&run, &known);
    run
}

fn made() -> RunIdentity {
    RunIdentity {
        tool_version: "0.1.0".into(),
        kernels: BTreeMap::new(),
        harnesses: BTreeMap::new(),
        series: Vec::new(),
        base: None,
        baseline: None,
        device: None,
        devices: Vec::new(),
        chips: Vec::new(),
        backend: Backend::Cuda,
        cache_control: CacheControl::All,
        clock_control: ClockControl::None,
        replay_mode: None,
        counter_range: None,
        nvtx: Vec::new(),
        order: None,
        repeat: Repeats::exactly(7),
        quick: false,
        counters: Vec::new(),
        checks: None,
        thresholds: Vec::new(),
        metrics: None,
        strict: false,
        collection: None,
    }
}

/// The whole in `count` slices.
fn divided(method: Method, by: PartitionBy, count: u32) -> Vec<StoredSlice> {
    let all = whole();
    let part = |(description, rows): &(SeriesDescription, Vec<ConfigurationResult>)| Part {
        id: description.id.to_string(),
        keys: rows.iter().map(|row| row.configuration.to_string()).collect(),
        each: 1,
    };
    let slices = partition::Slices::new(
        &all.iter().map(part).collect::<Vec<_>>(),
        method,
        by,
        count as usize,
    );
    let outlined = |(at, (description, rows)): (usize, &(SeriesDescription, Vec<_>))| {
        let of: Vec<u32> = slices.of_series(at).iter().map(|&s| s as u32 + 1).collect();
        OutlineSeries {
            id: description.id.to_string(),
            configurations: rows.len(),
            keys: format!("keys of {}", description.id),
            thresholds: "thresholds".into(),
            slices: ranges(&of),
            cost: None,
        }
    };
    let plan = Outline {
        tool_version: "0.1.0".into(),
        method,
        unit: by,
        slices: count,
        settings: [("cache-control".to_owned(), "all".to_owned())].into(),
        harnesses: [("p::t".to_owned(), "0123456789abcdef".to_owned())].into(),
        base: None,
        scope: Scope { whole: true, ..Scope::default() },
        series: all.iter().enumerate().map(outlined).collect(),
    };
    (1..=count).map(|slice| stored(&plan, slice, &slices, &all)).collect()
}

fn threshold(text: &str) -> OwnThreshold {
    OwnThreshold { text: text.into(), origin: Layer::Attribute, place: None }
}

fn stored(
    plan: &Outline,
    slice: u32,
    slices: &partition::Slices,
    all: &[(SeriesDescription, Vec<ConfigurationResult>)],
) -> StoredSlice {
    let mut own = Vec::new();
    let mut rows = BTreeMap::new();
    for (position, (description, of)) in all.iter().enumerate() {
        let Some(positions) = slices.own(position, slice as usize - 1) else { continue };
        for (index, &at) in positions.iter().enumerate() {
            let row = ConfigurationResult { device: Some(h200().uuid), ..of[at].clone() };
            rows.insert((own.len(), index), row);
        }
        own.push(OwnSeries {
            position,
            description: description.clone(),
            columns: description.metrics.clone(),
            sections: Vec::new(),
            thresholds: THRESHOLDS.map(threshold).into(),
            configurations: positions.iter().map(|&at| of[at].configuration.clone()).collect(),
            positions,
        });
    }
    let start = Start { id: format!("s{slice}"), at: "2026".into(), ..Start::default() };
    let made = (!own.is_empty()).then(made);
    StoredSlice {
        folder: Utf8PathBuf::from(format!("slices/{slice}")),
        manifest: Manifest {
            schema_version: Manifest::VERSION,
            run: format!("run-{slice}"),
            plan_hash: plan.hash(),
            plan: plan.clone(),
            slice,
            made: made.clone(),
            own,
            provenance: of_start(),
            base: None,
            devices: vec![h200()],
            notes: Vec::new(),
            archive: None,
            start: start.clone(),
        },
        found: Rows {
            made,
            by: rows.keys().map(|&place| (place, 0)).collect(),
            rows,
            whole: Some(format!("2026-{slice}")),
            starts: vec![start],
            device: Some(h200()),
            input_sha256: input_sha256(),
            dropped: 0,
        },
        journal: format!("journal {slice}"),
        bytes: 7,
    }
}

/// The slices merged as the command does it.
fn merged(slices: Vec<StoredSlice>) -> Run {
    let union = Slices::choose(slices, Prefer::First).unwrap().join("id", false).unwrap();
    union.judge(&Catalogue::built_in(), Some(&against())).unwrap()
}

/// The output of a run for people and programs.
fn render(run: &Run) -> Vec<String> {
    let outcome = RunOutcome::decide(run, Gate::default(), []);
    let verdict = verdict_document(run, outcome.exit_code, true);
    let verdict = serde_json::to_string(&verdict).unwrap();
    let report = |format: &Format| {
        let mut out = Vec::new();
        let terms = FormatSettings { outcome: Some(outcome), ..FormatSettings::default() };
        format.report(terms).write(run, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    [verdict].into_iter().chain(Format::ALL.iter().map(|(format, ..)| report(format))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn merged_slices_equal_the_undivided_run(
        hash: bool, single: bool, count in 1..9_u32, order in any::<[u8; 9]>(),
    ) {
        let method = if hash { Method::Hash } else { Method::Slice };
        let by = if single { PartitionBy::Configuration } else { PartitionBy::Series };
        let slices = divided(method, by, count);
        let mut shuffled: Vec<_> = slices.into_iter().zip(order).collect();
        shuffled.sort_by_key(|(_, order)| *order);
        let merged = merged(shuffled.into_iter().map(|(slice, _)| slice).collect());
        prop_assert_eq!(render(&merged), render(&undivided()));
    }
}

#[test]
fn the_divided_run_has_judgements_and_fails() {
    let run = undivided();
    assert!(run.series.iter().take(3).all(|series| series.judgements.len() >= 3), "{run:#?}");
    let outcome = RunOutcome::decide(&run, Gate::default(), []);
    assert_eq!(outcome.exit_code, ExitCode::ThresholdFailed);
}

/// Two slices of the whole, and the second one changed.
fn two(change: impl FnOnce(&mut StoredSlice)) -> Vec<StoredSlice> {
    let mut slices = divided(Method::Slice, PartitionBy::Series, 2);
    change(&mut slices[1]);
    slices
}

/// How `slices`, of which two differ, are refused: with their folders.
fn refused(slices: &[StoredSlice]) -> String {
    let failure = agree::check(slices).unwrap_err();
    assert_eq!(failure.code, ExitCode::Usage);
    let told = ["slices/1", "slices/2"].iter().all(|folder| failure.message.contains(folder));
    assert!(told, "{}", failure.message);
    failure.message
}

#[test]
fn slices_measured_differently_are_refused_with_the_first_difference() {
    fn device(change: impl FnOnce(&mut DeviceRecord)) -> impl FnOnce(&mut StoredSlice) {
        |slice| change(&mut slice.manifest.devices[0])
    }
    let cases = [
        (two(device(|d| d.name = "A100".into())), "the model of the device: NVIDIA H200 and A100"),
        (two(device(|d| d.compute_capability = (9, 1))), "the compute capability: 9.0 and 9.1"),
        (two(device(|d| d.driver_version = 12080)), "the driver: 13000 and 12080"),
        (two(device(|d| d.uuid = "MIG-7".into())), "the device: a whole GPU and a MIG instance"),
        (two(device(|d| d.virtual_gpu = Some(true))), "no virtual GPU and a virtual GPU"),
        (two(|s| s.manifest.devices.clear()), "NVIDIA H200 and the emulated driver"),
    ];
    for (slices, said) in cases {
        let message = refused(&slices);
        assert!(message.contains(said) && message.contains("each model in an array"), "{message}");
    }
    type OfMade = (fn(&mut RunIdentity), &'static str);
    let of_made: [OfMade; 4] = [
        (|made| made.cache_control = CacheControl::None, "--cache-control: `all` and `none`"),
        (|made| made.clock_control = ClockControl::Base, "--clock-control: `none` and `base`"),
        (|made| made.repeat = Repeats::exactly(3), "--repeat: `7` and `3`"),
        (|made| made.backend = Backend::Emulator, "--backend: `cuda` and `emulator`"),
    ];
    for (change, said) in of_made {
        let message = refused(&two(|slice| change(slice.manifest.made.as_mut().unwrap())));
        assert!(message.contains(said) && message.contains("two runs"), "{message}");
    }
    type OfPlan = (fn(&mut Outline), &'static str);
    let plans: [OfPlan; 7] = [
        (|plan| plan.slices = 3, "the number of slices: `2` and `3`"),
        (|plan| plan.method = Method::Hash, "--partition: `slice` and `hash`"),
        (|plan| plan.series[0].cost = Some(12), "costs (--partition-costs): `none` and `12 µs`"),
        (|plan| plan.tool_version = "0.2.0".into(), "the version of cargo-gpuprof"),
        (|plan| drop(plan.settings.remove("cache-control")), "--cache-control: `all` and `none`"),
        (|plan| drop(plan.harnesses.insert("p::t".into(), "x".into())), "the harness p::t: "),
        (|plan| plan.series[2].keys.clear(), "the configurations of p::c"),
    ];
    for (change, said) in plans {
        let message = refused(&two(|slice| {
            change(&mut slice.manifest.plan);
            slice.manifest.plan_hash = slice.manifest.plan.hash();
        }));
        assert!(message.contains(said) && message.contains("one plan at a time"), "{message}");
    }
}

#[test]
fn only_conflicting_kernels_of_a_package_are_refused() {
    let mut slices = two(|slice| {
        let made = slice.manifest.made.as_mut().unwrap();
        made.kernels.insert("p".into(), "other".into());
    });
    agree::check(&slices).unwrap();
    let first = slices[0].manifest.made.as_mut().unwrap();
    first.kernels.insert("p".into(), "one".into());
    assert!(refused(&slices).contains("the kernels (their PTX) of package `p`"));
}

#[test]
fn a_journal_in_the_folder_of_another_slice_is_refused_with_the_folder() {
    let series = |of: &str| vec![(format!("p::t::{of}"), Vec::new(), "hash".to_owned())];
    let apart = |kernels: [&str; 2]| {
        let mut slices = two(|_| {});
        for ((slice, kernel), name) in slices.iter_mut().zip(kernels).zip(["a", "b"]) {
            let made = slice.manifest.made.as_mut().unwrap();
            made.kernels.insert("p".into(), kernel.into());
            made.series = series(name);
            slice.found.made = slice.manifest.made.clone();
        }
        slices
    };
    let said = |slices: &[StoredSlice]| {
        let failure = agree::journals(slices).unwrap_err();
        assert_eq!(failure.code, ExitCode::Usage);
        failure.message
    };
    for (kernels, what) in [
        (["one", "two"], "the kernels (their PTX)"),
        (["one", "one"], "the axes or the selection of configurations"),
    ] {
        let whole = apart(kernels);
        agree::journals(&whole).unwrap();
        let mut copied = whole.clone();
        copied[1].found = whole[0].found.clone();
        assert_eq!(
            said(&copied),
            format!(
                "slices/2: its journal.jsonl is not that of its manifest.json: they differ in \
                 {what}; put back the two files that were written together, or measure slice 2 \
                 again"
            )
        );
        let mut other = whole.clone();
        other[0].manifest = whole[1].manifest.clone();
        assert!(said(&other).starts_with("slices/1: "));
    }
    // Another GPU of the model may have gone on; what was never begun has no journal.
    let mut slices = apart(["one", "one"]);
    let device = |uuid: &str| Some(("H200".to_owned(), uuid.to_owned(), 13_000));
    slices[0].manifest.made.as_mut().unwrap().device = device("GPU-1");
    slices[0].found.made.as_mut().unwrap().device = device("GPU-2");
    slices[1].found = Rows::default();
    agree::journals(&slices).unwrap();
    slices[0].found.made = None;
    assert!(said(&slices).contains("they differ in what was measured"));
}

#[test]
fn slices_of_two_gpus_of_a_model_merge_and_rows_name_theirs() {
    let mut slices = divided(Method::Slice, PartitionBy::Configuration, 2);
    slices[1].manifest.devices[0].uuid = "GPU-2".into();
    slices[1].found.rows.values_mut().for_each(|row| row.device = Some("GPU-2".into()));
    let run = merged(slices);
    let uuids: Vec<&str> = run.provenance.devices.iter().map(|d| &*d.uuid).collect();
    assert_eq!(uuids, [&*h200().uuid, "GPU-2"]);
    let rows = run.series.iter().flat_map(|series| &series.configurations);
    assert!(rows.clone().all(|row| row.device.is_some()));
    assert!(rows.clone().any(|row| row.device.as_deref() == Some("GPU-2")));
}

#[test]
fn a_configuration_in_two_slices_is_refused() {
    let slices = two(|slice| slice.manifest.own.iter_mut().for_each(|own| own.position = 0));
    let failure = agree::disjoint(&slices).unwrap_err();
    assert_eq!(failure.code, ExitCode::Usage);
    assert!(failure.message.contains("both have p::"), "{}", failure.message);
}

#[test]
fn of_two_measurements_the_first_complete_one_is_kept() {
    let whole = two(|_| {}).remove(1);
    let again = StoredSlice {
        folder: "b/2".into(),
        journal: "other".into(),
        found: Rows { whole: Some("2027".into()), ..whole.found.clone() },
        manifest: Manifest { run: "run-2b".into(), ..whole.manifest.clone() },
        ..whole.clone()
    };
    let partial = StoredSlice {
        folder: "c/2".into(),
        journal: "torn".into(),
        found: Rows { whole: None, rows: BTreeMap::new(), ..whole.found.clone() },
        manifest: Manifest { run: "run-0".into(), ..whole.manifest.clone() },
        ..whole.clone()
    };
    let three = [whole, again, partial];
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
        let slices = || order.iter().map(|&at| three[at].clone()).collect::<Vec<_>>();
        let taken = |prefer| chosen::chosen(slices(), prefer).0.remove(0).manifest.run;
        assert_eq!([taken(Prefer::First), taken(Prefer::Newest)], ["run-2", "run-2b"], "{order:?}");
    }
    let copies = vec![three[0].clone(), three[0].clone()];
    let (one, told) = chosen::chosen(copies, Prefer::First);
    assert_eq!((one.len(), told.len()), (1, 0));
}

fn find_absent(slices: &[StoredSlice]) -> Absent {
    Absent::find(&slices[0].manifest.plan, slices)
}

#[test]
fn missing_slices_are_named_with_their_series() {
    let mut slices = divided(Method::Slice, PartitionBy::Series, 4);
    let plan = slices[0].manifest.plan.clone();
    slices[2].found.rows.pop_first();
    slices[2].found.whole = None;
    slices.remove(1);
    let absent = find_absent(&slices);
    assert_eq!((&*absent.missing, absent.partial.len()), (&[2][..], 1));
    assert_eq!(absent.again(), "2,3");
    let lines = absent.lines(&plan).join("\n");
    assert!(lines.contains("missing slices: 2 (of 4)\n  slice 2: p::"), "{lines}");
    assert!(lines.contains("partial slice 3: "), "{lines}");
    let why = absent.no_baseline("main").unwrap();
    assert!(
        why.starts_with(
            "the plan is not measured to its end (slices 2,3); measure them and merge again"
        ),
        "{why}"
    );
    assert_eq!(
        find_absent(&divided(Method::Slice, PartitionBy::Series, 4)).no_baseline("main"),
        None
    );
    assert!(find_absent(&divided(Method::Hash, PartitionBy::Series, 5)).is_none());
}
