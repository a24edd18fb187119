//! `cargo gpuprof history`: values of metrics over the revisions of a repository.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::support::{Outcome, Packed};

const FILE: &str = ".config/gpuprof/history.jsonl";

/// A repository in the folder of a packed harness, which has run once.
struct Repository {
    packed: Packed,
    measured: Value,
    commits: u32,
}

impl Repository {
    fn new() -> Self {
        let packed = Packed::new();
        packed.tool(&["scale", "--series", "block=[64,128]", "--quiet"]).run().exits_with(0);
        let run = &packed.runs()[0];
        let measured = fs::read(run.join("run.json")).expect("the run is kept");
        let measured = serde_json::from_slice(&measured).expect("it is JSON");
        let ignored = packed.path().join(".gitignore");
        fs::write(ignored, "target\n*.zst\n").expect("the folder can be written");
        let mut repository = Self { packed, measured, commits: 0 };
        repository.git(&["init", "--quiet", "--initial-branch", "main"]);
        repository.commit("begin");
        repository
    }

    fn git(&self, arguments: &[&str]) -> String {
        let date = format!("2026-01-{:02}T12:00:00+02:00", self.commits);
        let output = Command::new("git")
            .args(["-c", "user.name=h", "-c", "user.email=h@example.com"])
            .args(arguments)
            .envs([("GIT_COMMITTER_DATE", &date), ("GIT_AUTHOR_DATE", &date)])
            .current_dir(self.packed.path())
            .output()
            .expect("git can be started");
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).expect("it is UTF-8").trim().to_owned()
    }

    /// Commits all files that git does not ignore, a day later than the previous commit.
    fn commit(&mut self, message: &str) -> String {
        self.commits += 1;
        self.git(&["add", "."]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Appends the run as that of `revision`, in which a load took `sectors` a request.
    fn add(&self, revision: &str, sectors: f64, arguments: &[&str]) -> Outcome {
        let mut run = self.measured.clone();
        run["id"] = format!("run-of-{revision}").into();
        run["provenance"]["git_revision"] = revision.into();
        for row in run["series"][0]["configurations"].as_array_mut().expect("it has rows") {
            row["metrics"]["load_sectors_per_request"]["value"] = sectors.into();
        }
        let file = self.packed.path().join("target/added.json");
        fs::write(&file, run.to_string()).expect("the folder can be written");
        let add = ["history", "add", "target/added.json"];
        self.packed.other(&[&add[..], arguments].concat()).run()
    }

    fn show(&self, arguments: &[&str]) -> Outcome {
        self.packed.other(&[&["history", "show"][..], arguments].concat()).run()
    }
}

#[test]
fn a_history_merges_and_names_the_revision_that_changed() {
    let mut repository = Repository::new();
    let none = repository.show(&[]).exits_with(2);
    assert!(none.stderr.contains("there is no history in .config/"), "{}", none.stderr);

    let first = repository.git(&["rev-parse", "HEAD"]);
    let added = repository.add(&first, 4.0, &[]).exits_with(0);
    let hint = format!("put `{FILE} merge=union` into .gitattributes");
    assert!(added.stderr.contains(&hint), "{}", added.stderr);
    let attributes = repository.packed.path().join(".gitattributes");
    fs::write(attributes, format!("{FILE} merge=union\n")).unwrap();
    repository.commit("history");

    // Two branches append, and their files merge.
    repository.git(&["switch", "--quiet", "--create", "side"]);
    let side = repository.commit("side");
    repository.add(&side, 4.0, &[]).exits_with(0);
    repository.commit("history of side");
    repository.git(&["switch", "--quiet", "main"]);
    let slower = repository.commit("slower");
    repository.add(&slower, 8.0, &[]).exits_with(0);
    let again = repository.add(&slower, 8.0, &[]).exits_with(0);
    assert!(again.stderr.contains("appended 0 lines"), "{}", again.stderr);
    repository.commit("history of main");
    repository.git(&["merge", "--quiet", "--no-edit", "side"]);

    let json = ["--metrics", "load_sectors_per_request", "--format", "json", "block=64"];
    let shown: Value = serde_json::from_str(&repository.show(&json).exits_with(0).stdout).unwrap();
    let timelines = shown["timelines"].as_array().unwrap();
    assert_eq!(timelines.len(), 1, "{shown}");
    let points = timelines[0]["points"].as_array().unwrap();
    let commits: Vec<&Value> = points.iter().map(|point| &point["revision"]["commit"]).collect();
    assert_eq!(commits, [first.as_str(), &side, &slower], "oldest first");
    assert_eq!(points[0]["revision"]["date"], "2026-01-01T10:00:00Z");
    let changes = timelines[0]["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 1, "{shown}");
    assert_eq!(changes[0]["revision"]["commit"], slower.as_str());
    assert_eq!((&changes[0]["before"], &changes[0]["after"]), (&4.0.into(), &8.0.into()));

    let text = repository.show(&["--metrics", "load_sectors_per_request"]).exits_with(0).stdout;
    let changed = format!("  changed at {} (2026-01-", &slower[..12]);
    assert!(text.contains(&changed), "{text}");
    assert!(text.contains("    worse  block=64,n="), "{text}");
    assert!(text.contains("▁▁│█"), "{text}");
}

#[test]
fn bad_lines_are_named_and_changed_trees_kept_on_request_only() {
    let repository = Repository::new();
    let first = repository.git(&["rev-parse", "HEAD"]);
    let dirty = format!("{first}-dirty");
    let refused = repository.add(&dirty, 4.0, &[]).exits_with(2);
    assert!(refused.stderr.contains("with --allow-dirty"), "{}", refused.stderr);
    assert!(!repository.packed.path().join(FILE).exists(), "nothing was written");
    repository.add(&first, 4.0, &["--metrics", "load_sectors_per_request"]).exits_with(0);
    repository
        .add(&dirty, 4.0, &["--metrics", "load_sectors_per_request", "--allow-dirty"])
        .exits_with(0);
    let unknown = repository.add(&first, 4.0, &["--metrics", "speed"]).exits_with(4);
    assert!(unknown.stderr.contains("has no value of speed"), "{}", unknown.stderr);

    let file = repository.packed.path().join(FILE);
    let lines = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("<<<<<<< HEAD\n{lines}{lines}")).unwrap();
    let shown = repository.show(&["block=128", "--revisions"]).exits_with(0);
    let named = format!("line 1 of {FILE} is left out: byte 0: expected value");
    assert!(shown.stderr.contains(&named), "{}", shown.stderr);
    let listed = format!("  {}-dirty  2026-01-01", &first[..12]);
    assert_eq!(shown.stdout.matches(&listed).count(), 1, "{}", shown.stdout);

    let csv = repository.show(&["--format", "csv"]).exits_with(0).stdout;
    assert_eq!(csv.lines().count(), 1 + 2 * 2, "two configurations of two points: {csv}");
    repository.show(&["no_such_series"]).exits_with(4);
}
