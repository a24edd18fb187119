//! Filters: one grammar for every subcommand that takes series, and refusals before anything runs.

use crate::support::{Outcome, Packed, Workspace};
use insta::assert_snapshot;

/// `list` of the packed series with `arguments`.
fn list(arguments: &[&str]) -> Outcome {
    let list = ["list", "--archive-file", "packed.tar.zst", "--message-format", "json"];
    Packed::new().other(&[&list[..], arguments].concat()).run()
}

/// The kernels that `arguments` select, each with the number of its configurations.
fn selected(arguments: &[&str]) -> Vec<String> {
    let outcome = list(arguments).exits_with(0);
    let told = |event: &serde_json::Value| {
        let count = event["configurations"].as_array().map_or(0, Vec::len);
        format!("{} {count}", event["series"]["id"]["kernel"].as_str().unwrap_or_default())
    };
    outcome.events_of("series").iter().map(told).collect()
}

#[test]
fn expressions_patterns_and_names_select_series_and_configurations() {
    for (arguments, expected) in [
        (
            &["-E", "series(sc*) | series(gather) & axis(stride > 2)"][..],
            &["gather 2", "scale 2"][..],
        ),
        (&["-E", "series(sc*)", "-E", "axis(stride == 1)"], &["gather 1", "scale 2"]),
        (&["-E", "series(vector::*) - axis(block <= 64)"], &["scale 1"]),
        (&["-E", "axis(how == exits)"], &["ends 1", "flickers 1"]),
        (&["-E", "all()", "gather/"], &["gather 4"]),
        (&["*scale/block=64*", "s*ps"], &["sleeps 3", "scale 1"]),
        (&["--exact", "scale"], &["scale 2"]),
        (&["--exact", "kernels::scale/block=64,n=4096"], &["scale 1"]),
        (&["--exclude-series", "*s", "--exclude-series", "scale"], &["gather 4"]),
    ] {
        assert_eq!(selected(arguments), expected, "{arguments:?}");
    }
}

#[test]
fn a_filter_narrows_a_run_and_a_check_and_the_comparison_with_a_baseline() {
    let packed = Packed::new();
    let measured = |outcome: &Outcome| outcome.events_of("configuration-finished").len();
    let json = ["--message-format", "json"];
    let all = ["vector", "--save-baseline", "all"];
    packed.tool(&[&all[..], &json].concat()).run().exits_with(0);
    let part = ["-E", "series(gather) & !axis(stride > 1)", "--baseline", "all"];
    let outcome = packed.tool(&[&part[..], &json].concat()).run().exits_with(0);
    assert_eq!(measured(&outcome), 1);
    // Configurations that the filter leaves out are not missing; the rest of a whole series would
    // be.
    let [.., run] = &packed.runs()[..] else { panic!("two runs") };
    assert_eq!(Packed::document(run)["comparison"]["vanished"], serde_json::json!([]));
    let check = ["check", "--package", "vector", "-E", "axis(block == 128)"];
    let check = Workspace::fixture("workshop").gpuprof(&[&check[..], &json].concat());
    assert_eq!(measured(&check.exits_with(0)), 1);
}

#[test]
fn mistakes_in_an_expression_are_refused_with_their_place() {
    assert_snapshot!(list(&["-E", "serie(scale)"]).transcript(), @"
    exit code: 2
    ----- stdout -----

    ----- stderr -----
    error: invalid value 'serie(scale)' for '--filterset <EXPRESSION>': no function is named `serie`
      --> the command line
       |
       | serie(scale)
       | ^^^^^
       = help: did you mean `series`?

    For more information, try '--help'.
    ");
    assert_snapshot!(list(&["-E", "series(scale) & axis(blok > 64)"]).transcript(), @"
    exit code: 2
    ----- stdout -----

    ----- stderr -----
    error: no axis is named `blok`
      --> -E
       |
       | series(scale) & axis(blok > 64)
       |                      ^^^^
       = help: did you mean `block`?
    ");
}

#[test]
fn units_patterns_and_conditions_without_a_value_are_refused() {
    assert_snapshot!(list(&["-E", "axis(n > 1Q)"]).transcript(), @"
    exit code: 2
    ----- stdout -----

    ----- stderr -----
    error: invalid value 'axis(n > 1Q)' for '--filterset <EXPRESSION>': `1Q` is not a whole number
      --> the command line
       |
       | axis(n > 1Q)
       |          ^^
       = help: numbers are decimal, with the binary suffixes K, M and G: 64, 1K, 16M

    For more information, try '--help'.
    ");
    assert_snapshot!(list(&["--exclude-series", "~scale"]).transcript(), @"
    exit code: 2
    ----- stdout -----

    ----- stderr -----
    error: invalid value '~scale' for '--exclude-series <PATTERN>': no name has a `~`
      --> the command line
       |
       | ~scale
       | ^
       = help: *text* matches every name that contains text

    For more information, try '--help'.
    ");
    assert_snapshot!(list(&["-E", "axis(64 / (stride - 1) > 0)"]).transcript(), @"
    exit code: 2
    ----- stdout -----

    ----- stderr -----
    error: -E has no value at vector::gather/block=64,stride=1,n=4096: division by zero
    ");
}

#[test]
fn a_filter_that_can_select_nothing_is_refused_before_anything_is_built() {
    // There is nothing to build.
    let folder = tempfile::tempdir().unwrap();
    let nowhere = Workspace::of(folder.path(), &[]);
    for subcommand in ["run", "list", "check"] {
        let outcome = nowhere.gpuprof(&[subcommand, "-E", "none() & series(scale)"]).exits_with(2);
        let expected = "error: -E 'none() & series(scale)' can never select anything\n";
        assert_eq!(outcome.stderr, expected, "{subcommand}");
    }
}

#[test]
fn a_filter_without_matches_names_the_nearest_and_all_series() {
    assert_snapshot!(list(&["-E", "series(sclae)"]).transcript(), @"
    exit code: 4
    ----- stdout -----

    ----- stderr -----
    error: no series matches `-E series(sclae)`: did you mean `scale`?
    there are:
      endings::ends
      endings::sleeps
      endings::waits
      endings::flickers
      vector::gather
      vector::scale
    ");
    assert_snapshot!(list(&["-E", "series(scale)", "-E", "series(gahter)"]).transcript(), @"
    exit code: 4
    ----- stdout -----

    ----- stderr -----
    error: no series matches `-E series(gahter)`: did you mean `gather`?
    there are:
      endings::ends
      endings::sleeps
      endings::waits
      endings::flickers
      vector::gather
      vector::scale
    ");
    assert_snapshot!(list(&["--exclude-series", "scael"]).transcript(), @"
    exit code: 4
    ----- stdout -----

    ----- stderr -----
    error: --exclude-series scael leaves out no series: did you mean `scale`?
    there are:
      endings::ends
      endings::sleeps
      endings::waits
      endings::flickers
      vector::gather
      vector::scale
    ");
    assert_snapshot!(list(&["--exact", "cale"]).transcript(), @"
    exit code: 4
    ----- stdout -----

    ----- stderr -----
    error: no series matches `cale` (--exact compares whole names): did you mean `scale`?
    there are:
      endings::ends
      endings::sleeps
      endings::waits
      endings::flickers
      vector::gather
      vector::scale
    ");
}
