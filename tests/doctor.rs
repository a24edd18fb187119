//! `cargo gpuprof doctor` on fake GPUs: every device by itself, and whether the main job can run.

use crate::support::replay::{METRICS, workshop};
use crate::support::{FakeGpu, Outcome, Tool};

/// The fake driver's UUIDs of its first two GPUs.
const FIRST: &str = "GPU-67707570-726f-662d-6661-6b652d677075";
const SECOND: &str = "GPU-67707570-726f-662d-6661-6b652d677031";

/// The doctor on a machine with two GPUs, of two models: nothing is compared between them.
fn doctor(gpu: &FakeGpu, arguments: &[&str]) -> Tool {
    gpu.tool(&workshop(), &[&["doctor"], arguments].concat())
        .env("FAKE_GPUS", "Fake H200,Fake A100")
}

/// The checks of the device with this heading, the first line of each.
fn about<'a>(outcome: &'a Outcome, heading: &str) -> Vec<&'a str> {
    let lines = outcome.stdout.lines().skip_while(|line| *line != heading).skip(1);
    lines.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with(' ')).collect()
}

fn headings() -> [String; 2] {
    [
        format!("device 0: Fake H200 (sm_90), {FIRST}"),
        format!("device 1: Fake A100 (sm_80), {SECOND}"),
    ]
}

const CLOCKS: &str = "ok    clocks       SM at 345 MHz, at most 1980 MHz; only --clock-control \
                      changes it";
const COUNTERS: &str = "ok    counters     a session was opened on GH100";

#[test]
fn the_doctor_distinguishes_machines_with_and_without_counters() {
    let doctor = |trouble: &str| {
        FakeGpu::new().tool(&workshop(), &["doctor"]).env("FAKE_CUPTI_TROUBLE", trouble).run()
    };
    let fine = doctor("").exits_with(0);
    assert!(fine.stdout.contains("ok    driver       CUDA 13.0, 1 device\n"), "{}", fine.stdout);
    let expected = ["ok    persistence  on", "ok    MIG          off", CLOCKS, COUNTERS];
    assert_eq!(about(&fine, &headings()[0]), expected);
    assert!(
        fine.stdout.ends_with("\n\ntimes and counters can be measured here\n"),
        "{}",
        fine.stdout
    );
    let locked = doctor("fail cuptiRangeProfilerEnable 35").exits_with(107).stdout;
    assert!(locked.contains("fail  counters     cuptiRangeProfilerEnable failed"), "{locked}");
    assert!(locked.contains("--cap-add=SYS_ADMIN"), "{locked}");
    // Whatever a run asks before it starts is asked here.
    let asked = doctor("fail cuptiProfilerGetCounterAvailability 35").exits_with(107).stdout;
    assert!(
        asked.contains("fail  counters     cuptiProfilerGetCounterAvailability failed"),
        "{asked}"
    );
    let crashing = doctor("abort at=cuptiRangeProfilerEnable").exits_with(107).stdout;
    assert!(crashing.contains("fail  counters     "), "{crashing}");
    assert!(crashing.contains("SIGABRT"), "{crashing}");
}

#[test]
fn every_device_is_named_and_answers_for_itself() {
    let gpu = FakeGpu::new();
    gpu.nvml(&format!("no-persistence-{SECOND}"), "");
    gpu.nvml(&format!("vgpu-{SECOND}"), "2");
    let busy = "fail cuptiRangeProfilerEnable 26 device=677031";
    let run = |arguments: &[&str]| doctor(&gpu, arguments).env("FAKE_CUPTI_TROUBLE", busy).run();
    // A run without --devices measures on the first, which is fine.
    let both = run(&[]).exits_with(0);
    assert!(both.stdout.contains("ok    driver       CUDA 13.0, 2 devices\n"), "{}", both.stdout);
    let [first, second] = headings();
    let fine = ["ok    persistence  on", "ok    MIG          off", CLOCKS, COUNTERS];
    assert_eq!(about(&both, &first), fine);
    let found: Vec<(&str, &str)> =
        about(&both, &second).iter().map(|line| (&line[..4], line[6..17].trim_end())).collect();
    let expected = [
        ("warn", "persistence"),
        ("ok  ", "MIG"),
        ("warn", "vGPU"),
        ("ok  ", "clocks"),
        ("fail", "counters"),
    ];
    assert_eq!(found, expected, "{}", both.stdout);
    assert!(both.stdout.contains("dcgmi profile --pause"), "{}", both.stdout);
    let said = "\n\ntimes can be measured here, but counters cannot on device 1; use --devices 0\n";
    assert!(both.stdout.ends_with(said), "{}", both.stdout);

    // One that is asked for has to work, and others are left alone.
    let one = run(&["--devices", "0"]).exits_with(0);
    assert!(
        one.stdout.ends_with("\n\ntimes and counters can be measured here\n"),
        "{}",
        one.stdout
    );
    assert!(!one.stdout.contains(SECOND), "{}", one.stdout);
    for arguments in [&["--devices", "all"], &["--devices", &SECOND[..39]]] {
        assert_eq!(about(&run(arguments).exits_with(107), &second).len(), 5);
    }
    let refused = run(&["--devices", "2"]).exits_with(2);
    assert!(
        refused.stderr.contains("no device matches 2; the driver reports"),
        "{}",
        refused.stderr
    );
    let none =
        doctor(&gpu, &["--devices", "0"]).env("FAKE_GPUS", "").env("CUDA_VISIBLE_DEVICES", "");
    let none = none.run().exits_with(107);
    assert!(
        none.stdout.ends_with(
            "a GPU was requested, but none answers; --backend emulator runs without one\n"
        )
    );
}

#[test]
fn the_settings_are_those_of_a_run() {
    let (gpu, folder) = (FakeGpu::new(), tempfile::tempdir().unwrap());
    let file = folder.path().join("gpuprof.toml");
    std::fs::write(&file, "devices = [1]\n[preset.ci]\ndevices = [2]\n").unwrap();
    let config = ["--config-file", file.to_str().unwrap()];
    let second = doctor(&gpu, &config).run().exits_with(0).stdout;
    assert!(second.contains(&headings()[1]) && !second.contains(&headings()[0]), "{second}");
    let given = doctor(&gpu, &[&config[..], &["--devices", "0"]].concat()).run().exits_with(0);
    assert!(given.stdout.contains(&headings()[0]), "{}", given.stdout);
    let preset = doctor(&gpu, &[&config[..], &["-P", "ci"]].concat()).run().exits_with(96);
    let said = "error: preset ci: no device matches 2; the driver reports";
    assert!(preset.stderr.contains(said), "{}", preset.stderr);
    let none = doctor(&gpu, &["--no-config"]).run().exits_with(0).stdout;
    assert!(headings().iter().all(|heading| none.contains(heading)), "{none}");
}

#[test]
fn a_driver_without_a_device_is_reported_as_a_failure() {
    // A run refuses such a GPU on its own, since it may be hidden or broken; the doctor must agree.
    let gpu = FakeGpu::new();
    let hidden = |arguments: &[&str]| {
        let tool = gpu.tool(&workshop(), arguments).env("GPUPROF_BACKEND", "auto");
        tool.env("CUDA_VISIBLE_DEVICES", "").run()
    };
    hidden(&["run", "--package", "vector", "--no-config", "scale"]).exits_with(107);
    let told = hidden(&["doctor"]).exits_with(107).stdout;
    assert!(told.contains("fail  driver       cuInit failed with 100: no CUDA device"), "{told}");
    assert!(told.ends_with("but none answers; --backend emulator runs without one\n"), "{told}");
    hidden(&["doctor", "--backend", "emulator"]).exits_with(0);
}

#[test]
fn a_mig_instance_that_the_driver_does_not_show_is_found_by_its_name() {
    let (name, digits) = ("Fake H200 MIG 1g.18gb", "67707570-726f-662d-6661-6b652d6770");
    let other = format!("MIG-{digits}31");
    let gpu = FakeGpu::new();
    let tool = doctor(&gpu, &["--devices", &other]);
    let outcome = tool.env("FAKE_GPUS", format!("{name},{name}")).run().exits_with(0);
    let lines = about(&outcome, &format!("device 1: {name} (sm_90), {other}"));
    assert!(lines.iter().any(|line| line.starts_with("warn  MIG          ")), "{}", outcome.stdout);
    assert_eq!(lines.last(), Some(&COUNTERS));
}

#[test]
fn a_busy_device_is_not_tried() {
    let gpu = FakeGpu::new();
    let run = [
        "run",
        "--package",
        "vector",
        "--no-config",
        "scale",
        "--devices",
        "1",
        "--metrics",
        METRICS[0],
    ];
    let hanging = gpu.tool(&workshop(), &run).env("FAKE_GPUS", "Fake H200,Fake A100");
    let mut child =
        hanging.env("FAKE_CUPTI_TROUBLE", "hang pass=0").into_command().spawn().unwrap();
    gpu.wait_for(&mut child, "hangs in pass 0");
    let outcome = doctor(&gpu, &[]).run();
    let enabled = gpu.logged("enabled").len();
    child.kill().unwrap();
    child.wait().unwrap();
    let outcome = outcome.exits_with(0);
    let [first, second] = headings();
    assert_eq!(about(&outcome, &first).last(), Some(&COUNTERS));
    let said = format!(
        "warn  counters     not tested: another gpuprof is measuring on this device (process {} of ",
        child.id()
    );
    assert!(about(&outcome, &second)[3].starts_with(&said), "{}", outcome.stdout);
    let end = "\n\ntimes and counters can be measured here; device 1 was not tested\n";
    assert!(outcome.stdout.ends_with(end), "{}", outcome.stdout);
    // One of the plan, one of the pass that hangs, and the trial on the other device.
    assert_eq!(enabled, 3);
}
