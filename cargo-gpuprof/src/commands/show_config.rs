//! `cargo gpuprof show-config`: every setting and threshold with the layer that it comes from.

use std::io::{self, Write};

use super::run::planned_for;
use super::settings::{Layers, Settings};
use super::thresholds;
use crate::cli::{MessageFormat, RunOptions};
use crate::error::{Failure, Result};
use crate::execute::Interrupt;

/// Shows them.
///
/// # Errors
/// Configuration file, build, discovery; standard output.
pub fn show_config(
    options: &RunOptions,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> Result<()> {
    let (source, planned) = planned_for(options, interrupt)?;
    let layers = Layers::new(&source.config, options.gate.preset.as_deref())?;
    let settings = Settings::new(options, &layers);
    let mut series = Vec::new();
    for planned in &planned {
        let all = thresholds::with_replaced(&planned.series, &layers, &options.threshold)?;
        let columns = thresholds::columns(&planned.series, &layers, &options.metrics)?;
        series.push((&planned.series, all, columns));
    }
    let written = match options.output.message_format {
        MessageFormat::Human => human(&settings, &series, out),
        MessageFormat::Json => json(&settings, &series, out),
    };
    written.map_err(|e| Failure::output(std::path::Path::new("standard output"), &e))
}

type Shown<'s> =
    (&'s gpuprof_model::protocol::SeriesDescription, Vec<thresholds::Placed>, Vec<String>);

fn human(settings: &Settings, series: &[Shown<'_>], out: &mut impl Write) -> io::Result<()> {
    let Settings { repeat, timeout, strict, baseline, interleave, keep_runs } = settings;
    writeln!(out, "repeat      {repeat}")?;
    writeln!(out, "timeout     {timeout}")?;
    writeln!(out, "strict      {strict}")?;
    let name = baseline.value.as_deref().unwrap_or("none");
    writeln!(out, "baseline    {name}  [{}]", baseline.origin)?;
    let order = format!("{:?}", interleave.value).to_lowercase();
    writeln!(out, "interleave  {order}  [{}]", interleave.origin)?;
    writeln!(out, "keep-runs   {keep_runs}")?;
    for (described, all, columns) in series {
        writeln!(out, "\n{}  {}:{}", described.id, described.file, described.line)?;
        if !columns.is_empty() {
            writeln!(out, "    metrics: {}", columns.join(", "))?;
        }
        for placed in all {
            let replaced = placed
                .replaced_by
                .as_ref()
                .map(|by| format!(", replaced by {by}"))
                .unwrap_or_default();
            writeln!(out, "    {}  [{}{replaced}]", placed.threshold, placed.origin)?;
        }
    }
    Ok(())
}

fn json(settings: &Settings, series: &[Shown<'_>], out: &mut impl Write) -> io::Result<()> {
    let setting = |value: serde_json::Value, origin: &str| serde_json::json!({ "value": value, "origin": origin });
    let Settings { repeat, timeout, strict, baseline, interleave, keep_runs } = settings;
    let order = format!("{:?}", interleave.value).to_lowercase();
    let thresholds = |all: &[thresholds::Placed]| -> Vec<serde_json::Value> {
        let one = |p: &thresholds::Placed| {
            serde_json::json!({
                "threshold": p.threshold.text, "origin": p.origin, "replaced_by": p.replaced_by,
            })
        };
        all.iter().map(one).collect()
    };
    let series: Vec<serde_json::Value> = series
        .iter()
        .map(|(described, all, columns)| {
            serde_json::json!({
                "series": described.id,
                "file": described.file,
                "line": described.line,
                "metrics": columns,
                "thresholds": thresholds(all),
            })
        })
        .collect();
    let document = serde_json::json!({
        "repeat": setting(repeat.value.into(), &repeat.origin),
        "timeout": setting(timeout.value.into(), &timeout.origin),
        "strict": setting(strict.value.into(), &strict.origin),
        "baseline": setting(baseline.value.clone().into(), &baseline.origin),
        "interleave": setting(order.into(), &interleave.origin),
        "keep-runs": setting(keep_runs.value.to_string().into(), &keep_runs.origin),
        "series": series,
    });
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}
