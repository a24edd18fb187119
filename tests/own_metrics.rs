//! Metrics that a configuration file defines, from their definition to a verdict on stored runs.

use std::fs;
use std::path::Path;

use crate::support::{FakeGpu, Outcome, Workspace};

/// A file that defines `loads` by `formula`.
fn configured(folder: &Path, formula: &str) -> String {
    let file = folder.join("gpuprof.toml");
    let text = format!(
        "[metrics]\nshow = [\"loads\"]\n[metrics.loads]\nformula = \"{formula}\"\nunit = \"B\"\ndirection = \"lower\"\n"
    );
    fs::write(&file, text).expect("it can be written");
    file.display().to_string()
}

/// One configuration of `gather` with the options `more`; the run is written to `export`.
fn measured(stride: &str, config: &str, export: &str) -> Outcome {
    let name = format!("gather/block=64,stride={stride}");
    Workspace::fixture("workshop")
        .gpuprof(&[
            "run",
            "--package",
            "vector",
            &name,
            "--quiet",
            "--config-file",
            config,
            "--export-json",
            export,
        ])
        .exits_with(0)
}

#[test]
fn stored_runs_are_compared_and_shown_by_metrics_of_a_configuration_file_that_is_not_there() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let config = configured(folder.path(), "32 * smsp__sass_inst_executed_op_global_ld.sum");
    let [few, many] = ["few.json", "many.json"].map(|name| folder.path().join(name));
    let [few, many] = [&few, &many].map(|path| path.display().to_string());
    measured("1", &config, &few);
    configured(folder.path(), "64 * smsp__sass_inst_executed_op_global_ld.sum");
    measured("1", &config, &many);
    let workshop = Workspace::fixture("workshop");
    // An exact metric that a series shows may not get worse, for any author of its definition.
    let worse = workshop.gpuprof(&["compare", &few, &many]).exits_with(100);
    assert!(worse.stdout.contains("FAIL  every loads <= baseline "), "{}", worse.stdout);
    workshop.gpuprof(&["compare", &many, &few]).exits_with(0);
    let least = ["--threshold", "every loads <= 1 B"];
    workshop.gpuprof(&[&["compare", &many, &few][..], &least].concat()).exits_with(100);
    // Its unit is known as well.
    let unit = ["--threshold", "every loads <= 1 us"];
    let refused = workshop.gpuprof(&[&["compare", &many, &few][..], &unit].concat());
    assert!(refused.exits_with(2).stderr.contains("`loads` needs a limit in B"));
    // A baseline that called something else so proves nothing.
    let other = fs::read_to_string(&many).expect("it was written");
    let series = "\"direction\": \"higher\"";
    let other = other.split("\"loads\":").enumerate().map(|(at, part)| match at {
        0 => part.to_owned(),
        _ => format!("\"loads\":{}", part.replacen("\"direction\": \"lower\"", series, 1)),
    });
    let turned = folder.path().join("turned.json").display().to_string();
    fs::write(&turned, other.collect::<String>()).expect("it can be written");
    let anew = ["compare", &turned, &few, "--strict"];
    let anew = workshop.gpuprof(&[&anew[..], &["--threshold", "loads <= baseline"]].concat());
    let anew = anew.exits_with(106);
    assert!(anew.stdout.contains("INCOMPARABLE  loads <= baseline"), "{}", anew.stdout);
    assert!(anew.stdout.contains("`loads` has a new definition"), "{}", anew.stdout);
    let options = ["--columns", "block,loads", "--sort", "loads", "--best-by", "loads"];
    let shown = workshop.gpuprof(&[&["report", &few][..], &options].concat()).exits_with(0);
    assert!(shown.stdout.contains("loads [KiB]"), "{}", shown.stdout);
    let unknown = workshop.gpuprof(&["report", &few, "--columns", "lods"]).exits_with(2);
    assert!(unknown.stderr.contains("did you mean `loads`"), "{}", unknown.stderr);
}

/// The series `scale` on a fake GPU with the options `more`.
fn on_a_gpu(gpu: &FakeGpu, more: &[&str]) -> Outcome {
    let run = ["run", "--package", "vector", "scale/block=64", "--quiet", "--repeat", "1"];
    gpu.tool(&Workspace::fixture("workshop"), &[&run[..], more].concat()).run()
}

#[test]
fn a_counter_that_the_chip_lacks_is_reported_with_the_metrics_that_were_written() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let file = folder.path().join("gpuprof.toml");
    let write = |counter: &str| {
        let text = format!("[metrics.busy]\nformula = \"{counter} / 2\"\n");
        fs::write(&file, text).expect("it can be written");
    };
    let config = ["--config-file", file.to_str().expect("temporary paths are UTF-8")];
    let metrics = ["--metrics", "busy,occupancy,foo__bar.sum", "--threshold"];
    let threshold = ["every achieved_occupancy >= 0.1"];
    let all = [&config[..], &metrics, &threshold].concat();
    // No chip has it.
    write("sm__cycles_activ.avg");
    for gpu in [true, false] {
        let refused = match gpu {
            true => on_a_gpu(&FakeGpu::new(), &all),
            false => Workspace::fixture("workshop")
                .gpuprof(&[&["run", "--package", "vector"], &all[..]].concat()),
        };
        let refused = refused.exits_with(96).stderr;
        let told = "gpuprof.toml:2: no chip has a metric `sm__cycles_activ`: did you mean \
                    `sm__cycles_active`";
        assert!(refused.contains(told), "{refused}");
    }
    write("sm__ctas_active.avg");
    let refused = on_a_gpu(&FakeGpu::new(), &all).exits_with(2);
    assert_eq!(
        refused.stderr,
        "error: GH100 has no metric `foo__bar`\n\
         GH100 has no metric `sm__ctas_active`\n\
         GH100 has no metric `sm__warps_active`\n\
         `sm__ctas_active` is needed for `busy`: did you mean `sm__cycles_active`?\n\
         `sm__warps_active` is needed for `achieved_occupancy`, `occupancy`: did you mean `sm__cycles_active`?\n"
    );
}

#[test]
fn counters_of_thresholds_for_another_device_are_not_collected() {
    let threshold = ["--threshold", "on \"A100\" every stall_sync <= 10%"];
    let elsewhere = on_a_gpu(&FakeGpu::new(), &threshold).exits_with(0);
    assert!(elsewhere.stdout.contains("not for this device: on \"A100\""), "{}", elsewhere.stdout);
    let here = ["--threshold", "on \"H200\" every stall_sync <= 10%"];
    on_a_gpu(&FakeGpu::new(), &here).exits_with(2);
}

#[test]
fn sections_of_the_workspace_are_known_wherever_its_settings_are_read() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let root = folder.path().join("workshop");
    let workspace = Workspace::fixture("workshop").copied_to(&root);
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
    };
    write(
        ".config/gpuprof/sections/Halves.toml",
        "title = \"By halves\"\n[[metrics]]\nlabel = \"half a grid\"\nname = \"half_grid\"\n\
         formula = \"launch__grid_size / 2\"\nunit = \"count\"\ndirection = \"lower\"\n",
    );
    // The file can also use definitions of our own sections.
    write(
        ".config/gpuprof.toml",
        "sections = [\"halves\"]\nthresholds = [\"every half_grid <= 32\"]\n\
         [metrics.of_the_roof]\nformula = \"roofline_fp32 / 2\"\nunit = \"FLOP/s\"\n",
    );
    let scale = ["--package", "vector", "scale"];
    let shown = workspace.gpuprof(&[&["show-config"], &scale[..]].concat()).exits_with(0);
    assert!(shown.stdout.contains("every half_grid <= 32"), "{}", shown.stdout);
    let wrong = ["show-config", "--section", "Halfs"];
    let wrong = workspace.gpuprof(&[&wrong[..], &scale].concat()).exits_with(2);
    assert!(wrong.stderr.contains("no section is named `Halfs`: did you mean `Halves`?"));
    // Also where the run is an older one, which does not hold them.
    let old = folder.path().join("old.json").display().to_string();
    let run = ["run", "--quiet", "--backend", "emulator", "--no-config", "--export-json", &old];
    Workspace::fixture("workshop").gpuprof(&[&run[..], &scale].concat()).exits_with(0);
    let itself = ["run", "--load-baseline", &old, "--baseline", &old];
    let itself = workspace.gpuprof(&itself).exits_with(2);
    assert!(itself.stderr.contains(" are the same run, "), "{}", itself.stderr);
    let new = folder.path().join("new.json").display().to_string();
    let run = ["run", "--quiet", "--backend", "emulator", "--no-config", "--export-json", &new];
    Workspace::fixture("workshop").gpuprof(&[&run[..], &scale].concat()).exits_with(0);
    let judged = workspace.gpuprof(&["run", "--load-baseline", &new, "--baseline", &old]);
    let judged = judged.exits_with(0);
    assert!(judged.stdout.contains("UNAVAILABLE  every half_grid <= 32"), "{}", judged.stdout);
    let file = folder.path().join("vector.tar.zst").display().to_string();
    let pack = ["archive", "--archive-file", &file, "--package", "vector"];
    workspace.gpuprof(&pack).exits_with(0);
    let there = folder.path().join("there");
    fs::create_dir(&there).expect("it can be made");
    let there = Workspace { root: there.clone(), target: there.join("target") };
    let run = ["run", "--archive-file", &file, "scale", "--quiet", "--backend", "emulator"];
    let outcome = there.gpuprof(&run).exits_with(0);
    assert!(outcome.stdout.contains("By halves\n"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("PASS  every half_grid <= 32"), "{}", outcome.stdout);
}
