//! `cargo gpuprof calibrate`: the noise of this machine, from one build compared with itself.

use std::io::{self, Write};

use gpuprof_model::ExitCode;
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::Run;

use super::run::{NO_NOISE, Presenter, Request, profile};
use super::settings::Settings;
use super::stored::{layers, places, with_metrics_of};
use crate::options::{CALIBRATE_REPEAT, CalibrateOptions, MessageFormat};
use crate::options::{Purpose, Repeats, RunOptions};
use gpuprof_analysis::gate::calibrate::{MIN_SPLIT, calibrate as found_in, rate_default_gate};
use gpuprof_analysis::gate::forecast::forecast;
use gpuprof_analysis::gate::outcome::RunOutcome;
use gpuprof_analysis::sequential::Most;
use gpuprof_analysis::view::View;
use gpuprof_engine::store::document;
use gpuprof_report::Calibration;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::interrupt::Interrupt;
use gpuprof_system::printable_output::show_plain;

/// Measures, or loads a stored run, and reports the machine's noise.
///
/// # Errors
/// Errors that keep a run from starting; a device without noise (exit code 107); a run with too few
/// processes (106); standard output.
pub fn calibrate(
    options: &CalibrateOptions,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> Result<ExitCode> {
    let refused = [
        (options.run.dry_run, "calibrate rates what processes measured: --dry-run goes with `run`"),
        (options.run.quick, "calibrate rates the noise of many processes: --quick goes with `run`"),
        (options.run.gate.load_baseline.is_some(), "calibrate takes a stored run by --from RUN"),
    ];
    if let Some((_, message)) = refused.into_iter().find(|(given, _)| *given) {
        return Err(Failure::usage(message));
    }
    let configurations = options.configurations;
    match &options.from {
        Some(text) => {
            of_stored(text, &options.run, configurations, out).map(|()| ExitCode::Success)
        }
        None => of_new(&options.run, configurations, interrupt, out),
    }
}

/// The rates of the stored run `text`.
fn of_stored(
    text: &str,
    options: &RunOptions,
    configurations: Option<u32>,
    out: &mut impl Write,
) -> Result<()> {
    let (root, target) = places(&options.cargo.place());
    let run = document::find(&target, text)?;
    let (layers, _) = layers(&root, &options.configuration)?;
    let format = Settings::new(options.given.clone(), &layers).message_format.value;
    let calibration = calibration(&run, configurations)?;
    write(&calibration, &run, format, out).map_err(Failure::standard_output)
}

/// The rates of a new run.
fn of_new(
    options: &RunOptions,
    configurations: Option<u32>,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> Result<ExitCode> {
    let mut request = Request::from(options);
    request.given.repeat.get_or_insert(Repeats::exactly(CALIBRATE_REPEAT).into());
    request.given.gate = Some(false.into());
    // The noise of a machine is that of this machine.
    (request.purpose, request.slice) = (Purpose::Noise, None);
    let mut shown = Noise { calibration: None, configurations };
    profile(request, &mut shown, interrupt, out)
}

/// Shows the noise in place of the run.
struct Noise {
    calibration: Option<Calibration>,
    /// The number of configurations of the rated run, if requested.
    configurations: Option<u32>,
}

impl Presenter for Noise {
    fn tells_events(&self) -> bool {
        false
    }

    fn accept(&mut self, run: &Run) -> Result<()> {
        self.calibration = Some(calibration(run, self.configurations)?);
        Ok(())
    }

    fn show(
        &mut self,
        run: &Run,
        _: RunOutcome,
        (settings, _): (&Settings, &View),
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let format = settings.message_format.value;
        self.calibration.as_ref().map_or(Ok(()), |found| write(found, run, format, out))
    }
}

/// The noise of `run`, for runs with so many `configurations`, or as many as it has itself.
///
/// # Errors
/// It has too few processes (exit code 106).
fn calibration(run: &Run, configurations: Option<u32>) -> Result<Calibration> {
    let catalogue = with_metrics_of(Catalogue::built_in(), run);
    let metrics = found_in(&catalogue, run);
    if metrics.is_empty() {
        let emulated = run.provenance.device.as_ref().is_some_and(|device| device.emulated);
        return Err(match emulated {
            true => Failure::new(ExitCode::NotPossible, NO_NOISE),
            false => Failure::new(ExitCode::NotJudged, too_few(run)),
        });
    }
    let measured = run.series.iter().map(|series| series.configurations.len()).sum();
    let configurations = configurations.map_or(measured, |count| count as usize);
    let forecast = forecast(run, configurations, Most::DEFAULT, MIN_SPLIT);
    Ok(Calibration { metrics, gate: rate_default_gate(&catalogue, run), forecast })
}

fn write(
    calibration: &Calibration,
    run: &Run,
    format: MessageFormat,
    out: &mut dyn Write,
) -> io::Result<()> {
    match format {
        MessageFormat::Human => show_plain(out, |out| calibration.table(run, out)),
        MessageFormat::Json => calibration.json_lines(out),
    }
}

fn too_few(run: &Run) -> String {
    format!(
        "no configuration of run {} has a noisy metric from at least {MIN_SPLIT} processes (--repeat {CALIBRATE_REPEAT})",
        run.id
    )
}
