//! `--load-baseline`: a stored run instead of a new one, like Criterion's option.
//!
//! Input: the names of two stored runs. Output: the first judged against the second, in a run's
//! formats. Nothing is built: the thresholds are the same as in `compare`.

use std::io::Write;

use camino::Utf8Path;
use gpuprof_model::ExitCode;
use gpuprof_model::run::SeriesResult;

use crate::commands::run::baseline::selected_baseline;
use crate::commands::run::output::exports::{Exports, Storage, StoredView};
use crate::commands::settings::{Layers, Settings};
use crate::commands::stored::{
    check_view, places, refuse_itself, refuse_quick, thresholds_in_force, with_metrics_of,
};
use crate::commands::{StandardOutput, view_settings};
use crate::config::Config;
use crate::options::RunOptions;
use gpuprof_analysis::gate::baseline::Scope;
use gpuprof_analysis::gate::outcome::RunOutcome;
use gpuprof_analysis::gate::run::rejudge_each;
use gpuprof_catalogue::chips::is_installed;
use gpuprof_catalogue::sections::{self, Sections};
use gpuprof_engine::store::RunFolder;
use gpuprof_engine::store::baselines::Baselines;
use gpuprof_system::error::{Failure, Result};

/// Judges the stored run `name` against the baseline.
///
/// # Errors
/// No such run or nothing to compare it with (exit code 2), a configuration file that is wrong,
/// files and standard output that cannot be written.
pub(in crate::commands) fn run(
    name: &str,
    options: &RunOptions,
    stdout: StandardOutput,
    out: &mut impl Write,
) -> Result<ExitCode> {
    let (root, target) = places(&options.cargo.place());
    RunFolder::remove_last_verdict(&target);
    let (config, sections) = configured(options, &root)?;
    let layers = Layers::new(&config, options.configuration.preset.as_deref())?;
    let settings = Settings::new(options.given.clone(), &layers);
    let placed = view_settings::placed(&settings, options.view.all, options.cargo.verbose)?;
    let exports = Exports::open(&settings, &root)?;
    let baselines = Baselines::new(&root, &target);
    let whole = Scope::whole();
    let Some(mut against) = selected_baseline::stored(&baselines, (&settings, &root), whole, None)?
    else {
        return Err(Failure::usage(format!(
            "--load-baseline {name} has nothing to be compared with: add --baseline OTHER"
        )));
    };
    let loaded = baselines.stored(&target, name)?;
    let catalogue = with_metrics_of(sections.catalogue().clone(), &loaded);
    check_view(&placed, &catalogue, &loaded)?;
    if let Ok(before) = &against.run {
        refuse_itself(&against.name, before, name, &loaded)?;
    }
    refuse_quick(name, &loaded)?;
    against.name_as(&loaded.series);
    let in_force = thresholds_in_force(&catalogue, &loaded, (&layers, &options.threshold))?;
    let thresholds_of =
        |series: &SeriesResult| in_force.get(&series.id).cloned().unwrap_or_default();
    let mut run = rejudge_each(&catalogue, loaded, thresholds_of, &against);
    settings.record_gate(&mut run.provenance);
    let outcome = RunOutcome::decide(&run, settings.gate(), []);
    let storage = Storage { save: |_| Ok(()), baseline: None };
    let shown = StoredView { view: &placed.view, settings: &settings, stdout };
    let outcome = exports.conclude_stored(&run, outcome, storage, shown, out)?;
    Ok(outcome.exit_code)
}

/// The configuration file, and the sections with the metrics that it defines.
fn configured(options: &RunOptions, root: &Utf8Path) -> Result<(Config, Sections)> {
    // Definitions in the configuration file may use those of our sections.
    let ours = Sections::built_in()?;
    let (config, catalogue) =
        Config::chosen(root, &options.configuration.file(), ours.catalogue())?;
    // And its thresholds those of the workspace's.
    let sections =
        ours.over(catalogue).with(&sections::own(root)?, |name| is_installed(None, name))?;
    Ok((config, sections))
}
