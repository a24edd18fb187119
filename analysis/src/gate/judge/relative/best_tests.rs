use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::ProcessValue;
use gpuprof_model::verdict::{Judgement, Verdict};

use super::*;
use crate::fixture::row;
use crate::gate::budget::Budget;
use crate::gate::judge::{Baseline, JudgeContext, judge, wanted};
use crate::stats::median::median;
use crate::stats::random::SplitMix;

/// Configurations about these times in so many processes with 1 % of noise.
fn timed(centers: &[f64], rounds: usize, random: &mut SplitMix) -> Vec<ConfigurationResult> {
    let of = |(center, at): (&f64, u64)| {
        let medians: Vec<f64> =
            (0..rounds).map(|_| center * (1.0 + 0.01 * random.normal())).collect();
        let mut row = row(at, "duration", Ok(median(&medians).unwrap()));
        let duration = row.metrics.get_mut("duration").unwrap();
        let process =
            |&median: &f64| ProcessValue { median, p95: median, min: median, mean: median };
        duration.processes = medians.iter().map(process).collect();
        row
    };
    centers.iter().zip(0..).map(of).collect()
}

const GATE: &str = "best duration <= baseline + 2%";

/// The outcome of a run of these, in rounds or not.
fn judged(
    terms: JudgeContext<'_>,
    ours: &[ConfigurationResult],
    theirs: &[ConfigurationResult],
    in_rounds: bool,
) -> Judgement {
    let baseline = Baseline::Held { configurations: theirs, whole: true, in_rounds };
    judge(terms, &Threshold::parse(GATE).unwrap(), "x", ours, &baseline)
}

/// The shares of 300 runs that pass and that fail.
fn shares(head: &[f64], base: &[f64], rounds: usize, in_rounds: bool) -> (f64, f64) {
    let (budget, catalogue) = (Budget::up_to(80, head.len(), 0), Catalogue::built_in());
    let terms =
        JudgeContext { catalogue: &catalogue, device: None, budget: &budget, first_look: None };
    let mut random = SplitMix(9);
    let (mut pass, mut fail) = (0, 0);
    for _ in 0..300 {
        let (ours, theirs) = (timed(head, rounds, &mut random), timed(base, rounds, &mut random));
        match judged(terms, &ours, &theirs, in_rounds).verdict {
            Verdict::Pass | Verdict::Improved => pass += 1,
            Verdict::Fail => fail += 1,
            Verdict::Inconclusive => {}
            other => panic!("{other}"),
        }
    }
    (f64::from(pass) / 300.0, f64::from(fail) / 300.0)
}

#[test]
fn unchanged_configurations_pass_and_slower_ones_fail() {
    let equal = [100_000.0; 10];
    let (pass, fail) = shares(&equal, &equal, 64, true);
    assert!(pass >= 0.99 && fail == 0.0, "{pass} {fail}");
    let (pass, fail) = shares(&[105_000.0; 10], &equal, 64, true);
    assert!(pass == 0.0 && fail >= 0.95, "{pass} {fail}");
    // One that is as good as the base's best is enough.
    let mut one = [106_000.0; 10];
    one[4] = 100_000.0;
    let (pass, fail) = shares(&one, &equal, 64, true);
    assert!(pass >= 0.99 && fail == 0.0, "{pass} {fail}");
}

/// The base has one best configuration, and the head ten that are exactly at its limit. The best of
/// ten looks better than it is, which an uncorrected comparison takes for a pass.
#[test]
fn choosing_the_best_keeps_the_significance_level() {
    let mut base = [115_000.0; 10];
    base[3] = 100_000.0;
    let head = [102_000.0; 10];
    let (pass, _) = shares(&head, &base, 64, true);
    // 5 %, with the scatter of 300 runs.
    assert!(pass <= 0.088, "{pass}");
    let (uncorrected, _) = shares(&head, &base, 10, false);
    assert!(uncorrected >= 0.12, "{uncorrected}");
    println!("passes exactly at the limit: {pass:.3} in rounds, {uncorrected:.3} uncorrected");
}

/// The configurations that request so many rounds after these.
fn requested_rounds(head: &[f64], rounds: usize) -> Vec<(u64, u32)> {
    let mut random = SplitMix(5);
    let mut base = [115_000.0; 8];
    base[3] = 100_000.0;
    let (ours, theirs) = (timed(head, rounds, &mut random), timed(&base, rounds, &mut random));
    let budget = Budget::up_to(80, ours.len(), 0);
    let catalogue = Catalogue::built_in();
    let terms =
        JudgeContext { catalogue: &catalogue, device: None, budget: &budget, first_look: None };
    let baseline = Baseline::Held { configurations: &theirs, whole: true, in_rounds: true };
    let found = wanted(terms, &Threshold::parse(GATE).unwrap(), &ours, &baseline);
    let at = |configuration: &Configuration| {
        ours.iter().zip(0..).find(|(row, _)| row.configuration == *configuration).unwrap().1
    };
    let mut found: Vec<(u64, u32)> = found.into_iter().map(|(c, look)| (at(c), look)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[test]
fn candidates_and_the_best_of_the_base_get_more_rounds() {
    let mut head = [120_000.0; 8];
    (head[0], head[5], head[6]) = (101_000.0, 101_500.0, 102_000.0);
    assert_eq!(requested_rounds(&head, 6), [(0, 22), (3, 22), (5, 22), (6, 22)]);
    head[5] = 97_000.0;
    assert_eq!(requested_rounds(&head, 22), [], "one passes, and that is enough");
    // All that were chosen are beyond the limit after 22 rounds; the others are asked as well.
    let mut slow = [130_000.0; 8];
    (slow[0], slow[5], slow[6]) = (110_000.0, 110_000.0, 110_000.0);
    (slow[1], slow[2]) = (104_000.0, 104_000.0);
    let requested = requested_rounds(&slow, 22);
    assert!(requested.len() >= 2, "{requested:?}");
    assert_eq!(requested_rounds(&slow, 87), [], "each is beyond the limit");
}

#[test]
fn undecided_thresholds_say_how_many_rounds_would_decide() {
    let mut random = SplitMix(6);
    let equal = [100_000.0; 4];
    let (budget, catalogue) = (Budget::up_to(80, 4, 0), Catalogue::built_in());
    let terms =
        JudgeContext { catalogue: &catalogue, device: None, budget: &budget, first_look: None };
    let sides = [(); 2].map(|()| timed(&equal, 6, &mut random));
    let few = judged(terms, &sides[0], &sides[1], true);
    assert_eq!(few.verdict, Verdict::Inconclusive);
    let reason =
        "a decision needs 15 rounds; there are 0 (rounds behind the 7 that chose the best)";
    assert_eq!(few.reason.as_deref(), Some(reason));
    // Seven choose, fifteen decide.
    assert_eq!(few.undecided[0].rounds, Some(22));
}
