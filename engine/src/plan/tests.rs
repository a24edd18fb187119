#[path = "size_tests.rs"]
mod size_tests;

use super::*;
use gpuprof_model::{Filters, SeriesId, Space};

fn described(kernel: &str, axes: &[&str]) -> (usize, SeriesDescription) {
    let id = SeriesId::new("p", "t", kernel);
    let series = SeriesDescription {
        id,
        source_package: "p".into(),
        source_folder: "/p".into(),
        file: "src/lib.rs".into(),
        line: 1,
        path: String::new(),
        docs: String::new(),
        space: Space::from_clauses(axes).unwrap(),
        old_ranges: Vec::new(),
        thresholds: Vec::new(),
        metrics: Vec::new(),
        check: None,
        device_function: true,
        declared: None,
        launches: Default::default(),
        declared_launches: Vec::new(),
    };
    (0, series)
}

fn select(filters: &[&str]) -> Selection {
    let filters = Filters::of_texts(filters.iter().copied());
    Selection { filters, ..Selection::default() }
}

/// The plan of `all` with `overrides` and `filters` of the command line.
fn overridden(
    all: impl IntoIterator<Item = (usize, SeriesDescription)>,
    overrides: &[&str],
    filters: &[&str],
) -> Result<Vec<PlannedSeries>> {
    let overrides = overrides.iter().map(|text| Override::command_line(text)).collect();
    with(all, overrides, select(filters)).map(|(planned, _)| planned)
}

/// The plan of `all` with `overrides`, and the selection that they make of `selection`.
fn with(
    all: impl IntoIterator<Item = (usize, SeriesDescription)>,
    overrides: Vec<Override>,
    selection: Selection,
) -> Result<(Vec<PlannedSeries>, Selection)> {
    let all: Vec<_> = all.into_iter().collect();
    let overrides = parse_overrides(all.iter().map(|(_, series)| series), overrides)?;
    let selection = Selection { overrides, ..selection };
    Ok((plan(all, &selection)?, selection))
}

#[test]
fn an_override_replaces_the_values_of_the_series_that_have_the_axis() {
    let all = [described("a", &["block=64,128", "n=1"]), described("b", &["tile=8"])];
    let planned = overridden(all, &["block=32..128"], &[]).unwrap();
    assert_eq!(planned[0].configurations.len(), 3);
    assert_eq!(planned[1].configurations.len(), 1);
}

#[test]
fn an_unknown_axis_is_refused_with_the_nearest() {
    let failure = overridden([described("a", &["block=64"])], &["blok=64"], &[]).unwrap_err();
    assert_eq!(failure.code, ExitCode::Usage);
    assert_eq!(failure.message, "no series has an axis `blok`: did you mean `block`?");
    let failure = overridden([described("a", &["block=64"])], &["zzz=64"], &[]).unwrap_err();
    assert_eq!(failure.message, "no series has an axis `zzz`: the axes are block");
}

#[test]
fn an_override_of_another_kind_is_refused() {
    let failure = overridden([described("a", &["block=64"])], &["block=16x16"], &[]).unwrap_err();
    assert_eq!(
        failure.message,
        "axis `block` of p::a takes whole numbers, but --series gives extents such as 16x16"
    );
    let planned = overridden([described("a", &["block=16x16"])], &["block=256"], &[]).unwrap();
    assert_eq!(planned[0].configurations[0].to_string(), "block=256x1");
}

#[test]
fn filters_take_series_or_single_configurations() {
    let all = || [described("a", &["block=64,128"]), described("b", &["block=64"])];
    let keys = |filters: &[&str]| -> Vec<String> {
        let planned = plan(all(), &select(filters)).unwrap();
        planned
            .iter()
            .flat_map(|p| p.configurations.iter().map(|c| format!("{}/{c}", p.series.id.kernel)))
            .collect()
    };
    assert_eq!(keys(&["::a"]), ["a/block=64", "a/block=128"]);
    assert_eq!(keys(&["block=64"]), ["a/block=64", "b/block=64"]);
    let failure = plan(all(), &select(&["zzz"])).unwrap_err();
    assert_eq!(failure.code, ExitCode::NoSeries);
    assert_eq!(failure.message, "no series matches `zzz`\nthere are:\n  p::a\n  p::b");
    // One of several that takes nothing may be a kernel that has another name now.
    assert_eq!(keys(&["::a", "block=64"]), ["a/block=64", "a/block=128", "b/block=64"]);
    let failure = plan(all(), &select(&["::a", "zzz"])).unwrap_err();
    assert_eq!(failure.message, "no series matches `zzz`\nthere are:\n  p::a\n  p::b");
    let exact = |name: &str| {
        let filters = Filters { exact: true, ..Filters::of_texts([name]) };
        plan(all(), &Selection { filters, ..Selection::default() })
    };
    assert_eq!(exact("a").unwrap().len(), 1);
    assert_eq!(
        exact("::a").unwrap_err().message,
        "no series matches `::a` (--exact compares whole names): did you mean `a` or `b`?\nthere \
         are:\n  p::a\n  p::b"
    );
    let filters =
        Filters { expressions: vec!["series(b)".parse().unwrap()], ..Filters::of_texts(["::a"]) };
    let both = plan(all(), &Selection { filters, ..Selection::default() }).unwrap_err().message;
    assert!(both.starts_with("no series matches both `::a` and `-E series(b)`\n"), "{both}");
    let refused = |filter: &str| {
        plan([described("transpose", &["block=64"])], &select(&[filter])).unwrap_err().message
    };
    for near in ["transpsoe", "t::transpos_e", "transpose2/block=64"] {
        let message = refused(near);
        assert!(message.contains("`: did you mean `transpose`?\nthere are:\n"), "{message}");
    }
    let in_file = |kernel: &str, file: &str| {
        let (harness, series) = described(kernel, &["block=64"]);
        (harness, SeriesDescription { file: file.into(), ..series })
    };
    let all = [in_file("ping", "src/cpp.rs"), in_file("scan", "src/lib.rs")];
    let message = plan(all, &select(&["cpp"])).unwrap_err().message;
    assert!(message.starts_with("no series matches `cpp`: did you mean `ping`?\n"), "{message}");
    let subcommands = &["compare", "report"];
    let misspelt = Selection { subcommands, ..select(&["comapre"]) };
    let message = plan([described("transpose", &["block=64"])], &misspelt).unwrap_err().message;
    assert!(message.contains("`comapre`: did you mean the subcommand `compare`?"), "{message}");
    let many = (0..25).map(|i| described(&format!("k{i}"), &["block=64"]));
    let message = plan(many, &select(&["zzz"])).unwrap_err().message;
    let end = "\n  p::k19\n  and 5 more; `cargo gpuprof list` shows them all";
    assert!(message.ends_with(end), "{message}");
}

#[test]
fn a_filter_scopes_overrides_to_what_it_selects() {
    let all = || {
        [
            described("nbody", &["TILE=16,32", "n=1K"]),
            described("matmul", &["const TILE=8,16", "size=128", "where 128 / (size - 128) > 0"]),
            described("scan", &["dtype=f32,f16", "m=4"]),
        ]
    };
    let said = |overrides: &[&str], filters: &[&str]| {
        let planned = overridden(all(), overrides, filters);
        let keys = |planned: Vec<PlannedSeries>| -> Vec<String> {
            let key = |p: &PlannedSeries| p.configurations.iter().map(|c| c.to_string()).collect();
            planned.iter().flat_map(|p| -> Vec<String> { key(p) }).collect()
        };
        planned.map(keys).map_err(|failure| failure.message)
    };
    // `matmul` is compiled for no such TILE, and has a condition without a value.
    for filter in ["nbody", "t::nbody", "nbody/TILE", "n=1024"] {
        assert_eq!(said(&["TILE=64"], &[filter]).unwrap(), ["TILE=64,n=1024"], "{filter}");
    }
    assert_eq!(said(&["TILE=64"], &["TILE=64,n"]).unwrap(), ["TILE=64,n=1024"]);
    assert_eq!(said(&["dtype=f64"], &["f64"]).unwrap(), ["dtype=f64,m=4"]);
    let refused = said(&["TILE=64"], &["matmul"]).unwrap_err();
    assert!(refused.starts_with("axis `TILE` of p::matmul is compiled for"), "{refused}");
    assert!(said(&[], &["matmul"]).unwrap_err().contains("p::matmul: "));
    // An axis that only others have is none of what is selected.
    let refused = said(&["dtype=f64"], &["nbody"]).unwrap_err();
    assert_eq!(refused, "no series has an axis `dtype`: the axes are TILE, n");
    let refused = said(&["where size>1"], &["nbody"]).unwrap_err();
    assert!(refused.starts_with("no axis is named `size`"), "{refused}");
}

#[test]
fn a_plan_without_series_is_an_error() {
    let failure = plan([], &Selection::default()).unwrap_err();
    assert_eq!(failure.code, ExitCode::NoSeries);
    assert!(failure.message.contains("gpuprof::main!"));
}

fn planned(axes: &[&str], selection: &Selection) -> Vec<String> {
    let planned =
        plan([described("a", axes)], selection).unwrap_or_else(|e| panic!("{}", e.message));
    planned[0].configurations.iter().map(ToString::to_string).collect()
}

/// The configurations of a series with `axes` under `overrides`.
fn points(axes: &[&str], overrides: &[&str]) -> Vec<String> {
    let planned = overridden([described("a", axes)], overrides, &[]);
    let planned = planned.unwrap_or_else(|e| panic!("{}", e.message));
    planned[0].configurations.iter().map(ToString::to_string).collect()
}

fn refused(axes: &[&str], overrides: &[&str]) -> String {
    let failure = overridden([described("a", axes)], overrides, &[]).unwrap_err();
    assert_eq!(failure.code, ExitCode::Usage);
    failure.message
}

#[test]
fn a_condition_of_the_command_line_adds_to_the_annotated_ones() {
    let axes = ["block=64..512", "n=1,2", "where n==2"];
    assert_eq!(points(&axes, &["where block * n <= 256"]), ["block=64,n=2", "block=128,n=2"]);
    let failure = overridden([described("a", &axes)], &["where blok > 1"], &[]).unwrap_err();
    assert_eq!(
        failure.message,
        "no axis is named `blok`\n  --> --series\n   |\n   | where blok > 1\n   |       ^^^^\n   = \
         help: did you mean `block`?"
    );
    let nothing = overridden([described("a", &axes)], &["where block>9999"], &[]).unwrap_err();
    assert_eq!(nothing.code, ExitCode::NoSeries);
    assert_eq!(
        nothing.message,
        "no configuration meets the conditions of p::a (where n==2, where block>9999)"
    );
}

#[test]
fn a_condition_that_compares_extents_with_a_number_is_refused_for_its_series() {
    let all = || [described("a", &["block=64,128"]), described("b", &["block=8x8,16x16"])];
    let filtered = |text: &str, texts: &[&str]| {
        let expressions = vec![text.parse().unwrap()];
        let filters = Filters { expressions, ..Filters::of_texts(texts.iter().copied()) };
        let planned = with(all(), Vec::new(), Selection { filters, ..Selection::default() });
        planned.map(|(planned, _)| planned.iter().map(|it| it.configurations.len()).sum::<usize>())
    };
    let refused = filtered("axis(block > 64)", &[]).unwrap_err();
    assert_eq!(refused.code, ExitCode::Usage);
    assert_eq!(
        refused.message,
        "expected a whole number, and this is an extent in p::b\n  --> -E\n   |\n   | axis(block \
         > 64)\n   |      ^^^^^\n   = help: compare it with an extent, block == 16x16, or a part of \
         it: block.x, .y or .z"
    );
    assert_eq!(filtered("axis(block.x > 64)", &[]).unwrap(), 1);
    assert_eq!(filtered("axis(block > 64) & series(a)", &[]).unwrap(), 1);
    assert_eq!(filtered("axis(block > 64)", &["::a"]).unwrap(), 1);
    let refused = overridden(all(), &["where block!=64"], &[]).unwrap_err();
    let told = "an extent is never equal to a whole number in p::b\n  --> --series";
    assert!(refused.message.starts_with(told), "{}", refused.message);
    assert_eq!(overridden(all(), &["where block!=64"], &["::a"]).unwrap().len(), 1);
}

#[test]
fn a_series_whose_conditions_keep_nothing_stays_in_the_plan() {
    let all = [described("a", &["block=64"]), described("b", &["block=1024"])];
    let planned = overridden(all, &["where block>512"], &[]).unwrap();
    assert_eq!(planned.iter().map(|p| p.configurations.len()).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn a_constant_may_only_be_chosen_among_its_compiled_values() {
    let axes = ["const TILE=8,16,32", "n=1"];
    assert_eq!(points(&axes, &["TILE=16"]), ["TILE=16,n=1"]);
    assert_eq!(points(&axes, &["const TILE=16,8"]), ["TILE=16,n=1", "TILE=8,n=1"]);
    assert_eq!(
        refused(&axes, &["TILE=16,64"]),
        "axis `TILE` of p::a is compiled for 8, 16, 32, not for 64; choose one of these, or add \
         it to const TILE at src/lib.rs:1"
    );
    assert!(
        refused(&axes, &["TILE = n * 8"]).contains("is compiled in and cannot follow from `n * 8`")
    );
}

#[test]
fn zipped_axes_are_overridden_together() {
    let axes = ["zip(a=1,2, b=3,4)"];
    assert_eq!(points(&axes, &["a=5,6"]), ["a=5,b=3", "a=6,b=4"]);
    assert_eq!(points(&axes, &["zip(a=1,2,3, b=4,5,6)"]).len(), 3);
    assert_eq!(
        refused(&axes, &["a=1,2,3"]),
        "`a` and `b` of p::a are zipped, but have 3 and 2 values; give both: --series 'zip(a = \
         …, b = …)'"
    );
    assert_eq!(points(&["a=1,2", "b=3,4"], &["zip(a=1,2, b=3,4)"]), ["a=1,b=3", "a=2,b=4"]);
    assert!(
        refused(&["zip(a=1,2, b=3,4)", "c=1"], &["zip(a=1,2, c=3,4)"])
            .contains("is also zipped with `b`")
    );
}

#[test]
fn formulas_can_be_overridden_by_formulas_and_by_values() {
    let axes = ["n=1,2", "t = n * 2"];
    assert_eq!(points(&axes, &["t = n * 3"]), ["n=1,t=3", "n=2,t=6"]);
    assert_eq!(points(&axes, &["t = 7"]), ["n=1,t=7", "n=2,t=7"]);
    assert!(refused(&axes, &["t = n > 3"]).starts_with("axis `t` cannot be a condition"));
    assert!(
        refused(&axes, &["n = t * 2"]).starts_with("no axis is named `n`")
            || refused(&axes, &["n = t * 2"]).contains("`t`")
    );
    assert_eq!(
        refused(&axes, &["t = n - 2", "where n - 2 < 0"]).lines().next().unwrap(),
        "p::a: axis `t` would be -1 in `n - 2` at n=1 (help: leave the configuration out with where)"
    );
}

#[test]
fn the_configuration_file_reaches_only_its_series() {
    let change = Override {
        text: "block=32".into(),
        place: ".config/gpuprof.toml".into(),
        only: Some("::b".into()),
        code: ExitCode::Configuration,
    };
    let all = || [described("a", &["block=64"]), described("b", &["block=64"])];
    let plan = |change| with(all(), vec![change], Selection::default());
    let (planned, _) = plan(change.clone()).unwrap();
    let keys: Vec<String> = planned.iter().map(|p| p.configurations[0].to_string()).collect();
    assert_eq!(keys, ["block=64", "block=32"]);
    let misspelt = Override { text: "blok=32".into(), ..change };
    let failure = plan(misspelt).unwrap_err();
    assert_eq!(failure.code, ExitCode::Configuration);
}

#[test]
fn an_unlisted_word_is_refused_with_the_nearest() {
    let series = || [described("a", &["layout=rows, columns", "n=1"])];
    let unlisted = |values: &str| {
        let planned = overridden(series(), &[values], &[]).unwrap();
        assert_eq!(planned[0].configurations.len(), planned[0].series.space.axes[0].values.len());
        planned[0].unlisted.clone()
    };
    assert_eq!(unlisted("layout=columns"), [""; 0]);
    assert_eq!(unlisted("n=2"), [""; 0]);
    assert_eq!(
        unlisted("layout=row,columns,zzzzzz"),
        [
            "axis `layout` of p::a lists rows, columns, and not `row`, which runs all the same; did you \
             mean `rows`?",
            "axis `layout` of p::a lists rows, columns, and not `zzzzzz`, which runs all the same",
        ]
    );
}

#[test]
fn configurations_left_out_by_the_file_are_counted() {
    let all = [described("a", &["block=64,128", "n=1,2,3,4"]), described("b", &["tile=8,16"])];
    let of_file = Override {
        text: "n=1".into(),
        place: "gpuprof.toml".into(),
        only: Some("t::a".into()),
        code: ExitCode::Configuration,
    };
    let told = |overrides: Vec<Override>, sample: Option<usize>, sampled: Option<&str>| {
        let selection = Selection { sample, ..Selection::default() };
        let (planned, selection) = with(all.clone(), overrides, selection).unwrap();
        left_out(all.iter().map(|(_, series)| series), &planned, &selection, sampled)
    };
    let axes = "`n=1` of [series.\"t::a\"] in gpuprof.toml";
    let six = format!("6 of 8 configurations of p::a are left out by {axes}");
    assert_eq!(told(vec![of_file.clone()], None, None), std::slice::from_ref(&six));
    assert_eq!(told(vec![of_file.clone()], Some(1), None), [six]);
    let sampled = "`sample = 1` of gpuprof.toml";
    assert_eq!(
        told(vec![of_file], Some(1), Some(sampled)),
        [
            format!("7 of 8 configurations of p::a are left out by {axes}, {sampled}"),
            format!("1 of 2 configurations of p::b are left out by {sampled}"),
        ]
    );
    let asked = vec![Override::command_line("n=1")];
    assert_eq!(told(asked, Some(1), None), [] as [&str; 0]);
}
