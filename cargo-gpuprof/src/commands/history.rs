//! `history`: keeps metrics, revision by revision, and shows their changes.
//!
//! Input: a stored run, or the history's file. Output: lines appended to that file, or the
//! timelines in it on standard output. Lines that cannot be read are named on standard error.

use std::io::Write;

use camino::Utf8Path;
use gpuprof_analysis::history::{entries, timelines};
use gpuprof_model::history::{BadLine, Entry, Revision};
use gpuprof_model::{Configuration, ExitCode, Filters};
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
    let keys = entries.iter().flat_map(|entry| entry.values.keys());
    let points: Vec<Configuration> = keys.map(|key| Configuration::from_key(key)).collect();
    let axes: Vec<_> = points.iter().map(Configuration::types).collect();
    filters.expressions.iter().try_for_each(|expression| {
        let checked = expression.check(&axes);
        checked.map_err(|e| Failure::usage(e.render("-E", expression.text())))
    })
}

/// Whether `filters` take a configuration of the series with `keys`; one in which a condition has
/// no value is shown.
fn takes(filters: &Filters, keys: &[String], configuration: &str) -> bool {
    let point = Configuration::from_key(configuration);
    filters.take(keys, &point.types(), &point).unwrap_or(true)
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
