use super::*;
use crate::fixture::history_entry as entry;
use crate::stats::random::{SplitMix, shuffle};
use gpuprof_model::machine::{Backend, CacheControl, ClockControl};

fn all(entries: &[Entry]) -> Vec<Timeline> {
    timelines(entries, |_, _| true, usize::MAX)
}

fn one(entries: &[Entry]) -> Timeline {
    let [timeline] = &all(entries)[..] else { panic!("one timeline") };
    timeline.clone()
}

/// Twelve commits at 100, twelve at 104, with a little noise.
fn step() -> Vec<Entry> {
    let noise = |at: u32| f64::from(at * 7 % 5) / 10.0;
    (0..24).map(|at| entry(at, if at < 12 { 100.0 } else { 104.0 } + noise(at))).collect()
}

#[test]
fn a_change_names_its_revision_its_size_and_its_direction() {
    let found = one(&step());
    assert_eq!((found.points.len(), found.changes.len()), (24, 1));
    let change = &found.changes[0];
    assert_eq!((change.at, change.outcome), (12, Outcome::Worse));
    assert_eq!(found.points[12].revision.as_ref().unwrap().commit, "c012");
    assert!(change.percent.is_some_and(|percent| (percent - 4.0).abs() < 0.3), "{change:?}");
    assert!(change.p_value.is_some_and(|p| p <= 0.01), "{change:?}");

    let faster = |entry: Entry| Entry { direction: Direction::Higher, ..entry };
    let found = one(&step().into_iter().map(faster).collect::<Vec<_>>());
    assert_eq!(found.changes[0].outcome, Outcome::Better);
    let fact = |entry: Entry| Entry { direction: Direction::Neither, ..entry };
    let found = one(&step().into_iter().map(fact).collect::<Vec<_>>());
    assert_eq!(found.changes[0].outcome, Outcome::Changed);
}

#[test]
fn neither_order_nor_repetition_of_the_lines_matters() {
    let expected = one(&step());
    let mut random = SplitMix(5);
    for _ in 0..20 {
        let mut lines = [step(), step()[3..9].to_vec()].concat();
        shuffle(&mut lines, &mut random);
        assert_eq!(one(&lines), expected);
    }
}

#[test]
fn runs_of_one_commit_are_one_point_and_a_changed_tree_is_its_own() {
    let (mut again, mut third) = (entry(1, 110.0), entry(1, 101.0));
    again.run = "again".into();
    third.run = "third".into();
    // This machine had no repository to ask for the date.
    third.revision.as_mut().unwrap().date = None;
    let mut dirty = entry(1, 500.0);
    dirty.run = "dirty".into();
    dirty.revision.as_mut().unwrap().dirty = true;
    let found = one(&[entry(2, 90.0), dirty, again, entry(1, 100.0), third]);
    let values: Vec<(f64, usize, usize)> =
        found.points.iter().map(|point| (point.value, point.runs, point.processes)).collect();
    assert_eq!(values, [(101.0, 3, 21), (500.0, 1, 7), (90.0, 1, 7)]);
}

#[test]
fn other_conditions_start_another_timeline() {
    let change: [fn(&mut Entry); 7] = [
        |entry| entry.conditions.device = "NVIDIA B200".into(),
        |entry| entry.conditions.backend = Backend::Emulator,
        |entry| entry.conditions.cache_control = CacheControl::None,
        |entry| entry.conditions.clock_control = ClockControl::Base,
        |entry| entry.source = Source::Emulated,
        |entry| entry.unit = Unit::Count,
        |entry| entry.metric = "sm_cycles".into(),
    ];
    for change in change {
        let mut other = entry(2, 90.0);
        change(&mut other);
        assert_eq!(all(&[entry(1, 100.0), other]).len(), 2);
    }
}

#[test]
fn every_difference_of_an_exact_metric_is_a_change() {
    let exact = |(at, value): (u32, f64)| Entry { class: Class::Exact, ..entry(at, value) };
    let lines: Vec<Entry> = [(0, 0.0), (1, 0.0), (2, 4.0), (3, 4.0), (4, 3.0)].map(exact).to_vec();
    let found = one(&lines);
    let changes: Vec<_> = found.changes.iter().map(|c| (c.at, c.percent, c.p_value)).collect();
    assert_eq!(changes, [(2, None, None), (4, Some(-25.0), None)]);
}

#[test]
fn a_change_below_half_a_percent_is_ignored() {
    let lines = |after: f64| -> Vec<Entry> {
        (0..24).map(|at| entry(at, if at < 12 { 100.0 } else { after })).collect()
    };
    assert_eq!(one(&lines(100.4)).changes, []);
    assert_eq!(one(&lines(100.6)).changes.len(), 1);
    assert_eq!(timelines(&lines(110.0), |_, _| true, 12)[0].changes, [], "only the last twelve");
}

#[test]
fn a_driver_that_changed_with_the_metric_is_named() {
    let mut lines = step();
    for line in &mut lines[12..] {
        line.driver = 13_010;
        line.toolchain = Some("rustc 1.97.0".into());
    }
    assert_eq!(
        one(&lines).changes[0].besides,
        ["driver 13000 to 13010", "toolchain rustc 1.95.0 to rustc 1.97.0"]
    );
}

#[test]
fn a_change_needs_more_significance_with_more_timelines() {
    // Six before and six after: two of 924 orders diverge as far, so p is about 0.002.
    let few = |configuration: &str| -> Vec<Entry> {
        let level = |at: u32| if at < 6 { 100.0 } else { 110.0 } + f64::from(at) / 100.0;
        let of = |at: u32| {
            let mut entry = entry(at, level(at));
            let value = entry.values["block=64"];
            entry.values = [(configuration.to_owned(), value)].into();
            entry
        };
        (0..12).map(of).collect()
    };
    assert_eq!(one(&few("block=64")).changes.len(), 1);
    let many: Vec<Entry> = (0..50).flat_map(|block| few(&format!("block={block}"))).collect();
    assert!(all(&many).iter().all(|timeline| timeline.changes.is_empty()));
}
