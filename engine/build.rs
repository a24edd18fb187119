//! Builds the emulated driver, the CUDA runtime for it, and the library that reports NVTX ranges.
//! The installed subcommand carries them.
//!
//! The driver takes one call of rustc for the library that reads fatbins, the emulator's only
//! dependency, and one for the shared object. Its SONAME is that of CUDA's driver, and optimisation
//! is always on, since it is an interpreter: in full where the subcommand is optimised, and as far
//! as pays where it is built for tests. The runtime is compiled to a static library and linked by
//! itself: rustc cannot give symbols a version, which programs of nvcc look for. The static runtime
//! forwards the same functions.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The versions of CUDA's runtime.
const RUNTIMES: [&str; 2] = ["12", "13"];

/// The variable with another level of optimisation, for a build that launches little.
const LEVEL: &str = "GPUPROF_DRIVER_OPT_LEVEL";

fn main() {
    println!("cargo::rerun-if-env-changed={LEVEL}");
    let emulator = Path::new(gpuprof_emulator::SOURCE_DIR).join("src");
    let fatbin = Path::new(fatbin::SOURCE_DIR).join("src");
    let cudart = Path::new(cudart::SOURCE_DIR);
    let (cudart, cudart_static) = (cudart.join("src"), cudart.join("static"));
    let nvtx = Path::new(nvtx::SOURCE_DIR).join("src");
    for source in [&emulator, &fatbin, &cudart, &cudart_static, &nvtx] {
        println!("cargo::rerun-if-changed={}", source.display());
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let driver = out.join("libcuda.so");
    let ranges = out.join("libgpuprof_nvtx.so");
    let runtimes = RUNTIMES.map(|version| (version, out.join(format!("libcudart.so.{version}"))));
    let forwarders = RUNTIMES.map(|version| out.join(format!("libcudart_static.{version}.a")));
    let is_for_linux = env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux");
    if !is_for_linux || is_linted() {
        // Compiles everywhere; `cargo gpuprof` itself refuses to run elsewhere.
        let runtimes = runtimes.iter().map(|(_, path)| path);
        for library in runtimes.chain(&forwarders).chain([&driver, &ranges]) {
            std::fs::write(library, []).expect("OUT_DIR is writable");
        }
        return;
    }
    if !is_built(&driver, &emulator) || !is_built(&driver, &fatbin) {
        build_driver(&emulator, &fatbin, &driver);
    }
    if !is_built(&ranges, &nvtx) {
        compile(&nvtx, "nvtx", &ranges, &["--crate-type", "cdylib", "-C", "panic=abort"]);
    }
    for ((version, library), forwarders) in runtimes.iter().zip(forwarders) {
        if !is_built(library, &cudart) {
            build_runtime(&cudart, version, library);
        }
        if !is_built(&forwarders, &cudart) || !is_built(&forwarders, &cudart_static) {
            build_static_runtime(&cudart_static, version, &forwarders);
        }
    }
}

/// Whether clippy compiles the package: nothing runs, and the libraries would take a minute.
fn is_linted() -> bool {
    let wrapper = env::var_os("RUSTC_WORKSPACE_WRAPPER");
    wrapper.is_some_and(|path| Path::new(&path).file_stem() == Some("clippy-driver".as_ref()))
}

fn build_driver(emulator: &Path, fatbin: &Path, driver: &Path) {
    let library = driver.with_file_name("libfatbin.rlib");
    compile(fatbin, "fatbin", &library, &["--crate-type", "rlib", "-C", "panic=unwind"]);
    let library = format!("fatbin={}", library.display());
    let soname = "link-arg=-Wl,-soname,libcuda.so";
    let configured = ["--cfg", "feature=\"interpreter\"", "--cfg", "gpuprof_driver"];
    let as_driver = ["--crate-type", "cdylib", "-C", "panic=unwind", "--extern", &library];
    let arguments = [&as_driver[..], &configured, &["-C", soname]].concat();
    compile(emulator, "cuda", driver, &arguments);
}

/// Builds the CUDA runtime in the folder `source` for `version` of CUDA.
fn build_runtime(source: &Path, version: &str, library: &Path) {
    let archive = library.with_extension(format!("{version}.a"));
    let as_archive = ["--crate-type", "staticlib", "-C", "panic=abort"];
    let version_12 = ["--cfg", "cudart_12"];
    let more = if version == "12" { &version_12[..] } else { &[] };
    compile(source, "cudart", &archive, &[&as_archive[..], more].concat());
    let soname = format!("libcudart.so.{version}");
    let symbols = library.with_extension(format!("{version}.symbols"));
    let exported = format!("{soname} {{ global: cuda*; __cuda*; local: *; }};\n");
    std::fs::write(&symbols, exported).expect("OUT_DIR is writable");
    let linker = env::var_os("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    let status = Command::new(linker)
        .args(["-shared", "-s", "-o"])
        .arg(library)
        .arg(format!("-Wl,-soname,{soname},--gc-sections"))
        .arg(format!("-Wl,--version-script={}", symbols.display()))
        .arg("-Wl,--whole-archive")
        .arg(&archive)
        .args(["-Wl,--no-whole-archive", "-lgcc_s", "-lpthread", "-ldl"])
        .status()
        .expect("the linker can be started");
    assert!(status.success(), "the CUDA runtime was not linked: {status}");
}

/// Builds the static runtime in the folder `source`, which forwards to the shared one of `version`.
/// rustc writes a library of Rust as an archive that linkers of other languages read too.
fn build_static_runtime(source: &Path, version: &str, out: &Path) {
    let library = format!("libcudart.so.{version}");
    let archive = std::fs::read(out.with_file_name(format!("{library}.a")));
    let archive = archive.expect("the runtime was compiled");
    let lines = runtime_functions(&archive).map(|name| format!("forward {name}\n"));
    let functions = out.with_extension("functions");
    std::fs::write(&functions, lines.collect::<String>()).expect("OUT_DIR is writable");
    let mut rustc = compiler(source, "cudart_static", out);
    rustc.env("CUDART_LIBRARY", library).env("CUDART_FUNCTIONS", &functions);
    let as_object = ["--crate-type", "rlib", "-C", "panic=abort", "-C", "embed-bitcode=no"];
    finish(rustc.args(as_object), "cudart_static");
}

/// The runtime's functions in the index of an archive: after the headers of the archive and of the
/// index, how many symbols there are, their places, and their names.
fn runtime_functions(archive: &[u8]) -> impl Iterator<Item = &str> {
    let index = &archive[68..];
    let count = u32::from_be_bytes(*index.first_chunk().expect("an archive has an index")) as usize;
    let names = index[4 + 4 * count..].split(|&byte| byte == 0).take(count);
    let names = names.map(|name| std::str::from_utf8(name).expect("symbols are ASCII"));
    names.filter(|name| name.trim_start_matches("__").starts_with("cuda"))
}

/// Compiles the crate in the folder `source` to `out`.
fn compile(source: &Path, name: &str, out: &Path, arguments: &[&str]) {
    finish(compiler(source, name, out).args(arguments), name);
}

fn finish(rustc: &mut Command, name: &str) {
    let status = rustc.status().expect("rustc can be started");
    assert!(status.success(), "{name} did not build: {status}");
}

/// The call of rustc for the crate in the folder `source`, with `out` as its output.
fn compiler(source: &Path, name: &str, out: &Path) -> Command {
    let rustc = env::var_os("RUSTC").expect("cargo sets RUSTC");
    let target = env::var("TARGET").expect("cargo sets TARGET");
    // One unit at level 2 takes two thirds of the time of two at level 3.
    let optimised = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let (level, units) = if optimised { ("3", 2) } else { ("2", 1) };
    let level = env::var(LEVEL).unwrap_or_else(|_| level.to_owned());
    let mut command = Command::new(rustc);
    command
        .args(["--edition", "2024", "--crate-name", name])
        .args(["--cap-lints", "allow", "--target", &target])
        .args(["-C", &format!("opt-level={level}"), "-C", &format!("codegen-units={units}")])
        .args(["-C", "strip=debuginfo"])
        .arg("-o")
        .arg(out)
        .arg(source.join("lib.rs"));
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        command.arg("-C").arg(format!("linker={}", linker.to_string_lossy()));
    }
    command
}

/// Whether `out` is newer than this script and everything in `folder`: the build takes a minute,
/// and a new commit alone does not require one.
fn is_built(out: &Path, folder: &Path) -> bool {
    let changed = |path: &Path| path.metadata().and_then(|known| known.modified()).ok();
    let Some(built) = changed(out) else { return false };
    let older = |path: &Path| changed(path).is_some_and(|changed| changed < built);
    let Ok(entries) = folder.read_dir() else { return false };
    older(Path::new("build.rs"))
        && older(folder)
        && entries.flatten().map(|entry| entry.path()).all(|path| match path.is_dir() {
            true => is_built(out, &path),
            false => older(&path),
        })
}
