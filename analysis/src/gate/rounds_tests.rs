use gpuprof_model::measurement::HardwareValue;
use gpuprof_model::threshold::Threshold;
use gpuprof_model::verdict::{Judgement, Layer, Verdict};

use super::*;
use crate::fixture::{self, finished, gpu_pass, h200, point, series};
use crate::gate::baseline::Scope;
use crate::gate::outcome::Gate;
use crate::gate::run::rejudge;
use crate::stats::random::SplitMix;

const N: u64 = 1 << 20;

/// A noise of ±0.4 % around 100 µs, longer by `percent`; `phase` makes the sides differ.
fn timed(
    block: u64,
    rounds: u32,
    phase: u32,
    percent: f64,
) -> gpuprof_model::run::ConfigurationResult {
    let mut random = SplitMix(u64::from(phase) + block);
    let mut wave = |_| (random.next() >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
    let passes: Vec<_> = (0..rounds)
        .map(|at| 100_000.0 * (1.0 + percent / 100.0) * (1.0 + 0.008 * wave(at)))
        .map(|median| gpu_pass(block, N, &[median - 32.0, median, median + 32.0]))
        .collect();
    finished(point(block, N), &passes)
}

fn run(series: Vec<SeriesResult>) -> Run {
    let mut run = fixture::run("r", series);
    run.provenance.device = Some(h200());
    run
}

fn sides(rounds: u32, changes: &[f64]) -> (Run, Against) {
    let side = |phase: u32, changed: bool| {
        let rows = changes.iter().zip(1..).map(|(percent, at)| {
            timed(32 * at, rounds, phase, if changed { *percent } else { 0.0 })
        });
        run(vec![series(rows.collect())])
    };
    let against = Against {
        name: "merge-base".into(),
        run: Ok(side(3, false)),
        across_devices: false,
        in_rounds: true,
        scope: Scope::whole(),
    };
    (side(0, true), against)
}

fn open(rounds: u32, changes: &[f64], texts: &[&str]) -> Vec<(String, u32)> {
    let (run, against) = sides(rounds, changes);
    let parse =
        |text: &&str| ConfiguredThreshold::new(Threshold::parse(text).unwrap(), Layer::CommandLine);
    let thresholds: Vec<ConfiguredThreshold> = texts.iter().map(parse).collect();
    let catalogue = Catalogue::built_in();
    let budget = Budget::new(changes.len(), 0);
    wanted(&catalogue, &run.series[0], &thresholds, &run, Some(&against), &budget)
        .into_iter()
        .map(|wanted| (wanted.configuration.0[0].1.to_string(), wanted.rounds))
        .collect()
}

fn judged(rounds: u32, changes: &[f64]) -> Run {
    let (run, against) = sides(rounds, changes);
    rejudge(&Catalogue::built_in(), run, &[], &against)
}

/// The judgement of the default gate on time.
fn on_time(run: &Run) -> Judgement {
    let mut all = run.series[0].judgements.iter();
    all.find(|judgement| judgement.threshold.text.contains("duration")).unwrap().clone()
}

#[test]
fn only_undecided_configurations_get_more_rounds() {
    let of = |rounds, changes: &[f64]| open(rounds, changes, &[]);
    let both = |rounds| [("32".to_owned(), rounds), ("64".to_owned(), rounds)];
    assert_eq!(of(3, &[0.0, 4.0]), both(15));
    assert_eq!(of(6, &[0.0, 4.0]), both(15));
    assert_eq!(of(15, &[0.0, 2.0]), [("64".to_owned(), 21)]);
    assert_eq!(of(16, &[0.0, 2.0]), [("64".to_owned(), 21)]);
    assert_eq!(of(15, &[0.0, 5.0]), []);
}

#[test]
fn a_tighter_threshold_keeps_a_configuration_open() {
    let tight = open(15, &[0.0, 1.0], &["warn every throughput >= baseline - 1%"]);
    assert_eq!(tight, [("64".to_owned(), 21)]);
    assert_eq!(open(15, &[0.0, 1.0], &["every registers <= baseline"]), []);
}

#[test]
fn rounds_decide_the_verdict() {
    let of = |rounds, changes: &[f64]| on_time(&judged(rounds, changes)).verdict;
    assert_eq!(of(15, &[0.0, 0.5]), Verdict::Pass);
    assert_eq!(of(15, &[0.0, -5.0]), Verdict::Improved);
    assert_eq!(of(15, &[0.0, 5.0]), Verdict::Fail);
    assert_eq!(of(15, &[0.0, 2.2]), Verdict::Inconclusive);
    assert_eq!(of(14, &[0.0, 0.0]), Verdict::Inconclusive);
}

#[test]
fn an_inconclusive_verdict_says_what_would_decide() {
    let reason = |rounds, changes: &[f64]| on_time(&judged(rounds, changes)).reason.unwrap();
    assert_eq!(reason(6, &[0.0]), "a decision needs 15 rounds; there are 6");
    let text = reason(15, &[2.2]);
    assert!(text.starts_with("15 rounds do not decide: the change is +"), "{text}");
    assert!(text.contains("% (95% interval +"), "{text}");
    assert!(text.contains(" rounds would decide (--max-repeat "), "{text}");
    let text = reason(80, &[2.0]);
    assert!(text.contains("the limit of +2.00% is too close to the change"), "{text}");
}

#[test]
fn rounds_need_no_confirmation_by_clock_cycles() {
    // SM cycles would deny it; rounds need no confirmation.
    let run = judged(15, &[5.0]);
    assert_eq!(Gate::default().exit_code(&run), gpuprof_model::ExitCode::ThresholdFailed);
}

#[test]
fn a_counter_of_one_process_asks_for_no_rounds() {
    let name = "dram__bytes_read.sum";
    let side = |value: f64| {
        let pass = |at: u32| {
            let mut pass = gpu_pass(64, N, &[100_000.0 + f64::from(at)]);
            pass.hardware.insert(name.into(), HardwareValue::Value(value));
            pass
        };
        let passes: Vec<_> = (0..15).map(pass).collect();
        run(vec![series(vec![finished(point(64, N), &passes)])])
    };
    let against = Against {
        name: "merge-base".into(),
        run: Ok(side(100.0)),
        across_devices: false,
        in_rounds: true,
        scope: Scope::whole(),
    };
    let threshold = Threshold::parse("every dram__bytes_read.sum <= baseline + 2%").unwrap();
    let written = [ConfiguredThreshold::new(threshold.clone(), Layer::CommandLine)];
    let catalogue = Catalogue::built_in();
    let (head, budget) = (side(105.0), Budget::new(1, 0));
    let series = &head.series[0];
    assert_eq!(wanted(&catalogue, series, &written, &head, Some(&against), &budget), []);
    let judged = |head: Run| {
        let judged = rejudge(&catalogue, head, std::slice::from_ref(&threshold), &against);
        let all = judged.series[0].judgements.iter();
        all.clone().find(|judgement| judgement.threshold.text.contains(name)).unwrap().clone()
    };
    for (value, verdict) in [(101.0, Verdict::Pass), (105.0, Verdict::Fail)] {
        let judgement = judged(side(value));
        assert_eq!((judgement.verdict, judgement.confidence), (verdict, None));
        let reason = judgement.reason.unwrap();
        assert!(reason.starts_with("one value a side: "), "{reason}");
    }
}
