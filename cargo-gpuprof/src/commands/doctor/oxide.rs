//! The check of NVIDIA's Rust compiler, which only some packages need.

use camino::Utf8PathBuf;
use gpuprof_model::ExitCode;

use super::check::{Check, Obstacle, State};
use crate::options::CargoRequest;
use gpuprof_build::harnesses;
use gpuprof_build::oxide::{self, Compiler, Search};
use gpuprof_system::error::Result;

/// The name of the line.
const WHAT: &str = "cuda-oxide";

/// Without it where a package needs it.
const NO_KERNELS: Obstacle = Obstacle {
    code: ExitCode::BuildFailed,
    sentence: "kernels of NVIDIA's Rust cannot be built here",
};

/// Whether the backend is available, if the workspace here needs it.
pub(super) fn backend() -> Check {
    let options = CargoRequest::default();
    let metadata = harnesses::metadata(&options).ok();
    let here = || Utf8PathBuf::from(".");
    let root = metadata.as_ref().map_or_else(here, |found| found.workspace_root.clone());
    let target = metadata.as_ref().map(|found| harnesses::target_directory(found, &options));
    let needed = metadata.as_ref().is_some_and(|found| {
        found.workspace_packages().into_iter().any(|it| oxide::is_compiled(it, found))
    });
    // Which architecture it compiles for is not asked here.
    let found = Compiler::find((&root, None), "sm_80", target.as_deref());
    check_compiler(found, needed, Search::from_environment().named.is_some())
}

fn check_compiler(found: Result<Compiler>, needed: bool, named: bool) -> Check {
    match found {
        Ok(compiler) => {
            let (path, place) = (&compiler.backend.path, compiler.backend.place);
            let text = format!("{path} ({place}), for {}", compiler.made.rustc);
            Check::new(State::Ok, WHAT, text)
        }
        Err(failure) if needed => Check::obstacle(NO_KERNELS, WHAT, failure.message),
        Err(failure) if named => Check::new(State::Warn, WHAT, failure.message),
        Err(_) => Check::new(
            State::Ok,
            WHAT,
            "not here for this toolchain, and needed by kernels of NVIDIA's Rust alone",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuprof_system::error::Failure;

    #[test]
    fn a_missing_backend_matters_only_if_needed_or_named() {
        let missing = || Err(Failure::new(ExitCode::BuildFailed, "it is not here"));
        let state = |needed, named| {
            let check = check_compiler(missing(), needed, named);
            (check.state, check.obstacle.is_some())
        };
        assert_eq!(state(true, false), (State::Fail, true));
        assert_eq!(state(false, true), (State::Warn, false));
        assert_eq!(state(false, false), (State::Ok, false));
    }
}
