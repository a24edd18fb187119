//! The checks of programs and libraries: CUPTI, the kernel toolchain, ptxas, nvdisasm, NVRTC.

use std::env;
use std::process::{Command, Stdio};

use gpuprof_model::ExitCode;

use super::check::{Check, Obstacle, State};
use gpuprof_build::cuda_cpp::{self, Compiler, NotFound, Nvcc, Search, nvcc};
use gpuprof_build::toolchain::{self, Candidates};
use gpuprof_build::toolkit::{self, Program};
use gpuprof_build::{nvdisasm, ptxas};
use gpuprof_engine::cupti::Answer;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::interrupt::Interrupt;

/// The name of the line of the kernels' toolchain.
const TOOLCHAIN: &str = "toolchain";

/// Without a toolchain where something is built.
const NO_KERNELS: Obstacle =
    Obstacle { code: ExitCode::BuildFailed, sentence: "kernels cannot be built here" };

/// The location of CUPTI.
pub(super) fn library(located: Answer, has_gpu: bool) -> Check {
    match located {
        Answer::Located(found) => {
            let text = format!("{} at {} ({})", found.version, found.path.display(), found.place);
            Check::new(State::Ok, "CUPTI", text)
        }
        answer => {
            let state = if has_gpu { State::Fail } else { State::Warn };
            Check::new(state, "CUPTI", answer.refusal().reason)
        }
    }
}

/// The toolchain, looked for without installing anything.
pub(super) fn kernels(asked: Option<&str>) -> Check {
    let candidates = Candidates { rustup: "/nonexistent/rustup".into(), ..Candidates::default() };
    match toolchain::find(asked, &candidates) {
        Ok(found) => Check::new(State::Ok, TOOLCHAIN, found.version),
        Err(failure) => without(asked.is_some() || has_cargo(), &failure.message),
    }
}

/// Without a toolchain: a machine without cargo as well runs archives.
fn without(builds: bool, reason: &str) -> Check {
    if builds {
        return Check::obstacle(NO_KERNELS, TOOLCHAIN, reason);
    }
    Check::new(
        State::Warn,
        TOOLCHAIN,
        "neither cargo nor a kernel toolchain is installed. Archives need neither (`cargo gpuprof \
         archive` elsewhere, then `run --archive-file` here); to build here, install Rust \
         (https://rustup.rs) and its component rust-src",
    )
}

fn has_cargo() -> bool {
    runs(Command::new(gpuprof_build::cargo()).arg("--version"))
}

fn runs(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// ptxas, which reports registers if no GPU does.
pub(super) fn assembler() -> Check {
    let needed = "the registers of emulated runs need it";
    optional(&ptxas::PROGRAM, "emulated runs report registers", needed)
}

/// nvdisasm, which writes machine code as text.
pub(super) fn disassembler() -> Check {
    let needed = "SASS and live registers by line need it";
    optional(&nvdisasm::PROGRAM, "counts by line show SASS and live registers", needed)
}

/// The check of `program`, with its output `gives`, or its purpose `needed`.
fn optional(program: &'static Program, gives: &str, needed: &str) -> Check {
    match toolkit::Search::from_environment(program).find(program) {
        Ok(toolkit::Installed { file, version, place }) => {
            let text = format!("{version} at {} ({place}); {gives}", file.display());
            Check::new(State::Ok, program.name, text)
        }
        Err(absent) => not_installed(&absent, needed),
    }
}

/// The check of a missing program that only some runs need; `for_what` says which.
fn not_installed(absent: &toolkit::NotFound, for_what: &str) -> Check {
    let Program { name, install, .. } = absent.program;
    if absent.named {
        return Check::new(State::Warn, name, absent.to_string());
    }
    let broken: String = absent.reasons.iter().map(|it| format!("\n{it}")).collect();
    let text = format!("not installed; only {for_what}: `{install}` installs it{broken}");
    Check::new(State::Ok, name, text)
}

/// NVRTC, which only kernels in CUDA C++ need: as a run selects it, for a driver that
/// accepts PTX up to the version `newest`.
pub(super) fn compiler_of_cuda_cpp(
    newest: Option<(u32, u32)>,
    interrupt: &Interrupt,
) -> Result<Check> {
    const WHAT: &str = "NVRTC";
    let executable = env::current_exe().map_err(|error| {
        let message = format!("cannot find this executable, which asks NVRTC: {error}");
        Failure::new(ExitCode::NotPossible, message).caused_by(error)
    })?;
    let search = Search::from_environment(newest);
    Ok(match Compiler::find(&search, &executable, interrupt) {
        Ok(found) => {
            let (library, place) = (found.library().display(), found.place());
            let headers = match found.has_bundled_headers() {
                true => ", with CUDA's headers",
                false => "",
            };
            let text = format!("{} at {library}{headers} ({place})", found.release());
            Check::new(State::Ok, WHAT, text)
        }
        Err(absent) if absent.searched.iter().any(|it| it.place.is_named()) => {
            Check::new(State::Warn, WHAT, absent.to_string())
        }
        Err(absent) => Check::new(State::Ok, WHAT, without_nvrtc(&absent)),
    })
}

/// nvcc, for files that NVRTC cannot compile, as a run selects it.
pub(super) fn second_compiler(newest: Option<(u32, u32)>, interrupt: &Interrupt) -> Check {
    const WHAT: &str = "nvcc";
    let search = nvcc::Search { newest, ..nvcc::Search::from_environment() };
    match Nvcc::find(&search, interrupt, true) {
        Ok(found) => {
            let (release, file, place) = (found.release(), found.file().display(), found.place());
            Check::new(State::Ok, WHAT, format!("{release} at {file} ({place})"))
        }
        Err(absent) => not_installed(&absent, "CUDA C++ that NVRTC cannot compile needs it"),
    }
}

/// Most packages have no kernel in CUDA C++: a missing NVRTC is fine, but a broken one is not.
fn without_nvrtc(absent: &NotFound) -> String {
    let broken = absent.searched.iter().filter_map(|it| it.reason.as_ref());
    let broken: String = broken.map(|reason| format!("\n{reason}")).collect();
    format!(
        "not installed; only kernels in CUDA C++ need it: `{}` installs it{broken}",
        cuda_cpp::INSTALL
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_toolchain_matters_only_for_builds() {
        let here = without(true, "kernels need the source of Rust's core library");
        assert_eq!(
            (here.state, here.found.as_str()),
            (State::Fail, "kernels need the source of Rust's core library")
        );
        assert_eq!(here.obstacle.map(|obstacle| obstacle.code), Some(ExitCode::BuildFailed));
        let archives = without(false, "…");
        assert_eq!((archives.state, archives.obstacle), (State::Warn, None));
        assert!(archives.found.contains("Archives need neither"), "{archives:?}");
    }
}
