//! Whether slices belong to one plan and were measured in the same way.
//!
//! Input: slices. Output: nothing, or the first thing in which two of them differ, in words: what
//! differs is two measurements, which `compare` is for.

use std::collections::BTreeMap;

use gpuprof_model::ExitCode;
use gpuprof_model::measurement::{DeviceRecord, MIG_PREFIX};

use crate::store::journal::{Difference, RunIdentity, Values};
use crate::store::slices::StoredSlice;
use gpuprof_system::error::{Failure, Result};

/// Refuses `slices` of different plans, or with different conditions.
///
/// # Errors
/// The first difference (exit code 2).
pub(super) fn check(slices: &[StoredSlice]) -> Result<()> {
    let Some(first) = slices.first() else { return Ok(()) };
    for other in &slices[1..] {
        if let Some(what) = plan(first, other) {
            return Err(refused(
                first,
                other,
                &what,
                "merge one plan at a time by naming its folder",
            ));
        }
    }
    let made = |slice: &StoredSlice| slice.manifest.made.is_some();
    let Some(first) = slices.iter().find(|slice| made(slice)) else { return Ok(()) };
    for other in slices.iter().filter(|slice| made(slice)) {
        if let Some(what) = device(first.device(), other.device()) {
            let remedy = "measure each model in an array and a --slices folder of its own, and \
                          compare the runs with `compare --across-devices`";
            return Err(refused(first, other, &what, remedy));
        }
        let both = first.manifest.made.as_ref().zip(other.manifest.made.as_ref());
        if let Some(what) = both.and_then(|(one, two)| conditions(one, two)) {
            let remedy = "two measurements are two runs, which `compare` is for";
            return Err(refused(first, other, &what, remedy));
        }
    }
    kernels(slices)
}

fn refused(one: &StoredSlice, two: &StoredSlice, what: &str, remedy: &str) -> Failure {
    Failure::usage(format!(
        "these slices cannot be merged: they differ in {what}\n  {}\n  {}\n{remedy}",
        one.folder, two.folder
    ))
}

fn plan(one: &StoredSlice, two: &StoredSlice) -> Option<String> {
    let (one, two) = (&one.manifest, &two.manifest);
    if one.plan_hash == two.plan_hash {
        return None;
    }
    Some(one.plan.difference(&two.plan).unwrap_or_else(|| "the plan".to_owned()))
}

/// The first condition in which two slices differ, with both values.
fn conditions(one: &RunIdentity, two: &RunIdentity) -> Option<String> {
    let difference = one.differences(two).into_iter().find(separates_slices)?;
    let Values { before, now } = difference.values()?;
    Some(format!("{difference}: `{before}` and `{now}`"))
}

/// Whether slices with this difference are two measurements. The plan or another check names most
/// of the others; the rest follows from the series and metrics of each slice.
fn separates_slices(difference: &Difference) -> bool {
    match difference {
        Difference::Backend(_)
        | Difference::CacheControl(_)
        | Difference::ClockControl(_)
        | Difference::Repeat(_) => true,
        // A slice with metrics that need no counters has no mode.
        Difference::ReplayMode(Values { before, now }) => before.is_some() && now.is_some(),
        Difference::Kernels
        | Difference::Configurations
        | Difference::Base
        | Difference::Baseline(_)
        | Difference::Devices
        | Difference::Driver
        | Difference::Chips(_)
        | Difference::Harnesses
        | Difference::Order
        | Difference::Quick
        | Difference::Counters(_)
        | Difference::CounterRange(_)
        | Difference::Nvtx(_)
        | Difference::Checks
        | Difference::Thresholds
        | Difference::Metrics
        | Difference::Strict
        | Difference::ToolVersion
        | Difference::Collection { .. } => false,
    }
}

/// The difference between the devices of two slices that are not of one model.
fn device(one: Option<&DeviceRecord>, two: Option<&DeviceRecord>) -> Option<String> {
    let (Some(one), Some(two)) = (one, two) else {
        let name = |device: Option<&DeviceRecord>| match device {
            Some(device) => device.name.clone(),
            None => "the emulated driver".to_owned(),
        };
        let same = one.is_none() && two.is_none();
        return (!same).then(|| format!("the device: {} and {}", name(one), name(two)));
    };
    let difference = |what: &str, one: String, two: String| {
        (one != two).then(|| format!("{what}: {one} and {two}"))
    };
    let capability = |device: &DeviceRecord| {
        let (major, minor) = device.compute_capability;
        format!("{major}.{minor}")
    };
    let instance = |device: &DeviceRecord| match device.uuid.starts_with(MIG_PREFIX) {
        true => "a MIG instance".to_owned(),
        false => "a whole GPU".to_owned(),
    };
    let sharing = |device: &DeviceRecord| match device.virtual_gpu {
        Some(true) => "a virtual GPU".to_owned(),
        Some(false) | None => "no virtual GPU".to_owned(),
    };
    difference("the model of the device", one.name.clone(), two.name.clone())
        .or_else(|| difference("the compute capability", capability(one), capability(two)))
        .or_else(|| {
            difference("the multiprocessors", one.sm_count.to_string(), two.sm_count.to_string())
        })
        .or_else(|| difference("the L2 cache", one.l2_bytes.to_string(), two.l2_bytes.to_string()))
        .or_else(|| {
            difference("the driver", one.driver_version.to_string(), two.driver_version.to_string())
        })
        .or_else(|| difference("the device", instance(one), instance(two)))
        .or_else(|| difference("the device", sharing(one), sharing(two)))
}

/// Refuses two kernels of one package. A slice has only those of its series.
fn kernels(slices: &[StoredSlice]) -> Result<()> {
    let mut known: BTreeMap<(bool, &str), (&StoredSlice, &str)> = BTreeMap::new();
    for slice in slices {
        let Some(made) = &slice.manifest.made else { continue };
        let of_base = made.base.iter().flat_map(|base| &base.kernels).map(|kernel| (true, kernel));
        let all = made.kernels.iter().map(|kernel| (false, kernel)).chain(of_base);
        for (side, (package, hash)) in all {
            let (first, before) = *known.entry((side, package)).or_insert((slice, hash));
            if before != hash {
                let subject = format!("the kernels (their PTX) of package `{package}`");
                let remedy = "two binaries are two runs, which `compare` is for";
                return Err(refused(first, slice, &subject, remedy));
            }
        }
    }
    Ok(())
}

/// Refuses a slice with a journal that another slice wrote: its results would count as those of its
/// manifest.
///
/// # Errors
/// There is one (exit code 2).
pub(super) fn journals(slices: &[StoredSlice]) -> Result<()> {
    for slice in slices {
        let difference = match (&slice.manifest.made, &slice.found.made) {
            (Some(planned), Some(found)) => match planned.models(found) {
                Some(_) => "the model of the device".to_owned(),
                None => match planned.difference(found) {
                    Some(difference) => difference.to_string(),
                    None => continue,
                },
            },
            (_, None) if slice.found.rows.is_empty() => continue,
            _ => "what was measured".to_owned(),
        };
        return Err(Failure::usage(format!(
            "{}: its journal.jsonl is not that of its manifest.json: they differ in {difference}; put \
             back the two files that were written together, or measure slice {} again",
            slice.folder, slice.manifest.slice
        )));
    }
    Ok(())
}

/// Refuses a configuration that two slices have: the cuts were made by hand.
///
/// # Errors
/// There is one (exit code 2).
pub(super) fn disjoint(slices: &[StoredSlice]) -> Result<()> {
    let mut known: BTreeMap<(usize, usize), &StoredSlice> = BTreeMap::new();
    for slice in slices {
        for own in &slice.manifest.own {
            for (&at, configuration) in own.positions.iter().zip(&own.configurations) {
                let Some(other) = known.insert((own.position, at), slice) else { continue };
                let id = &own.description.id;
                return Err(Failure::new(
                    ExitCode::Usage,
                    format!(
                        "these slices cannot be merged: both have {id}/{configuration}\n  {}\n  {}",
                        other.folder, slice.folder
                    ),
                ));
            }
        }
    }
    Ok(())
}
