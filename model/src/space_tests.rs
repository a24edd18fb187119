use super::*;
use proptest::prelude::*;

fn space(clauses: &[&str]) -> Space {
    Space::from_clauses(clauses).unwrap_or_else(|errors| {
        panic!("{}", errors.iter().map(|(at, e)| e.render("x", clauses[*at])).collect::<String>())
    })
}

fn keys(clauses: &[&str]) -> Vec<String> {
    space(clauses).points().map(|point| point.unwrap().to_string()).collect()
}

fn errors(clauses: &[&str]) -> String {
    let errors = Space::from_clauses(clauses).unwrap_err();
    errors.iter().map(|(at, e)| e.render("series", clauses[*at]) + "\n").collect()
}

#[test]
fn the_last_axis_varies_fastest() {
    assert_eq!(
        keys(&["block=64..128", "n=1,2,3"]),
        [
            "block=64,n=1",
            "block=64,n=2",
            "block=64,n=3",
            "block=128,n=1",
            "block=128,n=2",
            "block=128,n=3"
        ]
    );
    assert_eq!(keys(&[]), [""], "a series without axes has one configuration");
}

#[test]
fn zipped_axes_advance_together() {
    assert_eq!(
        keys(&["zip(block=64,128, n=1K,2K)", "dtype=f32,f16"]),
        [
            "block=64,n=1024,dtype=f32",
            "block=64,n=1024,dtype=f16",
            "block=128,n=2048,dtype=f32",
            "block=128,n=2048,dtype=f16"
        ]
    );
}

#[test]
fn derived_axes_follow_and_may_be_launch_parameters() {
    assert_eq!(
        keys(&["block = warps * 32", "warps = 1..4", "half = block / 2"]),
        ["warps=1,block=32,half=16", "warps=2,block=64,half=32", "warps=4,block=128,half=64"]
    );
    assert_eq!(keys(&["block=16x8", "threads = block.x * block.y"]), ["block=16x8,threads=128"]);
    assert_eq!(
        keys(&["dtype=f16,f32", "copy = dtype"]),
        ["dtype=f16,copy=f16", "dtype=f32,copy=f32"]
    );
}

#[test]
fn conditions_keep_combinations() {
    assert_eq!(
        keys(&["block=64..512", "n=1,2", "where block * n <= 256 && n != 1", "where block>64"]),
        ["block=128,n=2"]
    );
    assert_eq!(keys(&["n=1,2", "t = n * 2", "where t==4"]), ["n=2,t=4"]);
    assert_eq!(keys(&["dtype=f32,f16", "where dtype==f16"]), ["dtype=f16"]);
    assert!(keys(&["n=1,2", "where 1>2"]).is_empty());
}

#[test]
fn a_failed_condition_skips_all_later_axes() {
    let clauses =
        ["a=1..1000 step 1", "b=1..1000 step 1", "c=1..1000 step 1", "where a==7", "where b<=2"];
    let space = space(&clauses);
    let mut points = space.points();
    assert_eq!(points.combinations(), 1_000_000_000);
    assert_eq!(points.by_ref().count(), 2000);
    // 999 values of a, 998 values of b, and the 2000 that are kept.
    assert_eq!(points.visited(), 999 + 998 + 2000);
}

#[test]
fn a_space_beyond_64_bits_still_gives_its_points() {
    let axis = |name: &str| format!("{name}=1..1000000 step 1");
    let clauses: Vec<String> = ["a", "b", "c", "d"].map(axis).into();
    let space = Space::from_clauses(&clauses).unwrap();
    assert_eq!(space.combinations(), None);
    assert_eq!(space.points().next().unwrap().unwrap().to_string(), "a=1,b=1,c=1,d=1");
}

#[test]
fn all_wrong_clauses_are_reported_at_once() {
    assert_eq!(
        errors(&["block=64..63", "n=", "where blok>1"]),
        "the range 64..63 is empty: it runs downwards\n  --> series\n   |\n   | block=64..63\n   |       ^^^^^^\n   \
         = help: write 63..=64\nexpected values\n  --> series\n   |\n   | n=\n   |   ^\n   \
         = help: write a range such as 64..=1024 or a list such as 64,96,128\n"
    );
    assert_eq!(
        errors(&["block=64", "where blok > 1", "t = block + dtype", "dtype=f32"]),
        "no axis is named `blok`\n  --> series\n   |\n   | where blok > 1\n   |       ^^^^\n   = \
         help: did you mean `block`?\n\
         expected a whole number, and this is a word\n  --> series\n   |\n   | t = block + dtype\n   |             ^^^^^\n"
    );
}

#[test]
fn a_misspelt_axis_in_place_of_values_is_named_and_other_text_is_a_wrong_list() {
    assert_eq!(
        errors(&["block=64", "threads = blok * 2"]),
        "no axis is named `blok`\n  --> series\n   |\n   | threads = blok * 2\n   |           ^^^^\n   = \
         help: did you mean `block`?\n"
    );
    let wrong_list = errors(&["block=64", "threads = 2 * 64"]);
    assert!(wrong_list.starts_with("unexpected `* 64` after the values"), "{wrong_list}");
    assert_eq!(keys(&["block=64", "way = blok"]), ["block=64,way=blok"], "a word");
}

#[test]
fn a_derived_axis_may_use_only_earlier_axes() {
    assert!(errors(&["n=1", "a = n + b", "b = n + 1"]).starts_with("no axis is named `b`"));
    assert!(errors(&["n=1", "a = n > 1"]).starts_with("axis `a` cannot be a condition"));
    assert_eq!(keys(&["n=1", "b = n + 1", "a = n + b"]), ["n=1,b=2,a=3"]);
}

#[test]
fn an_expression_without_a_value_says_at_which_configuration() {
    let error =
        |clauses: &[&str]| space(clauses).points().find_map(Result::err).unwrap().to_string();
    assert_eq!(error(&["n=0,1", "where 8 / n > 1"]), "division by zero in `8 / n > 1` at n=0");
    assert_eq!(
        error(&["n=1,2", "t = n - 2"]),
        "axis `t` would be -1 in `n - 2` at n=1 (help: leave the configuration out with where)"
    );
    assert!(error(&["warps=2,4", "block = warps - 2"]).starts_with("axis `block` cannot be 0"));
    assert_eq!(keys(&["n=1,2", "t = n - 2", "where n>1"]), ["n=2,t=0"]);
}

#[test]
fn a_space_survives_json() {
    let space = space(&["const TILE=8,16", "zip(a=1,2, b=3,4)", "t = TILE * a", "where t>8"]);
    let json = serde_json::to_string(&space).unwrap();
    assert_eq!(serde_json::from_str::<Space>(&json).unwrap(), space);
    assert_eq!(space.dependent().collect::<Vec<_>>(), ["b", "t"]);
    assert_eq!(space.kind_of("t"), Some(AxisKind::Int));
    assert_eq!(space.constants["TILE"].len(), 2);
}

proptest! {
    #[test]
    fn lazy_filters_keep_what_brute_force_keeps(
        lens in prop::collection::vec(1_u64..6, 1..5),
        filters in prop::collection::vec((0..4_usize, 0..4_usize, 1_u64..20), 0..4),
    ) {
        let names = ["a", "b", "c", "d"];
        let mut clauses: Vec<String> =
            lens.iter().zip(names).map(|(len, name)| format!("{name}=1..{len} step 1")).collect();
        let pick = |at: usize| at % lens.len();
        for (left, right, limit) in &filters {
            clauses.push(format!("where {} * {} <= {limit}", names[pick(*left)], names[pick(*right)]));
        }
        let space = Space::from_clauses(&clauses).unwrap();
        let found: Vec<String> = space.points().map(|p| p.unwrap().to_string()).collect();
        let mut brute = vec![Vec::new()];
        for len in &lens {
            brute = brute.into_iter().flat_map(|point: Vec<u64>| (1..=*len).map(move |v| [point.clone(), vec![v]].concat())).collect();
        }
        brute.retain(|p| filters.iter().all(|(l, r, limit)| p[pick(*l)] * p[pick(*r)] <= *limit));
        let brute: Vec<String> = brute.iter().map(|p| {
            let pairs: Vec<String> = p.iter().zip(names).map(|(v, n)| format!("{n}={v}")).collect();
            pairs.join(",")
        }).collect();
        prop_assert_eq!(found, brute);
    }
}

/// Found by `fuzz/fuzz_targets/series.rs`: the parser read past the end of the second declaration.
#[test]
fn an_axis_that_is_declared_twice_is_refused_where_it_is_declared_again() {
    let errors = Space::from_clauses(&["zip(a = r,s, b = x,y)", "b = 18"]).unwrap_err();
    let [(1, error)] = errors.as_slice() else { panic!("{errors:?}") };
    assert_eq!((error.message.as_str(), error.span.clone()), ("axis `b` is declared twice", 0..1));
    // `const` holds an `n` as well.
    for (again, span) in [("const n = 2", 6..7), ("zip(ann = 1,2, n = 3,4)", 15..16)] {
        let errors = Space::from_clauses(&["n = 1", again]).unwrap_err();
        assert_eq!((errors[0].0, errors[0].1.span.clone()), (1, span), "{again}");
    }
}
