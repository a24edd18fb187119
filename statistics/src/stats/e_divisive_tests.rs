use super::*;

/// Values about `levels`, each with 1 % of noise.
fn noisy(levels: &[f64], random: &mut SplitMix) -> Vec<f64> {
    levels.iter().map(|level| level * (1.0 + 0.01 * random.normal())).collect()
}

fn split_positions(values: &[f64]) -> Vec<usize> {
    splits(values, Permutations::for_level(0.01)).iter().map(|split| split.at).collect()
}

/// The divergence of a split by its definition, from all pairs.
fn by_definition(values: &[f64], at: usize) -> f64 {
    let (left, right) = values.split_at(at);
    let within = |side: &[f64]| {
        let pairs = side.iter().enumerate().flat_map(|(i, a)| side[..i].iter().map(move |b| a - b));
        let all: Vec<f64> = pairs.map(f64::abs).collect();
        all.iter().sum::<f64>() / all.len() as f64
    };
    let across: f64 = left.iter().flat_map(|a| right.iter().map(move |b| (a - b).abs())).sum();
    let (n, m) = (left.len() as f64, right.len() as f64);
    (2.0 * across / (n * m) - within(left) - within(right)) * n * m / (n + m)
}

/// [`widest`] from the definition.
fn widest_by_definition(values: &[f64]) -> Option<(usize, f64)> {
    let length = values.len();
    if length < 2 * LEAST {
        return None;
    }
    let all = (EDGE..=length - EDGE).map(|at| (at, by_definition(values, at)));
    let best = all.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    if best.0 < LEAST {
        return widest_by_definition(&values[best.0..]).map(|(at, far)| (best.0 + at, far));
    }
    if best.0 > length - LEAST { widest_by_definition(&values[..best.0]) } else { Some(best) }
}

#[test]
fn the_divergence_is_the_energy_distance_of_the_definition() {
    let mut random = SplitMix(7);
    let mut trimmed = 0;
    for length in 6..40 {
        let mut values = noisy(&vec![100.0; length], &mut random);
        values[length / 2] = values[0];
        let (ours, defined) = (widest(&values), widest_by_definition(&values));
        assert_eq!(ours.map(|(at, _)| at), defined.map(|(at, _)| at), "{values:?}");
        let (Some((at, far)), Some((_, defined))) = (ours, defined) else {
            trimmed += 1;
            continue;
        };
        assert!((far - defined).abs() < 1e-9 * defined.abs().max(1.0), "{far} {defined}");
        trimmed += usize::from((by_definition(&values, at) - far).abs() > 1e-9);
    }
    assert!((5..30).contains(&trimmed), "{trimmed} of 34 lose values at an end");
    assert_eq!(widest(&[1.0, 1.0, 1.0, 2.0, 2.0]), None, "two levels need three values each");
}

#[test]
fn a_step_is_found_where_it_is() {
    let mut random = SplitMix(3);
    let levels = [[100.0; 20], [104.0; 20]].concat();
    let mut more = 0;
    for _ in 0..20 {
        let found = split_positions(&noisy(&levels, &mut random));
        assert!(found.iter().any(|at| at.abs_diff(20) <= 1), "{found:?}");
        more += found.len() - 1;
    }
    assert!(more <= 2, "{more} of 40 levels change again, at a level of 1 %");
}

#[test]
fn two_steps_are_found_up_and_back_down() {
    let mut random = SplitMix(4);
    for last in [100.0, 110.0] {
        let levels = [[100.0; 15], [105.0; 15], [last; 15]].concat();
        let found = split_positions(&noisy(&levels, &mut random));
        let [first, second] = found[..] else { panic!("{found:?}") };
        assert!(first.abs_diff(15) <= 1 && second.abs_diff(30) <= 1, "{found:?}");
    }
}

#[test]
fn an_outlier_is_not_a_change() {
    let mut random = SplitMix(5);
    let mut values = noisy(&[100.0; 30], &mut random);
    for (at, value) in [(4, 130.0), (17, 60.0), (29, 150.0)] {
        values[at] = value;
    }
    assert_eq!(split_positions(&values), []);
    let mut step = [vec![1.0; 12], vec![1.1; 12]].concat();
    step[5] = 3.0;
    assert_eq!(split_positions(&step), [12], "an outlier hides no step");
}

#[test]
fn three_values_at_an_end_form_a_level_and_two_do_not() {
    let mut random = SplitMix(11);
    for step in [1.1, 1.5] {
        for _ in 0..20 {
            let levels = [vec![100.0; 40], vec![100.0 * step; 3]].concat();
            let mut values = noisy(&levels, &mut random);
            assert_eq!(split_positions(&values), [40]);
            assert_eq!(split_positions(&values[..42]), []);
            values.reverse();
            assert_eq!(split_positions(&values), [3]);
            assert_eq!(split_positions(&values[1..]), []);
        }
    }
    let levels = [vec![100.0; 20], vec![104.0; 20], vec![150.0; 2]].concat();
    let found = split_positions(&noisy(&levels, &mut random));
    assert!(matches!(found[..], [at] if at.abs_diff(20) <= 1), "they hide no step: {found:?}");
}

#[test]
fn a_drift_is_reported_as_steps_in_its_direction() {
    let mut random = SplitMix(6);
    let levels: Vec<f64> = (0..40).map(|at| 100.0 + 0.3 * f64::from(at)).collect();
    let values = noisy(&levels, &mut random);
    let splits = splits(&values, Permutations::for_level(0.01));
    let means: Vec<f64> = segments(&splits, values.len())
        .into_iter()
        .map(|segment| statistical::mean(&values[segment]))
        .collect();
    assert!(means.len() >= 2 && means.is_sorted(), "{means:?}");
}

#[test]
fn equal_values_do_not_change() {
    assert_eq!(split_positions(&[4.0; 50]), []);
    // Values on two steps of a clock, in no order, are ties and no change.
    let mut random = SplitMix(8);
    let steps: Vec<f64> = (0..60).map(|_| [96.0, 128.0][random.below(2)]).collect();
    assert_eq!(split_positions(&steps), []);
    assert_eq!(split_positions(&[vec![96.0; 8], vec![128.0; 8]].concat()), [8]);
    assert_eq!(split_positions(&[]), []);
}

#[test]
fn a_p_value_is_at_most_the_level() {
    for (level, spare) in [(0.05, 49), (0.01, 9), (2e-4, 1)] {
        let Permutations { count, most } = Permutations::for_level(level);
        let largest = f64::from(most + 1) / f64::from(count + 1);
        assert!(largest <= level + 1e-12 && most == spare, "{level}: {largest}");
        let step = [vec![1.0; 30], vec![2.0; 30]].concat();
        let splits = splits(&step, Permutations::for_level(level));
        assert!(splits.len() == 1 && splits[0].p_value <= level, "{splits:?}");
    }
}

/// Of sequences without a change, at most the level should show one: measured on 1,000 of each
/// noise, so that more than 20 of them (1 %, with its scatter) would be a defect.
#[test]
fn false_alarms_are_as_rare_as_promised() {
    let mut random = SplitMix(11);
    type Noise = fn(&mut SplitMix) -> f64;
    let kinds: [(&str, Noise); 3] = [
        ("normal", SplitMix::normal),
        ("heavy tails", |random| random.normal() / random.normal().abs().max(0.1)),
        ("steps of a clock", |random| (2.0 * random.normal()).round()),
    ];
    for (kind, noise) in kinds {
        let values = |random: &mut SplitMix| -> Vec<f64> {
            (0..30).map(|_| 100.0 + noise(random)).collect()
        };
        let alarms =
            (0..1000).filter(|_| !split_positions(&values(&mut random)).is_empty()).count();
        println!("{kind}: {alarms} of 1000");
        assert!(alarms <= 20, "{kind}: {alarms} of 1000");
    }
}
