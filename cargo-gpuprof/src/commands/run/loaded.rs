//! `--load-baseline`: a stored run in the place of a new one, as Criterion has it.
//!
//! Input: the names of two stored runs. Output: the first judged against the second, in the
//! forms that a run has. Nothing is built, so the annotations' thresholds are those that were
//! judged when the run was made; those of the configuration file, the preset and the command line
//! are today's.

use std::io::Write;
use std::path::Path;

use camino::Utf8Path;
use gpuprof_model::ExitCode;
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::SeriesResult;
use gpuprof_model::verdict::Layer;

use super::against;
use super::exports::Exports;
use crate::commands::settings::{Layers, Settings};
use crate::commands::stored::{check_view, places, with_metrics_of};
use crate::commands::thresholds::{self, Annotated, Placed};
use crate::commands::{StandardOutput, viewed};
use crate::config::Config;
use crate::options::{MessageFormat, RunOptions};
use crate::sections::{self, Sections};
use gpuprof_analysis::gate::baseline::{Against, Scope};
use gpuprof_analysis::gate::run::{Written, rejudge_each};
use gpuprof_engine::store::baseline::Baselines;
use gpuprof_report::{Format, Terms};
use gpuprof_system::error::{Failure, Result};

/// Judges the stored run `name` against the baseline.
///
/// # Errors
/// No such run or nothing to compare it with (exit code 2), a configuration file that is wrong,
/// files and standard output that cannot be written.
pub(super) fn run(
    name: &str,
    options: &RunOptions,
    stdout: StandardOutput,
    out: &mut impl Write,
) -> Result<ExitCode> {
    let (root, target) = places(&options.cargo.place());
    let (config, sections) = configured(options, &root)?;
    let layers = Layers::new(&config, options.configuration.preset.as_deref())?;
    let settings = Settings::new(options, &layers);
    let placed = viewed::placed(&options.view, &layers)?;
    let exports = Exports::open(&settings, settings.gate(), &root)?;
    let Some(baseline) = settings.baseline_of(&root) else {
        return Err(Failure::usage(format!(
            "--load-baseline {name} has nothing to be compared with: add --baseline OTHER"
        )));
    };
    let baselines = Baselines::new(&root, &target);
    let loaded = baselines.stored(&target, name)?;
    let catalogue = with_metrics_of(sections.catalogue().clone(), &loaded);
    check_view(&placed, &catalogue, &loaded)?;
    let against = Against {
        run: against::found(&baselines, &baseline, &settings, false)?.into(),
        name: baseline,
        across_devices: settings.across_devices.value,
        in_rounds: false,
        scope: Scope::whole(),
    };
    let mut all = Vec::new();
    for series in &loaded.series {
        all.push((series.id.clone(), written(&catalogue, series, &layers, &options.threshold)?));
    }
    let of = |series: &SeriesResult| {
        let found = all.iter().find(|(id, _)| *id == series.id);
        found.map(|(_, written)| written.clone()).unwrap_or_default()
    };
    let run = rejudge_each(&catalogue, loaded, of, &against);
    let gate = settings.gate();
    let code = gate.exit_code(&run);
    let format = match settings.message_format.value {
        MessageFormat::Json => Format::JsonLines,
        MessageFormat::Human => Format::Table,
    };
    let written = exports.write_files(&run);
    let screen = stdout.screen(settings.color.value);
    let report = format.report(Terms { screen, exit_code: Some(code), gate });
    exports
        .show(&run, settings.notes(), out, |out| report.write_as(&placed.view, &run, out))
        .map_err(|e| Failure::output(Path::new("standard output"), &e))?;
    written?;
    Ok(code)
}

/// The configuration file, and the sections with the metrics that it defines.
fn configured(options: &RunOptions, root: &Utf8Path) -> Result<(Config, Sections)> {
    // Definitions in the configuration file may use what our sections define.
    let ours = Sections::built_in()?;
    let (config, catalogue) = Config::chosen(root, &options.configuration, ours.catalogue())?;
    // And its thresholds what the workspace's do.
    let sections = ours.with(&sections::own(root)?, catalogue)?;
    Ok((config, sections))
}

fn written(
    catalogue: &Catalogue,
    series: &SeriesResult,
    layers: &Layers,
    command_line: &[String],
) -> Result<Vec<Written>> {
    let judged = series.judgements.iter().map(|judged| (&judged.threshold, &judged.origin));
    let others = series.not_applicable.iter().map(|other| (&other.threshold, &other.origin));
    let all = judged.chain(others).filter(|(_, origin)| **origin == Layer::Attribute);
    let attribute: Vec<String> = all.map(|(threshold, _)| threshold.clone()).collect();
    let annotated = Annotated::of_stored(series, &attribute);
    let placed = thresholds::of(catalogue, &annotated, layers, command_line)?;
    Ok(placed.into_iter().map(Placed::written).collect())
}
