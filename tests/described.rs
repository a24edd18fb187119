//! The tool as shells, `man` and the README describe it.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Workspace, repository_folder};

/// The output of one of our commands.
fn printed(arguments: &[&str]) -> String {
    let outcome = Workspace::fixture("workshop").gpuprof(arguments);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
    outcome.stdout
}

/// The completions of bash for a command line with an incomplete last word.
fn offered(script: &Path, words: &[&str]) -> Vec<String> {
    let ask = r#"
        set -e
        source "$1"; shift
        complete -p cargo-gpuprof > /dev/null
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        _cargo_gpuprof "$1" "${@: -1}" "${@: -2:1}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", ask, "bash"]).arg(script).args(words);
    let output = bash.output().expect("there is a bash");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    text.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_subcommands_options_and_values() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("cargo-gpuprof");
    fs::write(&script, printed(&["completions", "bash"])).unwrap();
    let subcommands = offered(&script, &["cargo-gpuprof", ""]);
    assert!(subcommands.contains(&"show-config".to_owned()), "{subcommands:?}");
    assert!(!subcommands.iter().any(|it| it.starts_with("__")), "{subcommands:?}");
    assert_eq!(offered(&script, &["cargo-gpuprof", "comp"]), ["compare", "completions"]);
    assert_eq!(offered(&script, &["cargo-gpuprof", "run", "--replay"]), ["--replay-mode"]);
    assert_eq!(
        offered(&script, &["cargo-gpuprof", "run", "--replay-mode", ""]),
        ["application", "range", "kernel", "none"]
    );
}

#[test]
fn every_shell_gets_a_script_of_its_own() {
    for (shell, start) in [
        ("zsh", "#compdef cargo-gpuprof"),
        ("fish", "# Print an optspec"),
        ("elvish", "\nuse builtin;"),
        ("powershell", "\nusing namespace System.Management.Automation"),
    ] {
        let script = printed(&["completions", shell]);
        assert!(script.starts_with(start), "{shell}: {}", &script[..80]);
        assert!(script.contains("show-config"), "{shell}");
    }
    let outcome = Workspace::fixture("workshop").gpuprof(&["completions", "tcsh"]);
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.contains("[possible values: bash, elvish, fish, powershell, zsh]"));
}

#[test]
fn the_manual_page_has_synopsis_options_and_exit_codes() {
    let page = printed(&["man"]);
    let lines: Vec<&str> = page.lines().collect();
    let title = concat!(".TH cargo-gpuprof 1  \"gpuprof ", env!("CARGO_PKG_VERSION"), "\" gpuprof");
    assert!(lines.contains(&title), "{page}");
    for expected in [
        ".SH SYNOPSIS",
        "\\fBcargo gpuprof\\fR",
        "\\fB\\-\\-series\\fR",
        "cargo\\-gpuprof\\-run(1)",
        "100  a threshold failed",
    ] {
        assert!(page.contains(expected), "`{expected}` is not in\n{page}");
    }
    assert!(!page.contains("__"), "hidden subcommands stay hidden");
}

#[test]
fn a_folder_gets_a_page_for_every_subcommand() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man1");
    assert_eq!(printed(&["man", "--out-dir", pages.to_str().unwrap()]), "");
    let entries = fs::read_dir(&pages).unwrap().map(|it| it.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|it| it.into_string().unwrap()).collect();
    names.sort();
    let expected = [
        "cargo-gpuprof-archive.1",
        "cargo-gpuprof-baseline-accept.1",
        "cargo-gpuprof-baseline-export.1",
        "cargo-gpuprof-baseline-import.1",
        "cargo-gpuprof-baseline-list.1",
        "cargo-gpuprof-baseline-rm.1",
        "cargo-gpuprof-baseline-show.1",
        "cargo-gpuprof-baseline.1",
        "cargo-gpuprof-calibrate.1",
        "cargo-gpuprof-characterize.1",
        "cargo-gpuprof-check.1",
        "cargo-gpuprof-compare.1",
        "cargo-gpuprof-completions.1",
        "cargo-gpuprof-doctor.1",
        "cargo-gpuprof-emulate.1",
        "cargo-gpuprof-history-add.1",
        "cargo-gpuprof-history-show.1",
        "cargo-gpuprof-history.1",
        "cargo-gpuprof-list.1",
        "cargo-gpuprof-man.1",
        "cargo-gpuprof-merge.1",
        "cargo-gpuprof-metrics.1",
        "cargo-gpuprof-report.1",
        "cargo-gpuprof-rules.1",
        "cargo-gpuprof-run.1",
        "cargo-gpuprof-runs-list.1",
        "cargo-gpuprof-runs-rm.1",
        "cargo-gpuprof-runs-show.1",
        "cargo-gpuprof-runs.1",
        "cargo-gpuprof-show-config.1",
        "cargo-gpuprof.1",
    ];
    assert_eq!(names, expected);
    let run = fs::read_to_string(pages.join("cargo-gpuprof-run.1")).unwrap();
    assert!(run.contains("\\fBcargo gpuprof run\\fR"), "{run}");
}

#[test]
fn the_readme_shows_what_report_prints() {
    let readme = fs::read_to_string(repository_folder().join("README.md")).unwrap();
    let golden = "cargo-gpuprof/tests/golden/h200-saxpy-60.json";
    let path = repository_folder().join(golden).display().to_string();
    let shown = format!("$ cargo gpuprof report {golden}\n{}", printed(&["report", &path]));
    assert!(readme.contains(&shown), "{shown}");
}
