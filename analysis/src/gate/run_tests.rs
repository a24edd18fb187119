use gpuprof_model::run::Provenance;

use super::*;
use crate::fixture::{self, h200, rows, series};
use crate::gate::baseline::Scope;

fn run(of: Vec<SeriesResult>) -> Run {
    let provenance = Provenance { device: Some(h200()), ..Provenance::default() };
    Run { provenance, ..fixture::run("r", of) }
}

fn counted(kernel: &str, value: f64) -> SeriesResult {
    let mut series = series(rows("global_sectors", &[value]));
    series.id.kernel = kernel.into();
    series.columns = vec!["global_sectors".into()];
    series
}

fn judged(run: Run, baseline: Run, thresholds: &[&str]) -> Run {
    let thresholds: Vec<_> = thresholds.iter().map(|t| Threshold::parse(t).unwrap()).collect();
    let against = Against {
        name: "main".into(),
        run: Ok(baseline),
        across_devices: false,
        scope: Scope::whole(),
    };
    rejudge(&Catalogue::built_in(), run, &thresholds, &against)
}

fn told(series: &SeriesResult) -> Vec<(&str, Verdict)> {
    series.judgements.iter().map(|j| (j.threshold.as_str(), j.verdict)).collect()
}

const STRICT: Gate = Gate { strict: true, gated: true };

#[test]
fn a_threshold_for_another_device_does_not_take_the_default_gate_away() {
    let (before, after) = (run(vec![counted("a", 1.0)]), run(vec![counted("a", 2.0)]));
    let other = "on \"A100\" every duration <= baseline + 5%";
    let run = judged(after.clone(), before.clone(), &[other]);
    assert_eq!(told(&run.series[0]), [("every global_sectors <= baseline", Verdict::Fail)]);
    assert_eq!(run.series[0].not_applicable, [other]);
    assert_eq!(STRICT.exit_code(&run), ExitCode::ThresholdFailed);
    let here = "on \"H200\" every global_sectors <= baseline + 100%";
    assert_eq!(told(&judged(after, before, &[here]).series[0]), [(here, Verdict::Pass)]);
}

#[test]
fn a_kernel_that_is_new_is_held_against_nothing() {
    let before = run(vec![counted("a", 1.0)]);
    let after = run(vec![counted("a", 1.0), counted("fresh", 9.0)]);
    let run = judged(after, before, &["global_sectors <= baseline", "global_sectors <= 10"]);
    assert_eq!(told(&run.series[1]), [("global_sectors <= 10", Verdict::Pass)]);
    assert_eq!(run.comparison.as_ref().unwrap().appeared, ["saxpy::kernels::fresh"]);
    assert_eq!(STRICT.exit_code(&run), ExitCode::Success);
}
