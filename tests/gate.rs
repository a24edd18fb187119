//! The gate in a merge: a baseline, then commits: one regresses, one does not, and one
//! removes a kernel; and runs that are killed, resumed, or cannot be written.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::support::{Outcome, Packed, Workspace, with_limit};
use insta::assert_snapshot;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// The code of `main`: one load a thread, neighbours next to each other.
const GOOD: &str = "tid";

/// A regression: neighbours 128 bytes apart, so that each needs a separate sector.
const STRIDED: &str = "stride";

/// A small regression: 4 bytes off, so that a warp's 128 bytes need one more sector.
const MISALIGNED: &str = "misaligned";

/// A regression that no ratio shows: everything is loaded twice.
const TWICE: &str = "twice";

/// A crate with the kernels `copy` and `scale` from PTX; `copy` reads by `index`. They read the
/// first half of a buffer and write the second.
fn sources(index: &str, with_scale: bool) -> Vec<(&'static str, String)> {
    let shift = if index == STRIDED { 7 } else { 2 };
    let offset = if index == MISALIGNED { 4 } else { 0 };
    // From another place, and used: ptxas would drop a load that it can do without.
    let again = if index == TWICE {
        "ld.global.f32 %f0, [%rd3+4096];\nadd.f32 %f1, %f1, %f0;\n"
    } else {
        ""
    };
    let ptx = |name: &str, more: &str| {
        format!(
            ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry {name}(.param .u64 a)\n{{\n\
             .reg .b64 %rd<4>;\n.reg .b32 %r<4>;\n.reg .f32 %f<2>;\n\
             ld.param.u64 %rd1, [a];\nmov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, {shift};\n\
             cvt.u64.u32 %rd2, %r2;\nadd.u64 %rd3, %rd1, %rd2;\nld.global.f32 %f1, [%rd3+{offset}];\n{again}{more}\
             st.global.f32 [%rd3+8192], %f1;\nret;\n}}\n"
        )
    };
    let series = |name: &str, more: &str| {
        format!(
            "#[gpuprof::series(block = [32, 64], metrics(duration, load_sectors_per_request))]\n\
             fn {name}(run: &mut Run<'_>) -> Result<()> {{\n\
             let kernel = run.context().load_module(Ptx::from_src(r#\"{}\"#))?.load_function(\"{name}\")?;\n\
             let stream = run.stream();\n\
             let data = stream.alloc_zeros::<f32>(2 * 64 * 32)?;\n\
             run.grid(1)?;\n\
             run.measure(|launch| unsafe {{ stream.launch_builder(&kernel).arg(&data).launch(launch.config()) }})\n\
             }}\n",
            ptx(name, more)
        )
    };
    let mut lib = String::from(
        "use gpuprof::Result;\nuse gpuprof::cudarc::driver::PushKernelArg;\nuse gpuprof::cudarc::nvrtc::Ptx;\nuse gpuprof::prelude::*;\n",
    );
    lib.push_str(&series("copy", ""));
    if with_scale {
        lib.push_str(&series("scale", "add.f32 %f1, %f1, %f1;\n"));
    }
    vec![("shop/src/lib.rs", lib)]
}

/// The workspace at the commit that holds these sources. Everything is built in the shared target.
struct Repository {
    folder: TempDir,
    workspace: Workspace,
}

impl Repository {
    fn new() -> Self {
        let folder = TempDir::new().expect("a temporary folder can be made");
        let runtime = crate::support::repository_folder().join("runtime");
        let manifest = format!(
            "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[dependencies]\n\
             gpuprof = {{ path = {runtime:?} }}\n[[bench]]\nname = \"kernels\"\nharness = false\n"
        );
        let files = [
            ("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"shop\"]\n"),
            ("shop/Cargo.toml", manifest.as_str()),
            ("shop/benches/kernels.rs", "gpuprof::main!(shop);\n"),
        ];
        let mut workspace = Workspace::of(folder.path(), &files);
        let lock = crate::support::repository_folder().join("Cargo.lock");
        fs::copy(lock, folder.path().join("Cargo.lock")).expect("the repository is locked");
        // Runs have separate folders, so that another test's run is not `latest`; builds share a
        // folder.
        let shared = Workspace::repository().target;
        workspace.target = shared.join("gate");
        for built in ["release", "gpuprof/kernels"] {
            let (all, here) = (shared.join(built), workspace.target.join(built));
            fs::create_dir_all(&all).expect("the folder can be made");
            fs::create_dir_all(here.parent().expect("it has one")).expect("the folder can be made");
            if symlink(all, &here).is_err() {
                assert!(here.exists(), "{} can be made", here.display());
            }
        }
        let _ = fs::remove_dir_all(workspace.target.join("gpuprof/workspaces"));
        Self { folder, workspace }
    }

    fn commit(&self, index: &str, with_scale: bool) -> &Self {
        for (path, text) in sources(index, with_scale) {
            let path = self.folder.path().join(path);
            fs::create_dir_all(path.parent().expect("files lie in folders")).expect("writable");
            fs::write(path, text).expect("the file can be written");
        }
        self
    }

    fn run(&self, arguments: &[&str]) -> Outcome {
        self.workspace.gpuprof(&[&["run", "--quiet", "--offline", "--all"], arguments].concat())
    }

    fn baseline(&self) -> String {
        self.folder.path().join(".config/gpuprof/baselines/main.json").display().to_string()
    }

    fn accept_main(&self) {
        self.commit(GOOD, true).run(&[]).exits_with(0);
        self.workspace.gpuprof(&["baseline", "accept", "main", "--checked-in"]).exits_with(0);
        assert!(Path::new(&self.baseline()).is_file());
    }
}

/// One test, since all of it builds and runs in one target folder, where `latest` has to be its
/// own.
#[test]
fn a_merge_passes_without_a_regression_and_fails_with_one() {
    let repository = Repository::new();
    a_merge_is_let_through_or_not(&repository);
    stored_runs_are_compared_and_reported_without_running_anything(&repository);
    a_full_disk_ends_with_110_and_shows_what_was_measured(&repository);
}

fn a_merge_is_let_through_or_not(repository: &Repository) {
    repository.accept_main();

    let harmless = repository.run(&["--baseline", "main", "--strict"]).exits_with(0);
    assert!(harmless.stdout.contains("since the baseline: 8 same"), "{}", harmless.stdout);

    let regressing = repository.commit(STRIDED, true).run(&["--baseline", "main", "--strict"]);
    let regressing = regressing.exits_with(100);
    let verdicts: Vec<&str> = regressing
        .stdout
        .lines()
        .filter(|line| line.starts_with(" FAIL") || line.starts_with(" worse"))
        .collect();
    assert_snapshot!(verdicts.join("\n"), @"
     FAIL  every load_sectors_per_request <= baseline  32 at block=32 (limit 4, baseline 4, 700.0% beyond)  [default]
     FAIL  every global_sectors <= baseline            64 at block=32 (limit 8, baseline 8, 700.0% beyond)  [default]
     worse  block=32  load_sectors_per_request  4 → 32 (+700.00%)
     worse  block=32  global_sectors            8 → 64 (+700.00%)
     worse  block=64  load_sectors_per_request  4 → 32 (+700.00%)
     worse  block=64  global_sectors            16 → 128 (+700.00%)
     FAIL  every load_sectors_per_request <= baseline  32 at block=32 (limit 4, baseline 4, 700.0% beyond)  [default]
     FAIL  every global_sectors <= baseline            64 at block=32 (limit 8, baseline 8, 700.0% beyond)  [default]
     worse  block=32  load_sectors_per_request  4 → 32 (+700.00%)
     worse  block=32  global_sectors            8 → 64 (+700.00%)
     worse  block=64  load_sectors_per_request  4 → 32 (+700.00%)
     worse  block=64  global_sectors            16 → 128 (+700.00%)
    ");
    let verdict: Value = serde_json::from_slice(
        &fs::read(repository.workspace.stored().join("verdict.json")).expect("it is written"),
    )
    .expect("it is JSON");
    assert_eq!(verdict["exit_code"], 100);
    repository.run(&["--baseline", "main", "--strict", "--no-gate"]).exits_with(0);

    let one_more = repository.commit(MISALIGNED, true).run(&["--baseline", "main"]).exits_with(100);
    let told = " FAIL  every load_sectors_per_request <= baseline  5 at block=32 (limit 4, baseline 4, 25.0% beyond)";
    assert!(one_more.stdout.contains(told), "{}", one_more.stdout);

    what_no_ratio_shows_fails(repository);

    let removing = repository.commit(GOOD, false);
    let removed = removing.run(&["--baseline", "main", "--strict"]).exits_with(106);
    let told = " missing  shop::scale is in the baseline `main` and not in this run";
    assert!(removed.stdout.contains(told), "{}", removed.stdout);
    removing.run(&["--baseline", "main"]).exits_with(0);
    removing.run(&["--baseline", "main", "--strict", "copy"]).exits_with(0);

    a_baseline_that_is_not_there_is_an_error(removing);

    fs::write(repository.baseline(), "{\"schema_version\": 1, \"id\"").expect("it can be written");
    let torn = removing.run(&["--baseline", "main"]).exits_with(96);
    assert!(torn.stderr.contains("main.json is not a run document: byte 26"), "{}", torn.stderr);
}

fn a_baseline_that_is_not_there_is_an_error(repository: &Repository) {
    let renamed = repository.run(&["--baseline", "mian"]).exits_with(2);
    assert_eq!(renamed.stdout, "", "nothing was measured");
    let told = "error: no baseline is named `mian`: did you mean `main`?\n\
                --no-gate continues without a baseline\n";
    assert!(renamed.stderr.contains(told), "{}", renamed.stderr);
    let nowhere = repository.run(&["--baseline", "./nowhere.json"]).exits_with(2);
    assert!(nowhere.stderr.contains("there is no baseline file ./nowhere.json"));
    let ungated = repository.run(&["--baseline", "mian", "--no-gate"]).exits_with(0);
    assert!(ungated.stdout.contains(" missing  no baseline is named `mian`"), "{}", ungated.stdout);
    // The first run of a gate makes the baseline of the next ones.
    let makes = ["--baseline", "fresh", "--save-baseline", "fresh"];
    repository.run(&makes).exits_with(0);
    let held = repository.run(&makes).exits_with(0);
    assert!(held.stdout.contains("since the baseline: "), "{}", held.stdout);
}

fn what_no_ratio_shows_fails(repository: &Repository) {
    // As many sectors a request, and twice as many requests.
    let twice = repository.commit(TWICE, true).run(&["--baseline", "main"]).exits_with(100);
    for told in [
        " PASS  every load_sectors_per_request <= baseline  4 at block=32 ",
        " FAIL  every global_sectors <= baseline    12 at block=32 (limit 8, baseline 8, 50.0% beyond)",
        " FAIL  every global_bytes <= baseline      384 B at block=32 (limit 256 B",
    ] {
        assert!(twice.stdout.contains(told), "{told}: {}", twice.stdout);
    }
}

fn stored_runs_are_compared_and_reported_without_running_anything(repository: &Repository) {
    repository.commit(GOOD, true).run(&["--save-baseline", "before"]).exits_with(0);
    repository.commit(STRIDED, true).run(&["--save-baseline", "after"]).exits_with(0);
    let tool = |arguments: &[&str]| repository.workspace.gpuprof(arguments);
    tool(&["compare", "before", "latest"]).exits_with(100);
    let itself = tool(&["compare", "before", "before"]).exits_with(2);
    let same = "error: `before` and `before` are the same run, ";
    assert!(itself.stderr.starts_with(same), "{}", itself.stderr);
    // The thresholds of a run go with it.
    repository.run(&["--threshold", "every global_sectors <= 1"]).exits_with(100);
    let again = tool(&["compare", "after", "latest"]).exits_with(100);
    assert!(again.stdout.contains(" FAIL  every global_sectors <= 1 "), "{}", again.stdout);
    let looser = ["compare", "after", "latest", "--threshold", "every global_sectors <= 1e6"];
    tool(&looser).exits_with(0);
    let nowhere = "where block==63 global_sectors <= 1";
    let refused = tool(&["compare", "after", "latest", "--threshold", nowhere]).exits_with(2);
    assert!(refused.stderr.contains("axis `block` has no value 63"), "{}", refused.stderr);
    an_early_error_leaves_no_verdict_of_an_earlier_run(repository);
    repository.run(&["--save-baseline", "after"]).exits_with(0);
    let compared = |more: &[&str], code| {
        tool(&[&["compare", "before", "--format", "junit"], more].concat()).exits_with(code).stdout
    };
    assert!(!compared(&["--no-gate"], 0).contains("<failure "));
    assert!(compared(&[], 100).contains("<failure "));
    let ungated = ["--no-gate", "--threshold", "every global_sectors <= 1"];
    repository.run(&ungated).exits_with(0);
    // A report agrees with the exit code of its run.
    let stored = tool(&["report", "latest", "--format", "junit"]).exits_with(0).stdout;
    assert!(stored.contains("<skipped ") && !stored.contains("<failure "), "{stored}");
    repository.run(&["--save-baseline", "after"]).exits_with(0);
    let listed = tool(&["baseline", "list", "--message-format", "json"]).exits_with(0);
    assert!(listed.stdout.contains(r#""name":"before""#), "{}", listed.stdout);
    for format in ["table", "json", "json-lines", "csv", "markdown", "junit", "github", "bmf"] {
        let report = tool(&["report", "latest", "--format", format]).exits_with(0);
        assert!(format == "github" || !report.stdout.is_empty(), "{format}");
    }
    stored_runs_are_looked_at_as_runs_are(&tool);
    two_baselines_are_compared_without_measuring(repository);
}

fn an_early_error_leaves_no_verdict_of_an_earlier_run(repository: &Repository) {
    let verdict = repository.workspace.stored().join("verdict.json");
    repository.run(&["--dry-run"]).exits_with(0);
    assert!(verdict.exists());
    repository.run(&["no-such-series"]).exits_with(4);
    assert!(!verdict.exists());
}

fn stored_runs_are_looked_at_as_runs_are(tool: &dyn Fn(&[&str]) -> Outcome) {
    let narrowed = tool(&["report", "latest", "--filter", "block >= 64"]).exits_with(0);
    assert!(narrowed.stdout.contains("--filter keeps 1 of 2 rows"), "{}", narrowed.stdout);
    let csv = ["report", "latest", "--format", "csv", "--columns", "load_sectors_per_request"];
    let csv = tool(&[&csv[..], &["--filter", "block == 32"]].concat()).exits_with(0);
    let rows: Vec<&str> = csv.stdout.lines().skip(1).collect();
    let shown = ",block=32,finished,load_sectors_per_request,32,";
    assert!(rows.len() == 2 && rows.iter().all(|row| row.contains(shown)), "{rows:#?}");
    let best_by =
        ["compare", "before", "--no-gate", "--all", "--best-by", "load_sectors_per_request"];
    let compared = tool(&best_by).exits_with(0);
    let told = "best by load_sectors_per_request: block=32 and 1 more with the same value";
    assert!(compared.stdout.contains(told), "{}", compared.stdout);
    for (options, told) in [
        (&["--filter", "blok == 32"][..], "blok"),
        (&["--best-by", "duraton"], "did you mean `duration`?"),
        (&["--format", "junit", "--top", "1"], "--format junit writes the whole run; view options"),
    ] {
        let refused = tool(&[&["report", "latest"], options].concat()).exits_with(2);
        assert!(refused.stderr.contains(told), "{}", refused.stderr);
    }
}

fn two_baselines_are_compared_without_measuring(repository: &Repository) {
    let runs = repository.workspace.stored().join("runs");
    let count = || fs::read_dir(&runs).expect("there are runs").count();
    let before = count();
    let no_row = ["--threshold", "where block==7 global_sectors <= 1"];
    let of = ["--load-baseline", "after", "--baseline", "before"];
    repository.run(&[&of[..], &no_row].concat()).exits_with(2);
    let worse = repository.run(&["--load-baseline", "after", "--baseline", "before"]);
    let worse = worse.exits_with(100);
    assert!(worse.stdout.contains(" worse  block=64  load_sectors_per_request  4 → 32"));
    repository.run(&["--load-baseline", "before", "--baseline", "after"]).exits_with(0);
    let own = ["--threshold", "every load_sectors_per_request <= baseline + 1000%"];
    let wide = ["--load-baseline", "after", "--baseline", "before"];
    // It replaces the default one of its metric alone.
    let wide = repository.run(&[&wide[..], &own].concat()).exits_with(100);
    assert!(wide.stdout.contains(" PASS  every load_sectors_per_request <= baseline + 1000%"));
    assert!(wide.stdout.contains(" FAIL  every global_sectors <= baseline "), "{}", wide.stdout);
    assert_eq!(count(), before, "something was run");
    for (arguments, told) in [
        (
            &["--load-baseline", "after"][..],
            "has nothing to be compared with: add --baseline OTHER",
        ),
        (
            &["--load-baseline", "aftr", "--baseline", "before"],
            "no baseline, file or run is named `aftr`: did you mean `after`?",
        ),
        (&["--load-baseline", "after", "--resume"], "cannot be used with"),
        (&["copy", "--load-baseline", "after", "--baseline", "before"], "cannot be used with"),
        (
            &["--load-baseline", "after", "--baseline", "before", "-p", "scan"],
            "cannot be used with",
        ),
        (
            &["--load-baseline", "after", "--baseline", "before", "--partition", "hash:1/2"],
            "cannot be used with",
        ),
    ] {
        let refused = repository.run(arguments).exits_with(2);
        assert!(refused.stderr.contains(told), "{}", refused.stderr);
    }
    let lost = ["--load-baseline", "after", "--baseline", "befor"];
    let lost = repository.run(&lost).exits_with(2);
    assert!(lost.stderr.contains("did you mean `before`?"), "{}", lost.stderr);
}

/// Starts the sweep of the workshop that sleeps for a minute in its second configuration, kills it
/// with SIGKILL when the first one has ended, and continues with it under a limit for the second.
fn killed_and_resumed(limit: &str) -> Outcome {
    let packed = Packed::new();
    let sweep = ["sleeps", "--series", "milliseconds=1,60000,2"];
    let mut child = packed.tool(&sweep).into_command().spawn().expect("it can be started");
    let mut lines = BufReader::new(child.stderr.take().expect("standard error is piped")).lines();
    let first = lines.find(|line| line.as_ref().is_ok_and(|line| line.starts_with("[1/3]")));
    assert!(first.is_some(), "it ended before its first row");
    kill_process(Pid::from_child(&child), Signal::KILL).expect("it still runs");
    child.wait().expect("it can be waited for");

    let other = ["sleeps", "--series", "milliseconds=1,3", "--resume"];
    let refused = packed.tool(&other).run().exits_with(2);
    assert!(refused.stderr.contains("the axes or the selection of configurations changed since"));

    packed.tool(&[&sweep[..], &["--resume", "--timeout", limit]].concat()).run()
}

#[test]
fn a_killed_run_is_resumed_and_runs_no_finished_pass_again() {
    // The configuration in flight runs into the limit this time; the finished one is not run again.
    let summary = "3 configurations of 1 series: 2 finished, 1 timed out";
    let (_, resumed) = with_limit(killed_and_resumed, |outcome| outcome.stdout.contains(summary));
    let resumed = resumed.exits_with(105);
    assert!(resumed.stderr.contains("1 passes are done"), "{}", resumed.stderr);
    assert!(resumed.stdout.contains(summary), "{}", resumed.stdout);
}

fn a_full_disk_ends_with_110_and_shows_what_was_measured(repository: &Repository) {
    repository.commit(GOOD, true).run(&[]).exits_with(0);
    let outcome = repository.run(&["--export-json", "/dev/full"]).exits_with(110);
    assert!(
        outcome.stdout.contains("4 configurations of 2 series: 4 finished"),
        "{}",
        outcome.stdout
    );
    assert!(outcome.stderr.contains("cannot write /dev/full"), "{}", outcome.stderr);
}
