//! The lines and columns on a terminal, for generated runs of one and of many series.

use std::collections::BTreeSet;

use gpuprof_analysis::fixture::{finished, gpu_pass, h200, judge, point, series};
use gpuprof_analysis::gate::baseline::{Against, Scope};
use gpuprof_analysis::gate::judge::Baseline;
use gpuprof_analysis::gate::run::rejudge;
use gpuprof_analysis::view::View;
use gpuprof_model::advice::{Advice, Certainty, Gain, SeriesAdvice};
use gpuprof_model::code::{
    AccessCost, CostlyLine, CountedCode, Counter, LineCounts, ListedLine, Listing, Sources,
};
use gpuprof_model::measurement::Unverified;
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::{ConfigurationResult, Run, SeriesResult};
use gpuprof_model::threshold::Threshold;
use gpuprof_model::verdict::{Judgement, Verdict};
use gpuprof_model::{Quantity, Unit};

use super::tests::gpu_run;
use super::*;

const KERNELS: [&str; 15] = [
    "attention",
    "bilateral",
    "conv2d",
    "fft",
    "histogram",
    "jacobi",
    "kmeans",
    "matmul",
    "nbody",
    "reduce",
    "saxpy",
    "scan",
    "softmax",
    "spmv",
    "transpose",
];

/// Eight blocks of a kernel in 24 processes, with times that `slower` multiplies; samples drift,
/// and one of each process is an outlier.
fn rows(kernel: u64, side: u64, slower: impl Fn(u64) -> f64) -> Vec<ConfigurationResult> {
    let row = |at: u64| {
        let noise = |round: u64| ((round * 37 + side * 11 + at * 5) % 25) as f64;
        let base = (20_000 + 3_000 * kernel + 700 * at.abs_diff(kernel % 8)) as f64;
        let process = |place: f64| {
            let sample = |i: u32| base * place * slower(at) * (1.0 + 0.002 * f64::from(i % 7));
            let mut samples: Vec<f64> = (0..8).map(sample).collect();
            samples[4] *= 9.0;
            gpu_pass(32 << at, 1 << 24, &samples)
        };
        let passes: Vec<_> = (0..24).map(|i| process(1.0 + 0.0005 * (noise(i) - 12.0))).collect();
        finished(point(32 << at, 1 << 24), &passes)
    };
    (0..8).map(row).collect()
}

fn kernel(at: u64, rows: Vec<ConfigurationResult>) -> SeriesResult {
    let name = KERNELS[usize::try_from(at).unwrap()];
    let mut series = series(rows);
    series.id.kernel = name.to_owned();
    series.id.package = format!("example-{name}");
    series.file = format!("examples/{name}/src/kernels/{name}.rs");
    series
}

/// A run of the first `count` kernels. The third does not finish everywhere, the fifth violates two
/// thresholds in every row, and the seventh was compared with nothing.
fn run(count: u64) -> Run {
    let mut run = gpu_run();
    run.series = (0..count).map(|at| kernel(at, rows(at, 1, |_| 1.0))).collect();
    for (at, series) in run.series.iter_mut().enumerate() {
        match at {
            2 => {
                let failed = |at: u64| gpuprof_analysis::fixture::failed(at);
                for (place, row) in series.configurations.iter_mut().enumerate().take(5) {
                    let configuration = row.configuration.clone();
                    *row = ConfigurationResult { configuration, ..failed(place as u64) };
                }
            }
            6 => series
                .configurations
                .iter_mut()
                .for_each(|row| row.unverified = Some(Unverified::NothingChanged)),
            _ => {}
        }
        let limits = ["every duration <= 10 us", "every throughput >= 99% of peak"];
        let limits = if at == 4 { &limits[..] } else { &["every duration <= 1 ms"] };
        let judged = |text: &&str| {
            let threshold = Threshold::parse(text).unwrap();
            let (rows, none) = (&series.configurations, Baseline::none());
            judge(&Catalogue::built_in(), &threshold, "attribute", rows, Some(&h200()), &none)
        };
        series.judgements = limits.iter().map(judged).collect();
        run.advice.push(SeriesAdvice {
            series: series.id.clone(),
            device: None,
            pieces: vec![piece(), piece(), piece(), piece()],
        });
    }
    run
}

fn piece() -> Advice {
    Advice {
        rule: "bank-conflicts".to_owned(),
        name: "bank conflicts".to_owned(),
        message: "a shared load takes 8.0 wavefronts of 32 banks where one would be enough".into(),
        remedy: Some("One column of padding spreads the accesses over the banks.".into()),
        certainty: Certainty::Likely,
        gain: Some(Gain::Use { percent: 40.0 }),
        configurations: vec!["block=32,n=16777216".to_owned()],
        metrics: Vec::new(),
    }
}

/// The run next to a base in which every kernel but the last was faster by a tenth at two rows.
fn compared(count: u64) -> Run {
    let head = run(count);
    let slower = |kernel: u64| move |at: u64| if at < 2 && kernel + 1 < count { 0.9 } else { 1.0 };
    let mut base = gpu_run();
    base.id = Run::base_id(&head.id);
    base.series = (0..count).map(|at| kernel(at, rows(at, 0, slower(at)))).collect();
    let against = Against {
        name: "origin/main".into(),
        run: Ok(base),
        across_devices: false,
        in_rounds: true,
        scope: Scope::whole(),
    };
    let threshold = Threshold::parse("every duration <= baseline + 3%").unwrap();
    rejudge(&Catalogue::built_in(), head, &[threshold], &against)
}

fn shown(run: &Run, view: &View, width: Option<u16>) -> String {
    let mut out = Vec::new();
    Table { colour: false, width }.write_as(view, run, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The lines of `text` on a terminal of 100 columns. Tables fit them; in a log, sentences and notes
/// have one line, so that a search finds them.
fn height(text: &str) -> usize {
    let wide = |line: &&str| line.chars().count() > 100;
    let tables = text.split("\n\n").filter(|part| part.contains("vs best"));
    let mut wide_rows =
        tables.flat_map(str::lines).filter(wide).filter(|line| line.contains("x  "));
    assert_eq!(wide_rows.next(), None, "{text}");
    text.lines().map(|line| line.chars().count().div_ceil(100).max(1)).sum()
}

/// The texts of the series of `text`, each with the blank line after it.
fn blocks(text: &str) -> Vec<Vec<&str>> {
    let mut blocks: Vec<Vec<&str>> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        if line.starts_with("example-") {
            blocks.push(Vec::new());
            open = true;
        }
        if open {
            blocks.last_mut().unwrap().push(line);
            open = !line.is_empty();
        }
    }
    blocks
}

#[test]
fn one_series_fits_a_screen_in_100_columns() {
    for run in [run(1), compared(1)] {
        let text = shown(&run, &View::default(), None);
        assert!(height(&text) <= 40, "{} lines\n{text}", height(&text));
        let terminal = shown(&run, &View::default(), Some(100));
        assert!(height(&terminal) <= 40, "{} lines\n{terminal}", height(&terminal));
    }
}

#[test]
fn fifteen_series_have_150_lines_and_each_of_many_has_twelve() {
    for (count, most) in [(2, 40), (5, 100), (15, 150)] {
        for run in [run(count), compared(count)] {
            let text = shown(&run, &View::default(), None);
            let (lines, blocks) = (height(&text), blocks(&text));
            assert!(lines <= most, "{lines} lines of {count} series\n{text}");
            assert_eq!(blocks.len() as u64, count);
            assert!(blocks.iter().all(|block| height(&block.join("\n")) <= 12), "{text}");
        }
    }
}

#[test]
fn the_screen_of_many_series() {
    insta::assert_snapshot!(shown(&run(7), &View::default(), Some(100)));
}

#[test]
fn the_screen_of_many_series_next_to_a_base() {
    insta::assert_snapshot!(shown(&compared(7), &View::default(), Some(100)));
}

#[test]
fn all_shows_the_noise_the_advice_and_every_row() {
    let all = View { all: true, ..View::default() };
    let (run, verbose) = (run(3), View { verbose: true, ..View::default() });
    let count = |view: &View, what: &str| shown(&run, view, None).matches(what).count();
    let rows = "  16777216  ";
    for (what, few, noisy, whole) in
        [(" outliers ", 0, 11, 11), (" advice\n", 0, 0, 3), (rows, 10, 9, 24), (" PASS ", 0, 0, 2)]
    {
        let counts = [&View::default(), &verbose, &all].map(|view| count(view, what));
        assert_eq!(counts, [few, noisy, whole], "{what}");
    }
}

/// Lines of which each is the costly one of a threshold.
const COSTLY: [u32; 4] = [10, 20, 30, 40];

/// `series` with thresholds that fail and name these lines, each by two of them.
fn fail_with_lines(series: &mut SeriesResult, sources: &mut Sources) {
    let file = series.file.clone();
    let text: String = (1..50).map(|line| format!("    let value_{line} = load();\n")).collect();
    sources.add(&file, &text, &BTreeSet::from(COSTLY));
    let line = |at: u32| ListedLine(at, 1, at, "ld.global.f32 %f1, [%rd1];".into());
    let mut counts = LineCounts::default();
    (counts[Counter::Requests], counts[Counter::Sectors]) = (64, 2048);
    let lines = COSTLY.map(line).to_vec();
    let listing = Listing { files: vec![file.clone()], lines, ..Listing::default() };
    series.configurations[0].code = vec![CountedCode::new(listing, &[counts; COSTLY.len()])];
    let key = series.configurations[0].configuration.to_string();
    let failed = series.judgements[0].clone();
    let judgement = |at: usize| Judgement {
        verdict: Verdict::Fail,
        value: Some(Quantity::new(32.0, Unit::Count)),
        reason: None,
        configuration: Some(key.clone()),
        costly: Some(CostlyLine {
            cost: AccessCost::GlobalLoadExcess,
            line: format!("{file}:{}", COSTLY[at / 2]),
            inlined_at: None,
            other_calls: 0,
            before: None,
            amount: 1792,
            total: 1792,
            emulated: false,
        }),
        ..failed.clone()
    };
    series.judgements = (0..2 * COSTLY.len()).map(judgement).collect();
}

#[test]
fn every_failed_series_names_its_lines() {
    for count in [1, 2, 15] {
        let mut run = run(count);
        run.advice.clear();
        let sources = &mut run.provenance.sources;
        run.series.iter_mut().for_each(|series| fail_with_lines(series, sources));
        for width in [None, Some(80), Some(100)] {
            let text = shown(&run, &View::default(), width);
            let whole = || vec![text.lines().collect()];
            let blocks = if count == 1 { whole() } else { blocks(&text) };
            assert_eq!(blocks.len() as u64, count, "{text}");
            for (lines, series) in blocks.iter().zip(&run.series) {
                let block = lines.join("\n");
                let judged = lines.iter().filter(|line| !line.contains(" | "));
                let judged = judged.copied().collect::<Vec<_>>().join("\n");
                let of = |line: u32| format!("{}:{line}", series.file);
                let named = COSTLY.iter().filter(|line| judged.contains(&of(**line)));
                assert_eq!(named.count(), COSTLY.len(), "{width:?}: {block}");
                let words: Vec<&str> = judged.split_whitespace().collect();
                let values = words.windows(2).filter(|pair| *pair == ["32", "at"]).count();
                let failed = words.iter().filter(|word| **word == "FAIL").count();
                assert_eq!(values, failed, "{width:?}: {block}");
                let shown = COSTLY.iter().filter(|line| block.contains(&(of(**line) + " | ")));
                let counted = block.contains("more lines of source: cargo gpuprof report --source");
                assert!(shown.count() == COSTLY.len() || counted, "{width:?}: {block}");
            }
        }
    }
}

#[test]
fn source_of_a_named_line_has_priority_over_notes() {
    let mut run = run(15);
    let sources = &mut run.provenance.sources;
    for series in &mut run.series {
        fail_with_lines(series, sources);
        series.judgements.truncate(1);
        series.configurations.push(gpuprof_analysis::fixture::failed(2048));
        series.configurations.push(gpuprof_analysis::fixture::invalid(4096));
    }
    let text = shown(&run, &View::default(), Some(100));
    for (lines, series) in blocks(&text).iter().zip(&run.series) {
        let block = lines.join("\n");
        assert!(block.contains(&format!("{}:{} | ", series.file, COSTLY[0])), "{block}");
    }
}

#[test]
fn one_of_many_series_without_a_best_row_says_so() {
    let mut run = run(5);
    // Times of buffers of different sizes, without declared work.
    run.series[0].columns.retain(|column| column == "duration");
    for (row, size) in run.series[0].configurations.iter_mut().zip(1..) {
        row.metrics.retain(|name, _| name == "duration");
        row.buffer_bytes = Some(size << 20);
    }
    let text = shown(&run, &View::default(), Some(100));
    let without: Vec<bool> =
        blocks(&text).iter().map(|block| block[..2].concat().contains("no row is best")).collect();
    assert_eq!(without.iter().filter(|without| **without).count(), 1, "{text}");
}
