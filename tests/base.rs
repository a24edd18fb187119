//! `--base`: a merge is measured next to the revision that it would change.

use std::fs;
use std::path::Path;

use crate::lines::NVDISASM;
use crate::registers;
use crate::screens::is_shown;
use crate::support::{Commits, FakeGpu, repository_folder, script};
use insta::assert_snapshot;
use serde_json::{Value, json};

/// Whether a line of the report mentions a failure, a change, or an entry of one side only.
fn tells(line: &str) -> bool {
    let marks = [" FAIL", " MISSING", " worse", " missing", " new"];
    marks.iter().any(|mark| line.starts_with(mark))
}

fn verdict(commits: &Commits) -> Value {
    let bytes = fs::read(commits.workspace.stored().join("verdict.json")).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// One test, since all of it builds in one folder.
#[test]
fn a_merge_is_measured_next_to_another_revision() {
    let commits = Commits::get();
    a_revision_that_cannot_be_compared_with_is_told(commits);
    a_merge_that_makes_a_kernel_worse_fails(commits);
    each_chip_is_compared_with_itself(commits);
    the_book_shows_a_merge_that_fails(commits);
    the_machine_code_of_both_revisions_is_side_by_side(commits);
    a_gpu_counts_the_machine_code_of_both_revisions(commits);
    an_unchanged_revision_passes_and_a_dirty_tree_is_said(commits);
    what_a_merge_takes_from_its_gate_is_said(commits);
    other_inputs_of_an_unverified_kernel_are_told(commits);
    a_checkout_of_the_users_is_a_base_too(commits);
    a_ci_job_leaves_what_people_and_programs_read(commits);
    slices_of_ci_jobs_come_to_the_verdict_of_one_job(commits);
    assert_eq!(commits.git(&["status", "--porcelain"]), "");
    assert_eq!(commits.git(&["branch", "--list"]), "* main");
}

fn the_change_that_adds_gpuprof_is_no_failure(commits: &Commits) {
    let before = ["--base", Commits::BEFORE];
    let alone = commits.run(&before).exits_with(0);
    let note = "the base before has nothing to compare with: it has no ";
    assert!(alone.stderr.contains(note), "{}", alone.stderr);
    assert!(alone.stderr.contains("; this revision is measured alone\n"), "{}", alone.stderr);
    assert!(alone.stdout.contains(note), "{}", alone.stdout);
    let strict = commits.run(&[&before[..], &["--strict"]].concat()).exits_with(106);
    assert!(strict.stdout.contains(note), "{}", strict.stdout);
}

fn a_revision_that_cannot_be_compared_with_is_told(commits: &Commits) {
    let unknown = commits.run(&["--base", "god"]).exits_with(2);
    assert_eq!(
        unknown.stderr,
        "error: the base god: no revision, folder or archive is called `god`: did you mean `good`?\n\
         `git fetch` updates from the remote\n"
    );
    the_change_that_adds_gpuprof_is_no_failure(commits);
    let broken = commits.run(&["--base", Commits::BROKEN]).exits_with(101);
    assert!(
        broken.stderr.ends_with(
            "error: the base broken: the harness did not build; cargo's errors are above\n"
        ),
        "{}",
        broken.stderr
    );
    let none = commits.run(&["--base", Commits::GOOD, "fresh"]).exits_with(4);
    assert!(none.stderr.contains("have no configuration in common"), "{}", none.stderr);
}

fn each_chip_is_compared_with_itself(commits: &Commits) {
    let worse = commits.run(&["--base", Commits::GOOD, "--chip", "a100,l4"]).exits_with(100);
    let failed = |chip: &str| {
        let name = format!("scale@{chip} ");
        worse.stdout.lines().filter(|line| line.trim_start().starts_with(&name)).count()
    };
    assert_eq!([failed("a100"), failed("l4")], [3, 3], "{}", worse.stdout);
    assert!(!worse.stdout.contains("differs"), "{}", worse.stdout);
}

fn the_book_shows_a_merge_that_fails(commits: &Commits) {
    let outcome = commits.workspace.gpuprof(&["run", "--offline", "--base", Commits::GOOD]);
    is_shown("cargo gpuprof run --base good", &outcome);
}

/// The changed code of `scale` in the last run.
fn changed_code(commits: &Commits) -> Value {
    let folder = commits.workspace.run_folder(verdict(commits)["run"].as_str().unwrap());
    let run: Value = serde_json::from_slice(&fs::read(folder.join("run.json")).unwrap()).unwrap();
    let code = run["comparison"]["code"].as_array().cloned().unwrap_or_default();
    let of_scale = code.iter().find(|change| change["kernel"] == "scale");
    of_scale.unwrap_or_else(|| panic!("{code:#?}")).clone()
}

fn the_machine_code_of_both_revisions_is_side_by_side(commits: &Commits) {
    let (ptxas, nvdisasm) = (registers::ptxas(), registers::nvdisasm());
    let of = |arguments: &[&str]| {
        let tool = commits.workspace.tool(arguments);
        tool.env("GPUPROF_PTXAS", &ptxas).env("GPUPROF_NVDISASM", &nvdisasm).run()
    };
    let base = ["run", "--offline", "--base", Commits::GOOD, "scale/block=64"];
    of(&base).exits_with(100);
    assert_eq!(changed_code(commits)["machine_opcodes"]["all"], json!([16, 17]));
    let diff = of(&["report", "--code-diff"]).exits_with(0).stdout;
    let (numbers, texts) = diff.split_once("\n\n").unwrap();
    assert_snapshot!(numbers, @r"
    shop::scale  block=64,n=1024  kernel scale
      the loads of shop/src/lib.rs:15 went from 4 to 32 sectors a request
      the stores of shop/src/lib.rs:15 went from 4 to 32 sectors a request
      the kernel
        load_sectors_per_request: 4 → 32 (+700.00%)
        ptx_instructions: 480 → 512 (+6.67%)
        global_sectors: 256 → 2,048 (+700.00%)
      PTX opcodes that warps executed
        shl.b32: 0 → 32
      SASS opcodes in the code
        all: 16 → 17
        SHF.L.U32: 0 → 1
    ");
    let (_, machine) = texts.split_once("\n  SASS\n").unwrap();
    let inserted = machine.lines().find(|line| line.contains('>')).unwrap();
    assert_eq!(inserted.trim(), "> 90 SHF.L.U32 R5, R0, 0x3, RZ");
    let source = of(&["report", "--source", "lib.rs:15"]).exits_with(0).stdout;
    let load = "\n           c0                   4  LDG.E R0, desc[UR4][R2.64]\n";
    assert!(source.contains(load) && source.contains("  live  sectors  "), "{source}");
}

fn a_gpu_counts_the_machine_code_of_both_revisions(commits: &Commits) {
    let folder = tempfile::tempdir().unwrap();
    let nvdisasm = folder.path().join("nvdisasm");
    script(&nvdisasm, NVDISASM);
    let gpu = FakeGpu::new();
    let base = ["run", "--offline", "--base", Commits::GOOD, "scale/block=64"];
    let section = ["--section", "SourceCounters", "--repeat", "2", "--no-gate"];
    let tool = gpu.tool(&commits.workspace, &[&base[..], &section].concat());
    tool.env("GPUPROF_NVDISASM", &nvdisasm).run().exits_with(0);
    let change = changed_code(commits);
    let loads = "the loads of shop/src/lib.rs:15 went from 4 to 32 sectors a request";
    assert_eq!(change["costs"][0], loads);
    // 32 warps execute one of the two listed instructions, of which none changed.
    let mix = json!({"executed": true, "all": [32, 32], "changed": []});
    assert_eq!((&change["machine_opcodes"], &change["opcodes"]), (&mix, &Value::Null));
}

fn a_merge_that_makes_a_kernel_worse_fails(commits: &Commits) {
    let worse = commits.run(&["--base", "worse~2", "--strict"]).exits_with(100);
    let (conclusion, _) = worse.stdout.split_once("\n\nshop::").unwrap();
    let (sentence, lists) = conclusion.split_once('\n').unwrap();
    let (said, cost) = sentence.rsplit_once("; ").unwrap();
    assert_eq!(
        said,
        "Regression: 2 of 4 judged configurations failed, worst: scale at block=64,n=1024 \
         (load_sectors_per_request +700.0 %), 1 entry of the baseline is missing here, 1 check is \
         weaker than in the baseline"
    );
    assert!(cost.ends_with(" s."), "{cost}");
    assert_snapshot!(lists.trim_start_matches('\n'), @r##"
     The loads of shop/src/lib.rs:15 went from 4 to 32 sectors a request.
     The stores of shop/src/lib.rs:15 went from 4 to 32 sectors a request.

     failed
      series  configuration     metric                    base   head    change  limit
     ──────────────────────────────────────────────────────────────────────────────────
      scale   block=64,n=1024   load_sectors_per_request     4     32  +700.0 %      4
      scale   block=128,n=1024  load_sectors_per_request     4     32  +700.0 %      4
      scale   block=64,n=1024   global_sectors             256  2,048  +700.0 %    256
      scale   block=128,n=1024  global_sectors             256  2,048  +700.0 %    256
      scale   block=64,n=1024   ptx_instructions           480    512   +6.67 %    480
      scale   block=128,n=1024  ptx_instructions           480    512   +6.67 %    480

     undecided
     shop::gone: in the baseline but not in this run
     shop::scale: the baseline's threshold `on "Nowhere" every duration <= 1 s` is gone
    "##);
    let lines: Vec<&str> = worse.stdout.lines().filter(|line| tells(line)).collect();
    assert_snapshot!(lines.join("\n"), @r"
    FAIL  every load_sectors_per_request <= baseline  32 at block=64,n=1024 (limit 4, baseline 4, 700.0% beyond); changed most at shop/src/lib.rs:15: from 0 to 896 sectors of global loads beyond the ideal ones  [default]
    FAIL  every ptx_instructions <= baseline          512 at block=64,n=1024 (limit 480, baseline 480, 6.7% beyond)  [default]
    FAIL  every global_sectors <= baseline            2,048 at block=64,n=1024 (limit 256, baseline 256, 700.0% beyond); changed most at shop/src/lib.rs:15: from 128 to 1,024 sectors of global loads  [default]
    worse  block=64,n=1024  load_sectors_per_request   4 → 32 (+700.00%)
    worse  block=64,n=1024  ptx_instructions           480 → 512 (+6.67%)
    worse  block=64,n=1024  global_sectors             256 → 2,048 (+700.00%)
    worse  block=128,n=1024  load_sectors_per_request  4 → 32 (+700.00%)
    worse  block=128,n=1024  ptx_instructions          480 → 512 (+6.67%)
    worse  block=128,n=1024  global_sectors            256 → 2,048 (+700.00%)
    missing  shop::gone is in the baseline `worse~2` and not in this run
    new  shop::fresh
    ");
    let hash = commits.git(&["rev-parse", "good"]);
    let verdict = verdict(commits);
    let run = verdict["run"].as_str().unwrap();
    let folder = commits.workspace.run_folder(run);
    let document = |name: &str| -> Value {
        serde_json::from_slice(&fs::read(folder.join(name)).unwrap()).unwrap()
    };
    let (head, base) = (document("run.json"), document("base.json"));
    assert_eq!(base["provenance"]["git_revision"], *hash);
    assert_eq!(head["comparison"]["git_revision"], *hash);
    assert_eq!(head["provenance"]["git_revision"], *commits.git(&["rev-parse", "worse"]));
    assert_ne!(base["provenance"]["ptx_sha256"], head["provenance"]["ptx_sha256"]);
    let base = folder.join("base.json").display().to_string();
    let again = commits.workspace.gpuprof(&["compare", &base, run]).exits_with(100);
    assert!(again.stdout.contains(" FAIL  every load_sectors_per_request <= baseline"));
}

fn what_a_merge_takes_from_its_gate_is_said(commits: &Commits) {
    let gone = "shop::scale: the baseline's threshold `on \"Nowhere\" every duration \
                <= 1 s` is gone";
    let ungated = "no threshold decides the exit code: `gate` is false (show-config says where)";
    let root = &commits.workspace.root;
    let (file, source) = (root.join(".config/gpuprof.toml"), root.join("shop/src/extra.rs"));
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "gate = false\n").unwrap();
    fs::write(&source, "// What a build may read.\n").unwrap();
    let green = commits.run(&["--base", "worse~2", "--strict"]).exits_with(0);
    let said = verdict(commits);
    let red = commits.run(&["--base", "worse~2", "--strict", "--gate"]).exits_with(100);
    fs::remove_file(&file).unwrap();
    fs::remove_dir(file.parent().unwrap()).unwrap();
    fs::remove_file(&source).unwrap();
    assert_eq!(said["meaning"], "thresholds did not decide");
    assert_eq!(said["comparison"]["notes"], serde_json::json!([ungated]));
    assert_eq!(said["comparison"]["weaker"], serde_json::json!([gone]));
    assert!(green.stdout.contains(&format!("\n note  {ungated}\n")), "{}", green.stdout);
    assert!(green.stderr.contains(" with uncommitted changes\n"), "{}", green.stderr);
    assert!(red.stdout.contains(&format!("\n weaker  {gone}\n")), "{}", red.stdout);
    assert!(!red.stdout.contains(ungated), "{}", red.stdout);
}

fn an_unchanged_revision_passes_and_a_dirty_tree_is_said(commits: &Commits) {
    let readme = commits.toplevel().join("README");
    let before = fs::read(&readme).unwrap();
    fs::write(&readme, "changed\n").unwrap();
    let same = commits.run(&["--base", "HEAD", "--strict"]).exits_with(0);
    fs::write(&readme, before).unwrap();
    let hash = commits.git(&["rev-parse", "--short=9", "HEAD"]);
    assert!(
        same.stderr.contains(&format!(
            "gpuprof: base: HEAD, {hash}; head: {hash} with uncommitted changes\n"
        )),
        "{}",
        same.stderr
    );
    assert!(!same.stdout.contains("worse"), "{}", same.stdout);
    let counted = "No regression: 6 configurations judged, by exact metrics and not by time; ";
    assert!(same.stdout.starts_with(counted), "{}", same.stdout);
}

fn other_inputs_of_an_unverified_kernel_are_told(commits: &Commits) {
    let [base, stored] = [["--base", "HEAD"], ["--baseline", "inputs"]];
    let strict = |sides: &[&str]| commits.run(&[sides, &["--strict", "scale"]].concat());
    commits.run(&["scale", "--save-baseline", "inputs"]).exits_with(0);
    strict(&stored).exits_with(0);
    let file = commits.workspace.root.join("shop/src/lib.rs");
    let before = fs::read_to_string(&file).unwrap();
    fs::write(&file, before.replace("random(8 * n)", "zeros(8 * n)")).unwrap();
    let changed = [strict(&base), strict(&stored)];
    let gpu = FakeGpu::new();
    let of_times = ["run", "--offline", "--base", "HEAD", "scale", "--repeat", "2", "--no-gate"];
    let on_gpu = gpu.tool(&commits.workspace, &of_times).run();
    fs::write(&file, before).unwrap();
    let weaker = "\n weaker  shop::scale/block=64,n=1024, and 1 more: the inputs are not those of \
                  the baseline\n";
    for outcome in changed.map(|it| it.exits_with(106)).into_iter().chain([on_gpu.exits_with(0)]) {
        assert!(outcome.stdout.contains(weaker), "{}", outcome.stdout);
    }
}

fn a_checkout_of_the_users_is_a_base_too(commits: &Commits) {
    // It holds the last revision that was measured.
    let list = commits.git(&["worktree", "list", "--porcelain"]);
    let mut lines = list.lines().filter_map(|line| line.strip_prefix("worktree "));
    let checkout = lines.rfind(|path| path.contains("/checkout-")).unwrap();
    let same = commits.run_next_to(Path::new(checkout), &["--strict", "copy"]).exits_with(0);
    assert!(same.stdout.contains("since the baseline: "), "{}", same.stdout);
}

/// `docs/ci/gate.sh`, which the GitHub action and the GitLab template call.
fn a_ci_job_leaves_what_people_and_programs_read(commits: &Commits) {
    let out = tempfile::tempdir().unwrap();
    let summary = out.path().join("summary.md");
    let job = |base: &str| {
        let folder = out.path().display().to_string();
        let variables = [
            ("GPUPROF_GATE_BASE", base),
            ("GPUPROF_GATE_ARGUMENTS", "--quiet"),
            ("GPUPROF_GATE_OUT", &format!("{folder}/{base}")),
            ("GPUPROF_GATE_HISTORY", &format!("{folder}/history.jsonl")),
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_STEP_SUMMARY", &format!("{folder}/summary.md")),
        ];
        let script = repository_folder().join("docs/ci/gate.sh");
        commits.workspace.script(&script, &[], &variables)
    };
    let worse = job("worse~2").exits_with(100);
    assert!(worse.stdout.contains("\n::error file=gpu/shop/src/lib.rs,line="), "{}", worse.stdout);
    assert!(!worse.stdout.contains("file=shop/"), "{}", worse.stdout);
    let cost = "The loads of gpu/shop/src/lib.rs:15 went from 4 to 32 sectors a request.";
    assert!(worse.stdout.contains(cost), "{}", worse.stdout);
    let read = |name: &str| fs::read_to_string(out.path().join("worse~2").join(name)).unwrap();
    assert!(read("junit.xml").contains("<failure "), "{}", read("junit.xml"));
    assert!(
        read("report.html").contains("✘ Regression: 2 of 4 judged configurations failed, worst: ")
    );
    assert_eq!(read("report.md"), fs::read_to_string(&summary).unwrap());
    assert!(read("report.md").contains("❌ fail"));
    let history = fs::read_to_string(out.path().join("history.jsonl")).unwrap();
    let commit =
        format!("\"revision\":{{\"commit\":\"{}\",\"date\":", commits.git(&["rev-parse", "HEAD"]));
    assert!(history.contains(&commit), "{history}");

    // The merge that adds gpuprof is neutral, also under --strict.
    let young = job(Commits::BEFORE).exits_with(0);
    let notice = "\n::notice title=gpuprof::nothing to compare with: ";
    assert!(young.stdout.contains(notice), "{}", young.stdout);

    job("broken").exits_with(101);
    let told = fs::read_to_string(&summary).unwrap();
    assert!(
        told.ends_with("ended with exit code 101 before it measured; the job's log says why.\n")
    );
    assert!(!out.path().join("broken/junit.xml").exists());
}

/// The same script, once for each of two slices and once to merge them.
fn slices_of_ci_jobs_come_to_the_verdict_of_one_job(commits: &Commits) {
    let out = tempfile::tempdir().unwrap();
    let job = |variables: &[(&str, &str)]| {
        let common = [("GPUPROF_GATE_BASE", "worse~2"), ("GPUPROF_GATE_ARGUMENTS", "--quiet")];
        let script = repository_folder().join("docs/ci/gate.sh");
        commits.workspace.script(&script, &[], &[&common, variables].concat())
    };
    let folder = |name: &str| out.path().join(name).display().to_string();
    for (slice, artifact) in [("slice:1/2", "slices/1"), ("slice:2/2", "slices/2")] {
        let measured = [("GPUPROF_GATE_PARTITION", slice), ("GPUPROF_GATE_OUT", &folder(artifact))];
        job(&measured).exits_with(0);
    }
    job(&[("GPUPROF_GATE_OUT", &folder("one"))]).exits_with(100);
    let slices = [("GPUPROF_GATE_SLICES", &*folder("slices"))];
    job(&[&slices[..], &[("GPUPROF_GATE_OUT", &folder("merged"))]].concat()).exits_with(100);
    let verdict = |name: &str| {
        let bytes = fs::read(out.path().join(name).join("run.json")).unwrap();
        let mut run: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        // The differences from run to run: names, and times.
        for differs in ["/id", "/comparison/run", "/conclusion/sentence", "/conclusion/cost"] {
            *run.pointer_mut(differs).unwrap() = serde_json::Value::Null;
        }
        for differs in ["started", "slices", "spans", "costs"] {
            run["provenance"].as_object_mut().unwrap().remove(differs);
        }
        run
    };
    assert_eq!(verdict("merged"), verdict("one"));
}

#[test]
fn archives_of_two_revisions_are_compared_where_there_is_no_cargo() {
    let commits = Commits::get();
    let both = (commits.base.as_path(), commits.head.as_path());
    let (folder, tool) = commits.archives(both, &["--strict"]);
    let worse = tool.env("CARGO", "/nonexistent").env("PATH", "/nonexistent").run();
    let worse = worse.exits_with(100);
    for line in [" FAIL  every load_sectors_per_request", " missing  shop::gone is "] {
        assert!(worse.stdout.contains(&format!("\n{line}")), "{}", worse.stdout);
    }
    let runs = fs::read_dir(folder.path().join("target/gpuprof/runs")).unwrap().flatten();
    assert!(runs.map(|run| run.path()).all(|run| run.join("base.json").is_file()));
    let (_folder, tool) = commits.archives((&commits.head, &commits.head), &["--strict"]);
    tool.run().exits_with(0);
}
