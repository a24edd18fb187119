//! The timeline of a closure in every format that shows it.

use gpuprof_analysis::view::View;
use gpuprof_model::measurement::LaunchRecord;
use gpuprof_model::run::Run;
use gpuprof_model::timeline::{
    ApiCall, EstimatedDuration, Memory, TimeSpan, Timeline, Work, WorkKind,
};
use gpuprof_model::units::Nanoseconds;
use insta::assert_snapshot;

use super::tests::{emulator_run, written};
use super::{Html, Markdown, Report, Table};

pub(crate) fn timed(start_ns: u64, end_ns: u64) -> Option<TimeSpan> {
    Some(TimeSpan { start_ns, end_ns })
}

fn work(kind: WorkKind, stream: u64, time: Option<TimeSpan>, call: Option<usize>) -> Work {
    Work { kind, stream, device: None, time, estimate: None, call }
}

fn call(function: &str, start_ns: u64, end_ns: u64) -> ApiCall {
    ApiCall { function: function.to_owned(), thread: 0, time: TimeSpan { start_ns, end_ns } }
}

/// A run in which the first configuration copies, launches a kernel, and fills meanwhile on another
/// stream.
pub(crate) fn measured() -> Run {
    let mut run = emulator_run();
    let row = &mut run.series[0].configurations[0];
    row.launches = vec![LaunchRecord {
        kernel: "sums".into(),
        grid: [8, 1, 1],
        block: [32, 2, 1],
        ..LaunchRecord::default()
    }];
    let copy = WorkKind::Copy { from: Memory::Pageable, to: Memory::Device, bytes: 4096 };
    row.timeline = Some(Timeline {
        work: vec![
            work(copy, 7, timed(2_000, 3_500), Some(0)),
            work(WorkKind::Launch(0), 7, timed(5_000, 9_000), Some(1)),
            work(WorkKind::Fill { bytes: 64 }, 13, timed(8_600, 9_200), None),
        ],
        calls: vec![
            call("cuMemcpyHtoDAsync_v2", 100, 1_900),
            call("cuLaunchKernel", 2_000, 4_000),
            call("cuLaunchKernel", 5_000, 6_000),
        ],
        ..Timeline::default()
    });
    run
}

/// The lines of `text` from the first that holds `start`, with single spaces.
fn from(text: &str, start: &str, count: usize) -> String {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines = text.lines().skip_while(|line| !line.contains(start)).map(words);
    let lines = lines.filter(|line| !line.starts_with('─')).take(count);
    lines.collect::<Vec<_>>().join("\n")
}

fn verbose(run: &Run) -> String {
    let (view, mut text) = (View { verbose: true, ..View::default() }, Vec::new());
    Table { width: None, colour: false }.write_as(&view, run, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn work_has_its_times_idle_times_and_overlaps_and_calls_are_summed_by_function() {
    let run = measured();
    assert_snapshot!(from(&verbose(&run), "timeline of", 10), @"
    timeline of block=64,n=1048576: 3 pieces of work in 9.200 µs, device idle 3.500 µs, overlap 400 ns
    start time idle before overlap stream work
    2 µs 1.500 µs 2 µs 0 ns 7 copy 4 KiB, pageable to device
    5 µs 4 µs 1.500 µs 0 ns 7 sums grid 8 block 32x2
    8.600 µs 600 ns 0 ns 400 ns 13 fill 64 B

    driver calls of block=64,n=1048576
    calls function time thread
    1 cuMemcpyHtoDAsync_v2 1.800 µs 0
    2 cuLaunchKernel 3 µs 0
    ");
    let text = written(&Table { width: None, colour: false }, &run);
    assert_snapshot!(from(&text, "timeline of", 1), @"timeline of block=64,n=1048576: 3 pieces of work in 9.200 µs, device idle 3.500 µs, overlap 400 ns; -v shows them");
    assert_snapshot!(from(&written(&Markdown::default(), &run), "timeline of", 7), @"
    timeline of block=64,n=1048576: 3 pieces of work in 9.200 µs, device idle 3.500 µs, overlap 400 ns

    | start | time | idle before | overlap | stream | work |
    | ---: | ---: | ---: | ---: | ---: | :--- |
    | 2 µs | 1.500 µs | 2 µs | 0 ns | 7 | copy 4 KiB, pageable to device |
    | 5 µs | 4 µs | 1.500 µs | 0 ns | 7 | sums grid 8 block 32x2 |
    | 8.600 µs | 600 ns | 0 ns | 400 ns | 13 | fill 64 B |
    ");
    let page = written(&Html::default(), &run);
    assert!(page.contains("<td>copy 4 KiB, pageable to device</td>"), "{page}");
    assert!(page.contains("<td>cuLaunchKernel</td>"), "{page}");
}

#[test]
fn copies_between_devices_and_work_of_another_device_name_them() {
    let mut run = measured();
    let timeline = run.series[0].configurations[0].timeline.as_mut().unwrap();
    timeline.work[0].kind = WorkKind::PeerCopy { from_device: 0, to_device: 1, bytes: 64 << 20 };
    timeline.work[1].device = Some(1);
    timeline.work[2].device = Some(1);
    assert_snapshot!(from(&verbose(&run), "start", 4), @"
    start time idle before overlap stream work
    2 µs 1.500 µs 2 µs 0 ns 7 copy 64 MiB, device 0 to device 1
    5 µs 4 µs 1.500 µs 0 ns 7 sums grid 8 block 32x2 on device 1
    8.600 µs 600 ns 0 ns 400 ns 13 fill 64 B on device 1
    ");
}

#[test]
fn the_work_of_the_emulated_driver_has_its_order_and_estimates() {
    let mut run = measured();
    let timeline = run.series[0].configurations[0].timeline.as_mut().unwrap();
    timeline.calls.clear();
    timeline.work.iter_mut().for_each(|work| work.time = None);
    timeline.work[1].estimate =
        Some(EstimatedDuration { low_ns: Nanoseconds(2e3), high_ns: Nanoseconds(4.5e3) });
    assert_snapshot!(from(&verbose(&run), "timeline of", 5), @"
    timeline of block=64,n=1048576: 3 pieces of work in order, without measured times
    ≈ time stream work
    - 7 copy 4 KiB, pageable to device
    2 µs–4.500 µs 7 sums grid 8 block 32x2
    - 13 fill 64 B
    ");
    assert!(!verbose(&run).contains("driver calls"), "{run:#?}");
}

#[test]
fn work_and_calls_beyond_the_timeline_are_counted() {
    let mut run = measured();
    let timeline = run.series[0].configurations[0].timeline.as_mut().unwrap();
    (timeline.more_work, timeline.more_calls) = (7, 9);
    let text = verbose(&run);
    assert!(text.contains("10 pieces of work, of which the first 3 in 9.200 µs"), "{text}");
    assert!(text.contains("and 7 more\n"), "{text}");
    assert!(text.contains("the first 3 driver calls of"), "{text}");
}

#[test]
fn a_run_without_a_timeline_shows_none() {
    assert!(!verbose(&emulator_run()).contains("timeline"));
}
