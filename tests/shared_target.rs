//! Workspaces that share a target folder: each has its own runs, baselines and last verdict.

use std::fs;

use crate::support::{Outcome, Workspace};

#[test]
fn workspaces_with_one_target_folder_do_not_see_each_others_runs_and_baselines() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let copy = |name: &str| {
        let place = folder.path().join(name);
        fs::create_dir(&place).expect("it can be made");
        Workspace::fixture("workshop").copied_to(&place)
    };
    let (one, two) = (copy("one"), copy("two"));
    assert_eq!(one.target, two.target);
    let run = |workspace: &Workspace, more: &[&str]| -> Outcome {
        let gather = ["run", "--quiet", "--package", "vector", "gather", "--series", "stride=1"];
        workspace.gpuprof(&[&gather[..], more].concat())
    };
    run(&one, &["--save-baseline", "main"]).exits_with(0);
    let ids = |workspace: &Workspace| -> Vec<String> {
        let listed = workspace.gpuprof(&["runs", "list", "--message-format", "json"]);
        let runs = listed.exits_with(0).events_of("run");
        runs.iter().map(|run| run["id"].as_str().expect("it has an id").to_owned()).collect()
    };
    let of_one = ids(&one);
    assert_eq!((of_one.len(), ids(&two).len()), (1, 0));
    assert!(one.run_folder(&of_one[0]).is_dir() && one.stored().join("verdict.json").is_file());
    let nothing = two.gpuprof(&["report", "latest"]).exits_with(2);
    assert!(nothing.stderr.contains("there are none below"), "{}", nothing.stderr);

    let missing = run(&two, &["--baseline", "main"]).exits_with(2);
    assert!(missing.stderr.contains("no baseline is named `main`"), "{}", missing.stderr);
    // It prunes its own runs alone.
    run(&two, &["--keep-runs", "1"]).exits_with(0);
    assert_eq!((ids(&one), ids(&two).len()), (of_one, 1));
    run(&one, &["--baseline", "main", "--strict"]).exits_with(0);

    // As an older version left a baseline in a target folder.
    let older = folder.path().join("older");
    let old = older.join("gpuprof/baselines");
    fs::create_dir_all(&old).expect("it can be made");
    fs::copy(one.stored().join("baselines/main.json"), old.join("main.json")).expect("it is there");
    let list = ["baseline", "list", "--target-dir", older.to_str().expect("it is UTF-8")];
    let listed = two.gpuprof(&list).exits_with(0);
    let note = "moved 0 runs and 1 baseline of this workspace from ";
    assert!(listed.stderr.contains(note), "{}", listed.stderr);
    assert!(listed.stdout.contains("main"), "{}", listed.stdout);
    let again = one.gpuprof(&list).exits_with(0);
    assert!(!again.stdout.contains("main") && !again.stderr.contains("moved"), "{again:?}");
}
