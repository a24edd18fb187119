//! What was compiled is found again, and only while nothing changed that it depends on.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use gpuprof_build::cuda_cpp::{self, Compiler, NVRTC, Search};
use gpuprof_cupti::locate;
use gpuprof_system::interrupt::Interrupt;

use super::{BINARY, COMPILER, Package, WHEEL};
use crate::common::as_process;
use crate::cupti::unpacked;

/// A package with its kernel's header in a separate folder.
fn package() -> Package {
    let mut package = Package::new(&[
        ("kernels/k.cu", "#include \"factor.cuh\"\nextern \"C\" __global__ void k(int* x) { int unused; x[0] *= FACTOR; }\n"),
        ("include/factor.cuh", "#define FACTOR 111\n"),
    ])
    .kernel("k", &[("int*", "*mut i32")]);
    package.program.includes = vec!["shadow".into(), "include".into()];
    package
}

/// A compiler with child processes that always fail.
fn dead() -> Compiler {
    let alive = &COMPILER;
    assert!(alive.library().is_file());
    alive.with_executable(Path::new("/bin/false"))
}

#[test]
fn compiling_is_announced_once_unless_cached_or_quiet() {
    let mut process = as_process("cuda_cpp::cached::compiles_quietly_then_aloud_twice");
    let output = process.output().unwrap();
    assert!(output.status.success());
    let stderr = String::from_utf8(output.stderr).unwrap();
    let told: Vec<&str> = stderr.lines().filter(|line| line.contains("compiling")).collect();
    assert_eq!(
        told,
        ["gpuprof: compiling aloud.cu, too.cu for compute_90 with NVRTC 13.3.33"],
        "{stderr}"
    );
}

/// The other process of the test above.
#[test]
#[ignore = "run by another test"]
fn compiles_quietly_then_aloud_twice() {
    const KERNEL: &str = "__global__ void k(int* x) { x[0] = 1; }\n";
    let quietly = Package::new(&[("quietly.cu", KERNEL)]);
    let compiler = COMPILER.announcing(true);
    cuda_cpp::compile(&quietly.program, &compiler, &quietly.cache()).unwrap();
    let aloud = Package::new(&[("aloud.cu", KERNEL), ("too.cu", "")]);
    for _ in 0..2 {
        let compiler = COMPILER.announcing(false);
        cuda_cpp::compile(&aloud.program, &compiler, &aloud.cache()).unwrap();
    }
}

fn is_kept(package: &Package) -> bool {
    cuda_cpp::compile(&package.program, &dead(), &package.cache()).is_ok()
}

#[test]
fn a_second_compile_is_served_from_the_cache() {
    let package = package();
    let first = package.compiled();
    assert!(first.ptx.contains("111"), "{}", first.ptx);
    let second = cuda_cpp::compile(&package.program, &dead(), &package.cache()).unwrap();
    assert_eq!(second, first);
    assert_eq!(first.warnings.len(), 1, "warnings are shown again: {:?}", first.warnings);
    // Times decide nothing.
    let header = package.program.package_root.join("include/factor.cuh");
    fs::File::options().write(true).open(&header).unwrap().set_modified(SystemTime::now()).unwrap();
    assert!(is_kept(&package));
}

#[test]
fn changed_options_and_headers_cause_a_recompile() {
    let mut package = package();
    package.compiled();
    package.write("include/factor.cuh", "#define FACTOR 222\n");
    assert!(!is_kept(&package));
    assert!(package.compiled().ptx.contains("222"));
    package.write("shadow/factor.cuh", "#define FACTOR 333\n");
    assert!(!is_kept(&package));
    assert!(package.compiled().ptx.contains("333"));
    package.program.defines.push(("OTHER".into(), "1".into()));
    assert!(!is_kept(&package));
    package.program.defines.clear();
    assert!(is_kept(&package));
    // The position in Rust is not part of it.
    package.program.kernels[0].declared_at.line = 99;
    assert!(is_kept(&package));
    package.program.kernels[0].parameters[0].cpp = "unsigned int*".into();
    assert!(!is_kept(&package));
}

#[test]
fn an_aborted_compile_is_reported_and_not_cached() {
    let package = package();
    let error = cuda_cpp::compile(&package.program, &dead(), &package.cache()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("does not unpack") || text.contains("ended with"), "{text}");
    package.compiled();
}

#[test]
fn without_nvrtc_the_error_names_every_place_and_the_command() {
    let nowhere = || locate::Search::nowhere(&NVRTC);
    let library = locate::Search {
        toolkits: vec!["/nowhere".into()],
        library_path: Some("/neither".into()),
        ..nowhere()
    };
    let find = |library: locate::Search, newest: Option<(u32, u32)>| {
        let search = Search { library, newest };
        Compiler::find(&search, Path::new(BINARY), &Interrupt::default()).unwrap_err().to_string()
    };
    insta::assert_snapshot!(find(library, None));
    let other = locate::Search { explicit: Some("/bin/true".into()), ..nowhere() };
    let text = find(other, None);
    assert!(text.contains("/bin/true cannot be loaded: "), "{text}");
    assert!(text.contains("nowhere else was searched"), "{text}");
    let library_path = Some(unpacked(WHEEL).join("nvidia/cu13/lib").into());
    let text = find(locate::Search { library_path, ..nowhere() }, Some((13, 0)));
    assert!(
        text.contains("is NVRTC 13.3.33, and the driver accepts PTX of CUDA 13.0 at most"),
        "{text}"
    );
}

#[test]
fn doctor_says_which_nvrtc_is_used() {
    let library = unpacked(WHEEL).join("nvidia/cu13/lib");
    let doctor = |nvrtc: &Path| {
        let mut command = Command::new(BINARY);
        command.args(["gpuprof", "doctor", "--backend", "emulator"]).env("GPUPROF_NVRTC", nvrtc);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let text = doctor(&library);
    let line = text.lines().find(|line| line.contains("NVRTC")).unwrap_or_else(|| panic!("{text}"));
    assert!(line.starts_with("ok    NVRTC        13.3.33 at "), "{line}");
    assert!(line.contains("(GPUPROF_NVRTC)"), "{line}");
    let text = doctor(Path::new("/nowhere"));
    assert!(
        text.contains("warn  NVRTC") && text.contains("pip install nvidia-cuda-nvrtc"),
        "{text}"
    );
}
