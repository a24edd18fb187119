//! `cargo gpuprof calibrate`: the noise of this machine, from one build held against itself.

use std::io::{self, Write};
use std::path::Path;

use gpuprof_model::ExitCode;
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::Run;

use super::run::{NO_NOISE, profile};
use super::stored::{places, with_metrics_of};
use crate::error::{Failure, Result};
use crate::execute::Interrupt;
use crate::options::Repeats;
use crate::options::{CALIBRATE_REPEAT, CalibrateOptions, MessageFormat, PlaceOptions};
use crate::report::Screen;
use crate::store::document;
use crate::terminal::shown;
use gpuprof_analysis::gate::calibrate::{
    Calibrated, DRAWS, MIN_SPLIT, SLOWDOWN_PERCENT, calibrate as found_in, default_gate,
    rate_default_gate,
};
use gpuprof_analysis::gate::rates::Rates;

/// Measures, or takes a stored run, and tells what it says of the machine.
///
/// # Errors
/// What keeps a run from starting; a run with too few processes (exit code 106); standard output.
pub fn calibrate(
    options: &CalibrateOptions,
    screen: Screen,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> Result<ExitCode> {
    if options.run.dry_run {
        let message = "calibrate rates what processes measured: --dry-run goes with `run`";
        return Err(Failure::usage(message));
    }
    let (run, code) = match &options.from {
        Some(text) => {
            let place = PlaceOptions {
                manifest_path: options.run.cargo.manifest_path.clone(),
                target_dir: options.run.cargo.target_dir.clone(),
            };
            (document::find(&places(&place).1, text)?, ExitCode::Success)
        }
        None => {
            let mut run = options.run.clone();
            run.repeat = run.repeat.or(Some(Repeats::exactly(CALIBRATE_REPEAT)));
            (run.gate.judging.gate, run.gate.judging.no_gate) = (false, true);
            run.needs_times = true;
            let profiled = profile(&run, screen, interrupt, &mut io::sink())?;
            let Some(run) = profiled.1 else { return Ok(profiled.0) };
            (run, profiled.0)
        }
    };
    let catalogue = with_metrics_of(Catalogue::built_in(), &run);
    let all = found_in(&catalogue, &run);
    if all.is_empty() {
        return Err(Failure::new(ExitCode::NotJudged, too_few(&run)));
    }
    let rated = rate_default_gate(&catalogue, &run);
    let written = match options.run.output.message_format {
        MessageFormat::Human => shown(out, |mut out| {
            human(&run, &all, &mut out)?;
            human_rates(&rated, &mut out)
        }),
        MessageFormat::Json => json(&all, &rated, out),
    };
    written.map_err(|e| Failure::output(Path::new("standard output"), &e))?;
    Ok(code)
}

fn json(all: &[Calibrated], rated: &[Rates], out: &mut impl Write) -> io::Result<()> {
    for calibrated in all {
        let line = serde_json::json!({ "reason": "calibrated", "calibrated": calibrated });
        writeln!(out, "{line}")?;
    }
    for rates in rated {
        let line = serde_json::json!({
            "reason": "gate-rated",
            "threshold": default_gate(),
            "slowdown_percent": SLOWDOWN_PERCENT,
            "rates": rates,
        });
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn human_rates(rated: &[Rates], out: &mut impl Write) -> io::Result<()> {
    if rated.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\nThe default gate, `{}`, in percent of the configurations:\n\n\
         --repeat  false alarms  undecided  {SLOWDOWN_PERCENT}% slower: caught  passed",
        default_gate()
    )?;
    for rates in rated {
        writeln!(
            out,
            "{:>8}  {:>12.1}  {:>9.1}  {:>17.1}  {:>6.1}",
            rates.processes.to_string(),
            rates.false_alarms_percent,
            rates.undecided_percent,
            rates.caught_percent,
            rates.missed_percent,
        )?;
    }
    Ok(())
}

fn too_few(run: &Run) -> String {
    let emulated = run.provenance.device.as_ref().is_some_and(|device| device.emulated);
    if emulated {
        return NO_NOISE.into();
    }
    format!(
        "no configuration of run {} has a noisy metric from at least {MIN_SPLIT} processes (--repeat {CALIBRATE_REPEAT})",
        run.id
    )
}

fn human(run: &Run, all: &[Calibrated], out: &mut impl Write) -> io::Result<()> {
    let device = run.provenance.device.as_ref().map_or("no device", |device| device.name.as_str());
    writeln!(out, "{device}, run {}\n", run.id)?;
    let width = all.iter().map(|c| c.metric.len()).max().unwrap_or(0).max("metric".len());
    writeln!(
        out,
        "{:width$}  noise (median, worst)  seen with 95%  false alarms  proposed",
        "metric"
    )?;
    for found in all {
        let (median, worst) = found.noise_percent;
        writeln!(
            out,
            "{:width$}  {:>9.2}%, {:>8.2}%  {:>12.2}%  {:>11.2}%  {}",
            found.metric,
            median,
            worst,
            found.visible_percent,
            found.false_alarms_percent,
            found.proposed
        )?;
    }
    let (configurations, processes) = (all[0].configurations, all[0].processes);
    writeln!(
        out,
        "\n{configurations} configurations in {processes} processes each, drawn for two sides {DRAWS} times. Noise is that of one session: \
         days apart it is larger, so compare runs of one job"
    )
}
