//! Slices of a plan: measured by processes that know nothing of each other, killed, resumed,
//! measured twice, lost, and merged into the run that one process would have made.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Outcome, Packed};
use serde_json::Value;

/// Two series of the fixture; one of them fails its threshold.
const PLAN: [&str; 4] = ["vector", "--no-config", "--series", "stride=1..8 step 1"];

/// Measures slice `slice` of `count` into `slices`.
fn measure(packed: &Packed, slice: u32, count: u32, more: &[&str]) -> Outcome {
    let part = format!("slice:{slice}/{count}");
    let arguments = ["--partition", &part, "--slices", "slices"];
    packed.tool(&[&PLAN[..], &arguments, more].concat()).run()
}

/// The folders of slices below `slices`.
fn slices(packed: &Packed) -> Vec<PathBuf> {
    let plans = fs::read_dir(packed.path().join("slices")).unwrap().flatten();
    let of_plan = |plan: fs::DirEntry| fs::read_dir(plan.path()).unwrap().flatten();
    let mut all: Vec<PathBuf> = plans.flat_map(of_plan).map(|slice| slice.path()).collect();
    all.sort();
    all
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// The keys of a slice's measurements.
fn keys(slice: &Path) -> Vec<String> {
    let run = json(&slice.join("run.json"));
    let of_series = |series: &Value| {
        let id = series["id"]["kernel"].to_string();
        let rows = series["configurations"].as_array().unwrap().clone();
        rows.into_iter().map(move |row| format!("{id} {}", row["configuration"]))
    };
    run["series"].as_array().unwrap().iter().flat_map(of_series).collect()
}

#[test]
fn slices_partition_the_run_and_judge_nothing() {
    let packed = Packed::new();
    for slice in 1..=3 {
        let outcome = measure(&packed, slice, 3, &[]).exits_with(0);
        let said = format!("slice {slice} of 3 is measured in ");
        assert!(outcome.stderr.contains(&said), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("its thresholds are provisional"), "{}", outcome.stderr);
    }
    let folders = slices(&packed);
    assert_eq!(folders.len(), 3, "one plan, a folder for each slice: {folders:?}");
    let all: Vec<String> = folders.iter().flat_map(|folder| keys(folder)).collect();
    let each: BTreeSet<&String> = all.iter().collect();
    assert_eq!((all.len(), each.len()), (10, 10), "{all:#?}");
    for folder in &folders {
        let files: BTreeSet<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let expected = ["journal.jsonl", "lock", "manifest.json", "run.json"];
        assert!(files.iter().eq(expected), "nothing else lies on the shared folder: {files:?}");
        let manifest = json(&folder.join("manifest.json"));
        assert_eq!(manifest["plan"]["series"].as_array().unwrap().len(), 2, "{manifest:#}");
        for told in ["/start/host", "/start/boot", "/archive", "/made/tool_version", "/plan_hash"] {
            assert!(manifest.pointer(told).is_some_and(Value::is_string), "{told}: {manifest:#}");
        }
    }
    assert!(!packed.path().join("target/gpuprof/verdict.json").exists());
    assert_eq!(packed.runs(), [""; 0].map(PathBuf::from));
}

/// The costs of its series in a run.
fn costs(run: &Path) -> Vec<Value> {
    json(&run.join("run.json"))["provenance"]["costs"].as_array().unwrap().clone()
}

/// Writes `run` to the file `name`, as if a configuration of each series had cost as much as `each`
/// says.
fn with_costs(packed: &Packed, run: &Path, name: &str, each: [u64; 2]) {
    let mut document = json(&run.join("run.json"));
    let costs = document["provenance"]["costs"].as_array_mut().unwrap();
    for (cost, each) in costs.iter_mut().zip(each) {
        cost["microseconds"] = (cost["configurations"].as_u64().unwrap() * each).into();
    }
    fs::write(packed.path().join(name), document.to_string()).unwrap();
}

#[test]
fn costs_of_a_stored_run_balance_slices() {
    let packed = Packed::new();
    packed.tool(&PLAN).run().exits_with(0);
    let run = packed.runs().pop().unwrap();
    let costs = costs(&run);
    assert_eq!(costs.len(), 2, "{costs:?}");
    assert!(costs.iter().all(|cost| cost["microseconds"].as_u64().unwrap() > 0), "{costs:?}");
    let counted = costs.iter().map(|cost| cost["configurations"].as_u64().unwrap());
    assert_eq!(counted.sum::<u64>(), 10, "{costs:?}");
    with_costs(&packed, &run, "past.json", [1_000_000, 10]);
    let dear = costs[0]["series"].as_str().unwrap().rsplit("::").next().unwrap();
    // How many of the dear configurations a slice has, and how many in all.
    let listed = |slice: u32, more: &[&str]| {
        let list = ["list", "--archive-file", "packed.tar.zst", "--message-format", "json"];
        let of = format!("slice:{slice}/3");
        let part = ["--partition", &of, "--partition-by", "configuration"];
        let outcome = packed.other(&[&list[..], &PLAN, &part, more].concat()).run().exits_with(0);
        let kernel = |event: &Value| event["series"]["id"]["kernel"].to_string();
        let keys = keys_of(&outcome, "series", kernel);
        (keys.iter().filter(|key| key.contains(dear)).count(), keys.len(), outcome.stderr)
    };
    for more in [&[][..], &["--partition-costs", "past.json"]] {
        let each = [1, 2, 3].map(|slice| {
            let (dear, all, said) = listed(slice, more);
            let told = format!("slice {slice} of 3 takes about ");
            let told =
                said.contains(&told) && said.contains(", the time of all passes in past.json");
            assert_eq!(told, !more.is_empty(), "{said}");
            (dear, all)
        });
        assert_eq!(each.iter().map(|(_, all)| all).sum::<usize>(), 10, "{each:?}");
        let balanced = each.map(|(dear, all)| if more.is_empty() { all } else { dear });
        let uneven = balanced.iter().max().unwrap() - balanced.iter().min().unwrap();
        assert!(uneven <= 1, "{each:?}");
    }
}

#[test]
fn costs_are_part_of_the_plan_and_of_a_merged_run() {
    let packed = Packed::new();
    packed.tool(&PLAN).run().exits_with(0);
    let run = packed.runs().pop().unwrap();
    with_costs(&packed, &run, "past.json", [1_000_000, 10]);
    with_costs(&packed, &run, "other.json", [10, 1_000_000]);
    let past = ["--partition-costs", "past.json"];
    measure(&packed, 1, 2, &past).exits_with(0);
    measure(&packed, 2, 2, &["--partition-costs", "other.json"]).exits_with(0);
    let refused = merge(&packed, &["slices"]).exits_with(2);
    assert!(refused.stderr.contains(" costs (--partition-costs): `"), "{}", refused.stderr);
    fs::remove_dir_all(packed.path().join("slices")).unwrap();
    measure(&packed, 1, 2, &past).exits_with(0);
    measure(&packed, 2, 2, &past).exits_with(0);
    merge(&packed, &["slices"]).exits_with(0);
    let named = |costs: Vec<Value>| {
        costs.iter().map(|cost| cost["series"].to_string()).collect::<BTreeSet<_>>()
    };
    let merged = packed.runs().pop().unwrap();
    assert_eq!(named(costs(&merged)), named(costs(&run)));
}

#[test]
fn costs_that_may_differ_between_slices_are_refused() {
    let packed = Packed::new();
    let part = ["--partition", "slice:1/2", "--partition-costs"];
    let without = packed.tool(&["--partition-costs", "main"]).run().exits_with(2);
    assert!(without.stderr.contains("--partition <METHOD:M/N>"), "{}", without.stderr);
    let refused = |costs: &str, said: &str| {
        let refused = packed.tool(&[&part[..], &[costs]].concat()).run().exits_with(2);
        assert!(refused.stderr.contains(said), "{}", refused.stderr);
    };
    refused("latest", "--partition-costs latest may name another run when the next slice");
    refused("nowhere", "no baseline, file or run is named `nowhere`");
    packed.tool(&PLAN).run().exits_with(0);
    let run = packed.runs().pop().unwrap();
    let mut old = json(&run.join("run.json"));
    old["provenance"].as_object_mut().unwrap().remove("costs");
    fs::write(packed.path().join("old.json"), old.to_string()).unwrap();
    refused("old.json", "the run has no times of its series");
    let hash = ["--partition", "hash:1/2", "--partition-costs", "old.json"];
    let hash = packed.tool(&hash).run().exits_with(2);
    assert!(
        hash.stderr.contains("balances slice:M/N; hash:M/N assigns series by their names"),
        "{}",
        hash.stderr
    );
}

#[test]
fn an_empty_slice_succeeds_with_a_note() {
    let packed = Packed::new();
    let only = ["--exact", "vector::kernels::scale/block=64,n=4096", "--no-config"];
    let arguments = ["--partition", "slice:2/2", "--slices", "slices", "--backend", "emulator"];
    let outcome = packed.tool(&[&only[..], &arguments].concat()).run();
    let outcome = outcome.exits_with(0);
    let said = "slice 2 of 2 has no configurations";
    assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    let [folder] = &slices(&packed)[..] else { panic!() };
    assert!(keys(folder).is_empty() && folder.join("manifest.json").exists());
}

#[test]
fn a_started_slice_continues_only_with_resume() {
    let packed = Packed::new();
    measure(&packed, 1, 2, &["--resume=auto"]).exits_with(0);
    let refused = measure(&packed, 1, 2, &[]).exits_with(2);
    assert!(refused.stderr.contains("--resume=auto goes on with it"), "{}", refused.stderr);
    let [folder] = &slices(&packed)[..] else { panic!() };
    let before = fs::read_to_string(folder.join("journal.jsonl")).unwrap();
    let again = measure(&packed, 1, 2, &["--resume=auto"]).exits_with(0);
    assert!(again.stderr.contains("passes are done"), "{}", again.stderr);
    let after = fs::read_to_string(folder.join("journal.jsonl")).unwrap();
    let passes = |text: &str| text.matches("\"line\":\"pass\"").count();
    assert_eq!(passes(&before), passes(&after), "nothing is measured twice");
    let starts: BTreeSet<String> = after
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["line"] == "begin")
        .map(|line| line["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(starts.len(), 2, "each start has a unique name");
}

#[test]
fn a_busy_slice_is_waited_for_and_then_ends_with_75() {
    let packed = Packed::new();
    measure(&packed, 1, 2, &[]).exits_with(0);
    let [folder] = &slices(&packed)[..] else { panic!() };
    let lock = fs::File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    let busy = measure(&packed, 1, 2, &["--resume=auto", "--wait-lock", "0"]).exits_with(75);
    let said = "is locked: another process is still working on this run";
    assert!(busy.stderr.contains(said), "{}", busy.stderr);
    drop(lock);
    measure(&packed, 1, 2, &["--resume=auto", "--wait-lock", "0"]).exits_with(0);
}

#[test]
fn options_of_merge_and_whole_runs_are_refused_for_a_slice() {
    let packed = Packed::new();
    let part = ["--partition", "slice:1/2"];
    let cases: [(&[&str], &str); 5] = [
        (&["--save-baseline", "x"], "--save-baseline belongs to `cargo gpuprof merge`"),
        (&["--baseline", "x"], "--baseline (GPUPROF_BASELINE) belongs to `cargo gpuprof merge`"),
        (&["--resume"], "a slice is resumed with --resume=auto"),
        (&["--partition", "slice:3/2"], "expected slice:M/N or hash:M/N with 1 <= M <= N"),
        (&["--partition", "third"], "expected slice:M/N or hash:M/N with 1 <= M <= N"),
    ];
    for (more, said) in cases {
        let own: &[&str] = if more[0] == "--partition" { &[] } else { &part };
        let refused = packed.tool(&[own, more].concat()).run().exits_with(2);
        assert!(refused.stderr.contains(said), "{}", refused.stderr);
    }
    let refused = packed.tool(&["--resume=auto"]).run().exits_with(2);
    assert!(refused.stderr.contains("--resume=auto needs --slices DIR"), "{}", refused.stderr);
}

#[test]
fn list_and_dry_run_take_the_same_slice() {
    let packed = Packed::new();
    let of_list = |slice: &str, by: &str| {
        let list = ["list", "--archive-file", "packed.tar.zst", "--message-format", "json"];
        let part = ["--partition", slice, "--partition-by", by];
        let outcome = packed.other(&[&list[..], &PLAN, &part].concat()).run().exits_with(0);
        keys_of(&outcome, "series", |event| event["series"]["id"]["kernel"].to_string())
    };
    let of_dry_run = |slice: &str, by: &str| {
        let part = ["--dry-run", "--message-format", "json", "--partition-by", by];
        let tool = packed.tool(&[&PLAN[..], &part].concat()).env("GPUPROF_PARTITION", slice);
        let outcome = tool.run().exits_with(0);
        let kernel = |event: &Value| {
            let id = event["series"].as_str().unwrap();
            format!("\"{}\"", id.rsplit("::").next().unwrap())
        };
        keys_of(&outcome, "series-planned", kernel)
    };
    for by in ["series", "configuration"] {
        let mut all = Vec::new();
        for slice in ["slice:1/3", "slice:2/3", "slice:3/3"] {
            let listed = of_list(slice, by);
            assert_eq!(listed, of_dry_run(slice, by), "{slice} by {by}");
            all.extend(listed);
        }
        assert_eq!((all.len(), all.iter().collect::<BTreeSet<_>>().len()), (10, 10), "{all:#?}");
    }
    assert!(!packed.path().join("target/gpuprof/slices").exists(), "nothing was begun");
}

/// The keys in the events of a reason, with the kernel that each is of.
fn keys_of(outcome: &Outcome, reason: &str, kernel: impl Fn(&Value) -> String) -> Vec<String> {
    let of_event = |event: &Value| {
        let kernel = kernel(event);
        let all = event["configurations"].as_array().unwrap().clone();
        all.into_iter().map(move |key| format!("{kernel} {key}")).collect::<Vec<_>>()
    };
    outcome.events_of(reason).iter().flat_map(of_event).collect()
}

fn merge(packed: &Packed, arguments: &[&str]) -> Outcome {
    packed.other(&[&["merge"], arguments].concat()).run()
}

/// The contents of the merged or undivided run, without the parts that differ from run to run.
fn document(packed: &Packed) -> (Value, Value) {
    let run = packed.runs().pop().unwrap();
    let mut document = Packed::document(&run);
    document["provenance"].as_object_mut().unwrap().remove("slices");
    let mut verdict = json(&run.join("verdict.json"));
    verdict["run"] = Value::Null;
    if let Some(Value::Object(cost)) = verdict.pointer_mut("/conclusion/cost") {
        cost.remove("seconds");
    }
    (document, verdict)
}

#[test]
fn merged_slices_equal_the_undivided_run() {
    for (method, by, count) in
        [("slice", "series", 3), ("hash", "series", 2), ("slice", "configuration", 4)]
    {
        let packed = Packed::new();
        packed.tool(&PLAN).run().exits_with(0);
        let whole = document(&packed);
        for slice in 1..=count {
            let part = format!("{method}:{slice}/{count}");
            let arguments = ["--partition", &part, "--partition-by", by, "--slices", "slices"];
            packed.tool(&[&PLAN[..], &arguments].concat()).run().exits_with(0);
        }
        merge(&packed, &["slices"]).exits_with(0);
        let merged = document(&packed);
        assert_eq!(packed.runs().len(), 2);
        assert_eq!(merged.0, whole.0, "{method} by {by}");
        assert_eq!(merged.1, whole.1, "{method} by {by}");
        // Commands that read stored runs read this one.
        let first = packed.runs()[0].join("run.json");
        let first = first.to_str().expect("it is a text");
        packed.other(&["compare", first, "latest"]).run().exits_with(0);
        packed.other(&["report", "--format", "html"]).run().exits_with(0);
    }
}

#[test]
fn a_merged_run_names_slice_and_host_of_each_row() {
    let packed = Packed::new();
    for slice in 1..=2 {
        measure(&packed, slice, 3, &[]).exits_with(0);
    }
    let files = ["--export-csv", "merged.csv", "--export-junit", "merged.xml"];
    let merged = merge(&packed, &[&["slices", "--partial"], &files[..]].concat()).exits_with(0);
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned();
    let said = format!("merged from 2 of 3 slices, measured on {host}");
    assert!(merged.stdout.contains(&said), "{}", merged.stdout);
    let of_slice: Vec<BTreeSet<String>> = slices(&packed)
        .iter()
        .map(|slice| keys(slice).iter().map(|key| key.split(' ').next().unwrap().into()).collect())
        .collect();
    let csv = fs::read_to_string(packed.path().join("merged.csv")).unwrap();
    let mut lines = csv.lines();
    let titles: Vec<&str> = lines.next().unwrap().split(',').collect();
    let at = |title: &str| titles.iter().position(|t| *t == title).expect(title);
    let (rank, slice_at, host_at) = (at("rank"), at("slice"), at("host"));
    assert_eq!((slice_at, host_at), (rank + 1, rank + 2), "{titles:?}");
    let mut seen = BTreeSet::new();
    for line in csv::ReaderBuilder::new().from_reader(csv.as_bytes()).records() {
        let line = line.unwrap();
        let slice: usize = line[slice_at].parse().unwrap();
        assert_eq!(line[host_at], host);
        assert!(of_slice[slice - 1].contains(&format!("\"{}\"", &line[at("kernel")])), "{line:?}");
        seen.insert(slice);
    }
    assert_eq!(seen.len(), 2, "{seen:?}");
    let junit = fs::read_to_string(packed.path().join("merged.xml")).unwrap();
    for told in ["name=\"slice\" value=\"1\"", "name=\"slice\" value=\"2\""] {
        assert!(junit.contains(told), "{junit}");
    }
    assert!(junit.contains(&format!("name=\"host\" value=\"{host}\"")), "{junit}");
    // A run that was not merged has no such columns.
    packed.tool(&[&PLAN[..], &["--export-csv", "whole.csv"]].concat()).run().exits_with(0);
    let whole = fs::read_to_string(packed.path().join("whole.csv")).unwrap();
    assert!(!whole.lines().next().unwrap().contains("slice"), "{whole}");
}

/// The trace of a merged run has the runner and the device of each slice.
#[test]
fn a_merged_run_says_where_the_time_of_each_slice_went() {
    let packed = Packed::new();
    for slice in 1..=2 {
        measure(&packed, slice, 2, &[]).exits_with(0);
    }
    merge(&packed, &["slices"]).exits_with(0);
    let report = ["report", "--format", "chrome-trace"];
    let trace = packed.other(&report).run().exits_with(0).stdout;
    let trace: Value = serde_json::from_str(&trace).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let named = events.iter().filter(|event| event["name"] == "process_name");
    let names: Vec<&str> = named.map(|event| event["args"]["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    for (at, of) in names.iter().enumerate() {
        assert!(of.starts_with(&format!("slice {} of 2 on ", at / 2 + 1)), "{names:?}");
    }
    for slice in slices(&packed) {
        let own = json(&slice.join("run.json"));
        for span in own["provenance"]["spans"].as_array().unwrap() {
            let same = |event: &&Value| {
                (&event["name"], &event["dur"]) == (&span["what"], &span["length_us"])
            };
            assert!(events.iter().any(|event| same(&event)), "{span} {trace:#}");
        }
    }
}

#[test]
fn missing_slices_end_with_106_until_present_or_accepted() {
    let packed = Packed::new();
    // The best configuration is in the second: without it the threshold fails, and that is 100.
    for slice in [2, 3] {
        measure(&packed, slice, 4, &[]).exits_with(0);
    }
    let lacking = merge(&packed, &["slices"]).exits_with(106);
    assert!(lacking.stderr.contains("missing slices: 1,4 (of 4)"), "{}", lacking.stderr);
    assert!(lacking.stderr.contains("  slice 1: vector::"), "{}", lacking.stderr);
    let says = "slices 1, 4 of 4 are missing or partial";
    assert!(lacking.stdout.contains(says), "{}", lacking.stdout);
    assert!(!lacking.stdout.contains("holds"), "{}", lacking.stdout);
    assert_eq!(packed.runs().len(), 1, "everything that is there is written");
    let verdict = json(&packed.path().join("target/gpuprof/verdict.json"));
    assert!(verdict.to_string().contains(&format!("Undecided: {says}")), "{verdict:#}");
    let listed = merge(&packed, &["slices", "--missing"]).exits_with(0);
    assert_eq!(listed.stdout, "1,4\n");
    let accepted = merge(&packed, &["slices", "--partial"]).exits_with(0);
    assert!(accepted.stdout.contains(says), "{}", accepted.stdout);
    let main = packed.path().join("target/gpuprof/baselines/main.json");
    for more in [&[][..], &["--partial"]] {
        let keeping = [&["slices", "--save-baseline", "main"], more].concat();
        let told = merge(&packed, &keeping).exits_with(106).stderr;
        assert!(
            told.contains(
                "not kept as baseline `main`: the plan is not measured to its end (slices 1,4)"
            ),
            "{told}"
        );
        assert!(!main.exists(), "{more:?}");
    }

    // One that was cut short: its first configurations count, the rest is `skipped`.
    measure(&packed, 1, 4, &[]).exits_with(0);
    measure(&packed, 4, 4, &[]).exits_with(0);
    let cut = slices(&packed).into_iter().find(|s| s.ends_with("slice-1-of-4")).unwrap();
    let journal = fs::read_to_string(cut.join("journal.jsonl")).unwrap();
    let first_row = journal.lines().position(|line| line.contains("\"line\":\"row\"")).unwrap();
    let kept: String =
        journal.lines().take(first_row + 1).map(|line| format!("{line}\n")).collect();
    fs::write(cut.join("journal.jsonl"), kept).unwrap();
    fs::remove_file(cut.join("run.json")).unwrap();
    let partial = merge(&packed, &["slices"]).exits_with(106);
    assert!(partial.stderr.contains("partial slice 1: 1 of "), "{}", partial.stderr);
    assert_eq!(merge(&packed, &["slices", "--missing"]).exits_with(0).stdout, "1\n");
    let run = json(&packed.runs().pop().unwrap().join("run.json"));
    assert!(run.to_string().contains("its slice ended before it was measured"), "{run:#}");

    // Resumed, nothing is missing any more.
    measure(&packed, 1, 4, &["--resume=auto"]).exits_with(0);
    merge(&packed, &["slices", "--save-baseline", "main"]).exits_with(0);
    assert!(main.exists());
    assert_eq!(merge(&packed, &["slices", "--missing"]).exits_with(0).stdout, "");
}

#[test]
fn a_merge_that_makes_the_first_baseline_does_not_count_thresholds_relative_to_it() {
    let packed = Packed::new();
    let relative = ["scale", "--no-config", "--threshold", "every ptx_instructions <= baseline"];
    let whole = ["--partition", "slice:1/1", "--slices", "slices"];
    packed.tool(&[&relative[..], &whole].concat()).run().exits_with(0);
    let nothing = merge(&packed, &["slices"]).exits_with(106);
    assert!(nothing.stdout.contains("nothing judged"), "{}", nothing.stdout);
    merge(&packed, &["slices", "--save-baseline", "main"]).exits_with(0);
    merge(&packed, &["slices", "--baseline", "main"]).exits_with(0);
}

#[test]
fn a_merge_of_strict_slices_is_strict() {
    let packed = Packed::new();
    let judged = ["--threshold", "every ptx_instructions <= 1e6"];
    let not_judged = ["--threshold", "every sm__cycles_active.avg <= 1e6"];
    let part = ["--partition", "slice:1/1", "--slices", "slices"];
    let scale = ["scale", "--no-config", "--strict"];
    packed.tool(&[&scale[..], &judged, &not_judged, &part].concat()).run().exits_with(0);
    merge(&packed, &["slices"]).exits_with(106);
    merge(&packed, &["slices", "--no-strict"]).exits_with(0);
}

#[test]
fn of_two_measurements_of_a_slice_the_first_complete_one_is_kept() {
    let packed = Packed::new();
    let into = |slice: u32, folder: &str| {
        let part = format!("slice:{slice}/2");
        let arguments = ["--partition", &part, "--slices", folder];
        packed.tool(&[&PLAN[..], &arguments].concat()).run().exits_with(0)
    };
    for (slice, folder) in [(1, "a"), (2, "a"), (2, "b")] {
        into(slice, folder);
    }
    let runs = |arguments: &[&str]| {
        let merged = merge(&packed, arguments).exits_with(0);
        let run = json(&packed.runs().pop().unwrap().join("run.json"));
        let of: Vec<String> = run["provenance"]["slices"]
            .as_array()
            .unwrap()
            .iter()
            .map(|slice| slice["run"].as_str().unwrap().to_owned())
            .collect();
        (merged.stderr, of)
    };
    let (told, first) = runs(&["a", "b"]);
    assert!(told.contains("slice 2 was measured twice: "), "{told}");
    assert!(told.contains("which was whole first; --prefer newest takes the other one"), "{told}");
    assert_eq!(runs(&["b", "a"]).1, first, "in any order");
    let (told, newest) = runs(&["a", "b", "--prefer", "newest"]);
    assert!(told.contains("the newest (--prefer newest)"), "{told}");
    assert!(first[0] == newest[0] && first[1] < newest[1], "{first:?} {newest:?}");
    // The same one twice is one.
    let (told, same) = runs(&["a", "a", "a"]);
    assert!(same == first && !told.contains("twice"), "{told}");
}

#[test]
fn slices_of_different_plans_are_refused_with_the_first_difference() {
    let packed = Packed::new();
    measure(&packed, 1, 2, &[]).exits_with(0);
    measure(&packed, 1, 3, &[]).exits_with(0);
    let refused = merge(&packed, &["slices"]).exits_with(2);
    assert!(refused.stderr.contains("the number of slices: `"), "{}", refused.stderr);
    assert!(refused.stderr.contains("merge one plan at a time"), "{}", refused.stderr);

    let packed = Packed::new();
    measure(&packed, 1, 2, &[]).exits_with(0);
    measure(&packed, 2, 2, &["--no-verify"]).exits_with(0);
    let refused = merge(&packed, &["slices"]).exits_with(2);
    assert!(refused.stderr.contains("--verify: `"), "{}", refused.stderr);
    assert_eq!(packed.runs(), [""; 0].map(PathBuf::from), "nothing is left of it");

    for nothing in ["packed.tar.zst", "nowhere"] {
        let refused = merge(&packed, &[nothing]).exits_with(2);
        assert!(refused.stderr.contains(nothing), "{}", refused.stderr);
    }
}

#[test]
fn an_archive_takes_a_target_folder_and_no_option_that_builds() {
    let packed = Packed::new();
    for option in [["--package", "vector"], ["-p", "vector"], ["--features", "x"]] {
        for command in ["run", "list"] {
            let archive = [command, "--archive-file", "packed.tar.zst"];
            let refused = packed.other(&[&archive[..], &option].concat()).run().exits_with(2);
            let said = "selects what to build, but packed.tar.zst is already built: remove it";
            assert!(refused.stderr.contains(said), "{}", refused.stderr);
        }
    }
    packed.tool(&["scale", "--target-dir", "elsewhere"]).run().exits_with(0);
    assert!(packed.path().join("elsewhere/gpuprof/verdict.json").exists());
    assert_eq!(packed.runs(), [""; 0].map(PathBuf::from));
    packed.other(&["report", "--target-dir", "elsewhere"]).run().exits_with(0);
}

#[test]
fn a_run_that_is_refused_leaves_no_folder() {
    let packed = Packed::new();
    packed.tool(&["no-such-series"]).run().exits_with(4);
    packed.tool(&["scale", "--section", "no-such-section"]).run().exits_with(2);
    packed.tool(&["scale", "--dry-run"]).run().exits_with(0);
    assert_eq!(packed.runs(), [""; 0].map(PathBuf::from));
}
