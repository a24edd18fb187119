use super::*;
use crate::fixture::{self, finished, gpu_pass, point, series};
use crate::gate::applied_thresholds::{Counterpart, plan};
use crate::gate::default_time_limit::default_gate;
use crate::gate::judge::{Baseline, JudgeContext, judge};
use crate::stats::random::SplitMix;
use gpuprof_model::verdict::{Layer, Verdict};

/// A run of one configuration in which so many processes scatter by `percent` about a time.
fn run(processes: usize, (time, percent): (f64, f64), random: &mut SplitMix) -> Run {
    let medians = (0..processes).map(|_| time * (1.0 + percent / 100.0 * random.normal()));
    let passes: Vec<_> = medians.map(|m| gpu_pass(64, 1 << 20, &[m])).collect();
    fixture::run("r", vec![series(vec![finished(point(64, 1 << 20), &passes)])])
}

/// The limits of a series of the baseline with the thresholds `own`.
fn limits(own: &[Threshold]) -> Vec<Threshold> {
    plan(own, None, Counterpart::Known)
}

fn predict(base: &Run, repeat: u32, configurations: usize) -> Option<Ability> {
    let budget = Budget::up_to(29, configurations, 0);
    let planned = [(&base.series[0].id, &[point(64, 1 << 20)][..], &limits(&[])[..])];
    ability(&Catalogue::built_in(), planned, base, &budget, repeat)
}

/// The forecast and the judge of a run agree, on average over baselines.
#[test]
fn the_forecast_agrees_with_the_judge() {
    let mut random = SplitMix(1);
    let catalogue = Catalogue::built_in();
    let gate = default_gate();
    for (processes, percent) in [(7, 1.5), (7, 0.8), (10, 2.0)] {
        let budget = Budget::up_to(29, 1, 0);
        let (mut forecast, mut passed, mut caught) = (0.0, 0.0, 0.0);
        let draws = 300;
        for _ in 0..draws {
            let base = run(processes, (100_000.0, percent), &mut random);
            let found = predict(&base, u32::try_from(processes).unwrap(), 1).unwrap();
            forecast += found.decides;
            let mut verdict = |time| {
                let head = run(processes, (time, percent), &mut random);
                let rows = |run: &Run| run.series[0].configurations.clone();
                let terms = JudgeContext {
                    catalogue: &catalogue,
                    device: None,
                    budget: &budget,
                    first_look: None,
                };
                let rows = [&head, &base].map(rows);
                let [head, configurations] = rows.each_ref().map(Vec::as_slice);
                let base = Baseline::Held { configurations, whole: true, in_rounds: false };
                judge(terms, &gate, Layer::Default, head, &base).verdict
            };
            passed += f64::from(u8::from(verdict(100_000.0) == Verdict::Pass));
            let slower = 1.0 + found.catches_percent.unwrap() / 100.0;
            caught += f64::from(u8::from(verdict(100_000.0 * slower) == Verdict::Fail));
        }
        let [forecast, passed, caught] =
            [forecast, passed, caught].map(|sum| sum / f64::from(draws));
        assert!((forecast - passed).abs() < 0.14, "{processes} at {percent}: {forecast} {passed}");
        assert!(caught > 0.82, "{processes} at {percent}: caught {caught}");
    }
}

#[test]
fn a_baseline_of_two_processes_decides_nothing() {
    let mut random = SplitMix(2);
    let found = predict(&run(2, (100_000.0, 1.0), &mut random), 7, 1).unwrap();
    assert_eq!((found.questions, found.hopeless, found.processes), (1, 1, 2));
    assert_eq!((found.decides, found.catches_percent), (0.0, None));
    assert!(found.needed.is_some_and(|needed| needed > 2), "{found:?}");
    assert_eq!(predict(&run(1, (100_000.0, 1.0), &mut random), 7, 1).unwrap().needed, None);
}

#[test]
fn more_noise_and_more_configurations_need_more_processes() {
    let base = |percent| run(10, (100_000.0, percent), &mut SplitMix(3));
    let needed = |percent, count| predict(&base(percent), 10, count).unwrap();
    let (quiet, loud) = (needed(0.3, 1), needed(2.0, 1));
    assert!(quiet.decides > 0.99 && quiet.needed < loud.needed, "{quiet:?} {loud:?}");
    assert!(loud.decides < 0.8, "{loud:?}");
    let many = needed(2.0, 500);
    assert!(many.catches_percent > loud.catches_percent, "{many:?} {loud:?}");
    assert_eq!(predict(&base(9.0), 10, 1).unwrap().needed, None, "fifty are not enough");
}

#[test]
fn exact_metrics_need_no_processes() {
    let base = run(7, (100_000.0, 1.0), &mut SplitMix(4));
    let questions = |texts: &[&str]| {
        let own: Vec<Threshold> = texts.iter().map(|t| Threshold::parse(t).unwrap()).collect();
        let own = limits(&own);
        let planned = [(&base.series[0].id, &[point(64, 1 << 20)][..], &own[..])];
        let found = ability(&Catalogue::built_in(), planned, &base, &Budget::up_to(29, 1, 0), 7);
        found.map(|found| found.questions)
    };
    assert_eq!(questions(&[]), Some(1), "the default gate on time");
    assert_eq!(questions(&["registers <= baseline", "duration <= 1 s"]), Some(1));
    let selected = |selector: &str| questions(&[&format!("{selector} duration <= baseline + 5%")]);
    assert_eq!(selected("every"), Some(1), "it is replaced");
    assert_eq!(selected("where block==64"), Some(2));
    assert_eq!(selected("where block==128"), Some(1));
    assert_eq!(selected("best"), Some(1));
    assert_eq!(questions(&["every duration <= baseline - 5%"]), None, "an improvement");
    let other = SeriesId { kernel: "other".into(), ..base.series[0].id.clone() };
    let planned = [(&other, &[point(64, 1 << 20)][..], &limits(&[])[..])];
    let none = ability(&Catalogue::built_in(), planned, &base, &Budget::up_to(29, 1, 0), 7);
    assert_eq!(none, None);
}

/// Correlated processes count less than their number: with as many, only a larger slowdown would be
/// caught, and the judge agrees.
#[test]
fn correlated_processes_lower_the_forecast_sensitivity() {
    let of_time = |alike: f64| {
        let mut random = SplitMix(3);
        let mut row = |at: u64| {
            let mut noise = random.normal();
            let passes: Vec<_> = (0..10)
                .map(|_| {
                    noise = alike * noise + (1.0 - alike * alike).sqrt() * random.normal();
                    gpu_pass(at, 1 << 20, &[100_000.0 * (1.0 + 0.01 * noise)])
                })
                .collect();
            finished(point(at, 1 << 20), &passes)
        };
        let rows: Vec<_> = (1..=60).map(|at| row(32 * at)).collect();
        let points: Vec<_> = rows.iter().map(|row| row.configuration.clone()).collect();
        let base = fixture::run("r", vec![series(rows)]);
        let limits = limits(&[]);
        let planned = [(&base.series[0].id, &points[..], &limits[..])];
        let budget = Budget::up_to(29, 60, 0);
        ability(&Catalogue::built_in(), planned, &base, &budget, 10).unwrap()
    };
    let (independent, alike) = (of_time(0.0), of_time(0.7));
    let (less, more) = (independent.catches_percent.unwrap(), alike.catches_percent.unwrap());
    assert!(more > 2.0 * less, "{less} {more}");
    assert!(alike.decides < independent.decides && alike.needed != independent.needed);
}
