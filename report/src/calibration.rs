//! The noise of a machine as people and programs read it.
//!
//! Input: the noise of each metric, the rates of the default gate, and the forecast of a run with
//! `--base`. Output: a table for people with the limits that the machine can keep, or JSON lines.

use std::io::{self, Write};

use gpuprof_analysis::gate::calibrate::{Calibrated, SLOWDOWN_PERCENT, draws};
use gpuprof_analysis::gate::default_time_limit::default_gate;
use gpuprof_analysis::gate::forecast::Forecast;
use gpuprof_analysis::gate::rates::Rates;
use gpuprof_analysis::sequential::FAIL_BUDGET;
use gpuprof_model::run::Run;
use gpuprof_system::{json_text, pad};

/// The noise of a machine.
#[derive(Debug)]
pub struct Calibration {
    /// That of each metric.
    pub metrics: Vec<Calibrated>,
    /// How often the default gate is right, for several numbers of processes.
    pub gate: Vec<Rates>,
    /// The outcome of a run with `--base`, if it can be simulated.
    pub forecast: Option<Forecast>,
}

impl Calibration {
    /// Writes the noise of `run` for people.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn table(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        metrics(run, &self.metrics, out)?;
        if let Some(forecast) = &self.forecast {
            forecast_lines(forecast, out)?;
        }
        rates(&self.gate, out)
    }

    /// Writes it as JSON lines.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn json_lines(&self, out: &mut dyn Write) -> io::Result<()> {
        let threshold = default_gate().text;
        let forecast = self.forecast.iter().map(|forecast| {
            serde_json::json!({
                "reason": "run-rated", "threshold": threshold, "forecast": forecast,
            })
        });
        let metrics = self.metrics.iter().map(
            |calibrated| serde_json::json!({ "reason": "calibrated", "calibrated": calibrated }),
        );
        let gate = self.gate.iter().map(|rates| {
            serde_json::json!({
                "reason": "gate-rated",
                "threshold": threshold,
                "slowdown_percent": SLOWDOWN_PERCENT,
                "rates": rates,
            })
        });
        forecast.chain(metrics).chain(gate).try_for_each(|line| json_text::line(out, &line))
    }
}

fn metrics(run: &Run, all: &[Calibrated], out: &mut dyn Write) -> io::Result<()> {
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

/// The outcome of a run with `--base`.
fn forecast_lines(forecast: &Forecast, out: &mut dyn Write) -> io::Result<()> {
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
    limit(forecast, out)?;
    time(forecast, out)
}

/// How long such a run takes, and the time budget that is proposed.
fn time(forecast: &Forecast, out: &mut dyn Write) -> io::Result<()> {
    let Some(taken) = forecast.time else {
        return writeln!(
            out,
            "  no time budget is proposed: this run does not say how long its processes took; \
             `cargo gpuprof calibrate` measures it"
        );
    };
    let seconds = |seconds: f64| format!("{seconds:.0} s");
    let budget = match taken.proposed_budget {
        seconds if seconds.is_multiple_of(60) => format!("{}min", seconds / 60),
        seconds => format!("{seconds}s"),
    };
    writeln!(
        out,
        "  at {:.2} s a process it takes {}, and {} where one configuration needs all {} rounds\n  \
         proposed: --time-budget {budget}",
        taken.seconds_per_process,
        seconds(taken.unchanged),
        seconds(taken.with_one_in_doubt),
        forecast.most_rounds
    )
}

fn limit(forecast: &Forecast, out: &mut dyn Write) -> io::Result<()> {
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

fn rates(rated: &[Rates], out: &mut dyn Write) -> io::Result<()> {
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
