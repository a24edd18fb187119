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
use gpuprof_analysis::gate::calibrate::{
    Calibrated, MIN_SPLIT, SLOWDOWN_PERCENT, calibrate as found_in, draws, rate_default_gate,
};
use gpuprof_analysis::gate::default_gate::default_gate;
use gpuprof_analysis::gate::forecast::{Forecast, forecast};
use gpuprof_analysis::gate::outcome::RunOutcome;
use gpuprof_analysis::gate::rates::Rates;
use gpuprof_analysis::sequential::{FAIL_BUDGET, Most};
use gpuprof_analysis::view::View;
use gpuprof_engine::store::document;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::interrupt::Interrupt;
use gpuprof_system::printable_output::show_plain;
use gpuprof_system::{json_text, pad};

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
    let rated = Rated::prepare(&run, configurations)?;
    rated.write(&run, format, out).map_err(Failure::standard_output)
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
    let mut shown = Noise { rated: None, configurations };
    profile(request, &mut shown, interrupt, out)
}

/// Shows the noise in place of the run.
struct Noise {
    rated: Option<Rated>,
    /// The number of configurations of the rated run, if requested.
    configurations: Option<u32>,
}

impl Presenter for Noise {
    fn tells_events(&self) -> bool {
        false
    }

    fn accept(&mut self, run: &Run) -> Result<()> {
        self.rated = Some(Rated::prepare(run, self.configurations)?);
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
        self.rated.as_ref().map_or(Ok(()), |rated| rated.write(run, format, out))
    }
}

/// A run and the machine's rates.
struct Rated {
    metrics: Vec<Calibrated>,
    gate: Vec<Rates>,
    forecast: Option<Forecast>,
}

impl Rated {
    /// The result of `run` for runs with so many `configurations`, or as many as it has itself.
    ///
    /// # Errors
    /// It has too few processes (exit code 106).
    fn prepare(run: &Run, configurations: Option<u32>) -> Result<Self> {
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
        Ok(Self { metrics, gate: rate_default_gate(&catalogue, run), forecast })
    }

    fn write(&self, run: &Run, format: MessageFormat, out: &mut dyn Write) -> io::Result<()> {
        match format {
            MessageFormat::Human => show_plain(out, |out| {
                human(run, &self.metrics, out)?;
                if let Some(forecast) = &self.forecast {
                    human_forecast(forecast, out)?;
                }
                human_rates(&self.gate, out)
            }),
            MessageFormat::Json => json(self, out),
        }
    }
}

fn json(rated: &Rated, out: &mut dyn Write) -> io::Result<()> {
    if let Some(forecast) = &rated.forecast {
        let threshold = default_gate().text;
        let line = serde_json::json!({
            "reason": "run-rated", "threshold": threshold, "forecast": forecast,
        });
        json_text::line(out, &line)?;
    }
    for calibrated in &rated.metrics {
        let line = serde_json::json!({ "reason": "calibrated", "calibrated": calibrated });
        json_text::line(out, &line)?;
    }
    for rates in &rated.gate {
        let line = serde_json::json!({
            "reason": "gate-rated",
            "threshold": default_gate().text,
            "slowdown_percent": SLOWDOWN_PERCENT,
            "rates": rates,
        });
        json_text::line(out, &line)?;
    }
    Ok(())
}

/// The outcome of a run with `--base`.
fn human_forecast(forecast: &Forecast, out: &mut dyn Write) -> io::Result<()> {
    let Forecast { configurations, most_rounds, shares, .. } = forecast;
    writeln!(
        out,
        "\nA run of {configurations} configurations with `--base`, of which each is measured in up to \
         {most_rounds} rounds\nand judged by `{}`, simulated with these processes:\n",
        default_gate()
    )?;
    writeln!(
        out,
        "  nothing changed: {:.2}% of runs fail (the error budget is {:.0}%), {:.2}% stay undecided",
        100.0 * forecast.run_fails,
        100.0 * FAIL_BUDGET,
        100.0 * forecast.run_undecided
    )?;
    let unchanged = shares.first().map_or(0.0, |shares| shares.rounds);
    #[expect(clippy::cast_precision_loss, reason = "configurations are counted")]
    let processes = 2.0 * unchanged * *configurations as f64;
    writeln!(
        out,
        "  it takes {unchanged:.1} processes a side on average: {processes:.0} processes in all\n"
    )?;
    writeln!(out, "  slower by  fails  passes  undecided  processes a side")?;
    for shares in shares {
        writeln!(
            out,
            "  {:>8}%  {:>4.1}%  {:>5.1}%  {:>8.1}%  {:>16.1}",
            shares.slower_percent,
            100.0 * shares.fail,
            100.0 * shares.pass,
            100.0 * shares.undecided,
            shares.rounds
        )?;
    }
    human_limit(forecast, out)?;
    human_time(forecast, out)
}

/// How long such a run takes, and the time budget that is proposed.
fn human_time(forecast: &Forecast, out: &mut dyn Write) -> io::Result<()> {
    let Some(time) = forecast.time else {
        return writeln!(
            out,
            "  no time budget is proposed: this run does not say how long its processes took; \
             `cargo gpuprof calibrate` measures it"
        );
    };
    let seconds = |seconds: f64| format!("{seconds:.0} s");
    let budget = match time.proposed_budget {
        seconds if seconds.is_multiple_of(60) => format!("{}min", seconds / 60),
        seconds => format!("{seconds}s"),
    };
    writeln!(
        out,
        "  at {:.2} s a process it takes {}, and {} where one configuration needs all {} rounds\n  \
         proposed: --time-budget {budget}",
        time.seconds_per_process,
        seconds(time.unchanged),
        seconds(time.with_one_in_doubt),
        forecast.most_rounds
    )
}

fn human_limit(forecast: &Forecast, out: &mut dyn Write) -> io::Result<()> {
    match (forecast.proposed_percent, forecast.proposed_catches) {
        (Some(limit), Some(caught)) => writeln!(
            out,
            "\n  proposed: every duration <= baseline + {limit}%, which catches slowdowns of \
             {caught}% with 95%"
        ),
        (Some(limit), None) => {
            writeln!(out, "\n  proposed: every duration <= baseline + {limit}%")
        }
        (None, _) => {
            writeln!(out, "\n  no limit of up to 10% can be kept: the processes differ by too much")
        }
    }
}

fn human_rates(rated: &[Rates], out: &mut dyn Write) -> io::Result<()> {
    if rated.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\nAgainst a stored baseline, `{}`, in percent of the configurations:\n\n\
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
    format!(
        "no configuration of run {} has a noisy metric from at least {MIN_SPLIT} processes (--repeat {CALIBRATE_REPEAT})",
        run.id
    )
}

fn human(run: &Run, all: &[Calibrated], out: &mut dyn Write) -> io::Result<()> {
    let device = run.provenance.device.as_ref().map_or("no device", |device| device.name.as_str());
    writeln!(out, "{device}, run {}\n", run.id)?;
    let width = all.iter().map(|c| c.metric.len()).max().unwrap_or(0).max("metric".len());
    writeln!(
        out,
        "{}  noise (median, worst)  seen with 95%  false alarms  proposed",
        pad::left("metric", width)
    )?;
    for found in all {
        let (median, worst) = found.noise_percent;
        writeln!(
            out,
            "{}  {:>9.2}%, {:>8.2}%  {:>12.2}%  {:>11.2}%  {}",
            pad::left(&found.metric, width),
            median,
            worst,
            found.visible_percent,
            found.false_alarms_percent,
            found.proposed
        )?;
    }
    let (configurations, processes) = (all[0].configurations, all[0].processes);
    let draws = draws(configurations);
    writeln!(
        out,
        "\n{configurations} configurations in {processes} processes each, drawn for two sides {draws} times. Noise is that of one session: \
         days apart it is larger, so compare runs of one job"
    )
}
