//! What `#[kernels]` leaves of a declaration: where a kernel lives and what it takes.
//!
//! Output: the same as the protocol has it, for the runner, which compiles the kernel.

use gpuprof_model::declared::{DeclaredKernel, DeclaredSource};
use gpuprof_model::measurement::PassOutcome;
use gpuprof_model::protocol::MeasureRequest;

/// A declared kernel.
#[derive(Debug, Clone, Copy)]
pub struct Declaration {
    /// Where it lives.
    pub source: Source,
    /// Folders with headers, relative to the package.
    pub include: &'static [&'static str],
    /// Definitions for the preprocessor.
    pub defines: &'static [(&'static str, &'static str)],
    /// More options of the compiler.
    pub options: &'static [&'static str],
    /// What it is called there, with `{NAME}` for the value of a constant.
    pub symbol: &'static str,
    /// Its parameters.
    pub parameters: &'static [DeclaredParameter],
    /// The types that axes of types have.
    pub types: &'static [DeclaredType],
}

/// A type that a declared kernel may be instantiated with.
#[derive(Debug, Clone, Copy)]
pub struct DeclaredType {
    /// The axis.
    pub axis: &'static str,
    /// The type in Rust, which is the value of the axis.
    pub rust: &'static str,
    /// The same in CUDA C++.
    pub cpp: &'static str,
    /// Its size; 0 where nothing of it is passed.
    pub bytes: u32,
}

/// Where a declared kernel lives.
#[derive(Debug, Clone, Copy)]
pub enum Source {
    /// CUDA C++ files, relative to the package.
    Cuda(&'static [&'static str]),
    /// A PTX file, relative to the package.
    PtxFile(&'static str),
    /// PTX that the program holds.
    PtxText(fn() -> &'static str),
}

/// A parameter as it is declared.
#[derive(Debug, Clone, Copy)]
pub struct DeclaredParameter {
    /// Its name.
    pub name: &'static str,
    /// Its type in Rust.
    pub rust: &'static str,
    /// The same in CUDA C++.
    pub cpp: &'static str,
    /// Its size.
    pub bytes: u32,
    /// The line of its type.
    pub line: u32,
    /// The column of its type.
    pub column: u32,
}

impl From<&Declaration> for DeclaredKernel {
    fn from(declaration: &Declaration) -> Self {
        let texts = |all: &[&str]| all.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        let define = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        let parameter = |it: &DeclaredParameter| gpuprof_model::declared::DeclaredParameter {
            name: it.name.to_owned(),
            rust: it.rust.to_owned(),
            cpp: it.cpp.to_owned(),
            bytes: it.bytes,
            line: it.line,
            column: it.column,
        };
        let ty = |it: &DeclaredType| gpuprof_model::declared::DeclaredType {
            axis: it.axis.to_owned(),
            rust: it.rust.to_owned(),
            cpp: it.cpp.to_owned(),
            bytes: it.bytes,
        };
        Self {
            source: match declaration.source {
                Source::Cuda(files) => DeclaredSource::Cuda(texts(files)),
                Source::PtxFile(file) => DeclaredSource::PtxFile(file.to_owned()),
                Source::PtxText(text) => DeclaredSource::PtxText(text().to_owned()),
            },
            include: texts(declaration.include),
            defines: declaration.defines.iter().map(define).collect(),
            options: texts(declaration.options),
            symbol: declaration.symbol.to_owned(),
            parameters: declaration.parameters.iter().map(parameter).collect(),
            types: declaration.types.iter().map(ty).collect(),
        }
    }
}

/// The `outcome` of `request` with the kernel called as its declaration does, where the compiler
/// called it otherwise: `scan<4, float>` for `_Z4scanILi4EfEvjPKfPf`.
pub(crate) fn as_written(mut outcome: PassOutcome, request: &MeasureRequest) -> PassOutcome {
    let Some(entry) = request.declared.as_ref().filter(|entry| entry.symbol != entry.shown) else {
        return outcome;
    };
    match &mut outcome {
        PassOutcome::Finished(result) => {
            let launches = result.launches.iter_mut();
            for launch in launches.filter(|launch| launch.kernel == entry.symbol) {
                launch.kernel.clone_from(&entry.shown);
            }
        }
        PassOutcome::Invalid { reason } | PassOutcome::Failed { reason, .. } => {
            *reason = reason.replace(&entry.symbol, &entry.shown);
        }
        PassOutcome::Denied(_) => {}
    }
    outcome
}
