//! Leaves: metrics that passes hold themselves, without a formula.
//!
//! Comes in: a catalogue entry and pass results. Goes out: its headline value over those passes, or
//! why there is none here; its source; and the samples behind it, by process.

use gpuprof_model::measurement::{HardwareValue, LaunchFacts, PassResult, Source, Timing};
use gpuprof_model::metric::{Metric, Origin};

use super::statistics;

/// The value of `metric` over `passes`: the median over processes of each process' median for what
/// is timed, the value of the first pass for what must repeat exactly.
///
/// # Errors
/// Why there is none, as a reader of the report sees it.
pub(super) fn value(metric: &Metric, passes: &[PassResult]) -> Result<f64, String> {
    let Some(pass) = passes.first() else { return Err("no pass ran to its end".to_owned()) };
    match metric.origin {
        Origin::Time => timed(metric.name, passes),
        Origin::Launch => match &pass.facts {
            Some(facts) => fact(metric.name, facts, pass.device.emulated),
            None => Err("the launched function is not known".to_owned()),
        },
        Origin::Declared => {
            let declared =
                if metric.name == "flops" { pass.declared_flops } else { pass.declared_bytes };
            declared
                .map(count)
                .ok_or_else(|| format!("the annotation declares no `{}`", metric.name))
        }
        Origin::Emulator if pass.device.emulated => pass
            .counters
            .get(metric.name)
            .map(|&value| count(value))
            .ok_or_else(|| "the emulator did not report it".to_owned()),
        Origin::Emulator => hardware(metric.name, pass),
        Origin::Hardware(name) => hardware(name, pass),
        Origin::Derived(_) => Err(format!("`{}` is derived", metric.name)),
    }
}

/// Where a value of `metric` comes from on a device that is `emulated` or not.
pub(super) fn source(metric: &Metric, emulated: bool) -> Source {
    match metric.origin {
        Origin::Declared => Source::Declared,
        Origin::Derived(_) => Source::Derived,
        _ if emulated => Source::Emulated,
        _ => Source::Measured,
    }
}

/// The samples of the timed metric `name`, by process; empty for every other metric.
pub(super) fn samples(name: &str, passes: &[PassResult]) -> Vec<Vec<f64>> {
    passes.iter().map(|pass| samples_of(name, pass)).collect()
}

fn samples_of(name: &str, pass: &PassResult) -> Vec<f64> {
    match (name, &pass.timing) {
        ("duration", Some(Timing { samples_ns, .. })) => samples_ns.clone(),
        ("sm_clock", Some(Timing { sm_clock_hz, .. })) => {
            sm_clock_hz.iter().flatten().copied().collect()
        }
        ("copy_bandwidth", _) => pass.copy_bandwidth.into_iter().collect(),
        _ => Vec::new(),
    }
}

fn timed(name: &str, passes: &[PassResult]) -> Result<f64, String> {
    if passes.iter().any(|pass| pass.device.emulated) {
        return Err("the emulator reports no times".to_owned());
    }
    let samples = samples(name, passes);
    if samples.iter().flatten().any(|sample| !sample.is_finite() || *sample < 0.0) {
        return Err("a sample is not a finite, positive number".to_owned());
    }
    statistics::median_of_medians(&samples).ok_or_else(|| {
        match name {
            "sm_clock" => "no sample began and ended on the same SM, so no clock could be told",
            "copy_bandwidth" => "no process measured it",
            _ => "no process took samples",
        }
        .to_owned()
    })
}

fn fact(name: &str, facts: &LaunchFacts, emulated: bool) -> Result<f64, String> {
    let known = match name {
        "registers" => facts.registers.map(f64::from),
        "static_shared" => Some(f64::from(facts.static_shared_bytes)),
        "dynamic_shared" => Some(f64::from(facts.dynamic_shared_bytes)),
        "local_memory" => Some(f64::from(facts.local_bytes)),
        "theoretical_occupancy" => facts.theoretical_occupancy,
        "waves" => facts.waves,
        _ => None,
    };
    known.ok_or_else(|| match (name, emulated) {
        ("registers", true) => {
            "registers are assigned by ptxas, which the emulator does not run".to_owned()
        }
        (_, true) => "it depends on registers, which the emulator does not assign".to_owned(),
        (_, false) => "the driver does not tell it".to_owned(),
    })
}

fn hardware(name: &str, pass: &PassResult) -> Result<f64, String> {
    match pass.hardware.get(name) {
        Some(HardwareValue::Value(value)) => Ok(*value),
        Some(HardwareValue::Unavailable(reason)) => Err(reason.clone()),
        None if name.starts_with("ptx__") => {
            Err("it is counted at PTX level, which only the emulator sees".to_owned())
        }
        None if pass.device.emulated => {
            Err("it is a hardware counter, which needs a GPU".to_owned())
        }
        None => Err("it was not collected in this run; name it in --metrics".to_owned()),
    }
}

/// A count as the number that formulas and limits use: exact below 2^53, rounded above.
#[expect(clippy::cast_precision_loss, reason = "documented: exact below 2^53")]
fn count(value: u64) -> f64 {
    value as f64
}
