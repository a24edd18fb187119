//! Which hardware counters a run needs, and whether this machine gives them.
//!
//! Comes in: the columns and thresholds of the checked series. Goes out: a plan with its passes, or the
//! reason why counters are `unavailable`, which every metric that needs one then carries. A name that
//! no metric of the chip has is refused before anything runs.

use std::collections::BTreeSet;

use camino::Utf8PathBuf;
use gpuprof_model::metric;
use gpuprof_model::protocol::{CounterPlanRequest, CounterProblem, Replay};

use super::Checked;
use crate::build::host::Harness;
use crate::cli::{ReplayMode, RunOptions};
use crate::compare::view::View;
use crate::discover;
use crate::error::{Failure, Result};
use crate::execute::{Counters, HarnessProcess};

/// What is known of counters before the run.
#[derive(Debug)]
pub(super) enum CounterSetup {
    /// No metric asked for needs one.
    NotNeeded,
    /// They will be collected.
    Planned(Counters),
    /// These would be needed and cannot be had, for this reason.
    Unavailable(Vec<String>, String),
}

/// Plans the counters of `checked`.
///
/// # Errors
/// Metrics that the chip does not have or that cannot be combined (exit code 2); a harness that cannot
/// be asked (exit code 104).
pub(super) fn plan(
    checked: &[Checked],
    view: &View,
    options: &RunOptions,
    process: &HarnessProcess<'_>,
    harness: &Harness,
) -> Result<CounterSetup> {
    let metrics = needed(checked, view);
    let replay = match options.replay_mode {
        _ if metrics.is_empty() => return Ok(CounterSetup::NotNeeded),
        ReplayMode::Application => Replay::Application,
        ReplayMode::Range => Replay::Range,
        ReplayMode::Kernel => Replay::Kernel,
        ReplayMode::None => {
            let reason = "--replay-mode none collects no counters".to_owned();
            return Ok(CounterSetup::Unavailable(metrics, reason));
        }
    };
    let config_image: Utf8PathBuf = process.folder.join("counters.config");
    let request = CounterPlanRequest {
        cupti: options.cupti_path.clone().map(Into::into),
        metrics: metrics.clone(),
        config_image: config_image.clone().into(),
    };
    match discover::plan_counters(process, harness, request)? {
        Ok(plan) => Ok(CounterSetup::Planned(Counters {
            cupti: Utf8PathBuf::from_path_buf(plan.cupti)
                .map_err(|path| Failure::usage(format!("{} is not UTF-8", path.display())))?,
            chip: plan.chip,
            metrics,
            config_image,
            replay,
            passes: plan.passes,
        })),
        Err(CounterProblem::Metrics(problem)) => Err(Failure::usage(problem)),
        Err(CounterProblem::Machine(reason)) => Ok(CounterSetup::Unavailable(metrics, reason)),
    }
}

/// The PerfWorks names that columns, thresholds and the view need, sorted.
fn needed(checked: &[Checked], view: &View) -> Vec<String> {
    let columns = checked.iter().flat_map(|c| c.columns.iter().map(String::as_str));
    let judged =
        checked.iter().flat_map(|c| c.thresholds.iter().map(|p| p.threshold.metric.as_str()));
    let names: BTreeSet<String> = columns
        .chain(judged)
        .chain(view.names())
        .filter_map(|name| metric::find(name))
        .flat_map(metric::hardware_names)
        .map(str::to_owned)
        .collect();
    names.into_iter().collect()
}
