//! Two harnesses of one package: the keys of their series, and that none is measured twice.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Outcome, Tool, Workspace};

const BOTH: &[&str] = &["first", "second"];

/// The keys that `cargo gpuprof list` shows with `more`.
fn listed(more: &[&str]) -> Vec<String> {
    let list = ["list", "--package", "harnesses"];
    let listed = Workspace::fixture("workshop").gpuprof(&[&list[..], more].concat());
    let lines = listed.exits_with(0).stdout;
    let keys = lines.lines().filter(|line| !line.starts_with(' '));
    keys.map(|line| line.split("  ").next().expect("lines are not empty").to_owned()).collect()
}

/// Archives of the first harness, of the second, and of both, made once a process.
static ARCHIVES: LazyLock<[Vec<u8>; 3]> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let file = folder.path().join("packed.tar.zst");
    [&BOTH[..1], &BOTH[1..], BOTH].map(|benches| {
        let path = file.display().to_string();
        let archive = ["archive", "--package", "harnesses", "--archive-file", &path];
        let benches: Vec<&str> = benches.iter().flat_map(|bench| ["--bench", bench]).collect();
        let made = Workspace::fixture("workshop").gpuprof(&[&archive[..], &benches].concat());
        made.exits_with(0);
        fs::read(&file).expect("the archive was made")
    })
});

/// A folder with the archives `first`, `second` and `both`.
struct Archives(TempDir);

impl Archives {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("there is a temporary folder");
        for (name, bytes) in ["first", "second", "both"].iter().zip(&*ARCHIVES) {
            fs::write(folder.path().join(name), bytes).expect("it can be written");
        }
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn tool(&self, arguments: &[&str]) -> Outcome {
        Tool::new(arguments, self.path(), &self.path().join("not-used")).run()
    }

    /// Runs the archive `name`.
    fn run(&self, name: &str, more: &[&str]) -> Outcome {
        self.tool(&[&["run", "--archive-file", name, "--quiet"], more].concat())
    }

    /// The comparison of the last run.
    fn comparison(&self) -> Value {
        let verdict = fs::read(self.path().join("target/gpuprof/verdict.json"));
        let verdict: Value = serde_json::from_slice(&verdict.expect("it is kept")).expect("JSON");
        json!([verdict["comparison"]["vanished"], verdict["comparison"]["appeared"]])
    }

    /// The file of the baseline `main`.
    fn baseline(&self) -> PathBuf {
        self.path().join("target/gpuprof/baselines/main.json")
    }

    /// Writes the baseline as an older version did: keys had targets everywhere, and each harness
    /// listed the series of the library.
    fn make_baseline_older(&self) {
        let text = fs::read_to_string(self.baseline()).expect("it is kept");
        let mut run: Value = serde_json::from_str(&text).expect("JSON");
        let series = run["series"].as_array_mut().expect("a list");
        for one in &mut *series {
            one["id"].as_object_mut().expect("an id").remove("target_in_key");
        }
        let shared = series.iter().find(|one| one["id"]["kernel"] == "shared");
        let mut again = shared.expect("it is there").clone();
        again["id"]["target"] = "second".into();
        series.push(again);
        fs::write(self.baseline(), run.to_string()).expect("it can be written");
    }
}

const ALL: [&str; 4] =
    ["harnesses::shared", "harnesses::first::own", "harnesses::second::own", "harnesses::alone"];

#[test]
fn a_series_of_the_library_is_listed_once_and_a_key_has_the_target_only_where_two_need_it() {
    let mut all = ALL;
    all.sort_unstable();
    let sorted = |mut keys: Vec<String>| {
        keys.sort_unstable();
        keys
    };
    assert_eq!(sorted(listed(&[])), all);
    assert_eq!(
        sorted(listed(&["--bench", "second"])),
        ["harnesses::alone", "harnesses::own", "harnesses::shared"]
    );
    let asked = sorted(listed(&["--bench", "first", "--bench", "second"]));
    let each = ["first", "second"].map(|bench| format!("harnesses::{bench}::shared"));
    assert_eq!(
        asked.iter().filter(|key| key.ends_with("shared")).collect::<Vec<_>>(),
        [&each[0], &each[1]]
    );
}

#[test]
fn filters_take_a_series_with_its_target_and_without() {
    let own = ["harnesses::first::own", "harnesses::second::own"];
    assert_eq!(listed(&["--exact", "harnesses::own"]), own);
    assert_eq!(listed(&["--exact", "harnesses::second::own"]), own[1..]);
    for key in ["harnesses::alone", "harnesses::second::alone"] {
        assert_eq!(listed(&["--exact", key]), ["harnesses::alone"], "{key}");
        assert_eq!(listed(&["-E", &format!("series({key})")]), ["harnesses::alone"], "{key}");
        assert_eq!(listed(&[key]), ["harnesses::alone"], "{key}");
        assert_eq!(listed(&["--exclude-series", key]).len(), 3, "{key}");
    }
    for table in ["harnesses::alone", "harnesses::second::alone"] {
        let archives = Archives::new();
        let text = format!("[series.\"{table}\"]\nthresholds = [\"every global_sectors <= 0\"]\n");
        fs::write(archives.path().join("own.toml"), text).expect("it can be written");
        let failed = archives.run("both", &["--config-file", "own.toml", "--color", "never"]);
        let failed = failed.exits_with(100).stdout;
        assert_eq!(failed.matches("every global_sectors <= 0").count(), 1, "{failed}");
    }
}

#[test]
fn every_report_has_the_short_key() {
    let archives = Archives::new();
    let exports = ["--export-junit", "j", "--export-markdown", "m", "--export-html", "h"];
    archives.run("both", &[&exports[..], &["--export-json", "r"]].concat()).exits_with(0);
    for file in ["j", "m", "h"] {
        let text = fs::read_to_string(archives.path().join(file)).expect("it was written");
        for key in ALL {
            assert!(text.contains(key), "{key} in {file}");
        }
        assert!(!text.contains("harnesses::first::shared"), "{file}");
    }
    let json = archives.tool(&["report", "--format", "json-lines"]).exits_with(0);
    assert_eq!(json.events_of("configuration-finished").len(), 5);
}

#[test]
fn a_baseline_of_an_older_version_holds_the_same_series() {
    let archives = Archives::new();
    archives.run("both", &["--save-baseline", "main"]).exits_with(0);
    archives.make_baseline_older();
    let compared = ["--baseline", "main", "--strict", "--no-config"];
    archives.run("both", &compared).exits_with(0);
    assert_eq!(archives.comparison(), json!([[], []]));
    // The second harness alone measures the series that the first one had before.
    archives.run("second", &["--baseline", "main"]).exits_with(0);
    assert_eq!(archives.comparison(), json!([["harnesses::first::own"], []]));
    let stored = archives.tool(&["compare", "main", "latest", "--color", "never"]).exits_with(0);
    let missing: Vec<&str> =
        stored.stdout.lines().filter(|line| line.starts_with(" missing ")).collect();
    let own = " missing  harnesses::first::own is in the baseline `main` and not in this run";
    assert_eq!(missing, [own]);
}

#[test]
fn a_revision_with_another_harness_is_compared_by_the_series_that_both_have() {
    let archives = Archives::new();
    let next_to = |head: &str, base: &str| {
        archives.run(head, &["--base-archive", base]);
        archives.comparison()
    };
    let own = "harnesses::second::own";
    assert_eq!(next_to("both", "first"), json!([[], [own, "harnesses::alone"]]));
    assert_eq!(next_to("first", "both"), json!([[own, "harnesses::alone"], []]));
    // The only harness has another name there.
    assert_eq!(next_to("first", "second"), json!([["harnesses::alone"], []]));
    assert_eq!(next_to("second", "first"), json!([[], ["harnesses::alone"]]));
}
