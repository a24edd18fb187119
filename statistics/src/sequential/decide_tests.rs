use super::*;
use crate::stats::random::SplitMix;
use proptest::prelude::*;

fn question(percent: f64) -> Question {
    Question {
        comparison: Comparison::AtMost,
        tolerance: Tolerance { percent, floor: None },
        resolution: 0.0,
    }
}

/// `count` rounds around 100 with a noise of about `noise` percent, the head longer by `percent`.
fn rounds(count: u32, noise: f64, percent: f64) -> Rounds {
    let mut random = SplitMix(7);
    let mut side = |factor: f64| -> Vec<f64> {
        let mut uniform = || (random.next() >> 11) as f64 / (1_u64 << 53) as f64;
        // Twelve uniforms have a variance of 1.
        let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        (0..count).map(|_| 100.0 * factor * (1.0 + normal() * noise / 100.0)).collect()
    };
    Rounds { base: side(1.0), head: side(1.0 + percent / 100.0) }
}

fn decided(rounds: &Rounds) -> Decision {
    CriticalValues::new(50, rounds.count()).decide(&question(2.0), rounds)
}

#[test]
fn an_unchanged_configuration_passes_at_the_first_look_that_decides() {
    assert_eq!(decided(&rounds(15, 0.4, 0.0)), Decision::Within(15));
    assert_eq!(decided(&rounds(14, 0.4, 0.0)), Decision::OPEN);
    // Later rounds change nothing.
    let mut more = rounds(29, 0.4, 0.0);
    more.head[15..].fill(900.0);
    assert_eq!(decided(&more), Decision::Within(15));
}

#[test]
fn a_slowdown_fails_when_it_is_sure() {
    assert_eq!(decided(&rounds(15, 0.4, 5.0)), Decision::OPEN);
    assert_eq!(decided(&rounds(431, 0.4, 5.0)), Decision::Beyond(21));
    assert!(matches!(decided(&rounds(431, 0.8, 3.0)), Decision::Beyond(29..=112)));
    // At the limit nothing is sure.
    let at_limit = rounds(431, 0.8, 2.0);
    assert!(!matches!(decided(&at_limit), Decision::Beyond(_)), "{:?}", decided(&at_limit));
}

#[test]
fn all_processes_at_twice_the_time_fail_at_the_first_look_that_decides() {
    // Fifteen rounds are too few for ranks at 50 questions; slow processes have a separate test.
    assert_eq!(decided(&rounds(431, 0.8, 100.0)), Decision::SlowSubpopulation(15));
}

#[test]
fn slow_processes_delay_the_decision_and_then_fail() {
    let mut few = rounds(157, 0.4, 0.0);
    for (at, value) in few.head.iter_mut().enumerate() {
        *value *= if at % 5 == 0 { 3.0 } else { 1.0 };
    }
    let mut first = rounds(15, 0.4, 0.0);
    first.head[4] *= 1.3;
    assert_eq!(decided(&first), Decision::Open { doubt: true });
    assert!(matches!(decided(&few), Decision::SlowSubpopulation(80..=157)), "{:?}", decided(&few));
    // Both sides have as many: nothing changed.
    let both = Rounds { base: few.head.clone(), head: few.head };
    assert!(!matches!(decided(&both), Decision::SlowSubpopulation(_) | Decision::Beyond(_)));
}

#[test]
fn a_fall_fails_if_the_limit_is_a_minimum() {
    let higher = Question { comparison: Comparison::AtLeast, ..question(-2.0) };
    let of = |percent| CriticalValues::new(5, 431).decide(&higher, &rounds(431, 0.4, percent));
    assert_eq!(of(0.0), Decision::Within(15));
    assert_eq!(of(9.0), Decision::Within(15));
    assert!(matches!(of(-5.0), Decision::Beyond(15..=21)), "{:?}", of(-5.0));
    assert!(matches!(of(-50.0), Decision::Beyond(15)), "{:?}", of(-50.0));
}

#[test]
fn numbers_at_the_limit_are_undecided() {
    let rounds = Rounds { base: vec![1000.0; 431], head: vec![1020.0; 431] };
    assert!(decided(&rounds).is_open());
}

#[test]
fn differences_below_a_clock_step_are_no_change() {
    let of = |base: f64, head: f64, percent: f64| {
        let rounds = Rounds { base: vec![base; 431], head: vec![head; 431] };
        let on_grid = Question { resolution: 32.0, ..question(percent) };
        CriticalValues::new(5, 431).decide(&on_grid, &rounds)
    };
    assert_eq!(of(992.0, 992.0, 2.0), Decision::Within(15));
    assert_eq!(of(992.0, 1024.0, 2.0), Decision::Beyond(15));
    assert_eq!(of(992.0, 1024.0, 4.0), Decision::Within(15));
    // Half a step apart, by the mean of two readings.
    assert_eq!(of(992.0, 1008.0, 1.0), Decision::Within(15));
    // 4 steps are 2.5 % of 5,024.
    assert_eq!(of(5024.0, 5152.0, 2.0), Decision::Beyond(15));
}

#[test]
fn a_growth_from_zero_is_beyond_the_limit() {
    let of = |base: f64, head: f64| {
        let rounds = Rounds { base: vec![base; 41], head: vec![head; 41] };
        CriticalValues::new(5, 431).decide(&question(2.0), &rounds)
    };
    assert_eq!(of(0.0, 1000.0), Decision::Beyond(15));
    assert_eq!(of(1000.0, 0.0), Decision::Within(15));
    assert_eq!(of(-10.0, -20.0), Decision::Within(15));
}

#[test]
fn a_floor_widens_the_limit() {
    let floor = gpuprof_model::quantity::Quantity::new(10.0, gpuprof_model::quantity::Unit::Count);
    let tolerance = Tolerance { percent: 2.0, floor: Some(floor) };
    let wide = Question { tolerance, ..question(2.0) };
    assert_eq!(
        CriticalValues::new(5, 431).decide(&wide, &rounds(29, 0.4, 5.0)),
        Decision::Within(15)
    );
}

#[test]
fn a_round_with_nan_leaves_the_decision_open() {
    let mut broken = rounds(29, 0.4, 0.0);
    broken.base[3] = f64::NAN;
    assert!(decided(&broken).is_open());
}

proptest! {
    #[test]
    fn neither_unit_nor_scale_changes_a_decision(
        noise in 0.2..3.0_f64, percent in -5.0..8.0_f64, power in -8..8_i32,
    ) {
        let rounds = rounds(57, noise, percent);
        let scaled = |side: &[f64]| side.iter().map(|v| v * 2.0_f64.powi(power)).collect();
        let other = Rounds { base: scaled(&rounds.base), head: scaled(&rounds.head) };
        prop_assert_eq!(decided(&rounds), decided(&other));
    }

    #[test]
    fn more_questions_delay_a_failure(family in 2..1000_usize, percent in 3.0..20.0_f64) {
        let rounds = rounds(57, 0.8, percent);
        let at = |family| match CriticalValues::new(family, 57).decide(&question(2.0), &rounds) {
            Decision::Beyond(at) | Decision::SlowSubpopulation(at) => at,
            _ => u32::MAX,
        };
        prop_assert!(at(1) <= at(family));
    }
}
