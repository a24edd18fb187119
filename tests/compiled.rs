//! Kernels after LLVM: barriers stay in place, and code that would be compiled differently is
//! refused with its source line. Kernel crates on top of each other, and crates in which only some
//! kernels can run.

use crate::support::{Archive, Outcome, Workspace, script};
use insta::assert_snapshot;
use serde_json::Value;

fn run(package: &str, more: &[&str]) -> Outcome {
    let start = ["run", "--package", package, "--message-format", "json"];
    Workspace::fixture("compiled").gpuprof(&[&start[..], more].concat())
}

#[test]
fn a_barrier_in_a_function_of_the_users_is_compiled_once() {
    let outcome = run("meets", &[]).exits_with(0);
    let rows = outcome.events_of("configuration-finished");
    assert_eq!(rows[0]["verified"], true, "{:#}", rows[0]);
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let file = folder.path().join("meets.tar.zst");
    let path = file.display().to_string();
    let archive = ["archive", "--package", "meets", "--archive-file", &path];
    Workspace::fixture("compiled").gpuprof(&archive).exits_with(0);
    let entries = Archive::read(&file).0;
    let ptx = entries.into_iter().find(|entry| entry.path.ends_with("meets.ptx"));
    let ptx = String::from_utf8(ptx.expect("it holds the kernels").bytes).expect("PTX is text");
    assert_eq!(ptx.matches("bar.sync").count(), 3, "{ptx}");
}

#[test]
fn code_that_llvm_would_miscompile_is_refused_with_its_line() {
    for (feature, line, said) in [
        ("assembly", 20, "`bar.sync` in inline assembly may be compiled into both arms"),
        ("ordering", 29, "rustc drops the ordering of this atomic operation (AcqRel) on GPUs"),
        ("fence", 39, "LLVM aborts over this compiler_fence on GPUs"),
    ] {
        // The second time, rustc has nothing to do.
        for _ in 0..2 {
            let stderr = run("refused", &["--features", feature]).exits_with(101).stderr;
            let told = format!("refused/src/lib.rs:{line}:");
            assert!(stderr.contains(&told) && stderr.contains(said), "{feature}: {stderr}");
        }
    }
    let helped = ["alone", "relaxed"];
    for feature in helped {
        run("refused", &["--features", feature]).exits_with(0);
    }
}

#[test]
fn the_line_of_a_macro_is_its_use_but_in_a_function_of_the_macro_its_definition() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let file = folder.path().join("run.json").display().to_string();
    run("twins", &["scale", "clear", "--export-json", &file]).exits_with(0);
    let report = ["report", &file, "--source", "--format", "json"];
    let json = Workspace::fixture("compiled").gpuprof(&report).exits_with(0).stdout;
    let json: Value = serde_json::from_str(&json).expect("it is JSON");
    for (series, expected) in [("five::scale", " *= $factor };"), ("::clear", "clear!(x);")] {
        let all = json["series"].as_array().into_iter().flatten();
        let of_series = |it: &&Value| it["series"].as_str().is_some_and(|it| it.ends_with(series));
        let lines = all.filter(of_series).flat_map(|it| it["lines"].as_array()).flatten();
        let stores = lines.filter(|line| line["counts"]["sectors"].as_u64() > Some(0));
        let texts: Vec<&str> = stores.filter_map(|line| line["text"].as_str()).collect();
        assert!(texts.len() == 1 && texts[0].ends_with(expected), "{series}: {texts:?}");
    }
}

#[test]
fn kernels_of_one_name_are_distinguished() {
    let outcome = run("twins", &[]).exits_with(0);
    let rows = outcome.events_of("configuration-finished");
    let told = |row: &Value| {
        let verified = if row["verified"] == true { " verified" } else { "" };
        format!("{}{verified}", row["series"]["kernel"].as_str().unwrap_or_default())
    };
    let expected = [
        "base::scale verified",
        "twins::five::scale verified",
        "five::repeat",
        "five::repeat",
        "twins::seven::scale verified",
        "seven::repeat",
        "seven::repeat",
        "clear",
        "clear",
    ];
    let said = "`bytes`: `12 * factor` is more than ";
    let refused = rows.iter().filter(|row| row.to_string().contains(said)).count();
    assert_eq!(refused, 1, "an amount that wrapped would be a small one");
    let rows: Vec<String> = rows.iter().map(told).collect();
    assert_eq!(
        {
            let mut rows = rows;
            rows.sort();
            rows
        },
        {
            let mut all = expected;
            all.sort();
            all
        }
    );
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let file = folder.path().join("twins.tar.zst");
    let path = file.display().to_string();
    let archive = ["archive", "--package", "twins", "--archive-file", &path];
    Workspace::fixture("compiled").gpuprof(&archive).exits_with(0);
    let entries = Archive::read(&file).0;
    let ptx = entries.into_iter().find(|entry| entry.path.ends_with("twins.ptx"));
    let ptx = String::from_utf8(ptx.expect("it holds the kernels").bytes).expect("PTX is text");
    // A unique kernel also has its plain name in the PTX, for other tools.
    assert!(ptx.contains(".entry clear("), "{ptx}");
    let scales = ptx.lines().filter(|line| line.contains(".entry scale$")).count();
    assert_eq!(scales, ptx.matches(".entry scale").count(), "{ptx}");
    assert!(scales >= 2, "{ptx}");
}

#[test]
fn a_kernel_crate_depends_on_a_kernel_crate_in_any_combination_of_features() {
    for features in [&[][..], &["--features", "extra"]] {
        let outcome = run("upper", features).exits_with(0);
        let rows = outcome.events_of("configuration-finished");
        let told = |row: &Value| format!("{} {}", row["series"]["kernel"], row["verified"]);
        let rows: Vec<String> = rows.iter().map(told).collect();
        assert_eq!(rows, ["\"scale\" true", "\"raise\" true"], "{features:?}");
    }
}

#[test]
fn an_unsupported_kernel_does_not_affect_its_module() {
    let outcome = run("partly", &[]).exits_with(105);
    let rows = outcome.events_of("configuration-finished");
    let told = |row: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let reason = text(&row["status_reason"]);
        let reason = reason.split(" (PTX line").next().unwrap_or_default().to_owned();
        format!("{} {}: {reason}", text(&row["series"]["kernel"]), text(&row["status"]))
    };
    let rows: Vec<String> = rows.iter().map(told).collect();
    assert_snapshot!(rows.join("\n").replace(": \n", ":\n"), @r"
    works finished:
    recurses finished:
    commits failed: kernel 'commits': the emulator does not support this: PTX instruction 'cp.async.bulk.commit_group', in 'partly::commit' at partly/src/lib.rs:58:14
    hoards invalid: the kernel has 61440 bytes of static shared memory, and the limit is 49152: dynamic shared memory may have more (dynamic_shared! in Rust, extern __shared__ in CUDA C++)
    wants failed: allocating `y` (4398046511104 elements of u32): this machine has no 17592186044416 bytes of memory
    ");
}

#[test]
fn a_harness_with_libtests_main_is_reported_with_the_remedy() {
    let outcome = run("untold", &[]).exits_with(104);
    let said = "the bench target `kernels` of package `untold` holds gpuprof::main!(…), and cargo gives it";
    let write = "\n\n  [[bench]]\n  name = \"kernels\"\n  harness = false\n";
    assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    assert!(outcome.stderr.ends_with(write), "{}", outcome.stderr);
}

#[test]
fn a_reference_that_needs_std_is_reported_with_the_attribute() {
    let outcome = run("hostly", &["--verbose"]).exits_with(101);
    let said = "`ones_on_host`, which `verify` of `ones` names, runs on the host: put #[gpuprof::host] above it \
                (hostly/src/lib.rs:19)\n";
    assert!(outcome.stderr.ends_with(said), "{}", outcome.stderr);
    // `--verbose` shows what is run.
    for command in ["cargo build --message-format", " -Zbuild-std=core ", "     Running `"] {
        assert!(outcome.stderr.contains(command), "{command}: {}", outcome.stderr);
    }
    let compiled = outcome.stderr.contains("gpuprof: building the kernels of `hostly` for sm_80");
    assert!(compiled, "{}", outcome.stderr);
}

#[test]
fn a_helper_crate_that_needs_std_is_reported_with_the_remedy() {
    let stderr = run("needy", &[]).exits_with(101).stderr;
    let said = "The crate `needs-std`, which kernels use, needs the standard library: put \
                #![no_std] at the top of needs-std/src/lib.rs, or \
                #![cfg_attr(not(feature = \"std\"), no_std)]\n";
    assert!(stderr.ends_with(said), "{stderr}");
    assert!(!stderr.contains("#[gpuprof::host]"), "{stderr}");
}

#[test]
fn a_source_that_changes_between_the_harness_and_the_kernels_is_an_error() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let workspace = Workspace::fixture("compiled").copied_to(&folder.path().join("compiled"));
    let source = folder.path().join("compiled/meets/src/lib.rs");
    // An editor that saves while rustc compiles for the device.
    let editor = folder.path().join("editor");
    script(
        &editor,
        &format!(
            "#!/bin/sh\n\
             case \"$*\" in *'--crate-name meets '*nvptx64*) echo '// edited' >> {};; esac\n\
             exec \"$@\"\n",
            source.display()
        ),
    );
    let run = || {
        let tool = workspace.tool(&["run", "--quiet", "--package", "meets"]);
        tool.env("RUSTC_WRAPPER", &editor).run()
    };
    let stderr = run().exits_with(101).stderr;
    let said = "the source of `meets` changed while gpuprof built it: the harness and the kernels \
                may be of two states; run the command again\n";
    assert!(stderr.ends_with(said), "{stderr}");
    script(&editor, "#!/bin/sh\nexec \"$@\"\n");
    run().exits_with(0);
}
