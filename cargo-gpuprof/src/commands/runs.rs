//! `runs`: lists, shows and removes the runs below the target folder.
//!
//! Input: which runs. Output: a line each on standard output, and the folders gone. A run that is
//! under way is listed as such and never removed.

use std::io::Write;

use gpuprof_model::text::printable;
use jiff::Timestamp;
use serde_json::json;

use super::stored::{places, write};
use super::table::{Listed, list};
use crate::options::{MessageFormat, RemoveOptions, RunsAction, RunsOptions};
use gpuprof_analysis::view::View;
use gpuprof_engine::store::document;
use gpuprof_engine::store::run_name::named;
use gpuprof_engine::store::runs::{self, State, StoredRun};
use gpuprof_report::{Format, FormatSettings, Screen};
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::{console, json_text};

/// Lists, shows and removes runs.
///
/// # Errors
/// No such run; a running one to be removed; output that cannot be written.
pub fn runs(options: &RunsOptions, screen: Screen, out: &mut impl Write) -> Result<()> {
    let (_, target) = places(&options.place);
    match &options.action {
        RunsAction::List { message_format } => {
            list(&runs::all(&target), *message_format, screen, out)
        }
        RunsAction::Show { run, .. } => {
            let run = document::find(&target, run)?;
            let how = (Format::Table, FormatSettings { screen, ..FormatSettings::default() });
            write(&run, &View::default(), how, out).map_err(Failure::standard_output)
        }
        RunsAction::Rm(which) => {
            let chosen = chosen(runs::all(&target), which)?;
            remove(&chosen, which, out)
        }
    }
}

impl Listed for StoredRun {
    const NONE: &'static str = "no runs yet; `cargo gpuprof run` makes one";

    fn cells(&self) -> Vec<String> {
        let began = self.began().map(|began| began.strftime("%Y-%m-%d %H:%M:%S UTC").to_string());
        let head = [self.id.clone(), began.unwrap_or_default(), size(self.bytes)];
        let (ended, held) = match &self.state {
            State::UnderWay => ("under way".to_owned(), String::new()),
            State::Unfinished(None) => {
                let text = format!("to be continued by --resume {}", self.id);
                ("unfinished".to_owned(), text)
            }
            State::Unfinished(Some(reason)) => ("unreadable".to_owned(), printable(reason)),
            State::Ended(outline) => {
                let ended =
                    outline.exit_code.map_or("ended".to_owned(), |code| format!("exit {code}"));
                let plural = if outline.configurations == 1 { "" } else { "s" };
                let series_text = series(&outline.series);
                (
                    ended,
                    format!("{} configuration{plural} of {series_text}", outline.configurations),
                )
            }
        };
        head.into_iter().chain([ended, held]).collect()
    }

    fn json(&self) -> serde_json::Value {
        let state = match &self.state {
            State::UnderWay => "under-way",
            State::Unfinished(None) => "unfinished",
            State::Unfinished(Some(_)) => "unreadable",
            State::Ended(_) => "ended",
        };
        let Self { id, folder, bytes, .. } = self;
        let mut line = json!({
            "reason": "run", "id": id, "path": folder, "bytes": bytes, "state": state,
        });
        match &self.state {
            State::Unfinished(Some(error)) => line["error"] = json!(error),
            State::Ended(outline) => {
                line["started"] = json!(outline.started);
                line["series"] = json!(outline.series);
                line["configurations"] = json!(outline.configurations);
                line["exit_code"] = json!(outline.exit_code);
            }
            State::UnderWay | State::Unfinished(None) => {}
        }
        line
    }
}

/// The first series, and how many more.
fn series(all: &[String]) -> String {
    match all {
        [] => "no series".to_owned(),
        [one] => printable(one),
        [first, more @ ..] => format!("{} and {} more series", printable(first), more.len()),
    }
}

fn size(bytes: u64) -> String {
    let units = ["kB", "MB", "GB"];
    let mut size = (bytes as f64 / 1e3, units[0]);
    for unit in &units[1..] {
        if size.0 >= 1e3 {
            size = (size.0 / 1e3, unit);
        }
    }
    format!("{:.1} {}", size.0, size.1)
}

/// Those of `all` that `which` names.
///
/// # Errors
/// An id that is none, that is the beginning of several, or that of a run that is under way.
fn chosen(all: Vec<StoredRun>, which: &RemoveOptions) -> Result<Vec<StoredRun>> {
    if which.all {
        return Ok(all);
    }
    if let Some(age) = which.older_than {
        let limit = Timestamp::now().checked_sub(age.0).unwrap_or(Timestamp::MIN);
        let old = |run: &StoredRun| run.began().is_some_and(|began| began < limit);
        return Ok(all.into_iter().filter(old).collect());
    }
    let ids: Vec<String> = all.iter().map(|run| run.id.clone()).collect();
    let mut chosen: Vec<StoredRun> = Vec::new();
    for text in &which.runs {
        let id = named(&ids, text).map_err(|unnamed| {
            let refused = unnamed.failure("run", text);
            Failure::usage(format!("{}; nothing was removed", refused.message))
        })?;
        let Some(run) = all.iter().find(|run| run.id == id) else { continue };
        if run.state == State::UnderWay {
            return Err(Failure::usage(format!(
                "run {} is under way and is not removed; nothing was removed",
                run.id
            )));
        }
        if !chosen.contains(run) {
            chosen.push(run.clone());
        }
    }
    Ok(chosen)
}

fn remove(chosen: &[StoredRun], which: &RemoveOptions, out: &mut impl Write) -> Result<()> {
    let (mut count, mut bytes) = (0_usize, 0);
    for run in chosen {
        if run.remove() {
            (count, bytes) = (count + 1, bytes + run.bytes);
            if which.message_format == MessageFormat::Json {
                let line = json!({ "reason": "run-removed", "id": run.id, "bytes": run.bytes });
                json_text::line(out, &line).map_err(Failure::standard_output)?;
            }
        } else if run.state == State::UnderWay {
            console::say(format_args!("run {} is under way and stays", run.id));
        } else {
            let kept = std::io::Error::other("it is in use, or its folder cannot be changed");
            return Err(Failure::output(run.folder.as_std_path(), &kept));
        }
    }
    let plural = if count == 1 { "" } else { "s" };
    console::say(format_args!("removed {count} run{plural}, {}", size(bytes)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_a_unit() {
        assert_eq!(
            [0, 1500, 2_345_678, 7_000_000_000].map(size),
            ["0.0 kB", "1.5 kB", "2.3 MB", "7.0 GB"]
        );
    }
}
