use super::*;
use proptest::prelude::*;

#[test]
fn too_many_configurations_are_refused_before_they_are_listed() {
    let failure =
        plan([described("a", &["x=1..1000 step 1", "y=1..1000 step 1"])], &Selection::default())
            .unwrap_err();
    assert_eq!(
        failure.message,
        "p::a would have 1000000 configurations, more than 100000; give fewer values with --series, take some \
         with --sample N, or raise the limit with --max-configs"
    );
}

#[test]
fn the_configuration_limit_is_adjustable_and_counts_after_conditions() {
    let axes = ["x=1..1000 step 1", "y=1..1000 step 1"];
    let limit = |max_configurations| Selection { max_configurations, ..Selection::default() };
    let count = plan([described("a", &axes)], &limit(1_000_000)).unwrap()[0].configurations.len();
    assert_eq!(count, 1_000_000);
    let kept = [axes[0], axes[1], "where x==y"];
    assert_eq!(planned(&kept, &Selection::default()).len(), 1000);
    let failure = plan([described("a", &kept)], &limit(999)).unwrap_err();
    assert!(
        failure.message.starts_with("p::a would have more than 999 configurations;"),
        "{}",
        failure.message
    );
    let two = [described("a", &["x=1..6 step 1"]), described("b", &["x=1..6 step 1"])];
    let failure = plan(two, &limit(10)).unwrap_err();
    assert!(
        failure.message.starts_with("all series together would have more than 10"),
        "{}",
        failure.message
    );
}

#[test]
fn a_sample_covers_every_axis_without_listing_the_space() {
    let axes = ["a=1..1000 step 1", "b=1..1000 step 1", "c=1..1000 step 1", "d=1..1000 step 1"];
    let sample = |seed| Selection { sample: Some(200), seed, ..Selection::default() };
    let points = planned(&axes, &sample(1));
    assert_eq!(points.len(), 200);
    assert_eq!(points, planned(&axes, &sample(1)));
    assert_ne!(points, planned(&axes, &sample(2)));
    for name in ["a", "b", "c", "d"] {
        let mut tenths = [0; 10];
        for point in &points {
            let value =
                point.split(',').find_map(|pair| pair.strip_prefix(&format!("{name}="))).unwrap();
            tenths[(value.parse::<usize>().unwrap() - 1) / 100] += 1;
        }
        assert!(tenths.iter().all(|&count| (19..=21).contains(&count)), "{name}: {tenths:?}");
    }
}

proptest! {
    #[test]
    fn a_sample_has_distinct_configurations_in_order(
        lens in prop::collection::vec(1_usize..9, 1..4), count in 1_usize..40, seed: u64, limit in 1_u64..60,
    ) {
        let mut axes: Vec<String> = lens.iter().zip(["a", "b", "c"]).map(|(len, name)| format!("{name}=1..{len} step 1")).collect();
        axes.push(format!("where a * a <= {limit}"));
        let axes: Vec<&str> = axes.iter().map(String::as_str).collect();
        let all = planned(&axes, &Selection::default());
        let sample = planned(&axes, &Selection { sample: Some(count), seed, ..Selection::default() });
        prop_assert_eq!(sample.len(), count.min(all.len()));
        let mut rest = all.iter();
        prop_assert!(sample.iter().all(|point| rest.any(|other| other == point)));
    }
}

#[test]
fn a_hundred_thousand_configurations_need_under_200_megabytes() {
    let axes =
        ["a=1..1000 step 1", "b=1..1000 step 1", "c=1..100 step 1", "t = a * c", "where a==b"];
    let all = plan([described("a", &axes)], &Selection::default()).unwrap();
    let configurations = &all[0].configurations;
    assert_eq!(configurations.len(), 100_000);
    let held: usize = configurations
        .iter()
        .map(|point| {
            let names: usize = point.0.iter().map(|(name, _)| name.capacity()).sum();
            size_of_val(point) + point.0.capacity() * size_of_val(&point.0[0]) + names
        })
        .sum();
    assert!(held < 50_000_000, "{held} bytes");
    let mut points = all[0].series.space.points();
    points.by_ref().for_each(drop);
    // One look at each pair of a and b that differ, and one at each configuration that is kept.
    assert_eq!(points.visited(), 1000 * 999 + 100_000);
}
