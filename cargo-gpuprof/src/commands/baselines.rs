//! `baseline`: lists, shows, moves and replaces the runs that are kept by name.

use std::fs;
use std::io::Write;

use gpuprof_model::run::{Provenance, Run};

use super::stored::{places, write};
use super::table::{Listed, list};
use crate::options::{BaselineAction, BaselineOptions};
use gpuprof_analysis::view::View;
use gpuprof_engine::store::baselines::{self, Baselines, StoredBaseline, without_samples};
use gpuprof_engine::store::document;
use gpuprof_report as report;
use gpuprof_report::{Format, FormatSettings, Screen};
use gpuprof_system::console;
use gpuprof_system::error::{Failure, Result};

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
        BaselineAction::List { message_format } => {
            list(&baselines.all(), *message_format, screen, out)
        }
        BaselineAction::Show { name } => {
            let run = document::read(&kept(name)?.path)?;
            let how = (Format::Table, FormatSettings { screen, ..FormatSettings::default() });
            write(&run, &View::default(), how, out).map_err(Failure::standard_output)
        }
        BaselineAction::Rm { name } => {
            let path = kept(name)?.path;
            fs::remove_file(&path).map_err(Failure::writing(&path))?;
            console::say(format_args!("removed {path}"));
            Ok(())
        }
        BaselineAction::Export { name, file, samples } => {
            let run = document::read(&kept(name)?.path)?;
            baselines::write(file, &trimmed(run, *samples))?;
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
        fs::remove_file(&path).map_err(Failure::writing(&path))?;
        return keep(baselines, name, checked_in, run);
    }
    let lost = baselines::lost(&path, run);
    baselines::write(&path, run)?;
    console::say(format_args!("baseline `{name}` is run {} in {path}", run.id));
    lost.iter().chain(&baselines::unfinished(run)).for_each(console::say);
    Ok(())
}

impl Listed for StoredBaseline {
    const NONE: &'static str = "no baselines yet; make one with --save-baseline NAME";

    fn cells(&self) -> Vec<String> {
        let run = match document::read(&self.path) {
            Ok(run) => run,
            Err(failure) => return vec![self.name.clone(), failure.to_string()],
        };
        let place = if self.checked_in { "in git" } else { "in the target folder" };
        let Provenance { started, device, git_revision, .. } = &run.provenance;
        // Seconds distinguish runs; the fraction would only distract.
        let second = started.split('.').next().unwrap_or_default().replace('T', " ");
        let revision = git_revision.as_deref().unwrap_or("no revision");
        vec![
            self.name.clone(),
            place.to_owned(),
            format!("{} UTC", second.trim_end_matches('Z')),
            revision.chars().take(12).collect(),
            device.as_ref().map_or("no device", |device| &device.name).to_owned(),
            report::summary_line(&run),
        ]
    }

    fn json(&self) -> serde_json::Value {
        let Self { name, path, checked_in } = self;
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
}
