use gpuprof_model::threshold::{Comparison, Tolerance};

use super::*;
use crate::gate::budget::Budget;
use crate::gate::simulate::{Pool, Trial};
use crate::sequential::{CriticalValues, Decision, Question, Rounds};

/// `count` configurations with a normal noise of `percent`, each measured until it is decided.
fn decided(count: u64, percent: f64) -> (Run, Run) {
    let mut random = SplitMix(11);
    let bounds = CriticalValues::new(30, MOST);
    let question = Question {
        comparison: Comparison::AtMost,
        tolerance: Tolerance { percent: 2.0, floor: None },
        resolution: 0.0,
    };
    let mut rows: [Vec<ConfigurationResult>; 2] = [Vec::new(), Vec::new()];
    for at in 1..=count {
        let mut side = || -> Vec<f64> {
            (0..MOST).map(|_| 100_000.0 * (1.0 + percent / 100.0 * random.normal())).collect()
        };
        let rounds = Rounds { base: side(), head: side() };
        let Decision::Within(look) = bounds.decide(&question, &rounds) else {
            panic!("{percent} % leaves one open");
        };
        for (rows, side) in rows.iter_mut().zip([&rounds.base, &rounds.head]) {
            let medians = side[..look as usize].iter();
            let passes = medians.map(|m| gpu_pass(32 * at, N, &[m - 32.0, *m, m + 32.0]));
            rows.push(finished(point(32 * at, N), &passes.collect::<Vec<_>>()));
        }
    }
    let [base, head] = rows;
    (run(base), run(head))
}

const MOST: u32 = 112;

/// What is claimed holds where the noise is known: the slowdown that was named is caught about as
/// often by processes that are drawn from the noise itself.
#[test]
fn claimed_slowdowns_are_caught() {
    for noise in [0.4, 0.8, 1.3] {
        let (base, head) = decided(30, noise);
        let head = rejudge(&Catalogue::built_in(), head, &[], &against(base.clone(), true));
        let budget = Budget::new(30, 0);
        let claimed = sensitivity::estimate(&head, &base, &budget, MOST).unwrap();
        let trial = Trial {
            share: 1.0,
            pool: &Pool::Normal(noise),
            limit_percent: 2.0,
            resolution: 32.0,
            most: MOST,
            draws: 2_000,
            seed: 9,
        };
        let caught = trial.simulate(&CriticalValues::new(30, MOST), claimed.slowdown_percent).fail;
        assert!((caught - claimed.caught).abs() < 0.04, "{noise}: {claimed:?}, in truth {caught}");
    }
}

#[test]
fn no_sensitivity_is_claimed_for_a_run_noisier_than_its_baseline() {
    let (base, same) = sides(7, 0.4, &[0.0, 0.0]);
    let mut random = SplitMix(6);
    // Some processes of the second configuration are a third slower.
    let scattered =
        run(vec![timed(1, 7, 0.4, 0.0, &mut random), timed(2, 7, 30.0, 0.15, &mut random)]);
    let catalogue = Catalogue::built_in();
    let of = |head: Run| {
        let mut against = against(base.clone(), false);
        against.run.as_mut().unwrap().id = "b".into();
        rejudge(&catalogue, head, &[], &against).conclusion.unwrap()
    };
    let found = of(same);
    assert!(found.sensitivity.is_some(), "{found:#?}");
    let found = of(scattered);
    assert_eq!(found.sensitivity, None, "{found:#?}");
    assert!(!found.sentence.contains("would have been caught"), "{}", found.sentence);
    let why = found.sensitivity_unknown.unwrap();
    assert!(why.starts_with("1 configuration of this run scatters too much"), "{why}");
}
