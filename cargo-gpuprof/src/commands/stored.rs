//! `report` and `compare`: commands on stored runs, without a GPU.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::{self, BufWriter, Write};

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::{MetricResult, Run, SeriesResult};
use gpuprof_model::series::SeriesId;
use gpuprof_model::threshold::WrittenThreshold;
use gpuprof_model::{ExitCode, Space, Threshold};

use super::StandardOutput;
use super::browser;
use super::charts::ChartFolder;
use super::harness_source::own_folder;
use super::settings::{Layers, Settings};
use super::source_view;
use super::thresholds;
use super::view_settings::{self, PlacedView};
use crate::config::Config;
use crate::options::{
    CargoRequest, CompareOptions, ConfigurationOptions, PlaceOptions, ReportOptions, ViewOptions,
};
use gpuprof_analysis::advice;
use gpuprof_analysis::gate::baseline::{Against, Scope};
use gpuprof_analysis::gate::outcome::RunOutcome;
use gpuprof_analysis::gate::run::{ConfiguredThreshold, rejudge_each};
use gpuprof_analysis::view::{self, View};
use gpuprof_build::harnesses;
use gpuprof_build::revision::Repository;
use gpuprof_catalogue::rules;
use gpuprof_catalogue::sections::Sections;
use gpuprof_engine::store::baselines::Baselines;
use gpuprof_engine::store::document;
use gpuprof_report::{Format, FormatSettings};
use gpuprof_system::console::Notes;
use gpuprof_system::error::{Failure, Result};

/// The workspace root, and the folder of its runs and baselines.
///
/// Outside a workspace, as where an archive ran, they are the present folder and `target`.
pub(super) fn places(options: &PlaceOptions) -> (Utf8PathBuf, Utf8PathBuf) {
    let cargo = CargoRequest::from(options);
    match harnesses::metadata(&cargo) {
        Ok(metadata) => {
            let target = harnesses::target_directory(&metadata, &cargo);
            let stored = own_folder(&metadata, &target, Notes::new(false));
            (metadata.workspace_root, stored)
        }
        Err(_) => (".".into(), options.target_dir.clone().unwrap_or_else(|| "target".into())),
    }
}

/// Writes `run` in `format` as `view` has it.
pub(super) fn write(
    run: &Run,
    view: &View,
    (format, terms): (Format, FormatSettings),
    out: &mut dyn Write,
) -> io::Result<()> {
    // A line at a time would be a call of the system a line.
    let mut out = BufWriter::new(out);
    format.report(terms).write_as(view, run, &mut out)?;
    out.flush()
}

/// The view of `settings`, which have those of `options`, on `run` in `format`. A format that shows
/// everything takes none, so the configuration file's does not count there.
///
/// # Errors
/// A malformed one, one with names that no series has, and view options with a format that shows
/// everything.
fn view(
    options: &ViewOptions,
    verbose: bool,
    settings: &Settings,
    format: Format,
    catalogue: &Catalogue,
    run: &Run,
) -> Result<View> {
    if !format.report(FormatSettings::default()).takes_view() {
        if *options == ViewOptions::default() {
            return Ok(View::default());
        }
        return Err(Failure::usage(format!(
            "--format {format} writes the whole run; view options such as --filter work with table, \
             markdown, csv and json-lines"
        )));
    }
    let placed = view_settings::placed(settings, options.all, verbose)?;
    check_view(&placed, catalogue, run)?;
    Ok(placed.view)
}

/// Refuses a view with names that no series of `run` has.
///
/// # Errors
/// The option and what is wrong with it (exit code 2).
pub(super) fn check_view(view: &PlacedView, catalogue: &Catalogue, run: &Run) -> Result<()> {
    view.check(catalogue, &run.series.iter().map(view::types).collect::<Vec<_>>())
}

/// `catalogue` and what `run` measured that it does not know: metrics of a configuration file or a
/// section that is elsewhere, or has changed since.
pub(super) fn with_metrics_of(catalogue: Catalogue, run: &Run) -> Catalogue {
    let set = recorded(run).filter(|(_, result)| result.direction_set);
    set.fold(with_names_of(catalogue, run), |catalogue, (name, result)| {
        catalogue.with_recorded_direction(name, result.direction)
    })
}

/// As [`with_metrics_of`], but for directions of metrics that `catalogue` knows.
fn with_names_of(catalogue: Catalogue, run: &Run) -> Catalogue {
    recorded(run).fold(catalogue, |catalogue, (name, result)| {
        catalogue.with_recorded(name, result.unit, result.direction, result.class)
    })
}

/// What `run` measured, each metric once with a direction that a file set and once without.
fn recorded(run: &Run) -> impl Iterator<Item = (&str, &MetricResult)> {
    let rows = run.series.iter().flat_map(|series| &series.configurations);
    let mut known = HashSet::new();
    rows.flat_map(|row| &row.metrics)
        .filter(move |(name, result)| known.insert((*name, result.direction_set)))
}

/// Writes a stored run in any format.
///
/// # Errors
/// No such run; the configuration file; a view that does not fit the run; output that cannot be
/// written.
pub fn report(options: &ReportOptions, on: StandardOutput, out: &mut impl Write) -> Result<()> {
    let (root, target) = places(&options.place);
    let mut run = document::find(&target, &options.run)?;
    let outcome = Some(document::outcome(&target, &options.run, &run));
    let (layers, known) = layers(&root, &options.configuration)?;
    let catalogue = with_metrics_of(known, &run);
    let settings = Settings::new(options.given.clone(), &layers);
    let folder = Settings::export(&settings.rules, &root);
    let rules = rules::of_run(&run, (&root, folder.as_deref()), &catalogue)?;
    // What was advised when the run was made may rest on other rules.
    run.advice = advice::of_run(&run, &rules, &catalogue);
    let format = match (options.open, options.format) {
        (false, format) => format,
        (true, Format::Table | Format::Html) => Format::Html,
        (true, _) => {
            return Err(Failure::usage("--open shows the HTML page: leave out the other --format"));
        }
    };
    let view = view(&options.view, options.verbose, &settings, format, &catalogue, &run)?;
    let screen = on.screen(settings.color.value);
    if let Some(place) = &options.source {
        return source_view::report(&run, place.as_ref(), options, &view, screen, out);
    }
    if options.code_diff {
        return source_view::code_diff(&run, options, screen, out);
    }
    let how = (options.format, FormatSettings { screen, outcome });
    if options.format == Format::Github {
        start_paths_at_repository(&mut run, &root);
    }
    if let Some(folder) = &options.export_svg {
        ChartFolder::open(folder)?.write(&run, &view)?;
    }
    if options.open {
        let page = options.output.clone().unwrap_or_else(|| target.join("gpuprof/report.html"));
        return browser::show(&run, outcome, &view, &page);
    }
    source_view::write_to(options, |out| write(&run, &view, how, out), out)
}

/// Judges a stored run against another, by the thresholds that it was judged by, those of the
/// configuration file and of the command line.
///
/// # Errors
/// No such runs, a malformed condition, a configuration file or a view that does not fit, standard
/// output.
pub fn compare(
    options: &CompareOptions,
    on: StandardOutput,
    out: &mut impl Write,
) -> Result<ExitCode> {
    let (root, target) = places(&options.place);
    let baselines = Baselines::new(&root, &target);
    let before = baselines.stored(&target, &options.baseline)?;
    let after = baselines.stored(&target, &options.run)?;
    refuse_itself(&options.baseline, &before, &options.run, &after)?;
    refuse_quick(&options.run, &after)?;
    let (layers, known) = layers(&root, &options.configuration)?;
    let settings = Settings::new(options.given.clone(), &layers);
    // Directions are the run's: those that a file set for the baseline alone do not apply to the
    // run.
    let catalogue = with_names_of(with_metrics_of(known, &after), &before);
    let view = view(&options.view, options.verbose, &settings, options.format, &catalogue, &after)?;
    let in_force = thresholds_in_force(&catalogue, &after, (&layers, &options.threshold))?;
    let mut against = Against {
        name: options.baseline.clone(),
        across_devices: settings.across_devices.value,
        in_rounds: before.was_measured_beside(&after),
        run: Ok(before),
        scope: Scope::whole(),
    };
    against.name_as(&after.series);
    let folder = Settings::export(&settings.rules, &root);
    let thresholds_of =
        |series: &SeriesResult| in_force.get(&series.id).cloned().unwrap_or_default();
    let mut run = rejudge_each(&catalogue, after, thresholds_of, &against);
    settings.record_gate(&mut run.provenance);
    let rules = rules::of_run(&run, (&root, folder.as_deref()), &catalogue)?;
    run.advice = advice::of_run(&run, &rules, &catalogue);
    let outcome = RunOutcome::decide(&run, settings.gate(), []);
    let screen = on.screen(settings.color.value);
    let terms = FormatSettings { screen, outcome: Some(outcome) };
    if options.format == Format::Github {
        start_paths_at_repository(&mut run, &root);
    }
    write(&run, &view, (options.format, terms), out).map_err(Failure::standard_output)?;
    Ok(outcome.exit_code)
}

/// Makes the files of `run`, relative to the workspace's `root`, relative to the top folder of its
/// git repository, as GitHub takes them. Outside of a repository they stay as they are.
fn start_paths_at_repository(run: &mut Run, root: &Utf8Path) {
    let repository = root.canonicalize_utf8().ok().zip(Repository::find(root).ok());
    let Some((root, repository)) = repository else { return };
    let Ok(folder) = root.strip_prefix(&repository.toplevel) else { return };
    for series in &mut run.series {
        let start = |path: &mut String| *path = folder.join(&*path).into_string();
        start(&mut series.file);
        let costly = series.judgements.iter_mut().filter_map(|judgement| judgement.costly.as_mut());
        for costly in costly {
            start(&mut costly.line);
            costly.inlined_at.iter_mut().for_each(start);
        }
    }
    let files: Vec<&str> = run.provenance.sources.files().collect();
    let changes = run.comparison.iter_mut().flat_map(|comparison| &mut comparison.code);
    for cost in changes.flat_map(|change| &mut change.costs) {
        // It names a line: "the loads of FILE:LINE went from 4 to 32 sectors a request".
        let named = |file: &&str| cost.find(&format!(" of {file}:"));
        if let Some(at) = files.iter().find_map(named) {
            cost.insert_str(at + " of ".len(), folder.join("").as_str());
        }
    }
}

/// Refuses to compare a run with itself, which would find that nothing changed.
///
/// # Errors
/// Both names are of one run (exit code 2).
pub(super) fn refuse_itself(
    baseline_name: &str,
    baseline: &Run,
    name: &str,
    run: &Run,
) -> Result<()> {
    if baseline.id != run.id {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "`{baseline_name}` and `{name}` are the same run, {}: a run is compared with an earlier \
         one; `cargo gpuprof runs list` lists them",
        run.id
    )))
}

/// Refuses to judge a quick run, in which nothing is judged when it is measured either.
///
/// # Errors
/// `run`, called `name`, is one (exit code 2).
pub(super) fn refuse_quick(name: &str, run: &Run) -> Result<()> {
    match run.provenance.quick {
        false => Ok(()),
        true => Err(Failure::usage(format!(
            "`{name}` is a quick run, in which nothing is judged or compared: run without --quick"
        ))),
    }
}

/// The thresholds of each series of the stored `run`: those that it was judged by, those of the
/// configuration file, and the `texts` of the command line.
///
/// # Errors
/// A text that no series can have (exit code 2); as [`thresholds::of_stored`].
pub(super) fn thresholds_in_force(
    catalogue: &Catalogue,
    run: &Run,
    (layers, texts): (&Layers, &[String]),
) -> Result<HashMap<SeriesId, Vec<ConfiguredThreshold>>> {
    let given = conditions(catalogue, texts, run)?;
    let of = |series: &SeriesResult| {
        Ok((series.id.clone(), thresholds::of_stored(catalogue, series, layers, &given)?))
    };
    run.series.iter().map(of).collect()
}

/// The layers of settings of the workspace at `root`, and the metrics that are known there.
///
/// # Errors
/// The configuration file.
pub(super) fn layers(
    root: &Utf8Path,
    options: &ConfigurationOptions,
) -> Result<(Layers, Catalogue)> {
    // Definitions in the configuration file may use those of our sections.
    let ours = Sections::built_in()?;
    let (config, known) = Config::chosen(root, &options.file(), ours.catalogue())?;
    Ok((Layers::new(&config, options.preset.as_deref())?, known))
}

/// All of `texts`, or the errors of every one that no series of `run` can have.
fn conditions(catalogue: &Catalogue, texts: &[String], run: &Run) -> Result<Vec<Threshold>> {
    let axes: BTreeSet<&str> =
        run.series.iter().flat_map(view::types).map(|(axis, _)| axis).collect();
    let axes: Vec<&str> = axes.into_iter().collect();
    let of_series = |series: &SeriesResult| Space { axes: series.axes.clone(), ..Space::default() };
    let spaces: Vec<Space> = run.series.iter().map(of_series).collect();
    let spaces: Vec<&Space> = spaces.iter().collect();
    let checked = |written: WrittenThreshold| {
        let checked = written.parsed.and_then(|threshold| {
            threshold.metric_of(catalogue)?;
            threshold.check_axes("the run", &axes, "")?;
            threshold.check_selector(&spaces)?;
            Ok(threshold)
        });
        checked.map_err(|error| error.render("--threshold", &written.text))
    };
    let written = WrittenThreshold::all(texts).into_iter();
    let (right, wrong): (Vec<_>, Vec<_>) = written.map(checked).partition(Result::is_ok);
    let messages: Vec<String> = wrong.into_iter().filter_map(Result::err).collect();
    match messages.is_empty() {
        true => Ok(right.into_iter().flatten().collect()),
        false => Err(Failure::usage(messages.join("\n"))),
    }
}
