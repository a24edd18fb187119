use super::*;
use crate::gate::budget::Budget;

/// The looks up to 431 rounds, for so many questions.
fn bounds(family: usize) -> CriticalValues {
    CriticalValues::new(family, 431)
}

fn trial(pool: &Pool, draws: u32) -> Trial<'_> {
    Trial { pool, limit_percent: 2.0, share: 1.0, resolution: 0.0, most: 431, draws, seed: 1 }
}

/// The kinds of noise that a run must withstand.
fn pools() -> [Pool; 8] {
    [
        Pool::Short { ns: 640.0, noise: 0.5, samples: 24 },
        Pool::Normal(0.8),
        Pool::Normal(1.3),
        Pool::Normal(2.0),
        Pool::Mixed { noise: 0.8, share: 0.03, percent: 30.0 },
        Pool::Mixed { noise: 0.5, share: 0.3, percent: 2.0 },
        Pool::Correlated { noise: 0.8, rho: 0.7 },
        Pool::Recorded(vec![vec![99_000.0, 100_000.0, 100_500.0, 101_000.0], vec![5024.0; 3]]),
    ]
}

#[test]
fn an_unchanged_run_passes() {
    let bounds = bounds(500);
    for pool in pools() {
        let found = trial(&pool, 2000).simulate(&bounds, 0.0);
        assert_eq!((found.fail, found.undecided), (0.0, 0.0), "{pool:?}: {found:?}");
        assert!(found.rounds < 25.0, "{pool:?}: {found:?}");
    }
}

#[test]
fn a_configuration_that_is_three_percent_slower_is_caught() {
    let bounds = bounds(500);
    for pool in pools() {
        let found = trial(&pool, 200).simulate(&bounds, 3.0);
        assert!(found.fail >= 0.95, "{pool:?}: {found:?}");
    }
}

#[test]
fn a_configuration_at_the_limit_passes_as_rarely_as_designed() {
    // 5 % for passing, and the whole budget of a run of one for failing.
    let bounds = CriticalValues::new(1, 157);
    for pool in [Pool::Normal(0.8), Pool::Correlated { noise: 0.8, rho: 0.7 }] {
        let found = Trial { most: 157, ..trial(&pool, 3000) }.simulate(&bounds, 2.0);
        assert!(found.pass > 0.03 && found.pass < 0.06, "{pool:?}: {found:?}");
        assert!(found.fail < 0.012, "{pool:?}: {found:?}");
    }
}

#[test]
fn a_surplus_of_slow_processes_is_found() {
    let bounds = bounds(50);
    // The base has as many: nothing changed, whatever they are.
    let pool = Pool::Mixed { noise: 0.5, share: 0.3, percent: 200.0 };
    let found = trial(&pool, 500).simulate(&bounds, 0.0);
    assert!(found.fail < 0.01, "{found:?}");
}

#[test]
fn a_fifth_of_slow_processes_rarely_passes() {
    let bounds = bounds(50);
    for noise in [0.8, 2.0] {
        let pool = Pool::Normal(noise);
        let found = Trial { share: 0.2, ..trial(&pool, 1000) }.simulate(&bounds, 20.0);
        // 5 %, with two standard errors.
        assert!(found.pass <= 0.064, "{noise}: {found:?}");
        assert!(found.fail >= 0.9, "{noise}: {found:?}");
    }
}

#[test]
fn a_run_is_undecided_if_too_many_are_open_or_one_of_a_few_stays_so() {
    // Up to 3 of 20 may go on, and are then decided.
    let too_many = 1.0
        - [0_i32, 1, 2, 3]
            .iter()
            .map(|&open| {
                let ways = [1.0, 20.0, 190.0, 1140.0][open as usize];
                ways * 0.1_f64.powi(open) * 0.9_f64.powi(20 - open)
            })
            .sum::<f64>();
    assert!((Shares::run_undecided(0.1, 0.0, 20) - too_many).abs() < 1e-9);
    assert!((Shares::run_undecided(0.1, 0.1, 20) - Shares::of_run(0.1, 20)).abs() < 1e-9);
    assert_eq!(Shares::run_undecided(0.0, 0.0, 500), 0.0);
}

#[test]
fn shares_of_a_run_follow_from_those_of_its_configurations() {
    assert!((Shares::of_run(0.01, 50) - 0.394_993_932_7).abs() < 1e-9);
    assert_eq!((Shares::of_run(0.0, 500), Shares::of_run(1.0, 1)), (0.0, 1.0));
    let none = Shares {
        slower_percent: 0.0,
        configurations: 400_000,
        fail: 0.0,
        pass: 1.0,
        undecided: 0.0,
        rounds: 6.0,
    };
    // z² / (n + z²).
    assert!((none.fail_at_most() - 2.705_543 / 400_002.705_543).abs() < 1e-9);
}

/// Numeric limits in a run that adds processes to open configurations: the first look and the later
/// ones together keep the error budget.
#[test]
fn an_absolute_limit_keeps_its_levels_over_all_looks() {
    let budget = Budget::up_to(157, 0, 50);
    let skewed = Pool::Mixed { noise: 0.8, share: 0.03, percent: 30.0 };
    let placements = Pool::Mixed { noise: 0.5, share: 0.3, percent: 2.0 };
    for pool in [Pool::Normal(0.8), Pool::Normal(2.0), skewed, placements] {
        let of = |above, draws| {
            let trial =
                FixedTrial { pool: &pool, resolution: 0.0, first: 7, most: 157, draws, seed: 5 };
            trial.simulate(&budget, above)
        };
        let at = of(0.0, 1_000);
        // 5 %, with two standard errors; and of one configuration 0.02 % at m = 50.
        assert!(at.pass <= 0.06 && at.fail <= 0.003, "{pool:?}: {at:?}");
        let inside = of(-2.0, 200);
        assert!(inside.fail == 0.0 && inside.undecided <= 0.01, "{pool:?}: {inside:?}");
        let beyond = of(2.0, 200);
        assert!(beyond.fail >= 0.95 && beyond.pass <= 0.05, "{pool:?}: {beyond:?}");
        // Doubt costs processes, and nothing else does.
        assert!(inside.rounds < at.rounds && beyond.rounds < at.rounds, "{pool:?}");
    }
}
