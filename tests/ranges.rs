//! Measured ranges of several launches that are not the run's own: those of a library, on its own
//! stream and from its own thread.

use std::fs;

use serde_json::Value;

use crate::support::FakeGpu;
use crate::support::replay::workshop;

const LIBRARY: [&str; 7] = [
    "run",
    "--package",
    "ranges",
    "ranges::kernels::library/block=64",
    "--repeat",
    "1",
    "--no-config",
];

/// The first configuration in the result of `arguments`, on a fake GPU or else on the emulated
/// driver.
fn row(gpu: Option<&FakeGpu>, arguments: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let file = folder.path().join("run.json").display().to_string();
    let arguments = [arguments, &["--export-json", &file]].concat();
    let run = match gpu {
        Some(gpu) => gpu.tool(&workshop(), &arguments).run(),
        None => workshop().tool(&arguments).env("GPUEMU_ESTIMATE", "1").run(),
    };
    run.exits_with(0);
    let text = fs::read_to_string(&file).expect("it was exported");
    let result: Value = serde_json::from_str(&text).expect("it is JSON");
    result["series"][0]["configurations"][0].clone()
}

/// The launches of the first configuration in the result of [`LIBRARY`].
fn launches(gpu: Option<&FakeGpu>) -> Vec<Value> {
    row(gpu, &LIBRARY)["launches"].as_array().expect("launches").clone()
}

#[test]
fn every_launch_of_a_library_is_in_the_result_with_its_thread_stream_and_time() {
    let told = |launch: &Value| {
        let text = |key: &str| launch[key].to_string();
        let keys = ["kernel", "grid", "block", "stream", "thread"].map(text).join(" ");
        (keys, launch["start_ns"].as_u64(), launch["duration_ns"].is_u64())
    };
    let found: Vec<_> = launches(Some(&FakeGpu::new())).iter().map(told).collect();
    assert_eq!(found.len(), 3, "{found:#?}");
    assert_eq!(found[0].0, r#""once" [16,1,1] [64,1,1] 0 0"#);
    assert_eq!(found[1].0, r#""twice" [16,1,1] [64,1,1] 1 1"#);
    assert_eq!(found[2].0, r#""once" [8,1,1] [128,1,1] 0 0"#);
    assert_eq!(found[0].1, Some(0));
    assert!(found.windows(2).all(|pair| pair[0].1 < pair[1].1), "{found:#?}");
    assert!(found.iter().all(|(_, _, timed)| *timed), "{found:#?}");
}

#[test]
fn the_emulated_driver_gives_the_same_launches_without_times() {
    let found = launches(None);
    let told =
        |launch: &Value| ["kernel", "grid", "stream"].map(|key| launch[key].to_string()).join(" ");
    let told: Vec<_> = found.iter().map(told).collect();
    assert_eq!(told, [r#""once" [16,1,1] 0"#, r#""twice" [16,1,1] 1"#, r#""once" [8,1,1] 0"#]);
    assert!(found.iter().all(|launch| launch["duration_ns"].is_null()), "{found:#?}");
}

/// The arguments that measure a closure with copies and a fill.
const MOVES: [&str; 7] =
    ["run", "--package", "ranges", "ranges::kernels::moves", "--repeat", "1", "--no-config"];

/// The work of a timeline: its kind, its stream, and whether it has times and a call.
fn told_work(timeline: &Value) -> Vec<(String, u64, bool, Option<u64>)> {
    let work = timeline["work"].as_array().unwrap_or_else(|| panic!("no work in {timeline:#}"));
    let told = |work: &Value| {
        let kinds = ["launch", "copy", "fill"].into_iter();
        let mut known = kinds.filter(|kind| !work[kind].is_null());
        let kind = known.next().expect("the kind is known");
        let what = format!("{kind} {}", work[kind]);
        let stream = work["stream"].as_u64().expect("it has a stream");
        (what, stream, work["time"]["end_ns"].is_u64(), work["call"].as_u64())
    };
    work.iter().map(told).collect()
}

#[test]
fn a_closure_has_a_timeline_with_its_copies_fills_and_calls() {
    let timeline = row(Some(&FakeGpu::new()), &MOVES)["timeline"].clone();
    let work = |what: &str, stream, call| (what.to_owned(), stream, true, Some(call));
    let expected = [
        work(r#"fill {"bytes":8192}"#, 0, 0),
        work("launch 0", 0, 1),
        work(r#"copy {"bytes":4096,"from":"pageable","to":"device"}"#, 0, 2),
        work(r#"copy {"bytes":8192,"from":"device","to":"pageable"}"#, 1, 3),
    ];
    assert_eq!(told_work(&timeline), expected);
    let calls = timeline["calls"].as_array().expect("there are calls");
    let functions: Vec<&Value> = calls.iter().map(|call| &call["function"]).collect();
    let [upload, download] = ["cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2"];
    assert_eq!(functions, ["cuMemsetD8Async", "cuLaunchKernel", upload, download]);
    // The fake device is idle for 800 ns before each piece, and works 500 ns for a copy or a fill.
    let times = |work: &Value| {
        let time = |key: &str| work["time"][key].as_u64().expect("a time");
        (time("start_ns"), time("end_ns"))
    };
    let all: Vec<_> = timeline["work"].as_array().expect("work").iter().map(times).collect();
    assert_eq!(all[0], (800, 1300));
    assert!(all.windows(2).all(|pair| pair[1].0 == pair[0].1 + 800), "{all:?}");
}

#[test]
fn the_emulated_driver_gives_the_same_order_with_estimates_instead_of_times() {
    let timeline = row(None, &MOVES)["timeline"].clone();
    let work = |what: &str, stream| (what.to_owned(), stream, false, None);
    let expected = [
        work(r#"fill {"bytes":8192}"#, 0),
        work("launch 0", 0),
        work(r#"copy {"bytes":4096,"from":"host","to":"device"}"#, 0),
        work(r#"copy {"bytes":8192,"from":"device","to":"host"}"#, 1),
    ];
    assert_eq!(told_work(&timeline), expected);
    let estimates: Vec<bool> = timeline["work"]
        .as_array()
        .expect("work")
        .iter()
        .map(|work| work["estimate"]["low_ns"].is_number())
        .collect();
    assert_eq!(estimates, [false, true, false, false]);
    assert!(timeline["calls"].is_null(), "{timeline:#}");
}

#[test]
fn the_closures_of_a_gpu_are_in_the_trace_with_their_calls() {
    let gpu = FakeGpu::new();
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let file = folder.path().join("run.json").display().to_string();
    let workshop = workshop();
    gpu.tool(&workshop, &[&MOVES[..], &["--export-json", &file]].concat()).run().exits_with(0);
    let report = workshop.gpuprof(&["report", &file, "--format", "chrome-trace"]).exits_with(0);
    let trace: Value = serde_json::from_str(&report.stdout).expect("it is JSON");
    let events = trace["traceEvents"].as_array().expect("there are events");
    let closure = events.iter().find(|event| {
        let name = event["args"]["name"].as_str().unwrap_or_default();
        name == "one call of ranges::moves block=64"
    });
    let pid = &closure.unwrap_or_else(|| panic!("no closure in {trace:#}"))["pid"];
    let own = events.iter().filter(|event| event["pid"] == *pid);
    let count = |ph: &str| own.clone().filter(|event| event["ph"] == ph).count();
    // Four pieces of work, each with its call and an arrow between both.
    assert_eq!((count("X"), count("s"), count("f")), (8, 4, 4), "{trace:#}");
}

/// The closure of [`LIBRARY`] has 128 requests: two launches of 32 warps that load once, and one of
/// as many that load twice.
const COUNTED: &str = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum";
/// A quotient, which does not add up over launches.
const RATIO: &str = "smsp__thread_inst_executed_per_inst_executed.ratio";

/// Counts [`COUNTED`] and [`RATIO`] of [`LIBRARY`].
fn counted(gpu: &FakeGpu, more: &[&str]) -> Value {
    let metrics = format!("{COUNTED},{RATIO}");
    let arguments = [&LIBRARY[..], &["--metrics", &metrics, "--message-format", "json"], more];
    let run = gpu.tool(&workshop(), &arguments.concat()).run().exits_with(0);
    run.events_of("configuration-finished")[0]["metrics"].clone()
}

#[test]
fn a_closure_of_several_launches_is_one_range_in_every_replay_mode_and_has_rates() {
    for mode in ["application", "range", "kernel"] {
        let gpu = FakeGpu::new();
        let metrics = counted(&gpu, &["--replay-mode", mode]);
        assert_eq!(metrics[COUNTED]["value"], 128.0, "{mode}: {metrics:#}");
        assert_eq!(metrics[RATIO]["value"], 32.0, "{mode}: {metrics:#}");
        let collected = gpu.logged("collected");
        let range = ": closure [once 16x64, twice 16x64, once 8x128]";
        assert!(collected.iter().all(|line| line.ends_with(range)), "{mode}: {collected:#?}");
        assert_eq!(gpu.survivors(), [0; 0]);
    }
}

#[test]
fn the_cache_flush_is_outside_the_closure() {
    let gpu = FakeGpu::new();
    let metrics = counted(&gpu, &["--cache-control", "all"]);
    assert_eq!(metrics[COUNTED]["value"], 128.0, "{metrics:#}");
    let collected = gpu.logged("collected");
    assert!(collected.iter().all(|line| !line.contains("gpuprof_flush")), "{collected:#?}");
}

/// The arguments that measure a closure that starts and stops the profiler: between both, 32 warps
/// load twice and as many load once.
const PROFILED: [&str; 7] =
    ["run", "--package", "ranges", "ranges::kernels::profiled", "--repeat", "1", "--no-config"];

/// Which launches of a configuration are outside of its range.
fn outside(row: &Value) -> Vec<bool> {
    let launches = row["launches"].as_array().expect("there are launches");
    launches.iter().map(|launch| launch["outside"] == true).collect()
}

#[test]
fn only_work_between_profiler_start_and_stop_is_measured() {
    let gpu = FakeGpu::new();
    let row = row(Some(&gpu), &[&PROFILED[..], &["--metrics", COUNTED]].concat());
    assert_eq!(outside(&row), [true, false, false, true], "{row:#}");
    assert_eq!(row["metrics"][COUNTED]["value"], 96.0, "{row:#}");
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("none in {row:#}"));
    let launch = |at: usize, key: &str| number(&row["launches"][at][key]);
    let end = launch(2, "start_ns") + launch(2, "duration_ns");
    assert_eq!(number(&row["metrics"]["duration"]["value"]), end - launch(1, "start_ns"));
    let parts = row["parts"].as_array().expect("there are parts");
    let of: Vec<&Value> =
        parts.iter().flat_map(|part| part.as_object().unwrap().get("launch")).collect();
    assert_eq!(of, [1, 2], "{row:#}");
}

#[test]
fn the_emulated_driver_counts_between_start_and_stop_of_the_profiler_too() {
    let row = row(None, &PROFILED);
    assert_eq!(outside(&row), [true, false, false, true], "{row:#}");
    let parts = row["parts"].as_array().expect("there are parts");
    let names: Vec<&Value> = parts.iter().map(|part| &part["kernel"]).collect();
    assert_eq!(names, ["twice", "once"]);
    // 32 warps each: of `twice` 12 instructions, and of `once` 11.
    assert_eq!(row["metrics"]["ptx_instructions"]["value"], f64::from(32 * (12 + 11)), "{row:#}");
}

#[test]
fn a_closure_that_starts_the_profiler_is_not_one_range() {
    let arguments = [&PROFILED[..], &["--range", "closure", "--metrics", COUNTED]].concat();
    let arguments = [&arguments[..], &["--message-format", "json"]].concat();
    let gpu = FakeGpu::new();
    for run in [gpu.tool(&workshop(), &arguments).run(), workshop().gpuprof(&arguments)] {
        let rows = run.exits_with(105).events_of("configuration-finished");
        let reason = rows[0]["status_reason"].as_str().unwrap_or_default();
        assert!(
            reason.contains("calls cuProfilerStart") && reason.contains("--range launch"),
            "{reason}"
        );
    }
}

#[test]
fn a_capture_of_the_default_stream_is_advised_to_take_another_one() {
    let arguments =
        ["run", "--package", "ranges", "ranges::kernels::captured", "--message-format", "json"];
    let run = workshop().gpuprof(&arguments).exits_with(105);
    let reason = run.events_of("configuration-finished")[0]["status_reason"].to_string();
    assert!(reason.contains("a stream of `run.context().new_stream()`"), "{reason}");
}

#[test]
fn work_on_another_stream_in_a_named_range_is_missed_as_well() {
    let arguments =
        ["run", "--package", "ranges", "ranges::kernels::unjoined", "--message-format", "json"];
    let run = workshop().gpuprof(&arguments).exits_with(105);
    let reason = run.events_of("configuration-finished")[0]["status_reason"].to_string();
    assert!(reason.contains("`once`") && reason.contains("run.join"), "{reason}");
}

#[test]
fn a_range_ends_when_its_work_panics() {
    let arguments = ["run", "--package", "ranges", "ranges::kernels::caught", "--no-config"];
    let row = row(None, &arguments);
    let parts = row["parts"].as_array().expect("there are parts");
    let names: Vec<&Value> = parts.iter().flat_map(|part| part.get("range")).collect();
    assert_eq!(names, ["first", "second"], "{row:#}");
}

/// Three launches of one thread.
const SUM: &str = "pipeline::kernels::sum/block=32";
/// Two launches of one kernel.
const SCALE: &str = "pipeline::kernels::scale_by/block=64,shared=65536,given=2";
/// Requests to store.
const STORED: &str = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum";

/// The arguments that count [`STORED`] and [`RATIO`] of `series`, each launch by itself.
fn each_launch(series: &str) -> Vec<String> {
    let metrics = format!("{STORED},{RATIO}");
    let fixed =
        ["run", "--package", "pipeline", series, "--range", "launch", "--metrics", &metrics];
    let fixed = fixed.iter().chain(&["--repeat", "1", "--no-config"]);
    fixed.map(|argument| (*argument).to_owned()).collect()
}

/// The parts of the first configuration of [`each_launch`]: the subject of each, [`STORED`], and
/// whether it has [`RATIO`].
fn parts(gpu: Option<&FakeGpu>, series: &str) -> Vec<(String, f64, bool)> {
    let arguments = each_launch(series);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let row = row(gpu, &arguments);
    let part = |part: &Value| {
        let name = part["kernel"].as_str().or(part["range"].as_str());
        let of = name.map_or_else(|| part["launch"].to_string(), str::to_owned);
        let metrics = &part["metrics"];
        (of, metrics[STORED].as_f64().expect("it is counted"), metrics[RATIO].is_number())
    };
    row["parts"].as_array().expect("there are parts").iter().map(part).collect()
}

#[test]
fn each_launch_has_a_row_of_its_own_and_each_kernel_their_sum() {
    let gpu = FakeGpu::new();
    let part = |of: &str, stored: f64, ratio: bool| (of.to_owned(), stored, ratio);
    let expected = [
        part("thread_sums_ITEMS_8", 4.0, true),
        part("thread_sums_ITEMS_4", 1.0, true),
        part("total", 1.0, true),
        part("0", 4.0, true),
        part("1", 1.0, true),
        part("2", 1.0, true),
    ];
    assert_eq!(parts(Some(&gpu), SUM), expected);
    let collected = gpu.logged("collected");
    let ranges = "0 [thread_sums_ITEMS_8 4x32] 1 [thread_sums_ITEMS_4 1x32] 2 [total 1x32]";
    assert!(collected.iter().all(|line| line.contains(ranges)), "{collected:#?}");
    // A quotient does not add up over the launches of a kernel.
    let expected = [part("scale", 64.0, false), part("0", 32.0, true), part("1", 32.0, true)];
    assert_eq!(parts(Some(&FakeGpu::new()), SCALE), expected);
}

#[test]
fn the_emulated_driver_counts_each_launch_and_each_kernel_too() {
    let counted = |series: &str| -> Vec<(String, f64)> {
        parts(None, series).into_iter().map(|(of, stored, _)| (of, stored)).collect()
    };
    let part = |of: &str, stored: f64| (of.to_owned(), stored);
    assert_eq!(counted(SCALE), [part("scale", 64.0), part("0", 32.0), part("1", 32.0)]);
    // Without being asked, kernels only.
    let row = row(None, &["run", "--package", "pipeline", SUM, "--no-config"]);
    let parts = row["parts"].as_array().expect("there are parts");
    let kernels: Vec<&Value> = parts.iter().map(|part| &part["kernel"]).collect();
    assert_eq!(kernels, ["thread_sums_ITEMS_8", "thread_sums_ITEMS_4", "total"]);
    let metric = |metrics: &Value| metrics["ptx_instructions"].as_f64().unwrap_or(f64::NAN);
    let sum: f64 = parts.iter().map(|part| metric(&part["metrics"])).sum();
    assert_eq!(Some(sum), row["metrics"]["ptx_instructions"]["value"].as_f64());
    assert!(parts.iter().all(|part| part["estimate"]["low_ns"].is_number()), "{parts:#?}");
}

#[test]
fn sums_of_several_launches_say_which_metrics_a_closure_has() {
    let arguments = each_launch(SCALE);
    let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    arguments.extend(["--message-format", "json"]);
    let run = FakeGpu::new().tool(&workshop(), &arguments).run().exits_with(0);
    let metrics = &run.events_of("configuration-finished")[0]["metrics"];
    assert_eq!(metrics[STORED]["value"], 64.0, "{metrics:#}");
    let reason = metrics[RATIO]["unavailable"].as_str().unwrap_or_default();
    assert!(reason.contains("2 launches") && reason.contains("--range closure"), "{metrics:#}");
}

#[test]
fn launches_of_several_threads_cannot_be_counted_one_by_one() {
    let arguments = [&LIBRARY[..], &["--range", "launch", "--message-format", "json"]].concat();
    let arguments = [&arguments[..], &["--metrics", COUNTED]].concat();
    let run = FakeGpu::new().tool(&workshop(), &arguments).run().exits_with(105);
    let rows = run.events_of("configuration-finished");
    let reason = rows[0]["status_reason"].as_str().unwrap_or_default();
    assert!(reason.contains("launches from several threads"), "{reason}");
    assert!(reason.contains("use --range closure"), "{reason}");
}

/// Four launches of 32 warps in named ranges: `twice` loads twice.
const NAMED: [&str; 7] = [
    "run",
    "--package",
    "ranges",
    "ranges::kernels::named/block=64,as_other=no",
    "--repeat",
    "1",
    "--no-config",
];

/// The named ranges of [`NAMED`]: path, [`COUNTED`], whether it has [`RATIO`]; and [`COUNTED`] of
/// the closure.
fn named(gpu: Option<&FakeGpu>, more: &[&str]) -> (Vec<(String, f64, bool)>, f64) {
    let metrics = format!("{COUNTED},{RATIO}");
    let row = row(gpu, &[&NAMED[..], &["--metrics", &metrics], more].concat());
    let part = |part: &Value| {
        let path = part["range"].as_str()?.to_owned();
        let metrics = &part["metrics"];
        Some((path, metrics[COUNTED].as_f64().expect("counted"), metrics[RATIO].is_number()))
    };
    let parts = row["parts"].as_array().expect("there are parts").iter().filter_map(part);
    (parts.collect(), row["metrics"][COUNTED]["value"].as_f64().expect("counted"))
}

#[test]
fn named_ranges_have_counters_of_their_own_in_every_replay_mode() {
    let part = |path: &str, count: f64, ratio: bool| (path.to_owned(), count, ratio);
    // The quotient of a range that comes twice is not known.
    let expected =
        [part("first", 64.0, false), part("second", 96.0, true), part("second/inner", 32.0, true)];
    for mode in ["application", "range", "kernel"] {
        let gpu = FakeGpu::new();
        let (found, whole) = named(Some(&gpu), &["--replay-mode", mode]);
        assert_eq!((&found[..], whole), (&expected[..], 160.0), "{mode}");
        let collected = gpu.logged("collected");
        let first =
            "closure/0 [once 16x64] closure/1 [twice 16x64, once 16x64] closure/3 [once 16x64]";
        assert!(collected.iter().any(|line| line.ends_with(first)), "{mode}: {collected:#?}");
        assert!(collected.iter().any(|line| line.ends_with(": closure/1/2 [once 16x64]")));
    }
    let (found, whole) = named(None, &[]);
    let counted = |parts: &[(String, f64, bool)]| -> Vec<(String, f64)> {
        parts.iter().map(|(path, count, _)| (path.clone(), *count)).collect()
    };
    assert_eq!((counted(&found), whole), (counted(&expected), 160.0));
}

#[test]
fn launches_that_are_counted_one_by_one_have_no_named_ranges() {
    let gpu = FakeGpu::new();
    for gpu in [None, Some(&gpu)] {
        let row = row(gpu, &[&NAMED[..], &["--metrics", COUNTED, "--range", "launch"]].concat());
        let parts = row["parts"].as_array().expect("there are parts");
        assert!(parts.iter().all(|part| part["range"].is_null()), "{parts:#?}");
        assert!(parts.iter().any(|part| part["launch"] == 3), "{parts:#?}");
    }
}

#[test]
fn a_name_with_a_slash_names_no_range() {
    let series = "ranges::kernels::named/block=64,as_other=yes";
    let arguments = ["run", "--package", "ranges", "--message-format", "json", series];
    let run = workshop().gpuprof(&arguments).exits_with(105);
    let reason = run.events_of("configuration-finished")[0]["status_reason"].to_string();
    assert!(reason.contains("`other/name` cannot name a range"), "{reason}");
}

/// Five launches of 32 warps with NVTX ranges; the second loads twice.
const NVTX: [&str; 7] = [
    "run",
    "--package",
    "ranges",
    "ranges::kernels::phases/block=64,case=nested",
    "--repeat",
    "1",
    "--no-config",
];

/// The ranges with [`COUNTED`] of each that `pattern` selects, that of the closure, and which
/// launches are outside; with the row.
fn selected(gpu: Option<&FakeGpu>, pattern: &str) -> (Vec<(String, f64)>, f64, Vec<bool>, Value) {
    let row = row(gpu, &[&NVTX[..], &["--metrics", COUNTED, "--nvtx", pattern]].concat());
    let part = |part: &Value| {
        Some((part["range"].as_str()?.to_owned(), part["metrics"][COUNTED].as_f64()?))
    };
    let parts = row["parts"].as_array().expect("there are parts").iter().filter_map(part);
    let whole = row["metrics"][COUNTED]["value"].as_f64().expect("it is counted");
    (parts.collect(), whole, outside(&row), row.clone())
}

#[test]
fn nvtx_ranges_that_a_pattern_selects_are_measured_alone() {
    let part = |path: &str, count: f64| (path.to_owned(), count);
    let phase = vec![part("phase", 96.0), part("phase/inner", 32.0)];
    let steps = vec![part("phase/inner", 32.0), part("lib@step", 32.0)];
    let gpu = FakeGpu::new();
    for gpu in [None, Some(&gpu)] {
        let (parts, whole, outside, row) = selected(gpu, "phase*");
        assert_eq!((parts, whole), (phase.clone(), 96.0), "{row:#}");
        assert_eq!(outside, [true, false, false, true, true], "{row:#}");
        let (parts, whole, outside, row) = selected(gpu, "phase/*,lib@step");
        assert_eq!((parts, whole), (steps.clone(), 64.0), "{row:#}");
        assert_eq!(outside, [true, true, false, false, true], "{row:#}");
    }
    // Their order means nothing.
    let patterns = selected(None, "lib@step,phase/*,lib@step").3;
    assert_eq!(patterns["parts"], selected(None, "phase/*,lib@step").3["parts"]);
    let collected = gpu.logged("collected");
    assert!(
        collected.iter().any(|l| l.ends_with(": 0 [twice 16x64, once 16x64]")),
        "{collected:#?}"
    );
    assert!(collected.iter().any(|l| l.ends_with(": 0/1 [once 16x64]")), "{collected:#?}");
    assert!(!collected.iter().any(|line| line.contains("closure")), "{collected:#?}");
}

#[test]
fn the_time_in_nvtx_ranges_is_that_of_their_work() {
    let (.., row) = selected(Some(&FakeGpu::new()), "phase");
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("none in {row:#}"));
    let launch = |at: usize, key: &str| number(&row["launches"][at][key]);
    let end = launch(2, "start_ns") + launch(2, "duration_ns");
    assert_eq!(number(&row["metrics"]["duration"]["value"]), end - launch(1, "start_ns"));
}

#[test]
fn nvtx_ranges_that_cannot_be_collected_say_why() {
    let reason = |gpu: Option<&FakeGpu>, case: &str, pattern: &str| {
        let series = format!("ranges::kernels::phases/block=64,case={case}");
        let arguments = ["run", "--package", "ranges", &series, "--no-config", "--nvtx", pattern];
        let arguments = [&arguments[..], &["--repeat", "1", "--message-format", "json"]].concat();
        let run = match gpu {
            Some(gpu) => gpu.tool(&workshop(), &arguments).run(),
            None => workshop().tool(&arguments).run(),
        };
        let rows = run.exits_with(105).events_of("configuration-finished");
        rows[0]["status_reason"].as_str().unwrap_or_default().to_owned()
    };
    let gpu = FakeGpu::new();
    for gpu in [None, Some(&gpu)] {
        let none = reason(gpu, "nested", "phases,step");
        let text = "--nvtx phases,step matches no NVTX range of the closure: it has lib@step, phase, \
                    phase/inner";
        assert!(none.contains(text), "{none}");
        let overlap = reason(gpu, "overlap", "*");
        assert!(overlap.contains("`phase` and `second` overlap"), "{overlap}");
        let thread = reason(gpu, "thread", "phase");
        assert!(thread.contains("`phase` begins or ends on another thread"), "{thread}");
    }
    // The fake CUPTI has no record of a start that changes nothing.
    let profiler = reason(None, "profiler", "phase");
    assert!(profiler.contains("calls cuProfilerStart or cuProfilerStop too"), "{profiler}");
}

#[test]
fn a_closure_without_launches_fails_and_makes_no_baseline() {
    let workshop = workshop();
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let file = folder.path().join("run.json").display().to_string();
    let idle = ["run", "--package", "ranges", "ranges::kernels::idle", "--repeat", "1"];
    let run = |more: &[&str]| workshop.gpuprof(&[&idle[..], &["--no-config"], more].concat());
    let junit = folder.path().join("junit.xml").display().to_string();
    for strict in [&[][..], &["--strict"]] {
        let files = ["--export-json", &file, "--export-junit", &junit];
        let alone = run(&[&files[..], strict].concat()).exits_with(4);
        assert!(alone.stdout.contains("what is measured launched nothing"), "{}", alone.stdout);
    }
    let cases = fs::read_to_string(&junit).expect("it was exported");
    assert!(cases.contains("<error"), "{cases}");
    let refused = run(&["--save-baseline", "idle"]).exits_with(106);
    let why = "not kept as baseline `idle`: nothing of a series was measured";
    assert!(refused.stderr.contains(why), "{}", refused.stderr);
    workshop.gpuprof(&["baseline", "import", &file, "idle"]).exits_with(0);
    let limit = ["--threshold", "every global_bytes <= 5 B"];
    for (more, conclusion) in [
        (
            &[][..],
            "Nothing compared: the baseline `idle` has no configuration that was measured here.",
        ),
        (
            &limit,
            "Nothing judged: needs `smsp__sass_data_bytes_mem_global_op_ld.sum`: what is measured launched nothing.",
        ),
    ] {
        let against = run(&[&["--baseline", "idle"], more].concat()).exits_with(4);
        assert_eq!(against.stdout.lines().next(), Some(conclusion), "{}", against.stdout);
    }
}
