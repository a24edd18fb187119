//! Advice, from a run on the emulated driver to its report, and the rules of a workspace.

use std::fs;

use serde_json::Value;

use crate::support::{FakeGpu, Tool, Workspace};

const STRIDED: [&str; 4] = ["run", "--package", "vector", "gather/block=64,stride=8"];

#[test]
fn a_strided_load_is_advised_on_and_the_report_of_the_stored_run_says_the_same() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let export = folder.path().join("run.json").display().to_string();
    let workspace = Workspace::fixture("workshop");
    let arguments = [&STRIDED[..], &["--quiet", "--export-json", &export, "--no-gate"]].concat();
    let outcome = workspace.gpuprof(&arguments).exits_with(0);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = fs::read_to_string(&export).expect("it was exported");
    let run: Value = serde_json::from_str(&text).expect("it is JSON");
    let pieces = run["advice"][0]["pieces"].as_array().expect("there is advice");
    let piece = pieces.iter().find(|piece| piece["rule"] == "uncoalesced-ld").expect("it speaks");
    let message = piece["message"].as_str().expect("it is a text");
    assert!(message.contains("32.0 sectors for each request of a warp"), "{message}");
    assert_eq!(piece["gain"], serde_json::json!({ "kind": "use", "percent": 87.5 }));
    assert_eq!(piece["certainty"], "certain");
    let report = workspace.gpuprof(&["report", &export]).exits_with(0);
    for shown in [&outcome.stdout, &report.stdout] {
        assert!(words(shown).contains(message), "{shown}");
    }
    let rules = workspace.gpuprof(&["rules", "uncoalesced-ld", "--run", &export]).exits_with(0);
    assert!(rules.stdout.contains("the run has what it reads"), "{}", rules.stdout);
    let rules = workspace.gpuprof(&["rules", "stall-wait", "--run", &export]).exits_with(0);
    assert!(rules.stdout.contains("the run lacks smsp__"), "{}", rules.stdout);
}

#[test]
fn a_custom_rule_gives_advice_and_an_invalid_one_is_refused() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let write = |when: &str| {
        let text = format!(
            "id = \"own\"\nname = \"own\"\nwhen = \"{when}\"\nmessage = \"{{loads}} loads\"\n\
             certainty = \"certain\"\n[inputs]\n\
             loads = \"smsp__sass_inst_executed_op_global_ld.sum\"\n"
        );
        fs::write(folder.path().join("own.toml"), text).expect("it can be written");
    };
    let rules = folder.path().display().to_string();
    let arguments = [&STRIDED[..], &["--quiet", "--no-gate", "--rules", &rules]].concat();
    let workspace = Workspace::fixture("workshop");
    write("loads >= 128");
    let outcome = workspace.gpuprof(&arguments).exits_with(0);
    assert!(outcome.stdout.contains("128 loads at block=64,stride=8"), "{}", outcome.stdout);
    write("lods >= 128");
    let outcome = workspace.gpuprof(&arguments).exits_with(96);
    let expected = "own.toml:3: `lods` is not a name of this rule: did you mean `loads`?";
    assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    let outcome = workspace.gpuprof(&["rules", "blok-size"]).exits_with(2);
    assert!(outcome.stderr.contains("did you mean `block-size`?"), "{}", outcome.stderr);
}

#[test]
fn a_custom_rule_gives_advice_in_json_lines_and_from_a_stored_run() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (rules, run) = (path("rules"), path("run.json"));
    let rule = |message: &str| {
        let text = format!(
            "id = \"own\"\nname = \"own\"\nwhen = \"loads >= 128\"\ncertainty = \"certain\"\n\
             message = \"{message}\"\n[inputs]\n\
             loads = \"smsp__sass_inst_executed_op_global_ld.sum\"\n"
        );
        fs::create_dir_all(&rules).expect("a folder can be made");
        fs::write(folder.path().join("rules/own.toml"), text).expect("it can be written");
    };
    rule("{loads} loads");
    let workspace = Workspace::fixture("workshop");
    let arguments = ["--quiet", "--no-gate", "--rules", &rules, "--export-json", &run];
    let arguments = [&STRIDED[..], &arguments, &["--message-format", "json"]].concat();
    let lines = workspace.gpuprof(&arguments).exits_with(0).stdout;
    let objects = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let advice: Vec<Value> = objects.filter(|line| line["advice"].is_array()).collect();
    let [line] = &*advice else { panic!("not one line of advice: {lines}") };
    assert!(line["advice"].to_string().contains(r#""message":"128 loads""#), "{line}");

    let report = |more: &[&str]| {
        let arguments = [&["report", "run.json"], more].concat();
        let there = folder.path();
        Tool::new(&arguments, there, &there.join("not-used")).run().exits_with(0).stdout
    };
    let text = report(&[]);
    assert!(text.contains("128 loads at block=64,stride=8"), "{text}");
    rule("of now: {loads}");
    let text = report(&["--rules", &rules]);
    assert!(text.contains("of now: 128 at block=64,stride=8"), "{text}");
    assert!(!text.contains("128 loads"), "{text}");
}

#[test]
fn counters_of_rules_are_collected_and_their_cost_reported() {
    let gpu = FakeGpu::new();
    let workspace = Workspace::fixture("workshop");
    let arguments = [&STRIDED[..], &["--repeat", "1", "--no-gate", "--advice"]].concat();
    let outcome = gpu.tool(&workspace, &arguments).run().exits_with(0);
    let note = outcome.stderr.lines().find(|line| line.contains("--advice collects "));
    let note = note.unwrap_or_else(|| panic!("no cost: {}", outcome.stderr));
    assert!(note.contains(" more counters for the rules of advice: "), "{note}");
    assert!(note.contains(" for a configuration instead of "), "{note}");
    let without = gpu.tool(&workspace, &arguments[..arguments.len() - 1]).run().exits_with(0);
    assert!(!without.stderr.contains("--advice"), "{}", without.stderr);
}
