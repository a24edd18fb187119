use std::collections::BTreeMap;

use gpuprof_model::ExitCode;
use gpuprof_model::measurement::{DeviceRecord, LaunchRecord};
use gpuprof_model::metric::{Catalogue, Perturbation};
use gpuprof_model::parts::{Part, PartResult};
use gpuprof_model::threshold::Threshold;
use gpuprof_model::verdict::Verdict;

use super::*;
use crate::fixture::{self, block, emulated, failed, gh100, gpu, h200, rows, series};
use crate::gate::outcome::Gate;

fn run(series: Vec<SeriesResult>) -> Run {
    let provenance = Provenance { device: Some(gh100()), ..Provenance::default() };
    Run { provenance, ..fixture::run("r", series) }
}

fn against(baseline: Run, scope: Scope) -> Against {
    Against {
        name: "main".into(),
        run: Ok(baseline),
        across_devices: false,
        in_rounds: false,
        scope,
    }
}

fn budget() -> Budget {
    Budget::up_to(6, 1, 0)
}

fn named(kernel: &str, values: &[f64]) -> SeriesResult {
    let mut named = series(rows("global_sectors", values));
    named.id.kernel = kernel.into();
    named.columns = vec!["global_sectors".into()];
    named
}

#[test]
fn vanished_and_new_series_are_reported_by_key() {
    let before = run(vec![named("a", &[1.0, 2.0]), named("gone", &[1.0])]);
    let after = run(vec![named("a", &[1.0]), named("fresh", &[1.0])]);
    let told = against(before.clone(), Scope::whole()).comparison(&after);
    assert_eq!(told.vanished, ["saxpy::a/block=1", "saxpy::gone"]);
    assert_eq!(told.appeared, ["saxpy::fresh"]);
    let part = against(before.clone(), Scope::default()).comparison(&after);
    assert_eq!(part.vanished, [] as [&str; 0]);
    let filtered = |filter: &str, exact: bool| {
        let filters = Filters { exact, ..Filters::of_texts([filter]) };
        let scope = Scope { filters, ..Scope::whole() };
        against(before.clone(), scope).comparison(&after).vanished
    };
    assert_eq!(filtered("kernels", false), ["saxpy::a/block=1", "saxpy::gone"]);
    assert_eq!(filtered("gone", false), ["saxpy::gone"]);
    assert_eq!(filtered("saxpy::kernels::gone", true), ["saxpy::gone"]);
    assert_eq!(filtered("gone", true), ["saxpy::gone"]);
    assert_eq!(filtered("els::gone", true), [] as [&str; 0]);
    assert_eq!(filtered("block=2", false), [] as [&str; 0], "a part of each series");
    let other_packages = BTreeSet::from(["saxpy".to_owned()]);
    let elsewhere = Scope { whole: true, other_packages, ..Scope::default() };
    assert_eq!(against(before, elsewhere).comparison(&after).vanished, [] as [&str; 0]);
}

#[test]
fn a_metric_with_another_formula_is_named() {
    let defined = |formula: &str| {
        let mut run = run(vec![named("a", &[1.0])]);
        run.provenance.formulas = [("my".to_owned(), formula.to_owned())].into();
        run
    };
    let told = |before: Run, after: &Run| against(before, Scope::whole()).comparison(after).weaker;
    assert_eq!(told(defined("a * 2"), &defined("a * 2")), [""; 0]);
    let other = "`my` is `a / 2`, and `a * 2` in the baseline";
    assert_eq!(told(defined("a * 2"), &defined("a / 2")), [other]);
    let older = run(vec![named("a", &[1.0])]);
    assert_eq!(told(older, &defined("a / 2")), [""; 0]);
}

#[test]
fn a_metric_without_any_value_has_vanished() {
    let before = run(vec![named("a", &[1.0])]);
    let mut after = before.clone();
    after.series[0].configurations[0].metrics.clear();
    let told = against(before, Scope::whole()).comparison(&after);
    assert_eq!(told.vanished, ["saxpy::a: global_sectors"]);
}

/// A default threshold needs values on both sides, so a vanished total would remove its own
/// threshold.
#[test]
fn a_lost_emulator_total_has_vanished_even_without_a_column() {
    let mut before = run(vec![series(vec![emulated(64, 1 << 20)])]);
    before.series[0].columns = vec!["load_sectors_per_request".into()];
    let mut after = before.clone();
    let lost = after.series[0].configurations[0].metrics.get_mut("global_bytes").unwrap();
    lost.value = Err("not recorded".into());
    let told = against(before, Scope::whole()).comparison(&after);
    let id = &after.series[0].id;
    assert_eq!(told.vanished, [format!("{id}: global_bytes")]);
}

#[test]
fn verification_lost_since_the_base_fails_under_strict() {
    let verified = |which: [bool; 2]| {
        let mut run = run(vec![named("a", &[1.0, 2.0])]);
        let rows = &mut run.series[0].configurations;
        rows.iter_mut().zip(which).for_each(|(row, is)| row.verified = is);
        run
    };
    let (both, one, none) =
        (verified([true, true]), verified([true, false]), verified([false, false]));
    let against = |before: &Run| against(before.clone(), Scope::whole());
    let told = |before: &Run, after: &Run| against(before).comparison(after).vanished;
    assert_eq!(told(&both, &none), ["saxpy::a: verification by its reference"]);
    let second = "saxpy::a/block=1: verification by its reference";
    assert_eq!(told(&both, &one), [second]);
    let part = Against { scope: Scope::default(), ..against(&both) };
    assert_eq!(part.comparison(&one).vanished, [second], "a part of each series");
    for (before, after) in [(&both, &both), (&none, &one), (&none, &none), (&one, &both)] {
        assert_eq!(told(before, after), [] as [&str; 0]);
    }
    let mut failed = none.clone();
    let reason = "too much shared memory".to_owned();
    failed.series[0].configurations[1].status = Status::Invalid { reason };
    assert_eq!(told(&both, &failed), ["saxpy::a: verification by its reference"]);
    let code = |strict| {
        let comparison = Some(against(&both).comparison(&none));
        Gate { strict, ..Gate::default() }.exit_code(&Run { comparison, ..none.clone() })
    };
    assert_eq!((code(false), code(true)), (ExitCode::Success, ExitCode::NotJudged));
}

#[test]
fn a_series_without_a_finished_configuration_is_comparable_on_any_device() {
    let before = run(vec![named("a", &[1.0])]);
    let baseline = against(before.clone(), Scope::whole());
    let ours = SeriesResult { configurations: vec![failed(0)], ..before.series[0].clone() };
    let unknown = Provenance { device: None, ..before.provenance };
    assert!(matches!(baseline.series(&ours, &unknown), Baseline::Held { .. }));
    let finished = &baseline.run.as_ref().expect("it is there").series[0];
    assert!(matches!(baseline.series(finished, &unknown), Baseline::Incomparable(_)));
}

#[test]
fn a_closure_measured_partly_on_one_side_is_incomparable() {
    let whole = run(vec![named("a", &[1.0]), named("b", &[1.0])]);
    let mut part = whole.clone();
    part.series[0].configurations[0].launches =
        vec![LaunchRecord { outside: true, ..LaunchRecord::default() }];
    let baseline = against(whole.clone(), Scope::whole());
    let of = |at: usize| baseline.series(&part.series[at], &part.provenance);
    let expected = "the whole closure in the baseline, a part of the closure here";
    assert!(matches!(of(0), Baseline::Incomparable(reason) if reason.ends_with(expected)));
    assert!(matches!(of(1), Baseline::Held { .. }));
    let same = against(part.clone(), Scope::whole());
    let of =
        |run: &Run| matches!(same.series(&run.series[0], &run.provenance), Baseline::Held { .. });
    assert!(of(&part) && !of(&whole));
}

#[test]
fn closures_with_other_ranges_are_incomparable_and_larger_omissions_named() {
    let outside = || LaunchRecord { outside: true, ..LaunchRecord::default() };
    let range = |name: &str| PartResult {
        part: Part::Range(name.to_owned()),
        metrics: BTreeMap::new(),
        estimate: None,
    };
    let part = |ranges: &[&str], left_out: usize| {
        let mut part = run(vec![named("a", &[1.0])]);
        part.provenance.nvtx = vec!["a".parse().unwrap(), "b".parse().unwrap()];
        let row = &mut part.series[0].configurations[0];
        row.launches = vec![outside(); left_out];
        row.parts = ranges.iter().map(|name| range(name)).collect();
        part
    };
    let before = part(&["a", "b"], 1);
    let baseline = against(before.clone(), Scope::whole());
    let of = |after: &Run| baseline.series(&after.series[0], &after.provenance);
    assert!(matches!(of(&part(&["b", "a"], 1)), Baseline::Held { .. }));
    let other = part(&["b"], 1);
    assert!(matches!(of(&other), Baseline::Incomparable(why) if why.contains("NVTX ranges of")));
    // Work may leave the range for good reasons.
    let more = part(&["a", "b"], 2);
    assert!(matches!(of(&more), Baseline::Held { .. }));
    let text = "launches outside of the measured range of saxpy::a: 1 in the baseline, 2 here";
    let comparison = baseline.comparison(&more);
    let told: Vec<String> = comparison.mismatches.iter().map(ToString::to_string).collect();
    assert_eq!(told, [text]);
}

#[test]
fn another_device_makes_every_series_incomparable() {
    let before = run(vec![named("a", &[1.0])]);
    // Emulated as the other one: that alone would be an obstacle.
    let device = DeviceRecord { emulated: true, ..h200() };
    let here = Provenance { device: Some(device), ..Provenance::default() };
    let baseline = against(before.clone(), Scope::whole());
    let told = baseline.series(&before.series[0], &here);
    assert!(matches!(told, Baseline::Incomparable(reason) if reason.starts_with("device: GH100")));
    assert_eq!(baseline.changes(&before.series[0], &here, &budget()), []);
    let across = Against { across_devices: true, ..baseline };
    assert!(matches!(across.series(&before.series[0], &here), Baseline::Held { .. }));
}

#[test]
fn changes_are_joined_by_name_not_by_position() {
    let before = run(vec![named("a", &[1.0, 2.0, 3.0])]);
    let mut after = before.series[0].clone();
    after.configurations.reverse();
    after.configurations.pop();
    let told =
        against(before.clone(), Scope::whole()).changes(&after, &before.provenance, &budget());
    let told: Vec<(String, Outcome)> =
        told.into_iter().map(|c| (c.configuration, c.outcome)).collect();
    let key = |at| block(at).to_string();
    assert_eq!(
        told,
        [(key(2), Outcome::Same), (key(1), Outcome::Same), (key(0), Outcome::Missing)]
    );
}

/// The texts of the default thresholds.
fn default_thresholds(
    catalogue: &Catalogue,
    series: &SeriesResult,
    theirs: Option<&SeriesResult>,
) -> Vec<String> {
    let all =
        crate::gate::default_thresholds::default_thresholds(catalogue, series, theirs).into_iter();
    all.map(|threshold| threshold.text).collect()
}

#[test]
fn the_default_gate_allows_two_percent_for_time_and_nothing_for_counts() {
    let raw = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
    let columns = ["duration", "throughput", "global_sectors", raw, "theoretical_occupancy"];
    let of = |rows| SeriesResult { columns: columns.map(str::to_owned).to_vec(), ..series(rows) };
    assert_eq!(
        default_thresholds(&Catalogue::built_in(), &of(vec![gpu(64, 1 << 20, &[100.0])]), None),
        [
            "every duration <= baseline + 2%",
            "every global_sectors <= baseline",
            "every theoretical_occupancy >= baseline",
        ]
    );
    // Patched counters that patching may have moved in one row are no gate.
    let mut two = [64, 128].map(|block| gpu(block, 1 << 20, &[100.0]));
    let sectors = two[1].metrics.get_mut("global_sectors").unwrap();
    sectors.perturbation = Some(Perturbation::Divergence);
    let moved = default_thresholds(&Catalogue::built_in(), &of(two.into()), None);
    assert!(!moved.contains(&"every global_sectors <= baseline".to_owned()), "{moved:?}");
    // L1's own counters repeat on the emulator only.
    let emulated = of(vec![emulated(64, 1 << 20)]);
    assert!(
        default_thresholds(&Catalogue::built_in(), &emulated, None)
            .contains(&format!("every {raw} <= baseline"))
    );
    for threshold in
        crate::gate::default_thresholds::default_thresholds(&Catalogue::built_in(), &emulated, None)
    {
        assert_eq!(Threshold::parse(&threshold.text).as_ref(), Ok(&threshold));
        threshold.check(&Catalogue::built_in().find(&threshold.metric).unwrap()).unwrap();
    }
}

#[test]
fn doubled_loads_fail_whatever_columns_are_shown() {
    let of = |times: u64| {
        let mut pass = fixture::emulated_pass(64, 1 << 20);
        for name in [
            "smsp__sass_inst_executed_op_global_ld.sum",
            "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum",
            "smsp__sass_data_bytes_mem_global_op_ld.sum",
        ] {
            *pass.counters.get_mut(name).unwrap() *= times;
        }
        let mut of = series(vec![fixture::finished(fixture::point(64, 1 << 20), &[pass])]);
        of.columns = vec!["load_sectors_per_request".into(), "store_sectors_per_request".into()];
        of
    };
    let baseline = against(run(vec![of(1)]), Scope::whole());
    let judged = |times: u64| {
        let mut ours = run(vec![of(times)]);
        let mut series = ours.series.remove(0);
        let catalogue = Catalogue::built_in();
        crate::gate::run::judge(&catalogue, &mut series, &[], &ours, Some(&baseline), &budget());
        series
    };
    let failed = |series: &SeriesResult| -> Vec<String> {
        let failed = series.judgements.iter().filter(|j| j.verdict == gpuprof_model::Verdict::Fail);
        failed.map(|judgement| judgement.threshold.text.clone()).collect()
    };
    let twice = judged(2);
    assert_eq!(
        failed(&twice),
        ["every global_sectors <= baseline", "every global_bytes <= baseline"]
    );
    // The changes for the worse are reported, though no column shows them.
    let worse = twice.changes.iter().filter(|change| change.outcome == Outcome::Worse);
    let worse: Vec<&str> = worse.map(|change| change.metric.as_str()).collect();
    assert_eq!(worse, ["global_sectors", "global_bytes"]);
    assert_eq!(failed(&judged(1)), [] as [&str; 0]);
}

#[test]
fn the_default_gate_covers_columns_removed_from_the_annotation() {
    let mut theirs = series(vec![emulated(64, 1 << 20)]);
    theirs.columns = vec!["duration".into(), "global_sectors".into()];
    let mut ours = theirs.clone();
    // The emulator never had a duration, so none can get worse.
    let totals = [
        "every global_sectors <= baseline",
        "every ptx_instructions <= baseline",
        "every global_bytes <= baseline",
    ];
    assert_eq!(default_thresholds(&Catalogue::built_in(), &ours, Some(&theirs)), totals);
    ours.columns = vec!["duration".into()];
    assert_eq!(default_thresholds(&Catalogue::built_in(), &ours, Some(&theirs)), totals);
    // A metric without a value in any configuration of the run has vanished.
    for row in &mut ours.configurations {
        row.metrics.clear();
    }
    assert_eq!(default_thresholds(&Catalogue::built_in(), &ours, Some(&theirs)), [] as [&str; 0]);
    // Shared memory is held where the baseline uses it, not where a kernel begins to.
    let mut tiled = theirs.clone();
    for row in &mut tiled.configurations {
        row.metrics.get_mut("shared_wavefronts").unwrap().value = Ok(64.0);
    }
    let of = |ours: &SeriesResult, theirs: &SeriesResult| {
        default_thresholds(&Catalogue::built_in(), ours, Some(theirs))
            .contains(&"every shared_wavefronts <= baseline".to_owned())
    };
    assert_eq!((of(&tiled, &theirs), of(&theirs, &tiled)), (false, true));
    let timed = SeriesResult {
        columns: theirs.columns.clone(),
        ..series(vec![gpu(64, 1 << 20, &[100.0])])
    };
    let of_gpu = default_thresholds(&Catalogue::built_in(), &ours, Some(&timed));
    assert_eq!(of_gpu, ["every duration <= baseline + 2%"]);
}

#[test]
fn two_long_runs_are_joined_in_linear_time() {
    let join = |configurations: usize| {
        let long = || run(vec![named("a", &vec![1.0; configurations])]);
        let against = against(long(), Scope::whole());
        let threshold = Threshold::parse("every global_sectors <= baseline").unwrap();
        let start = std::time::Instant::now();
        let run = crate::gate::run::rejudge(&Catalogue::built_in(), long(), &[threshold], &against);
        let took = start.elapsed();
        assert_eq!(run.series[0].judgements[0].verdict, Verdict::Pass);
        assert_eq!(run.series[0].changes.len(), configurations);
        took.as_secs_f64()
    };
    // Without an index it takes 64 times as long. Other processes may disturb an attempt.
    assert!((0..5).any(|_| join(8_000) / join(1_000) < 24.0));
}
