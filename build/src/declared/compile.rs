//! CUDA C++ files to PTX, by `cuda_cpp`.
//!
//! Input: instances by module, each of the same files, definitions and options. Output: what was
//! compiled, and the name of each instance there or why it has none.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::PathBuf;

use camino::Utf8Path;
use gpuprof_model::ExitCode;
use gpuprof_model::declared::{DeclaredParameter, DeclaredSource};

use super::instances::RequestedInstance;
use super::{globals, signature};
use crate::cuda_cpp::{
    self, Architecture, Cache, Compiled, Compiler, Compilers, Declared, Diagnostic, FilePosition,
    Layout, Note, Program, Search, nvcc,
};
use crate::harnesses::Harness;
use gpuprof_system::console::Notes;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::interrupt::Interrupt;

/// The inputs and settings of a build of declared kernels.
#[derive(Debug, Clone, Copy)]
pub struct Tools<'a> {
    /// The folder of modules and compiled programs.
    pub folder: &'a Utf8Path,
    /// The GPU architecture, `sm_80`.
    pub arch: &'a str,
    /// The newest CUDA version with PTX that the driver accepts, if there is a driver.
    pub newest: Option<(u32, u32)>,
    /// The harnesses, which may hold kernels.
    pub harnesses: &'a [Harness],
    /// Whether compiles are not reported.
    pub quiet: bool,
    /// Ends a compile.
    pub interrupt: &'a Interrupt,
}

/// Why an instance has no entry.
pub(super) enum NoEntry {
    /// It does not compile.
    Invalid(String),
    /// Its declaration is wrong.
    Wrong(Vec<Diagnostic>),
}

impl From<Vec<Diagnostic>> for NoEntry {
    fn from(diagnostics: Vec<Diagnostic>) -> Self {
        Self::Wrong(diagnostics)
    }
}

/// What is compiled of the modules `by_module`, several at once.
///
/// # Errors
/// No compiler, an architecture that is none, or files that do not compile (exit code 101).
pub(super) fn all(
    by_module: &BTreeMap<String, Vec<RequestedInstance<'_>>>,
    tools: &Tools<'_>,
) -> Result<BTreeMap<String, Compiled>> {
    let (mut modules, mut programs) = (Vec::new(), Vec::new());
    for (module, asked) in by_module {
        if let Some(first) = asked.first()
            && let DeclaredSource::Cuda(files) = &first.declared.source
        {
            modules.push(module.clone());
            programs.push(program(files, asked, tools.arch)?);
        }
    }
    if programs.is_empty() {
        return Ok(BTreeMap::new());
    }
    let compilers = find(tools)?;
    let cache = Cache::new(tools.folder.join("programs").into_std_path_buf());
    let outcomes = cuda_cpp::compile_all(&programs, &compilers, &cache);
    let outcomes = modules.iter().zip(outcomes).map(|(module, outcome)| {
        outcome.map_err(|error| about_constants(error, &by_module[module]))
    });
    let outcomes: Vec<_> = outcomes.collect();
    finished(modules.into_iter().zip(outcomes))
}

/// The outcomes, if all succeeded; each warning is shown once.
///
/// # Errors
/// Those that failed, or that there is no compiler (exit code 101).
fn finished(
    outcomes: impl Iterator<Item = (String, Result<Compiled, cuda_cpp::Error>)>,
) -> Result<BTreeMap<String, Compiled>> {
    let (mut compiled, mut errors, mut warnings) = (BTreeMap::new(), Vec::new(), Vec::new());
    for (module, outcome) in outcomes {
        match outcome {
            Ok(made) => {
                warnings.extend(made.warnings.iter().map(ToString::to_string));
                compiled.insert(module, made);
            }
            Err(error @ cuda_cpp::Error::Missing { .. }) => return Err(failed(error.to_string())),
            Err(error) => errors.push(error.to_string()),
        }
    }
    once(warnings).iter().for_each(|warning| Notes::new(false).plain(warning));
    if errors.is_empty() {
        return Ok(compiled);
    }
    Err(failed(format!("CUDA C++ does not compile:\n{}", once(errors).join("\n"))))
}

/// `error` of the files of `asked`, with a note where it is about a line that has the name of a
/// constant: the compiler shows the line as it is written, and reads another one.
fn about_constants(error: cuda_cpp::Error, asked: &[RequestedInstance<'_>]) -> cuda_cpp::Error {
    let (cuda_cpp::Error::Source(mut diagnostics), Some(first)) = (error.clone(), asked.first())
    else {
        return error;
    };
    let defined = first.defines.iter().skip(first.declared.defines.len());
    for (name, _) in defined {
        let Some(value) = first.series.space.constants.get(name).and_then(|all| all.first()) else {
            continue;
        };
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let has_name = |line: &str| line.split(|c| !is_word(c)).any(|word| word == name);
        let about = diagnostics.iter_mut().filter(|it| {
            let line = it.span.as_ref().and_then(|span| span.text.as_deref());
            line.is_some_and(has_name)
        });
        let message = format!(
            "no symbol holds the constant `{name}` of `{}`, so it is defined for the compiler, as \
             -D{name}={value}; if it is an argument of a template, write {{{name}}} in symbol = \"…\", \
             else give it another name",
            first.series.id.kernel
        );
        about.for_each(|it| it.notes.push(Note { message: message.clone(), span: None }));
    }
    cuda_cpp::Error::Source(diagnostics)
}

/// `texts` without duplicates.
fn once(texts: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    texts.into_iter().filter(|text| seen.insert(text.clone())).collect()
}

fn failed(message: String) -> Failure {
    Failure::new(ExitCode::BuildFailed, message)
}

/// The available compilers.
///
/// # Errors
/// This executable cannot be found (exit code 101).
fn find(tools: &Tools<'_>) -> Result<Compilers> {
    let executable = env::current_exe().map_err(|e| {
        failed(format!("the path of this executable, which starts NVRTC, is unknown: {e}"))
    })?;
    let search = Search::from_environment(tools.newest);
    let nvrtc = Compiler::find(&search, &executable, tools.interrupt);
    let nvcc = nvcc::Search { newest: tools.newest, ..nvcc::Search::from_environment() };
    Ok(Compilers::new(nvrtc, nvcc, tools.interrupt, tools.quiet))
}

/// The program of the instances `asked`, which are in `files`.
///
/// # Errors
/// An architecture that is none.
fn program(files: &[String], asked: &[RequestedInstance<'_>], arch: &str) -> Result<Program> {
    let first = &asked[0];
    Ok(Program {
        package_root: first.series.source_folder.clone(),
        sources: files.iter().map(PathBuf::from).collect(),
        includes: first.declared.include.iter().map(PathBuf::from).collect(),
        defines: first.defines.clone(),
        options: first.declared.options.clone(),
        compiler: first.declared.compiler,
        architecture: architecture(arch)?,
        kernels: instances(asked),
    })
}

/// The architecture `sm_80` as the compiler has it.
fn architecture(text: &str) -> Result<Architecture> {
    let digits = text.trim_start_matches("sm_").trim_end_matches(|c: char| c.is_alphabetic());
    let compute = digits.parse().map_err(|_| {
        Failure::usage(format!("invalid architecture `{text}`; expected one such as sm_80"))
    })?;
    Ok(Architecture { compute })
}

/// What is compiled: each declaration of a name once.
fn instances(asked: &[RequestedInstance<'_>]) -> Vec<cuda_cpp::Instance> {
    let mut names = BTreeSet::new();
    let once = asked.iter().filter(|asked| {
        let types = asked.parameters.iter().map(|it| (it.cpp.as_str(), it.bytes, it.align));
        names.insert((asked.name.as_str(), types.collect::<Vec<_>>()))
    });
    let instance = |asked: &RequestedInstance<'_>| {
        let file = PathBuf::from(&asked.series.file);
        let declared = asked.parameters.iter().map(|parameter| Declared {
            cpp: parameter.cpp.clone(),
            rust: parameter.rust.clone(),
            declared_at: FilePosition {
                file: file.clone(),
                line: parameter.line,
                column: Some(parameter.column),
            },
            layout: layout(parameter),
        });
        cuda_cpp::Instance {
            expression: asked.name.clone(),
            parameters: declared.collect(),
            declared_at: asked.place(),
            named_at: asked.place_of_symbol(),
        }
    };
    let kernels: Vec<cuda_cpp::Instance> = once.map(instance).collect();
    kernels.into_iter().chain(globals::instances(asked)).collect()
}

/// The layout of a struct.
fn layout(parameter: &DeclaredParameter) -> Option<Layout> {
    let (size, align) = (u64::from(parameter.bytes), u64::from(parameter.align));
    (align > 0).then_some(Layout { size, align })
}

/// The name of `asked` in the PTX of `compiled`.
///
/// # Errors
/// It does not compile with its constants, or its declaration is wrong.
pub(super) fn symbol(
    asked: &RequestedInstance<'_>,
    compiled: &Compiled,
) -> Result<String, NoEntry> {
    match compiled.entries.get(&asked.name) {
        Some(Ok(symbol)) => Ok(symbol.clone()),
        Some(Err(diagnostics)) if is_of_constants(asked, diagnostics) => {
            Err(NoEntry::Invalid(sentence(asked, diagnostics)))
        }
        Some(Err(diagnostics)) => Err(NoEntry::Wrong(diagnostics.clone())),
        None => {
            let message = format!("`{}` was not compiled", asked.name);
            Err(NoEntry::Wrong(vec![signature::error_at(message, asked.place())]))
        }
    }
}

/// Whether `diagnostics` are about the constants of an instance, and not about its declaration in
/// Rust.
fn is_of_constants(asked: &RequestedInstance<'_>, diagnostics: &[Diagnostic]) -> bool {
    let in_rust = |diagnostic: &Diagnostic| {
        let file = diagnostic.span.as_ref().map(|span| &span.place.file);
        file.is_some_and(|file| file.extension().is_some_and(|end| end == "rs"))
    };
    !asked.key.is_empty() && !diagnostics.iter().any(in_rust)
}

/// Why an instance does not compile, in one sentence with its place.
fn sentence(asked: &RequestedInstance<'_>, diagnostics: &[Diagnostic]) -> String {
    let errors = diagnostics.iter().map(|diagnostic| {
        let place = diagnostic.span.as_ref().map(|span| format!("{}: ", span.place));
        let remedies = diagnostic.notes.iter().filter(|it| it.span.is_none() && !it.is_step());
        let remedies = remedies.map(|note| format!("; {}", note.message));
        let place = place.unwrap_or_default();
        format!("{place}{}{}", diagnostic.message, remedies.collect::<String>())
    });
    let errors: Vec<String> = errors.collect();
    format!("`{}` does not compile: {}", asked.name, errors.join("; "))
}
