//! Which hardware counters a run needs, and whether this machine gives them.
//!
//! Input: the columns, sections and thresholds of the checked series. Output: a plan with its
//! passes, or the reason why counters are `unavailable`, which every metric that needs one then
//! carries. A requested name that no metric of the chip has is refused before anything runs; a name
//! that only a section contains is left out with a note.

pub(in crate::commands) mod collector;
pub(in crate::commands) mod conflicts;
pub(in crate::commands) mod missing;
pub(in crate::commands) mod over_time;
pub(in crate::commands) mod source_counters;

mod advised;
mod by_record;
mod refused;

use std::borrow::Cow;
use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::failure::Denial;
use gpuprof_model::measurement::DeviceRecord;
use gpuprof_model::metric::{Catalogue, DIVERGENT_BRANCHES, is_patched};
use gpuprof_model::protocol::{CounterPlan, CounterPlanRequest, CounterProblem, Replay, WITHHELD};

use crate::commands::run::prepare::inputs::Inputs;
use crate::commands::settings::Settings;
use gpuprof_analysis::metrics::replay::Discipline;
use gpuprof_analysis::view::View;
use gpuprof_build::harnesses::Harness;
use gpuprof_engine::cupti::{self, Answer, Cost, Question};
use gpuprof_engine::device::shared_profiler;
use gpuprof_engine::discover::{self, NoPlan};
use gpuprof_engine::execute::HarnessProcess;
use gpuprof_engine::plan::Checked;
use gpuprof_engine::schedule::Counters;
use gpuprof_engine::store::plans::{Depends, Plans};
use gpuprof_system::error::{Failure, Result};
use refused::{too_many, with_nearest};

/// What is known of counters before the run.
#[derive(Debug)]
pub(in crate::commands) enum CounterSetup {
    /// No metric asked for needs one.
    NotNeeded,
    /// They will be collected.
    Planned(Box<Planned>),
    /// These would be needed and cannot be had.
    Unavailable(Vec<String>, Denial),
}

/// Counters that will be collected.
#[derive(Debug)]
pub(in crate::commands) struct Planned {
    /// How.
    pub(super) counters: Counters,
    /// Metrics without a value, each with the reason: metrics of sections that the chip lacks, and
    /// metrics that the device withholds.
    pub(super) left_out: Vec<(String, String)>,
    /// The metrics that the device withholds.
    withheld: Vec<String>,
    /// The cost of each, if it was requested and is known.
    pub(super) cost: Option<Cost>,
    /// The plan's key among the kept ones.
    pub(super) key: String,
}

impl CounterSetup {
    /// The collection of counters, if there is one.
    pub(super) fn counters(&self) -> Option<&Counters> {
        match self {
            Self::Planned(planned) => Some(&planned.counters),
            Self::NotNeeded | Self::Unavailable(..) => None,
        }
    }

    /// The counters that the machine denied and the reason: before the run, or as a pass
    /// `found_out`.
    pub(super) fn denied<'a>(
        &'a self,
        found_out: Option<&'a Denial>,
    ) -> Option<(Vec<String>, &'a str)> {
        match self {
            Self::NotNeeded => None,
            Self::Planned(planned) => {
                let all = || planned.counters.metrics().chain(&planned.withheld).cloned().collect();
                let withheld = || (planned.withheld.clone(), WITHHELD);
                match found_out {
                    Some(denial) => Some((all(), &*denial.reason)),
                    None => (!planned.withheld.is_empty()).then(withheld),
                }
            }
            Self::Unavailable(names, denial) => Some((names.clone(), &denial.reason)),
        }
    }

    /// The counters that will have no value, each with the reason.
    pub(super) fn without_value(&self) -> Vec<(&str, &str)> {
        match self {
            Self::NotNeeded => Vec::new(),
            Self::Planned(planned) => {
                planned.left_out.iter().map(|(name, reason)| (&**name, &**reason)).collect()
            }
            Self::Unavailable(names, denial) => {
                names.iter().map(|name| (&**name, &*denial.reason)).collect()
            }
        }
    }
}

/// How far passes may differ.
pub(super) fn discipline(settings: &Settings) -> Discipline {
    Discipline {
        matching: settings.app_replay_match.value.into(),
        strictness: settings.app_replay_mode.value.into(),
    }
}

/// What is known of a device before the run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'a> {
    /// The device.
    pub(super) device: &'a DeviceRecord,
    /// The chip, as CUPTI calls it.
    pub(super) chip: Option<&'a str>,
    /// CUPTI's plans of earlier runs.
    pub(super) plans: &'a Plans,
    /// The metrics that are known, by the formulas of the chip.
    pub(super) catalogue: &'a Catalogue,
}

/// Plans the counters of `checked` on a device.
///
/// # Errors
/// Metrics that the chip does not have or that cannot be combined, or more passes than
/// `--max-passes` (exit code 2); a harness that cannot be asked (exit code 104).
pub(super) fn plan(
    checked: &[Checked],
    inputs: &Inputs,
    dry_run: bool,
    known: Known<'_>,
    process: &HarnessProcess<'_>,
) -> Result<CounterSetup> {
    let written = written(checked, &inputs.view.view, &known.device.name);
    let names = needed(known.catalogue, checked, &written);
    let otherwise = advised::otherwise(known.catalogue, checked, &names.0);
    let setup = planned((&written, names), inputs, dry_run, known, process)?;
    if let (CounterSetup::Planned(planned), true) = (&setup, inputs.settings.advice.value) {
        let cupti = inputs.settings.cupti_path(&inputs.source.root());
        let without = match otherwise.as_slice() {
            [] => Some(0),
            all => cost(cupti.as_deref(), known.chip, all, false)?.map(|cost| cost.passes),
        };
        inputs.notes().say(advised::cost(&planned.counters, &otherwise, without));
    }
    if let (CounterSetup::Unavailable(..), Some(chip)) = (&setup, known.chip) {
        by_record::check(known.catalogue, &written, Some(chip))?;
    }
    Ok(setup)
}

/// As [`plan`], for the `written` metrics and the PerfWorks names that they and sections need.
/// Without CUPTI, names are not checked.
fn planned(
    (written, (asked, sections)): (&BTreeSet<&str>, (BTreeSet<String>, BTreeSet<String>)),
    inputs: &Inputs,
    dry_run: bool,
    known: Known<'_>,
    process: &HarnessProcess<'_>,
) -> Result<CounterSetup> {
    let Inputs { settings, source, .. } = inputs;
    let (harness, max_passes) = (&source.harnesses[0], &settings.max_passes);
    let cupti = settings.cupti_path(&source.root());
    let (cupti, chip) = (cupti.as_deref(), known.chip);
    let mut metrics: Vec<String> = asked.union(&sections).cloned().collect();
    if metrics.is_empty() {
        return Ok(CounterSetup::NotNeeded);
    }
    let Some(replay) = settings.replay_mode.value.replay() else {
        let denial = Denial::other("--replay-mode none collects no counters");
        return Ok(CounterSetup::Unavailable(metrics, denial));
    };
    let cost = match dry_run || !sections.is_empty() {
        true => cost(cupti, chip, &metrics, dry_run)?,
        false => None,
    };
    let refused = cost.iter().flat_map(|cost| &cost.refused);
    let mut left_out: Vec<(String, String)> =
        refused.filter(|(name, _)| !asked.contains(name)).cloned().collect();
    metrics.retain(|name| left_out.iter().all(|(other, _)| other != name));
    if metrics.is_empty() {
        let denial = Denial::other("the chip has none of the sections' counters");
        return Ok(CounterSetup::Unavailable(sections.into_iter().collect(), denial));
    }
    let (config_folder, cupti_path) = (process.folder.into(), cupti.map(Into::into));
    let request = CounterPlanRequest { cupti: cupti_path, metrics: metrics.clone(), config_folder };
    let device = (&*known.device.name, &*known.device.uuid, known.device.driver_version);
    let key = Depends { device, cupti, metrics: &metrics }.key();
    let plan = match asked_or_kept(&known, (&key, dry_run), process, harness, request) {
        Ok(plan) => plan,
        Err(NoPlan::Harness(failure)) => return Err(failure),
        Err(NoPlan::Counters(CounterProblem::Metrics { reason, refused })) => {
            let message = with_nearest(known.catalogue, (reason, &refused), cupti, chip, written)?;
            return Err(Failure::usage(message));
        }
        Err(NoPlan::Counters(CounterProblem::Machine(denial))) => {
            // The plan of an earlier run, which a dry run does not use: the next run gets the
            // answer before it starts.
            known.plans.forget(&key);
            return Ok(CounterSetup::Unavailable(metrics, denial));
        }
    };
    let passes = plan.groups.iter().map(|group| group.passes).sum();
    if max_passes.value.is_some_and(|most| passes > most.get()) {
        let each = self::cost(cupti, chip, &metrics, true)?;
        return Err(too_many(known.catalogue, passes, max_passes, each.as_ref(), written));
    }
    let (withheld, counters) = (plan.withheld.clone(), collected_by(plan, replay, settings)?);
    left_out.extend(withheld.iter().map(|name| (name.clone(), WITHHELD.to_owned())));
    Ok(CounterSetup::Planned(Box::new(Planned { counters, left_out, withheld, cost, key })))
}

/// Refuses written metrics with counters that no chip has. The emulated driver counts for no
/// particular GPU.
///
/// # Errors
/// There are some (exit code 2).
pub(super) fn check_names(checked: &[Checked], view: &View, catalogue: &Catalogue) -> Result<()> {
    let columns = checked.iter().flat_map(|c| &c.columns).map(String::as_str);
    let thresholds = checked.iter().flat_map(|c| &c.thresholds);
    let judged = thresholds.map(|placed| placed.threshold.metric.as_str());
    by_record::check(catalogue, &columns.chain(judged).chain(view.names()).collect(), None)
}

/// How the counters of `plan` are collected.
fn collected_by(plan: CounterPlan, replay: Replay, settings: &Settings) -> Result<Counters> {
    Ok(Counters {
        cupti: Utf8PathBuf::from_path_buf(plan.cupti)
            .map_err(|path| Failure::usage(format!("{} is not UTF-8", path.display())))?,
        chip: plan.chip,
        groups: plan.groups,
        replay,
        discipline: discipline(settings),
    })
}

/// The plan that an earlier run kept under `key`, or the harness's answer to `request`.
fn asked_or_kept(
    known: &Known<'_>,
    (key, dry_run): (&str, bool),
    process: &HarnessProcess<'_>,
    harness: &Harness,
    request: CounterPlanRequest,
) -> std::result::Result<CounterPlan, NoPlan> {
    // A dry run must show the real behaviour: it tries.
    let kept = if dry_run { None } else { known.plans.find(key, process.folder) };
    if let Some(plan) = kept {
        return Ok(plan);
    }
    // It opens a session.
    let _profiler =
        shared_profiler::take(known.device, process.interrupt).map_err(NoPlan::Harness)?;
    discover::plan_counters(process, harness, request).inspect(|plan| known.plans.keep(key, plan))
}

/// The metrics in columns, the view and the thresholds that apply to `device`. A metric for another
/// device costs no pass here, and need not be known here.
fn written<'c>(checked: &'c [Checked], view: &'c View, device: &str) -> BTreeSet<&'c str> {
    let columns = checked.iter().flat_map(|c| &c.columns).map(String::as_str);
    let thresholds = checked.iter().flat_map(|c| &c.thresholds).map(|placed| &placed.threshold);
    let judged = thresholds.filter(|t| t.applies_to_device(device)).map(|t| t.metric.as_str());
    columns.chain(judged).chain(view.names()).collect()
}

/// The PerfWorks names that `written` metrics need, and the names that sections need.
fn needed(
    catalogue: &Catalogue,
    checked: &[Checked],
    written: &BTreeSet<&str>,
) -> (BTreeSet<String>, BTreeSet<String>) {
    let counters = |names: &mut dyn Iterator<Item = &str>| -> BTreeSet<String> {
        let metrics = names.filter_map(|name| catalogue.find(name));
        metrics.flat_map(|metric| catalogue.hardware_names(&metric)).map(Cow::into_owned).collect()
    };
    let mut in_sections = checked.iter().flat_map(Checked::in_sections).map(String::as_str);
    let mut asked = counters(&mut written.iter().copied());
    let sections = counters(&mut in_sections);
    // It says whether patching may have moved the others, and costs no further pass.
    if asked.union(&sections).any(|name| is_patched(name)) {
        asked.insert(DIVERGENT_BRANCHES.to_owned());
    }
    (asked, sections)
}

/// The cost of the counters on `chip`; none if it is unknown here, and the harness will say why.
fn cost(
    cupti: Option<&Utf8Path>,
    chip: Option<&str>,
    names: &[String],
    each: bool,
) -> Result<Option<Cost>> {
    let Some(chip) = chip else { return Ok(None) };
    let question = Question::Cost { chip: chip.to_owned(), names: names.to_vec(), each };
    Ok(match cupti::ask(cupti, question)? {
        Answer::Cost(cost) => Some(cost),
        _ => None,
    })
}
