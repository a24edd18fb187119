//! The baseline that a run is to become.
//!
//! Input: a judged run and its outcome. Output: a stored baseline, or the reason why it is not
//! kept. Invariant: a run that was asked to become a baseline and does not ends with an exit code
//! that is not 0.

use camino::Utf8Path;
use gpuprof_analysis::gate::outcome::RunOutcome;
use gpuprof_engine::store::baselines;
use gpuprof_model::ExitCode;
use gpuprof_model::run::{Run, Status};
use gpuprof_system::console::{self, Notes};
use gpuprof_system::error::Result;

/// A baseline that is to be written.
pub(in crate::commands) struct NewBaseline<'a> {
    name: &'a str,
    path: &'a Utf8Path,
    /// Why the run may not become it.
    obstacle: Option<String>,
}

impl<'a> NewBaseline<'a> {
    /// Decides whether `run`, which ends with `outcome`, may become the baseline `name` in `path`:
    /// a bad or incomplete run may not. `obstacle` is a reason that the caller knows.
    pub(in crate::commands) fn new(
        name: &'a str,
        path: &'a Utf8Path,
        run: &Run,
        outcome: RunOutcome,
        obstacle: Option<String>,
    ) -> Self {
        let obstacle = obstacle.or_else(|| {
            let (reason, accept) = find_obstacle(run, outcome)?;
            let remedy = format!("; `cargo gpuprof baseline accept {name}` keeps it anyway");
            Some(format!("{reason}{}", if accept { &remedy } else { "" }))
        });
        Self { name, path, obstacle }
    }

    /// `outcome`, or a worse one if the baseline is not kept.
    pub(in crate::commands) fn adjust(&self, outcome: RunOutcome) -> RunOutcome {
        match self.obstacle {
            Some(_) => outcome.or_worse(ExitCode::NotJudged),
            None => outcome,
        }
    }

    /// Writes `run`, or a note that says why it is not kept.
    ///
    /// # Errors
    /// The file cannot be written (exit code 110).
    pub(in crate::commands) fn write(&self, run: &Run, notes: Notes) -> Result<()> {
        let Self { name, path, obstacle } = self;
        if let Some(obstacle) = obstacle {
            console::say(format_args!("not kept as baseline `{name}`: {obstacle}"));
            return Ok(());
        }
        let lost = baselines::lost(path, run);
        baselines::write(path, run)?;
        notes.say(format_args!("kept as baseline `{name}` in {path}"));
        lost.iter().for_each(console::say);
        Ok(())
    }
}

/// Why `run` may not become a baseline, and whether `baseline accept` keeps it anyway.
fn find_obstacle(run: &Run, outcome: RunOutcome) -> Option<(&'static str, bool)> {
    let kept = |status: &Status| matches!(status, Status::Finished | Status::Invalid { .. });
    let mut rows = run.series.iter().flat_map(|series| &series.configurations);
    let RunOutcome { exit_code, judged: code, gate } = outcome;
    if !rows.all(|row| kept(&row.status)) {
        return Some(("not every configuration finished", false));
    }
    let reason = if code == ExitCode::ThresholdFailed {
        "a threshold failed"
    } else if code == ExitCode::NoSeries {
        "nothing of a series was measured"
    } else if gate.strict && code == ExitCode::NotJudged {
        "a threshold was not judged, which --strict does not accept"
    } else if exit_code == ExitCode::NotPossible {
        "thresholds need hardware counters, which could not be collected"
    } else if is_unstable(run) {
        "a time is unstable because the GPU was throttled, so no later run could be compared with \
         it; run again"
    } else {
        return None;
    };
    Some((reason, true))
}

/// Whether a duration is unstable.
fn is_unstable(run: &Run) -> bool {
    let mut rows = run.series.iter().flat_map(|series| &series.configurations);
    rows.any(|row| row.metrics.get("duration").is_some_and(|duration| duration.unstable))
}
