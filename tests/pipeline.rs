//! Series functions that launch annotated kernels by their types, on the emulated driver and a
//! fake GPU.

use serde_json::Value;

use crate::support::replay::workshop;
use crate::support::{FakeGpu, Outcome};

/// The table of launches in the report of `run`, each line with single spaces.
fn launches(run: &Outcome) -> Vec<String> {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let stdout = run.tidy_stdout();
    stdout.lines().skip_while(|line| !line.contains("launches of")).take(6).map(words).collect()
}

#[test]
fn several_kernels_are_one_measured_range_whose_launches_are_shown() {
    let arguments = ["run", "--package", "pipeline", "pipeline::kernels::sum/"];
    let run = workshop().gpuprof(&arguments).exits_with(0);
    let launches = launches(&run);
    assert_eq!(launches[0], "3 launches of block=32,n=1024");
    let head = "launches kernel grid block ptx_instructions global_sectors";
    assert!(launches[1].starts_with(head), "{launches:#?}");
    let rows = ["1 thread_sums_ITEMS_8 4 32 ", "1 thread_sums_ITEMS_4 1 32 ", "1 total 1 32 "];
    for (row, start) in launches[3..].iter().zip(rows) {
        assert!(row.starts_with(start), "{launches:#?}");
    }
}

#[test]
fn launches_have_times_on_a_gpu_and_are_recorded_without_cupti() {
    let arguments = ["run", "--package", "pipeline", "pipeline::kernels::sum/", "--repeat", "1"];
    let gpu = FakeGpu::new();
    let seen = launches(&gpu.tool(&workshop(), &arguments).run().exits_with(0));
    assert_eq!(seen[0], "3 launches of block=32,n=1024");
    assert_eq!(seen[1], "launches kernel grid block time share");
    assert!(seen[3].starts_with("1 thread_sums_ITEMS_8 4 32 "), "{seen:#?}");
    assert!(seen[3].contains(" µs ") && seen[3].ends_with('%'), "{seen:#?}");
    let gpu = FakeGpu::new();
    let tool = gpu.tool(&workshop(), &arguments);
    let tool = tool.env("FAKE_CUPTI_TROUBLE", "fail cuptiActivityEnable 39");
    let seen = launches(&tool.run().exits_with(0));
    assert_eq!(seen[1], "launches kernel grid block");
    assert_eq!(seen[3], "1 thread_sums_ITEMS_8 4 32");
}

#[test]
fn results_are_verified_and_refused_launches_are_invalid() {
    let filter = "pipeline::kernels::sum/";
    let arguments = ["run", "--package", "pipeline", "--message-format", "json", filter];
    let run = workshop().gpuprof(&arguments).exits_with(0);
    let rows = run.events_of("configuration-finished");
    let told: Vec<(&str, &Value)> = rows
        .iter()
        .map(|row| (row["status"].as_str().unwrap_or_default(), &row["verified"]))
        .collect();
    let (yes, no) = (Value::Bool(true), Value::Bool(false));
    assert_eq!(told, [("finished", &yes), ("finished", &yes), ("invalid", &no)]);
    assert_eq!(
        rows[2]["status_reason"],
        "a block of 2048 threads exceeds the device's limit of 1024"
    );
}

#[test]
fn a_stream_of_a_library_is_joined_and_one_that_is_gone_is_an_error() {
    let filter = "pipeline::kernels::joins/";
    let arguments = ["run", "--package", "pipeline", "--message-format", "json", filter];
    let arguments = [&arguments[..], &["--series", "stream=own,raw,gone"]].concat();
    let gpu = FakeGpu::new();
    let on_gpu = [&arguments[..], &["--repeat", "1"]].concat();
    for run in [workshop().tool(&arguments).run(), gpu.tool(&workshop(), &on_gpu).run()] {
        let run = run.exits_with(105);
        let rows = run.events_of("configuration-finished");
        let statuses: Vec<&Value> = rows.iter().map(|row| &row["status"]).collect();
        assert_eq!(statuses, ["finished", "finished", "failed"]);
        let reason = rows[2]["status_reason"].as_str().unwrap();
        assert!(reason.starts_with("the run cannot join a stream: "), "{reason}");
    }
}

#[test]
fn a_stream_of_a_library_that_is_not_joined_is_an_error_without_a_gpu_too() {
    let filter = "pipeline::kernels::joins/";
    let tool =
        workshop().tool(&["run", "--package", "pipeline", filter, "--series", "stream=none"]);
    let stdout = tool.run().exits_with(105).stdout;
    let reason = "a copy or fill ran on a stream that the measured one does not wait for, so its \
                  time would be missed. Launch on `run.stream()`, or name the stream before \
                  `run.measure`: `run.join(&other)`";
    assert!(stdout.contains(reason), "{stdout}");
}

#[test]
fn a_setup_runs_once_per_process_and_is_reported() {
    let arguments = ["run", "--package", "pipeline", "pipeline::kernels::with_keys/"];
    let gpu = FakeGpu::new();
    let together = [&arguments[..], &["--repeat", "1", "--isolate", "kernel"]].concat();
    for run in [workshop().tool(&arguments).run(), gpu.tool(&workshop(), &together).run()] {
        let stdout = run.exits_with(0).stdout;
        let said = " setup     every row: made once a process, not timed; it took up to ";
        assert!(stdout.contains(said), "{stdout}");
        assert!(stdout.contains(" verified  every row: "), "{stdout}");
    }
}

#[test]
fn a_library_takes_raw_handles_and_a_series_function_refuses_a_configuration() {
    let filter = "pipeline::kernels::fill_halves/";
    let arguments = ["run", "--package", "pipeline", "--message-format", "json", filter];
    let run = workshop().gpuprof(&arguments).exits_with(0);
    let rows = run.events_of("configuration-finished");
    assert_eq!((&rows[0]["status"], &rows[0]["verified"]), (&"finished".into(), &true.into()));
    assert_eq!(rows[1]["status"], "invalid");
    assert_eq!(rows[1]["status_reason"], "1001 elements have no two halves");
}

/// Status and reason of each configuration of a series, sorted: a GPU takes them in any order.
fn scaled(run: &Outcome) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let rows = run.events_of("configuration-finished");
    let row = |row: &Value| {
        (text(&row["configuration"]), text(&row["status"]), text(&row["status_reason"]))
    };
    let mut rows: Vec<_> = rows.iter().map(row).collect();
    rows.sort();
    rows.into_iter().map(|(_, status, reason)| (status, reason)).collect()
}

#[test]
fn a_function_that_another_layer_loaded_is_checked_and_refused_as_invalid() {
    let filter = "pipeline::kernels::scale_by/";
    let arguments = ["run", "--package", "pipeline", "--message-format", "json", filter];
    let too_few = "`scale` has 2 parameters, and run.raw_function(…).launch was given 1";
    let threads = "a block of 2048 threads exceeds the device's limit of 1024";
    let shared = "1048576 bytes of dynamic and 0 bytes of static shared memory exceed the device's \
                  limit of 232448 per block";
    let told = |status: &str, reason: &str| (status.to_owned(), reason.to_owned());
    let refused = (0..6).map(|_| told("invalid", threads));
    let runs = || [told("failed", too_few), told("finished", "")];
    let expected: Vec<_> = refused
        .chain(runs())
        .chain([told("invalid", shared), told("invalid", shared)])
        .chain(runs())
        .collect();
    assert_eq!(scaled(&workshop().gpuprof(&arguments).exits_with(105)), expected);
    let gpu = FakeGpu::new();
    let on_gpu = [&arguments[..], &["--repeat", "1"]].concat();
    assert_eq!(scaled(&gpu.tool(&workshop(), &on_gpu).run().exits_with(105)), expected);
}

/// The outcomes of blocks of 2048 threads if a library launches them, in `launched_by_others`:
/// ignored, when measured and before, tolerated.
fn told(run: &Outcome) -> [(String, String); 4] {
    let rows = scaled(run);
    assert_eq!(rows.iter().filter(|(status, _)| status == "finished").count(), 12, "{rows:?}");
    let rows: Vec<_> = rows.into_iter().filter(|(status, _)| status != "finished").collect();
    let [before, ignored, measured, tolerated] = rows.try_into().expect("four rows are left");
    [ignored, measured, before, tolerated]
}

const BY_OTHERS: [&str; 6] = [
    "run",
    "--package",
    "pipeline",
    "--message-format",
    "json",
    "pipeline::kernels::launched_by_others/",
];

fn row(status: &str, reason: &str) -> (String, String) {
    (status.to_owned(), reason.to_owned())
}

#[test]
fn a_library_launch_refused_by_the_emulated_driver_is_invalid() {
    let [ignored, measured, before, tolerated] =
        told(&workshop().gpuprof(&BY_OTHERS).exits_with(105));
    let refused = "kernel 'scale' cannot be launched: block.x is 2048 but the device allows 1024";
    assert_eq!(measured, row("invalid", refused));
    assert_eq!(before, row("invalid", refused));
    // The program continued, so something else is wrong.
    assert_eq!(tolerated, row("failed", "the sum is wrong"));
    assert_eq!(ignored.0, "failed");
    assert!(ignored.1.starts_with("a host call copies 4 bytes of"), "{}", ignored.1);
}

#[test]
fn an_unchecked_refused_launch_is_invalid_and_other_errors_are_failures() {
    let errs =
        ["run", "--package", "pipeline", "--message-format", "json", "pipeline::kernels::errs/"];
    let rows = scaled(&workshop().gpuprof(&errs).exits_with(105));
    let [many, few, refused, finished] = rows.try_into().expect("four configurations");
    for failed in [few, many] {
        assert_eq!(failed.0, "failed");
        assert!(failed.1.contains("a host call frees device memory at"), "{}", failed.1);
    }
    assert_eq!(finished.0, "finished");
    let reason = "kernel 'scale' cannot be launched: block.x is 2048 but the device allows 1024";
    assert_eq!(refused, row("invalid", reason));
    let gpu = FakeGpu::new();
    let of_gpu = ["pipeline::kernels::errs/why=freed", "--repeat", "1"];
    let freed = [&errs[..5], &of_gpu[..]].concat();
    for row in scaled(&gpu.tool(&workshop(), &freed).run().exits_with(105)) {
        assert_eq!(row.0, "failed", "{}", row.1);
    }
}

#[test]
fn a_library_launch_refused_by_a_gpu_is_invalid() {
    let gpu = FakeGpu::new();
    let each = ["--repeat", "1", "--isolate", "configuration"];
    let run = gpu.tool(&workshop(), &[&BY_OTHERS[..], &each].concat()).run();
    let [ignored, measured, before, tolerated] = told(&run.exits_with(105));
    let refused = "the driver refuses to launch `scale` with 1x1x1 blocks of 2048x1x1 threads: \
                   CUDA_ERROR_INVALID_VALUE (1): invalid argument";
    assert_eq!(measured, row("invalid", refused));
    assert_eq!(before, row("invalid", refused));
    assert_eq!(tolerated, row("failed", "the sum is wrong"));
    assert_eq!(ignored, row("failed", "the library returns 1"));
    // Once for each configuration that went wrong.
    assert_eq!(gpu.logged("subscribes").len(), 4);
    assert_eq!(gpu.logged("unsubscribes").len(), 4);
}

#[test]
fn without_cupti_a_refused_library_launch_is_a_failure_with_the_remedy() {
    let gpu = FakeGpu::new();
    let trouble = "fail cuptiSubscribe 39";
    let run = gpu
        .tool(&workshop(), &[&BY_OTHERS[..], &["--repeat", "1"]].concat())
        .env("FAKE_CUPTI_TROUBLE", trouble)
        .run();
    let [_, measured, ..] = told(&run.exits_with(105));
    assert_eq!(measured.0, "failed");
    let reason = "the library returns 1 (whether the driver refused a launch is not known: \
                  cuptiSubscribe failed: CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED (39)";
    assert!(measured.1.starts_with(reason), "{}", measured.1);
    assert!(measured.1.ends_with("; return run.invalid(…) where it does)"), "{}", measured.1);
}

#[test]
fn launches_of_a_function_that_another_layer_loaded_are_in_the_table() {
    let gpu = FakeGpu::new();
    let one = "pipeline::kernels::scale_by/block=64,shared=65536,given=2";
    let arguments = ["run", "--package", "pipeline", one, "--metrics", "dynamic_shared"];
    let arguments = [&arguments[..], &["--repeat", "1"]].concat();
    let run = gpu.tool(&workshop(), &arguments).run().exits_with(0);
    let launches = launches(&run);
    assert_eq!(launches[0], "2 launches of block=64,shared=65536,given=2,n=1024");
    assert!(launches[3].starts_with("2 scale 16 64 "), "{launches:#?}");
    assert!(run.stdout.contains("dynamic_shared [KiB]"), "{}", run.stdout);
}
