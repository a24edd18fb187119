//! Asks harnesses for their series, and the first of them whether a GPU answers.
//!
//! Input: harness executables. Output: the series of each, with their keys, which depend on all
//! harnesses of a package. A harness of another protocol version gets a different error than a
//! broken one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gpuprof_cupti::{Advice, Code};
use gpuprof_model::failure::Denial;
use gpuprof_model::protocol::{
    CounterPlan, CounterPlanRequest, CounterProblem, DriverProbe, ReplyBody, RequestBody,
    SeriesDescription,
};
use gpuprof_model::series::tell_apart;

use crate::execute::{Ended, HarnessProcess, failed, place, read_reply, unexpected};
use gpuprof_build::harnesses::Harness;
use gpuprof_system::error::{Failure, Result};

/// Why there is no plan for counters.
#[derive(Debug)]
pub enum NoPlan {
    /// The harness cannot be asked.
    Harness(Failure),
    /// It was asked, and counters cannot be collected.
    Counters(CounterProblem),
}

impl From<Failure> for NoPlan {
    fn from(failure: Failure) -> Self {
        Self::Harness(failure)
    }
}

fn ask(process: &HarnessProcess<'_>, harness: &Harness, body: RequestBody) -> Result<ReplyBody> {
    let place = place(harness);
    match process.ask(harness, body)? {
        Ended::Replied(bytes) => read_reply(&bytes, harness),
        Ended::Without { how, stderr, .. } => {
            Err(failed(format!("{place} could not list its series: it {how}{}", stderr.tail())))
        }
        Ended::TimedOut { seconds, stderr, .. } => Err(failed(format!(
            "{place} did not list its series within {seconds} s{}",
            stderr.tail()
        ))),
        Ended::Interrupted => Err(failed(format!("interrupted while asking {place}"))),
    }
}

/// The series of every harness, by its position. A series of a library that several harnesses of a
/// package link is listed in the first of them, unless `in_each` harness is asked for.
///
/// # Errors
/// A harness that cannot be asked (exit code 104).
pub fn series(
    process: &HarnessProcess<'_>,
    harnesses: &[Harness],
    in_each: bool,
) -> Result<BTreeMap<usize, Vec<SeriesDescription>>> {
    let mut all = BTreeMap::new();
    for (position, harness) in harnesses.iter().enumerate() {
        let described = match ask(process, harness, RequestBody::Describe)? {
            ReplyBody::Described(Ok(series)) => series,
            ReplyBody::Described(Err(problem)) => {
                return Err(failed(problem));
            }
            other => return Err(unexpected(harness, &other)),
        };
        all.insert(position, described);
    }
    if !in_each {
        list_once(&mut all);
    }
    tell_apart(all.values_mut().flatten().map(|series| &mut series.id));
    Ok(all)
}

/// Leaves each series of a library to the first harness of a package that lists it. Two harnesses
/// that include one file have two series: a path begins with its crate.
fn list_once(described: &mut BTreeMap<usize, Vec<SeriesDescription>>) {
    let mut listed = BTreeSet::new();
    for all in described.values_mut() {
        all.retain(|series| {
            let SeriesDescription { id, source_folder, file, line, path, .. } = series;
            let package = id.package.clone();
            let place = (package, source_folder.clone(), file.clone(), *line, path.clone());
            path.is_empty() || listed.insert(place)
        });
    }
}

/// Refuses a harness that another project built: cargo takes the executable of a package with the
/// same name and version in a shared target folder for its own.
///
/// # Errors
/// The folder of the other project (exit code 104).
pub fn refuse_foreign(
    harnesses: &[Harness],
    described: &BTreeMap<usize, Vec<SeriesDescription>>,
) -> Result<()> {
    for (position, all) in described {
        let harness = &harnesses[*position];
        let own = all.iter().filter(|series| series.source_package == harness.package);
        for series in own {
            let [here, there] =
                [harness.folder.as_std_path(), &series.source_folder].map(Path::canonicalize);
            let (Ok(here), Ok(there)) = (here, there) else { continue };
            if here != there {
                return Err(failed(format!(
                    "{} was built from {}, not from {}: both packages have the same name and share \
                     a target folder, and cargo takes one for the other; give each project a \
                     target folder of its own",
                    place(harness),
                    there.display(),
                    here.display()
                )));
            }
        }
    }
    Ok(())
}

/// Whether a GPU answers, asked in a process of `harness`.
///
/// # Errors
/// A harness that cannot be asked (exit code 104).
pub fn probe(process: &HarnessProcess<'_>, harness: &Harness) -> Result<DriverProbe> {
    match ask(process, harness, RequestBody::Probe)? {
        // A stand-in for a linked driver does not count as a driver.
        ReplyBody::Probed(DriverProbe::Devices(devices))
            if devices.iter().any(|device| device.emulated) =>
        {
            Ok(DriverProbe::Absent)
        }
        ReplyBody::Probed(probe) => Ok(probe),
        other => Err(unexpected(harness, &other)),
    }
}

/// Whether counters can be collected, asked in a process of `harness`. One that crashes over it is
/// a machine that does not give counters.
///
/// # Errors
/// A harness that cannot be asked (exit code 104); counters that cannot be collected.
pub fn plan_counters(
    process: &HarnessProcess<'_>,
    harness: &Harness,
    request: CounterPlanRequest,
) -> Result<CounterPlan, NoPlan> {
    let machine = |reason: String| NoPlan::Counters(CounterProblem::Machine(Denial::other(reason)));
    match process.ask(harness, RequestBody::PlanCounters(request))? {
        Ended::Replied(bytes) => match read_reply(&bytes, harness)? {
            ReplyBody::CountersPlanned(outcome) => outcome.map_err(NoPlan::Counters),
            other => Err(unexpected(harness, &other).into()),
        },
        Ended::Without { how, stderr, .. } => Err(machine(crashed(&how, &stderr.tail()))),
        Ended::TimedOut { seconds, .. } => Err(machine(silent(seconds))),
        Ended::Interrupted => Err(failed("interrupted while planning counters").into()),
    }
}

/// CUPTI ended the process that queried it; `tail` is the end of its stderr.
fn crashed(how: &str, tail: &str) -> String {
    format!(
        "the process that tried to set up CUPTI {how}{tail}\n  cause: a library that does not fit \
         the driver, or another tool in the process\n  check: cargo gpuprof doctor; env | grep -E \
         'LD_PRELOAD|CUDA_INJECTION'\n  remedy: try a version that matches the driver's CUDA major \
         version, with --cupti-path or GPUPROF_CUPTI"
    )
}

/// CUPTI did not answer: seen where another process held the profiler.
fn silent(seconds: u64) -> String {
    let Advice { check, remedy, .. } = Code::HardwareBusy.advice();
    format!(
        "CUPTI did not answer within {seconds} s\n  cause: probably another tool holds the GPU's \
         performance counters, which can make CUPTI hang\n  check: {check}\n  remedy: {remedy}"
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use camino::Utf8PathBuf;
    use gpuprof_model::Space;
    use gpuprof_model::series::SeriesId;

    use super::*;

    /// The series of the function `path` in the harness `target` of the package `p`.
    fn series(target: &str, path: &str) -> SeriesDescription {
        let kernel = path.rsplit("::").next().unwrap();
        SeriesDescription {
            id: SeriesId::new("p", target, kernel),
            source_package: "p".into(),
            source_folder: "/p".into(),
            file: "src/lib.rs".into(),
            line: 1,
            path: path.into(),
            docs: String::new(),
            space: Space::default(),
            old_ranges: Vec::new(),
            thresholds: Vec::new(),
            metrics: Vec::new(),
            check: None,
            device_function: true,
            declared: None,
            launches: BTreeSet::new(),
            declared_launches: Vec::new(),
        }
    }

    #[test]
    fn a_series_of_a_library_is_listed_by_the_first_harness_that_links_it() {
        let own = |target: &str| {
            let file = format!("benches/{target}.rs");
            SeriesDescription { file, ..series(target, &format!("{target}::own")) }
        };
        // One file, included by both: each crate has its own function.
        let included = |target: &str| SeriesDescription {
            file: "benches/common.rs".into(),
            ..series(target, &format!("{target}::common::shared"))
        };
        let of_library = |target: &str| series(target, "p::k");
        let other_package =
            SeriesDescription { id: SeriesId::new("q", "c", "k"), ..of_library("c") };
        let unknown = |target: &str| series(target, "");
        let of =
            |target: &str| vec![of_library(target), own(target), included(target), unknown(target)];
        let mut described = BTreeMap::from([(0, of("a")), (1, of("b")), (2, vec![other_package])]);
        list_once(&mut described);
        let paths: Vec<Vec<&str>> = described
            .values()
            .map(|all| all.iter().map(|series| &*series.path).collect())
            .collect();
        let first = vec!["p::k", "a::own", "a::common::shared", ""];
        assert_eq!(paths, [first, vec!["b::own", "b::common::shared", ""], vec!["p::k"]]);
    }

    #[test]
    fn a_harness_of_another_project_is_refused() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [own, other] = [folders[0].path(), folders[1].path()];
        let harness = Harness {
            package: "p".into(),
            target: "bench".into(),
            executable: "bench".into(),
            folder: Utf8PathBuf::from_path_buf(own.to_owned()).unwrap(),
            library_folders: Vec::new(),
            stand_in: None,
            oxide: None,
        };
        let built_from = |package: &str, folder: &Path| {
            let series = SeriesDescription {
                source_package: package.into(),
                source_folder: folder.to_owned(),
                ..series("bench", "p::k")
            };
            refuse_foreign(std::slice::from_ref(&harness), &[(0, vec![series])].into())
        };
        built_from("p", own).unwrap();
        built_from("dependency", other).unwrap();
        built_from("p", Path::new("/moved/away")).unwrap();
        let refused = built_from("p", other).unwrap_err().message;
        assert!(refused.contains(&format!("was built from {}", other.display())), "{refused}");
    }

    #[test]
    fn an_unresponsive_cupti_is_reported_with_check_and_remedy() {
        let silent = silent(60);
        assert!(silent.starts_with("CUPTI did not answer within 60 s\n  cause: "), "{silent}");
        assert!(silent.contains("\n  check: nvidia-smi"), "{silent}");
        assert!(silent.contains("\n  remedy: stop it, or pause DCGM's profiling"), "{silent}");
    }
}
