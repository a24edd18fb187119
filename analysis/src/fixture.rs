//! Hand-built passes and configurations for the tests of `compare` and `report`.

use std::collections::BTreeMap;

use gpuprof_model::assembled::Fusable;
use gpuprof_model::axis::{Axis, AxisValue};
use gpuprof_model::configuration::Configuration;
use gpuprof_model::estimate::{Estimate, Limit, LimitShare};
use gpuprof_model::history::{Conditions, Entry, Revision, Value};
use gpuprof_model::links::{DeviceLinks, LinkCapabilities, LinkEnd, NvLinks, PcieLink, Peer};
use gpuprof_model::machine::{Backend, CacheControl, ClockControl};
use gpuprof_model::measurement::{
    DeviceRecord, LaunchFacts, LaunchRecord, OccupancyLimiter, PassResult, Source, Timing,
};
use gpuprof_model::metric::{Catalogue, Class, Direction, Origin, built_in};
use gpuprof_model::quantity::Unit;
use gpuprof_model::run::{
    ConfigurationResult, MetricResult, Provenance, Run, SeriesResult, Status,
};
use gpuprof_model::series::SeriesId;
use gpuprof_model::threshold::Threshold;
use gpuprof_model::units::{BytesPerSecond, Nanoseconds};
use gpuprof_model::verdict::Judgement;

use crate::gate::budget::Budget;
use crate::gate::judge::{self, Baseline, JudgeContext};
use crate::metrics::collect::{self, unfinished};

/// Judges `threshold` as the only one of a run.
pub fn judge(
    catalogue: &Catalogue,
    threshold: &Threshold,
    origin: &str,
    rows: &[ConfigurationResult],
    device: Option<&DeviceRecord>,
    baseline: &Baseline<'_>,
) -> Judgement {
    let budget = &Budget::up_to(29, rows.len(), rows.len());
    judge::judge(
        JudgeContext { catalogue, device, budget, first_look: None },
        threshold,
        origin,
        rows,
        baseline,
    )
}

/// The configuration `block=BLOCK`.
pub fn block(block: u64) -> Configuration {
    Configuration(vec![("block".into(), AxisValue::Int(block))])
}

/// The configuration `block=BLOCK,n=N`.
pub fn point(block: u64, n: u64) -> Configuration {
    Configuration(vec![("block".into(), AxisValue::Int(block)), ("n".into(), AxisValue::Int(n))])
}

/// The result of a configuration, by the built-in catalogue.
pub fn finished(configuration: Configuration, passes: &[PassResult]) -> ConfigurationResult {
    collect::finished(configuration, passes, &collect::CollectContext::new(&Catalogue::built_in()))
}

/// A finished `block=BLOCK` with one metric of the catalogue.
pub fn row(at: u64, name: &str, value: Result<f64, &str>) -> ConfigurationResult {
    let metric = built_in(name).unwrap();
    let result = MetricResult {
        value: value.map_err(str::to_owned),
        unstable: false,
        unit: metric.unit,
        direction: metric.direction,
        direction_set: metric.direction_set.is_some(),
        class: metric.class,
        source: Source::Measured,
        interval: None,
        statistics: None,
        processes: Vec::new(),
        perturbation: None,
    };
    ConfigurationResult {
        metrics: [(name.to_owned(), result)].into(),
        ..unfinished(block(at), Status::Finished)
    }
}

/// A finished `block=BLOCK` with these measured values; names that no catalogue knows are counts.
pub fn measured(at: u64, values: &[(&str, f64)]) -> ConfigurationResult {
    let result = |&(name, value): &(&str, f64)| {
        let known = built_in(name);
        let result = MetricResult {
            value: Ok(value),
            unstable: false,
            unit: known.as_ref().map_or(Unit::Count, |metric| metric.unit),
            direction: known.as_ref().map_or(Direction::Neither, |metric| metric.direction),
            direction_set: false,
            class: known.map_or(Class::Noisy, |metric| metric.class),
            source: Source::Measured,
            interval: None,
            statistics: None,
            processes: Vec::new(),
            perturbation: None,
        };
        (name.to_owned(), result)
    };
    ConfigurationResult {
        metrics: values.iter().map(result).collect(),
        ..unfinished(block(at), Status::Finished)
    }
}

/// Finished configurations `block=0`, `block=1`, … with these values of one metric.
pub fn rows(name: &str, values: &[f64]) -> Vec<ConfigurationResult> {
    values.iter().zip(0..).map(|(&value, at)| row(at, name, Ok(value))).collect()
}

/// A failed `block=BLOCK`.
pub fn failed(at: u64) -> ConfigurationResult {
    unfinished(block(at), Status::Failed { reason: "exit status 3".into() })
}

/// A `block=BLOCK` with a refused launch.
pub fn invalid(at: u64) -> ConfigurationResult {
    let reason = format!("a block of {at} threads is above the 1024 that this device takes");
    unfinished(block(at), Status::Invalid { reason })
}

/// An H200.
pub fn h200() -> DeviceRecord {
    DeviceRecord {
        name: "NVIDIA H200".into(),
        uuid: "GPU-11111111-2222-3333-4444-555555555555".into(),
        compute_capability: (9, 0),
        sm_count: 132,
        l2_bytes: 60 << 20,
        dram_peak_bytes_per_second: Some(BytesPerSecond(4.8e12)),
        driver_version: 13000,
        emulated: false,
        virtual_gpu: None,
        links: None,
        attributes: BTreeMap::new(),
    }
}

/// The links of an H200 to a switch, next to another one; without atomics, to tell them apart.
pub fn h200_links() -> DeviceLinks {
    let can = LinkCapabilities { peer_access: true, system_access: true, ..Default::default() };
    let links = NvLinks {
        count: 18,
        version: Some("4.0".to_owned()),
        to: LinkEnd::Switch,
        address: None,
        bytes_per_second: Some(BytesPerSecond(26.562e9)),
        can,
    };
    let uuid = "GPU-66666666-7777-8888-9999-000000000000".to_owned();
    DeviceLinks {
        nvlinks: vec![links],
        most_nvlinks: 18,
        pcie: Some(PcieLink { generation: 5, width: 16, most_generation: 5, most_width: 16 }),
        peers: vec![Peer { device: 1, uuid, access: true, atomics: true }],
        unknown: None,
    }
}

/// An H200 with these links.
pub fn record_with(links: DeviceLinks) -> DeviceRecord {
    DeviceRecord { links: Some(links), ..h200() }
}

/// The emulated device.
pub fn gh100() -> DeviceRecord {
    DeviceRecord {
        name: "GH100".into(),
        uuid: String::new(),
        dram_peak_bytes_per_second: None,
        emulated: true,
        ..h200()
    }
}

/// One process of saxpy on an H200, with these durations in nanoseconds.
pub fn gpu_pass(block: u64, n: u64, samples_ns: &[f64]) -> PassResult {
    let block = u32::try_from(block).unwrap();
    PassResult {
        device: h200(),
        launches: vec![LaunchRecord {
            kernel: "saxpy".into(),
            grid: [u32::try_from(n).unwrap().div_ceil(block), 1, 1],
            block: [block, 1, 1],
            ..LaunchRecord::default()
        }],
        timing: Some(Timing {
            samples_ns: samples_ns.to_vec(),
            sm_clock_hz: samples_ns.iter().map(|_| Some(1.98e9)).collect(),
            warmup_steady: true,
            converged: true,
            flush_bytes: 120 << 20,
            ..Timing::default()
        }),
        facts: Some(LaunchFacts {
            registers: Some(16),
            static_shared_bytes: 0,
            dynamic_shared_bytes: 0,
            local_bytes: 0,
            blocks_per_sm: Some(2048 / block),
            theoretical_occupancy: Some(100.0),
            limiter: Some(OccupancyLimiter::Warps),
            waves: Some(f64::from(u32::try_from(n).unwrap()) / f64::from(2048 * 132)),
            limits: None,
            cluster: None,
            max_active_clusters: None,
            max_cluster_size: None,
            cluster_scheduling_policy: None,
            cluster_occupancy: None,
            spilled_bytes: Some(0),
            fusable: Some(Fusable::default()),
            not_known: None,
        }),
        declared_bytes: Some(12 * n),
        declared_flops: Some(2 * n),
        copy_bandwidth: Some(BytesPerSecond(4.0e12)),
        ..PassResult::default()
    }
}

/// One process of saxpy on the emulator.
pub fn emulated_pass(block: u64, n: u64) -> PassResult {
    let mut pass = PassResult {
        device: gh100(),
        timing: None,
        copy_bandwidth: None,
        ..gpu_pass(block, n, &[])
    };
    if let Some(facts) = &mut pass.facts {
        *facts = LaunchFacts {
            registers: None,
            blocks_per_sm: None,
            theoretical_occupancy: None,
            limiter: None,
            waves: None,
            ..facts.clone()
        };
    }
    let catalogue = Catalogue::built_in();
    let zeros = catalogue.own().filter(|metric| metric.origin == Origin::Emulator);
    pass.counters = zeros.map(|metric| (metric.name.to_string(), 0)).collect();
    let warps = n / 32;
    let counted: BTreeMap<&str, u64> = [
        ("smsp__warps_launched.sum", warps),
        ("ptx__inst_executed.sum", 21 * warps + n / block),
        ("ptx__thread_inst_executed.sum", 21 * n + n / block),
        ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", 2 * warps),
        ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", 8 * warps),
        ("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", warps),
        ("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", 4 * warps),
        ("smsp__sass_inst_executed_op_global_ld.sum", 2 * warps),
        ("smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum", 8 * warps),
        ("smsp__sass_inst_executed_op_global_st.sum", warps),
        ("smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum", 4 * warps),
        ("smsp__sass_data_bytes_mem_global_op_ld.sum", 8 * n),
        ("smsp__sass_data_bytes_mem_global_op_st.sum", 4 * n),
        ("ptx__branches.sum", warps),
        ("ptx__thread_inst_executed_op_ffma_pred_on.sum", n),
    ]
    .into();
    pass.counters.extend(counted.into_iter().map(|(name, value)| (name.to_owned(), value)));
    pass
}

/// saxpy on the emulator, with an estimate of its time that may be half or double.
pub fn estimated(block: u64, n: u64, duration_ns: f64) -> ConfigurationResult {
    let share = |limit, share| LimitShare { limit, share };
    let estimate = Estimate {
        duration_ns: Nanoseconds(duration_ns),
        low_ns: Nanoseconds(0.5 * duration_ns),
        high_ns: Nanoseconds(2.0 * duration_ns),
        limits: vec![share(Limit::Dram, 0.875), share(Limit::Latency, 0.25)],
        model: 1,
        chip: "H200".into(),
        characterised: true,
        registers_known: true,
        machine_code_known: true,
    };
    let pass = PassResult { estimate: Some(estimate), ..emulated_pass(block, n) };
    finished(point(block, n), &[pass])
}

/// saxpy on an H200 in one process.
pub fn gpu(block: u64, n: u64, samples_ns: &[f64]) -> ConfigurationResult {
    finished(point(block, n), &[gpu_pass(block, n, samples_ns)])
}

/// saxpy on the emulator.
pub fn emulated(block: u64, n: u64) -> ConfigurationResult {
    finished(point(block, n), &[emulated_pass(block, n)])
}

/// The series saxpy with these configurations and the default columns.
pub fn series(configurations: Vec<ConfigurationResult>) -> SeriesResult {
    let mut axes: Vec<Axis> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for (name, value) in configurations.iter().flat_map(|c| &c.configuration.0) {
        match axes.iter_mut().find(|axis| axis.name == *name) {
            _ if !seen.insert((name, value)) => {}
            Some(axis) => axis.values.push(value.clone()),
            None => axes.push(Axis { name: name.clone(), values: vec![value.clone()] }),
        }
    }
    SeriesResult {
        id: SeriesId::new("saxpy", "kernels", "saxpy"),
        file: "examples/saxpy/src/lib.rs".into(),
        line: 12,
        language: None,
        axes,
        dependent_axes: Vec::new(),
        columns: crate::view::columns::choose(&[], &configurations),
        sections: Vec::new(),
        configurations,
        thresholds: Vec::new(),
        judgements: Vec::new(),
        not_applicable: Vec::new(),
        changes: Vec::new(),
    }
}

/// A run of these series, of which nothing else is known.
pub fn run(id: &str, series: Vec<SeriesResult>) -> Run {
    Run::unjudged(id, Provenance::default(), series)
}

/// Why a time of [`held_and_slowed`] is unknown.
pub const SLOWED: &str = "the GPU was throttled by its temperature";

/// A pass of `block` over `n`; its time is unknown if `slowed`.
pub fn pass_slowed(block: u64, n: u64, slowed: bool) -> PassResult {
    let mut pass = gpu_pass(block, n, &[1000.0, 1010.0]);
    if let Some(timing) = pass.timing.as_mut().filter(|_| slowed) {
        timing.discarded = 64;
        timing.unstable = Some(SLOWED.to_owned());
    }
    pass
}

/// `block=64` held still; one of the two processes of `block=128` did not.
pub fn held_and_slowed(n: u64) -> Vec<ConfigurationResult> {
    let of = |block, second| {
        let passes = [pass_slowed(block, n, false), pass_slowed(block, n, second)];
        finished(point(block, n), &passes)
    };
    vec![of(64, false), of(128, true)]
}

/// A line of a history: the run of commit number `at`; its only configuration, with blocks of 64,
/// took `value` nanoseconds.
pub fn history_entry(at: u32, value: f64) -> Entry {
    let value = Value { value, interval: None, processes: 7 };
    Entry {
        schema: 1,
        run: format!("run-{at:03}"),
        started: format!("2026-01-01T{:02}:{:02}:30Z", at / 60, at % 60),
        revision: Some(Revision {
            commit: format!("c{at:03}"),
            date: Some(format!("2026-01-01T{:02}:{:02}:00Z", at / 60, at % 60)),
            dirty: false,
        }),
        conditions: Conditions {
            device: "NVIDIA H200".into(),
            backend: Backend::Cuda,
            cache_control: CacheControl::All,
            clock_control: ClockControl::None,
        },
        tool: "0.1.0".into(),
        driver: 13_000,
        toolchain: Some("rustc 1.95.0".into()),
        series: "saxpy::saxpy".into(),
        target: Some("kernels".into()),
        metric: "duration".into(),
        unit: Unit::Nanoseconds,
        direction: Direction::Lower,
        class: Class::Noisy,
        source: Source::Measured,
        values: [("block=64".to_owned(), value)].into(),
    }
}
