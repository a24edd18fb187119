//! Fixed limits of noisy metrics, judged as a run judges them.

use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::ConfigurationResult;
use gpuprof_model::threshold::Threshold;
use gpuprof_model::verdict::{Judgement, Verdict};

use crate::fixture::{finished, gpu_pass, point};
use crate::gate::budget::Budget;
use crate::gate::judge::{Baseline, Terms, judge, wanted};
use crate::stats::random::SplitMix;

const N: u64 = 1 << 20;

/// Configurations around these medians in so many processes, with a noise of 1 %.
fn timed(centers: &[f64], processes: u32) -> Vec<ConfigurationResult> {
    let mut random = SplitMix(11);
    let mut normal = || {
        let mut uniform = || (random.next() >> 11) as f64 / (1_u64 << 53) as f64;
        (0..12).map(|_| uniform()).sum::<f64>() - 6.0
    };
    let mut row = |(center, block): (&f64, u64)| {
        let passes: Vec<_> = (0..processes)
            .map(|_| gpu_pass(block, N, &[center * (1.0 + 0.01 * normal())]))
            .collect();
        finished(point(block, N), &passes)
    };
    centers.iter().zip(1..).map(&mut row).collect()
}

fn judged(text: &str, rows: &[ConfigurationResult], in_rounds: bool) -> Judgement {
    let budget = Budget::new(rows.len(), rows.len());
    let catalogue = Catalogue::built_in();
    let terms = Terms { catalogue: &catalogue, device: None, budget: &budget };
    let baseline = match in_rounds {
        true => Baseline::Held { configurations: rows, whole: true, in_rounds },
        false => Baseline::none(),
    };
    judge(terms, &Threshold::parse(text).unwrap(), "x", rows, &baseline)
}

#[test]
fn a_limit_inside_the_noise_is_inconclusive_with_what_would_decide() {
    let text = "every duration <= 100 us";
    let of = |center: f64| judged(text, &timed(&[center; 5], 7), false);
    assert_eq!(of(95_000.0).verdict, Verdict::Pass);
    assert_eq!(of(115_000.0).verdict, Verdict::Fail);
    let doubt = of(100_200.0);
    assert_eq!(doubt.verdict, Verdict::Inconclusive);
    let reason = doubt.reason.unwrap();
    assert!(reason.starts_with("7 processes do not decide: their mean is 0."), "{reason}");
}

#[test]
fn one_percent_inside_hardly_ever_fails_at_fifty_configurations() {
    // The value alone would fail one of 50 in half of the runs.
    let mut failed = 0;
    let all = timed(&[99_000.0; 1000], 7);
    for run in all.chunks(50) {
        let found = judged("every duration <= 100 us", run, false).verdict;
        failed += u32::from(found == Verdict::Fail);
    }
    assert_eq!(failed, 0);
}

#[test]
fn the_best_of_many_that_are_too_slow_does_not_pass() {
    // The smallest of 100 medians is under the limit by chance.
    let all = timed(&[101_000.0; 100], 7);
    let text = "best duration <= 100 us";
    let smallest = all.iter().map(|row| row.metrics["duration"].value.clone().unwrap());
    assert!(smallest.fold(f64::MAX, f64::min) < 100_500.0);
    assert_ne!(judged(text, &all, false).verdict, Verdict::Pass);
    let one = [timed(&[93_000.0], 7), timed(&[110_000.0; 9], 7)].concat();
    let found = judged(text, &one, false);
    assert_eq!(
        (found.verdict, found.configuration.as_deref()),
        (Verdict::Pass, Some("block=1,n=1048576"))
    );
    assert_eq!(judged(text, &timed(&[130_000.0; 9], 7), false).verdict, Verdict::Fail);
}

#[test]
fn rounds_are_decided_by_the_signs_of_their_looks() {
    let text = "every duration <= 100 us";
    let of = |center: f64, rounds| judged(text, &timed(&[center; 5], rounds), true).verdict;
    assert_eq!(of(95_000.0, 6), Verdict::Pass);
    assert_eq!(of(105_000.0, 6), Verdict::Inconclusive);
    assert_eq!(of(105_000.0, 15), Verdict::Fail);
}

#[test]
fn the_best_of_rounds_is_chosen_by_the_first_and_judged_by_the_rest() {
    let text = "best duration <= 100 us";
    let of = |centers: &[f64], rounds| judged(text, &timed(centers, rounds), true).verdict;
    let fast = [95_000.0, 105_000.0, 106_000.0, 107_000.0, 108_000.0];
    assert_eq!(of(&fast, 7), Verdict::Inconclusive);
    assert_eq!(of(&fast, 7 + 8), Verdict::Pass);
    assert_eq!(of(&[105_000.0; 5], 21), Verdict::Fail);
    let rows = timed(&fast, 7);
    let budget = Budget::new(5, 5);
    let catalogue = Catalogue::built_in();
    let terms = Terms { catalogue: &catalogue, device: None, budget: &budget };
    let baseline = Baseline::Held { configurations: &rows, whole: true, in_rounds: true };
    let open = wanted(terms, &Threshold::parse(text).unwrap(), &rows, &baseline);
    let open: Vec<(String, u32)> = open.iter().map(|(c, n)| (c.to_string(), *n)).collect();
    assert_eq!(open.len(), 3, "{open:?}");
    assert!(open.iter().all(|(_, rounds)| *rounds == 13), "{open:?}");
}

#[test]
fn with_fewer_than_three_processes_the_value_decides() {
    let of = |center: f64| judged("every duration <= 100 us", &timed(&[center], 2), false).verdict;
    assert_eq!((of(95_000.0), of(105_000.0)), (Verdict::Pass, Verdict::Fail));
}
