//! Declared kernels: from an annotation in Rust to a verdict on kernels that live in PTX or CUDA
//! C++.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::replay::{arguments, values};
use crate::support::{Archive, FakeGpu, Outcome, Tool, Workspace, repository_folder};
use crate::wheels::unpacked;
use insta::assert_snapshot;
use serde_json::Value;

/// Holds CUDA's headers; no later version than the emulated driver takes.
const NVRTC: &str = "nvidia-cuda-nvrtc==13.3.33";

fn run(package: &str, more: &[&str]) -> Outcome {
    in_fixture(&[&["run", "--package", package, "--message-format", "json"], more].concat())
}

/// The subcommand in the fixture, with the pinned NVRTC.
fn in_fixture(arguments: &[&str]) -> Outcome {
    let library = unpacked(NVRTC).join("nvidia/cu13/lib").display().to_string();
    Workspace::fixture("declared").tool(arguments).env("GPUPROF_NVRTC", &library).run()
}

/// Each configuration with its status, why it has that, and whether it was verified.
fn rows(outcome: &Outcome) -> String {
    let row = |row: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let verified = if row["verified"] == true { " verified" } else { "" };
        let reason = row["status_reason"].as_str().map(|why| format!(": {why}"));
        let status = text(&row["status"]);
        format!(
            "{}/{} {status}{verified}{}",
            text(&row["series"]["kernel"]),
            text(&row["configuration"]),
            reason.unwrap_or_default()
        )
    };
    let mut rows: Vec<String> =
        outcome.events_of("configuration-finished").iter().map(row).collect();
    rows.sort();
    rows.join("\n")
}

#[test]
fn kernels_in_ptx_are_swept_verified_and_judged() {
    let outcome = run("in-ptx", &[]).exits_with(0);
    assert_snapshot!(rows(&outcome), @r"
    crowded/block=64,n=24 finished verified
    fill/block=64,VALUE=1 finished verified
    fill/block=64,VALUE=2 finished verified
    look_up/block=64,more=0 finished verified
    look_up/block=64,more=40 finished verified
    scale/block=128,n=1000 finished verified
    scale/block=256,n=1000 finished verified
    scale/block=512,n=1000 invalid: a block of 512 threads exceeds the launch bounds of `scale`, 256, for which it is compiled (.maxntid)
    scale_in_warps/n=1000,warps=16 invalid: a block of 512 threads exceeds the launch bounds of `scale`, 256, for which it is compiled (.maxntid)
    scale_in_warps/n=1000,warps=4 finished verified
    shifted/block=64 finished verified
    ");
    let judged = outcome.events_of("threshold-judged");
    assert_eq!(judged[0]["judgement"]["verdict"], "pass", "{judged:#?}");
}

#[test]
fn slices_of_kernels_in_one_file_can_be_merged() {
    let folder = tempfile::tempdir().unwrap();
    let slices = folder.path().display().to_string();
    for part in ["slice:1/2", "slice:2/2"] {
        let own = ["--partition", part, "--partition-by", "configuration", "--slices", &slices];
        run("in-cuda", &own).exits_with(0);
    }
    in_fixture(&["merge", &slices]).exits_with(0);
}

#[test]
fn a_declaration_that_does_not_fit_its_entry_point_is_shown_where_it_is_written() {
    let told = |feature: &str| {
        let stderr = run("in-ptx", &["--features", feature]).exits_with(101).stderr;
        let (_, told) = stderr.split_once("error: ").expect("there is an error");
        told.to_owned()
    };
    assert_snapshot!(told("sizes"), @r"
    declarations do not fit their kernels:
    error: parameter 1 of `scale` is declared as `u64`, 8 bytes, and its PTX takes 4
      --> in-ptx/src/lib.rs:58:23
    error: parameter 2 of `scale` is declared as `f64`, 8 bytes, and its PTX takes 4
      --> in-ptx/src/lib.rs:58:31
    error: `scale` is declared with 1 parameter, and its PTX takes 4
      --> in-ptx/src/lib.rs:61
    error: parameter 1 of `shifted` is declared as `Wide`, 8 bytes aligned to 8, and its PTX takes 8 aligned to 4
      --> in-ptx/src/lib.rs:75:26
    ");
    assert_snapshot!(told("names"), @r#"
    declarations do not fit their kernels:
    error: in-ptx/90bab4f9ad84.ptx has no entry point `fill`: add symbol = "fill<1>"
      --> in-ptx/src/lib.rs:84:12
    error: in-ptx/90bab4f9ad84.ptx has no entry point `other`: it has fill<1>, fill<2>
      --> in-ptx/src/lib.rs:87:12
    "#);
}

#[test]
fn cuda_cpp_files_are_compiled_swept_and_verified_and_an_instance_may_fail_alone() {
    let outcome = run(
        "in-cuda",
        &["scale/", "offset/", "count/", "flagged/", "axpy/", "kernels::pairs/", "folded/"],
    )
    .exits_with(0);
    assert_snapshot!(rows(&outcome), @r#"
    axpy/block=64,n=256,T=f16 finished verified
    axpy/block=64,n=256,T=f32 finished verified
    axpy/block=64,n=256,T=f64 finished verified
    count/block=64,n=256,FIRST=3,UP=false finished
    count/block=64,n=256,FIRST=3,UP=true finished
    flagged/block=64,n=256,way=down finished verified
    flagged/block=64,n=256,way=up finished verified
    folded/block=64,n=256,Op=Product finished verified
    folded/block=64,n=256,Op=Sum finished verified
    offset/block=64,n=256,WIDTH=1 finished verified
    offset/block=64,n=256,WIDTH=4 finished verified
    pairs/block=64,n=256,Op=Product,T=f16 finished verified
    pairs/block=64,n=256,Op=Product,T=f32 finished verified
    pairs/block=64,n=256,Op=Sum,T=f16 finished verified
    pairs/block=64,n=256,Op=Sum,T=f32 finished verified
    scale/block=128,n=1000,ITEMS=1 finished verified
    scale/block=128,n=1000,ITEMS=2 finished verified
    scale/block=128,n=1000,ITEMS=3 invalid: `scale<3, float>` does not compile: kernels/scale.cu:13:5: static assertion failed with "three items are not a power of two"
    scale/block=512,n=1000,ITEMS=1 invalid: a block of 512 threads exceeds the launch bounds of `scale<1, float>`, 256, for which it is compiled (.maxntid)
    scale/block=512,n=1000,ITEMS=2 invalid: a block of 512 threads exceeds the launch bounds of `scale<2, float>`, 256, for which it is compiled (.maxntid)
    scale/block=512,n=1000,ITEMS=3 invalid: `scale<3, float>` does not compile: kernels/scale.cu:13:5: static assertion failed with "three items are not a power of two"
    "#);
    let provenance = &outcome.events_of("run-started")[0]["provenance"];
    assert_eq!(provenance["kernel_toolchain"], "NVRTC 13.3.33");
    let modules = provenance["ptx_sha256"].as_object().expect("modules have hashes").keys();
    assert_snapshot!(modules.cloned().collect::<Vec<_>>().join("\n"), @r"
    in-cuda/kernels/scale.cu -Ikernels/include -DOFFSET=7
    in-cuda/kernels/scale.cu -Ikernels/include -DOFFSET=7 -DWIDTH=1
    in-cuda/kernels/scale.cu -Ikernels/include -DOFFSET=7 -DWIDTH=4
    in-cuda/kernels/types.cu
    ");
}

#[test]
fn a_cooperative_launch_has_a_barrier_of_the_grid_and_a_grid_that_does_not_fit_is_invalid() {
    let outcome = run("in-cuda", &["turned/"]).exits_with(0);
    assert_snapshot!(rows(&outcome), @"
    turned/block=64,n=1048576,how=together invalid: kernel 'turned' cannot be launched cooperatively: its 16384 blocks do not run together, the device holds 4224 of them
    turned/block=64,n=512,how=together finished verified
    ");
    // Without the key the barrier has no grid to wait for.
    let outcome = run("in-cuda", &["turned/", "--series", "how=alone"]).exits_with(105);
    assert!(rows(&outcome).contains("how=alone failed: "), "{}", rows(&outcome));
}

#[test]
fn structs_are_passed_by_value_and_void_pointers_take_anything() {
    let outcome = run("in-cuda", &["map/", "window/", "copy/", "ends/", "::add/"]).exits_with(0);
    assert_snapshot!(rows(&outcome), @r"
    add/block=64 finished verified
    copy/block=64,n=100 finished verified
    ends/block=64 finished verified
    map/block=64,way=amount finished verified
    map/block=64,way=signed finished verified
    window/block=64,first=0 finished verified
    window/block=64,first=7 finished verified
    ");
    let outcome = run("in-ptx", &["shifted/"]).exits_with(0);
    assert_snapshot!(rows(&outcome), @"shifted/block=64 finished verified");
}

#[test]
fn errors_in_cuda_cpp_are_shown_with_file_and_line() {
    let told = |feature: &str| {
        let stderr = run("in-cuda", &["--features", feature]).exits_with(101).stderr;
        stderr.split_once("error: ").expect("there is an error").1.to_owned()
    };
    assert_snapshot!(told("types"), @r#"
    declarations do not fit their kernels:
    error: parameter 2 of `offset` is declared as `*mut u32`, and the kernel takes `int *`
      --> in-cuda/src/lib.rs:69:38
       = note: declare it as `*mut i32`
    error: parameter 2 of `copy` is declared as `*mut u8`, and the kernel takes `const void *`
      --> in-cuda/src/values.rs:98:40
       = note: declare it as `*const u8`
    error: parameter 3 of `copy` is declared as `*const u8`, and the kernel takes `void *`
      --> in-cuda/src/values.rs:98:53
       = note: declare it as `*mut u8`
    error: parameter 1 of `add` is declared as `*const u64`, and the kernel takes `const Fp *`
       --> in-cuda/src/values.rs:101:21
    error: the declaration of `window` does not fit the kernel: identifier "Window" is undefined
       --> in-cuda/src/values.rs:123:25
        = note: `Window` is called `Window` in C++, unless #[link_name = "ns::Window"] in front of the parameter says otherwise
    error: parameter 1 of `map` is declared as `Line` (`shapes::Window`), and the kernel takes `Line`
       --> in-cuda/src/values.rs:132:51
        = note: if it is the same struct, say so by #[link_name = "Line"]
    error: parameter 1 of `window` is declared as `Window` (`shapes::Window`), and the kernel takes `shapes::Window`
       --> in-cuda/src/values.rs:112:57
        = note: `Window` has 8 bytes aligned to 4 in Rust, and `shapes::Window` has 16 bytes aligned to 8 in C++; has it the same fields?
    "#);
    assert_snapshot!(told("names"), @r#"
    declarations do not fit their kernels:
    error: `nowhere` names no kernel
      --> in-cuda/src/lib.rs:78:12
       = note: the kernels there are flagged, ns::count, offset, scale
    error: `ofset` names no kernel
      --> in-cuda/src/lib.rs:81:12
       = note: did you mean `offset`?
    error: `count<1, false>` names no kernel
      --> in-cuda/src/lib.rs:87:22
       = note: `ns::count` is there: write symbol = "ns::count<1, false>"
       = note: the same holds for 3 other instances: `count<1, true>`, `count<2, false>`, `count<2, true>`
    error: `scale<1, float>` is declared with 2 parameters, and the kernel takes 4
      --> in-cuda/src/lib.rs:97
       = note: the kernel takes (unsigned int, float, const float *, float *)
       = note: the same holds for 3 other instances: `scale<1, double>`, `scale<2, float>`, `scale<2, double>`
    "#);
    assert_snapshot!(told("syntax"), @r#"
    CUDA C++ does not compile:
    error: identifier "undefined_name" is undefined
     --> kernels/broken.cu:2:22
      |
    2 |     y[threadIdx.x] = undefined_name;
      |                      ^
    error: expected a "," or ">"
     --> kernels/item.cu:1:15
      |
    1 | template <int N>
      |               ^
      = note: no symbol holds the constant `N` of `emptied`, so it is defined for the compiler, as -DN=1; if it is an argument of a template, write {N} in symbol = "…", else give it another name
    "#);
}

#[test]
fn variables_of_the_device_are_set_by_the_declaration_or_warned_about() {
    let outcome =
        run("in-cuda", &["filter/", "of_pairs/", "unset/", "sums_of_four/"]).exits_with(0);
    assert_snapshot!(rows(&outcome), @r"
    filter/block=64,n=64,shift=1 finished verified
    filter/block=64,n=64,shift=2 finished verified
    of_pairs/block=64 finished verified
    sums_of_four/block=64 finished verified
    unset/block=64 finished
    ");
    let warnings = outcome.stderr.lines().skip_while(|line| !line.starts_with("warning"));
    assert_snapshot!(warnings.take(3).collect::<Vec<_>>().join("\n"), @r"
    warning: `of_pairs` reads the constant `pairs`, which nothing sets: it is zero
       --> in-cuda/src/lib.rs:206
        = note: declare it in the block, such as `static pairs: [f32; 16];`, and set it with globals(pairs = …)
    ");
    assert_snapshot!(rows(&run("in-ptx", &["look_up"]).exits_with(0)), @r"
    look_up/block=64,more=0 finished verified
    look_up/block=64,more=40 finished verified
    ");
    let stderr = run("in-cuda", &["--features", "globals"]).exits_with(101).stderr;
    let (_, told) = stderr.split_once("error: ").expect("there is an error");
    assert_snapshot!(told, @r#"
    declarations do not fit their kernels:
    error: `bias` is declared as `f64`, 8 bytes, and it has 4
       --> in-cuda/src/lib.rs:251:22
    error: `nowhere` names no variable: identifier "nowhere" is undefined
       --> in-cuda/src/lib.rs:252:25
        = note: is its namespace missing, or the file that defines it?
    "#);
}

#[test]
fn an_undeclared_write_to_a_variable_is_an_error() {
    let outcome = run("in-cuda", &["--features", "written", "counted/"]).exits_with(105);
    let told = "counted/block=64,n=64 failed: the kernel wrote `calls`, which is declared as \
                `static calls`; declare it as `static mut calls`, so that every launch finds what \
                the first one found";
    assert_eq!(rows(&outcome).trim(), told);
}

#[test]
fn a_variable_that_a_launch_leaves_changed_is_an_error_with_or_without_verify() {
    let kernels = [
        "stores/",
        "adds/",
        "indexed/",
        "late/",
        "in_namespace/",
        "in_function/",
        "stamp/",
        "restores/",
    ];
    for verify in ["--verify", "--no-verify"] {
        let selection = [&["--features", "state", verify], &kernels[..]].concat();
        let outcome = run("in-cuda", &selection).exits_with(105);
        let changed = |row: &Value| {
            let reason = row["status_reason"].as_str().unwrap_or_default();
            let symbol = reason.strip_prefix("the kernel changed `").unwrap_or("nothing`");
            let (symbol, _) = symbol.split_once('`').expect("the name ends");
            // NVRTC's name of a namespace without linkage holds a hash.
            let name = symbol.rsplit("::").next().unwrap_or_default();
            format!("{} {name}", row["series"]["kernel"].as_str().unwrap_or_default())
        };
        let mut told: Vec<String> =
            outcome.events_of("configuration-finished").iter().map(changed).collect();
        told.sort();
        let expected = [
            "adds counter",
            "in_function calls",
            "in_namespace hidden",
            "indexed table",
            "late initialised",
            "restores nothing",
            "stamp stamps",
            "stores flag",
        ];
        assert_eq!(told, expected, "{verify}");
    }
}

#[test]
fn a_gpu_finds_the_variables_that_a_kernel_writes_as_they_were_set_in_every_pass() {
    let library = unpacked(NVRTC).join("nvidia/cu13/lib").display().to_string();
    let (fixture, selection) = (Workspace::fixture("declared"), ["in-cuda", "filter/"]);
    let emulated = values(&in_fixture(&arguments(&selection, &[])).exits_with(0));
    for mode in ["application", "range", "kernel"] {
        let gpu = FakeGpu::new();
        let asked = arguments(&selection, &["--replay-mode", mode]);
        let tool = gpu.tool(&fixture, &asked).env("GPUPROF_NVRTC", &library);
        assert_eq!(values(&tool.run().exits_with(0)), emulated, "{mode}");
    }
}

#[test]
fn a_series_function_launches_instances_by_the_types_of_their_launchers() {
    let outcome = run("in-cuda", &["chain/"]).exits_with(0);
    assert_snapshot!(rows(&outcome), @r#"
    chain/block=128,n=1024,items=1 finished verified
    chain/block=128,n=1024,items=2 finished verified
    chain/block=128,n=1024,items=3 invalid: `scale<3, float>` does not compile: kernels/scale.cu:13:5: static assertion failed with "three items are not a power of two"
    chain/block=512,n=1024,items=1 invalid: a block of 512 threads exceeds the launch bounds of `scale<1, float>`, 256, for which it is compiled (.maxntid)
    chain/block=512,n=1024,items=2 finished verified
    chain/block=512,n=1024,items=3 invalid: `scale<3, float>` does not compile: kernels/scale.cu:13:5: static assertion failed with "three items are not a power of two"
    "#);
    let run = ["run", "--package", "in-cuda", "chain/block=128,n=1024,items=1"];
    assert_snapshot!(launches(&in_fixture(&run).exits_with(0)), @r#"
    4 launches of block=128,n=1024,items=1
    launches kernel grid block
    ────────────────────────────────────────
    2 scale<1, float> 8 128
    1 flagged 8 128
    1 offset 1 128
    "#);
}

/// The table of launches in the report of `run`, with single spaces.
fn launches(run: &Outcome) -> String {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let stdout = run.tidy_stdout();
    let lines = stdout.lines().skip_while(|line| !line.contains("launches of")).take(6).map(words);
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn launchers_of_declared_kernels_launch_on_a_gpu() {
    let library = unpacked(NVRTC).join("nvidia/cu13/lib").display().to_string();
    let gpu = FakeGpu::new();
    let arguments =
        ["run", "--package", "in-cuda", "chain/block=128,n=1024,items=2", "--repeat", "1"];
    let tool = gpu.tool(&Workspace::fixture("declared"), &arguments);
    let run = tool.env("GPUPROF_NVRTC", &library).run().exits_with(0);
    assert_snapshot!(launches(&run), @r"
    4 launches of block=128,n=1024,items=2
    launches kernel grid block time share
    ──────────────────────────────────────────────────────────
    2 scale<2, float> 16 64 6.496 µs 57.77%
    1 flagged 8 128 2.672 µs 23.76%
    1 offset 1 128 2.076 µs 18.46%
    ");
}

#[test]
fn a_missing_compiler_is_reported_with_the_command_to_install_it() {
    let nowhere = tempfile::tempdir().expect("there is a temporary folder");
    let path = nowhere.path().display().to_string();
    let tool = Workspace::fixture("declared").tool(&["run", "--package", "in-cuda"]);
    let stderr = tool.env("GPUPROF_NVRTC", &path).run().exits_with(101).stderr;
    assert!(
        stderr.contains("error: kernels/filter.cu is not compiled: no NVRTC was found"),
        "{stderr}"
    );
    assert!(stderr.contains("python3 -m pip install nvidia-cuda-nvrtc"), "{stderr}");
}

/// An nvcc that replays recorded answers of NVIDIA's, in a separate folder.
fn recorded_nvcc() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let recorded = repository_folder().join("cargo-gpuprof/tests/cuda_cpp/recorded");
    for entry in fs::read_dir(recorded).expect("it is there") {
        let path = entry.expect("it can be read").path();
        let name = path.file_name().expect("files have names");
        fs::copy(&path, folder.path().join(name)).expect("it can be copied");
    }
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(folder.path().join("nvcc"), executable).expect("the file is ours");
    folder
}

#[test]
fn a_file_that_nvrtc_does_not_compile_is_compiled_by_nvcc() {
    let nvrtc = unpacked(NVRTC).join("nvidia/cu13/lib").display().to_string();
    let nvcc = recorded_nvcc();
    let arguments = ["run", "--message-format", "json", "--package", "in-nvcc"];
    let tool = Workspace::fixture("declared").tool(&arguments).env("GPUPROF_NVRTC", &nvrtc);
    let outcome = tool.env("GPUPROF_NVCC", nvcc.path()).run().exits_with(0);
    assert_snapshot!(rows(&outcome), @r"
    scale/block=512,n=1000 invalid: a block of 512 threads exceeds the launch bounds of `scale<1, float>`, 256, for which it is compiled (.maxntid)
    scale/block=64,n=1000 finished verified
    ");
    let provenance = &outcome.events_of("run-started")[0]["provenance"];
    assert_eq!(provenance["kernel_toolchain"], "nvcc 13.0.88");
}

#[test]
fn a_missing_nvcc_is_mentioned_if_nvrtc_fails() {
    let told = |more: &[&str]| {
        let stderr = run("in-nvcc", more).exits_with(101).stderr;
        let (_, told) = stderr.split_once("error: ").expect("there is an error");
        told.to_owned()
    };
    let by_either = told(&[]);
    assert!(by_either.contains("namespace \"std\" has no member \"vector\""), "{by_either}");
    let absent = "no nvcc was found (/nonexistent/nvcc: cannot be started: ";
    let note = format!("= note: nvcc compiles host code that NVRTC cannot, and {absent}");
    assert!(by_either.contains(&note), "{by_either}");
    assert_eq!(by_either.matches("\nerror: ").count(), 1, "{by_either}");
    assert!(by_either.contains("= note: 1 more error is not shown\n"), "{by_either}");
    let by_nvcc = told(&["--features", "only", "by_nvcc"]);
    let begins = format!("kernels/scale.cu is not compiled: {absent}");
    assert!(by_nvcc.starts_with(&begins), "{by_nvcc}");
    assert!(by_nvcc.contains("GPUPROF_NVCC names its file"), "{by_nvcc}");
}

#[test]
fn an_archive_holds_declared_kernels_and_needs_neither_source_nor_compiler() {
    for (package, more, expected) in [
        ("in-ptx", ["--series", "VALUE=2", "fill"], "fill/block=64,VALUE=2 finished verified"),
        (
            "in-cuda",
            ["--series", "WIDTH=4", "offset"],
            "offset/block=64,n=256,WIDTH=4 finished verified",
        ),
        (
            "in-cuda",
            ["chain/block=128,n=1024,items=1", "--quiet", "--no-config"],
            "chain/block=128,n=1024,items=1 finished verified",
        ),
    ] {
        let folder = tempfile::tempdir().expect("there is a temporary folder");
        let file = folder.path().join("declared.tar.zst");
        let path = file.display().to_string();
        in_fixture(&["archive", "--package", package, "--archive-file", &path]).exits_with(0);
        let there = there(folder.path(), &more).exits_with(0);
        assert_eq!(rows(&there), expected);
    }
}

#[test]
fn an_archive_that_lacks_an_instance_says_which() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let file = folder.path().join("declared.tar.zst");
    let path = file.display().to_string();
    in_fixture(&["archive", "--package", "in-ptx", "--archive-file", &path]).exits_with(0);
    let without = |manifest: &mut Value| {
        let declared = manifest["declared"].as_object_mut().expect("it lists them");
        declared.remove("in-ptx::scale");
    };
    Archive::read(&file).with_manifest(without).write(&file);
    let stderr = there(folder.path(), &["scale/"]).exits_with(103).stderr;
    assert_snapshot!(stderr, @"error: the archive has no kernel of in-ptx::scale (in-ptx/src/lib.rs) for block=128,n=1000");
}

#[test]
fn gpu_and_emulated_driver_count_a_template_equally() {
    let library = unpacked(NVRTC).join("nvidia/cu13/lib").display().to_string();
    let (fixture, selection) = (Workspace::fixture("declared"), ["in-cuda", "count"]);
    let emulated = values(&in_fixture(&arguments(&selection, &[])).exits_with(0));
    assert_eq!(emulated.len(), 2);
    for mode in ["application", "range", "kernel"] {
        let gpu = FakeGpu::new();
        let asked = arguments(&selection, &["--replay-mode", mode]);
        let tool = gpu.tool(&fixture, &asked).env("GPUPROF_NVRTC", &library);
        assert_eq!(values(&tool.run().exits_with(0)), emulated, "{mode}");
    }
}

/// Runs the archive in `folder` as a machine without cargo and source would.
fn there(folder: &Path, more: &[&str]) -> Outcome {
    let start = ["run", "--archive-file", "declared.tar.zst", "--message-format", "json"];
    Tool::new(&[&start[..], more].concat(), folder, &folder.join("not-used"))
        .without("CARGO")
        .without("HOME")
        .env("PATH", "/nonexistent")
        .run()
}

#[test]
fn lines_of_cuda_cpp_in_a_member_of_a_workspace_have_their_path_and_text() {
    let file = "in-cuda/kernels/scale.cu";
    let run = ["run", "--package", "in-cuda", "scale/block=128,n=1000,ITEMS=1", "--no-config"];
    let limit = ["--threshold", "every load_sectors_per_request <= 1"];
    let outcome = in_fixture(&[&run[..], &limit].concat()).exits_with(100);
    let text = fs::read_to_string(repository_folder().join("tests/fixtures/declared").join(file));
    let (_, named) = outcome.stdout.split_once(&format!("most by {file}:")).expect("a line");
    let number: usize = named.split_once(':').unwrap().0.parse().expect("a number");
    let line = text.unwrap().lines().nth(number - 1).unwrap().trim().to_owned();
    assert!(outcome.stdout.contains(&format!("{file}:{number} | {line}")), "{}", outcome.stdout);
}
