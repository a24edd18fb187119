//! `cargo gpuprof show-config`: every setting and threshold with the layer that it comes from.

use std::io::{self, Write};

use clap::ValueEnum;
use gpuprof_model::verdict::written_in;

use super::run::planned_for;
use super::settings::{Layers, Settings};
use super::thresholds;
use crate::error::{Failure, Result};
use crate::execute::Interrupt;
use crate::options::{MessageFormat, RunOptions, Set};

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
    let sections = source.sections()?;
    let catalogue = sections.catalogue();
    let layers = Layers::new(&source.config, options.gate.preset.as_deref())?;
    let settings = Settings::new(options, &layers);
    // Thresholds may speak of what sections define.
    let chosen = source.sections()?.choose(&settings.sets.value, &settings.sections.value, None);
    chosen.map_err(|failure| settings.sections.blamed(failure))?;
    let mut series = Vec::new();
    for planned in &planned {
        let all = thresholds::with_replaced(
            catalogue,
            &(&planned.series).into(),
            &layers,
            &options.threshold,
        )?;
        let columns = thresholds::columns(catalogue, &planned.series, &layers, &options.metrics)?;
        series.push((&planned.series, all, columns));
    }
    let written = match options.output.message_format {
        MessageFormat::Human => human(&settings, &series, out),
        MessageFormat::Json => json(&settings, &series, out),
    };
    written.map_err(|e| Failure::output(std::path::Path::new("standard output"), &e))
}

fn set_names(sets: &[Set]) -> Vec<String> {
    let name = |set: &Set| set.to_possible_value().map(|value| value.get_name().to_owned());
    sets.iter().filter_map(name).collect()
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

type Shown<'s> =
    (&'s gpuprof_model::protocol::SeriesDescription, Vec<thresholds::Placed>, Vec<String>);

fn human(settings: &Settings, series: &[Shown<'_>], out: &mut impl Write) -> io::Result<()> {
    let Settings { repeat, timeout, strict, baseline, interleave, keep_runs, .. } = settings;
    writeln!(out, "repeat      {repeat}")?;
    writeln!(out, "timeout     {timeout}")?;
    writeln!(out, "strict      {strict}")?;
    let name = baseline.value.as_deref().unwrap_or("none");
    writeln!(out, "baseline    {name}  [{}]", baseline.origin)?;
    let order = format!("{:?}", interleave.value).to_lowercase();
    writeln!(out, "interleave  {order}  [{}]", interleave.origin)?;
    let devices = settings.devices.value.as_ref();
    let devices = devices.map_or_else(|| "the first".to_owned(), ToString::to_string);
    writeln!(out, "devices     {devices}  [{}]", settings.devices.origin)?;
    let Settings { sets, sections, max_passes, .. } = settings;
    writeln!(out, "sets        {}  [{}]", listed(&set_names(&sets.value)), sets.origin)?;
    writeln!(out, "sections    {}  [{}]", listed(&sections.value), sections.origin)?;
    let most = max_passes.value.map_or_else(|| "no limit".to_owned(), |most| most.to_string());
    writeln!(out, "max-passes  {most}  [{}]", max_passes.origin)?;
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
            let origin = written_in(&placed.origin, placed.place.as_ref());
            writeln!(out, "    {}  [{origin}{replaced}]", placed.threshold)?;
        }
    }
    Ok(())
}

fn json(settings: &Settings, series: &[Shown<'_>], out: &mut impl Write) -> io::Result<()> {
    let setting = |value: serde_json::Value, origin: &str| serde_json::json!({ "value": value, "origin": origin });
    let Settings { repeat, timeout, strict, baseline, interleave, .. } = settings;
    let Settings { sets, sections, max_passes, keep_runs, .. } = settings;
    let order = format!("{:?}", interleave.value).to_lowercase();
    let thresholds = |all: &[thresholds::Placed]| -> Vec<serde_json::Value> {
        let one = |p: &thresholds::Placed| {
            serde_json::json!({
                "threshold": p.threshold.text, "origin": p.origin, "place": p.place, "replaced_by": p.replaced_by,
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
        "repeat": setting(serde_json::json!(repeat.value), &repeat.origin),
        "timeout": setting(timeout.value.into(), &timeout.origin),
        "strict": setting(strict.value.into(), &strict.origin),
        "baseline": setting(baseline.value.clone().into(), &baseline.origin),
        "interleave": setting(order.into(), &interleave.origin),
        "devices": setting(
            settings.devices.value.as_ref().map(ToString::to_string).into(),
            &settings.devices.origin,
        ),
        "sets": setting(set_names(&sets.value).into(), &sets.origin),
        "sections": setting(sections.value.clone().into(), &sections.origin),
        "max-passes": setting(max_passes.value.into(), &max_passes.origin),
        "keep-runs": setting(keep_runs.value.to_string().into(), &keep_runs.origin),
        "series": series,
    });
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}
