//! `cargo gpuprof metrics` and `doctor`, through the real binary and the pinned CUPTI.

use std::path::Path;
use std::process::{Command, Output};

use crate::cupti::pinned;

/// The subcommand, with nothing of the environment that it looks at.
fn tool(arguments: &[&str], folder: &Path, cupti: &Path) -> (i32, String, String) {
    let output: Output = Command::new(env!("CARGO_BIN_EXE_cargo-gpuprof"))
        .arg("gpuprof")
        .args(arguments)
        .current_dir(folder)
        .env_remove("GPUPROF_BACKEND")
        .env_remove("GPUPROF_CHIP")
        .env("GPUPROF_CUPTI", cupti)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

fn metrics(arguments: &[&str]) -> (i32, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let arguments = [&["metrics"], arguments].concat();
    tool(&arguments, folder.path(), pinned())
}

#[test]
fn the_catalogue_of_a_chip_is_listed_without_a_gpu() {
    let (code, out, err) = metrics(&["--chip", "gh100", "lts__t_sector_op_read_hit_rate"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.starts_with("lts__t_sector_op_read_hit_rate\n    "), "{out}");
    let (_, all, _) = metrics(&["--chip", "gh100"]);
    assert!(all.lines().filter(|line| !line.starts_with(' ')).count() > 3000);
    let (_, chips, _) = metrics(&["--list-chips"]);
    assert!(chips.lines().any(|chip| chip == "GH100"), "{chips}");
}

#[test]
fn a_metric_is_described_with_its_passes() {
    let (code, out, _) = metrics(&["--chip", "gh100", "--describe", "lts__t_sector_hit_rate"]);
    assert_eq!(code, 0);
    for part in ["hardware unit: lts", "on GH100: 2 passes alone", ".max_rate .pct .ratio"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let (_, out, _) = metrics(&["--describe", "gld_efficiency"]);
    assert!(
        out.contains("exact; from: 100 * smsp__sass_data_bytes_mem_global_op_ld.sum / "),
        "{out}"
    );
    assert!(out.contains("on GH100: 1 pass alone, by smsp__sass_data_bytes_mem_global"), "{out}");
    // A full name is described without --describe as well; one of gpuprof's metrics with the chip's
    // data on its counter.
    let (_, out, _) = metrics(&["occupancy"]);
    for part in [
        "occupancy\n    warps active over the most an SM holds, achieved\n    in %; higher is better; noisy; from: sm__",
        "    by sm__warps_active.avg.pct_of_peak_sustained_active\n        ",
        "        on GH100: 1 pass alone\n        submetrics: .avg ",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let (_, out, _) = metrics(&["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"]);
    assert!(out.contains("exact on the emulator, noisy on a GPU"), "{out}");
    assert!(out.contains("hardware unit: l1tex"), "{out}");
    // The description of a counter that is not a gpuprof metric says so, and names its source.
    let (_, out, _) =
        metrics(&["--chip", "gh100", "smsp__issue_inst0.avg.pct_of_peak_sustained_active"]);
    for part in [
        "in %; lower is better; noisy; from: smsp__issue_inst0",
        "unit by the counter's name; direction by the table of counter families (the share of the peak of waste: counters \
         called `issue_inst0`); class by the counter's name\n",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let (_, out, _) = metrics(&["group:memory__dram_table"]);
    assert!(out.starts_with("dram_read_transactions\ndram_write_transactions\n"), "{out}");
    // Volta counts it otherwise than the chips since.
    let (_, out, _) = metrics(&["half_precision_fu_utilization", "--chip", "gv100"]);
    assert!(out.contains("    by sm__inst_executed_pipe_fp16.avg.pct_of_peak"), "{out}");
    let (_, out, _) = metrics(&["--describe", "launch__grid_size"]);
    assert!(out.contains("neither direction is better; exact; from: the driver\n"), "{out}");
    assert!(out.ends_with("costs no counter pass\n"), "{out}");
    let (_, out, _) = metrics(&["bank_conflicts"]);
    assert!(out.contains("; on a GPU another process for each configuration\n"), "{out}");
}

#[test]
fn a_direction_that_the_configuration_file_sets_is_reported_with_the_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join(".config")).unwrap();
    let text = "[metrics.ipc]\ndirection = \"none\"\n";
    std::fs::write(folder.path().join(".config/gpuprof.toml"), text).unwrap();
    for name in ["ipc", "retire_ipc", "sm__inst_executed.avg.per_cycle_active"] {
        let (_, out, _) = tool(&["metrics", "--chip", "gh100", name], folder.path(), pinned());
        assert!(out.contains("neither direction is better"), "{name}: {out}");
        assert!(out.contains("direction by .config/gpuprof.toml;"), "{name}: {out}");
    }
}

#[test]
fn unknown_metrics_are_refused_with_the_nearest_or_the_reason() {
    for (arguments, message) in [
        (["--describe", "lts__t_sector_hit_rat"], "did you mean `lts__t_sector_hit_rate`"),
        (
            ["--describe", "lts__t_sector_hit_rate.sum"],
            "has no submetric `.sum`; it has .max_rate .pct .ratio",
        ),
        (["--describe", "cf_issued"], "has no equivalent: issues are not counted by pipe"),
        (["--describe", "occupanci"], "did you mean `occupancy`"),
        (["--describe", "device__attribute_warp"], "did you mean `device__attribute_warp_size`"),
        (["--describe", "launch__grid_sizes"], "did you mean `launch__grid_size`"),
        (["--chip", "zz"], "no chip is called `ZZ`; known are GV100"),
        (["--chip=zz", "--list-sections"], "no chip is called `ZZ`; known are GV100"),
        (["--chip=zz", "occupancy"], "no chip is called `ZZ`; known are GV100"),
    ] {
        let (code, out, err) = metrics(&arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.contains(message), "{err}");
    }
}

#[test]
fn a_search_without_results_suggests_where_to_look() {
    let (code, out, err) = metrics(&["ocupancy"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert_eq!(
        err,
        "error: no metric is named `ocupancy`: did you mean `occupancy`?\n\
         --chip gh100 searches the counters of a chip\n"
    );
    let (code, out, err) = metrics(&["--chip", "gh100", "gld"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.starts_with("error: no counter of GH100 holds `gld` in its name or"), "{err}");
    let (_, out, err) = metrics(&["attribute_warp"]);
    assert!(out.starts_with("device__attribute_warp_size\n"), "{out}");
    assert_eq!(err, "");
}

#[test]
fn a_workspace_metric_is_described_by_the_formula_of_the_chip() {
    let folder = tempfile::tempdir().unwrap();
    let sections = folder.path().join(".config/gpuprof/sections");
    std::fs::create_dir_all(&sections).unwrap();
    std::fs::write(
        sections.join("Traffic.toml"),
        "title = \"Traffic\"\nmetrics = [{ label = \"all\", name = \"traffic\" }]\n\
         [[definitions]]\nname = \"traffic\"\nformula = \"dram__bytes.sum\"\n\
         formulas.GH = \"2 * dram__bytes.sum\"\nunit = \"B\"\ndirection = \"lower\"\n",
    )
    .unwrap();
    let run = |arguments: &[&str]| tool(arguments, folder.path(), pinned());
    let (_, out, _) = run(&["metrics", "traff"]);
    assert!(out.contains("traffic\n"), "{out}");
    for (chip, formula) in [("gh100", "2 * dram__bytes.sum"), ("ga100", "dram__bytes.sum")] {
        let (code, out, err) = run(&["metrics", "--describe", "traffic", "--chip", chip]);
        assert_eq!(code, 0, "{err}");
        assert!(out.contains(&format!("noisy; from: {formula}\n")), "{out}");
    }
    // The default chip's passes, without --chip.
    let (_, out, _) = run(&["metrics", "traffic"]);
    assert!(out.contains("from: 2 * dram__bytes.sum\n") && out.contains("on GH100:"), "{out}");
}

/// Without CUPTI.
fn metrics_without_cupti(arguments: &[&str]) -> (i32, String, String) {
    let folder = tempfile::tempdir().unwrap();
    tool(&[&["metrics"], arguments].concat(), folder.path(), folder.path())
}

#[test]
fn without_cupti_the_counters_of_a_chip_are_listed_with_the_way_to_get_descriptions() {
    let (code, out, err) = metrics_without_cupti(&["--chip", "gh100"]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(out.lines().filter(|line| !line.starts_with(' ')).count(), 3389 + 205 + 56);
    assert!(err.contains("descriptions and passes need CUPTI"), "{err}");
    assert!(err.contains("pip install nvidia-cuda-cupti"), "{err}");
    let (_, out, _) = metrics_without_cupti(&["--chip", "gh100", "lts__t_sector_op_read_hit"]);
    assert_eq!(out, "lts__t_sector_op_read_hit_rate\n    ratio; hardware unit: lts\n");
    let (_, out, err) = metrics_without_cupti(&["--list-chips"]);
    assert!(out.lines().any(|chip| chip == "GH100"), "{out}{err}");
    assert_eq!(err, "");
}

#[test]
fn without_cupti_a_metric_is_described_and_a_wrong_name_refused() {
    let (code, out, err) = metrics_without_cupti(&["--describe", "lts__t_sector_hit_rate"]);
    assert_eq!(
        (code, out.as_str()),
        (
            0,
            "lts__t_sector_hit_rate\n    ratio; hardware unit: lts\n    on GH100: its passes need CUPTI\n    \
             submetrics: .max_rate .pct .ratio\n"
        )
    );
    assert!(err.contains("pip install nvidia-cuda-cupti"), "{err}");
    let (_, out, _) = metrics_without_cupti(&["occupancy", "--chip", "GA100"]);
    let by = "by sm__warps_active.avg.pct_of_peak_sustained_active\n        counter of gpc_cyclewarp; hardware";
    assert!(out.contains(by), "{out}");
    let (_, out, _) =
        metrics_without_cupti(&["stall_constant_memory_dependency", "--chip", "GB100"]);
    assert!(
        out.contains(
            "    not available on GB100, or unknown here: GB100 has no metric `smsp__warp_issue_stalled_imc"
        ),
        "{out}"
    );
    let (_, out, _) = metrics_without_cupti(&["gld_efficiency"]);
    assert!(out.contains("on GH100 by smsp__sass_data_bytes_mem_global_op_ld.sum, "), "{out}");
    for (arguments, message) in [
        (["--describe", "lts__t_sector_hit_rat"], "did you mean `lts__t_sector_hit_rate`"),
        (
            ["--describe", "lts__t_sector_hit_rate.sum"],
            "has no submetric `.sum`; it has .max_rate .pct .ratio",
        ),
        (["--describe", "dram__thruput.avg"], "GH100 has no metric `dram__thruput`; did you mean"),
        (["--chip", "zz"], "no chip is called `ZZ`; known are GV100"),
    ] {
        let (code, out, err) = metrics_without_cupti(&arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.contains(message), "{err}");
    }
}

/// The shipped file agrees with CUPTI: `cupti/examples/chips.rs` writes it.
#[test]
fn the_file_of_chips_says_what_cupti_says() {
    let chips = gpuprof_catalogue::chips::Chips::shipped();
    for chip in ["GV100", "GH100", "AD102", "GB202"] {
        let question = gpuprof_engine::cupti::Question::Catalogue { chip: chip.to_owned() };
        let answer = as_a_child(&question);
        let gpuprof_engine::cupti::Answer::Catalogue(mut asked) = answer else {
            panic!("{chip}: {answer:?}");
        };
        asked.sort_by(|a, b| a.name.cmp(&b.name));
        asked.iter_mut().for_each(|metric| metric.description.clear());
        asked.dedup();
        let known: Vec<_> = chips.metrics(chip).unwrap().map(|metric| metric.described()).collect();
        let differs = known.iter().zip(&asked).find(|(known, asked)| known != asked);
        assert_eq!((differs, known.len()), (None, asked.len()), "{chip}");
    }
}

/// The answer of the hidden subcommand, as the tool itself asks.
fn as_a_child(question: &gpuprof_engine::cupti::Question) -> gpuprof_engine::cupti::Answer {
    let folder = tempfile::tempdir().unwrap();
    let (request, reply) = (folder.path().join("request"), folder.path().join("reply"));
    let body = serde_json::json!({ "cupti": pinned(), "question": question });
    std::fs::write(&request, body.to_string()).unwrap();
    let paths = [request.to_str().unwrap(), reply.to_str().unwrap()];
    let (code, _, err) = tool(&[&["__ask"], &paths[..]].concat(), folder.path(), folder.path());
    assert_eq!(code, 0, "{err}");
    serde_json::from_slice(&std::fs::read(reply).unwrap()).unwrap()
}

#[test]
fn metrics_and_sections_of_the_workspace_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let sections = folder.path().join(".config/gpuprof/sections");
    std::fs::create_dir_all(&sections).unwrap();
    std::fs::write(
        folder.path().join(".config/gpuprof.toml"),
        "[metrics.bytes_a_warp]\nformula = \"bytes / smsp__warps_launched.sum\"\nunit = \"B\"\n",
    )
    .unwrap();
    std::fs::write(
        sections.join("Mine.toml"),
        "title = \"My own\"\nmetrics = [{ label = \"a warp\", name = \"bytes_a_warp\" }]\n",
    )
    .unwrap();
    let run = |arguments: &[&str]| tool(arguments, folder.path(), pinned()).1;
    assert!(run(&["metrics", "bytes_a_warp"]).contains("from: bytes / smsp__warps_launched.sum"));
    assert!(
        run(&["metrics", "--list-sections"]).contains("Mine  My own\n    a warp: bytes_a_warp\n")
    );
    assert!(run(&["metrics", "--list-sets"]).starts_with("basic\n"));
    let sampled =
        "    over time, SMs active: sm__cycles_active.avg.pct_of_peak_sustained_elapsed\n";
    assert!(run(&["metrics", "--list-sections"]).contains(sampled));
}

#[test]
fn sets_are_listed_with_their_passes_on_a_chip_with_cupti_and_without() {
    let folder = tempfile::tempdir().unwrap();
    let none = folder.path().join("none");
    let listed = |chip, cupti: &Path| {
        tool(&["metrics", "--list-sets", "--chip", chip], folder.path(), cupti).1
    };
    let (with, without) = (listed("gh100", pinned()), listed("gh100", &none));
    assert!(with.contains("    on GH100: 9 passes for a configuration\n"), "{with}");
    let recorded = "    on GH100: 9 passes for a configuration, without sections of your own\n";
    assert!(without.contains(recorded), "{without}");
    assert!(
        listed("ga103", pinned()).contains("on GA103: 6 passes"),
        "{}",
        listed("ga103", pinned())
    );
    assert!(listed("ga103", &none).contains("on GA103: the passes need CUPTI: "));
    let of = |name: &str| tool(&["metrics", name, "--chip", "ga100"], folder.path(), &none).1;
    assert!(of("breakdown:gpu__dram_throughput").starts_with("dram__cycles_active.avg.pct_of_"));
}

#[test]
fn the_doctor_reports_available_features() {
    let folder = tempfile::tempdir().unwrap();
    let (code, out, err) = tool(&["doctor"], folder.path(), pinned());
    assert!(
        out.contains("CUPTI        13.0 at ") && out.contains("emulator     part of"),
        "{out}{err}"
    );
    if gpuprof_cupti::driver::probe_nvidia().is_err() && !Path::new("/proc/driver/nvidia").exists()
    {
        assert_eq!(code, 0, "{out}");
        assert!(out.ends_with("the emulator works and gives exact counters and estimated times\n"));
        let (code, out, _) = tool(&["doctor", "--backend", "cuda"], folder.path(), pinned());
        assert_eq!(code, 107, "{out}");
        assert!(out.starts_with("fail  driver"), "{out}");
    }
}

#[test]
fn every_listing_and_description_is_available_as_json_lines() {
    let lines = |arguments: &[&str]| -> Vec<serde_json::Value> {
        let (code, out, err) = metrics(&[arguments, &["--message-format", "json"]].concat());
        assert_eq!(code, 0, "{arguments:?}: {err}");
        let lines: Result<_, _> = out.lines().map(serde_json::from_str).collect();
        lines.unwrap_or_else(|e| panic!("{arguments:?}: {e}"))
    };
    let reasons = |arguments: &[&str]| {
        let mut all: Vec<String> =
            lines(arguments).iter().map(|l| l["reason"].as_str().unwrap().to_owned()).collect();
        all.dedup();
        all
    };
    let own = lines(&[]);
    let duration = own.iter().find(|line| line["name"] == "duration").unwrap();
    assert_eq!((&duration["unit"], &duration["better"]), (&"ns".into(), &"lower".into()));
    assert_eq!(duration["exact_on_gpu"], false);
    assert_eq!(reasons(&[]), ["metric"]);
    assert_eq!(reasons(&["hit_rate"]).first().unwrap(), "metric");
    assert_eq!(reasons(&["--list-sets"]), ["set"]);
    assert_eq!(reasons(&["--list-sections"]), ["section"]);
    assert_eq!(reasons(&["--list-chips"]), ["chip"]);
    assert_eq!(reasons(&["--chip", "gh100", "hit_rate"]), ["counter"]);
    let hit_rate = lines(&["--chip", "gh100", "--describe", "lts__t_sector_hit_rate"]);
    let counter = hit_rate.iter().find(|line| line["reason"] == "counter").unwrap();
    assert_eq!((&counter["hardware_unit"], &counter["passes"]), (&"lts".into(), &2.into()));
    assert_eq!(reasons(&["gld_efficiency"]), ["metric", "counter"]);
    assert_eq!(reasons(&["group:memory__shared_table"]), ["group"]);
    // A missing name is reported as usual.
    let (code, out, err) = metrics(&["--message-format", "json", "duratoin"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("did you mean `duration`?"), "{err}");
}
