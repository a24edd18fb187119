//! Leaves: metrics that passes hold themselves, without a formula.
//!
//! Input: a catalogue entry and pass results. Output: its headline value over those passes, or
//! why there is none here; its source; and the samples behind it, by process.

use gpuprof_model::clock::STEP_NS;
use gpuprof_model::measurement::{Energy, HardwareValue, LaunchFacts, PassResult, Source, Timing};
use gpuprof_model::metric::{DEVICE_ATTRIBUTE, Metric, Origin, counterpart, part_of};
use gpuprof_model::quantity::format_number;
use gpuprof_model::unified_memory::UnifiedMemory;

use super::links;
use crate::stats::descriptive;

/// Why a closure that launches nothing has no counts.
pub const LAUNCHED_NOTHING: &str = "what is measured launched nothing";

/// The value of `metric` over `passes`: for timed values the median over processes of each process'
/// median, for exact values that of the first pass.
///
/// # Errors
/// Why there is none, in the words of the report.
pub(super) fn value(metric: &Metric, passes: &[PassResult]) -> Result<f64, String> {
    let Some(pass) = passes.first() else { return Err("no pass finished".to_owned()) };
    match &metric.origin {
        Origin::Time => timed(&metric.name, passes),
        Origin::Energy => energy(passes),
        Origin::Launch => match &pass.facts {
            Some(facts) => fact(&metric.name, facts, pass),
            None => by_extents(&metric.name, None, pass)
                .ok_or_else(|| "the launched function is not known".to_owned()),
        },
        Origin::Device => match metric.name.strip_prefix(DEVICE_ATTRIBUTE) {
            Some(name) => {
                let value = pass.device.attributes.get(name).map(|&value| signed(value));
                value.ok_or_else(|| "the driver has no attribute of this name".to_owned())
            }
            None => links::fact(&metric.name, &pass.device),
        },
        Origin::UnifiedMemory => migrated(&metric.name, pass),
        Origin::Declared => {
            if measure_part(passes) {
                return Err(format!(
                    "the closure has launches outside of the measured range, and the `{}` that the \
                     annotation declares are those of all of them",
                    metric.name
                ));
            }
            let declared =
                if metric.name == "flops" { pass.declared_flops } else { pass.declared_bytes };
            declared
                .map(count)
                .ok_or_else(|| format!("the annotation declares no `{}`", metric.name))
        }
        Origin::Emulator if pass.device.emulated => {
            pass.counters.get(&*metric.name).map(|&value| count(value)).ok_or_else(|| {
                match pass.hardware.get(&*metric.name) {
                    Some(HardwareValue::Unavailable(reason)) => {
                        format!("the emulator cannot count it as a GPU does: {reason}")
                    }
                    _ if pass.counters.is_empty() => LAUNCHED_NOTHING.to_owned(),
                    _ => "the emulator did not report it".to_owned(),
                }
            })
        }
        Origin::Instructions if pass.device.emulated => {
            Err("it counts the machine instructions of a GPU".to_owned())
        }
        Origin::Emulator | Origin::Instructions => hardware(&metric.name, pass),
        Origin::Hardware(name) => match links::without(name, &pass.device) {
            Some(reason) => Err(reason),
            None => hardware(name, pass),
        },
        Origin::Derived(_) => Err(format!("`{}` is derived", metric.name)),
        Origin::Recorded => {
            Err("it is a metric of a stored run, which nothing here defines".to_owned())
        }
    }
}

/// The source of a value of `metric` on a device that is `emulated` or not.
pub(super) fn source(metric: &Metric, emulated: bool) -> Source {
    match metric.origin {
        Origin::Declared => Source::Declared,
        Origin::Derived(_) => Source::Derived,
        _ if emulated => Source::Emulated,
        _ => Source::Measured,
    }
}

/// The samples of the timed metric `name`, by process; empty for every other metric.
pub(super) fn samples(name: &str, passes: &[PassResult]) -> Vec<Vec<f64>> {
    passes.iter().map(|pass| samples_of(name, pass)).collect()
}

fn samples_of(name: &str, pass: &PassResult) -> Vec<f64> {
    match (name, &pass.timing) {
        ("duration", Some(Timing { samples_ns, .. })) => samples_ns.clone(),
        ("sm_clock", Some(Timing { sm_clock_hz, .. })) => {
            sm_clock_hz.iter().flatten().copied().collect()
        }
        ("copy_bandwidth", _) => pass.copy_bandwidth.iter().map(|rate| rate.0).collect(),
        ("energy", _) => joules(pass).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// The step in which samples of the timed metric `name` are read; 0 for a continuum.
pub(super) fn step(name: &str) -> f64 {
    if name == "duration" { STEP_NS } else { 0.0 }
}

/// How finely the energy of a launch is known in the worst of `passes`.
pub(super) fn energy_resolution(passes: &[PassResult]) -> Option<f64> {
    let of_pass = |pass: &PassResult| match pass.energy {
        Some(Energy::Measured { resolution, .. }) => Some(resolution),
        Some(Energy::Unavailable(_)) | None => None,
    };
    passes.iter().filter_map(of_pass).reduce(f64::max)
}

fn joules(pass: &PassResult) -> Option<f64> {
    match pass.energy {
        Some(Energy::Measured { joules, .. }) => Some(joules),
        Some(Energy::Unavailable(_)) | None => None,
    }
}

/// Whether `passes` measure only a part of the launches of their closure.
fn measure_part(passes: &[PassResult]) -> bool {
    passes.iter().flat_map(|pass| &pass.launches).any(|launch| launch.outside)
}

fn energy(passes: &[PassResult]) -> Result<f64, String> {
    if passes.iter().any(|pass| pass.device.emulated) {
        return Err("it is read from a GPU, and the emulated driver uses none".to_owned());
    }
    if measure_part(passes) {
        return Err("the closure has launches outside of the measured range, and NVML counts the \
                    energy of all of them together"
            .to_owned());
    }
    let why = |pass: &PassResult| match &pass.energy {
        Some(Energy::Unavailable(reason)) => Some(reason.clone()),
        Some(Energy::Measured { .. }) | None => None,
    };
    if let Some(reason) = passes.iter().find_map(why) {
        return Err(reason);
    }
    descriptive::median_of_medians(&samples("energy", passes), 0.0)
        .ok_or_else(|| "it was not measured in this run; name it in --metrics".to_owned())
}

/// The migrations of managed memory in one call of the closure.
fn migrated(name: &str, pass: &PassResult) -> Result<f64, String> {
    let migrations = match &pass.unified_memory {
        Some(UnifiedMemory::Recorded(migrations)) => migrations,
        Some(UnifiedMemory::Unavailable(reason)) => return Err(reason.clone()),
        None if pass.device.emulated => {
            return Err("the emulated driver has no page faults and migrates nothing".to_owned());
        }
        None => {
            return Err("CUPTI records it of the closure of a series function, and did not here; \
                        name it in --metrics"
                .to_owned());
        }
    };
    let value = match name {
        "unified_bytes_to_device" => migrations.bytes_to_device,
        "unified_bytes_to_host" => migrations.bytes_to_host,
        "unified_bytes_between_devices" => migrations.bytes_between_devices,
        "unified_gpu_faults" => migrations.gpu_faults,
        "unified_cpu_faults" => migrations.cpu_faults,
        _ => return Err(format!("CUPTI records no `{name}`")),
    };
    Ok(count(value))
}

/// Why the timed metric `name` is unknown, if a device was unstable in one of the passes.
pub(super) fn unstable<'r>(name: &str, passes: &'r [PassResult]) -> Option<&'r str> {
    let timings = passes.iter().filter_map(|pass| pass.timing.as_ref());
    let reason = timings.filter_map(|timing| timing.unstable.as_deref()).next();
    reason.filter(|_| matches!(name, "duration" | "sm_clock"))
}

fn timed(name: &str, passes: &[PassResult]) -> Result<f64, String> {
    if let Some(pass) = passes.iter().find(|pass| pass.device.emulated) {
        let estimate = pass.estimate.as_ref().filter(|_| name == "duration");
        let duration = estimate.map(|estimate| estimate.duration_ns.0);
        return duration.ok_or_else(|| "no time was estimated".to_owned());
    }
    if let Some(reason) = unstable(name, passes) {
        return Err(reason.to_owned());
    }
    let samples = samples(name, passes);
    if samples.iter().flatten().any(|sample| !sample.is_finite() || *sample < 0.0) {
        return Err("a sample is not a finite, positive number".to_owned());
    }
    descriptive::median_of_medians(&samples, step(name)).ok_or_else(|| {
        match name {
            "sm_clock" => "no sample began and ended on the same SM, so the clock is unknown",
            "copy_bandwidth" => "no process measured it",
            _ => "no process took samples",
        }
        .to_owned()
    })
}

fn fact(name: &str, facts: &LaunchFacts, pass: &PassResult) -> Result<f64, String> {
    let emulated = pass.device.emulated;
    let known = match name {
        "registers" | "launch__registers_per_thread" => facts.registers.map(f64::from),
        "static_shared" | "launch__shared_mem_per_block_static" => {
            Some(f64::from(facts.static_shared_bytes))
        }
        "dynamic_shared" | "launch__shared_mem_per_block_dynamic" => {
            Some(f64::from(facts.dynamic_shared_bytes))
        }
        "local_memory" => Some(f64::from(facts.local_bytes)),
        "spills" => facts.spilled_bytes.map(f64::from),
        "fusable_fp32" => facts.fusable.map(|fusable| f64::from(fusable.fp32)),
        "fusable_fp64" => facts.fusable.map(|fusable| f64::from(fusable.fp64)),
        "theoretical_occupancy" | "sm__maximum_warps_per_active_cycle_pct" => {
            facts.theoretical_occupancy
        }
        "waves" | "launch__waves_per_multiprocessor" => facts.waves,
        "launch__cluster_max_active" => facts.max_active_clusters.map(f64::from),
        "launch__cluster_max_potential_size" => facts.max_cluster_size.map(f64::from),
        "launch__cluster_scheduling_policy" => facts.cluster_scheduling_policy.map(f64::from),
        "launch__occupancy_cluster_pct" => facts.cluster_occupancy,
        "launch__occupancy_cluster_gpu_pct" => {
            facts.theoretical_occupancy.filter(|_| facts.cluster_occupancy.is_some())
        }
        name => by_limits(name, facts).or_else(|| by_extents(name, Some(facts), pass)),
    };
    known.ok_or_else(|| match (name, emulated) {
        ("registers" | "launch__registers_per_thread", true) => {
            let unknown = "registers are assigned by ptxas, which the emulator does not run";
            facts.not_known.clone().unwrap_or_else(|| unknown.to_owned())
        }
        ("spills", _) => {
            let unknown = "spilled registers of this launch are unknown";
            facts.not_known.clone().unwrap_or_else(|| unknown.to_owned())
        }
        ("fusable_fp32" | "fusable_fp64", _) => {
            "only the PTX of an annotated kernel is read for it".to_owned()
        }
        (name, false) if name.starts_with("launch__occupancy_limit_") && facts.limits.is_some() => {
            "the block uses none of it, or the device does not limit it".to_owned()
        }
        (name, _) if name.contains("cluster") => "the launch has no clusters".to_owned(),
        _ if pass.launches.len() != 1 && name.contains("_dim_") => {
            format!("the range holds {} launches", pass.launches.len())
        }
        (_, true) => "it depends on registers, which the emulator does not assign".to_owned(),
        (_, false) => "the driver does not report it".to_owned(),
    })
}

/// How many blocks an SM could hold by each resource.
fn by_limits(name: &str, facts: &LaunchFacts) -> Option<f64> {
    let limits = facts.limits?;
    let known = match name {
        "launch__occupancy_limit_blocks" => Some(limits.blocks),
        "launch__occupancy_limit_registers" => limits.registers,
        "launch__occupancy_limit_shared_mem" => limits.shared_memory,
        "launch__occupancy_limit_warps" => Some(limits.warps),
        "launch__occupancy_limit_barriers" => limits.barriers,
        "launch__shared_mem_per_block_driver" => Some(limits.reserved_shared_bytes),
        "launch__shared_mem_per_block" => Some(
            limits.reserved_shared_bytes + facts.static_shared_bytes + facts.dynamic_shared_bytes,
        ),
        _ => None,
    };
    known.map(f64::from)
}

/// The schedulers of an SM, on every chip since Volta.
const SCHEDULERS: f64 = 4.0;

/// A value from grid and block, if there is one launch.
fn by_extents(name: &str, facts: Option<&LaunchFacts>, pass: &PassResult) -> Option<f64> {
    let [launch] = pass.launches.as_slice() else { return None };
    let product = |extent: [u32; 3]| extent.into_iter().map(f64::from).product::<f64>();
    let (blocks, threads) = (product(launch.grid), product(launch.block));
    match name {
        "launch__block_size" => Some(threads),
        "launch__grid_size" => Some(blocks),
        "launch__thread_count" => Some(blocks * threads),
        "launch__context_id" => launch.context.map(count),
        "launch__stream_id" => launch.stream.map(count),
        "launch__sm_count" => Some(f64::from(pass.device.sm_count)),
        "launch__block_dim_x" => Some(f64::from(launch.block[0])),
        "launch__block_dim_y" => Some(f64::from(launch.block[1])),
        "launch__block_dim_z" => Some(f64::from(launch.block[2])),
        "launch__grid_dim_x" => Some(f64::from(launch.grid[0])),
        "launch__grid_dim_y" => Some(f64::from(launch.grid[1])),
        "launch__grid_dim_z" => Some(f64::from(launch.grid[2])),
        "launch__cluster_dim_x" => Some(f64::from(facts?.cluster?[0])),
        "launch__cluster_dim_y" => Some(f64::from(facts?.cluster?[1])),
        "launch__cluster_dim_z" => Some(f64::from(facts?.cluster?[2])),
        "launch__cluster_size" => Some(product(facts?.cluster?)),
        "sm__maximum_warps_avg_per_active_cycle" => {
            Some(f64::from(facts?.blocks_per_sm?) * (threads / 32.0).ceil())
        }
        "smsp__maximum_warps_avg_per_active_cycle" => {
            let of_sm = by_extents("sm__maximum_warps_avg_per_active_cycle", facts, pass)?;
            Some(of_sm / SCHEDULERS)
        }
        _ => None,
    }
}

/// Why a share has no value: `part` and `whole` say what was counted of each.
pub(super) fn more_than_whole(part: &str, whole: &str) -> String {
    format!(
        "{part}, but {whole}, and it is a part of that: they were counted in different passes, \
         which differ"
    )
}

fn hardware(name: &str, pass: &PassResult) -> Result<f64, String> {
    match pass.hardware.get(name) {
        // The profiler's hit rate is of hits and accesses, which are counted in two passes.
        Some(HardwareValue::Value(rate)) if name.ends_with("hit_rate.pct") => {
            let rate_text = format!("`{name}` is {} %", format_number(*rate));
            part_of(*rate, 100.0).ok_or_else(|| more_than_whole(&rate_text, "the whole is 100 %"))
        }
        Some(HardwareValue::Value(value)) => Ok(*value),
        Some(HardwareValue::Unavailable(reason)) => Err(reason.clone()),
        None if name.starts_with("ptx__") => {
            Err("it is counted at PTX level, which only the emulator sees".to_owned())
        }
        None if pass.device.emulated => {
            let like = counterpart(name).map(|like| format!("; without a GPU, {like}"));
            Err(format!("it is a hardware counter, which needs a GPU{}", like.unwrap_or_default()))
        }
        None => Err("it was not collected in this run; name it in --metrics".to_owned()),
    }
}

/// A count as the number that formulas and limits use: exact below 2^53, rounded above.
#[expect(clippy::cast_precision_loss, reason = "documented: exact below 2^53")]
fn count(value: u64) -> f64 {
    value as f64
}

/// An attribute as the number that formulas and limits use: exact below 2^53, rounded above.
#[expect(clippy::cast_precision_loss, reason = "documented: exact below 2^53")]
fn signed(value: i64) -> f64 {
    value as f64
}
