//! The choice between NVRTC and nvcc.
//!
//! Input: a program with the compiler that its declaration selects. Output: its result. The default
//! is NVRTC, which starts faster and needs no host compiler; if the sources have errors under
//! NVRTC, nvcc is tried if it is available. nvcc's result is kept and found again before NVRTC is
//! tried once more.

use std::sync::OnceLock;

use gpuprof_model::declared::CudaCompiler;

use super::cache::Cache;
use super::compile::{compile_by, kept};
use super::compiled::Compiled;
use super::device_compiler::DeviceCompiler;
use super::diagnostic::{Diagnostic, Note, Severity};
use super::error::Error;
use super::nvcc::{self, Nvcc};
use super::nvrtc::{self, Compiler};
use super::program::Program;
use super::shims;
use crate::toolkit::NotFound;
use gpuprof_system::interrupt::Interrupt;

/// The available compilers; nvcc is searched for only when it is needed.
#[derive(Debug)]
pub struct Compilers {
    nvrtc: Result<Compiler, nvrtc::NotFound>,
    nvcc: OnceLock<Result<Nvcc, NotFound>>,
    search: nvcc::Search,
    interrupt: Interrupt,
    quiet: bool,
}

impl Compilers {
    /// This NVRTC, or the reason why there is none, and the nvcc that `search` finds. `interrupt`
    /// ends a compile. Compiles are reported unless `quiet`.
    pub fn new(
        nvrtc: Result<Compiler, nvrtc::NotFound>,
        search: nvcc::Search,
        interrupt: &Interrupt,
        quiet: bool,
    ) -> Self {
        let nvrtc = nvrtc.map(|found| found.announcing(quiet));
        Self { nvrtc, nvcc: OnceLock::new(), search, interrupt: interrupt.clone(), quiet }
    }

    /// Ends a compile.
    pub(super) fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    fn nvcc(&self) -> Result<&Nvcc, &NotFound> {
        let find = || Nvcc::find(&self.search, &self.interrupt, self.quiet);
        self.nvcc.get_or_init(find).as_ref()
    }

    /// Compiles `program`, or takes it from `cache`.
    ///
    /// # Errors
    /// [`Error`]: nothing of it compiles.
    pub fn compile(&self, program: &Program, cache: &Cache) -> Result<Compiled, Error> {
        // A signal ends what is asked for its version, too.
        let missing = |reason| match self.interrupt.signal() {
            Some(signal) => Error::Interrupted(signal),
            None => Error::Missing { what: program.named(), reason },
        };
        let nvcc = || self.nvcc().map_err(ToString::to_string);
        let by = match (program.compiler, &self.nvrtc) {
            (CudaCompiler::Auto, Ok(nvrtc)) => return self.by_either(program, nvrtc, cache),
            (CudaCompiler::Nvrtc, Ok(nvrtc)) => {
                let compiled = compile_by(program, DeviceCompiler::Nvrtc(nvrtc), cache);
                return compiled.map_err(|error| match error {
                    Error::Source(said) => {
                        Error::Source(one_of_the_host(said, "`compiler = nvrtc` leaves nvcc out"))
                    }
                    other => other,
                });
            }
            (CudaCompiler::Nvrtc, Err(absent)) => return Err(missing(absent.to_string())),
            (CudaCompiler::Nvcc, _) => DeviceCompiler::Nvcc(nvcc().map_err(missing)?, None),
            (CudaCompiler::Auto, Err(absent)) => {
                let both = |reason| missing(format!("{absent}\n  {reason}"));
                DeviceCompiler::Nvcc(nvcc().map_err(both)?, None)
            }
        };
        compile_by(program, by, cache)
    }

    fn by_either(
        &self,
        program: &Program,
        nvrtc: &Compiler,
        cache: &Cache,
    ) -> Result<Compiled, Error> {
        if let Some(compiled) = kept(program, DeviceCompiler::Nvrtc(nvrtc), cache)? {
            return Ok(compiled);
        }
        let by_nvcc = self.nvcc().ok().map(|nvcc| DeviceCompiler::Nvcc(nvcc, Some(nvrtc)));
        // If the cache cannot be read, nvcc may still not be needed.
        let by_nvcc_before = by_nvcc.and_then(|by| kept(program, by, cache).ok().flatten());
        if let Some(compiled) = by_nvcc_before {
            return Ok(compiled);
        }
        let errors = match compile_by(program, DeviceCompiler::Nvrtc(nvrtc), cache) {
            Err(Error::Source(errors)) => errors,
            other => return other,
        };
        if !self.may_find_headers(&errors) {
            return Err(Error::Source(errors));
        }
        let Some(by) = by_nvcc else { return Err(Error::Source(self.without_nvcc(errors))) };
        match compile_by(program, by, cache) {
            Ok(mut compiled) => {
                compiled.warnings.push(instead(program, nvrtc, by, &errors));
                Ok(compiled)
            }
            Err(error @ Error::Interrupted(_)) => Err(error),
            Err(Error::Source(by_nvcc)) => {
                Err(Error::Source(neither((nvrtc.name(), errors), (by.name(), by_nvcc))))
            }
            Err(other) => Err(Error::Source(neither(
                (nvrtc.name(), errors),
                (by.name(), vec![Diagnostic::error(other.to_string())]),
            ))),
        }
    }

    /// Whether nvcc, if it is there, may find every header that NVRTC says is missing.
    fn may_find_headers(&self, said: &[Diagnostic]) -> bool {
        let Ok(nvcc) = self.nvcc() else { return true };
        said.iter().filter_map(Diagnostic::missing_header).all(|header| nvcc.may_find(header))
    }

    /// The errors of NVRTC, for a program that nvcc might have compiled.
    fn without_nvcc(&self, said: Vec<Diagnostic>) -> Vec<Diagnostic> {
        match self.nvcc() {
            Ok(_) => said,
            Err(absent) => one_of_the_host(said, &absent.to_string()),
        }
    }
}

/// The first of NVRTC's errors about host code, if there is one, with the remedy and `why` that is
/// not done: the other errors follow from it, or need nvcc as well.
fn one_of_the_host(mut said: Vec<Diagnostic>, why: &str) -> Vec<Diagnostic> {
    let Some(first) = said.iter().position(shims::is_of_the_host) else { return said };
    let mut shown = said.swap_remove(first);
    let more = match said.len() {
        0 => None,
        1 => Some("1 more error is not shown".to_owned()),
        count => Some(format!("{count} more errors are not shown")),
    };
    let remedy = format!("nvcc compiles host code that NVRTC cannot, and {why}");
    let notes = more.into_iter().chain([remedy]);
    shown.notes.extend(notes.map(|message| Note { message, span: None }));
    vec![shown]
}

/// That nvcc compiled it, and why.
fn instead(
    program: &Program,
    nvrtc: &Compiler,
    by: DeviceCompiler<'_>,
    said: &[Diagnostic],
) -> Diagnostic {
    Diagnostic {
        severity: Severity::Note,
        ..Diagnostic::error(format!(
            "{} does not compile with {} ({}): {} compiled it",
            program.named(),
            nvrtc.name(),
            brief(said),
            by.name()
        ))
    }
}

/// The errors of the compiler that understands more of the file, with the first error of the other:
/// nvcc's, if NVRTC lacks the host's side.
fn neither(nvrtc: (String, Vec<Diagnostic>), nvcc: (String, Vec<Diagnostic>)) -> Vec<Diagnostic> {
    let ((_, mut shown), (other, said)) =
        if shims::help(&nvrtc.1) { (nvcc, nvrtc) } else { (nvrtc, nvcc) };
    if let Some(last) = shown.last_mut() {
        let message = format!("{other} does not compile it either: {}", brief(&said));
        last.notes.push(Note { message, span: None });
    }
    shown
}

/// The first error in one line.
fn brief(said: &[Diagnostic]) -> String {
    let Some(first) = said.first() else { return "without a message".to_owned() };
    match &first.span {
        Some(span) => format!("{}: {}", span.place, first.message),
        None => first.message.clone(),
    }
}
