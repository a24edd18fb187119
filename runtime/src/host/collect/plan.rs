//! The plan for counters: the passes for collecting them on this device, and the unavailable ones.
//!
//! Input: PerfWorks names. Output: groups with their config images, after a trial session. Counters
//! of the chip that this device withholds (a MIG instance, the units that it shares with others)
//! are distinguished from counters that no such chip has.

use std::error::Error as StdError;
use std::fs;

use cudarc::driver::CudaContext;
use gpuprof_cupti::host::{ConfigProblem, Group, MetricProblem};
use gpuprof_cupti::target::{PassStart, RangeMode, Replay};
use gpuprof_cupti::{Host, HostApi, Session, SessionOptions, Target, locate};
use gpuprof_model::failure::{Denial, MetricRefusal, RefusedMetric};
use gpuprof_model::metric::counts_nvlink;
use gpuprof_model::protocol::{
    CounterGroup, CounterPlan, CounterPlanRequest, CounterProblem, WITHHELD,
};

use crate::host::driver::uuid;
use crate::host::error::{self, Error};

/// Plans the passes for the counters, after a trial session, and writes their config image.
///
/// # Errors
/// Metrics the chip does not have, or a machine that does not give counters.
pub(crate) fn plan(request: &CounterPlanRequest) -> Result<CounterPlan, CounterProblem> {
    let location = locate(request.cupti.as_deref()).map_err(machine)?;
    let api = HostApi::load(&location).map_err(machine)?;
    let target = Target::initialize(api).map_err(machine)?;
    let context = CudaContext::new(0).map_err(|e| other(error::describe(e)))?;
    let support = target.device_supported(&context).map_err(machine)?;
    if let Some((part, _, code)) = support.obstacles().first() {
        let advice = code.advice();
        let reason =
            format!("{part}: {}; check: {}; remedy: {}", advice.cause, advice.check, advice.remedy);
        return Err(CounterProblem::Machine(Denial { kind: error::denial_of(*code), reason }));
    }
    let chip = target.chip_name(0).map_err(machine)?;
    let availability = target.counter_availability(&context).map_err(machine)?;
    let host = Host::new(api, &chip, Some(&availability)).map_err(machine)?;
    let whole = || Host::new(api, &chip, None).map_err(machine);
    let is_slice = uuid::is_slice(&context.name().map_err(machine)?);
    let (links, others) = match is_slice {
        true => (Vec::new(), request.metrics.clone()),
        false => split_links(&host, &request.metrics),
    };
    let (mut groups, withheld) = match others.is_empty() {
        true => (Vec::new(), Vec::new()),
        false => find_available(&host, whole, &others)?,
    };
    if !links.is_empty() {
        groups.extend(whole()?.groups(&links).map_err(refusal)?);
    }
    let first = groups.first().ok_or_else(|| other("no counters were asked for"))?;
    let trial = SessionOptions {
        config: first.config.clone(),
        metrics: first.metrics.clone(),
        counter_data: None,
        max_ranges: 1,
        nesting_levels: 1,
        replay: Replay::Application,
        range: RangeMode::Auto,
        pass: PassStart::default(),
    };
    drop(Session::open(&target, &context, trial).map_err(machine)?);
    let kept = groups.into_iter().enumerate().map(|(position, group)| {
        let config_image = request.config_folder.join(format!("counters-{position}.config"));
        fs::write(&config_image, group.config)?;
        let passes = u32::try_from(group.passes)?;
        Ok(CounterGroup { metrics: group.metrics, config_image, passes })
    });
    Ok(CounterPlan {
        cupti: location.path().to_owned(),
        cupti_version: location.version().to_string(),
        chip,
        groups: kept.collect::<Result<_, Error>>().map_err(|e| other(e.to_string()))?,
        withheld,
    })
}

fn machine(error: impl StdError + 'static) -> CounterProblem {
    CounterProblem::Machine(error::denial(&error))
}

fn other(reason: impl Into<String>) -> CounterProblem {
    CounterProblem::Machine(Denial::other(reason))
}

/// The counters of NVLink among `names` that `host` refuses because of its device, and all others:
/// CUPTI 13.0 leaves NVLink out of the image of counters that an H200 has, and yet counts it.
fn split_links(host: &Host, names: &[String]) -> (Vec<String>, Vec<String>) {
    let (links, others): (Vec<String>, _) =
        names.iter().cloned().partition(|name| counts_nvlink(name));
    match links.is_empty() || host.config_image(&links).is_ok() {
        true => (Vec::new(), names.to_vec()),
        false => (links, others),
    }
}

fn refusal(problem: ConfigProblem) -> CounterProblem {
    match problem {
        ConfigProblem::Failed(failure) => machine(failure),
        problem => {
            CounterProblem::Metrics { reason: problem.to_string(), refused: refused_of(&problem) }
        }
    }
}

/// The groups of those of `names` that the device of `host` gives, and the others that its chip
/// has; `whole` knows the chip without the device.
fn find_available(
    host: &Host,
    whole: impl FnOnce() -> Result<Host, CounterProblem>,
    names: &[String],
) -> Result<(Vec<Group>, Vec<String>), CounterProblem> {
    let problem = match host.groups(names) {
        Ok(groups) => return Ok((groups, Vec::new())),
        Err(problem) => problem,
    };
    let refused: Vec<&String> = match &problem {
        ConfigProblem::NotCollectable { names, .. } => names.iter().collect(),
        ConfigProblem::Invalid { names } => names.iter().map(|(name, _)| name).collect(),
        _ => return Err(refusal(problem)),
    };
    let whole = whole()?;
    if refused.iter().any(|name| whole.config_image(&[name]).is_err()) {
        return Err(refusal(problem));
    }
    let withheld: Vec<String> = refused.into_iter().cloned().collect();
    let rest: Vec<&String> = names.iter().filter(|name| !withheld.contains(name)).collect();
    if rest.is_empty() {
        return Err(other(format!("{}: {WITHHELD}", withheld.join(", "))));
    }
    Ok((host.groups(&rest).map_err(refusal)?, withheld))
}

/// The single metrics that are at fault.
fn refused_of(problem: &ConfigProblem) -> Vec<RefusedMetric> {
    let ConfigProblem::Invalid { names } = problem else { return Vec::new() };
    let refused = |(_, problem): &(String, MetricProblem)| {
        let kind = match problem {
            MetricProblem::UnknownBase { .. } => MetricRefusal::UnknownMetric,
            _ => MetricRefusal::WrongRollup,
        };
        Some(RefusedMetric { base: problem.base()?.to_owned(), kind })
    };
    names.iter().filter_map(refused).collect()
}
