//! Several devices, end to end on fake GPUs: which of them measures what, that they work at the
//! same time and alone, and that nothing of two of them is ever compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::SystemTime;

use crate::support::replay::{ISOLATIONS, METRICS, workshop};
use crate::support::{FakeGpu, Happening, Outcome, Tool, times};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// The fake driver's UUIDs of its first two GPUs.
const FIRST: &str = "GPU-67707570-726f-662d-6661-6b652d677075";
const SECOND: &str = "GPU-67707570-726f-662d-6661-6b652d677031";

const TWINS: &str = "Fake H200,Fake H200";

/// A series of eight configurations.
const EIGHT: [&str; 3] = ["gather", "--series", "stride=1..8 step 1"];

/// A run of the package `vector` on a machine with the GPUs of these names.
fn run_on(gpu: &FakeGpu, names: &str, arguments: &[&str]) -> Tool {
    let run = [&["run", "--package", "vector", "--no-config"], arguments].concat();
    gpu.tool(&workshop(), &run).env("FAKE_GPUS", names)
}

/// As [`run_on`], with JSON, two timed processes, and one counter in a pass.
fn counted(gpu: &FakeGpu, names: &str, arguments: &[&str]) -> Tool {
    let common = ["--message-format", "json", "--repeat", "2", "--metrics", METRICS[0]];
    run_on(gpu, names, &[&common, arguments].concat())
}

/// The devices of configurations, by key.
fn devices(outcome: &Outcome) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of = |event: &Value| (text(&event["configuration"]), text(&event["device"]));
    outcome.events_of("configuration-finished").iter().map(of).collect()
}

fn id(outcome: &Outcome) -> String {
    outcome.events_of("run-started")[0]["id"].as_str().unwrap().to_owned()
}

/// The passes of a run's journal: configuration, repetition and device.
fn journal(run: &Path) -> Vec<(usize, u64, String)> {
    let text = fs::read_to_string(run.join("journal.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let pass = |line: Value| {
        let configuration = usize::try_from(line["configuration"].as_u64()?).ok()?;
        let device = line["result"]["device"]["uuid"].as_str()?.to_owned();
        (line["line"] == "pass").then_some((configuration, line["repeat"].as_u64()?, device))
    };
    lines.filter_map(pass).collect()
}

/// When the processes of each device began and replied for the last time.
fn processes(run: &Path) -> BTreeMap<String, Vec<(SystemTime, SystemTime)>> {
    let mut all: BTreeMap<String, Vec<(SystemTime, SystemTime)>> = BTreeMap::new();
    for entry in fs::read_dir(run.join("passes")).unwrap() {
        let request = entry.unwrap().path();
        let Some(stem) = request.to_str().and_then(|path| path.strip_suffix(".request.json"))
        else {
            continue;
        };
        let [first, then] = ["reply.json", "then.reply.json"].map(|kind| format!("{stem}.{kind}"));
        let Ok(bytes) = fs::read(&first) else { continue };
        let found: Value = serde_json::from_slice(&bytes).unwrap();
        let passes = &found["body"]["measured"][0]["finished"];
        let Some(device) = passes["device"]["uuid"].as_str() else { continue };
        let time = |path: &Path| fs::metadata(path).and_then(|file| file.modified());
        let last = time(Path::new(&then)).or_else(|_| time(Path::new(&first)));
        let interval = (time(&request).unwrap(), last.unwrap());
        all.entry(device.to_owned()).or_default().push(interval);
    }
    all.values_mut().for_each(|intervals| intervals.sort());
    all
}

/// The last samples of every process that takes times. Only these count, and a device takes one at
/// a time.
fn measured(timeline: &[Happening]) -> Vec<Happening> {
    let last = |all: Vec<&Happening>| {
        all[all.len().saturating_sub(24)..].iter().map(|&h| h.clone()).collect::<Vec<_>>()
    };
    times(timeline).into_values().flat_map(last).collect()
}

#[test]
fn two_devices_share_a_series_at_the_same_time_and_every_result_says_its_own() {
    for isolation in ISOLATIONS {
        let gpu = FakeGpu::new();
        let arguments = [&EIGHT[..], &["--devices", "0,1", "--ahead", "0"], isolation].concat();
        let tool = counted(&gpu, TWINS, &arguments).env("FAKE_TIMELINE", "20");
        let outcome = tool.run().exits_with(0);
        let labels = devices(&outcome);
        let on = |device: &str| labels.values().filter(|label| *label == device).count();
        assert_eq!((labels.len(), on(FIRST), on(SECOND)), (8, 4, 4), "{labels:#?}");

        // Every pass of a configuration ran where its label says.
        let run = workshop().run_folder(&id(&outcome));
        let passes = journal(&run);
        assert_eq!(passes.len(), 16);
        for (configuration, _, device) in &passes {
            let key = format!("block=64,stride={},n=4096", configuration + 1);
            assert_eq!(*device, labels[&key], "{key}");
        }

        // Nobody had to wait for the other device, and no device ever had two processes.
        let processes = processes(&run);
        assert_eq!(processes.keys().collect::<Vec<_>>(), [SECOND, FIRST]);
        for (device, intervals) in &processes {
            let alone = intervals.windows(2).all(|pair| pair[0].1 <= pair[1].0);
            assert!(alone, "{device}: {intervals:#?}");
        }
        let measured = measured(&gpu.timeline());
        let beside = |a: &Happening| measured.iter().any(|b| a.process != b.process && a.meets(b));
        assert!(measured.iter().any(beside), "{measured:#?}");

        // Each device has its own best, among its own measurements, and the series has none.
        let end = &outcome.events_of("series-finished")[0];
        assert_eq!(end["best"], Value::Null, "{end:#}");
        let bests = end["by_device"].as_array().unwrap();
        assert_eq!(bests.len(), 2, "{end:#}");
        for best in bests {
            assert_eq!(best["device"], labels[best["best"].as_str().unwrap()].as_str(), "{end:#}");
        }
        assert_eq!(gpu.survivors(), [0; 0]);
    }
}

#[test]
fn as_many_series_as_devices_stay_whole() {
    let outcome = counted(&FakeGpu::new(), TWINS, &["--devices", "all"]).run().exits_with(0);
    let mut of_series: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for event in outcome.events_of("configuration-finished") {
        let device = event["device"].as_str().unwrap().to_owned();
        of_series.entry(event["series"]["kernel"].to_string()).or_default().insert(device);
    }
    assert_eq!(of_series.len(), 2);
    let all: BTreeSet<_> = of_series.values().flatten().collect();
    assert!(of_series.values().all(|devices| devices.len() == 1), "{of_series:#?}");
    assert_eq!(all.len(), 2, "{of_series:#?}");
    for end in outcome.events_of("series-finished") {
        assert!(end["best"].is_string() && end["by_device"].is_null(), "{end:#}");
    }
}

#[test]
fn a_table_for_each_device_names_it_and_a_stored_run_is_reported_in_the_same_way() {
    let (gpu, folder) = (FakeGpu::new(), tempfile::tempdir().unwrap());
    let (csv, json) = (folder.path().join("run.csv"), folder.path().join("run.json"));
    let (csv_text, json_text) = (csv.to_str().unwrap(), json.to_str().unwrap());
    let more = ["--devices", &SECOND[..39], "--replay-mode", "none", "--repeat", "1"];
    let exports = ["--export-csv", csv_text, "--export-json", json_text];
    // Its threshold needs a counter.
    let one = run_on(&gpu, TWINS, &[&EIGHT[..], &more, &exports].concat()).run().exits_with(106);
    // A device alone needs no label.
    assert!(one.stdout.contains("  on Fake H200\n"), "{}", one.stdout);
    assert!(!fs::read_to_string(&csv).unwrap().contains(SECOND));
    let run: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    assert_eq!(run["provenance"]["device"]["uuid"], SECOND);
    assert_eq!(run["provenance"]["devices"], Value::Null);

    let more = ["--devices", "1,GPU-67707570-726f-662d-6661-6b652d677075", "--baseline", json_text];
    let once = ["--replay-mode", "none", "--repeat", "1", "--all"];
    let more = [&more[..], &once, &exports[..2]].concat();
    let json = folder.path().join("both.json");
    let more = [&more[..], &["--export-json", json.to_str().unwrap()]].concat();
    // One process a side decides nothing.
    let both = run_on(&gpu, TWINS, &[&EIGHT[..], &more].concat()).run().exits_with(106);
    let report = ["report", json.to_str().unwrap(), "--all"];
    let again = workshop().gpuprof(&report).exits_with(0);
    for stdout in [&both.stdout, &again.stdout] {
        for device in [FIRST, SECOND] {
            let heading = format!(
                "on Fake H200 {device}\n 4 of 8 configurations, compared with each other and not with those of other \
                 GPUs\n"
            );
            assert!(stdout.contains(&heading), "{stdout}");
        }
        // What is judged is judged once, over both.
        assert_eq!(stdout.matches("best load_sectors_per_request <= 4").count(), 1, "{stdout}");
        let differs = format!("GPU: {SECOND} in the baseline, {SECOND}, {FIRST} here");
        assert!(stdout.contains(&differs), "{stdout}");
    }
    let markdown = workshop().gpuprof(&[&report[..], &["--format", "markdown"]].concat());
    let headings = markdown.exits_with(0).stdout.matches("4 of 8 configurations, ").count();
    assert_eq!(headings, 2);
    let text = fs::read_to_string(&csv).unwrap();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().unwrap().clone();
    let column = |name: &str| header.iter().position(|title| title == name).unwrap();
    let mut labels: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for record in reader.records() {
        let record = record.unwrap();
        let key = record[column("configuration")].to_owned();
        labels.entry(key).or_default().insert(record[column("device")].to_owned());
    }
    assert_eq!(labels.len(), 8);
    assert!(labels.values().all(|devices| devices.len() == 1), "{labels:#?}");
    let run: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    let names = run["provenance"]["devices"].as_array().unwrap();
    let uuids: Vec<&str> = names.iter().map(|name| name["uuid"].as_str().unwrap()).collect();
    assert_eq!(uuids, [SECOND, FIRST]);
}

#[test]
fn a_failure_on_one_device_does_not_affect_the_other() {
    let troubles =
        [("abort pass=0 device=677031", "failed"), ("hang pass=0 device=677031", "timeout")];
    for (trouble, expected) in troubles {
        for isolation in ISOLATIONS {
            let gpu = FakeGpu::new();
            let four = ["gather", "--series", "stride=1..4 step 1", "--devices", "0,1"];
            let arguments = [&four[..], &["--timeout", "2"], isolation].concat();
            let tool = counted(&gpu, TWINS, &arguments).env("FAKE_CUPTI_TROUBLE", trouble);
            let outcome = tool.run().exits_with(105);
            let events = outcome.events_of("configuration-finished");
            assert_eq!(events.len(), 4);
            for event in events {
                let status = if event["device"] == SECOND { expected } else { "finished" };
                assert_eq!(event["status"], status, "{trouble}: {event:#}");
            }
            let collected = gpu.logged("collected pass 0").join(" ");
            assert_eq!(collected.matches("[gather ").count(), 2, "{collected}");
            assert_eq!(gpu.survivors(), [0; 0]);
        }
    }
}

#[test]
fn counters_denied_by_one_device_are_collected_on_the_other() {
    let gpu = FakeGpu::new();
    let tool = counted(&gpu, TWINS, &["scale", "--devices", "all"]);
    let trouble = "fail cuptiRangeProfilerEnable 26 device=677031";
    let outcome = tool.env("FAKE_CUPTI_TROUBLE", trouble).run().exits_with(0);
    let events = outcome.events_of("configuration-finished");
    assert_eq!(events.len(), 2);
    for event in events {
        let counter = &event["metrics"][METRICS[0]];
        let denied = counter["unavailable"].as_str().unwrap_or_default().contains("(26)");
        assert_eq!(denied, event["device"] == SECOND, "{event:#}");
        assert_eq!(counter["value"].is_number(), event["device"] == FIRST, "{event:#}");
    }
    // If a threshold needs them nothing is run, and it is said of which device they cannot be had.
    let tool = counted(&gpu, TWINS, &[&EIGHT[..], &["--devices", "all"]].concat());
    let refused = tool.env("FAKE_CUPTI_TROUBLE", trouble).run().exits_with(107);
    let said =
        format!("\n{SECOND}: cuptiRangeProfilerEnable failed: CUPTI_ERROR_HARDWARE_BUSY (26)");
    assert!(refused.stderr.contains(&said), "{}", refused.stderr);
}

#[test]
fn a_denial_affects_only_thresholds_of_its_device() {
    // `gather` has a threshold on a counter and goes to the second device, `scale` to the first.
    let gpu = FakeGpu::new();
    let tool = counted(&gpu, TWINS, &["--devices", "all"]);
    let first = tool.env("FAKE_CUPTI_TROUBLE", "fail cuptiRangeProfilerEnable 26 device=677075");
    let outcome = first.run().exits_with(0);
    let judged = outcome.events_of("threshold-judged");
    assert_eq!(
        (judged.len(), &judged[0]["judgement"]["verdict"]),
        (1, &Value::from("pass")),
        "{judged:#?}"
    );

    // Of one series too, whether it is known before the run or found out by a pass.
    for function in ["cuptiRangeProfilerEnable", "cuptiRangeProfilerStart"] {
        let judged = |block: &str, more: &[&str]| {
            let threshold = format!("where block=={block} {} <= 128", METRICS[0]);
            let scale = ["scale", "--devices", "all", "--threshold", &threshold];
            let gpu = FakeGpu::new();
            let tool = counted(&gpu, TWINS, &[&scale, more].concat());
            let trouble = format!("fail {function} 26 device=677031");
            tool.env("FAKE_CUPTI_TROUBLE", trouble).run()
        };
        let labels = devices(&judged("64", &["--no-gate"]).exits_with(0));
        let on = |device: &str| {
            let key = labels.iter().find(|(_, label)| *label == device).unwrap().0;
            if key.contains("block=64") { "64" } else { "128" }
        };
        judged(on(FIRST), &[]).exits_with(0);
        let refused = judged(on(SECOND), &[]).exits_with(107);
        assert!(refused.stderr.contains("thresholds need hardware counters"), "{}", refused.stderr);
    }
}

#[test]
fn invalid_devices_are_refused_before_the_run() {
    let mixed = "Fake H200,Fake A100";
    let shown = format!("the driver reports\n  0  {FIRST}  Fake H200\n  1  {SECOND}  Fake H200");
    let twice = format!("{SECOND} is named twice (1,{SECOND}); name every device once");
    let models = format!(
        "the devices of a run must be of one model, but these differ: Fake H200 (sm_90, 132 SMs, \
         {FIRST}) and Fake A100 (sm_80, 132 SMs, {SECOND}). Results of two models cannot be \
         compared: start one run per model"
    );
    let again = format!("1,{SECOND}");
    for (names, asked, said) in [
        (mixed, "all", models.as_str()),
        (TWINS, "2", &format!("--devices: no device matches 2; {shown}")),
        (TWINS, "GPU-6770", &format!("GPU-6770 matches 2 UUIDs; {shown}")),
        (TWINS, "GPU-11", "no device matches GPU-11;"),
        (TWINS, &again, &twice),
        (TWINS, "", "`` is not a device; expected ordinals, UUIDs (GPU-… or MIG-…)"),
        (TWINS, "first", "`first` is not a device; "),
    ] {
        let gpu = FakeGpu::new();
        let arguments = ["scale", "--devices", asked];
        let outcome = counted(&gpu, names, &arguments).run().exits_with(2);
        assert!(outcome.stderr.contains(said), "{asked}: {}", outcome.stderr);
        assert_eq!((outcome.stdout.as_str(), gpu.log().len()), ("", 0));
    }
    let alone = ["scale", "--devices", "1", "--replay-mode", "none", "--repeat", "1"];
    let outcome = run_on(&FakeGpu::new(), mixed, &alone).run().exits_with(0);
    assert!(outcome.stdout.contains("  on Fake A100\n"), "{}", outcome.stdout);
}

#[test]
fn a_run_on_another_device_than_the_expected_one_ends_before_it_measures() {
    let gpu = FakeGpu::new();
    let run = |expected| counted(&gpu, TWINS, &["scale", "--expect-device", expected]).run();
    let other = run("h100").exits_with(107);
    let said = "error: the GPU is Fake H200, and the run expects `h100`: run it on such a GPU, or \
                give another --expect-device";
    assert!(other.stderr.contains(said), "{}", other.stderr);
    assert_eq!(gpu.log().len(), 0);
    run("h200").exits_with(0);
    let run = ["run", "--package", "vector", "scale", "--expect-device", "H200"];
    let emulated = workshop().gpuprof(&run).exits_with(107);
    let said = "error: the emulated driver answers, and the run expects `H200`";
    assert!(emulated.stderr.contains(said), "{}", emulated.stderr);
}

#[test]
fn the_emulated_driver_has_no_devices_to_name() {
    let run = ["run", "--package", "vector", "scale"];
    let refused = workshop().gpuprof(&[&run[..], &["--devices", "0"]].concat()).exits_with(2);
    let said = "`0` names GPUs, but the emulated driver answers here, and it has a single device; \
                leave ";
    assert!(refused.stderr.contains(&format!("error: --devices: {said}")), "{}", refused.stderr);
    // The doctor decides like a run, and a variable is called by its name.
    let doctor = |arguments: &[&str]| workshop().tool(&[&["doctor"], arguments].concat());
    let refused = doctor(&["--devices", "0"]).run().exits_with(2);
    assert!(refused.stderr.contains(&format!("error: --devices: {said}")), "{}", refused.stderr);
    let refused = doctor(&["--backend", "auto"]).env("GPUPROF_DEVICES", "0").run().exits_with(2);
    let of_variable = format!("error: GPUPROF_DEVICES: {said}GPUPROF_DEVICES out");
    assert!(refused.stderr.contains(&of_variable), "{}", refused.stderr);
    // A configuration file is that of machines with GPUs as well.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gpuprof.toml");
    fs::write(&file, "devices = \"all\"\n").unwrap();
    let configured = ["--config-file", file.to_str().unwrap()];
    let run = workshop().tool(&[&run[..], &configured].concat());
    for tool in [run, doctor(&configured)] {
        let outcome = tool.run().exits_with(0);
        let said = format!("gpuprof: devices = all [{}] has no effect", file.display());
        assert!(outcome.stderr.contains(&said), "{}", outcome.stderr);
    }
}

#[test]
fn a_variable_with_a_value_that_is_refused_is_named() {
    for command in ["run", "doctor"] {
        let tool = |arguments: &[&str]| {
            let all = [&[command], arguments].concat();
            workshop().tool(&all).env("GPUPROF_DEVICES", "first").run().exits_with(2).stderr
        };
        let refused = tool(&[]);
        let said = "error: invalid value 'first' for 'GPUPROF_DEVICES': `first` is not a device;";
        assert!(refused.contains(said), "{refused}");
        let refused = tool(&["--devices", "last"]);
        let said = "error: invalid value 'last' for '--devices <DEVICES>': `last` is not";
        assert!(refused.contains(said), "{refused}");
    }
}

#[test]
fn the_file_selects_devices_among_visible_ones() {
    let (gpu, folder) = (FakeGpu::new(), tempfile::tempdir().unwrap());
    let file = folder.path().join("gpuprof.toml");
    fs::write(&file, "devices = [1]\n").unwrap();
    let common = ["run", "--package", "vector", "scale", "--repeat", "1", "--replay-mode", "none"];
    let uuid = |tool: Tool| {
        let outcome = tool.env("FAKE_GPUS", TWINS).run().exits_with(0);
        let end = outcome.events_of("run-finished");
        end[0]["provenance"]["device"]["uuid"].as_str().unwrap().to_owned()
    };
    let json = ["--message-format", "json"];
    let config = ["--config-file", file.to_str().unwrap()];
    let tool = |more: &[&str]| gpu.tool(&workshop(), &[&common[..], &json, more].concat());
    assert_eq!(uuid(tool(&["--no-config"])), FIRST);
    assert_eq!(uuid(tool(&config)), SECOND);
    assert_eq!(uuid(tool(&[&config[..], &["--devices", "0"]].concat())), FIRST);
    let hidden = |more: &[&str]| tool(more).env("CUDA_VISIBLE_DEVICES", "1");
    assert_eq!(uuid(hidden(&["--no-config"])), SECOND);
    assert_eq!(uuid(hidden(&["--no-config", "--devices", "0"])), SECOND);
    let refused = hidden(&config).env("FAKE_GPUS", TWINS).run().exits_with(96);
    let said = format!(
        "{}: no device matches 1; the driver reports\n  0  {SECOND}  Fake H200\n",
        file.display()
    );
    assert!(refused.stderr.contains(&said), "{}", refused.stderr);
}

#[test]
fn an_interrupted_run_continues_with_the_same_devices_only() {
    let gpu = FakeGpu::new();
    let run = |devices: &str, more: &[&str]| {
        counted(&gpu, TWINS, &[&EIGHT[..], &["--devices", devices], more].concat())
    };
    run("0,1", &["--dry-run"]).run().exits_with(0);
    let tool = run("0,1", &[]).env("FAKE_CUPTI_TROUBLE", "hang pass=0 device=677031");
    // Nobody reads its results: they may be more than a pipe holds.
    let mut child = tool.into_command().stdout(Stdio::null()).spawn().unwrap();
    gpu.wait_for(&mut child, "hangs in pass 0");
    // The other device continues meanwhile.
    gpu.wait_for(&mut child, "collected pass 0");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(143));
    assert_eq!(gpu.survivors(), [0; 0]);
    let stderr = String::from_utf8(ended.stderr).unwrap();
    let (_, rest) = stderr.split_once("add --resume ").unwrap();
    let id = rest.split_whitespace().next().unwrap();
    let folder = workshop().run_folder(id);
    let before = journal(&folder);
    assert!(before.iter().any(|(.., device)| device == FIRST), "{before:#?}");

    for other in ["0", "1"] {
        let refused = run(other, &["--resume", id]).run().exits_with(2);
        let said =
            "cannot be resumed: the choice of devices (--devices) changed since; to start over";
        assert!(refused.stderr.contains(said), "{}", refused.stderr);
    }
    // In which order they are named is nothing to the run.
    let resumed = run("1,0", &["--resume", id]).run().exits_with(0);
    let after = journal(&folder);
    assert_eq!(after[..before.len()], before[..]);
    let each: BTreeSet<_> = after.iter().map(|(c, repeat, _)| (c, repeat)).collect();
    assert_eq!((after.len(), each.len()), (16, 16), "no pass ran twice");
    let of_configuration: BTreeSet<_> = after.iter().map(|(c, _, device)| (c, device)).collect();
    assert_eq!(of_configuration.len(), 8, "none changed its device");
    let all = resumed.events_of("configuration-finished");
    assert!(all.len() == 8 && all.iter().all(|event| event["status"] == "finished"), "{all:#?}");
}

#[test]
fn both_devices_are_locked_with_their_clocks_and_both_given_back() {
    let gpu = FakeGpu::new();
    let timed = |devices: &str, more: &[&str]| {
        let common = ["scale", "--replay-mode", "none", "--repeat", "1", "--devices", devices];
        run_on(&gpu, TWINS, &[&common[..], more].concat())
    };
    timed("0", &[]).run().exits_with(0);
    let arguments = ["scale", "--devices", "0,1", "--clock-control", "base"];
    let hanging = counted(&gpu, TWINS, &arguments).env("FAKE_CUPTI_TROUBLE", "hang pass=0");
    let mut child = hanging.into_command().spawn().unwrap();
    gpu.wait_for(&mut child, "hangs in pass 0");
    let locked = [SECOND, FIRST].map(|uuid| format!("{uuid} locked to tdp..tdp"));
    assert_eq!(gpu.nvml_log(), locked);
    for (devices, uuid) in [("0", FIRST), ("1", SECOND), ("1,0", SECOND)] {
        let busy = timed(devices, &["--no-wait"]).run().exits_with(107);
        let said = format!("another gpuprof is measuring on {uuid} (process {} of ", child.id());
        assert!(busy.stderr.contains(&said), "{devices}: {}", busy.stderr);
    }
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    timed("0,1", &["--no-wait"]).run().exits_with(0);
    let mut reset = gpu.nvml_log().split_off(2);
    reset.sort();
    assert_eq!(reset, [SECOND, FIRST].map(|uuid| format!("{uuid} reset")));
}

#[test]
fn two_runs_with_devices_in_different_orders_do_not_deadlock() {
    let gpu = FakeGpu::new();
    let start = |devices: &str| {
        let common = ["scale", "--replay-mode", "none", "--repeat", "1", "--devices", devices];
        run_on(&gpu, TWINS, &common).into_command().spawn().unwrap()
    };
    for child in [start("0,1"), start("1,0"), start("all")] {
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
    }
}

#[test]
fn mig_instances_are_devices_with_their_own_names() {
    let (name, digits) = ("Fake H200 MIG 1g.18gb", "67707570-726f-662d-6661-6b652d6770");
    let twins = format!("{name},{name}");
    let timed = ["scale", "--replay-mode", "none", "--repeat", "1"];
    let gpu = FakeGpu::new();
    let alone = run_on(&gpu, &twins, &timed).run().exits_with(0);
    let heading = format!("  on {name}, a MIG instance\n");
    assert!(alone.stdout.contains(&heading), "{}", alone.stdout);
    // The driver shows a process one instance; another is found by its name, or by the beginning of
    // it.
    let both = format!("MIG-{digits}75,MIG-{digits}3");
    let arguments = ["scale", "--devices", &both];
    let outcome = counted(&gpu, &twins, &arguments).run().exits_with(0);
    let labels: BTreeSet<String> = devices(&outcome).into_values().collect();
    let expected = [format!("MIG-{digits}31"), format!("MIG-{digits}75")];
    assert!(labels.iter().eq(&expected), "{labels:#?}");
    // Counters of shared units are reported one by one.
    let counters = METRICS[..2].join(",");
    let json = ["scale", "--message-format", "json", "--repeat", "1", "--metrics", &counters];
    let lost = run_on(&gpu, &twins, &json).env("FAKE_CUPTI_TROUBLE", "lose pass=1");
    let lost = lost.run().exits_with(0);
    let metric = &lost.events_of("configuration-finished")[0]["metrics"][METRICS[1]];
    let reason = metric["unavailable"].as_str().unwrap_or_default();
    assert!(reason.contains("a unit that this device shares"), "{metric}");
    let whole = run_on(&gpu, &twins, &["scale", "--devices", "GPU-6770"]);
    let refused = whole.run().exits_with(2);
    let said = "A GPU in MIG mode is named by its instances: `nvidia-smi -L` lists their UUIDs";
    assert!(refused.stderr.contains(said), "{}", refused.stderr);
}

#[test]
fn a_dry_run_shows_the_work_of_each_device() {
    let estimate = |devices: &[&str]| {
        let more = [&EIGHT[..], &["--dry-run", "--repeat", "7"], devices].concat();
        let outcome = run_on(&FakeGpu::new(), TWINS, &more).run().exits_with(0);
        let line = outcome.stdout.lines().find(|line| line.starts_with("about ")).unwrap();
        let seconds: u32 = line.split(' ').nth(1).unwrap().parse().unwrap();
        (outcome.stdout, seconds)
    };
    let (_, alone) = estimate(&[]);
    let (text, both) = estimate(&["--devices", "all"]);
    assert!(text.contains(" processes on 2 GPUs at the same time; nothing was started"), "{text}");
    for device in [FIRST, SECOND] {
        assert!(text.contains(&format!("    Fake H200 {device}: 4 configurations\n")), "{text}");
    }
    assert!(text.contains("gather is measured on several GPUs: its configurations"), "{text}");
    assert!(both < alone && alone <= 2 * both, "{alone} s and {both} s");
    // More devices than configurations: some are let be.
    let many = ["scale", "--devices", "all", "--replay-mode", "none", "--repeat", "1"];
    let outcome = run_on(&FakeGpu::new(), &[TWINS; 2].join(","), &many).run().exits_with(0);
    let said = "gpuprof: 2 of 4 devices are used: there are too few configurations for the others";
    assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
}

#[test]
fn a_run_that_comes_back_on_another_gpu_keeps_what_is_finished_and_on_another_model_is_refused() {
    let gpu = FakeGpu::new();
    let tool = |names: &str, more: &[&str]| counted(&gpu, names, more);
    let lines = |id: &str, kind: &str| -> Vec<Value> {
        let text = fs::read_to_string(workshop().run_folder(id).join("journal.jsonl")).unwrap();
        let all = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        all.filter(|line| line["line"] == kind).collect()
    };
    let id = id(&tool(TWINS, &[]).run().exits_with(0));
    // As if it had been killed in the second series: the first is finished.
    let journal = workshop().run_folder(&id).join("journal.jsonl");
    let mut passes = 0;
    let kept = |line: &&str| {
        let value: Value = serde_json::from_str(line).unwrap();
        passes += usize::from(value["line"] == "pass" && value["series"] == 1);
        value["series"] != 1 || (value["line"] == "pass" && passes == 1)
    };
    let text = fs::read_to_string(&journal).unwrap();
    let text: String = text.lines().filter(kept).map(|line| format!("{line}\n")).collect();
    fs::write(&journal, text).unwrap();
    let kept = lines(&id, "done")[0]["series"].as_u64().unwrap();
    let before = lines(&id, "pass").iter().filter(|line| line["series"] == kept).count();

    let refused = tool("Fake A100", &["--resume", &id]).run().exits_with(107);
    let said = "it began on Fake H200, and this is Fake A100; resume it on Fake H200";
    assert!(refused.stderr.contains(said), "{}", refused.stderr);

    let other = tool(TWINS, &["--resume", &id]).env("CUDA_VISIBLE_DEVICES", "1");
    let resumed = other.run().exits_with(0);
    let said = "1 unfinished series is measured again on this GPU";
    assert!(resumed.stderr.contains(said), "{}", resumed.stderr);
    let after = lines(&id, "pass").iter().filter(|line| line["series"] == kept).count();
    assert_eq!(before, after, "what was finished is not measured again");
    let mut of_series: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for event in resumed.events_of("configuration-finished") {
        let device = event["device"].as_str().unwrap().to_owned();
        of_series.entry(event["series"]["kernel"].to_string()).or_default().insert(device);
    }
    let of: Vec<Vec<&str>> =
        of_series.values().map(|all| all.iter().map(String::as_str).collect()).collect();
    assert!(of.contains(&vec![FIRST]) && of.contains(&vec![SECOND]), "{of_series:#?}");
    assert_eq!(lines(&id, "begin").len(), 2, "the refused start began nothing");
}
