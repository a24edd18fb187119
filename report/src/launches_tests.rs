//! The launches of a pipeline in every format that shows them.

use gpuprof_analysis::view::View;
use gpuprof_model::estimate::Estimate;
use gpuprof_model::measurement::LaunchRecord;
use gpuprof_model::parts::{Part, PartResult};
use gpuprof_model::units::Nanoseconds;
use insta::assert_snapshot;

use super::launches::{Range, Room};
use super::tests::{emulator_run, written};
use super::{Html, Markdown, Report, Table};

/// A run in which the first configuration launches one kernel twice and another one once.
fn pipeline() -> gpuprof_model::run::Run {
    let mut run = emulator_run();
    let launch = |kernel: &str, grid| LaunchRecord {
        kernel: kernel.into(),
        grid: [grid, 1, 1],
        block: [32, 2, 1],
        ..LaunchRecord::default()
    };
    let last = "scan<4, float>";
    run.series[0].configurations[0].launches =
        vec![launch("sums", 8), launch("sums", 8), launch(last, 1)];
    run
}

/// The lines of `text` from the first that holds `start`, with single spaces.
fn from(text: &str, start: &str, count: usize) -> String {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines = text.lines().skip_while(|line| !line.contains(start)).take(count);
    lines.map(words).collect::<Vec<_>>().join("\n")
}

#[test]
fn terminal_markdown_and_page_show_the_same_launches() {
    let run = pipeline();
    let text = written(&Table { width: None, colour: false }, &run);
    assert_snapshot!(from(&text, "3 launches", 5), @r"
    3 launches of block=64,n=1048576
    launches kernel grid block
    ───────────────────────────────────────
    2 sums 8 32x2
    1 scan<4, float> 1 32x2
    ");
    assert_snapshot!(from(&written(&Markdown::default(), &run), "3 launches", 6), @r"
    3 launches of block=64,n=1048576

    | launches | kernel | grid | block |
    | ---: | :--- | ---: | ---: |
    | 2 | sums | 8 | 32x2 |
    | 1 | scan&lt;4, float&gt; | 1 | 32x2 |
    ");
    let page = written(&Html::default(), &run);
    let (_, launches) = page.split_once("<h3>Launches</h3>").expect("they are there");
    let (launches, _) = launches.split_once("</div>").expect("the table ends");
    assert_snapshot!(launches.replace("><", ">\n<"), @r#"
    <p>3 launches of block=64,n=1048576</p>
    <div class="wide" tabindex="0" role="region" aria-label="Launches">
    <table>
    <thead>
    <tr>
    <th scope="col" class="number">launches</th>
    <th scope="col">kernel</th>
    <th scope="col" class="number">grid</th>
    <th scope="col" class="number">block</th>
    </tr>
    </thead>
    <tbody>
    <tr>
    <td class="number">2</td>
    <td>sums</td>
    <td class="number">8</td>
    <td class="number">32x2</td>
    </tr>
    <tr>
    <td class="number">1</td>
    <td>scan&lt;4, float&gt;</td>
    <td class="number">1</td>
    <td class="number">32x2</td>
    </tr>
    </tbody>
    </table>
    "#);
}

#[test]
fn times_of_a_gpu_are_summed_by_kind_with_their_share() {
    let mut run = pipeline();
    let launches = &mut run.series[0].configurations[0].launches;
    launches[2].kernel = "_Z5scaleIfEvPT_i".to_owned();
    for (launch, time) in launches.iter_mut().zip([1_000, 2_000, 9_000]) {
        launch.duration_ns = Some(time);
    }
    let text = written(&Table { width: None, colour: false }, &run);
    assert_snapshot!(from(&text, "3 launches", 5), @r"
    3 launches of block=64,n=1048576
    launches kernel grid block time share
    ──────────────────────────────────────────────────
    2 sums 8 32x2 3 µs 25%
    1 scale<float> 1 32x2 9 µs 75%
    ");
    assert_snapshot!(from(&written(&Markdown::default(), &run), "3 launches", 6), @r"
    3 launches of block=64,n=1048576

    | launches | kernel | grid | block | time | share |
    | ---: | :--- | ---: | ---: | ---: | ---: |
    | 2 | sums | 8 | 32x2 | 3 µs | 25% |
    | 1 | scale&lt;float&gt; | 1 | 32x2 | 9 µs | 75% |
    ");
    let page = written(&Html::default(), &run);
    assert!(page.contains("<td class=\"number\">75%</td>"), "{page}");
    // A launch without a time: the others cannot be shares of the whole.
    run.series[0].configurations[0].launches[0].duration_ns = None;
    let text = written(&Table { width: None, colour: false }, &run);
    assert!(!from(&text, "3 launches", 2).contains("time"), "{text}");
}

/// The pipeline, with instructions of each kernel and of each launch.
fn counted() -> gpuprof_model::run::Run {
    let mut run = pipeline();
    let part = |part, count: f64| PartResult {
        part,
        metrics: [("ptx_instructions".to_owned(), count)].into(),
        estimate: None,
    };
    run.series[0].configurations[0].parts = vec![
        part(Part::Kernel("sums".into()), 30.0),
        part(Part::Kernel("scan<4, float>".into()), 5.0),
        part(Part::Launch(0), 10.0),
        part(Part::Launch(1), 20.0),
        part(Part::Launch(2), 5.0),
    ];
    run
}

/// As [`from`], without rules.
fn rows(text: &str, start: &str, count: usize) -> String {
    let lines = from(text, start, count);
    let lines: Vec<&str> = lines.lines().filter(|line| !line.starts_with('─')).collect();
    lines.join("\n")
}

#[test]
fn all_shows_counts_of_kernels_and_launches() {
    let mut run = counted();
    run.series[0].configurations[0].launches[1].grid = [16, 1, 1];
    let text = written(&Table { width: None, colour: false }, &run);
    assert_snapshot!(rows(&text, "3 launches", 5), @"
    3 launches of block=64,n=1048576
    launches kernel grid block ptx_instructions
    2 sums varies 32x2 30
    1 scan<4, float> 1 32x2 5
    ");
    assert!(!text.contains("launch  kernel"), "{text}");
    let verbose = View { verbose: true, ..View::default() };
    let mut whole = Vec::new();
    Table { width: None, colour: false }.write_as(&verbose, &run, &mut whole).unwrap();
    let whole = String::from_utf8(whole).unwrap();
    assert_snapshot!(rows(&whole, "launch  ", 5), @"
    launch kernel grid block ptx_instructions
    1 sums 8 32x2 10
    2 sums 16 32x2 20
    3 scan<4, float> 1 32x2 5
    ");
    assert!(written(&Markdown::default(), &run).contains("| 2 | sums | 16 | 32x2 | 20 |"));
    assert!(written(&Html::default(), &run).contains("<td class=\"number\">20</td>"));
}

#[test]
fn launches_outside_the_range_are_counted_and_not_shown() {
    let mut run = pipeline();
    run.series[0].configurations[0].launches[0].outside = true;
    let text = written(&Table { width: None, colour: false }, &run);
    assert_snapshot!(rows(&text, "3 launches", 5), @"
    2 of 3 launches of block=64,n=1048576: those in the range
    launches kernel grid block
    1 sums 8 32x2
    1 scan<4, float> 1 32x2
    ");
}

#[test]
fn estimated_times_of_kernels_are_shares() {
    let mut run = counted();
    for (part, duration_ns) in run.series[0].configurations[0].parts.iter_mut().zip([3e3, 1e3]) {
        part.estimate = Some(Estimate {
            duration_ns: Nanoseconds(duration_ns),
            low_ns: Nanoseconds(duration_ns / 2.0),
            high_ns: Nanoseconds(duration_ns * 2.0),
            limits: Vec::new(),
            model: 2,
            chip: "H200".to_owned(),
            characterised: false,
            registers_known: true,
            machine_code_known: true,
        });
    }
    let text = written(&Table { width: None, colour: false }, &run);
    assert_snapshot!(rows(&text, "launches  ", 4), @"
    launches kernel grid block ≈ share ptx_instructions
    2 sums 8 32x2 75% 30
    1 scan<4, float> 1 32x2 25% 5
    ");
}

#[test]
fn a_series_that_launches_once_a_pass_has_no_range() {
    let run = emulator_run();
    assert!(Range::all(&run.series[0], &[], Room::ALL).is_empty());
}

#[test]
fn of_many_kernels_the_slowest_are_shown() {
    let mut run = pipeline();
    let launches = &mut run.series[0].configurations[0].launches;
    let more = (0..30).map(|at| LaunchRecord {
        kernel: format!("k{at}"),
        duration_ns: Some(1_000 * (1 + at)),
        ..launches[0].clone()
    });
    let more: Vec<_> = more.collect();
    launches.iter_mut().for_each(|launch| launch.duration_ns = Some(100));
    launches.extend(more);
    let text = written(&Table { width: None, colour: false }, &run);
    assert_snapshot!(rows(&text, "launches  ", 4), @"
    launches kernel grid block time share
    1 k29 8 32x2 30 µs 6.447%
    1 k28 8 32x2 29 µs 6.233%
    ");
    assert!(text.contains(" … and 22 more kernels; these have the most time\n"), "{text}");
    assert!(text.contains("report --all shows what is left out here"), "{text}");
    let markdown = written(&Markdown::default(), &run);
    assert!(markdown.contains("and 16 more kernels; these have the most time"), "{markdown}");
    let all = View { all: true, ..View::default() };
    let mut whole = Vec::new();
    Table { width: None, colour: false }.write_as(&all, &run, &mut whole).unwrap();
    let whole = String::from_utf8(whole).unwrap();
    for text in [whole, written(&Html::default(), &run)] {
        assert!(text.contains("k0") && !text.contains("more kernels"), "{text}");
    }
}

/// A run in which each of `rows` configurations has these named ranges, with instructions.
fn with_ranges(ranges: &[(&str, f64)], configurations: usize) -> gpuprof_model::run::Run {
    let mut run = emulator_run();
    let part = |(path, count): &(&str, f64)| PartResult {
        part: Part::Range((*path).to_owned()),
        metrics: [("ptx_instructions".to_owned(), *count)].into(),
        estimate: None,
    };
    for row in run.series[0].configurations.iter_mut().take(configurations) {
        row.parts = ranges.iter().map(part).collect();
    }
    run
}

#[test]
fn named_ranges_of_each_configuration_have_rows_of_their_own_in_every_format() {
    let mut run = with_ranges(&[("forward", 7.0), ("forward/norm", 3.0)], 2);
    run.series[0].configurations[0].parts.truncate(1);
    let text = written(&Table { width: None, colour: false }, &run);
    assert_snapshot!(rows(&text, "ranges of", 10), @"
    ranges of block=64,n=1048576
    range ptx_instructions
    forward 7

    ranges of block=64,n=16777216
    range ptx_instructions
    forward 7
    forward/norm 3
    ");
    let markdown = written(&Markdown::default(), &run);
    assert!(markdown.contains("| forward/norm | 3 |"), "{markdown}");
    let page = written(&Html::default(), &run);
    assert!(page.contains("<td>forward/norm</td>"), "{page}");
    let keys = run.series[0].configurations.iter().take(2).map(|row| row.configuration.to_string());
    for key in keys {
        let title = format!("ranges of {key}");
        assert!(text.contains(&title) && page.contains(&title), "{key}: {page}");
        assert!(markdown.contains(&title), "{key}: {markdown}");
    }
}

#[test]
fn a_screen_shows_the_largest_named_ranges_and_the_page_all() {
    let names: Vec<String> = (0..200).map(|at| format!("part {at}")).collect();
    let ranges: Vec<(&str, f64)> =
        names.iter().map(String::as_str).zip((0..).map(f64::from)).collect();
    let run = with_ranges(&ranges, 1);
    let text = written(&Table { width: None, colour: false }, &run);
    assert_snapshot!(rows(&text, "ranges of", 5), @"
    ranges of block=64,n=1048576
    range ptx_instructions
    part 199 199
    part 198 198
    ");
    assert!(text.lines().count() <= 45, "{text}");
    let more = "more ranges; these have the most ptx_instructions";
    assert!(text.contains(more), "{text}");
    assert!(text.contains("report --all shows what is left out here"), "{text}");
    let markdown = written(&Markdown::default(), &run);
    assert!(markdown.contains(more) && !markdown.contains("part 1 "), "{markdown}");
    assert!(written(&Html::default(), &run).contains("<td>part 1</td>"));
}

#[test]
fn ranges_without_work_have_no_table() {
    let mut run = with_ranges(&[("idle", 0.0)], 1);
    run.series[0].configurations[0].parts[0].metrics.clear();
    let text = written(&Table { width: None, colour: false }, &run);
    assert!(!text.contains("ranges of"), "{text}");
}
