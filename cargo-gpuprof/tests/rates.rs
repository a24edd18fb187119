//! The default gate on processes recorded on an H200: at most one false alarm in a hundred
//! configurations, and at least 95 of a hundred slowdowns by 3 % caught, with the default
//! `--repeat`, of quiet kernels and noisy ones.
//!
//! `tests/golden` has the results of 60 (saxpy) and 20 (reduce, transpose) processes a
//! configuration; `docs/scripts/record-processes.sh` made it. `cargo gpuprof calibrate --from FILE`
//! prints the same rates.

use camino::Utf8Path;
use cargo_gpuprof::options::Repeats;
use gpuprof_analysis::gate::calibrate::SLOWDOWN_PERCENT;
use gpuprof_analysis::gate::default_time_limit::default_gate;
use gpuprof_analysis::gate::rates::{Draw, Rates, Trial, rates};
use gpuprof_engine::store::document;
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::SeriesResult;

fn series(file: &str, kernel: &str) -> SeriesResult {
    let path = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    let run = document::read(&path).unwrap_or_else(|failure| panic!("{failure}"));
    run.series.into_iter().find(|s| s.id.kernel == kernel).expect("the kernel was recorded")
}

fn default_gate_with(processes: Repeats, draw: Draw, series: &SeriesResult) -> Rates {
    let threshold = default_gate();
    let slowdown_percent = SLOWDOWN_PERCENT;
    let (catalogue, threshold) = (&Catalogue::built_in(), &threshold);
    let trial = Trial { catalogue, threshold, processes, slowdown_percent, draws: 200, draw };
    rates(&series.configurations, trial).expect("enough processes were recorded")
}

/// What was recorded.
fn recorded() -> [(&'static str, SeriesResult); 3] {
    [
        ("h200-saxpy-60.json", "saxpy"),
        ("h200-others-20.json", "reduce"),
        ("h200-others-20.json", "transpose_padded"),
    ]
    .map(|(file, kernel)| (kernel, series(file, kernel)))
}

#[test]
fn the_default_gate_keeps_its_promises() {
    for (kernel, series) in recorded() {
        for draw in [Draw::Random, Draw::Stretches] {
            // As many as a run with a stored baseline has, if so many were recorded.
            let recorded = series.configurations[0].metrics["duration"].processes.len() as u32 / 2;
            let Repeats { least, most } = Repeats::stored(series.configurations.len());
            let processes = Repeats { least: least.min(recorded), most: most.min(recorded) };
            let found = default_gate_with(processes, draw, &series);
            assert!(found.false_alarms_percent <= 1.0, "{kernel}: {found:?}");
            let enough = recorded >= most;
            assert!(!enough || found.caught_percent >= 95.0, "{kernel}: {found:?}");
            assert!(!enough || found.undecided_percent <= 1.0, "{kernel}: {found:?}");
            assert!(found.missed_percent <= 1.0, "{kernel}: {found:?}");
        }
    }
}

#[test]
fn with_few_processes_a_noisy_kernel_is_undecided_rather_than_passed() {
    // The tiles of transpose_padded differ by up to 1.3 % from process to process.
    let [.., (_, noisy)] = recorded();
    for processes in [3, 5, 7, 10].map(Repeats::exactly) {
        let found = default_gate_with(processes, Draw::Random, &noisy);
        assert!(found.missed_percent <= 1.0 && found.false_alarms_percent <= 1.0, "{found:?}");
    }
}

/// Why `--repeat` is not smaller by default, and why it depends on the noise.
#[test]
fn fewer_processes_catch_less_than_promised() {
    let [(_, saxpy), _, (_, noisy)] = recorded();
    let caught = |processes, series| {
        default_gate_with(Repeats::exactly(processes), Draw::Random, series).caught_percent
    };
    assert!(caught(3, &saxpy) < 50.0);
    assert!(caught(5, &saxpy) < 95.0);
    assert!(caught(Repeats::DEFAULT.least, &noisy) < 95.0);
}
