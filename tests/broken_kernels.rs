//! Kernels and harnesses that go wrong while they run: each harms its own configuration only.

use crate::support::{Outcome, Workspace, with_limit};
use insta::assert_snapshot;

fn run(arguments: &[&str]) -> Outcome {
    Workspace::fixture("workshop").gpuprof(&[&["run", "--quiet"], arguments].concat())
}

#[test]
fn a_write_out_of_bounds_is_reported_with_kernel_source_line_block_thread_and_address() {
    assert_snapshot!(run(&["--package", "faults", "writes_beyond"]).transcript(), @"
    exit code: 105
    ----- stdout -----
    faults::writes_beyond  faults/src/lib.rs:13  on the emulated H200 (sm_90), counters only

     MISSING  every store_sectors_per_request <= 4  block=64,offset=1024 failed  [attribute]

     block  offset  store_sectors_per_request  ptx_instructions  global_sectors
    ────────────────────────────────────────────────────────────────────────────
        64       0                          4                48              16
        64    1024                     failed

     failed  block=64,offset=1024: kernel 'writes_beyond' at faults/src/lib.rs:16:14, block (0,0,0), thread (0,0,0): writes 4 bytes of global memory at 0x7000000c2800, 3584 bytes past the end of a 512-byte allocation at 0x7000000c1800 (argument 'y')

     unverified  every finished row: compared with no reference: there is no `verify`
     checks      every finished row: memory, init, race, sync in all 2 blocks

    2 configurations of 1 series: 1 finished, 1 failed; threshold: 1 missing; 1 not verified: no reference; not judged: block=64,offset=1024 failed

    ----- stderr -----
    ");
}

#[test]
fn a_function_that_is_inlined_twice_names_its_line_and_the_call_that_failed() {
    let outcome = run(&["--package", "faults", "strays_in_helpers"]).exits_with(105);
    let places = outcome.stdout.lines().filter_map(|line| {
        let (call, message) = line.trim().strip_prefix("failed")?.trim().split_once(": ")?;
        Some(format!("{call} {}", message.split_once(", block ")?.0))
    });
    assert_snapshot!(places.collect::<Vec<_>>().join("\n"), @"
    call=1 kernel 'strays_in_helpers' at faults/src/helpers.rs:8:5, called at faults/src/lib.rs:153:19
    call=2 kernel 'strays_in_helpers' at faults/src/helpers.rs:8:5, called at faults/src/lib.rs:154:12
    call=3 kernel 'strays_in_helpers' at faults/src/helpers.rs:15:14, called at faults/src/lib.rs:155:12
    call=4 kernel 'strays_in_helpers' at faults/src/helpers.rs:15:14, called at faults/src/lib.rs:156:12
    call=5 kernel 'strays_in_helpers' at faults/src/helpers.rs:25:14 (in gpuprof-0.1.0/src/device/atomic/instructions.rs:109:17), called at faults/src/lib.rs:160:9
    call=6 kernel 'strays_in_helpers' at faults/src/helpers.rs:25:14 (in gpuprof-0.1.0/src/device/atomic/instructions.rs:109:17), called at faults/src/lib.rs:161:9
    ");
}

#[test]
fn the_message_of_an_expect_is_the_reason_of_the_failure() {
    let outcome = run(&["--package", "faults", "expects"]).exits_with(105);
    let reasons = outcome.stdout.lines().filter_map(|line| line.trim().strip_prefix("failed"));
    let reasons: Vec<&str> = reasons.filter_map(|it| Some(it.rsplit_once("): ")?.1)).collect();
    let expected = ["one for each thread", "it fits in \"32\" bits: _", "the helper's element"];
    assert_eq!(reasons, expected, "{}", outcome.stdout);
}

#[test]
fn a_write_to_a_read_only_argument_is_reported() {
    assert_snapshot!(run(&["--package", "faults", "writes_its_input"]).transcript(), @"
    exit code: 105
    ----- stdout -----
    faults::writes_its_input  faults/src/lib.rs:46  on the emulated H200 (sm_90), counters only

     how  store_sectors_per_request  ptx_instructions  global_sectors
    ──────────────────────────────────────────────────────────────────
       0                          4                16               8
       1                     failed
       2                     failed
       3                     failed

     failed  how=1: kernel 'writes_its_input' at faults/src/lib.rs:52:18, block (0,0,0), thread (0,0,0): writes 4 bytes of global memory at 0x7000000c1800, 0 bytes into `x`, which the kernel takes to read only: let it take `x` as `*mut`, or write elsewhere
     failed  how=2: kernel 'writes_its_input' at faults/src/lib.rs:53:28, block (0,0,0), thread (5,0,0): writes 4 bytes of global memory at 0x7000000c1814, 20 bytes into `x`, which the kernel takes to read only: let it take `x` as `*mut`, or write elsewhere
     failed  how=3: kernel 'writes_its_input' at faults/src/lib.rs:56:17 (in gpuprof-0.1.0/src/device/atomic/instructions.rs:109:17), block (0,0,0), thread (0,0,0): updates 4 bytes of global memory at 0x7000000c180c, 12 bytes into `x`, which the kernel takes to read only: let it take `x` as `*mut`, or write elsewhere

     verified  every finished row: equal to the reference (y: 32 elements)
     checks    every finished row: memory, init, race, sync in 1 block

    4 configurations of 1 series: 1 finished, 3 failed; no thresholds

    ----- stderr -----
    ");
}

#[test]
fn a_wrong_result_is_shown_next_to_the_expected_one() {
    assert_snapshot!(run(&["--package", "faults", "differs"]).transcript(), @"
    exit code: 105
    ----- stdout -----
    faults::differs  faults/src/lib.rs:28  on the emulated H200 (sm_90), counters only

     factor  store_sectors_per_request  ptx_instructions  global_sectors
    ─────────────────────────────────────────────────────────────────────
          2                          4                 8               4
          3                     failed

     failed  factor=3: verify failed: `y` differs from the host in 32 of 32 elements; first y[0]: device 3.0, host 2.0; largest error 2.5e4 times the tolerance, at y[0] (tolerance 2e-5 + 1e-5 × |host|)

     verified  every finished row: equal to the reference (y: 32 elements)
     checks    every finished row: memory, init, race, sync in 1 block

    2 configurations of 1 series: 1 finished, 1 failed; no thresholds

    ----- stderr -----
    ");
}

#[test]
fn results_are_not_compared_under_no_verify() {
    let json = ["--package", "faults", "differs", "--no-verify", "--message-format", "json"];
    let outcome = run(&json).exits_with(0);
    let rows = outcome.events_of("configuration-finished");
    assert!(
        rows.iter().all(|row| row["verified"] == false && row["status"] == "finished"),
        "{rows:#?}"
    );
}

#[test]
fn a_crashed_harness_affects_no_other_configuration() {
    assert_snapshot!(run(&["--package", "endings", "ends"]).transcript(), @"
    exit code: 105
    ----- stdout -----
    endings::ends  endings/src/lib.rs:34  on the emulated H200 (sm_90), counters only

     how        ptx_instructions  global_sectors
    ─────────────────────────────────────────────
     returns                   1               0
     fails                failed
     panics               failed
     exits                failed
     is_killed            failed

     failed  how=fails: the matrix is singular
     failed  how=panics: the harness panicked at endings/src/lib.rs:39:13: the table is not sorted
     failed  how=exits: the process exited with code 3; the end of its stderr:
              out of widgets
     failed  how=is_killed: the process was killed by SIGKILL (signal 9)

     verified  every finished row: agreed with the reference
     checks    every finished row: memory, init, race, sync in 1 block

    5 configurations of 1 series: 1 finished, 4 failed; no thresholds

    ----- stderr -----
    ");
}

#[test]
fn user_code_that_exits_or_hangs_a_process_is_named() {
    let outcome = run(&["--package", "faults", "lingers", "--timeout", "3"]).exits_with(105);
    let said = |what: &str| {
        let lines = outcome.stdout.lines();
        lines.map(str::trim).find(|line| line.contains(what)).unwrap_or_default().to_owned()
    };
    assert_snapshot!(said("what=0:"), @"failed   what=0: the process exited with code 0 before it had replied, as code that calls `std::process::exit` makes it, while the kernel's inputs were made");
    assert_snapshot!(said("what=1:"), @"timeout  what=1: the process ran for 3 s and was killed (the limit of --timeout); the time was up while the reference ran on the host (`verify`); its series is at faults/src/lib.rs:77");
}

#[test]
fn a_harness_that_hangs_is_killed_after_the_timeout() {
    let within = |limit: &str| run(&["--package", "endings", "sleeps", "--timeout", limit]);
    let fits = |outcome: &Outcome| outcome.stdout.contains(": 2 finished, 1 timed out;");
    let (seconds, outcome) = with_limit(within, fits);
    let transcript = outcome.transcript().replace(&format!("for {seconds} s"), "for [LIMIT]");
    assert_snapshot!(transcript, @"
    exit code: 105
    ----- stdout -----
    endings::sleeps  endings/src/lib.rs:58  on the emulated H200 (sm_90), counters only

     milliseconds  ptx_instructions  global_sectors
    ────────────────────────────────────────────────
                1                 1               0
            60000           timeout
                2                 1               0

     timeout  milliseconds=60000: the process ran for [LIMIT] and was killed (the limit of --timeout); its series is at endings/src/lib.rs:58

     unverified  every finished row: compared with no reference: there is no `verify`
     checks      every finished row: memory, init, race, sync in all 2 blocks

    3 configurations of 1 series: 2 finished, 1 timed out; no thresholds; 2 not verified: no reference

    ----- stderr -----
    ");
}

/// The kernels that `docs/scripts/trouble.sh` runs on a GPU.
#[test]
fn endless_and_faulting_kernels_fail_only_their_configurations() {
    let trouble = Workspace::fixture("trouble");
    let run = ["run", "--quiet", "--metrics", "ptx_instructions", "--timeout"];
    let end = "6 configurations of 2 series: 4 finished, 1 failed, 1 timed out; no thresholds; 4 not verified: no \
               reference\n";
    let (seconds, outcome) = with_limit(
        |limit| trouble.gpuprof(&[&run[..], &[limit]].concat()),
        |outcome| outcome.stdout.ends_with(end),
    );
    let outcome = outcome.exits_with(105);
    let failed: Vec<String> = outcome
        .stdout
        .lines()
        .filter(|l| l.contains("  block=64: "))
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    let [hung, strayed] = failed.as_slice() else { panic!("{}", outcome.stdout) };
    let killed = format!(
        "timeout block=64: the process ran for {seconds} s and was killed (the limit of --timeout); \
         kernel 'hangs' at src/lib.rs:"
    );
    // Either of the two warps.
    let ends = ["0", "32"].iter().any(|x| {
        let place =
            format!("thread ({x},0,0): it was still running; its series is at src/lib.rs:8");
        hung.ends_with(&place)
    });
    assert!(hung.starts_with(&killed) && ends, "{hung}");
    // The write is inside a function of Rust's library.
    let place = "failed block=64: kernel 'strays' at src/lib.rs:23:29 (in core/src/ptr/mod.rs:";
    let what = "block (0,0,0), thread (0,0,0): writes 4 bytes of global memory at 0x710000000000, \
                1099511627264 bytes past the end of a 512-byte allocation at 0x700000000000 (argument 'y'), \
                which is only the nearest: did an index wrap around (in `u32`, 0 - 1 is \
                4294967295)?";
    assert!(strayed.starts_with(place) && strayed.ends_with(what), "{strayed}");
    assert!(outcome.stdout.ends_with(end), "{}", outcome.stdout);
}

#[test]
fn json_lines_hold_the_outcome_of_each_configuration() {
    let arguments = ["--package", "endings", "ends", "--message-format", "json"];
    let outcome = run(&arguments).exits_with(105);
    let rows = outcome.events_of("configuration-finished");
    let ends: Vec<String> = rows
        .iter()
        .map(|row| {
            let (key, status, why) = (&row["configuration"], &row["status"], &row["status_reason"]);
            format!("{key} {status} verified {} {why}", row["verified"])
        })
        .collect();
    assert_snapshot!(ends.join("\n"), @r#"
    "how=returns" "finished" verified true null
    "how=fails" "failed" verified false "the matrix is singular"
    "how=panics" "failed" verified false "the harness panicked at endings/src/lib.rs:39:13: the table is not sorted"
    "how=exits" "failed" verified false "the process exited with code 3; the end of its stderr:\nout of widgets"
    "how=is_killed" "failed" verified false "the process was killed by SIGKILL (signal 9)"
    "#);
}
