//! `history`: keeps metrics, revision by revision, and shows their changes.
//!
//! Input: a stored run, or the history's file. Output: lines appended to that file, or the
//! timelines in it on standard output. Lines that cannot be read are named on standard error.

use std::collections::BTreeMap;
use std::io::Write;

use camino::Utf8Path;
use gpuprof_analysis::history::timelines;
use gpuprof_analysis::view::columns;
use gpuprof_model::expression::Type;
use gpuprof_model::history::{BadLine, Conditions, Entry, Revision, SCHEMA_VERSION, Value};
use gpuprof_model::measurement::Source;
use gpuprof_model::metric::Class;
use gpuprof_model::run::{MetricResult, Run, SeriesResult, Status};
use gpuprof_model::{AxisValue, Configuration, ExitCode, Filters};
use jiff::Timestamp;

use super::StandardOutput;
use super::stored::places;
use crate::options::{AddOptions, HistoryAction, HistoryFormat, HistoryOptions, ShowOptions};
use gpuprof_build::revision::Repository;
use gpuprof_engine::store::{document, history};
use gpuprof_report::{history as report, history_page};
use gpuprof_system::console;
use gpuprof_system::error::{Failure, Result};

/// The most bad lines that are named one by one.
const NAMED: usize = 10;

/// The significant digits that are kept of a noisy value: more are noise, and cost bytes.
const DIGITS: usize = 7;

/// Appends a run to a history, or shows one.
///
/// # Errors
/// No such run or history; a run of a tree with changes; nothing to keep or to show; output that
/// cannot be written.
pub fn history(options: &HistoryOptions, on: StandardOutput, out: &mut impl Write) -> Result<()> {
    let (root, target) = places(&options.place);
    let kept = || match root.as_str() {
        "." => history::IN_WORKSPACE.into(),
        _ => root.join(history::IN_WORKSPACE),
    };
    let file = options.file.clone().unwrap_or_else(kept);
    match &options.action {
        HistoryAction::Add(add) => append(&root, &target, &file, add),
        HistoryAction::Show(show) => {
            let shown = render_history(&file, show, on)?;
            out.write_all(shown.as_bytes()).map_err(Failure::standard_output)
        }
    }
}

fn append(root: &Utf8Path, target: &Utf8Path, file: &Utf8Path, add: &AddOptions) -> Result<()> {
    let run = document::find(target, &add.run)?;
    let revision = revision(root, run.provenance.git_revision.as_deref());
    if revision.as_ref().is_some_and(|revision| revision.dirty) && !add.allow_dirty {
        return Err(Failure::usage(format!(
            "run {} measured a tree with changes that are in no commit, so no revision could be \
             named; commit and measure again, or keep it as a point of its own with --allow-dirty",
            run.id
        )));
    }
    if revision.is_none() {
        console::warn(format_args!(
            "run {} knows no git revision; the history names it by its id",
            run.id
        ));
    }
    let entries = entries(&run, revision.as_ref(), &add.metrics);
    if entries.is_empty() {
        let asked = add.metrics.join(", ");
        return Err(Failure::new(
            ExitCode::NoSeries,
            match asked.is_empty() {
                true => format!("run {} has no value to keep", run.id),
                false => format!("run {} has no value of {asked}", run.id),
            },
        ));
    }
    let begun = !file.exists();
    if let Some(known) = history::read(file)? {
        warn_of(file, &known.bad);
    }
    let new = history::append(file, &entries)?;
    let there = match entries.len() - new {
        0 => String::new(),
        already => format!("; {already} were there already"),
    };
    console::say(format_args!("appended {new} lines of run {} to {file}{there}", run.id));
    if begun && let Some(line) = attribute(file) {
        console::say(format_args!(
            "put `{line}` into .gitattributes, so that two branches' histories merge"
        ));
    }
    Ok(())
}

/// The line of `.gitattributes` with which git merges `file` line by line, if the repository has no
/// such line.
fn attribute(file: &Utf8Path) -> Option<String> {
    let file = file.canonicalize_utf8().ok()?;
    let repository = Repository::find(file.parent()?).ok()?;
    let top = repository.toplevel.canonicalize_utf8().ok()?;
    let path = file.strip_prefix(&top).ok()?;
    let answer = repository.ask(&["check-attr", "merge", "--", path.as_str()])?;
    let value = answer.rsplit(": ").next();
    (value != Some("union")).then(|| format!("{path} merge=union"))
}

/// The revision that a run says it measured, with the date that the repository at `root` knows.
fn revision(root: &Utf8Path, described: Option<&str>) -> Option<Revision> {
    let described = described?;
    let (commit, dirty) = match described.strip_suffix("-dirty") {
        Some(commit) => (commit, true),
        None => (described, false),
    };
    let known = || {
        let repository = Repository::find(root).ok()?;
        let hash = format!("{commit}^{{commit}}");
        let seconds = repository.ask(&["show", "--no-patch", "--format=%ct", &hash])?;
        Timestamp::from_second(seconds.parse().ok()?).ok()
    };
    let hash = commit.len() >= 7 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    let date = if hash { known().map(|date| date.to_string()) } else { None };
    Some(Revision { commit: commit.to_owned(), date, dirty })
}

/// One entry for each series and metric of `run`: the named `metrics`, or by default the metrics
/// that are shown and judged.
fn entries(run: &Run, revision: Option<&Revision>, metrics: &[String]) -> Vec<Entry> {
    let of_series = |series| {
        let names = if metrics.is_empty() { kept(series) } else { metrics.to_vec() };
        let entry = move |name: &String| entry(run, revision, series, name);
        names.iter().filter_map(entry).collect::<Vec<_>>()
    };
    run.series.iter().flat_map(of_series).collect()
}

/// The metrics of `series` that are columns or judged, each once.
fn kept(series: &SeriesResult) -> Vec<String> {
    let mut names = columns::choose(&series.columns, &series.configurations);
    for name in series.judgements.iter().filter_map(|judgement| judgement.threshold.metric()) {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

fn entry(
    run: &Run,
    revision: Option<&Revision>,
    series: &SeriesResult,
    metric: &str,
) -> Option<Entry> {
    let rows = series.configurations.iter().filter(|row| row.status == Status::Finished);
    let found = rows.filter_map(|row| {
        let result = row.metrics.get(metric)?;
        Some((row.configuration.to_string(), result, value(result)?))
    });
    let found: Vec<(String, &MetricResult, Value)> = found.collect();
    let (_, first, _) = found.first()?;
    let provenance = &run.provenance;
    let device = provenance.device_of(&series.id);
    Some(Entry {
        schema: SCHEMA_VERSION,
        run: run.id.clone(),
        started: provenance.started.clone(),
        revision: revision.cloned(),
        conditions: Conditions {
            device: device.map(|device| device.name.clone()).unwrap_or_default(),
            backend: provenance.backend,
            cache_control: provenance.cache_control,
            clock_control: provenance.clock_control,
        },
        tool: provenance.tool_version.clone(),
        driver: device.map_or(0, |device| device.driver_version),
        toolchain: provenance.kernel_toolchain.clone(),
        series: series.id.to_string(),
        target: series.id.target_beside_key(),
        metric: metric.to_owned(),
        unit: first.unit,
        direction: first.direction,
        class: first.class,
        source: first.source,
        values: found
            .iter()
            .map(|(configuration, _, value)| (configuration.clone(), *value))
            .collect::<BTreeMap<_, _>>(),
    })
}

/// The value of `result`; none of an estimate, in which a new version of the model would look like
/// a change of the code.
fn value(result: &MetricResult) -> Option<Value> {
    if result.source == Source::Estimated {
        return None;
    }
    let value = result.value.as_ref().ok().copied().filter(|value| value.is_finite())?;
    let statistics = result.statistics.as_deref();
    let interval = statistics.and_then(|statistics| statistics.interval);
    let interval = interval.map(|mut interval| {
        interval.low = short(interval.low);
        interval.high = short(interval.high);
        interval
    });
    let value = if result.class == Class::Exact { value } else { short(value) };
    let processes = result.processes.len().max(1);
    Some(Value { value, interval, processes })
}

/// `value` with [`DIGITS`] significant digits.
fn short(value: f64) -> f64 {
    format!("{value:.*e}", DIGITS - 1).parse().unwrap_or(value)
}

/// The part of the history in `file` that `show` writes.
fn render_history(file: &Utf8Path, show: &ShowOptions, on: StandardOutput) -> Result<String> {
    let Some(known) = history::read(file)? else {
        return Err(Failure::usage(format!(
            "there is no history in {file}; `cargo gpuprof history add` begins one with the last \
             run"
        )));
    };
    warn_of(file, &known.bad);
    let filters = Filters::from(&show.filters);
    check_conditions(&filters, &known.entries)?;
    let keep = |entry: &Entry, configuration: &str| {
        let device = show.device.as_ref();
        takes(&filters, &entry.keys(), configuration)
            && (show.metrics.is_empty() || show.metrics.contains(&entry.metric))
            && device.is_none_or(|device| entry.conditions.device.contains(device.as_str()))
    };
    let last = show.last.map_or(usize::MAX, |last| usize::try_from(last).unwrap_or(usize::MAX));
    let timelines = timelines(&known.entries, keep, last);
    if timelines.is_empty() {
        return Err(Failure::new(
            ExitCode::NoSeries,
            format!("nothing in {file} matches; its lines: {}", known.entries.len()),
        ));
    }
    Ok(match show.format {
        HistoryFormat::Table => {
            report::table(&timelines, show.revisions, on.screen(show.color).colour)
        }
        HistoryFormat::Json => report::json(&timelines, &known.bad),
        HistoryFormat::Html => history_page(&timelines),
        HistoryFormat::Csv => report::csv(&timelines).map_err(Failure::standard_output)?,
    })
}

/// Refuses conditions of `filters` on axes that none of `entries` has.
///
/// # Errors
/// The place of the condition (exit code 2).
fn check_conditions(filters: &Filters, entries: &[Entry]) -> Result<()> {
    let points = entries.iter().flat_map(|entry| entry.values.keys()).map(|key| point_of(key));
    let points: Vec<Configuration> = points.collect();
    let axes: Vec<_> = points.iter().map(types).collect();
    filters.expressions.iter().try_for_each(|expression| {
        let checked = expression.check(&axes);
        checked.map_err(|e| Failure::usage(e.render("-E", expression.text())))
    })
}

/// Whether `filters` take a configuration of the series with `keys`; one in which a condition has
/// no value is shown.
fn takes(filters: &Filters, keys: &[String], configuration: &str) -> bool {
    let point = point_of(configuration);
    filters.take(keys, &types(&point), &point).unwrap_or(true)
}

fn types(point: &Configuration) -> Vec<(&str, Type)> {
    point.0.iter().map(|(axis, value)| (axis.as_str(), value.kind().into())).collect()
}

/// The configuration with this canonical text.
fn point_of(text: &str) -> Configuration {
    let value = |text: &str| {
        AxisValue::try_from(text.to_owned()).unwrap_or_else(|_| AxisValue::Word(text.to_owned()))
    };
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    Configuration(pairs.map(|(axis, text)| (axis.to_owned(), value(text))).collect())
}

fn warn_of(file: &Utf8Path, bad: &[BadLine]) {
    for BadLine { line, reason } in bad.iter().take(NAMED) {
        console::warn(format_args!("line {line} of {file} is left out: {reason}"));
    }
    if bad.len() > NAMED {
        let more = bad.len() - NAMED;
        console::warn(format_args!("{more} more lines of {file} are left out"));
    }
}
