//! Names of counters on machines without CUPTI: names that no chip has are refused before anything
//! runs.

use crate::support::{FakeGpu, Outcome, Workspace};

/// The series `scale` with the options `more`, on the emulated driver, which needs no CUPTI.
fn emulated(more: &[&str]) -> Outcome {
    let run = ["run", "--package", "vector", "scale/block=64", "--quiet", "--dry-run"];
    Workspace::fixture("workshop").gpuprof(&[&run[..], more].concat())
}

/// The same on a fake GPU without CUPTI.
fn without_cupti(more: &[&str]) -> Outcome {
    let nothing = tempfile::tempdir().expect("there is a temporary folder");
    let run = ["run", "--package", "vector", "scale/block=64", "--quiet", "--repeat", "1"];
    let gpu = FakeGpu::new();
    let tool = gpu.tool(&Workspace::fixture("workshop"), &[&run[..], more].concat());
    tool.env("GPUPROF_CUPTI", nothing.path()).run()
}

#[test]
fn an_unknown_counter_is_refused_on_the_emulated_driver() {
    let misspelt = emulated(&["--metrics", "dram__thruput.avg"]).exits_with(2);
    assert_eq!(
        misspelt.stderr,
        "error: no chip has a metric `dram__thruput`\n\
         `dram__thruput`: did you mean `dram__throughput`?\n"
    );
    let judged = ["--threshold", "every lts__t_sector_hit_rate.sum >= 1"];
    let judged = emulated(&judged).exits_with(2).stderr;
    assert!(judged.contains("no submetric `.sum`; it has .max_rate .pct .ratio"), "{judged}");
    // Ampere has no such counter, Hopper has.
    let some = "sm__inst_executed_pipe_fma_type_fp16.sum,dram__bytes.sum";
    emulated(&["--metrics", some]).exits_with(0);
}

#[test]
fn a_counter_missing_on_the_chip_is_refused_without_cupti() {
    let misspelt = without_cupti(&["--metrics", "dram__thruput.avg"]).exits_with(2);
    let said = "error: GH100 has no metric `dram__thruput`\n\
                `dram__thruput`: did you mean `dram__throughput`?\n";
    assert_eq!(misspelt.stderr, said);
    let known = without_cupti(&["--metrics", "dram__bytes.sum"]).exits_with(0);
    assert!(known.stdout.contains("dram__bytes.sum"), "{}", known.stdout);
    let none = ["--replay-mode", "none", "--metrics", "dram__thruput.avg"];
    assert_eq!(without_cupti(&none).exits_with(2).stderr, said);
}

#[test]
fn other_profilers_names_attributes_and_groups_have_values() {
    let names = "device__attribute_registers_per_block,device__attribute_max_gpu_frequency_khz,\
                 launch__blocks_size,group:memory__shared_table,gld_request,instructions";
    let run = ["run", "--package", "vector", "scale/block=64", "--quiet", "--message-format=json"];
    let run = [&run[..], &["--metrics", names]].concat();
    let outcome = Workspace::fixture("workshop").gpuprof(&run).exits_with(0);
    let rows = outcome.events_of("configuration-finished");
    let values = &rows[0]["metrics"];
    let value = |name: &str| values[name]["value"].as_f64();
    assert_eq!(value("device__attribute_registers_per_block"), Some(65536.0), "{values:#}");
    assert_eq!(value("device__attribute_max_gpu_frequency_khz"), Some(1_980_000.0));
    assert_eq!(value("launch__blocks_size"), Some(64.0));
    assert!(value("gld_request").is_some_and(|requests| requests > 0.0), "{values:#}");
    assert_eq!(value("bank_conflicts"), Some(0.0));
    let reason = values["instructions"]["unavailable"].as_str().unwrap_or_default();
    assert!(reason.contains("needs a GPU"), "{values:#}");
    let judged = emulated(&["--threshold", "every group:memory__dram_table <= 1"]).exits_with(2);
    assert!(!judged.stderr.is_empty());
    let refused = emulated(&["--metrics", "nvlink__dev0Id,launch__uses_cdp"]).exits_with(2).stderr;
    assert!(refused.contains("`nvlink__dev0Id`, a metric of other profilers, has no"), "{refused}");
    assert!(refused.contains("does not record whether a function launches others"), "{refused}");
}
