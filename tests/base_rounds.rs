//! `--base` on a fake GPU: rounds in which both sides of a configuration are next to each other,
//! more of them where a verdict is in doubt, and runs that are killed in between.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Commits, FakeGpu, Happening, Outcome, Workspace, times};
use serde_json::Value;
use tempfile::TempDir;

/// A folder in which archives of two revisions are measured on a separate GPU.
struct Machine {
    folder: TempDir,
    gpu: FakeGpu,
}

/// A timed pass, as the journal has it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pass {
    kernel: String,
    of_base: bool,
    configuration: u64,
    repeat: u64,
    device: String,
}

impl Pass {
    /// Whether `other` is the same pass of the other side.
    fn is_partner(&self, other: &Self) -> bool {
        let key = |pass: &Self| (pass.kernel.clone(), pass.configuration, pass.repeat);
        key(self) == key(other) && self.of_base != other.of_base
    }
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        Self { folder, gpu: FakeGpu::new() }
    }

    /// Measures the archive `head` next to that of `base`; times only, unless metrics are named.
    fn run(&self, (base, head): (&Path, &Path), set: &[(&str, &str)], more: &[&str]) -> Outcome {
        let [base, head] = [base, head].map(|path| path.display().to_string());
        let run = ["run", "--archive-file", &head, "--base-archive", &base, "--no-config"];
        let times: &[&str] = match more.contains(&"--metrics") {
            true => &[],
            false => &["--metrics", "duration", "--replay-mode", "none"],
        };
        let root = self.folder.path().to_owned();
        let workspace = Workspace { target: root.join("not-used"), root };
        let tool = self.gpu.tool(&workspace, &[&run[..], times, more].concat());
        set.iter().fold(tool, |tool, (name, value)| tool.env(name, value)).run()
    }

    /// `base` next to itself, where `slow` says what is slower on one side.
    fn fifty(&self, slow: &[(&str, &str)], more: &[&str]) -> Outcome {
        let noise = [("FAKE_CUDA_NOISE", "all:2")];
        let fifty = ["--series", "block=16..800 step 16", "--isolate", "kernel", "scale"];
        self.run(unchanged(), &[&noise, slow].concat(), &[&fifty, more].concat())
    }

    /// A command on what is stored.
    fn stored(&self, arguments: &[&str]) -> Outcome {
        let root = self.folder.path().to_owned();
        let workspace = Workspace { target: root.join("not-used"), root };
        self.gpu.tool(&workspace, arguments).run()
    }

    /// The folder of the only run.
    fn folder_of_run(&self) -> PathBuf {
        let runs = fs::read_dir(self.folder.path().join("target/gpuprof/runs")).unwrap();
        let runs: Vec<PathBuf> = runs.flatten().map(|entry| entry.path()).collect();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs[0].clone()
    }

    fn journal(&self) -> PathBuf {
        self.folder_of_run().join("journal.jsonl")
    }

    /// The timed passes, in the order in which they ended.
    fn passes(&self) -> Vec<Pass> {
        let text = fs::read_to_string(self.journal()).unwrap();
        let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let made = lines.next().expect("the first line says what the run is made of");
        let keys = |series: &Value| -> Vec<String> {
            let all = series.as_array().unwrap().iter();
            all.map(|series| series[0].as_str().unwrap().to_owned()).collect()
        };
        let heads = keys(&made["series"]);
        let bases = keys(&made["base"]["series"]);
        let pass = |line: Value| {
            let at = usize::try_from(line["series"].as_u64()?).ok()?;
            let base = at.checked_sub(heads.len());
            let key = base.map_or_else(|| &heads[at], |base| &bases[base]);
            (line["line"] == "pass").then(|| Pass {
                kernel: key.clone(),
                of_base: base.is_some(),
                configuration: line["configuration"].as_u64().unwrap(),
                repeat: line["repeat"].as_u64().unwrap(),
                device: line["result"]["device"]["uuid"].as_str().unwrap().to_owned(),
            })
        };
        lines.filter_map(pass).collect()
    }

    /// How many processes timed each configuration in a document of the run.
    fn processes(&self, name: &str) -> BTreeMap<String, usize> {
        let bytes = fs::read(self.folder_of_run().join(name)).unwrap();
        let run: Value = serde_json::from_slice(&bytes).unwrap();
        let mut counts = BTreeMap::new();
        for series in run["series"].as_array().unwrap() {
            for row in series["configurations"].as_array().unwrap() {
                let key = format!("{} {}", series["id"]["kernel"], row["configuration"][0][1]);
                counts.insert(key.replace('"', ""), row["timings"].as_array().unwrap().len());
            }
        }
        counts
    }
}

/// The archives of the merge that makes `scale` slower.
fn merge() -> (&'static Path, &'static Path) {
    let commits = Commits::get();
    (&commits.base, &commits.head)
}

/// The same revision on both sides.
fn unchanged() -> (&'static Path, &'static Path) {
    let commits = Commits::get();
    (&commits.base, &commits.base)
}

/// The passes of each process that timed all configurations of a kernel.
fn by_process(passes: Vec<Pass>) -> Vec<Vec<Pass>> {
    let mut processes: Vec<Vec<Pass>> = Vec::new();
    for pass in passes {
        let same = |before: &Vec<Pass>| {
            (&before[0].kernel, before[0].of_base) == (&pass.kernel, pass.of_base)
                && before[0].repeat == pass.repeat
        };
        match processes.last_mut().filter(|before| same(before)) {
            Some(before) => before.push(pass),
            None => processes.push(vec![pass]),
        }
    }
    processes
}

/// Asserts that every process of kernels that both sides have is next to its partner, which times
/// the same configurations in the same order, and that either goes first.
fn are_adjacent(processes: &[Vec<Pass>]) {
    let mut base_first = BTreeSet::new();
    let shared = processes.iter().enumerate();
    let shared = shared.filter(|(_, process)| !process[0].kernel.contains("::fresh"));
    let shared: Vec<_> = shared.collect();
    assert!(!shared.is_empty() && shared.len().is_multiple_of(2), "{shared:#?}");
    for two in shared.chunks(2) {
        let [(at, one), (next, other)] = [two[0], two[1]];
        assert_eq!(at + 1, next, "something came in between");
        assert!(one.len() == other.len(), "{two:#?}");
        assert!(one.iter().zip(other).all(|(one, other)| one.is_partner(other)), "{two:#?}");
        base_first.insert(one[0].of_base);
    }
    assert_eq!(base_first.len(), 2, "one side always goes first");
}

#[test]
fn both_sides_of_a_configuration_are_adjacent_in_every_round() {
    let machine = Machine::new();
    let set = [("FAKE_TIMELINE", "1")];
    machine.run(merge(), &set, &["scale", "copy"]).exits_with(100);
    let processes = by_process(machine.passes());
    are_adjacent(&processes);
    // And one process after the other.
    let timeline = machine.gpu.timeline();
    let all: Vec<Vec<&Happening>> = times(&timeline).into_values().collect();
    assert_eq!(all.len(), processes.len());
    let span = |samples: &Vec<&Happening>| (samples[0].begin, samples[samples.len() - 1].end);
    let mut spans: Vec<(u128, u128)> = all.iter().map(span).collect();
    spans.sort_unstable();
    assert!(spans.windows(2).all(|two| two[0].1 <= two[1].0), "{spans:?}");
}

#[test]
fn both_sides_of_a_kernel_are_adjacent_under_shared_isolation() {
    for isolation in ["auto", "kernel"] {
        let machine = Machine::new();
        machine.run(merge(), &[], &["--isolate", isolation]).exits_with(100);
        let processes = by_process(machine.passes());
        assert!(processes.len() > 6 * 2 * 2, "no rounds followed the first look");
        are_adjacent(&processes);
    }
}

#[test]
fn both_sides_of_a_configuration_use_the_same_device() {
    let machine = Machine::new();
    let set = [("FAKE_GPUS", "Fake H200,Fake H200")];
    let arguments = ["--max-repeat", "3", "--devices", "all", "scale"];
    machine.run(unchanged(), &set, &arguments);
    let passes = machine.passes();
    assert_eq!(passes.len(), 3 * 2 * 2);
    let devices: BTreeSet<&str> = passes.iter().map(|pass| pass.device.as_str()).collect();
    assert_eq!(devices.len(), 2);
    for pass in &passes {
        let partner = passes.iter().find(|other| pass.is_partner(other)).unwrap();
        assert_eq!(pass.device, partner.device);
    }
}

#[test]
fn counters_of_both_sides_are_collected_and_compared() {
    let machine = Machine::new();
    let sectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
    let arguments = ["scale", "--all", "--metrics", sectors, "--threshold"];
    let threshold = format!("{sectors} <= baseline");
    let outcome = machine.run(merge(), &[], &[&arguments[..], &[&threshold]].concat());
    let outcome = outcome.exits_with(100);
    assert!(outcome.stdout.contains(&format!(" FAIL  {threshold}")), "{}", outcome.stdout);
    are_adjacent(&by_process(machine.passes()));
}

#[test]
fn only_undecided_configurations_get_more_rounds() {
    let machine = Machine::new();
    machine.run(merge(), &[], &[]).exits_with(100);
    let (head, base) = (machine.processes("run.json"), machine.processes("base.json"));
    let both = ["scale 64", "scale 128", "copy 32", "copy 64"].map(|key| (head[key], base[key]));
    assert!(both.iter().all(|(head, base)| head == base), "{both:?}");
    assert!(head["copy 32"] > head["fresh 64"], "{head:?}");
    assert_eq!(head["fresh 64"], 6, "what has no other side is not in doubt");
    are_adjacent(&by_process(machine.passes()));
}

/// The lines of `stdout` without how long the measuring took.
fn untimed(stdout: &str) -> Vec<String> {
    let time = |cost: &&str| cost.split_once(", ").is_some_and(|(time, _)| time.ends_with(" s"));
    let line = |line: &str| match line.rsplit_once("; ").filter(|(_, cost)| time(cost)) {
        Some((said, cost)) => format!("{said}; {}", cost.split_once(", ").unwrap().1),
        None => line.to_owned(),
    };
    stdout.lines().map(line).collect()
}

#[test]
fn an_unchanged_revision_reports_the_detectable_slowdown() {
    let machine = Machine::new();
    let outcome = machine.run(unchanged(), &[], &[]).exits_with(0);
    let sentence = outcome.stdout.lines().next().unwrap();
    let begins = "No regression: 6 configurations judged, slowdowns of ";
    assert!(sentence.starts_with(begins), "{sentence}");
    assert!(sentence.contains(" % would have been caught with "), "{sentence}");
    assert!(sentence.contains(" processes a side"), "{sentence}");
    let promise = "\n If nothing had changed, at most 1 % of such runs would fail.\n";
    assert!(outcome.stdout.contains(promise), "{}", outcome.stdout);
    let last = outcome.stdout.lines().rev().nth(1);
    assert_eq!(last, Some(sentence), "the end of the output says it again");

    let run: Value =
        serde_json::from_slice(&fs::read(machine.folder_of_run().join("run.json")).unwrap())
            .unwrap();
    assert_eq!(run["conclusion"]["sentence"], *sentence);
    let order = run["provenance"]["order"].as_str().unwrap();
    assert!(order.contains("a coin of seed 1 says which goes first"), "{order}");

    // What was stored says it again, and both sides judged again say the same without the time.
    let again = machine.stored(&["report", "latest"]).exits_with(0);
    assert_eq!(again.stdout, outcome.stdout);
    let judged = machine.stored(&["compare", "latest/base", "latest"]).exits_with(0);
    let told = untimed(&outcome.stdout)[0].clone();
    assert_eq!(judged.stdout.lines().next(), Some(told.as_str()));
    let base = machine.stored(&["report", "latest/base"]).exits_with(0);
    assert!(!base.stdout.contains("No regression"), "the other side is a separate run");
}

#[test]
fn failed_line_counts_of_the_base_have_their_own_reason() {
    let machine = Machine::new();
    let arguments = ["scale", "--max-repeat", "3", "--message-format", "json"];
    let outcome = machine.run(unchanged(), &[], &arguments).exits_with(106);
    let of = |reason: &str, side: &str| {
        let events = outcome.events_of(reason);
        assert!(events.iter().all(|event| event["side"] == side), "{events:?}");
        let key = |event: &Value| event["configuration"].as_str().unwrap().to_owned();
        events.iter().map(key).collect::<BTreeSet<String>>()
    };
    let head = of("configuration-finished", "head");
    assert_eq!(head.len(), 2);
    assert_eq!(of("base-configuration-finished", "base"), head);
    let end = &outcome.events_of("run-finished")[0];
    assert_eq!(end["conclusion"]["ending"], "undecided");
}

#[test]
fn a_plan_of_two_sides_names_unavailable_counters() {
    let machine = Machine::new();
    let metrics = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
    let arguments = ["scale", "--metrics", metrics, "--dry-run", "--message-format", "json"];
    let trouble = [("FAKE_CUPTI_TROUBLE", "fail cuptiRangeProfilerEnable 35")];
    let outcome = machine.run(unchanged(), &trouble, &arguments).exits_with(0);
    let sides: Vec<bool> = outcome
        .events_of("series-planned")
        .iter()
        .map(|series| series["base"].as_bool().unwrap())
        .collect();
    assert_eq!(sides, [false, true]);
    let planned = &outcome.events_of("run-planned")[0];
    let [without] = planned["counters_without_value"].as_array().unwrap().as_slice() else {
        panic!("{planned}")
    };
    assert_eq!(without["metric"], metrics);
    assert!(without["reason"].as_str().unwrap().contains("(35)"), "{without}");
}

#[test]
fn max_repeat_limits_the_rounds() {
    let limits: [(&[&str], usize); 4] = [
        (&["--max-repeat", "3"], 3),
        (&["--max-repeat", "8"], 6),
        (&["--repeat", "7", "--max-repeat", "9"], 9),
        (&["--time-budget", "1ms"], 6),
    ];
    for (limit, rounds) in limits {
        let machine = Machine::new();
        let more = [limit, &["--strict", "scale"][..]].concat();
        let undecided = machine.run(merge(), &[], &more).exits_with(106);
        assert_eq!(machine.processes("run.json")["scale 64"], rounds, "{limit:?}");
        assert_eq!(machine.processes("base.json")["scale 64"], rounds, "{limit:?}");
        let doubt = "\n INCONCLUSIVE  every duration <= baseline + 2%";
        assert!(undecided.stdout.contains(doubt), "{undecided:#?}");
    }
}

#[test]
fn a_paired_run_that_is_killed_continues_where_it_stopped() {
    let machine = Machine::new();
    let whole = machine.run(merge(), &[], &[]).exits_with(100);
    let journal = fs::read_to_string(machine.journal()).unwrap();
    let counts = (machine.processes("run.json"), machine.processes("base.json"));
    let lines = journal.lines().count();
    // Before the first look, between partners, and among the rounds that followed a look.
    for kept in [2, 14, lines / 2, lines - 3, lines] {
        let first: String = journal.split_inclusive('\n').take(kept).collect();
        fs::write(machine.journal(), first).unwrap();
        let resumed = machine.run(merge(), &[], &["--resume"]).exits_with(100);
        assert_eq!((machine.processes("run.json"), machine.processes("base.json")), counts);
        assert_eq!(untimed(&resumed.stdout), untimed(&whole.stdout), "{kept} of {lines} lines");
        let passes = machine.passes();
        let keys: BTreeSet<_> = passes.iter().map(|pass| format!("{pass:?}")).collect();
        assert_eq!(keys.len(), passes.len(), "nothing is measured twice");
    }
    let other = machine.run(unchanged(), &[], &["--resume"]).exits_with(2);
    assert!(other.stderr.contains(" changed since; to start over"), "{}", other.stderr);
}

/// One configuration of 50 is 5 % slower on one side, and all of them differ by up to 2 % from
/// process to process.
#[test]
fn the_one_slower_configuration_of_fifty_is_named_in_every_format() {
    let machine = Machine::new();
    let file = |name: &str| machine.folder.path().join(name).display().to_string();
    let export = ["--export-markdown", &file("run.md")];
    let outcome = machine.fifty(&[("FAKE_CUDA_SLOW", "0:400:5")], &export).exits_with(100);
    let sentence = outcome.stdout.lines().next().unwrap();
    assert!(sentence.starts_with("Regression: 1 of 50 judged configurations"), "{sentence}");
    assert!(sentence.contains(" at block=400"), "{sentence}");
    let read = |name: &str| fs::read_to_string(file(name)).unwrap();
    let junit = machine.stored(&["report", "latest", "--format", "junit"]).stdout;
    for text in [read("run.md"), junit] {
        assert!(text.contains(sentence), "{text}");
    }
    let json = machine.stored(&["report", "latest", "--format", "json"]);
    let run: Value = serde_json::from_str(&json.stdout).unwrap();
    let failed = run["conclusion"]["failed"].as_array().unwrap();
    let named: BTreeSet<&str> =
        failed.iter().map(|found| found["configuration"].as_str().unwrap()).collect();
    assert!(
        named.len() == 1 && named.iter().all(|name| name.starts_with("block=400")),
        "{named:?}"
    );
}

#[test]
fn noise_between_processes_of_fifty_configurations_is_not_a_regression() {
    let machine = Machine::new();
    let outcome = machine.fifty(&[], &[]).exits_with(0);
    let sentence = outcome.stdout.lines().next().unwrap();
    assert!(sentence.starts_with("No regression: 50 configurations judged"), "{sentence}");
}
