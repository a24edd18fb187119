//! Annotations, options and verdicts in edge cases, on the emulated driver.

use crate::support::{Outcome, Workspace};
use insta::assert_snapshot;

fn gpuprof(arguments: &[&str]) -> Outcome {
    let run = ["run", "--package", "corners", "--backend", "emulator", "--quiet", "--all"];
    Workspace::fixture("workshop").gpuprof(&[&run, arguments].concat())
}

/// The lines of the notes with this label, as they are shown.
fn notes(outcome: &Outcome, label: &str) -> String {
    let lines = outcome.stdout.lines().filter(|line| line.trim_start().starts_with(label));
    lines.map(str::trim).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_underflow_or_overflow_in_a_launch_expression_is_reported() {
    let outcome = gpuprof(&["inner", "doubles"]).exits_with(0);
    assert_snapshot!(notes(&outcome, "invalid "), @"
    invalid  block=64,n=32: `grid`: `n - 64` falls below 0: 32 - 64; a `where` in the series leaves such configurations out
    invalid  block=32,n=40: `grid`: `1 << n` is more than i32 can hold: 1 << 40; check the axes, or write smaller types `as u64`
    ");
}

#[test]
fn declared_work_of_more_than_twice_the_counted_is_named_with_both_numbers() {
    let outcome =
        gpuprof(&["overstated", "--metrics", "global_bytes,global_sectors"]).exits_with(0);
    assert_snapshot!(notes(&outcome, "declared "), @"
    declared  bytes at block=32,n=64: 250 KiB by the annotation, but global loads, stores and atomics ask for 256 B
    declared  flops at block=32,n=64: 64,000 by the annotation, but the additions and multiplications are 64
    ");
    let row = outcome.stdout.lines().find(|line| line.trim_start().starts_with("32 ")).unwrap();
    assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["32", "64", "256", "8"], "{row}");
}

#[test]
fn a_row_without_compared_elements_is_reported_as_unverified() {
    let outcome = gpuprof(&["empties", "loose"]).exits_with(0);
    assert_snapshot!(notes(&outcome, "verified ") + "\n" + &notes(&outcome, "unverified "), @"
    verified  block=32,n=32: equal to the reference (x: 32 elements)
    unverified  block=32,n=0: nothing was compared: what the kernel writes has no elements
    unverified  every row: the tolerance or `compare` accepts what the buffers held before the launch
    ");
    let json = gpuprof(&["empties", "loose", "--message-format", "json"]).exits_with(0);
    let told: Vec<String> = json
        .events_of("configuration-finished")
        .iter()
        .map(|row| format!("{} {}", row["verified"], row["unverified"]))
        .collect();
    assert_eq!(told, ["false \"nothing-compared\"", "true null", "false \"anything-accepted\""]);
}

#[test]
fn reading_an_empty_buffer_is_a_fault() {
    let outcome = gpuprof(&["of_nothing"]).exits_with(105);
    let told = "thread (0,0,0): reads 4 bytes of global memory at 0x0";
    assert!(outcome.stdout.contains(told), "{}", outcome.stdout);
}

#[test]
fn an_unlisted_word_is_refused_with_the_listed_ones() {
    let outcome = gpuprof(&["strides", "--series", "layout=row"]).exits_with(0);
    assert_snapshot!(outcome.stderr, @"warning: axis `layout` of corners::strides lists rows, columns, and not `row`, which runs all the same; did you mean `rows`?");
}

#[test]
fn an_invalid_option_value_is_refused_with_the_valid_ones() {
    let refused = |arguments: &[&str]| gpuprof(arguments).exits_with(2).stderr;
    assert_snapshot!(refused(&["--timeout", "0"]), @"
    error: invalid value '0' for '--timeout <SECONDS>': it must be at least 1; leave the option out for its default

    For more information, try '--help'.
    ");
    assert_snapshot!(refused(&["--filter", ""]), @"
    error: the expression is empty
      --> --filter
       |
       | 
       | ^
       = help: write a condition such as block >= 256, or leave it out
    ");
    assert_snapshot!(refused(&["loose", "--threshold", "every global_bytes.p95 <= 10 KiB"]), @"
    error: `global_bytes` is exact: it has one value, and no `.p95` of several
      --> --threshold
       |
       | every global_bytes.p95 <= 10 KiB
       |                   ^^^^
       = help: write global_bytes
    ");
}
