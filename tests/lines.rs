//! Counts by line, stored with a run.

use crate::support::{FakeGpu, NO_NVDISASM, Tool, Workspace, script};
use serde_json::Value;

/// The document of a run of `package` in `workspace`.
fn document(workspace: &Workspace, package: &str) -> Value {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let file = folder.path().join("run.json").display().to_string();
    let run = ["run", "--quiet", "--no-gate", "--package", package, "--export-json", &file];
    workspace.gpuprof(&run).exits_with(0);
    let text = std::fs::read_to_string(&file).expect("it was exported");
    serde_json::from_str(&text).expect("it is JSON")
}

/// The sum of a packed column.
fn sum(column: &Value) -> u64 {
    let numbers = column.as_array().cloned().unwrap_or_default();
    let numbers: Vec<u64> = numbers.iter().filter_map(Value::as_u64).collect();
    numbers.chunks(2).map(|run| run[0] * run[1]).sum()
}

/// That the lines of every row add up to its metrics; the rows.
fn add_up(document: &Value) -> usize {
    let all = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut rows = 0;
    for series in all(&document["series"]) {
        for row in all(&series["configurations"]) {
            let total = |column: &str| -> u64 {
                all(&row["code"]).iter().map(|code| sum(&code["counts"][column])).sum()
            };
            let metric = |name: &str| row["metrics"][name]["value"].as_f64().unwrap_or_default();
            let conflicts = total("wavefronts") - total("ideal_wavefronts");
            for (lines, name) in [
                (total("instructions"), "ptx__inst_executed.sum"),
                (total("thread_instructions"), "ptx__thread_inst_executed.sum"),
                (total("sectors"), "global_sectors"),
                (total("divergent_branches"), "ptx__branches_divergent.sum"),
                (conflicts, "bank_conflicts"),
            ] {
                assert_eq!(lines as f64, metric(name), "{name} of {}", row["configuration"]);
            }
            rows += 1;
        }
    }
    rows
}

#[test]
fn the_lines_of_a_row_add_up_to_its_metrics() {
    let workshop = Workspace::fixture("workshop");
    assert_eq!(add_up(&document(&workshop, "vector")), 6);
}

/// The sectors of loads, by another pass.
const SECTORS: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";

/// The rows of `scale` on a fake GPU with counts by line and this `trouble`.
fn counted_on_gpu(gpu: &FakeGpu, trouble: &str) -> Vec<Value> {
    let series = counted_and_written(gpu, trouble, NO_NVDISASM);
    series["configurations"].as_array().expect("rows").clone()
}

/// The series of [`counted_on_gpu`], with machine code that this `nvdisasm` writes.
fn counted_and_written(gpu: &FakeGpu, trouble: &str, nvdisasm: &str) -> Value {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let file = folder.path().join("run.json").display().to_string();
    let series = ["run", "--package", "vector", "scale", "--repeat", "1", "--no-config"];
    let more = ["--section", "SourceCounters", "--metrics", SECTORS, "--export-json", &file];
    let workshop = Workspace::fixture("workshop");
    let tool = gpu.tool(&workshop, &[&series[..], &more].concat());
    let tool = tool.env("GPUPROF_NVDISASM", nvdisasm);
    tool.env("FAKE_CUPTI_TROUBLE", trouble).run().exits_with(0);
    let text = std::fs::read_to_string(&file).expect("it was exported");
    let run: Value = serde_json::from_str(&text).expect("it is JSON");
    run["series"][0].clone()
}

/// The sum of a counter of a row.
fn counted(row: &Value, counter: &str) -> u64 {
    let code = row["code"].as_array().cloned().unwrap_or_default();
    code.iter().map(|code| sum(&code["counts"][counter])).sum()
}

#[test]
fn a_gpu_counts_and_samples_by_line_and_the_lines_add_up_to_its_counters() {
    let gpu = FakeGpu::new();
    for row in counted_on_gpu(&gpu, "") {
        let loads = &row["metrics"][SECTORS]["value"];
        let of_loads = row["costly"].as_array().and_then(|all| all.first()).expect("a line");
        assert_eq!(of_loads["cost"], "global_load_sectors", "{row:#}");
        assert_eq!(of_loads["total"].as_f64(), loads.as_f64(), "{row:#}");
        assert!(of_loads["line"].as_str().is_some_and(|it| it.starts_with("vector/src/lib.rs:")));
        assert_eq!(of_loads["emulated"], Value::Null);
        let ranges = row["source"]["ranges"].as_u64().expect("it was sampled");
        // The fake samples every execution.
        assert_eq!(counted(&row, "samples"), ranges * counted(&row, "instructions"));
        assert!(counted(&row, "long_scoreboard") > 0, "{row:#}");
        assert_eq!(row["source"]["samples"].as_u64(), Some(counted(&row, "samples")));
        assert_eq!(row["source"]["missing"], Value::Null);
    }
    let log = gpu.log();
    let count = |line: &str| log.iter().filter(|it| *it == line).count();
    // The section has `bank_conflicts`, which another process counts.
    assert_eq!((count("counts instructions"), count("samples")), (4, 2), "{log:#?}");
    assert_eq!(gpu.survivors(), [0; 0]);
}

#[test]
fn counts_by_line_that_fail_leave_the_rest_of_the_run_and_say_why() {
    for (trouble, missing, counts, samples) in [
        ("drop instructions 9", "CUPTI lost 9 counts of instructions", false, true),
        ("fail cuptiPCSamplingEnable 27", "CUPTI_ERROR_NOT_SUPPORTED", true, false),
        ("fail cuptiSubscribe 39", "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS", false, false),
        ("abort at=cuptiSassMetricsEnable", "counts of instructions: the process", false, true),
        ("drop all-samples 1", "samples of warps: the GPU took none", true, false),
    ] {
        for row in counted_on_gpu(&FakeGpu::new(), trouble) {
            assert_eq!(row["status"]["status"], "finished", "{trouble}: {row:#}");
            let told = row["source"]["missing"].to_string();
            assert!(told.contains(missing), "{trouble}: {told}");
            assert_eq!(counted(&row, "instructions") > 0, counts, "{trouble}");
            assert_eq!(counted(&row, "samples") > 0, samples, "{trouble}");
        }
    }
    let dropped = counted_on_gpu(&FakeGpu::new(), "drop samples 5");
    assert!(dropped.iter().all(|row| row["source"]["dropped"] == 5), "{dropped:#?}");
}

#[test]
fn samples_are_taken_with_cold_caches_where_times_are() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let file = folder.path().join("run.json").display().to_string();
    let workshop = Workspace::fixture("workshop");
    let cold = ["run", "--package", "vector", "scale", "--repeat", "1", "--no-config"];
    let more = ["--section", "SourceCounters", "--replay-mode", "none", "--cache-control", "all"];
    let all = [&cold[..], &more, &["--export-json", &file]].concat();
    // A run without counters searches for CUPTI all the same.
    let gpu = FakeGpu::new();
    gpu.tool(&workshop, &all).without("GPUPROF_CUPTI").run().exits_with(0);
    let text = std::fs::read_to_string(&file).expect("it was exported");
    let run: Value = serde_json::from_str(&text).expect("it is JSON");
    for row in run["series"][0]["configurations"].as_array().expect("rows") {
        let ranges = row["source"]["ranges"].as_u64().expect("it was sampled");
        // Those of the flush are none of the kernel's.
        assert_eq!(counted(row, "samples"), ranges * counted(row, "instructions"), "{row:#}");
    }
    let passes = workshop.run_folder(run["id"].as_str().expect("it has a name")).join("passes");
    let reply = std::fs::read_to_string(passes.join("measure-vector-kernels.reply.json"));
    let reply = reply.expect("it was kept");
    assert!(reply.contains("gpuprof_flush"), "{reply}");
}

/// The lines of an nvdisasm that writes the beginning of each function of a cubin.
pub(crate) const NVDISASM: &str = "#!/bin/sh\n\
    [ \"$1\" = --version ] && { echo 'release 13.0, V13.0.85'; exit; }\n\
    for cubin; do :; done\n\
    for name in $(grep -ao '\\.text\\.[A-Za-z0-9_$]*' \"$cubin\" | sort -u); do\n\
    printf '%s:\\n /*0000*/ LDC R1, c[0x0][0x28] ; // | 3 |\\n /*0010*/ EXIT ; // | 1 |\\n' \"$name\"\n\
    done\n";

#[test]
fn machine_code_has_the_text_of_nvdisasm_or_the_reason_why_it_has_none() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let program = folder.path().join("nvdisasm");
    let write = |text: &str| {
        script(&program, text);
        counted_and_written(&FakeGpu::new(), "", program.to_str().expect("it is UTF-8"))
    };
    let written = write(NVDISASM);
    for row in written["configurations"].as_array().expect("rows") {
        let code = &row["code"][0];
        let number = code["listing"].as_u64().expect("a number") as usize;
        let listing = &written["listings"][number];
        assert!(listing["kernel"].as_str().is_some_and(|it| it.starts_with("scale")), "{row:#}");
        let second = &listing["machine"][1];
        assert_eq!((&second[0], &second[2], &second[3]), (&16.into(), &1.into(), &"EXIT".into()));
        assert!(second[1].as_u64().is_some_and(|ptx_line| ptx_line > 0), "{listing:#}");
        assert!(sum(&code["executed"]["instructions"]) > 0, "{code:#}");
        assert_eq!(row["source"]["missing"], Value::Null);
    }
    let broken = NVDISASM.replace("for name", "echo 'unknown chip' >&2; exit 3; for name");
    let illegible = write(&broken);
    assert_eq!(illegible["listings"][0]["machine"], Value::Null);
    for row in illegible["configurations"].as_array().expect("rows") {
        let told = row["source"]["missing"][0].as_str().expect("a reason").to_owned();
        assert!(told.contains("nvdisasm 13.0.85 ends with exit status: 3: unknown chip"), "{told}");
    }
}

/// `bank_conflicts` of the configurations of `structures`, by a run with `more` arguments.
fn conflicts(tool: impl Fn(&Workspace, &[&str]) -> Tool, more: &[&str]) -> Vec<Value> {
    let series = ["run", "--package", "memory", "structures", "--repeat", "1", "--no-config"];
    let asked = ["--metrics", "bank_conflicts", "--message-format", "json"];
    let tool = tool(&Workspace::fixture("workshop"), &[&series[..], &asked, more].concat());
    let rows = tool.run().exits_with(0).events_of("configuration-finished");
    rows.iter().map(|row| row["metrics"]["bank_conflicts"].clone()).collect()
}

#[test]
fn a_gpu_counts_bank_conflicts_by_instruction_in_a_process_of_their_own() {
    let values = |found: &[Value]| -> Vec<f64> {
        found.iter().map(|it| it["value"].as_f64().expect("a value")).collect()
    };
    let emulated = values(&conflicts(Workspace::tool, &[]));
    assert!(emulated.iter().any(|value| *value > 0.0), "{emulated:?}");
    let gpu = FakeGpu::new();
    let counted = conflicts(|workspace, all| gpu.tool(workspace, all), &[]);
    assert_eq!(values(&counted), emulated);
    let log = gpu.log();
    let counts = log.iter().filter(|it| *it == "counts instructions").count();
    assert_eq!(counts, emulated.len(), "{log:#?}");
    for (trouble, more, why) in [
        ("abort at=cuptiSassMetricsEnable", &[][..], "the process"),
        ("drop instructions 9", &[], "CUPTI lost 9 counts of instructions"),
        ("", &["--replay-mode", "none"], "--replay-mode none collects no counters"),
    ] {
        let gpu = FakeGpu::new();
        let tool = |workspace: &Workspace, all: &[&str]| {
            gpu.tool(workspace, all).env("FAKE_CUPTI_TROUBLE", trouble)
        };
        for found in conflicts(tool, more) {
            let told = found["unavailable"].as_str().unwrap_or_default();
            assert!(told.contains(why), "{trouble}: {found}");
        }
    }
}
