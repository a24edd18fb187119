use gpuprof_model::advice::{Certainty, Gain};
use gpuprof_model::code::{AccessCost, CostlyLine};
use gpuprof_model::measurement::OccupancyLimiter;
use gpuprof_model::metric::{Class, Condition, Formula, Perturbation};

use super::rule::{Estimate, EstimateScope, Expectation, Input};
use super::template::Template;
use super::*;
use crate::fixture::{emulated, finished, gpu_pass, h200, measured, point, series};

/// A row of `block` and `n` with these medians of its processes.
fn timed(block: u64, n: u64, medians: &[f64]) -> ConfigurationResult {
    let passes: Vec<_> =
        medians.iter().map(|&m| gpu_pass(block, n, &[m - 32.0, m, m + 32.0])).collect();
    finished(point(block, n), &passes)
}

fn set(row: &mut ConfigurationResult, metric: &str, value: f64) {
    let mut result = measured(0, &[(metric, value)]).metrics.get(metric).unwrap().clone();
    result.class = Class::Exact;
    row.metrics.insert(metric, result);
}

fn advised(rows: Vec<ConfigurationResult>, rules: &[Rule]) -> Vec<Advice> {
    let (catalogue, device) = (Catalogue::built_in(), h200());
    let terms = AdviceContext { rules, catalogue: &catalogue, device: Some(&device) };
    of_series(&series(rows), &terms)
}

fn messages(pieces: &[Advice]) -> Vec<(&str, &str)> {
    pieces.iter().map(|piece| (&*piece.rule, &*piece.message)).collect()
}

const N: u64 = 1 << 20;

#[test]
fn a_measured_gain_has_its_interval_and_comes_first() {
    let rows = vec![
        timed(64, N, &[20_000.0, 20_100.0, 19_950.0, 20_050.0, 20_020.0]),
        timed(256, N, &[10_000.0, 10_100.0, 9_950.0, 10_050.0, 10_020.0]),
    ];
    let pieces = advised(rows, &[]);
    let [piece] = &pieces[..] else { panic!("{pieces:?}") };
    let begins = "block=256 is 2.00× as fast as block=64, measured (1.9";
    assert!(piece.message.starts_with(begins), "{}", piece.message);
    assert!(piece.message.ends_with("5 processes each)"), "{}", piece.message);
    let Some(Gain::Measured { factor, interval: Some(interval) }) = piece.gain else {
        panic!("{piece:?}")
    };
    assert!(interval.low < factor && factor < interval.high);
    assert_eq!(piece.configurations, ["block=256,n=1048576", "block=64,n=1048576"]);
}

#[test]
fn gains_within_the_noise_are_not_reported() {
    let noisy = vec![
        timed(64, N, &[20_000.0, 9_000.0, 15_000.0, 11_000.0, 18_000.0]),
        timed(256, N, &[10_000.0, 17_100.0, 9_950.0, 19_050.0, 10_020.0]),
    ];
    assert_eq!(advised(noisy, &[]), []);
    let same = [10_000.0, 10_010.0, 9_990.0, 10_005.0, 9_995.0];
    let pieces = advised(vec![timed(64, N, &same), timed(256, N, &same)], &[]);
    let [(rule, message)] = messages(&pieces)[..] else { panic!("{pieces:?}") };
    assert_eq!(rule, "no-effect");
    assert!(message.starts_with("block does not matter for the time here: with 95%"), "{message}");
    // One process a side proves nothing.
    assert_eq!(advised(vec![timed(64, N, &[1e4]), timed(256, N, &[1e4])], &[]), []);
}

#[test]
fn an_axis_that_changes_the_work_gives_no_gain() {
    let rows = vec![
        timed(64, N, &[10_000.0, 10_100.0, 9_950.0, 10_050.0]),
        timed(64, 4 * N, &[40_000.0, 40_100.0, 39_950.0, 40_050.0]),
    ];
    assert_eq!(advised(rows, &[]), []);
}

#[test]
fn fewer_counts_alone_give_no_gain() {
    let pieces = advised(vec![emulated(32, N), emulated(1024, N)], &[]);
    assert_eq!(pieces, []);
    // Without times a rule is asked about every row, and its neighbours deny nothing.
    let mut rows = vec![emulated(64, N), emulated(256, N)];
    set(&mut rows[0], "registers", 16.0);
    set(&mut rows[1], "registers", 18.0);
    let pieces = advised(rows, &[more_of_x()]);
    assert_eq!(pieces[0].configurations.len(), 2);
}

#[test]
fn lower_occupancy_is_reported_unless_its_rows_are_faster() {
    let rows = |faster: f64| {
        let mut rows = vec![timed(256, N, &[9_000.0; 3]), timed(512, N, &[9_000.0; 3])];
        rows.push(timed(1024, N, &[9_000.0 * faster; 3]));
        set(&mut rows[2], "theoretical_occupancy", 50.0);
        rows[2].occupancy_limiter = Some(OccupancyLimiter::Registers);
        rows
    };
    let told = |faster: f64| {
        let pieces = advised(rows(faster), &[]);
        pieces.into_iter().find(|p| p.rule == "occupancy-falls").map(|piece| piece.message)
    };
    let expected =
        "beyond block=512 theoretical occupancy falls from 100% to 50%: limited by registers";
    assert_eq!(told(1.2).unwrap(), expected);
    assert_eq!(told(0.8), None);
}

#[test]
fn tail_cost_is_measured_against_a_grid_of_whole_waves() {
    let row = |n: u64, waves: f64, ns: f64| {
        let mut row = timed(64, n, &[ns, ns + 10.0, ns - 10.0, ns + 5.0]);
        set(&mut row, "waves", waves);
        row
    };
    let tail = |ns: f64| {
        let pieces = advised(vec![row(N, 2.0, 10_000.0), row(N * 5 / 4, 2.5, ns)], &[]);
        pieces.into_iter().find(|piece| piece.rule == "tail-measured")
    };
    // 1.25 times the work in 1.4 times the time: 11% of it, of 17% that are idle.
    let piece = tail(14_000.0).unwrap();
    let begins = "the tail wave costs 11% at n=1310720: 2.50 waves leave 17% of the device idle";
    assert!(piece.message.starts_with(begins), "{}", piece.message);
    // A larger loss has another reason, and a smaller grid that is slower proves nothing.
    assert_eq!(tail(16_000.0), None);
    assert_eq!(tail(12_000.0), None);
}

#[test]
fn limiter_change_is_reported_if_different_units_lead() {
    let row = |n: u64, l2: f64, sm: f64, issue: f64| {
        let mut row = timed(64, n, &[10_000.0; 3]);
        set(&mut row, "lts__throughput.avg.pct_of_peak_sustained_elapsed", l2);
        set(&mut row, "sm__throughput.avg.pct_of_peak_sustained_elapsed", sm);
        set(&mut row, "smsp__issue_active.avg.pct_of_peak_sustained_active", issue);
        row
    };
    let told = |second: ConfigurationResult| {
        let pieces = advised(vec![row(N, 70.0, 40.0, 40.0), second], &[]);
        pieces.into_iter().find(|p| p.rule == "limiter-changes").map(|piece| piece.message)
    };
    let expected = "the limiter changes from L2 (70% of its peak) to issue slots (64%) between \
                    n=1048576 and n=4194304";
    assert_eq!(told(row(4 * N, 40.0, 64.0, 63.0)).unwrap(), expected);
    assert!(told(row(4 * N, 40.0, 64.0, 30.0)).unwrap().contains("to SM (64%)"));
    assert_eq!(told(row(4 * N, 60.0, 64.0, 63.0)), None);
}

/// A rule that asks for more of a metric `x`.
fn more_of_x() -> Rule {
    let input =
        |name: &str, metric: &str| Input { name: name.into(), metrics: vec![metric.into()] };
    Rule {
        id: "more".into(),
        name: "more".into(),
        written_in: "more.toml:1".into(),
        inputs: vec![input("x", "registers")],
        lets: vec![("half".into(), Formula::parse("x / 2").unwrap())],
        when: Condition::parse("half < 10").unwrap(),
        unless: None,
        message: Template::parse("{half:0}").unwrap(),
        remedy: None,
        remedy_in: Vec::new(),
        estimates: vec![Estimate { of: EstimateScope::Use, percent: Formula::parse("x").unwrap() }],
        certainty: Certainty::Likely,
        relieves: Vec::new(),
        tried_by: Some(Expectation { name: "half".into(), higher: true }),
        instead_of: Vec::new(),
    }
}

#[test]
fn a_finding_names_its_most_expensive_line() {
    let mut row = timed(64, N, &[10_000.0; 3]);
    let line = |cost, line: &str| CostlyLine {
        cost,
        line: line.into(),
        inlined_at: None,
        other_calls: 0,
        before: None,
        amount: 3,
        total: 4,
        emulated: false,
    };
    let all = line(AccessCost::GlobalLoadSectors, "src/lib.rs:7");
    let avoidable = line(AccessCost::GlobalLoadExcess, "src/lib.rs:9");
    row.costly = vec![all, avoidable, line(AccessCost::SharedLoadConflicts, "src/lib.rs:11")];
    set(&mut row, "load_sectors_per_request", 6.0);
    let of_loads = |name: &str| {
        let mut rule = more_of_x();
        rule.inputs[0].metrics = vec![name.to_owned()];
        let pieces = advised(vec![row.clone()], &[rule]);
        pieces.into_iter().find(|piece| piece.rule == "more").unwrap().message
    };
    assert_eq!(of_loads("load_sectors_per_request"), "3; most by src/lib.rs:9");
    // A metric that only estimates the gain says nothing of the line.
    let mut rule = more_of_x();
    let estimating = Input { name: "y".into(), metrics: vec!["load_sectors_per_request".into()] };
    rule.inputs.push(estimating);
    let mut on_registers = row.clone();
    set(&mut on_registers, "registers", 6.0);
    assert_eq!(messages(&advised(vec![on_registers], &[rule])).last(), Some(&("more", "3")));
    let mut row = row.clone();
    set(&mut row, "registers", 6.0);
    assert_eq!(messages(&advised(vec![row], &[more_of_x()])).last(), Some(&("more", "3")));
}

#[test]
fn advice_is_dropped_if_another_row_followed_it_and_got_slower() {
    let best = timed(64, N, &[10_000.0; 3]);
    let mut other = timed(256, N, &[20_000.0; 3]);
    let speaks = |rows: Vec<ConfigurationResult>| {
        advised(rows, &[more_of_x()]).iter().any(|piece| piece.rule == "more")
    };
    // Both have 16 registers: no row follows the advice.
    assert!(speaks(vec![best.clone(), other.clone()]));
    set(&mut other, "registers", 32.0);
    assert!(!speaks(vec![best.clone(), other.clone()]));
    // It does other work: its time says nothing.
    let mut elsewhere = timed(256, 4 * N, &[80_000.0; 3]);
    set(&mut elsewhere, "registers", 32.0);
    assert!(speaks(vec![best, elsewhere]));
}

#[test]
fn advice_from_a_counter_that_patching_may_have_moved_is_not_certain() {
    let rule = Rule { certainty: Certainty::Certain, ..more_of_x() };
    let certainty = |perturbation: Option<Perturbation>| {
        let mut row = timed(64, N, &[10_000.0; 3]);
        row.metrics.get_mut("registers").unwrap().perturbation = perturbation;
        let pieces = advised(vec![row], std::slice::from_ref(&rule));
        pieces.iter().find(|piece| piece.rule == "more").unwrap().certainty
    };
    assert_eq!(certainty(None), Certainty::Certain);
    assert_eq!(certainty(Some(Perturbation::Divergence)), Certainty::Likely);
}

/// Amounts of work are looked up: a search for each among all took minutes for as many.
#[test]
fn time_grows_linearly_with_the_number_of_configurations() {
    let row = |at: u64| {
        let mut row = measured(64, &[("bytes", at as f64), ("duration", 1000.0)]);
        row.configuration = point(64, at);
        row
    };
    let rows = || (0..20_000).map(row).collect::<Vec<_>>();
    let series = series(rows());
    let neighbours = super::neighbours::Neighbours::new(&series);
    assert_eq!(neighbours.groups.len(), 20_000);
    assert_eq!(neighbours.of_same_work(19_999).count(), 0);
    assert_eq!(advised(rows(), &[]), []);
}
