//! Runs to show, made up of the values that a GPU could have measured.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use gpuprof_analysis::fixture::{self, failed, finished, gpu_pass, measured, point, series};
use gpuprof_analysis::gate::baseline::{Against, Scope};
use gpuprof_analysis::gate::run::rejudge;
use gpuprof_analysis::view::View;
use gpuprof_model::code::{
    Columns, CountedCode, Counter, LineCounts, ListedLine, Listing, MachineLine,
};
use gpuprof_model::machine::Backend;
use gpuprof_model::measurement::SourceCollection;
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::{ConfigurationResult, Run, SectionColumns, SectionRow, SectionTable};
use gpuprof_model::{AxisValue, Configuration, Threshold};
use gpuprof_report::{Html, Report};

/// The blocks and the sizes of [`saxpy`].
const BLOCKS: [u64; 5] = [64, 128, 256, 512, 1024];
const SIZES: [u64; 3] = [1 << 20, 1 << 22, 1 << 24];

/// A text that would act, if it were not escaped.
pub const HOSTILE: &str = "</script></style><img src=x onerror=\"window.hacked=1\">'\"&<svg onload=window.hacked=1>\u{202e}";

/// The runs by the names of their pages.
pub fn all() -> Vec<(&'static str, Run)> {
    vec![
        ("saxpy", saxpy()),
        ("regression", regression()),
        ("emulated", emulated()),
        ("failed", all_failed()),
        ("three-axes", three_axes()),
        ("many", many()),
        ("large", large()),
        ("hostile", hostile()),
        ("counted", counted_by_line()),
    ]
}

/// The page of `run`.
///
/// # Panics
/// Memory cannot be written.
pub fn page(run: &Run) -> Vec<u8> {
    let mut page = Vec::new();
    Html::default().write_as(&View::default(), run, &mut page).expect("memory can be written");
    page
}

/// How long saxpy takes, in nanoseconds: the device's memory, and blocks that are too small.
fn nanoseconds(block: u64, n: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a size")]
    let bytes = 12.0 * n as f64;
    let blocks = match block {
        64 => 1.7,
        128 => 1.1,
        256 => 1.0,
        512 => 1.004,
        _ => 1.06,
    };
    2_000.0 + blocks * bytes / 4.2e3
}

/// A configuration of saxpy that seven processes timed, `slower` times as slow.
fn timed(block: u64, n: u64, slower: f64) -> ConfigurationResult {
    let noise = [-0.004, 0.006, 0.0, -0.002, 0.003, 0.011, -0.005];
    let pass = |noise: f64| {
        let median = slower * nanoseconds(block, n) * (1.0 + noise);
        gpu_pass(block, n, &[median - 32.0, median, median + 32.0])
    };
    finished(point(block, n), &noise.map(pass))
}

/// The counters of the sets for saxpy.
fn counted(block: u64, n: u64) -> Vec<(&'static str, f64)> {
    let time = nanoseconds(block, n) / 1e9;
    #[expect(clippy::cast_precision_loss, reason = "a size")]
    let n = n as f64;
    let dram = (100.0 * 12.0 * n / time / 4.8e12).min(99.0);
    let flops = 2.0 * n / time;
    vec![
        ("sm__throughput.avg.pct_of_peak_sustained_elapsed", dram / 6.0),
        ("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", dram),
        ("l1tex__throughput.avg.pct_of_peak_sustained_active", dram / 3.0),
        ("lts__throughput.avg.pct_of_peak_sustained_elapsed", dram / 2.1),
        ("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", dram),
        ("roofline_dram_peak", 4.8e12),
        ("roofline_l2_peak", 1.1e13),
        ("roofline_l1_peak", 3.3e13),
        ("roofline_fp32_peak", 6.65e13),
        ("roofline_fp64_peak", 3.3e13),
        ("roofline_fp32", flops),
        ("roofline_fp32_dram_intensity", 2.0 / 12.2),
        ("roofline_fp32_l2_intensity", 2.0 / 12.0),
        ("roofline_fp32_l1_intensity", 2.0 / 12.0),
        ("smsp__sass_inst_executed_op_global_ld.sum", n / 16.0),
        ("smsp__sass_inst_executed_op_global_st.sum", n / 32.0),
        ("smsp__sass_inst_executed_op_global_red.sum", 0.0),
        ("smsp__sass_inst_executed_op_global_atom.sum", 0.0),
        ("smsp__sass_inst_executed_op_local_ld.sum", 0.0),
        ("smsp__sass_inst_executed_op_local_st.sum", 0.0),
        ("smsp__sass_inst_executed_op_shared_ld.sum", 0.0),
        ("smsp__sass_inst_executed_op_shared_st.sum", 0.0),
        ("global_sectors", 3.0 * n / 8.0),
        ("l1tex__m_xbar2l1tex_read_bytes.sum", 8.0 * n),
        ("l1tex__m_xbar2l1tex_read_bytes.sum.pct_of_peak_sustained_elapsed", dram / 2.5),
        ("l1tex__m_l1tex2xbar_write_bytes.sum", 4.0 * n),
        ("l1tex__m_l1tex2xbar_req_cycles_active.sum.pct_of_peak_sustained_elapsed", dram / 3.0),
        ("dram__bytes_read.sum", 8.1 * n),
        ("dram__bytes_read.sum.pct_of_peak_sustained_elapsed", dram / 1.5),
        ("dram__bytes_write.sum", 4.0 * n),
        ("dram__bytes_write.sum.pct_of_peak_sustained_elapsed", dram / 3.0),
        ("dram__sectors_read.sum", 8.1 * n / 32.0),
        ("dram__sectors_write.sum", 4.0 * n / 32.0),
        ("l1tex__t_sector_hit_rate.pct", 0.0),
        ("lts__t_sector_hit_rate.pct", 33.4),
        ("smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", 21.5),
        ("smsp__average_warps_issue_stalled_wait_per_issue_active.ratio", 1.75),
        ("smsp__average_warps_issue_stalled_drain_per_issue_active.ratio", 0.9),
        ("sm__warps_active.avg.pct_of_peak_sustained_active", 81.3),
    ]
}

fn row(block: u64, n: u64, slower: f64) -> ConfigurationResult {
    let mut row = timed(block, n, slower);
    for (name, result) in measured(block, &counted(block, n)).metrics.iter() {
        row.metrics.insert(name, result.clone());
    }
    row
}

fn section() -> SectionColumns {
    let line = |label: &str, what: &str| SectionRow {
        label: label.into(),
        cells: vec![
            format!("dram__sectors_{what}.sum"),
            format!("dram__bytes_{what}.sum.pct_of_peak_sustained_elapsed"),
            format!("dram__bytes_{what}.sum"),
        ],
    };
    SectionColumns {
        id: "FullMemoryTables".into(),
        title: "Full memory tables".into(),
        needs: None,
        columns: Vec::new(),
        sampled: Vec::new(),
        tables: vec![SectionTable {
            title: "Device memory".into(),
            columns: ["Sectors", "% Peak", "Bytes"].map(str::to_owned).into(),
            rows: vec![line("Loads", "read"), line("Stores", "write")],
        }],
    }
}

fn of(slower: f64) -> Run {
    let each = SIZES.iter().flat_map(|&n| BLOCKS.map(|block| (block, n)));
    let rows = each.map(|(block, n)| row(block, n, if block == 512 { slower } else { 1.0 }));
    let mut run = fixture::run("20261123T093000000Z-4711", vec![series(rows.collect())]);
    run.series[0].sections.push(section());
    run.provenance.device = Some(fixture::h200());
    run.provenance.started = "2026-11-23T09:30:00Z".into();
    run.provenance.backend = Backend::Cuda;
    run
}

fn judged(run: Run, baseline: Result<Run, String>, conditions: &[&str]) -> Run {
    let against = Against {
        name: "main".into(),
        run: baseline,
        across_devices: false,
        in_rounds: false,
        scope: Scope::whole(),
    };
    let thresholds: Vec<Threshold> =
        conditions.iter().map(|text| Threshold::parse(text).expect("a threshold")).collect();
    rejudge(&Catalogue::built_in(), run, &thresholds, &against)
}

/// saxpy over two axes, with all sets, compared with itself and against limits.
pub fn saxpy() -> Run {
    let limits = ["best throughput >= 60% of peak", "every duration <= 75 us"];
    judged(of(1.0), Ok(of(1.0)), &limits)
}

/// saxpy with one block size that became a tenth slower.
pub fn regression() -> Run {
    judged(of(1.1), Ok(of(1.0)), &["every duration <= baseline + 5%"])
}

/// A run of which nothing finished.
pub fn all_failed() -> Run {
    let mut run = of(1.0);
    run.series = vec![series(vec![failed(64), failed(128), fixture::invalid(2048)])];
    run
}

/// A stored run of the emulated driver.
///
/// # Panics
/// The file is not there.
pub fn emulated() -> Run {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let file = folder.join("../../cargo-gpuprof/tests/corpus/run-2-emulator.json");
    let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    serde_json::from_str(&text).expect("it is a run")
}

/// A kernel with a third axis.
pub fn three_axes() -> Run {
    let tiled = |tile: u64| {
        SIZES.iter().flat_map(move |&n| {
            BLOCKS.map(|block| {
                let slower = if tile == 16 { 1.0 } else { 1.15 };
                let mut row = timed(block, n, slower);
                row.configuration.0.push(("tile".into(), AxisValue::Int(tile)));
                row
            })
        })
    };
    let mut run = of(1.0);
    run.series = vec![series([8, 16, 32].into_iter().flat_map(tiled).collect())];
    run
}

/// 125 configurations of 15 kernels.
pub fn many() -> Run {
    let mut run = of(1.0);
    let kernel = |at: u64| {
        let rows = (0..if at < 5 { 9 } else { 8 }).map(|row| {
            let (block, n) = (64 << (row % 4), 1 << (16 + at % 8 + row / 4));
            timed(block, n, 1.0)
        });
        let mut series = series(rows.collect());
        series.id.kernel = format!("kernel_{at}");
        series
    };
    run.series = (0..15).map(kernel).collect();
    judged(run, Err("there is no baseline".into()), &["best throughput >= 20% of peak"])
}

/// 500 configurations of 40 metrics, each timed by seven processes.
pub fn large() -> Run {
    let each = (0..20).flat_map(|at| (0..25).map(move |size| (32 * (at + 1), (size + 1) << 16)));
    let mut rows: Vec<_> = each.map(|(block, n)| timed(block, n, 1.0)).collect();
    let names: Vec<String> = (0..39).map(|at| format!("sm__made_up_{at}.sum")).collect();
    for row in &mut rows {
        let like = row.metrics["duration"].clone();
        for name in &names {
            row.metrics.insert(name.as_str(), like.clone());
        }
    }
    let mut run = of(1.0);
    run.series = vec![series(rows)];
    run.series[0].columns = std::iter::once("duration".to_owned()).chain(names).collect();
    run
}

/// A run in which every text that others choose tries to act.
pub fn hostile() -> Run {
    let mut run = saxpy();
    run.id = HOSTILE.into();
    let series = &mut run.series[0];
    series.id.kernel = HOSTILE.into();
    series.id.package = HOSTILE.into();
    series.file = HOSTILE.into();
    series.axes[0].name = HOSTILE.into();
    let word = Configuration(vec![(HOSTILE.into(), AxisValue::Word(HOSTILE.into()))]);
    let mut wrong = failed(64);
    wrong.configuration = word;
    series.configurations.push(wrong);
    for row in &mut series.configurations {
        row.configuration.0[0].0 = HOSTILE.into();
    }
    series.sections[0].title = HOSTILE.into();
    series.sections[0].tables[0].rows[0].label = HOSTILE.into();
    run.provenance.git_revision = Some(HOSTILE.into());
    run
}

/// The code of a kernel of 100 lines of source and 300 of PTX and SASS, all executed; line 50 loads
/// `sectors` a request.
fn code(sectors: u64) -> (CountedCode, SourceCollection) {
    let (mut lines, mut counts, mut machine) = (Vec::new(), Vec::new(), Vec::new());
    for at in 0..300u32 {
        let loads = at == 150;
        let opcode = if loads { "ld.global.f32" } else { "add.f32" };
        let register = at % 90;
        let text = format!("{opcode} %f{register}, [%rd{register}]; // as long as usual");
        lines.push(ListedLine(10 + at, 1, 1 + at / 3, text));
        let mut count = LineCounts::default();
        count[Counter::Instructions] = 4096;
        count[Counter::ThreadInstructionsOn] = 32 * 4096;
        count[Counter::Samples] = u64::from(at % 7);
        if loads {
            count[Counter::Requests] = 4096;
            count[Counter::Sectors] = sectors * 4096;
            count[Counter::IdealSectors] = 4 * 4096;
        }
        counts.push(count);
        let text = format!("FADD R{register}, R{register}, c[0x0][0x28]");
        machine.push(MachineLine(16 * u64::from(at), 10 + at, 16 + at % 23, text));
    }
    let (kernel, files) = ("saxpy".to_owned(), vec!["src/lib.rs".to_owned()]);
    let executed = Some(Columns::new(&counts));
    let calls = Vec::new();
    let listing = Listing { kernel, files, lines, calls, machine };
    let code = CountedCode { executed, ..CountedCode::new(listing, &counts) };
    (code, SourceCollection { ranges: 20, samples: 897, ..SourceCollection::default() })
}

/// saxpy with counts by line on a GPU; line 50 became worse than in its baseline.
pub fn counted_by_line() -> Run {
    let counted = |sectors| {
        let mut run = of(1.0);
        for row in &mut run.series[0].configurations {
            let (code, source) = code(sectors);
            (row.code, row.source) = (vec![code], Some(source));
        }
        let text: String = (1..=100).map(|line| format!("    let y = x[{line} * i];\n")).collect();
        run.provenance.sources.add("src/lib.rs", &text, &(1..=100).collect::<BTreeSet<u32>>());
        run
    };
    let mut before = counted(4);
    before.series[0].configurations.iter_mut().for_each(|row| {
        let listing = Listing::clone(&row.code[0].listing);
        let lines = listing.lines.into_iter().map(|line| match line.0 {
            160 => ListedLine(160, line.1, line.2, line.3.replace("ld.global", "ld.global.nc")),
            _ => line,
        });
        let machine = listing.machine.into_iter().map(|line| match line.0 {
            2400 => MachineLine(line.0, line.1, 9, line.3.replace("FADD", "LDG.E.CONSTANT")),
            _ => line,
        });
        let (lines, machine) = (lines.collect(), machine.collect());
        row.code[0].listing = Arc::new(Listing { lines, machine, ..listing });
    });
    judged(counted(32), Ok(before), &["every duration <= 75 us"])
}
