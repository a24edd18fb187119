//! `report`, `compare` and `baseline`: what can be done with stored runs, without a GPU.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};
use clap::ValueEnum;
use gpuprof_model::run::{Run, SeriesResult};
use gpuprof_model::{ExitCode, Threshold, metric};

use super::gate::{self, Gate};
use super::run::Screen;
use crate::build::host;
use crate::cli::{
    BaselineAction, BaselineOptions, CargoOptions, CompareOptions, Format, MessageFormat,
    PlaceOptions, ReportOptions, ViewOptions,
};
use crate::compare::against::{Against, Scope};
use crate::compare::view::{self, View};
use crate::error::{Failure, Result};
use crate::report::{
    self, Bmf, GithubActionBenchmark, GithubAnnotations, Json, Junit, Report, Shape, Table, Viewing,
};
use crate::store::baseline::{self, Baselines, without_samples};
use crate::store::{document, write_whole};

/// The workspace root and the target folder.
///
/// Outside a workspace, as where an archive ran, they are the present folder and `target`.
pub(super) fn places(options: &PlaceOptions) -> (Utf8PathBuf, Utf8PathBuf) {
    let cargo = CargoOptions {
        manifest_path: options.manifest_path.clone(),
        target_dir: options.target_dir.clone(),
        ..CargoOptions::default()
    };
    match host::metadata(&cargo) {
        Ok(metadata) => {
            let target = host::target_directory(&metadata, &cargo);
            (metadata.workspace_root, target)
        }
        Err(_) => (".".into(), options.target_dir.clone().unwrap_or_else(|| "target".into())),
    }
}

fn stdout(error: &std::io::Error) -> Failure {
    Failure::output(Path::new("standard output"), error)
}

/// Writes `run` in `format` as `view` has it.
fn write(
    run: &Run,
    view: &View,
    (format, screen, exit_code): (Format, Screen, Option<ExitCode>),
    out: &mut dyn Write,
) -> io::Result<()> {
    let shape = match format {
        Format::Table => Shape::Table(Table { colour: screen.colour, width: screen.width }),
        Format::Markdown => Shape::Markdown,
        Format::Csv => Shape::Csv,
        Format::JsonLines => Shape::JsonLines(exit_code),
        Format::Json => return Json.write(run, out),
        Format::Junit => return Junit.write(run, out),
        Format::Github => return GithubAnnotations.write(run, out),
        Format::Bmf => return Bmf.write(run, out),
        Format::GithubActionBenchmark => return GithubActionBenchmark.write(run, out),
    };
    Viewing { shape, view }.write(run, out)
}

/// The view of `options` on `run` in `format`.
///
/// # Errors
/// A malformed one, one that names what no series has, and one on a format that shows everything.
fn view(options: &ViewOptions, format: Format, run: &Run) -> Result<View> {
    let view = options.view()?;
    let viewed =
        matches!(format, Format::Table | Format::Markdown | Format::Csv | Format::JsonLines);
    if view != View::default() && !viewed {
        let format = format.to_possible_value().map(|value| value.get_name().to_owned());
        return Err(Failure::usage(format!(
            "--format {} shows all of a run: view options such as --filter go with table, markdown, csv and json-lines",
            format.unwrap_or_default()
        )));
    }
    check_view(&view, run)?;
    Ok(view)
}

/// Refuses a view that speaks of what no series of `run` has.
///
/// # Errors
/// The option and what is wrong with it (exit code 2).
pub(super) fn check_view(view: &View, run: &Run) -> Result<()> {
    let axes: Vec<_> = run.series.iter().flat_map(view::types).collect();
    view.check(&axes).map_err(Failure::usage)?;
    let Some(filter) = &view.filter else { return Ok(()) };
    let wrong = |series: &SeriesResult| filter.check_condition(&view::types(series)).err();
    let errors: Vec<_> = run.series.iter().map(wrong).collect();
    match errors.iter().flatten().next() {
        Some(error) if errors.iter().all(Option::is_some) => {
            Err(Failure::usage(error.render("--filter", filter.text())))
        }
        _ => Ok(()),
    }
}

/// Writes a stored run in any format.
///
/// # Errors
/// No such run; a view that does not fit it; output that cannot be written.
pub fn report(options: &ReportOptions, screen: Screen, out: &mut impl Write) -> Result<()> {
    let (_, target) = places(&options.place);
    let run = document::find(&target, &options.run)?;
    let view = view(&options.view, options.format, &run)?;
    let how = (options.format, screen, None);
    match &options.output {
        None => write(&run, &view, how, out).map_err(|e| stdout(&e)),
        Some(path) => {
            let mut bytes = Vec::new();
            write(&run, &view, how, &mut bytes)
                .and_then(|()| write_whole(path, &bytes))
                .map_err(|e| Failure::output(path.as_std_path(), &e))
        }
    }
}

/// Judges a stored run against another.
///
/// # Errors
/// No such runs, a malformed condition, a view that does not fit, standard output.
pub fn compare(options: &CompareOptions, screen: Screen, out: &mut impl Write) -> Result<ExitCode> {
    let (root, target) = places(&options.place);
    let baselines = Baselines::new(&root, &target);
    let side = |text: &str| match baselines.find(text) {
        Some(kept) => document::read(&kept.path),
        None => document::find(&target, text),
    };
    let (before, after) = (side(&options.baseline)?, side(&options.run)?);
    let view = view(&options.view, options.format, &after)?;
    let thresholds = conditions(&options.threshold)?;
    let against = Against {
        name: options.baseline.clone(),
        run: Ok(before),
        across_devices: options.across_devices,
        scope: Scope::whole(),
    };
    let run = gate::rejudge(after, &thresholds, &against);
    let code = Gate { strict: options.strict, gated: !options.no_gate }.exit_code(&run);
    write(&run, &view, (options.format, screen, Some(code)), out).map_err(|e| stdout(&e))?;
    Ok(code)
}

/// All of `texts`, or what is wrong with every one that is wrong.
fn conditions(texts: &[String]) -> Result<Vec<Threshold>> {
    let (right, wrong): (Vec<_>, Vec<_>) =
        texts.iter().map(|text| condition(text)).partition(Result::is_ok);
    let messages: Vec<String> = wrong.into_iter().filter_map(|w| Some(w.err()?.message)).collect();
    if messages.is_empty() {
        right.into_iter().collect()
    } else {
        Err(Failure::usage(messages.join("\n")))
    }
}

fn condition(text: &str) -> Result<Threshold> {
    let usage = |e: gpuprof_model::ParseError| Failure::usage(e.render("--threshold", text));
    let threshold = Threshold::parse(text).map_err(usage)?;
    let Some(known) = metric::find(&threshold.metric) else {
        let message = metric::unknown(&threshold.metric);
        return Err(usage(gpuprof_model::ParseError::new(message, threshold.metric_span.clone())));
    };
    threshold.check(known).map_err(usage)?;
    Ok(threshold)
}

/// Lists, shows, moves and replaces baselines.
///
/// # Errors
/// No such baseline, a file that is no run, output that cannot be written.
pub fn baseline(options: &BaselineOptions, screen: Screen, out: &mut impl Write) -> Result<()> {
    let (root, target) = places(&options.place);
    let baselines = Baselines::new(&root, &target);
    let kept = |name: &str| {
        baselines.find(name).ok_or_else(|| Failure::usage(baselines.none_called(name)))
    };
    match &options.action {
        BaselineAction::List { message_format } => list(&baselines, *message_format, out),
        BaselineAction::Show { name } => {
            let run = document::read(&kept(name)?.path)?;
            let how = (Format::Table, screen, None);
            write(&run, &View::default(), how, out).map_err(|e| stdout(&e))
        }
        BaselineAction::Rm { name } => {
            let path = kept(name)?.path;
            fs::remove_file(&path).map_err(|e| Failure::output(path.as_std_path(), &e))?;
            told(&format!("removed {path}"));
            Ok(())
        }
        BaselineAction::Export { name, file, samples } => {
            let run = document::read(&kept(name)?.path)?;
            baseline::write(file, &trimmed(run, *samples))?;
            told(&format!("wrote {file}"));
            Ok(())
        }
        BaselineAction::Import { file, name, checked_in } => {
            keep(&baselines, name, *checked_in, &document::read(file)?)
        }
        BaselineAction::Accept { name, run, checked_in, samples } => {
            let run = trimmed(document::find(&target, run)?, *samples);
            keep(&baselines, name, *checked_in, &run)
        }
    }
}

fn trimmed(run: Run, samples: bool) -> Run {
    if samples { run } else { without_samples(run) }
}

fn keep(baselines: &Baselines, name: &str, checked_in: bool, run: &Run) -> Result<()> {
    let path = baselines.place(name, checked_in)?;
    if checked_in && path != baselines.checked_in.join(format!("{name}.json")) {
        // The one in the target folder would be forgotten and stay.
        fs::remove_file(&path).map_err(|e| Failure::output(path.as_std_path(), &e))?;
        return keep(baselines, name, checked_in, run);
    }
    baseline::write(&path, run)?;
    told(&format!("baseline `{name}` is run {} in {path}", run.id));
    Ok(())
}

fn told(sentence: &str) {
    eprintln!("gpuprof: {sentence}");
}

fn list(baselines: &Baselines, format: MessageFormat, out: &mut impl Write) -> Result<()> {
    let all = baselines.all();
    if all.is_empty() && format == MessageFormat::Human {
        told("there are no baselines; make one with --save-baseline NAME");
    }
    for kept in all {
        let line = match document::read(&kept.path) {
            Ok(run) => line(&kept.name, &kept.path, kept.checked_in, &run, format),
            Err(failure) => match format {
                MessageFormat::Human => format!("{}  {failure}", kept.name),
                MessageFormat::Json => serde_json::json!({
                    "reason": "baseline", "name": kept.name, "path": kept.path, "error": failure.message,
                })
                .to_string(),
            },
        };
        writeln!(out, "{line}").map_err(|e| stdout(&e))?;
    }
    Ok(())
}

fn line(name: &str, path: &Utf8Path, checked_in: bool, run: &Run, format: MessageFormat) -> String {
    let device = run.provenance.device.as_ref().map(|device| device.name.as_str());
    let revision = run.provenance.git_revision.as_deref();
    match format {
        MessageFormat::Human => {
            let place = if checked_in { "in git" } else { "in the target folder" };
            let short = revision.map_or("", |revision| revision.get(..12).unwrap_or(revision));
            format!(
                "{name}  {place}  {}  {short}  {}  {}",
                run.provenance.started,
                device.unwrap_or("no device"),
                report::summary_line(run),
            )
        }
        MessageFormat::Json => serde_json::json!({
            "reason": "baseline",
            "name": name,
            "path": path,
            "checked_in": checked_in,
            "run": run.id,
            "started": run.provenance.started,
            "git_revision": revision,
            "device": device,
        })
        .to_string(),
    }
}
