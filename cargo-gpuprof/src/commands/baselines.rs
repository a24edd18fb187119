//! `baseline`: lists, shows, moves and replaces the runs that are kept by name.

use std::fs;
use std::io::Write;

use gpuprof_model::run::{Provenance, Run};

use super::stored::{places, write};
use super::table::aligned;
use crate::options::{BaselineAction, BaselineOptions, MessageFormat};
use gpuprof_analysis::view::View;
use gpuprof_engine::store::baseline::{self, Baselines, StoredBaseline, without_samples};
use gpuprof_engine::store::document;
use gpuprof_report as report;
use gpuprof_report::{Format, FormatSettings, Screen};
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::printable_output::shown_within;
use gpuprof_system::{console, json_text};

/// Lists, shows, moves and replaces baselines.
///
/// # Errors
/// No such baseline, a file that is not a run, output that cannot be written.
pub fn baseline(options: &BaselineOptions, screen: Screen, out: &mut impl Write) -> Result<()> {
    let (root, target) = places(&options.place);
    let baselines = Baselines::new(&root, &target);
    let kept = |name: &str| {
        baselines.find(name).ok_or_else(|| Failure::usage(baselines.none_called(name)))
    };
    match &options.action {
        BaselineAction::List { message_format } => list(&baselines, (*message_format, screen), out),
        BaselineAction::Show { name } => {
            let run = document::read(&kept(name)?.path)?;
            let how = (Format::Table, FormatSettings { screen, ..FormatSettings::default() });
            write(&run, &View::default(), how, out).map_err(Failure::standard_output)
        }
        BaselineAction::Rm { name } => {
            let path = kept(name)?.path;
            fs::remove_file(&path).map_err(|e| Failure::output(path.as_std_path(), &e))?;
            console::say(format_args!("removed {path}"));
            Ok(())
        }
        BaselineAction::Export { name, file, samples } => {
            let run = document::read(&kept(name)?.path)?;
            baseline::write(file, &trimmed(run, *samples))?;
            console::say(format_args!("wrote {file}"));
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
        // Otherwise a second baseline of this name would stay in the target folder.
        fs::remove_file(&path).map_err(|e| Failure::output(path.as_std_path(), &e))?;
        return keep(baselines, name, checked_in, run);
    }
    let lost = baseline::lost(&path, run);
    baseline::write(&path, run)?;
    console::say(format_args!("baseline `{name}` is run {} in {path}", run.id));
    lost.iter().chain(&baseline::unfinished(run)).for_each(console::say);
    Ok(())
}

fn list(
    baselines: &Baselines,
    (format, screen): (MessageFormat, Screen),
    out: &mut impl Write,
) -> Result<()> {
    let all = baselines.all();
    let text = match format {
        MessageFormat::Json => {
            let line = |kept| json_text::line(out, &json(kept));
            return all.iter().try_for_each(line).map_err(Failure::standard_output);
        }
        MessageFormat::Human if all.is_empty() => {
            console::say("no baselines yet; make one with --save-baseline NAME");
            String::new()
        }
        MessageFormat::Human => aligned(&all.iter().map(human).collect::<Vec<_>>()),
    };
    shown_within(out, screen.width, |out| out.write_all(text.as_bytes()))
        .map_err(Failure::standard_output)
}

/// A baseline in the list; the last cell may be long.
fn human(kept: &StoredBaseline) -> Vec<String> {
    let run = match document::read(&kept.path) {
        Ok(run) => run,
        Err(failure) => return vec![kept.name.clone(), failure.to_string()],
    };
    let place = if kept.checked_in { "in git" } else { "in the target folder" };
    let Provenance { started, device, git_revision, .. } = &run.provenance;
    // Seconds distinguish runs; the fraction would only distract.
    let second = started.split('.').next().unwrap_or_default().replace('T', " ");
    let revision = git_revision.as_deref().unwrap_or("no revision");
    vec![
        kept.name.clone(),
        place.to_owned(),
        format!("{} UTC", second.trim_end_matches('Z')),
        revision.chars().take(12).collect(),
        device.as_ref().map_or("no device", |device| &device.name).to_owned(),
        report::summary_line(&run),
    ]
}

fn json(kept: &StoredBaseline) -> serde_json::Value {
    let StoredBaseline { name, path, checked_in } = kept;
    match document::read(path) {
        Ok(run) => serde_json::json!({
            "reason": "baseline",
            "name": name,
            "path": path,
            "checked_in": checked_in,
            "run": run.id,
            "started": run.provenance.started,
            "git_revision": run.provenance.git_revision,
            "device": run.provenance.device.map(|device| device.name),
        }),
        Err(failure) => serde_json::json!({
            "reason": "baseline", "name": name, "path": path, "error": failure.message,
        }),
    }
}
