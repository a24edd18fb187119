//! Hardware counters by replay, on a fake GPU: the results of passes, and the handling of failed
//! ones.
//!
//! The fake CUPTI is strict about its use and logs its collections (`tests/fakes`), so every test
//! also asserts which passes ran. Its passes count from 0; the tool's count from 1, since pass 0 is
//! the timed one.

use std::collections::BTreeMap;

use crate::support::replay::{
    ISOLATIONS, METRICS, SCALE, arguments, finished, of_both, shares_processes, values, workshop,
};
use crate::support::{FakeGpu, Happening, Outcome, with_limit};
use serde_json::Value;

/// Runs `selection` in every replay mode under every isolation: all counts must equal `emulated`;
/// `also` is asserted of each.
fn in_every_mode(
    selection: &[&str],
    emulated: &BTreeMap<String, Vec<f64>>,
    also: impl Fn(&FakeGpu, &Outcome, &str),
) {
    for isolation in ISOLATIONS {
        for mode in ["application", "range", "kernel"] {
            let gpu = FakeGpu::new();
            let more = [&["--replay-mode", mode], isolation].concat();
            let outcome = gpu.tool(&workshop(), &arguments(selection, &more)).run().exits_with(0);
            let told = format!("{mode} {isolation:?}");
            assert_eq!(values(&outcome), *emulated, "{told}");
            also(&gpu, &outcome, &told);
        }
    }
}

#[test]
fn every_replay_mode_counts_what_the_emulator_counts() {
    let selection = ["vector", "gather", "--series", "stride=1,8"];
    let emulated = values(&workshop().gpuprof(&arguments(&selection, &[])).exits_with(0));
    assert_eq!(emulated.len(), 2);
    in_every_mode(&selection, &emulated, |gpu, outcome, mode| {
        // Two configurations, four passes, each once; and times from none of them.
        let collected = gpu.logged("collected");
        let alone = |pass: &str| {
            let line = format!("collected pass {pass} of 4: 0 [gather 64x64]");
            collected.iter().filter(|told| **told == line).count()
        };
        let together = |pass: &str| {
            let line = format!("collected pass {pass} of 4: 0 [gather 64x64] 1 [gather 64x64]");
            collected.iter().filter(|told| **told == line).count()
        };
        // Those of a process share a session.
        let shared = !mode.contains("configuration");
        let passes = ["0", "1", "2", "3"];
        assert_eq!(passes.map(alone), [if shared { 0 } else { 2 }; 4], "{mode}: {collected:#?}");
        assert_eq!(passes.map(together), [usize::from(shared); 4], "{mode}: {collected:#?}");
        assert_eq!(collected.len(), if shared { 4 } else { 8 }, "{mode}: {collected:#?}");
        for event in outcome.events_of("configuration-finished") {
            assert!(event["metrics"]["duration"]["value"].is_f64(), "{event:#}");
        }
        assert_eq!(gpu.survivors(), [0; 0]);
    });
}

#[test]
fn the_cache_is_emptied_right_before_every_launch_that_counts() {
    const FLUSH: &str = "[gpuprof_flush 1024x256]";
    let passes = |more: &[&str]| {
        let common = ["run", "--package", "vector", "scale", "--message-format", "json"];
        let one =
            ["--repeat", "1", "--no-config", "--metrics", METRICS[0], "--cache-control", "all"];
        let gpu = FakeGpu::new();
        let outcome = gpu.tool(&workshop(), &[&common[..], &one, more].concat()).run();
        for event in outcome.exits_with(0).events_of("configuration-finished") {
            assert_eq!(event["metrics"][METRICS[0]]["value"], SCALE[0], "{event:#}");
        }
        let lines = gpu.logged("collected pass 0 of 1: ").into_iter();
        lines.map(|line| line.split_once(": ").unwrap_or_default().1.to_owned()).collect::<Vec<_>>()
    };
    let together = passes(&["--isolate", "kernel", "--interleave", "none"]);
    assert_eq!(together, [format!("0 {FLUSH} 1 [scale 64x64] 2 {FLUSH} 3 [scale 32x128]")]);
    let one = |mode: &str| passes(&["--replay-mode", mode, "--series", "block=64"]);
    assert_eq!(one("range"), [format!("0 {FLUSH} 1 [scale 64x64]")]);
    let empty = "[gpuprof_empty_caches 1024x128]";
    assert_eq!(one("kernel"), [format!("0 {FLUSH} 1 {empty} 2 [scale 64x64]")]);
}

#[test]
fn configurations_whose_buffers_are_large_do_not_share_a_session() {
    let gpu = FakeGpu::new();
    // A megabyte each, if the device has 48.
    let more = ["--series", "n=256K", "--series", "block=64..256", "--isolate", "kernel"];
    let more = [&more[..], &["--interleave", "none"]].concat();
    let outcome =
        gpu.tool(&workshop(), &arguments(&["vector", "scale"], &more)).run().exits_with(0);
    let expected = SCALE.map(|value| 64.0 * value);
    assert_eq!(values(&outcome).into_values().collect::<Vec<_>>(), [expected; 3]);
    let lines = gpu.logged("collected");
    // The first left room for all, not knowing how large they are; the others know.
    const FLUSH: &str = "[gpuprof_flush 1024x256]";
    let first = format!(": 0 [scale 4096x64] 1 {FLUSH} 2 {FLUSH}");
    for ranges in [&first, ": 0 [scale 2048x128]", ": 0 [scale 1024x256]"] {
        assert_eq!(lines.iter().filter(|line| line.ends_with(ranges)).count(), 4, "{lines:#?}");
    }
    assert_eq!(lines.len(), 12, "{lines:#?}");
}

#[test]
fn every_pass_of_a_series_function_finds_its_setup() {
    for function in ["spends", "keeps"] {
        let selection = ["settles", function];
        let emulated = values(&workshop().gpuprof(&arguments(&selection, &[])).exits_with(0));
        // Two loads of every thread, as in a first launch.
        let first = vec![64.0, 256.0, 32.0, 8192.0];
        assert_eq!(emulated.values().collect::<Vec<_>>(), [&first, &first]);
        in_every_mode(&selection, &emulated, |gpu, _, mode| {
            assert_eq!(gpu.logged("collected").len(), 8, "{mode}");
        });
    }
}

#[test]
fn counters_are_decoded_before_the_kernel_is_unloaded() {
    // Configurations of a kernel share a pass; each call of a function is one.
    for (selection, count) in [(["settles", "spends"], 8), (["vector", "scale"], 4)] {
        let package = selection[0];
        let gpu = FakeGpu::new();
        let tool = gpu.tool(&workshop(), &arguments(&selection, &[])).env("FAKE_TIMELINE", "1");
        tool.run().exits_with(0);
        let timeline = gpu.timeline();
        let of = |process, what: &str| {
            timeline.iter().find(|h| h.process == process && h.what == what).unwrap()
        };
        let counting = timeline.iter().filter(|h| h.what == "counts");
        let passes: Vec<_> = counting.map(|pass| (pass, of(pass.process, "decodes"))).collect();
        assert_eq!(passes.len(), count, "{package}");
        for (pass, decoded) in passes {
            let between = |h: &&Happening| {
                h.process == pass.process && h.begin >= pass.end && h.end <= decoded.begin
            };
            assert_eq!(timeline.iter().find(between), None, "{package}");
        }
    }
}

#[test]
fn a_series_function_that_changes_between_calls_is_reported() {
    for mode in ["application", "range", "kernel"] {
        let arguments = arguments(&["settles", "wavers"], &["--replay-mode", mode]);
        let outcome = FakeGpu::new().tool(&workshop(), &arguments).run().exits_with(105);
        let event = &outcome.events_of("configuration-finished")[0];
        assert_eq!(event["status"], "failed", "{mode}");
        assert_eq!(
            event["status_reason"],
            "`wavers` launched grid 2x1x1 block 64x1x1 shared 0 in one call and launched grid \
             3x1x1 block 64x1x1 shared 0 in a later one; a series function is called again for \
             every counter pass and must do the same every time",
            "{mode}"
        );
    }
}

/// Runs `scale` with two configurations, the one with blocks of 64 threads in trouble.
fn troubled(gpu: &FakeGpu, trouble: &str, more: &[&str]) -> Outcome {
    let tool = gpu.tool(&workshop(), &arguments(&["vector", "scale"], more));
    tool.env("FAKE_CUPTI_TROUBLE", trouble).run()
}

#[test]
fn a_crash_in_a_pass_ends_its_own_configuration() {
    for isolation in ISOLATIONS {
        let gpu = FakeGpu::new();
        let outcome = troubled(&gpu, "abort pass=1 block=64", isolation).exits_with(105);
        let [(status, reason), other] = of_both(&outcome);
        assert_eq!(status, "failed");
        assert_eq!(
            reason,
            "the process was killed by SIGABRT (signal 6); the end of its stderr:\n\
             fake CUPTI: asked to abort in pass 1"
        );
        assert_eq!(other, finished());
        // Nothing of it was collected after the crash, and everything of the other one, which may
        // share the process: in its own slot, after a filler that nothing reads.
        let shared = shares_processes(isolation);
        assert_eq!(gpu.logged("collected pass 0").len(), if shared { 1 } else { 2 });
        let ranges =
            if shared { "0 [gpuprof_flush 1024x256] 1 [scale 32x128]" } else { "0 [scale 32x128]" };
        for pass in [1, 2, 3] {
            let lines = gpu.logged(&format!("collected pass {pass}"));
            assert_eq!(lines, [format!("collected pass {pass} of 4: {ranges}")]);
        }
        assert_eq!(values(&outcome)["block=128,n=4096"], SCALE);
        assert_eq!(gpu.survivors(), [0; 0]);
    }
}

#[test]
fn a_pass_that_hangs_is_killed_and_the_next_configuration_continues() {
    for isolation in ISOLATIONS {
        let gpu = FakeGpu::new();
        let within = |limit: &str| {
            troubled(&gpu, "hang pass=1 block=64", &[&["--timeout", limit], isolation].concat())
        };
        // A slow machine may not be through with pass 0 of either in a second.
        let fits = |outcome: &Outcome| {
            let [(status, _), other] = of_both(outcome);
            other == finished() && status == "timeout" && !gpu.logged("hangs").is_empty()
        };
        let (seconds, outcome) = with_limit(within, fits);
        let outcome = outcome.exits_with(105);
        let [(status, reason), other] = of_both(&outcome);
        assert_eq!(status, "timeout");
        let expected = format!(
            "the process ran for {seconds} s and was killed (the limit of --timeout); its "
        );
        assert!(reason.starts_with(&expected) && reason.contains("/src/lib.rs:"), "{reason}");
        assert_eq!(other, finished());
        assert_eq!(values(&outcome)["block=128,n=4096"], SCALE);
        assert_eq!(gpu.survivors(), [0; 0]);
    }
}

#[test]
fn an_error_of_cupti_in_a_pass_is_reported_with_its_remedy() {
    for isolation in ISOLATIONS {
        let outcome = troubled(&FakeGpu::new(), "fail cuptiRangeProfilerStart 999", isolation)
            .exits_with(105);
        for (status, reason) in of_both(&outcome) {
            assert_eq!(status, "failed");
            let beginning = "cuptiRangeProfilerStart failed: CUPTI_ERROR_UNKNOWN (999)\n  cause: ";
            assert!(reason.starts_with(beginning), "{reason}");
            assert!(reason.contains("\n  remedy: install the CUPTI of the driver"), "{reason}");
        }
        // Retries are reported with their reason; runs in isolation from the start are not.
        let rows = outcome.events_of("configuration-finished");
        let told = rows.iter().filter(|row| row["retried"].is_string()).count();
        assert_eq!(told, if shares_processes(isolation) { 2 } else { 0 }, "{rows:#?}");
    }
}

#[test]
fn counters_that_are_denied_in_the_middle_leave_times_and_a_remedy() {
    for isolation in ISOLATIONS {
        let outcome =
            troubled(&FakeGpu::new(), "fail cuptiRangeProfilerStart 26", isolation).exits_with(0);
        assert_eq!(of_both(&outcome), [finished(), finished()]);
        for event in outcome.events_of("configuration-finished") {
            assert!(event["metrics"]["duration"]["value"].is_f64(), "{event:#}");
            for name in METRICS {
                let reason = event["metrics"][name]["unavailable"].as_str().unwrap_or_default();
                assert!(reason.contains("CUPTI_ERROR_HARDWARE_BUSY (26)"), "{event:#}");
                assert!(reason.contains("dcgmi profile --pause"), "{event:#}");
            }
        }
    }
}

#[test]
fn endless_passes_and_lost_counters_give_no_values() {
    let gpu = FakeGpu::new();
    let outcome = troubled(&gpu, "continue block=64", &[]).exits_with(105);
    let [(status, reason), other] = of_both(&outcome);
    assert_eq!(status, "failed");
    assert_eq!(reason, "4 passes were planned, but CUPTI needs more");
    assert_eq!(other, finished());

    // A pass is lost as a whole.
    let isolate = ["--isolate", "configuration"];
    let outcome = troubled(&FakeGpu::new(), "lose pass=1 block=64", &isolate).exits_with(0);
    let all = values(&outcome);
    let missing = |key: &str| all[key].iter().map(|value| value.is_nan()).collect::<Vec<_>>();
    assert_eq!(missing("block=64,n=4096"), [false, true, false, false]);
    assert_eq!(missing("block=128,n=4096"), [false; 4]);
    let lost = &outcome.events_of("configuration-finished")[0]["metrics"][METRICS[1]];
    let reason = lost["unavailable"].as_str().unwrap_or_default();
    assert!(reason.starts_with("CUPTI returned NaN"), "{lost}");
}

/// Runs `drifts`, which launches another grid in the second counter pass.
fn drifting(more: &[&str]) -> Outcome {
    let metrics = "sm__ctas_launched.sum,store_sectors_per_request";
    let common = ["run", "--package", "drifts", "--message-format", "json", "--repeat", "1"];
    let arguments = [&common[..], &["--no-config", "--metrics", metrics], more].concat();
    FakeGpu::new().tool(&workshop(), &arguments).env("DRIFTS_IN_PASS", "1").run()
}

#[test]
fn a_launch_that_differs_between_passes_is_named_with_both_sides() {
    for isolation in ISOLATIONS {
        let outcome = drifting(isolation).exits_with(105);
        let [(status, reason), other] = of_both(&outcome);
        assert_eq!(status, "failed");
        assert_eq!(
            reason,
            "counter pass 2: replay diverged: launch 1 is `drifts` grid 2x1x1 block 64x1x1 shared \
             0 context 4096 in pass 0 and `drifts` grid 4x1x1 block 64x1x1 shared 0 context 4096 \
             there; a profiled kernel must do the same in every process"
        );
        assert_eq!(other, finished());

        let balanced = [&["--app-replay-mode", "balanced"], isolation].concat();
        let [(status, reason), other] = of_both(&drifting(&balanced).exits_with(105));
        assert_eq!(status, "failed");
        let beginning = "counter pass 2: replay diverged: launch 1, in any place, is `drifts` grid 2x1x1 block 64x1x1 \
                         shared 0 context 4096 in pass 0 and absent (but `drifts` grid 4x1x1 block 64x1x1 shared 0 \
                         context 4096 is) there";
        assert!(reason.starts_with(beginning), "{reason}");
        assert_eq!(other, finished());
    }
}

#[test]
fn a_differing_launch_is_left_out_on_request() {
    for isolation in ISOLATIONS {
        let relaxed = [&["--app-replay-mode", "relaxed"], isolation].concat();
        let outcome = drifting(&relaxed).exits_with(0);
        assert_eq!(of_both(&outcome), [finished(), finished()]);
        let metric = |block: &str| {
            let of = |event: &&Value| event["configuration"] == format!("block={block}");
            let events = outcome.events_of("configuration-finished");
            events.iter().find(of).map(|e| e["metrics"]["sm__ctas_launched.sum"].clone())
        };
        let (left_out, kept) =
            (metric("64").unwrap_or_default(), metric("128").unwrap_or_default());
        let reason = left_out["unavailable"].as_str().unwrap_or_default();
        assert_eq!(
            reason,
            "the launches of counter pass 2 do not match (launch 1, in any place, is `drifts` grid \
             2x1x1 block 64x1x1 shared 0 context 4096 in pass 0 and absent (but `drifts` grid \
             4x1x1 block 64x1x1 shared 0 context 4096 is) there); --app-replay-mode relaxed \
             discards such a range"
        );
        assert_eq!(kept["value"], 2.0);

        // By name alone it is the same launch.
        let by_name = [&["--app-replay-match", "name"], isolation].concat();
        assert_eq!(of_both(&drifting(&by_name).exits_with(0)), [finished(), finished()]);
    }
}

#[test]
fn a_second_run_asks_cupti_for_no_plan() {
    let (gpu, workspace) = (FakeGpu::new(), workshop());
    let run = |more: &[&str]| {
        gpu.tool(&workspace, &arguments(&["vector", "scale"], more)).run().exits_with(0)
    };
    let enabled = || gpu.logged("enabled").len();
    let first = values(&run(&[]));
    let planned = enabled();
    assert_eq!(planned, 1 + 4, "a trial session, and every pass of both configurations");
    // Nor does it matter whether the next process opens its context while this one measures.
    assert_eq!(values(&run(&["--ahead", "1"])), first);
    assert_eq!(enabled() - planned, 4);
    // Nor is counter data left behind, which is megabytes a pass.
    let outcome = run(&[]);
    let id =
        outcome.events_of("run-started")[0]["id"].as_str().expect("runs have names").to_owned();
    let passes = std::fs::read_dir(workspace.run_folder(&id).join("passes")).expect("it is kept");
    let names: Vec<String> =
        passes.flatten().map(|file| file.file_name().to_string_lossy().into_owned()).collect();
    assert!(names.iter().any(|name| name.ends_with("-pass-4.reply.json")), "{names:?}");
    assert!(!names.iter().any(|name| name.ends_with(".image")), "{names:?}");
}
