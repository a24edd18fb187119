//! `calibrate`, end to end: its report on a device with noise, and on one without.

use crate::support::replay::workshop;
use crate::support::{FakeGpu, Packed};
use insta::assert_snapshot;

#[test]
fn calibrate_on_the_emulator_runs_nothing() {
    let packed = Packed::new();
    let arguments = ["calibrate", "--archive-file", "packed.tar.zst", "gather", "--quiet"];
    let outcome = packed.other(&arguments).run().exits_with(107);
    assert_eq!(outcome.stdout, "");
    assert_eq!(
        outcome.stderr,
        "error: calibrate measures noise, and the emulated driver has none: its counts are exact, and no tolerance is needed; run it on a machine with a GPU\n"
    );
    assert!(packed.runs().is_empty());
}

#[test]
fn too_few_processes_end_with_106_in_every_file() {
    let gpu = FakeGpu::new();
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let junit = folder.path().join("run.xml");
    let arguments = ["calibrate", "--package", "vector", "scale", "--metrics", "duration"];
    let junit_path = junit.to_str().expect("UTF-8");
    let more = ["--repeat", "1", "--replay-mode", "none", "--no-config"];
    let more = [&more[..], &["--export-junit", junit_path]].concat();
    let tool = gpu.tool(&workshop(), &[&arguments[..], &more].concat());
    let outcome = tool.run().exits_with(106);
    assert!(outcome.stderr.contains("has a noisy metric from at least"), "{}", outcome.stderr);
    let junit = std::fs::read_to_string(junit).expect("it was written");
    assert!(junit.contains("exit code 106: nothing could be judged or"), "{junit}");
}

#[test]
fn the_noise_of_a_gpu_is_reported_with_a_proposed_limit() {
    let gpu = FakeGpu::new();
    let arguments = ["calibrate", "--package", "vector", "scale", "--metrics", "duration"];
    let more = ["--isolate", "kernel", "--replay-mode", "none", "--no-config", "--quiet"];
    let tool = gpu.tool(&workshop(), &[&arguments[..], &more].concat());
    // Every other process is 2 % slower with blocks of 64 threads; those of 128 are all equal.
    let outcome = tool.env("FAKE_CUDA_NOISE", "64:2").run().exits_with(0);
    let (head, rest) = outcome.stdout.split_once('\n').expect("there is a table");
    assert!(head.starts_with("Fake H200, run "), "{head}");
    // How long a process takes differs from run to run.
    let (timed, untimed): (Vec<&str>, Vec<&str>) = rest.lines().partition(|line| {
        line.starts_with("  at ") || line.starts_with("  proposed: --time-budget ")
    });
    let [takes, budget] = timed[..] else { panic!("{rest}") };
    assert!(takes.ends_with(" s where one configuration needs all 431 rounds"), "{takes}");
    assert!(budget.ends_with("0s") || budget.ends_with("min"), "{budget}");
    assert_snapshot!(untimed.join("\n"), @"
    metric    noise (median, worst)  seen with 95%  false alarms  proposed
    duration       0.50%,     1.01%          1.93%         0.00%  every duration <= baseline + 2%

    2 configurations in 20 processes each, drawn for two sides 200 times. Noise is that of one session: days apart it is larger, so compare runs of one job

    A run of 2 configurations with `--base`, of which each is measured in up to 431 rounds
    and judged by `every duration <= baseline + 2%`, simulated with these processes:

      nothing changed: 0.00% of runs fail (the error budget is 1%), 0.00% stay undecided
      it takes 15.0 processes a side on average: 60 processes in all

      slower by  fails  passes  undecided  processes a side
             0%   0.0%  100.0%       0.0%              15.0
             1%   0.0%  100.0%       0.0%              15.3
             2%   0.0%   12.6%      87.4%             404.5
             3%  99.9%    0.1%       0.0%              71.6
             5%  100.0%    0.0%       0.0%              15.0
            10%  100.0%    0.0%       0.0%              15.0

      proposed: every duration <= baseline + 0.5%, which catches slowdowns of 1% with 95%

    Against a stored baseline, `every duration <= baseline + 2%`, in percent of the configurations:

    --repeat  false alarms  undecided  3% slower: caught  passed
           3           0.0       16.8               52.0     0.8
           5           0.0        2.2               85.0     0.0
           7           0.0        7.8               77.0     0.0
       7..10           0.0        5.8               77.2     0.2
          10           0.0        3.8               79.2     0.0
    ");
}

#[test]
fn an_export_to_standard_output_moves_the_report_to_standard_error() {
    let gpu = FakeGpu::new();
    let one = ["calibrate", "--package", "vector", "scale", "--series", "block=64"];
    let more = ["--metrics", "duration", "--repeat", "6", "--isolate", "kernel"];
    let written = ["--replay-mode", "none", "--no-config", "--export-csv", "-"];
    let arguments = [&one[..], &more, &written].concat();
    let outcome = gpu.tool(&workshop(), &arguments).run().exits_with(0);
    assert!(outcome.stdout.starts_with("package,target,"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains(",duration,"), "{}", outcome.stdout);
    assert!(outcome.stderr.contains("noise (median, worst)"), "{}", outcome.stderr);
}
