//! GitHub annotations: workflow commands that put failures at the annotated kernel's line, or at
//! the line of the source that costs most.
//!
//! Input: a run. Output: one `::error`, `::warning` or `::notice` line each, the first for the run
//! as a whole; nothing for a threshold that passed.

use std::io::{self, Write};

use gpuprof_model::run::{Run, Status};
use gpuprof_model::verdict::{Verdict, Weight};

use gpuprof_analysis::gate::outcome::{RunOutcome, unmeasured};
use gpuprof_analysis::view::View;

use super::changes::no_finished;
use super::escaped::{github_message, github_property};
use super::judgement::in_full;
use super::source::FileLine;
use super::{Report, conclusion, on_device};

/// GitHub workflow commands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GithubAnnotations {
    /// The outcome of the run, if it is known.
    pub outcome: Option<RunOutcome>,
}

impl Report for GithubAnnotations {
    fn write_as(&self, _: &View, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        let is_gated = self.outcome.is_none_or(|outcome| outcome.gate.gated);
        let violated = if is_gated { "error" } else { "warning" };
        if let Some(told) = conclusion::conclude_ended(run, self.outcome) {
            let level = match told.weight {
                Weight::Fine => "notice",
                Weight::Bad => violated,
                Weight::Warning | Weight::Doubtful => "warning",
            };
            annotation(level, "", "cargo gpuprof", &told.lines().join("\n"), out)?;
        }
        for series in &run.series {
            let place = place_of(&series.file, series.line);
            for row in &series.configurations {
                if let Status::Failed { reason } | Status::Timeout { reason } = &row.status {
                    let title = format!("{} {}", series.id.name(), row.status.word());
                    let message = format!("{}{}: {reason}", row.configuration, on_device(row));
                    annotation("error", &place, &title, &message, out)?;
                }
            }
            if let Some(why) = unmeasured(series) {
                let title = format!("{} unmeasured", series.id.name());
                annotation("error", &place, &title, &why, out)?;
            }
            for judgement in &series.judgements {
                let level = match judgement.weight() {
                    Weight::Fine if judgement.verdict == Verdict::Improved => "notice",
                    Weight::Fine => continue,
                    Weight::Bad => violated,
                    Weight::Warning | Weight::Doubtful => "warning",
                };
                let title = format!("{} {}", series.id.name(), judgement.word());
                let message = format!("{}: {}", judgement.threshold, in_full(judgement));
                let costly = judgement.costly.as_ref().and_then(|costly| place_at(&costly.line));
                annotation(level, costly.as_ref().unwrap_or(&place), &title, &message, out)?;
            }
        }
        if let Some(comparison) = &run.comparison {
            for key in &comparison.vanished {
                let message = format!("{key} is in the baseline and not in this run");
                annotation("warning", "", "missing", &message, out)?;
            }
            for key in &comparison.unheld {
                let message = no_finished(&comparison.baseline, key);
                annotation("warning", "", "missing", &message, out)?;
            }
        }
        Ok(())
    }
}

/// The place at a `FILE:LINE` that begins in the repository.
fn place_at(line: &str) -> Option<String> {
    let FileLine { file, line } = FileLine::parse(line).ok()?;
    (!file.starts_with('/')).then(|| place_of(&file, line))
}

fn place_of(file: &str, line: u32) -> String {
    format!("file={},line={line},", github_property(file))
}

fn annotation(
    level: &str,
    place: &str,
    title: &str,
    message: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "::{level} {place}title={}::{}", github_property(title), github_message(message))
}
