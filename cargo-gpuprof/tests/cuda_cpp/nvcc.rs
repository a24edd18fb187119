//! nvcc where NVRTC cannot: a stand-in answers as nvcc did, which is a third of a gigabyte. How it
//! was recorded is told in `recorded/README.md`.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use gpuprof_build::cuda_cpp::{Compilers, NotFound, Nvcc, nvcc};
use gpuprof_build::toolkit;

use rustix::process::{Pid, Signal, kill_process};

use super::*;
use crate::common::{Talking, as_process};

/// Needs the host's standard library, which NVRTC has not.
const SCALE: &str = include_str!("../../../tests/fixtures/declared/in-nvcc/kernels/scale.cu");

const UTIL: &str = include_str!("../../../tests/fixtures/declared/in-nvcc/kernels/include/util.h");

/// The stand-in, in its own folder.
struct StandIn {
    folder: tempfile::TempDir,
}

impl StandIn {
    fn new() -> Self {
        let stand_in = Self { folder: tempfile::tempdir().unwrap() };
        let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda_cpp/recorded");
        for entry in fs::read_dir(recorded).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, stand_in.file(path.file_name().unwrap().to_str().unwrap())).unwrap();
        }
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(stand_in.file("nvcc"), executable).unwrap();
        // A process that another test starts at this moment holds it open until it is another
        // program.
        let start = || Command::new(stand_in.file("nvcc")).arg("--version").output();
        while start().is_err_and(|e| e.kind() == ErrorKind::ExecutableFileBusy) {}
        stand_in
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn search(&self) -> nvcc::Search {
        let program =
            toolkit::Search { variable: Some(self.file("nvcc")), ..toolkit::Search::default() };
        nvcc::Search { program, ..nvcc::Search::default() }
    }

    /// It next to the real NVRTC.
    fn beside_nvrtc(&self) -> Compilers {
        Compilers::new(Ok(COMPILER.clone()), self.search(), &Interrupt::default(), true)
    }

    /// How often it was to compile.
    fn calls(&self) -> usize {
        fs::read_to_string(self.file("calls")).unwrap_or_default().lines().count()
    }
}

/// The package that was recorded.
fn package(compiler: CudaCompiler) -> Package {
    let files = [("kernels/scale.cu", SCALE), ("kernels/include/util.h", UTIL)];
    let mut package = Package::new(&files).kernel("scale<1, float>", &PARAMETERS);
    package = package.kernel("&weights::taps", &[]);
    package.program.includes = vec!["kernels/include".into()];
    package.program.compiler = compiler;
    package
}

const PARAMETERS: [(&str, &str); 4] = [
    ("unsigned int", "u32"),
    ("float", "f32"),
    ("const float *", "*const f32"),
    ("float *", "*mut f32"),
];

#[test]
fn a_program_that_nvrtc_rejects_is_compiled_by_nvcc_and_cached() {
    let (stand_in, package) = (StandIn::new(), package(CudaCompiler::Auto));
    let cache = package.cache();
    let compile = || stand_in.beside_nvrtc().compile(&package.program, &cache).unwrap();
    let compiled = compile();
    assert_eq!(compiled.compiler, "nvcc 13.0.88");
    let symbol = "_Z5scaleILi1EfEvjT0_PKS0_PS0_".to_owned();
    assert_eq!(compiled.entries["scale<1, float>"], Ok(symbol));
    assert_eq!(compiled.entries["&weights::taps"], Ok("_ZN7weights4tapsE".to_owned()));
    let entry = compiled.entry("scale<1, float>").unwrap();
    assert_eq!((entry.max_block, entry.parameters.len()), (Some([256, 1, 1]), 4));
    // Not the other instance, the marks of the names, or the folder of the package.
    for absent in ["ILi2EfE", "gpuprof_0", &package.program.package_root.display().to_string()] {
        assert!(!compiled.ptx.contains(absent), "{absent}: {}", compiled.ptx);
    }
    assert!(compiled.ptx.contains(".file\t1 \"kernels/scale.cu\""), "{}", compiled.ptx);
    let headers = compiled.headers.iter().map(|(file, _)| file.as_path());
    let headers: Vec<_> = headers.filter(|file| file.starts_with("kernels")).collect();
    assert_eq!(headers, [Path::new("kernels/include/util.h"), Path::new("kernels/scale.cu")]);
    insta::assert_snapshot!(render(&compiled.warnings), @r#"note: kernels/scale.cu does not compile with NVRTC 13.3.33 (kernels/scale.cu:20:6: namespace "std" has no member "vector"): nvcc 13.0.88 compiled it"#);
    assert_eq!((stand_in.calls(), compile().compiler.as_str()), (1, "nvcc 13.0.88"));
    assert_eq!(stand_in.calls(), 1);
    package.write("kernels/include/util.h", &format!("{UTIL}\n// changed"));
    compile();
    assert_eq!(stand_in.calls(), 2);
    let version = fs::read_to_string(stand_in.file("version")).unwrap();
    fs::write(stand_in.file("version"), version.replace("36424714", "36424715")).unwrap();
    compile();
    assert_eq!(stand_in.calls(), 3);
    let settings = vec![("NVCC_APPEND_FLAGS", "-O1".into())];
    let search = nvcc::Search { settings, ..stand_in.search() };
    let with_flags = Compilers::new(Ok(COMPILER.clone()), search, &Interrupt::default(), true);
    with_flags.compile(&package.program, &cache).unwrap();
    assert_eq!(stand_in.calls(), 4, "flags of the environment make another module");
}

#[test]
fn an_nvcc_with_an_unreadable_version_is_not_used() {
    let stand_in = StandIn::new();
    let version = fs::read_to_string(stand_in.file("version")).unwrap();
    fs::write(stand_in.file("version"), version.replace("V13.0.88", "Vnext")).unwrap();
    let absent = Nvcc::find(&stand_in.search(), &Interrupt::default(), true).unwrap_err();
    assert!(absent.reasons[0].ends_with("`next` is no version"), "{absent}");
}

#[test]
fn nvcc_gets_the_folders_and_definitions_of_the_program() {
    let (stand_in, mut package) = (StandIn::new(), package(CudaCompiler::Nvcc));
    package.program.defines = vec![("RADIX".into(), "4".into())];
    package.program.options = vec!["--use_fast_math".into()];
    stand_in.beside_nvrtc().compile(&package.program, &package.cache()).unwrap();
    let calls = fs::read_to_string(stand_in.file("calls")).unwrap();
    assert!(calls.starts_with("-ptx -MD -MF "), "{calls}");
    let options = "-arch=compute_90 -std=c++17 -lineinfo --expt-relaxed-constexpr \
                   -I./kernels/include -DRADIX=4 --use_fast_math ";
    assert!(calls.contains(options), "{calls}");
}

#[test]
fn an_instance_that_nvcc_rejects_does_not_affect_others() {
    let stand_in = StandIn::new();
    let package = package(CudaCompiler::Nvcc).kernel("scale<3, float>", &PARAMETERS);
    let compiled = stand_in.beside_nvrtc().compile(&package.program, &package.cache()).unwrap();
    assert!(compiled.entries["scale<1, float>"].is_ok());
    assert_eq!(stand_in.calls(), 2);
    let faults = compiled.entries["scale<3, float>"].as_ref().unwrap_err();
    insta::assert_snapshot!(render(faults));
}

#[test]
fn nvcc_reports_wrong_declarations_like_nvrtc() {
    let stand_in = StandIn::new();
    let of_void = [("unsigned int", "u32")];
    let wrong = [PARAMETERS[0], PARAMETERS[1], ("float *", "*mut f32"), PARAMETERS[3]];
    let package = package(CudaCompiler::Nvcc).kernel("scale<2, float>", &wrong);
    let package = package.kernel("scal<1, float>", &of_void).kernel("scale", &of_void);
    let package = package.kernel("bump", &of_void).kernel("&weights::nope", &[]);
    let compiled = stand_in.beside_nvrtc().compile(&package.program, &package.cache()).unwrap();
    assert!(compiled.entries["scale<1, float>"].is_ok());
    let faults = compiled.entries.values().filter_map(|entry| entry.as_ref().err());
    let faults: Vec<String> = faults.map(|faults| render(faults)).collect();
    insta::assert_snapshot!(faults.join("\n"));
}

#[test]
fn if_both_compilers_fail_both_errors_are_reported() {
    let stand_in = StandIn::new();
    let told = |source: &str| {
        let mut package = Package::new(&[("kernels/broken.cu", source)]);
        package.program.compiler = CudaCompiler::Auto;
        let outcome = stand_in.beside_nvrtc().compile(&package.program, &package.cache());
        outcome.unwrap_err().to_string()
    };
    let of_the_host = told(
        "#include <vector>\nstd::vector<int> v;\n\
         __global__ void broken(float *y) { y[0] = nothing; }\n",
    );
    let calls = stand_in.calls();
    let header = told("#include \"missing.h\"\n__global__ void broken(float *y) {}\n");
    assert_eq!(stand_in.calls(), calls, "nvcc does not find it either");
    insta::assert_snapshot!(format!("{of_the_host}\n\n{header}"));
}

#[test]
fn missing_compilers_are_reported_with_how_to_get_one() {
    let package = package(CudaCompiler::Auto);
    let told = |nvrtc, search, compiler| {
        let mut program = package.program.clone();
        program.compiler = compiler;
        let compilers = Compilers::new(nvrtc, search, &Interrupt::default(), true);
        compilers.compile(&program, &package.cache()).unwrap_err().to_string()
    };
    let none = || Err(NotFound { searched: Vec::new() });
    let nowhere = nvcc::Search::default;
    let nvrtc = told(Ok(COMPILER.clone()), nowhere(), CudaCompiler::Auto);
    assert!(nvrtc.contains("namespace \"std\" has no member \"vector\""), "{nvrtc}");
    assert!(
        nvrtc.contains("nvcc compiles host code that NVRTC cannot, and no nvcc was"),
        "{nvrtc}"
    );
    let both = told(none(), nowhere(), CudaCompiler::Auto);
    assert!(both.starts_with("kernels/scale.cu is not compiled: no NVRTC was found"), "{both}");
    assert!(both.contains("\n  no nvcc was found: it is part of the CUDA toolkit"), "{both}");
    let nvcc = told(Ok(COMPILER.clone()), nowhere(), CudaCompiler::Nvcc);
    assert!(nvcc.starts_with("kernels/scale.cu is not compiled: no nvcc was found"), "{nvcc}");
    let stand_in = StandIn::new();
    let nvrtc = told(none(), stand_in.search(), CudaCompiler::Nvrtc);
    assert!(nvrtc.starts_with("kernels/scale.cu is not compiled: no NVRTC was found"), "{nvrtc}");
}

#[test]
fn an_nvcc_newer_than_the_driver_is_skipped() {
    let (first, second) = (StandIn::new(), StandIn::new());
    let toolkit = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(first.folder.path(), toolkit.path().join("bin")).unwrap();
    let program = toolkit::Search {
        toolkits: vec!["/nowhere".into(), toolkit.path().into()],
        path: Some(second.folder.path().into()),
        ..toolkit::Search::default()
    };
    let mut search = nvcc::Search { program, ..nvcc::Search::default() };
    let find = |search: &nvcc::Search| Nvcc::find(search, &Interrupt::default(), true);
    let found = find(&search).unwrap();
    assert_eq!((found.file(), found.release()), (&*first.file("nvcc"), "13.0.88"));
    search.newest = Some((12, 9));
    let absent = find(&search).unwrap_err();
    assert_eq!((absent.reasons.len(), absent.named), (2, false));
    assert!(
        absent.to_string().contains("it is nvcc 13.0.88, and the driver accepts PTX of CUDA 12.9")
    );
    search.program.variable = Some(second.folder.path().into());
    assert_eq!(find(&search).unwrap().file(), second.file("nvcc"));
    search.program.variable = Some("/nonexistent/nvcc".into());
    assert!(find(&search).unwrap_err().named);
}

#[test]
fn doctor_says_which_nvcc_is_used_and_how_to_get_one() {
    let stand_in = StandIn::new();
    let doctor = |nvcc: &Path| {
        let mut command = Command::new(BINARY);
        command.args(["gpuprof", "doctor", "--backend", "emulator"]).env("GPUPROF_NVCC", nvcc);
        let output = command.current_dir(stand_in.folder.path()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let text = doctor(&stand_in.file("nvcc"));
    let line =
        text.lines().find(|line| line.contains("nvcc  ")).unwrap_or_else(|| panic!("{text}"));
    assert!(line.starts_with("ok    nvcc         13.0.88 at "), "{line}");
    let absent = doctor(Path::new("/nonexistent/nvcc"));
    assert!(absent.contains("warn  nvcc ") && absent.contains("nvidia-nvvm"), "{absent}");
}

#[test]
fn a_signal_ends_a_compile_by_nvcc() {
    let test = "cuda_cpp::nvcc::compiles_by_nvcc_until_a_signal_comes";
    let mut process = Talking::start(as_process(test));
    process.says("begins");
    kill_process(Pid::from_child(&process.child), Signal::INT).unwrap();
    assert_eq!(process.says("ended by "), "2");
    assert!(process.child.wait().unwrap().success());
}

/// The other process of the test above.
#[test]
#[ignore = "run by another test"]
fn compiles_by_nvcc_until_a_signal_comes() {
    let interrupt = Interrupt::listen().unwrap();
    let (stand_in, package) = (StandIn::new(), package(CudaCompiler::Nvcc));
    fs::write(stand_in.file("hang"), "").unwrap();
    let none = Err(NotFound { searched: Vec::new() });
    let compilers = Compilers::new(none, stand_in.search(), &interrupt, true);
    let cache = package.cache();
    println!("begins");
    let outcome = compilers.compile(&package.program, &cache);
    let Err(Error::Interrupted(signal)) = outcome else { panic!("{outcome:?}") };
    println!("ended by {signal}");
}
