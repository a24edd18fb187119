use gpuprof_model::comparison::Outcome;
use gpuprof_model::measurement::PassResult;
use gpuprof_model::metric::{Catalogue, Definition};
use proptest::prelude::*;

use super::*;
use crate::fixture::finished;
use crate::fixture::{emulated_pass, gpu_pass, point};
use crate::metrics::collect::{self, CollectContext};

const N: u64 = 1 << 20;

/// A configuration with these median durations of its processes.
fn timed(medians: &[f64]) -> ConfigurationResult {
    clocked(medians, 1.98e9)
}

fn clocked(medians: &[f64], hertz: f64) -> ConfigurationResult {
    finished(point(64, N), &passes(medians, hertz))
}

fn passes(medians: &[f64], hertz: f64) -> Vec<PassResult> {
    let pass = |&median: &f64| {
        let mut pass = gpu_pass(64, N, &[median - 64.0, median, median + 64.0]);
        pass.timing.as_mut().unwrap().sm_clock_hz = vec![Some(hertz); 3];
        pass
    };
    medians.iter().map(pass).collect()
}

fn outcome_of(metric: &str, before: &ConfigurationResult, after: &ConfigurationResult) -> Change {
    change(metric, Some(before), Some(after), (None, (None, None))).unwrap()
}

#[test]
fn a_slowdown_beyond_the_noise_is_worse_in_time_and_in_rate() {
    let before = timed(&[10_000.0, 10_020.0, 9_980.0, 10_010.0]);
    let after = timed(&[10_310.0, 10_290.0, 10_300.0, 10_320.0]);
    for metric in ["duration", "throughput"] {
        assert_eq!(outcome_of(metric, &before, &after).outcome, Outcome::Worse, "{metric}");
        assert_eq!(outcome_of(metric, &after, &before).outcome, Outcome::Better, "{metric}");
        assert_eq!(outcome_of(metric, &before, &before).outcome, Outcome::Same, "{metric}");
    }
    let told = outcome_of("duration", &before, &after);
    assert!((told.percent.unwrap() - 3.0).abs() < 0.1, "{told:?}");
    let confidence = told.confidence.unwrap();
    assert!(confidence.percent.low > 2.5 && confidence.percent.high < 3.5, "{told:?}");
    assert_eq!((confidence.baseline_processes, confidence.processes), (4, 4));
}

#[test]
fn a_difference_within_the_noise_is_the_same() {
    // As seen on an H200: processes from 66 to 84 µs, each steady within 1 %.
    let before = timed(&[66_000.0, 84_000.0, 71_000.0]);
    let after = timed(&[83_000.0, 70_000.0, 79_000.0]);
    let told = outcome_of("duration", &before, &after);
    assert_eq!(told.outcome, Outcome::Same, "{told:?}");
}

#[test]
fn a_significant_but_tiny_difference_is_the_same() {
    let before = timed(&[100_000.0, 100_001.0, 100_002.0, 100_003.0]);
    let after = timed(&[100_200.0, 100_201.0, 100_202.0, 100_203.0]);
    let told = outcome_of("duration", &before, &after);
    assert_eq!(told.outcome, Outcome::Same);
    assert!(told.confidence.unwrap().p_value < SIGNIFICANCE);
}

#[test]
fn fewer_than_three_processes_are_inconclusive() {
    let told = outcome_of("duration", &timed(&[10_000.0, 10_001.0]), &timed(&[20_000.0; 3]));
    assert_eq!(told.outcome, Outcome::Inconclusive);
    assert_eq!(
        told.reason.unwrap(),
        "a difference needs 3 processes a side; the baseline has 2, this run 3 (--repeat 7 for both)"
    );
}

#[test]
fn time_that_only_the_clock_explains_is_not_worse() {
    let before = clocked(&[10_000.0, 10_020.0, 9_980.0, 10_010.0], 1.98e9);
    let slower: Vec<f64> = [10_005.0, 10_015.0, 9_985.0, 10_000.0].map(|t| t * 1.1).into();
    let told = outcome_of("duration", &before, &clocked(&slower, 1.8e9));
    assert_eq!(told.outcome, Outcome::Inconclusive, "{told:?}");
    assert!(told.reason.unwrap().starts_with("SM cycles do not confirm it: they changed by"));
    let same_clock = outcome_of("duration", &before, &clocked(&slower, 1.98e9));
    assert_eq!(same_clock.outcome, Outcome::Worse);
}

/// For any form of the formula that names the duration, and any path by which it depends on it.
#[test]
fn a_lower_clock_alone_does_not_fail_a_user_metric() {
    let definition = |name: &str, formula: &str| Definition {
        name: name.into(),
        formula: formula.into(),
        unit: gpuprof_model::quantity::Unit::Ratio,
        direction: Direction::Lower,
        description: None,
    };
    let definitions = [definition("p_half", "(duration)/2"), definition("p_same", "2*p_half")];
    let catalogue = Catalogue::built_in().with_definitions(&definitions).unwrap();
    let names = ["p_half", "p_same"];
    let row = |medians: &[f64], hertz| {
        let asked = names.iter().filter_map(|name| catalogue.find(name));
        let terms = CollectContext::new(&catalogue).asking(asked);
        collect::finished(point(64, N), &passes(medians, hertz), &terms)
    };
    let before = row(&[10_000.0, 10_020.0, 9_980.0, 10_010.0], 1.98e9);
    let slower: Vec<f64> = [10_005.0, 10_015.0, 9_985.0, 10_000.0].map(|t| t * 1.1).into();
    for name in names {
        let told = outcome_of(name, &before, &row(&slower, 1.8e9));
        assert_eq!(told.outcome, Outcome::Inconclusive, "{told:?}");
        let same_clock = outcome_of(name, &before, &row(&slower, 1.98e9));
        assert_eq!(same_clock.outcome, Outcome::Worse);
    }
}

#[test]
fn exact_metrics_compare_exactly() {
    let row = |more: u64| {
        let mut pass = emulated_pass(64, N);
        *pass
            .counters
            .get_mut("smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum")
            .unwrap() += more;
        finished(point(64, N), &[pass])
    };
    let told = outcome_of("global_sectors", &row(0), &row(1));
    assert_eq!((told.outcome, told.confidence), (Outcome::Worse, None));
    assert_eq!(outcome_of("global_sectors", &row(1), &row(0)).outcome, Outcome::Better);
    assert_eq!(outcome_of("global_sectors", &row(1), &row(1)).outcome, Outcome::Same);
}

#[test]
fn a_metric_with_another_unit_or_definition_is_another_metric() {
    let mut before = finished(point(64, N), &[emulated_pass(64, N)]);
    let defined = before.metrics["load_sectors_per_request"].clone();
    before.metrics.insert("own", defined);
    let of_metric = |name: &str, redefine: &dyn Fn(&mut MetricResult)| {
        let mut after = before.clone();
        redefine(after.metrics.get_mut(name).unwrap());
        outcome_of(name, &before, &after)
    };
    let of = |redefine: &dyn Fn(&mut MetricResult)| of_metric("load_sectors_per_request", redefine);
    let unit = of(&|metric| metric.unit = gpuprof_model::quantity::Unit::Percent);
    assert_eq!(unit.outcome, Outcome::Incomparable);
    assert_eq!(
        unit.reason.unwrap(),
        "`load_sectors_per_request` has a new definition: in the baseline it is a plain number, \
         here %"
    );
    // If a file defines the metric, another direction makes it another metric.
    let turned = |metric: &mut MetricResult| metric.direction = Direction::Higher;
    let direction = of_metric("own", &turned);
    assert_eq!(direction.outcome, Outcome::Incomparable);
    assert_eq!(
        direction.reason.unwrap(),
        "`own` has a new definition: in the baseline it is a plain number of which lower is \
         better, here a plain number of which higher is better"
    );
    // So it does of a built-in metric: a file has set it on one of the sides.
    let direction = of(&|metric| {
        turned(metric);
        metric.direction_set = true;
    });
    assert_eq!(direction.outcome, Outcome::Incomparable);
    assert_eq!(
        direction.reason.unwrap(),
        "`load_sectors_per_request` has another direction: lower is better in the baseline, higher \
         is better here"
    );
    assert_eq!(of(&|_| ()).outcome, Outcome::Same);
}

#[test]
fn a_difference_without_a_better_direction_is_a_change() {
    let row = |blocks: u64| {
        let mut pass = emulated_pass(64, N);
        *pass.counters.get_mut("sm__ctas_launched.sum").unwrap() = blocks;
        finished(point(64, N), &[pass])
    };
    let told = outcome_of("sm__ctas_launched.sum", &row(8), &row(16));
    assert_eq!(told.outcome, Outcome::Changed);
    assert_eq!(told.reason.as_deref(), Some("neither direction is better"));
    assert_eq!(outcome_of("sm__ctas_launched.sum", &row(8), &row(8)).outcome, Outcome::Same);
    // Of a noisy metric only a sure difference is.
    let clocks = |medians: &[f64]| {
        let mut row = timed(medians);
        row.metrics.get_mut("duration").unwrap().direction = Direction::Neither;
        row
    };
    let [quiet, other, near] =
        [&[100.0, 101.0, 99.0], &[200.0, 201.0, 199.0], &[100.5, 101.0, 99.2]].map(|m| clocks(m));
    assert_eq!(outcome_of("duration", &quiet, &near).outcome, Outcome::Same);
    assert_eq!(outcome_of("duration", &other, &quiet).outcome, Outcome::Changed);
}

#[test]
fn a_value_on_one_side_only_is_missing_or_new() {
    let row = timed(&[1_000.0; 3]);
    assert_eq!(
        change("duration", Some(&row), None, (None, (None, None))).unwrap().outcome,
        Outcome::Missing
    );
    assert_eq!(
        change("duration", None, Some(&row), (None, (None, None))).unwrap().outcome,
        Outcome::New
    );
    let emulated = finished(point(64, N), &[emulated_pass(64, N)]);
    let lost = outcome_of("duration", &row, &emulated);
    assert_eq!(lost.outcome, Outcome::Missing);
    assert_eq!(lost.reason.as_deref(), Some("no time was estimated"));
    assert_eq!(change("dram_throughput", Some(&row), Some(&row), (None, (None, None))), None);
}

proptest! {
    #[test]
    fn a_run_never_differs_from_itself(
        medians in prop::collection::vec(1_000.0..2_000.0_f64, 1..8),
    ) {
        let row = timed(&medians);
        let told = outcome_of("duration", &row, &row);
        let expected =
            if medians.len() < MIN_PROCESSES { Outcome::Inconclusive } else { Outcome::Same };
        prop_assert_eq!(told.outcome, expected);
        prop_assert_eq!(told.percent, Some(0.0));
    }

    #[test]
    fn swapping_the_sides_swaps_worse_and_better(
        a in prop::collection::vec(1_000.0..1_100.0_f64, 3..7),
        b in prop::collection::vec(1_000.0..1_300.0_f64, 3..7),
    ) {
        let there = outcome_of("duration", &timed(&a), &timed(&b)).outcome;
        let back = outcome_of("duration", &timed(&b), &timed(&a)).outcome;
        let turned = match there {
            Outcome::Worse => Outcome::Better,
            Outcome::Better => Outcome::Worse,
            other => other,
        };
        // Percent refers to the other side there, so a change at the exact limit may be reported in
        // one direction only.
        prop_assert!(back == turned || [there, back].contains(&Outcome::Same), "{there} {back}");
    }
}

/// A document may have the values of processes and no statistics over all samples.
#[test]
fn missing_statistics_are_computed_from_the_processes() {
    let mut row = timed(&[10_000.0, 12_000.0, 11_000.0]);
    let duration = row.metrics.get_mut("duration").unwrap();
    duration.statistics = None;
    let of = |statistic| number(duration, statistic).unwrap();
    assert_eq!(of(Statistic::Median), 11_000.0);
    assert_eq!(of(Statistic::Min), 10_000.0 - 64.0);
    assert_eq!(of(Statistic::P95), 11_000.0 + 64.0);
    assert_eq!(of(Statistic::Mean), 11_000.0);
}
