//! Settings of the configuration file, end to end: the view, the exports and the build of a run.

use std::fs;

use crate::support::{Packed, Workspace};

/// A run of three configurations with `file` as its configuration, and what is `given` next to it.
fn run(packed: &Packed, file: &str, given: &[&str]) -> crate::support::Outcome {
    fs::write(packed.path().join("own.toml"), file).expect("it can be written");
    let few = ["gather", "--series", "stride=1,2,4", "--backend", "emulator"];
    packed.tool(&[&["--config-file", "own.toml"], &few[..], given].concat()).run()
}

#[test]
fn the_command_line_overrides_views_and_exports_of_the_file() {
    let packed = Packed::new();
    let file = "quiet = true\ncolor = \"always\"\nsort = \"stride desc\"\ntop = 2\n\
                columns = [\"stride\", \"global_sectors\"]\nexport-csv = \"out/all.csv\"\n\
                [preset.json]\nmessage-format = \"json\"\n";
    let nowhere = run(&packed, file, &[]).exits_with(110);
    let root = packed.path().display();
    assert!(
        nowhere.stderr.contains("out/all.csv: there is no folder"),
        "{root}: {}",
        nowhere.stderr
    );
    assert!(!packed.path().join("out").exists(), "no folder is made for a mistyped one");
    fs::create_dir(packed.path().join("out")).expect("it can be made");
    let of_file = run(&packed, file, &[]).exits_with(0);
    assert_eq!(of_file.stderr, "");
    assert!(of_file.stdout.contains("\u{1b}["), "{}", of_file.stdout);
    assert!(of_file.stdout.contains("--top shows 2 of 3 rows, sorted by stride, largest first"));
    let csv = packed.path().join("out/all.csv");
    let rows = fs::read_to_string(&csv).expect("it was written");
    assert!(rows.lines().count() > 3, "an export holds all rows: {rows}");

    fs::remove_file(&csv).expect("it is there");
    let given = ["--no-quiet", "--color", "never", "--top", "1", "--export-csv", "here.csv"];
    let given = run(&packed, file, &given).exits_with(0);
    assert!(given.stderr.contains("[3/3] "), "{}", given.stderr);
    assert!(given.stdout.contains("--top shows 1 of 3 rows, sorted by stride"));
    assert!(!given.stdout.contains('\u{1b}'), "{}", given.stdout);
    assert!(packed.path().join("here.csv").is_file() && !csv.exists());

    let lines = run(&packed, file, &["-P", "json"]).exits_with(0);
    assert_eq!(lines.events_of("run-finished").len(), 1, "{}", lines.stdout);
}

#[test]
fn an_invalid_view_of_the_file_is_a_configuration_error() {
    let packed = Packed::new();
    let wrong = run(&packed, "sort = \"blok\"\n", &[]).exits_with(96);
    let told = "error: own.toml: `sort`: no metric is named `blok`";
    assert!(wrong.stderr.contains(told), "{}", wrong.stderr);
    run(&packed, "sort = \"blok\"\n", &["--sort", "stride"]).exits_with(0);
    // A stored run is shown with its original view; a complete export takes no view.
    let report = |given: &[&str]| {
        let report = ["report", "--config-file", "own.toml"];
        packed.other(&[&report[..], given].concat()).run()
    };
    report(&[]).exits_with(96);
    report(&["--format", "json"]).exits_with(0);
    fs::write(packed.path().join("own.toml"), "top = 1\n").expect("it can be written");
    let shown = report(&[]).exits_with(0);
    assert!(shown.stdout.contains("--top shows 1 of 3 rows"), "{}", shown.stdout);
}

#[test]
fn the_file_sets_build_options_and_quiet_silences_cargo() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let workspace = Workspace::fixture("workshop").copied_to(folder.path());
    let file = workspace.root.join(".config/gpuprof.toml");
    fs::create_dir_all(file.parent().expect("it has one")).expect("it can be made");
    let list = |text: &str, given: &[&str]| {
        fs::write(&file, text).expect("it can be written");
        workspace.gpuprof(&[&["list", "--package", "vector"], given].concat())
    };
    let profile = list("profile = \"nonesuch\"\n", &[]).exits_with(101);
    assert!(profile.stderr.contains("`nonesuch`"), "{}", profile.stderr);
    let features = list("[preset.wide]\nfeatures = [\"wide\"]\n", &["-P", "wide"]).exits_with(101);
    assert!(features.stderr.contains("wide"), "{}", features.stderr);
    let bench = list("bench = [\"nonesuch\"]\n", &[]).exits_with(2);
    assert!(bench.stderr.contains("no bench target is named `nonesuch`"), "{}", bench.stderr);
    let file = "bench = [\"kernels\"]\nfeatures = [\"gpu\"]\n";
    let required = list(file, &["--package", "foreign"]).exits_with(0);
    assert!(required.stdout.contains("foreign::empty"), "{}", required.stdout);
    let elsewhere = list("package = \"vector\"\n", &[]).exits_with(96);
    let told = "help: what is built is chosen on the command line";
    assert!(elsewhere.stderr.contains(told), "{}", elsewhere.stderr);
}

#[test]
fn ranges_with_two_dots_are_deprecated_once() {
    let packed = Packed::new();
    let axes = "[series.\"waits\"]\naxes = [\"step = 1..2\"]\n";
    fs::write(packed.path().join("own.toml"), axes).expect("it can be written");
    let json = ["--message-format", "json"];
    let told = |more: &[&str]| {
        let outcome = packed.tool(&[&json[..], more].concat()).run().exits_with(0);
        let lines = outcome.stderr.lines().filter(|line| line.contains("..=")).map(str::to_owned);
        (lines.collect::<Vec<_>>(), outcome.events_of("configuration-finished").len())
    };
    let said = "gpuprof: axes include the end of a range; as in Rust, write ..= for that: step=1..=8 \
                step 1 at endings/src/lib.rs:77";
    assert_eq!(told(&["waits", "--series", "step=1..4"]), (vec![said.to_owned()], 3));
    let file = ["waits", "gather", "--config-file", "own.toml"];
    assert_eq!(told(&file), (vec![format!("{said}; step = 1..=2 in own.toml")], 6));
    assert_eq!(told(&["gather"]), (Vec::new(), 4));
}
