//! Programs of nvcc that use the CUDA runtime, on the emulated driver.
//!
//! nvcc and the headers come from NVIDIA's wheels, in two folders as toolkits have them: version 13
//! of the runtime, and the same nvcc with headers and library of version 12, which has no wheel of
//! its own nvcc. NVIDIA's runtimes are only linked to and never run, but for one test, in which the
//! static one must not run.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use crate::support::{FakeGpu, Outcome, Tool, Workspace, target_folder};
use crate::wheels::unpacked;

const WHEELS: [&str; 4] = [
    "nvidia-cuda-nvcc==13.0.88",
    "nvidia-cuda-crt==13.0.88",
    "nvidia-nvvm==13.0.88",
    "nvidia-cuda-runtime==13.0.96",
];
const NVRTC: &str = "nvidia-cuda-nvrtc==13.3.33";
const RUNTIME_12: &str = "nvidia-cuda-runtime-cu12==12.8.90";

/// The options that the book gives.
const APPENDED: &str = "-cudart=shared -lineinfo -gencode arch=compute_80,code=compute_80";

/// The toolkit of version 13.
static TOOLKIT_13: LazyLock<PathBuf> = LazyLock::new(|| {
    toolkit("cuda-13", "libcudart.so.13", |folder| {
        WHEELS.iter().for_each(|wheel| add(&unpacked(wheel).join("nvidia/cu13"), folder));
    })
});

/// The same with the runtime of version 12.
static TOOLKIT_12: LazyLock<PathBuf> = LazyLock::new(|| {
    toolkit("cuda-12", "libcudart.so.12", |folder| {
        add(&TOOLKIT_13, folder);
        add(&unpacked(RUNTIME_12).join("nvidia/cuda_runtime"), folder);
    })
});

/// A folder like that of a toolkit, filled once; programs link to its `runtime`.
fn toolkit(name: &str, runtime: &str, fill: impl FnOnce(&Path)) -> PathBuf {
    let folder = target_folder().join(name);
    if !folder.exists() {
        let new = tempfile::tempdir_in(target_folder()).expect("the target folder is ours");
        fill(new.path());
        let link = new.path().join("lib/libcudart.so");
        let _ = fs::remove_file(&link);
        symlink(runtime, &link).expect("the folder is ours");
        for tools in ["bin", "nvvm/bin"] {
            for tool in fs::read_dir(new.path().join(tools)).expect("wheels have tools") {
                let tool = tool.expect("the folder can be read").path();
                fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
            }
        }
        fs::rename(new.path(), &folder).expect("both are in the target folder");
    }
    folder
}

/// Adds the files of `from` to `folder`, without copies.
fn add(from: &Path, folder: &Path) {
    let mut command = Command::new("cp");
    command.arg("-rlf").arg(from.join(".")).arg(folder);
    assert!(command.status().expect("cp starts").success(), "cp {}", from.display());
}

/// A folder with the libraries that cudarc's feature `dynamic-linking` links.
fn linked() -> PathBuf {
    let folder = tempfile::tempdir_in(target_folder()).expect("the target folder is ours").keep();
    let nvrtc = unpacked(NVRTC).join("nvidia/cu13/lib/libnvrtc.so.13");
    let fake = |name| FakeGpu::libraries().join(name);
    for (name, library) in [
        ("libcuda.so", fake("libcuda.so")),
        ("libcupti.so", fake("libcupti.so.13")),
        ("libnvrtc.so", nvrtc),
    ] {
        symlink(library, folder.join(name)).expect("the folder is ours");
    }
    folder
}

/// Compiles `source`, as a Makefile with these options would.
fn compile(toolkit: &Path, source: &Path, options: &[&str], appended: &str) -> PathBuf {
    compile_in(&[("NVCC_APPEND_FLAGS", appended)], toolkit, source, options)
}

/// As [`compile`], with these variables.
fn compile_in(
    variables: &[(&str, &str)],
    toolkit: &Path,
    source: &Path,
    options: &[&str],
) -> PathBuf {
    let folder = tempfile::tempdir_in(target_folder()).expect("the target folder is ours").keep();
    let program = folder.join("program");
    let mut command = Command::new(toolkit.join("bin/nvcc"));
    command.args(options).arg(source).arg("-o").arg(&program).arg("-L").arg(toolkit.join("lib"));
    let output = command.envs(variables.iter().copied()).output().expect("nvcc starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

fn programs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs").join(name)
}

fn emulate(program: &Path) -> Outcome {
    let folder = program.parent().expect("programs are in folders");
    Tool::new(&["emulate", "--", program.to_str().unwrap()], folder, folder).run()
}

/// The cells of the table's rows of `kernel`.
fn rows<'o>(outcome: &'o Outcome, kernel: &str) -> Vec<Vec<&'o str>> {
    let cells = |line: &'o str| line.split_whitespace().collect::<Vec<_>>();
    let rows = outcome.stderr.lines().map(cells);
    rows.filter(|cells| cells.get(1) == Some(&kernel)).collect()
}

#[test]
fn a_program_of_nvcc_runs_with_either_version_of_the_runtime_and_however_it_is_compiled() {
    let source = programs("runtime.cu");
    let modes: [(&Path, &[&str]); 6] = [
        (&TOOLKIT_13, &[]),
        (&TOOLKIT_12, &[]),
        (&TOOLKIT_13, &["-rdc=true"]),
        (&TOOLKIT_13, &["-default-stream", "per-thread"]),
        (&TOOLKIT_13, &["-Xfatbin", "--compress-mode=speed"]),
        (&TOOLKIT_13, &["-Xfatbin", "--compress-mode=none", "-cudart", "static"]),
    ];
    for (toolkit, options) in modes {
        let outcome = emulate(&compile(toolkit, &source, options, APPENDED)).exits_with(0);
        assert_eq!(
            outcome.stdout, "greetings 1 of 2\ngreetings 2 of 2\n0 failures\n",
            "{options:?}: {}",
            outcome.stderr
        );
        let fill = rows(&outcome, "fill");
        assert_eq!(fill.len(), 2, "{}", outcome.stderr);
        let named = "emulated CUDA runtime: cudaIpcGetMemHandle is not supported";
        assert_eq!(outcome.stderr.matches(named).count(), 1, "{}", outcome.stderr);
    }
}

/// A folder with gpuprof's static runtimes.
fn static_runtimes() -> PathBuf {
    let folder = tempfile::tempdir_in(target_folder()).expect("the target folder is ours").keep();
    let arguments = ["emulate", "--export-cudart", folder.to_str().unwrap()];
    Tool::new(&arguments, &folder, &folder).run().exits_with(0);
    folder
}

#[test]
fn a_program_with_our_static_runtime_fails_normally_without_a_driver() {
    let runtimes = static_runtimes();
    for (toolkit, version) in [(&TOOLKIT_13, "13"), (&TOOLKIT_12, "12")] {
        let linked = format!("-L{}", runtimes.join(version).display());
        let flags = APPENDED.replace("-cudart=shared ", "");
        let variables = [("NVCC_PREPEND_FLAGS", &*linked), ("NVCC_APPEND_FLAGS", &*flags)];
        let build = |name| compile_in(&variables, toolkit, &programs(name), &[]);
        let outcome = emulate(&build("runtime.cu")).exits_with(0);
        assert_eq!(
            outcome.stdout, "greetings 1 of 2\ngreetings 2 of 2\n0 failures\n",
            "{version}: {}",
            outcome.stderr
        );
        let alone = Command::new(build("one_launch.cu")).output().expect("the program starts");
        assert_eq!(String::from_utf8_lossy(&alone.stdout), "the CUDA runtime was not found\n");
    }
}

#[test]
fn device_code_in_several_files_is_linked() {
    let other = programs("linked/other.cu");
    let options = ["-rdc=true", "-lineinfo", other.to_str().unwrap()];
    let program = compile(&TOOLKIT_13, &programs("linked/main.cu"), &options, APPENDED);
    let outcome = emulate(&program).exits_with(0);
    assert_eq!(
        outcome.stdout, "1 1 1 1\nfirst\n15 21 27 33\nsecond\n2 602 1202 1802\ncudaSuccess\n",
        "{}",
        outcome.stderr
    );
}

#[test]
fn objects_live_on_the_device_heap_until_they_are_deleted() {
    let outcome = emulate(&compile(&TOOLKIT_13, &programs("heap.cu"), &[], APPENDED));
    let expected = "areas 6 9 3969\ncudaErrorInvalidValue\n\
                    15 blocks of 64 KiB fit into the rest of 1024 KiB\ncudaSuccess\n\
                    cudaErrorIllegalAddress\n";
    assert_eq!(outcome.stdout, expected, "{}", outcome.stderr);
    let outcome = outcome.exits_with(105);
    // The destructor's pointer to its functions is in the freed block.
    for said in ["programs/heap.cu:42:5, block (0,0,0), thread (0,0,0): reads", "that was freed"] {
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    }
}

#[test]
fn a_program_without_ptx_is_refused_with_the_option_to_add() {
    let options = ["-cudart=shared", "-gencode", "arch=compute_90,code=sm_90"];
    let outcome = emulate(&compile(&TOOLKIT_13, &programs("one_launch.cu"), &options, ""));
    assert_eq!(outcome.stdout, "cudaErrorNoKernelImageForDevice\n");
    let said = "emulated CUDA driver: the module is a fatbin with machine code for sm_90 alone: the \
                emulator runs PTX alone, up to that of the device. nvcc embeds it with -gencode \
                arch=compute_80,code=compute_80, also in NVCC_APPEND_FLAGS";
    assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
}

#[test]
fn a_program_with_nvidias_static_runtime_is_refused_with_the_remedy() {
    let outcome = emulate(&compile(&TOOLKIT_13, &programs("one_launch.cu"), &[], ""));
    assert_eq!(outcome.stdout, "cudaErrorInsufficientDriver\n");
    let said = format!(
        "emulated CUDA driver: the program carries NVIDIA's CUDA runtime, which runs on NVIDIA's \
         driver alone. Build it with the shared runtime, PTX and source lines: \
         NVCC_APPEND_FLAGS='{APPENDED}'. If it must link a static runtime, let it link that of this \
         driver\n"
    );
    assert_eq!(outcome.stderr.matches(&said).count(), 1, "{}", outcome.stderr);
}

#[test]
fn a_harness_that_links_the_driver_launches_by_a_library_of_nvcc() {
    let fixture = Workspace::fixture("runtime-library");
    let tool = fixture.tool(&["run"]).env("LIBRARY_PATH", linked());
    let tool = tool.env("CUDA_PATH", &*TOOLKIT_13).env("NVCC_APPEND_FLAGS", APPENDED);
    let outcome = tool.run().exits_with(0);
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let rows: Vec<String> = outcome.stdout.lines().map(words).collect();
    // 1,000 values are 125 sectors, loaded once and stored once.
    for row in ["64 1000 512 250 7.812 3.906", "256 1000 512 250 7.812 3.906"] {
        assert!(rows.iter().any(|it| it == row), "{row}: {}", outcome.stdout);
    }
}

#[test]
fn a_harness_links_our_static_runtime_instead_of_nvidias() {
    let fixture = Workspace::fixture("runtime-library");
    let linked_first = format!("-L{}", static_runtimes().join("13").display());
    let flags = APPENDED.replace("-cudart=shared ", "");
    let tool = fixture.tool(&["run", "--export-csv", "-"]).env("LIBRARY_PATH", linked());
    let tool = tool.env("CUDA_PATH", &*TOOLKIT_13).env("NVCC_APPEND_FLAGS", flags);
    let outcome = tool.env("RUSTFLAGS", linked_first).run().exits_with(0);
    let measured = outcome.stdout.matches("global_sectors").count();
    assert!(measured > 0 && outcome.stdout.contains(",250,"), "{}", outcome.stdout);
}

#[test]
fn a_kernel_of_a_library_names_the_line_that_costs_most_if_nvcc_wrote_the_lines() {
    let fixture = Workspace::fixture("runtime-library");
    let tool = |arguments: &[&str], flags: &str| {
        let tool = fixture.tool(arguments).env("LIBRARY_PATH", linked());
        tool.env("CUDA_PATH", &*TOOLKIT_13).env("NVCC_APPEND_FLAGS", flags).run()
    };
    let gate = ["run", "--threshold", "every global_sectors <= 200"];
    let failed = tool(&gate, APPENDED).exits_with(100).stdout;
    let line = "/kernels/scale.cu:8: 125 of 125 sectors of global loads";
    assert!(failed.contains(line), "{failed}");
    let unnamed = APPENDED.replace(" -lineinfo", "");
    let failed = tool(&gate, &unnamed).exits_with(100).stdout;
    assert!(failed.contains("250 at block=64") && !failed.contains("most by"), "{failed}");
    let why = tool(&["report", "--source"], &unnamed).exits_with(2).stderr;
    let told = "has lines of source: nvcc writes them into PTX with -lineinfo";
    assert!(why.contains(told), "{why}");
}

#[test]
fn a_harness_that_the_driver_refuses_says_why_for_an_error_and_a_panic_of_the_library() {
    let fixture = Workspace::fixture("runtime-library");
    let runtime = "the program carries NVIDIA's CUDA runtime, which runs on NVIDIA's driver alone";
    let machine_code = "the module is a fatbin with machine code for sm_90 alone";
    let flags = "-gencode arch=compute_90,code=sm_90";
    let shared = format!("-cudart=shared {flags}");
    for (flags, code, reason) in [(flags, 35, runtime), (&shared, 209, machine_code)] {
        let tool = || {
            let tool = fixture.tool(&["run"]).env("LIBRARY_PATH", linked());
            tool.env("CUDA_PATH", &*TOOLKIT_13).env("NVCC_APPEND_FLAGS", flags)
        };
        let returned = tool().run().exits_with(105);
        let failed = format!("failed  block=64,n=1000, block=256,n=1000: {reason}");
        assert!(returned.stdout.contains(&failed), "{}", returned.stdout);
        let panicked = tool().env("LIBRARY_PANICS", "1").run().exits_with(105);
        let place = format!("the harness panicked at src/lib.rs:19:65: code {code}");
        let reason = format!("the emulated driver: {reason}");
        for part in [&place, &reason] {
            assert!(panicked.stdout.contains(part), "{part}: {}", panicked.stdout);
        }
    }
}
