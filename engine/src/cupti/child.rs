//! The side of the child: reads the question, asks CUPTI or the driver, writes the answer.

use std::fs;
use std::path::Path;

use camino::Utf8Path;
use gpuprof_cupti::host::{MetricKind, MetricProblem};
use gpuprof_cupti::{Host, HostApi, driver, locate, trial};
use gpuprof_model::measurement::DeviceRecord;

use crate::device::nvml;

use super::{
    Answer, Cost, Described, Located, MetricCost, Question, Refusal, RefusalKind, Request, no_chip,
};

/// Answers the request in the file `request` into the file `reply`.
///
/// # Errors
/// Files that cannot be read or written; the parent sees to the rest.
pub fn run_child(request: &Path, reply: &Path) -> std::io::Result<()> {
    let Request { cupti, question } = serde_json::from_slice(&fs::read(request)?)?;
    let answer = answer(cupti.as_deref(), &question).unwrap_or_else(Answer::Refused);
    fs::write(reply, serde_json::to_vec(&answer)?)
}

fn text(error: impl ToString) -> Refusal {
    error.to_string().into()
}

/// CUPTI's word on a metric.
fn of_metric(problem: MetricProblem) -> Refusal {
    let kind = match problem {
        MetricProblem::UnknownBase { .. } => RefusalKind::UnknownMetric,
        _ => RefusalKind::Other,
    };
    Refusal { kind, reason: problem.to_string() }
}

fn answer(cupti: Option<&Utf8Path>, question: &Question) -> Result<Answer, Refusal> {
    if *question == Question::Driver {
        return devices();
    }
    if let Question::Characterize { sizes } = question {
        return gpuprof_characterize::measure(0, *sizes).map(Answer::Characterized).map_err(text);
    }
    if let Question::Nvml { library, uuid } = question {
        let library = nvml::Library::open(library.as_deref().map(Utf8Path::as_std_path))?;
        return Ok(Answer::Nvml(library.facts(uuid)?));
    }
    let location = locate(cupti.map(Utf8Path::as_std_path)).map_err(text)?;
    let api = || HostApi::load(&location).map_err(text);
    let host = |chip: &str| open(api()?, chip);
    match question {
        Question::Driver | Question::Characterize { .. } | Question::Nvml { .. } => {
            unreachable!("answered above")
        }
        Question::Locate => {
            api()?;
            Ok(Answer::Located(Located {
                path: location.path().to_owned(),
                version: location.version().to_string(),
                place: location.place().to_string(),
            }))
        }
        Question::Chips => api()?.chips().map(Answer::Chips).map_err(text),
        Question::Catalogue { chip } => catalogue(&host(chip)?).map(Answer::Catalogue),
        Question::Describe { chip, name } => describe(&host(chip)?, name),
        Question::Cost { chip, names, each } => Ok(Answer::Cost(cost(&host(chip)?, names, *each))),
        Question::Trial => {
            let chip = trial::open_a_session(api()?, 0).map_err(text)?;
            Ok(Answer::Trial { chip })
        }
    }
}

/// The chip's catalogue; chips are named in capitals.
fn open(api: HostApi, chip: &str) -> Result<Host, Refusal> {
    let chip = chip.to_uppercase();
    let known = api.chips().map_err(text)?;
    if !known.contains(&chip) {
        return Err(no_chip(&chip, &known).into());
    }
    Host::new(api, &chip, None).map_err(text)
}

fn catalogue(host: &Host) -> Result<Vec<Described>, Refusal> {
    let mut all = Vec::new();
    for kind in MetricKind::ALL {
        for name in host.base_metrics(kind).map_err(text)? {
            all.push(described(host, &name)?);
        }
    }
    Ok(all)
}

fn described(host: &Host, name: &str) -> Result<Described, Refusal> {
    let properties = host.properties(name).map_err(of_metric)?;
    Ok(Described {
        name: name.to_owned(),
        kind: properties.kind.to_string(),
        description: properties.description,
        hw_unit: properties.hw_unit,
        dim_unit: properties.dim_unit,
    })
}

fn describe(host: &Host, name: &str) -> Result<Answer, Refusal> {
    let submetrics = host.sub_metrics(name).map_err(of_metric)?;
    let metric = described(host, name)?;
    let passes = |name: &str| host.passes(&host.config_image(&[name]).ok()?).ok();
    let passes = match host.validate(name) {
        Ok(()) => passes(name),
        Err(problem @ MetricProblem::UnknownSubmetric { .. }) => return Err(of_metric(problem)),
        Err(_) => submetrics.iter().filter_map(|sub| passes(&format!("{name}{sub}"))).max(),
    };
    Ok(Answer::Described { metric, submetrics, passes })
}

fn cost(host: &Host, names: &[String], each: bool) -> Cost {
    let passes = |names: &[&str]| -> Result<usize, String> {
        match names {
            [] => Ok(0),
            names => {
                let groups = host.groups(names).map_err(|problem| problem.to_string())?;
                Ok(groups.iter().map(|group| group.passes).sum())
            }
        }
    };
    let mut cost = Cost::default();
    let mut kept: Vec<(&str, usize)> = Vec::new();
    for name in names {
        match passes(&[name]) {
            Ok(alone) => kept.push((name, alone)),
            Err(reason) => cost.refused.push((name.clone(), reason)),
        }
    }
    let all: Vec<&str> = kept.iter().map(|(name, _)| *name).collect();
    match passes(&all) {
        Ok(passes) => cost.passes = passes,
        Err(reason) => {
            cost.refused.extend(all.iter().map(|name| ((*name).to_owned(), reason.clone())));
            return cost;
        }
    }
    if !each {
        return cost;
    }
    for (index, &(name, alone)) in kept.iter().enumerate() {
        let mut rest = all.clone();
        rest.remove(index);
        let without = passes(&rest).unwrap_or(cost.passes);
        cost.each.push(MetricCost { name: name.to_owned(), alone, without });
    }
    cost
}

fn devices() -> Result<Answer, Refusal> {
    let found = match driver::probe_nvidia() {
        Err(absent @ driver::DriverProblem::NotInstalled { .. }) => {
            return Ok(Answer::NoDriver(absent.to_string()));
        }
        found => found.map_err(text)?,
    };
    let record = |device: driver::VisibleDevice| DeviceRecord {
        name: device.name,
        uuid: device.uuid,
        compute_capability: device.compute_capability,
        driver_version: found.version,
        ..DeviceRecord::default()
    };
    let shown = driver::visible_devices().map_err(text)?;
    Ok(Answer::Driver(shown.into_iter().map(record).collect()))
}
