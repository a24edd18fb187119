use gpuprof_model::measurement::{Energy, HardwareValue, PassResult, Source};
use gpuprof_model::metric::{Class, Definition, Direction};
use gpuprof_model::quantity::Unit;
use gpuprof_model::run::{MetricResult, Status};
use gpuprof_model::threshold::Threshold;
use gpuprof_model::units::{BytesPerSecond, Nanoseconds};
use gpuprof_model::verdict::Verdict;

use super::*;
use crate::fixture::{emulated_pass, estimated, finished, gpu_pass, h200, judge, point};
use crate::gate::judge::Baseline;

const N: u64 = 1 << 20;

fn metric(passes: &[PassResult], name: &str) -> MetricResult {
    metrics(passes, &CollectContext::new(&Catalogue::built_in())).unwrap()[name].clone()
}

fn reason(passes: &[PassResult], name: &str) -> String {
    metric(passes, name).value.unwrap_err()
}

#[test]
fn every_metric_of_the_catalogue_has_an_entry() {
    for pass in [emulated_pass(64, N), gpu_pass(64, N, &[1.0])] {
        let catalogue = Catalogue::built_in();
        let all = metrics(&[pass], &CollectContext::new(&catalogue)).unwrap();
        assert_eq!(all.len(), catalogue.own().count());
        for (name, metric) in &all {
            assert!(
                metric.value.as_ref().is_ok_and(|v| v.is_finite()) || metric.value.is_err(),
                "{name}"
            );
        }
    }
}

#[test]
fn duration_is_the_median_of_the_processes_and_its_statistics_pool_them() {
    let passes = [
        gpu_pass(64, N, &[100.0, 100.0, 100.0]),
        gpu_pass(64, N, &[110.0, 120.0]),
        gpu_pass(64, N, &[200.0]),
    ];
    let duration = metric(&passes, "duration");
    assert_eq!(duration.value, Ok(115.0));
    let samples = duration.statistics.unwrap();
    assert_eq!((samples.count, samples.processes, samples.median), (6, 3, 105.0));
    assert_eq!((samples.min, samples.max, duration.source), (100.0, 200.0, Source::Measured));
}

#[test]
fn throughput_agrees_with_the_duration_shown_and_has_statistics_of_its_own() {
    let passes = [gpu_pass(64, N, &[1000.0, 2000.0]), gpu_pass(64, N, &[3000.0])];
    let bytes = 12.0 * 1_048_576.0;
    let throughput = metric(&passes, "throughput");
    assert_eq!(throughput.value, Ok(bytes / 2250.0 * 1e9));
    assert_eq!(throughput.source, Source::Derived);
    let samples = throughput.statistics.unwrap();
    assert_eq!((samples.min, samples.max), (bytes / 3000.0 * 1e9, bytes / 1000.0 * 1e9));
}

#[test]
fn the_share_of_the_copy_bandwidth_is_taken_within_each_process() {
    let with_copy = |duration, copy| PassResult {
        copy_bandwidth: Some(BytesPerSecond(copy)),
        ..gpu_pass(64, N, &[duration])
    };
    let bytes = 12.0 * 1_048_576.0;
    // The second process is twice as slow in everything: within a process nothing changes.
    let passes = [with_copy(bytes, 2e9), with_copy(2.0 * bytes, 1e9), with_copy(4.0 * bytes, 5e8)];
    assert_eq!(metric(&passes, "throughput_of_copy").value, Ok(50.0));
    let without = PassResult { copy_bandwidth: None, ..with_copy(bytes, 1.0) };
    assert_eq!(
        reason(&[without], "throughput_of_copy"),
        "needs `copy_bandwidth`: no process measured it"
    );
}

#[test]
fn energy_is_that_of_the_middle_process_and_known_to_the_worst_resolution() {
    let pass = |joules, resolution| {
        let energy =
            Energy::Measured { joules, resolution, launches: 10, took_ns: Nanoseconds(1e9) };
        PassResult { energy: Some(energy), ..gpu_pass(64, N, &[5.0]) }
    };
    let mut passes = vec![pass(0.25, 0.001), pass(0.75, 0.004), pass(0.5, 0.002)];
    // A look may come between the times and the energy of a further process.
    passes.push(gpu_pass(64, N, &[5.0]));
    let energy = metric(&passes, "energy");
    assert_eq!((energy.value, energy.class), (Ok(0.5), Class::Noisy));
    let processes: Vec<f64> = energy.processes.iter().map(|process| process.median).collect();
    assert_eq!(processes, [0.25, 0.75, 0.5]);
    let statistics = energy.statistics.unwrap();
    assert_eq!((statistics.step, statistics.min, statistics.max), (Some(0.004), 0.25, 0.75));
    let unknown = Energy::Unavailable("no counter".into());
    passes[1].energy = Some(unknown);
    assert_eq!(reason(&passes, "energy"), "no counter");
    let mut delimited = pass(0.25, 0.001);
    delimited.launches[0].outside = true;
    let why = reason(&[delimited], "energy");
    assert!(why.starts_with("the closure has launches outside of"), "{why}");
}

#[test]
fn declared_work_is_that_of_the_whole_closure_and_not_of_a_part() {
    let mut pass = gpu_pass(64, N, &[5.0]);
    pass.declared_bytes = Some(8 * N);
    assert_eq!(metric(&[pass.clone()], "bytes").value, Ok(8.0 * N as f64));
    pass.launches[0].outside = true;
    for name in ["bytes", "throughput"] {
        let why = reason(&[pass.clone()], name);
        assert!(why.contains("the closure has launches outside of"), "{why}");
    }
}

#[test]
fn unavailable_metrics_give_the_reason() {
    let emulator = [emulated_pass(64, N)];
    let gpu = [gpu_pass(64, N, &[5.0])];
    for (passes, name, expected) in [
        (&emulator, "duration", "no time was estimated"),
        (&emulator, "throughput", "needs `duration`: no time was estimated"),
        (&emulator, "throughput_of_copy", "needs `duration`: no time was estimated"),
        (
            &emulator,
            "registers",
            "registers are assigned by ptxas, which the emulator does not run",
        ),
        (&emulator, "occupancy", "it is a hardware counter, which needs a GPU"),
        (
            &emulator,
            "warp_efficiency",
            "needs `smsp__sass_thread_inst_executed.sum`: it is a hardware counter, which needs a GPU; \
             without a GPU, `ptx__thread_inst_executed.sum` is the nearest count in PTX",
        ),
        (&emulator, "energy", "it is read from a GPU, and the emulated driver uses none"),
        (&gpu, "energy", "it was not measured in this run; name it in --metrics"),
        (&gpu, "dram_throughput", "it was not collected in this run; name it in --metrics"),
        (
            &gpu,
            "smsp__warps_launched.sum",
            "it was not collected in this run; name it in --metrics",
        ),
        (
            &gpu,
            "ptx_instructions",
            "needs `ptx__inst_executed.sum`: it is counted at PTX level, which only the emulator sees",
        ),
    ] {
        assert_eq!(reason(passes, name), expected, "{name}");
    }
    let undeclared = [PassResult { declared_bytes: None, ..gpu_pass(64, N, &[5.0]) }];
    assert_eq!(
        reason(&undeclared, "throughput"),
        "needs `bytes`: the annotation declares no `bytes`"
    );
    let unknown = [PassResult { facts: None, ..gpu_pass(64, N, &[5.0]) }];
    assert_eq!(reason(&unknown, "waves"), "the launched function is not known");
    let untimed = [PassResult { timing: None, ..gpu_pass(64, N, &[5.0]) }];
    assert_eq!(reason(&untimed, "duration"), "no process took samples");
}

#[test]
fn a_division_by_zero_names_the_missing_quantity() {
    let mut pass = emulated_pass(64, N);
    for (name, value) in &mut pass.counters {
        if name.ends_with("_ld.sum") {
            *value = 0;
        }
    }
    let passes = [pass];
    assert_eq!(
        reason(&passes, "load_sectors_per_request"),
        "no global loads executed by warps (division by zero)"
    );
    assert_eq!(metric(&passes, "store_sectors_per_request").value, Ok(4.0));
    let instant = [gpu_pass(64, N, &[0.0])];
    assert_eq!(reason(&instant, "throughput"), "`duration` is 0 (division by zero)");
    assert_eq!(metric(&instant, "throughput").statistics, None);
}

#[test]
fn counters_and_their_ratios_are_exact() {
    let passes = [emulated_pass(64, N)];
    let sectors = metric(&passes, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum");
    assert_eq!((sectors.value, sectors.source), (Ok(262_144.0), Source::Emulated));
    let ratio = metric(&passes, "load_sectors_per_request");
    assert_eq!((ratio.value, ratio.source, ratio.statistics), (Ok(4.0), Source::Derived, None));
    assert_eq!(metric(&passes, "global_load_efficiency").value, Ok(100.0));
    assert_eq!(metric(&passes, "bytes").source, Source::Declared);
}

#[test]
fn an_estimated_duration_gives_what_derives_from_it_an_interval_and_its_source() {
    let row = estimated(64, N, 1000.0);
    let found = |name: &str| {
        let MetricResult { value, source, class, interval, processes, .. } = &row.metrics[name];
        assert_eq!((class, processes.len()), (&Class::Exact, 0), "{name}");
        (value.clone(), *source, interval.map(|of| [of.low, of.high, of.level]))
    };
    assert_eq!(found("duration"), (Ok(1000.0), Source::Estimated, Some([500.0, 2000.0, 0.9])));
    #[expect(clippy::cast_precision_loss, reason = "a round number")]
    let bytes = 12.0 * N as f64;
    let of = |ns: f64| bytes / ns * 1e9;
    assert_eq!(
        found("throughput"),
        (Ok(of(1000.0)), Source::Estimated, Some([of(2000.0), of(500.0), 0.9]))
    );
    assert_eq!(row.metrics["load_sectors_per_request"].source, Source::Derived);
    assert_eq!(row.metrics["sm_clock"].value, Err("no time was estimated".into()));
    assert_eq!(row.metrics["sm_clock"].interval, None);
}

#[test]
fn counters_of_several_hardware_passes_are_exact_on_the_emulator_only() {
    let name = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
    let mut pass = gpu_pass(64, N, &[1.0]);
    pass.hardware.insert(name.into(), HardwareValue::Value(262_144.0));
    assert_eq!(metric(&[pass.clone()], name).class, Class::Noisy);
    assert_eq!(metric(&[pass.clone()], name).processes.len(), 1);
    assert_eq!(metric(&[pass], "load_sectors_per_request").class, Class::Exact);
    assert_eq!(metric(&[emulated_pass(64, N)], name).class, Class::Exact);
}

#[test]
fn patched_counters_of_a_pass_in_which_lanes_diverge_are_not_exact() {
    let (name, hardware) = ("smsp__sass_inst_executed_op_global_ld.sum", "smsp__inst_executed.sum");
    let seen = |divergent: Option<f64>| {
        let mut pass = gpu_pass(64, N, &[1.0]);
        let sectors = "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum";
        let counted = [(name, 64.0), (sectors, 256.0), (hardware, 640.0)].into_iter();
        let divergent = divergent.map(|count| (DIVERGENT_BRANCHES, count));
        for (name, count) in counted.chain(divergent) {
            pass.hardware.insert(name.into(), HardwareValue::Value(count));
        }
        let exact = metric(&[pass.clone()], hardware);
        assert_eq!((exact.class, exact.perturbation), (Class::Exact, None));
        [name, "load_sectors_per_request"].map(|name| {
            let found = metric(&[pass.clone()], name);
            (found.class, found.perturbation, found.processes.len())
        })
    };
    assert_eq!(seen(Some(0.0)), [(Class::Exact, None, 0); 2]);
    let moved = |why| [(Class::Noisy, Some(why), 1); 2];
    assert_eq!(seen(Some(3.0)), moved(Perturbation::Divergence));
    assert_eq!(seen(None), moved(Perturbation::Unknown));
    assert_eq!(metric(&[emulated_pass(64, N)], name).perturbation, None);
}

#[test]
fn an_invalid_sample_gives_no_value() {
    for bad in [f64::NAN, f64::INFINITY, -1.0] {
        let passes = [gpu_pass(64, N, &[1.0, bad])];
        assert_eq!(reason(&passes, "duration"), "a sample is not a finite, positive number");
        assert_eq!(metric(&passes, "duration").statistics, None);
        assert!(metric(&passes, "throughput").value.is_err());
    }
}

#[test]
fn the_clock_is_the_median_of_the_samples_that_have_one() {
    let mut pass = gpu_pass(64, N, &[1.0, 2.0, 3.0, 4.0]);
    let timing = pass.timing.as_mut().unwrap();
    timing.sm_clock_hz = vec![Some(1e9), None, Some(3e9), Some(2e9)];
    assert_eq!(metric(&[pass.clone()], "sm_clock").value, Ok(2e9));
    pass.timing.as_mut().unwrap().sm_clock_hz = vec![None; 4];
    assert_eq!(
        reason(&[pass], "sm_clock"),
        "no sample began and ended on the same SM, so the clock is unknown"
    );
}

#[test]
fn a_diverged_configuration_has_failed_and_keeps_its_samples() {
    let mut other = gpu_pass(64, N, &[3.0]);
    other.declared_flops = Some(1);
    let result = finished(point(64, N), &[gpu_pass(64, N, &[1.0]), other]);
    let Status::Failed { reason } = &result.status else { panic!("{:?}", result.status) };
    assert!(
        reason.starts_with("replay diverged: `flops` is 2,097,152 in process 1 and 1 in"),
        "{reason}"
    );
    assert_eq!((result.metrics.len(), result.timings.len()), (0, 2));
    assert_eq!(finished(point(64, N), &[]).status.reason(), Some("no pass finished"));
}

#[test]
fn requested_metrics_beyond_the_catalogue_have_values() {
    let names = ["launch__grid_size", "launch__registers_per_thread", "gst_transactions"];
    let catalogue = Catalogue::built_in();
    let asked = names.iter().filter_map(|name| catalogue.find(name));
    let terms = CollectContext::new(&catalogue).asking(asked);
    let found = metrics(&[emulated_pass(64, 1 << 20)], &terms).unwrap();
    assert_eq!(found["launch__grid_size"].value, Ok(16384.0));
    assert!(found["launch__registers_per_thread"].value.is_err());
    assert_eq!(
        found["gst_transactions"].value,
        found["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"].value
    );
    assert!(
        !metrics(&[emulated_pass(64, 1 << 20)], &CollectContext::new(&catalogue))
            .unwrap()
            .contains_key("gst_transactions")
    );
}

/// More hits than sectors, since two passes counted them. The counts are made up; the page of an
/// H200's run showed a rate of 448.9 %.
#[test]
fn a_hit_rate_above_100_percent_is_refused_with_the_counts() {
    let names = ["lts__t_sectors_evict_first_lookup_hit.sum", "lts__t_sectors_evict_first.sum"];
    let section =
        "100 * lts__t_sectors_evict_first_lookup_hit.sum / lts__t_sectors_evict_first.sum";
    let definition = Definition {
        name: "rate".into(),
        formula: section.into(),
        unit: Unit::Percent,
        direction: Direction::Higher,
        description: None,
    };
    let catalogue = Catalogue::built_in().with_definitions(&[definition]).unwrap();
    let asked = catalogue.find("rate").unwrap();
    let rate_of = |hits: f64, sectors: f64| {
        let mut pass = gpu_pass(64, N, &[1.0]);
        for (name, value) in names.into_iter().zip([hits, sectors]) {
            pass.hardware.insert(name.into(), HardwareValue::Value(value));
        }
        let terms = CollectContext::new(&catalogue).asking([Arc::clone(&asked)]);
        metrics(&[pass], &terms).unwrap()["rate"].value.clone()
    };
    assert_eq!(rate_of(23.0, 92.0), Ok(25.0));
    let told = "`lts__t_sectors_evict_first_lookup_hit.sum` is 413, but \
                `lts__t_sectors_evict_first.sum` is 92, and it is a part of that: they were counted \
                in different passes, which differ";
    assert_eq!(rate_of(413.0, 92.0), Err(told.to_owned()));
}

#[test]
fn a_hit_rate_of_the_profiler_is_at_most_100_percent() {
    let rate_of = |rate: f64| {
        let mut pass = gpu_pass(64, N, &[1.0]);
        pass.hardware.insert("lts__t_sector_hit_rate.pct".into(), HardwareValue::Value(rate));
        metric(&[pass], "l2_hit_rate").value
    };
    assert_eq!((rate_of(98.5), rate_of(100.3)), (Ok(98.5), Ok(100.0)));
    let why = rate_of(448.9).unwrap_err();
    assert!(why.starts_with("`lts__t_sector_hit_rate.pct` is 448.9 %, but the whole is"), "{why}");
}

#[test]
fn a_ratio_of_zeros_has_no_value_and_fails_no_threshold() {
    let catalogue = Catalogue::built_in();
    let row = |name: &str, counted: &[(&str, f64)]| {
        let terms = CollectContext::new(&catalogue).asking([catalogue.find(name).unwrap()]);
        let mut pass = gpu_pass(64, N, &[1.0]);
        let values = counted.iter().map(|(name, value)| ((*name).into(), *value));
        pass.hardware.extend(values.map(|(name, value)| (name, HardwareValue::Value(value))));
        super::finished(point(64, N), &[pass], &terms)
    };
    let branches = |uniform, all| {
        let counters =
            ["smsp__sass_branch_targets_threads_uniform.sum", "smsp__sass_branch_targets.sum"];
        row("branch_efficiency", &[(counters[0], uniform), (counters[1], all)])
    };
    let shared = |percent, bytes| {
        let ratio = "smsp__sass_average_data_bytes_per_wavefront_mem_shared.pct";
        let counted = [(ratio, percent), ("smsp__sass_data_bytes_mem_shared.sum", bytes)];
        row("shared_efficiency", &counted)
    };
    for (some, none, name) in [
        (branches(60.0, 80.0), branches(0.0, 0.0), "branch_efficiency"),
        (shared(75.0, 96.0), shared(0.0, 0.0), "shared_efficiency"),
    ] {
        assert_eq!(some.metrics[name].value, Ok(75.0));
        let why = none.metrics[name].value.as_ref().unwrap_err();
        assert!(why.ends_with("(division by zero)"), "{why}");
        let limit = Threshold::parse(&format!("every {name} >= 100%")).unwrap();
        let verdict = |row| {
            let device = h200();
            judge(&catalogue, &limit, "attribute", &[row], Some(&device), &Baseline::none()).verdict
        };
        assert_eq!([verdict(some), verdict(none)], [Verdict::Fail, Verdict::Unavailable]);
    }
}
