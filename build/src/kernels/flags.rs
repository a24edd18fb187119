//! The flags of a kernel build: those of every crate, and cargo's.

use camino::Utf8Path;

use crate::KERNEL_TARGET as TARGET;
use crate::options::BuildOptions;
use crate::toolchain::Toolchain;
use gpuprof_system::console;

/// The flags that keep a barrier from being copied into both arms of a branch. `JumpThreading` does
/// so in rustc (rust-lang/rust#137086). LLVM does so with a call of a function that is not marked
/// `convergent`, and rustc marks none before 1.97 (rust-lang/rust#153995).
pub(super) const CONVERGENT: [&str; 2] =
    ["-Zmir-enable-passes=-JumpThreading", "-Cllvm-args=-force-attribute=convergent"];

/// The flag by which LLVM writes comments into PTX, from which [`super::inlining`] takes the call
/// sites of inlined functions. An old toolchain does not know it.
pub(super) const COMMENTS: &str = "-Zverbose-asm";

/// The first minor version of rustc that needs none of [`CONVERGENT`].
const MARKS_BY_ITSELF: u32 = 97;

/// The first capability that has an instruction (`redux.sync`; `atom.add` of `bf16x2`), and the cfg
/// that enables it in the device half.
const SINCE: [(u32, &str); 2] = [(80, "--cfg=gpuprof_redux"), (90, "--cfg=gpuprof_bf16_atomics")];

/// Flags of every crate, for `arch`. Line directives name the user's source in faults.
pub(super) fn of_every_crate(arch: &str) -> Vec<String> {
    let wanted = CONVERGENT.map(str::to_owned);
    let lines = "-Cdebuginfo=line-directives-only".to_owned();
    let number = arch.trim_start_matches("sm_").trim_end_matches(char::is_alphabetic);
    let capability: u32 = number.parse().unwrap_or(0);
    let has = SINCE.into_iter().filter(|(first, _)| capability >= *first);
    wanted
        .into_iter()
        .chain([lines, format!("-Ctarget-cpu={arch}")])
        .chain(has.map(|(_, cfg)| cfg.to_owned()))
        .collect()
}

/// Removes flags that the toolchain does not know, and warns if that changes the result.
pub(super) fn known(flags: Vec<String>, toolchain: &Toolchain) -> Vec<String> {
    if toolchain.knows(&CONVERGENT) {
        return flags;
    }
    let unknown: Vec<&str> =
        CONVERGENT.into_iter().filter(|flag| !toolchain.knows(&[flag])).collect();
    if !unknown.is_empty() && toolchain.minor().is_none_or(|minor| minor < MARKS_BY_ITSELF) {
        console::warn(format_args!(
            "{} does not know {}: a barrier in a function of yours may be compiled into both arms of a \
             branch, and the block then hangs or computes something else; use another --kernel-toolchain",
            toolchain.version,
            unknown.join(" ")
        ));
    }
    flags.into_iter().filter(|flag| !unknown.contains(&flag.as_str())).collect()
}

/// Cargo's arguments but for what is emitted.
pub(super) fn of_cargo(package: &str, options: &BuildOptions, features: &[String]) -> Vec<String> {
    let mut arguments: Vec<String> =
        ["rustc", "--package", package, "--lib", "--crate-type", "cdylib"]
            .into_iter()
            .chain(["--release", "--target", TARGET, "-Zbuild-std=core"])
            .map(str::to_owned)
            // A configuration file among them has a lower priority than later ones.
            .chain(options.cargo.manifest_args())
            .chain(
                [
                    "--config",
                    "profile.release.lto=\"fat\"",
                    "--config",
                    "profile.release.panic=\"abort\"",
                    // Paths in the PTX begin at the workspace, the registry or Rust's library: two
                    // clones make the same PTX, without the user's home. Diagnostics keep their
                    // paths.
                    "-Ztrim-paths",
                    "--config",
                    "profile.release.trim-paths=\"object\"",
                ]
                .map(str::to_owned),
            )
            .collect();
    arguments.extend_from_slice(features);
    arguments.extend(["--", "-Ccodegen-units=1", "-Clinker=true"].map(str::to_owned));
    arguments
}

/// The argument for PTX, and the module in LLVM's text form next to it.
pub(super) fn emit(ptx: Option<&Utf8Path>, ir: &Utf8Path) -> String {
    match ptx {
        Some(ptx) => format!("--emit=asm={ptx},llvm-ir={ir}"),
        None => format!("--emit=llvm-ir={ir}"),
    }
}
