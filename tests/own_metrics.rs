//! Metrics that a configuration file defines, from their definition to a verdict on stored runs.

use std::fs;
use std::path::Path;

use support::{Outcome, Workspace};

/// A file that defines `loads` by `formula`.
fn configured(folder: &Path, formula: &str) -> String {
    let file = folder.join("gpuprof.toml");
    let text = format!(
        "[metrics]\nshow = [\"loads\"]\n[metrics.loads]\nformula = \"{formula}\"\nunit = \"B\"\ndirection = \"lower\"\n"
    );
    fs::write(&file, text).expect("it can be written");
    file.display().to_string()
}

/// One configuration of `gather` with the options `more`; the run is written to `export`.
fn measured(stride: &str, config: &str, export: &str) -> Outcome {
    let name = format!("gather/block=64,stride={stride}");
    Workspace::fixture("workshop")
        .gpuprof(&[
            "run",
            "--package",
            "vector",
            &name,
            "--quiet",
            "--config-file",
            config,
            "--export-json",
            export,
        ])
        .exits_with(0)
}

#[test]
fn stored_runs_are_compared_and_shown_by_metrics_of_a_configuration_file_that_is_not_there() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let config = configured(folder.path(), "32 * smsp__sass_inst_executed_op_global_ld.sum");
    let [few, many] = ["few.json", "many.json"].map(|name| folder.path().join(name));
    let [few, many] = [&few, &many].map(|path| path.display().to_string());
    measured("1", &config, &few);
    configured(folder.path(), "64 * smsp__sass_inst_executed_op_global_ld.sum");
    measured("1", &config, &many);
    let workshop = Workspace::fixture("workshop");
    // An exact metric that a series shows may not get worse, whoever defined it.
    let worse = workshop.gpuprof(&["compare", &few, &many]).exits_with(100);
    assert!(worse.stdout.contains("threshold: 1 failed"), "{}", worse.stdout);
    workshop.gpuprof(&["compare", &many, &few]).exits_with(0);
    let least = ["--threshold", "every loads <= 1 B"];
    workshop.gpuprof(&[&["compare", &many, &few][..], &least].concat()).exits_with(100);
    // Its unit is known as well.
    let unit = ["--threshold", "every loads <= 1 us"];
    let refused = workshop.gpuprof(&[&["compare", &many, &few][..], &unit].concat());
    assert!(refused.exits_with(2).stderr.contains("`loads` needs a limit in B"));
    let options = ["--columns", "block,loads", "--sort", "loads", "--best-by", "loads"];
    let shown = workshop.gpuprof(&[&["report", &few][..], &options].concat()).exits_with(0);
    assert!(shown.stdout.contains("loads [KiB]"), "{}", shown.stdout);
    let unknown = workshop.gpuprof(&["report", &few, "--columns", "lods"]).exits_with(2);
    assert!(unknown.stderr.contains("did you mean `loads`"), "{}", unknown.stderr);
}
