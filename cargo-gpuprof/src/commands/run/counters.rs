//! Which hardware counters a run needs, and whether this machine gives them.
//!
//! Comes in: the columns, sections and thresholds of the checked series. Goes out: a plan with its passes, or
//! the reason why counters are `unavailable`, which every metric that needs one then carries. A name that was
//! asked for and that no metric of the chip has is refused before anything runs; one that only a section
//! holds is left out, and says why.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8PathBuf;
use gpuprof_model::measurement::DeviceRecord;
use gpuprof_model::metric::{self, Metric};
use gpuprof_model::protocol::{CounterPlanRequest, CounterProblem, Replay};

use super::Checked;
use crate::build::host::Harness;
use crate::cli::{ReplayMode, RunOptions};
use crate::compare::replay::Discipline;
use crate::compare::view::View;
use crate::cupti::{self, Answer, Cost, Question};
use crate::device::profiler;
use crate::discover;
use crate::error::{Failure, Result};
use crate::execute::{Counters, HarnessProcess};
use crate::store::plans::{Depends, Plans};

/// What is known of counters before the run.
#[derive(Debug)]
pub(super) enum CounterSetup {
    /// No metric asked for needs one.
    NotNeeded,
    /// They will be collected.
    Planned(Box<Planned>),
    /// These would be needed and cannot be had, for this reason.
    Unavailable(Vec<String>, String),
}

/// Counters that will be collected.
#[derive(Debug)]
pub(super) struct Planned {
    /// How.
    pub(super) counters: Counters,
    /// Those of sections that the chip does not have, each with the reason.
    pub(super) left_out: Vec<(String, String)>,
    /// What each costs, where it was asked and could be told.
    pub(super) cost: Option<Cost>,
    /// What the plan is called among the kept ones.
    pub(super) key: String,
}

impl CounterSetup {
    /// How counters are collected, where they are.
    pub(super) fn counters(&self) -> Option<&Counters> {
        match self {
            Self::Planned(planned) => Some(&planned.counters),
            Self::NotNeeded | Self::Unavailable(..) => None,
        }
    }

    /// The counters that the machine denied and why, where it did: before the run, or as a pass `found_out`.
    pub(super) fn denied<'a>(
        &'a self,
        found_out: Option<&'a str>,
    ) -> Option<(Vec<String>, &'a str)> {
        match self {
            Self::NotNeeded => None,
            Self::Planned(planned) => {
                Some((planned.counters.metrics().cloned().collect(), found_out?))
            }
            Self::Unavailable(names, reason) => Some((names.clone(), reason)),
        }
    }

    /// The counters that will have no value, each with the reason.
    pub(super) fn without_value(&self) -> Vec<(&str, &str)> {
        match self {
            Self::NotNeeded => Vec::new(),
            Self::Planned(planned) => {
                planned.left_out.iter().map(|(name, reason)| (&**name, &**reason)).collect()
            }
            Self::Unavailable(names, reason) => {
                names.iter().map(|name| (&**name, &**reason)).collect()
            }
        }
    }
}

/// How far passes may differ.
pub(super) fn discipline(options: &RunOptions) -> Discipline {
    Discipline { matching: options.app_replay_match, mode: options.app_replay_mode }
}

/// What is known of a device before the run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'a> {
    /// The device.
    pub(super) device: &'a DeviceRecord,
    /// The chip, as CUPTI calls it.
    pub(super) chip: Option<&'a str>,
    /// What earlier runs were told by CUPTI.
    pub(super) plans: &'a Plans,
}

/// Plans the counters of `checked` on a device.
///
/// # Errors
/// Metrics that the chip does not have or that cannot be combined, or more passes than `--max-passes` (exit
/// code 2); a harness that cannot be asked (exit code 104).
pub(super) fn plan(
    checked: &[Checked],
    view: &View,
    (options, max_passes): (&RunOptions, Option<u32>),
    known: Known<'_>,
    process: &HarnessProcess<'_>,
    harness: &Harness,
) -> Result<CounterSetup> {
    let chip = known.chip;
    let written = written(checked, view, &known.device.name);
    let (asked, sections) = needed(checked, &written);
    let mut metrics: Vec<String> = asked.union(&sections).cloned().collect();
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
    let cost = if options.dry_run || max_passes.is_some() || !sections.is_empty() {
        let each = options.dry_run || max_passes.is_some();
        cost(options, chip, &metrics, each)?
    } else {
        None
    };
    let refused = cost.iter().flat_map(|cost| &cost.refused);
    let left_out: Vec<(String, String)> =
        refused.filter(|(name, _)| !asked.contains(name)).cloned().collect();
    metrics.retain(|name| left_out.iter().all(|(other, _)| other != name));
    if metrics.is_empty() {
        let reason = "the chip has none of the sections' counters".to_owned();
        return Ok(CounterSetup::Unavailable(sections.into_iter().collect(), reason));
    }
    let request = CounterPlanRequest {
        cupti: options.cupti_path.clone().map(Into::into),
        metrics: metrics.clone(),
        config_folder: process.folder.into(),
    };
    let device = (&*known.device.name, &*known.device.uuid, known.device.driver_version);
    let key = Depends { device, cupti: options.cupti_path.as_deref(), metrics: &metrics }.key();
    // A dry run is asked what would happen: it tries.
    let kept = if options.dry_run { None } else { known.plans.find(&key, process.folder) };
    let answer = match kept {
        Some(plan) => Ok(plan),
        None => {
            // It opens a session.
            let _profiler = profiler::take(known.device, process.interrupt)?;
            discover::plan_counters(process, harness, request)?
                .inspect(|plan| known.plans.keep(&key, plan))
        }
    };
    let plan = match answer {
        Ok(plan) => plan,
        Err(CounterProblem::Metrics(problem)) => {
            return Err(Failure::usage(with_nearest(problem, options, chip, &written)?));
        }
        Err(CounterProblem::Machine(reason)) => {
            // That of an earlier run, which a dry run does not go by: the next run is told before it starts anything.
            known.plans.forget(&key);
            return Ok(CounterSetup::Unavailable(metrics, reason));
        }
    };
    let passes = plan.groups.iter().map(|group| group.passes).sum();
    if let Some(most) = max_passes.filter(|&most| passes > most) {
        return Err(too_many(passes, most, cost.as_ref()));
    }
    let counters = Counters {
        cupti: Utf8PathBuf::from_path_buf(plan.cupti)
            .map_err(|path| Failure::usage(format!("{} is not UTF-8", path.display())))?,
        chip: plan.chip,
        groups: plan.groups,
        replay,
        discipline: discipline(options),
    };
    Ok(CounterSetup::Planned(Box::new(Planned { counters, left_out, cost, key })))
}

/// The metrics that columns, the view and the thresholds name: of these, those that speak of `device`. What another
/// device must meet costs no pass here, and need not be known here.
fn written<'c>(checked: &'c [Checked], view: &'c View, device: &str) -> BTreeSet<&'c str> {
    let columns = checked.iter().flat_map(|c| &c.columns).map(String::as_str);
    let thresholds = checked.iter().flat_map(|c| &c.thresholds).map(|placed| &placed.threshold);
    let judged = thresholds.filter(|t| t.speaks_of(device)).map(|t| t.metric.as_str());
    columns.chain(judged).chain(view.names()).collect()
}

/// The PerfWorks names that `written` metrics need, and those that sections need.
fn needed(checked: &[Checked], written: &BTreeSet<&str>) -> (BTreeSet<String>, BTreeSet<String>) {
    fn counters<'n>(names: impl Iterator<Item = &'n str>) -> BTreeSet<String> {
        let metrics = names.filter_map(metric::find);
        metrics.flat_map(metric::hardware_names).map(str::to_owned).collect()
    }
    let in_sections = checked.iter().flat_map(Checked::in_sections).map(String::as_str);
    (counters(written.iter().copied()), counters(in_sections))
}

/// What the counters cost on `chip`; none where that cannot be told here, and the harness will say why.
fn cost(
    options: &RunOptions,
    chip: Option<&str>,
    names: &[String],
    each: bool,
) -> Result<Option<Cost>> {
    let Some(chip) = chip else { return Ok(None) };
    let question = Question::Cost { chip: chip.to_owned(), names: names.to_vec(), each };
    Ok(match cupti::ask(options.cupti_path.as_deref(), question)? {
        Ok(Answer::Cost(cost)) => Some(cost),
        _ => None,
    })
}

/// What is wrong with counters, with the nearest names that the chip has, and with the metrics that were `written` where
/// those have other names.
fn with_nearest(
    mut problem: String,
    options: &RunOptions,
    chip: Option<&str>,
    written: &BTreeSet<&str>,
) -> Result<String> {
    let Some(chip) = chip else { return Ok(problem) };
    let mut needed_for: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for metric in written.iter().copied().filter_map(metric::find) {
        for counter in metric::hardware_names(metric) {
            needed_for.entry(counter).or_default().push(metric.name);
        }
    }
    let told = problem.clone();
    for (counter, mut metrics) in needed_for {
        let base = counter.split('.').next().unwrap_or(counter);
        if !told.contains(&format!("`{base}`")) {
            continue;
        }
        let near = match told.contains(&format!("has no metric `{base}`")) {
            true => cupti::nearest(options.cupti_path.as_deref(), chip, counter)?,
            false => None,
        };
        metrics.retain(|name| *name != counter);
        let metrics: Vec<String> = metrics.iter().map(|name| format!("`{name}`")).collect();
        problem.push_str(&match (metrics.as_slice(), near) {
            ([], None) => continue,
            ([], Some(near)) => format!("\n`{base}`: {near}"),
            (_, None) => format!("\n`{base}` is needed for {}", metrics.join(", ")),
            (_, Some(near)) => format!("\n`{base}` is needed for {}: {near}", metrics.join(", ")),
        });
    }
    Ok(problem)
}

fn too_many(passes: u32, most: u32, cost: Option<&Cost>) -> Failure {
    let mut message = format!(
        "the counters need {passes} passes a configuration, and --max-passes allows {most}; nothing was started."
    );
    let dearest = cost.map(Cost::dearest).unwrap_or_default();
    for metric in dearest.iter().take(3) {
        message.push_str(&format!(
            "\n  without {}: {} passes{}",
            metric.name,
            metric.without,
            metrics_over(&metric.name)
        ));
    }
    message.push_str("\nAsk for fewer metrics, or raise the limit");
    Failure::usage(message)
}

/// " (for gld_efficiency)", where a shorter name stands for the counter.
fn metrics_over(counter: &str) -> String {
    let over = |m: &&Metric| m.name != counter && metric::hardware_names(m).contains(&counter);
    let found = metric::CATALOGUE.iter().find(over);
    found.map_or_else(String::new, |metric| format!(" (as in `{}`)", metric.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cupti::MetricCost;

    #[test]
    fn too_many_passes_are_refused_with_what_costs_most() {
        let each = |name: &str, without| MetricCost { name: name.into(), alone: 1, without };
        let cost = Cost {
            refused: Vec::new(),
            passes: 9,
            each: vec![
                each("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", 4),
                each("smsp__inst_executed.sum", 9),
            ],
        };
        assert_eq!(
            too_many(9, 5, Some(&cost)).message,
            "the counters need 9 passes a configuration, and --max-passes allows 5; nothing was started.\n  \
             without gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed: 4 passes (as in \
             `dram_throughput`)\nAsk for fewer metrics, or raise the limit"
        );
    }
}
