//! `cargo gpuprof show-config`: every setting and threshold with the layer that it comes from.

use std::io::{self, Write};

use gpuprof_model::protocol::SeriesDescription;
use gpuprof_model::threshold::WrittenThreshold;
use gpuprof_model::verdict::{Layer, written_in};

use super::run::{PlannedRequest, planned_for};
use super::settings::Settings;
use super::{thresholds, view_settings};
use crate::options::{Checks, MessageFormat, RunOptions};
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::interrupt::Interrupt;
use gpuprof_system::json_text;
use gpuprof_system::printable_output::show_plain;

/// Shows them.
///
/// # Errors
/// Configuration file, build, discovery; standard output.
pub fn show_config(
    options: &RunOptions,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> Result<()> {
    let PlannedRequest { source, layers, settings, series: planned } =
        planned_for(&options.into(), interrupt)?;
    let sections = source.sections()?;
    let catalogue = sections.catalogue();
    // Thresholds may use the definitions of sections.
    view_settings::placed(&settings, options.view.all, false)?;
    settings.choose_sections(&sections, None)?;
    let given = WrittenThreshold::all(&options.threshold);
    let mut series = Vec::new();
    for planned in &planned {
        let annotated = (&planned.series).into();
        let all = thresholds::with_replaced(catalogue, &annotated, &layers, &given)?;
        let columns = thresholds::columns(catalogue, &planned.series, &layers, &options.metrics)?;
        series.push((&planned.series, all, columns));
    }
    let written = match settings.message_format.value {
        MessageFormat::Human => show_plain(out, |mut out| human(&settings, &series, &mut out)),
        MessageFormat::Json => json(&settings, &series, out),
    };
    written.map_err(Failure::standard_output)
}

type Listed<'s> = (&'s SeriesDescription, Vec<thresholds::Placed>, Vec<String>);

fn human(settings: &Settings, series: &[Listed<'_>], out: &mut impl Write) -> io::Result<()> {
    let all = settings.all();
    let width = all.iter().map(|(key, _)| key.len()).max().unwrap_or_default();
    for (key, setting) in all {
        writeln!(out, "{key:width$}  {}", setting.text())?;
    }
    for (described, all, columns) in series {
        writeln!(out, "\n{}  {}:{}", described.id, described.file, described.line)?;
        if !columns.is_empty() {
            writeln!(out, "    metrics: {}", columns.join(", "))?;
        }
        if let Some(checks) = annotated_checks(settings, described) {
            writeln!(out, "    check: {checks}  [{}]", Layer::Attribute)?;
        }
        for placed in all {
            let replaced = placed
                .replaced_by
                .as_ref()
                .map(|by| format!(", replaced by {by}"))
                .unwrap_or_default();
            let origin = written_in(&placed.own.origin, placed.own.place.as_ref());
            writeln!(out, "    {}  [{origin}{replaced}]", placed.own.threshold)?;
        }
    }
    Ok(())
}

/// The checks that the annotation of `series` selects, unless a later layer overrides it.
fn annotated_checks(settings: &Settings, series: &SeriesDescription) -> Option<Checks> {
    series.check.filter(|_| settings.check.given().is_none())
}

fn json(settings: &Settings, series: &[Listed<'_>], out: &mut impl Write) -> io::Result<()> {
    let thresholds = |all: &[thresholds::Placed]| -> Vec<serde_json::Value> {
        let one = |p: &thresholds::Placed| {
            serde_json::json!({
                "threshold": p.own.threshold.text,
                "origin": p.own.origin,
                "place": p.own.place,
                "replaced_by": p.replaced_by,
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
                "check": annotated_checks(settings, described),
                "thresholds": thresholds(all),
            })
        })
        .collect();
    let settings = settings.all().into_iter().map(|(key, setting)| (key, setting.json()));
    let mut document: serde_json::Map<_, _> = settings.collect();
    document.insert("series".to_owned(), series.into());
    json_text::indented(out, &document)
}
