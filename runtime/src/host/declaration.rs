//! The declaration that `#[kernels]`, or `#[kernel]` above another compiler's, leaves: a kernel's
//! source and its parameters.
//!
//! Output: the same in the form of the protocol, for the runner, which compiles the kernel.

use std::hint::black_box;

use gpuprof_model::declared::{
    Contract, CudaCompiler, DeclaredEntry, DeclaredInstance, DeclaredKernel, DeclaredSource,
    MachineCode,
};
use gpuprof_model::measurement::PassOutcome;
use gpuprof_model::protocol::MeasureRequest;

use super::error::{Error, Result};

/// A declared kernel.
#[derive(Debug, Clone, Copy)]
pub struct Declaration {
    /// Its source.
    pub source: KernelSource,
    /// Folders with headers, relative to the package.
    pub include: &'static [&'static str],
    /// Definitions for the preprocessor.
    pub defines: &'static [(&'static str, &'static str)],
    /// More options of the compiler.
    pub options: &'static [&'static str],
    /// Who compiles it, if it is CUDA C++.
    pub compiler: CudaCompiler,
    /// Its name in the source, with `{NAME}` for the value of a constant.
    pub symbol: &'static str,
    /// The line and the column of the name.
    pub symbol_at: (u32, u32),
    /// Its parameters.
    pub parameters: &'static [DeclaredParameter],
    /// The types that axes of types have.
    pub types: &'static [DeclaredType],
    /// The variables of the device that its annotation sets.
    pub globals: &'static [DeclaredGlobal],
    /// The constraints of its launches.
    pub contract: Contract,
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
    /// Its size; 0 if nothing of it is passed.
    pub bytes: u32,
}

/// An instance of a kernel with the function that returns its name in the device code.
pub type InstanceName = (&'static str, fn() -> &'static str);

/// The source of a declared kernel.
#[derive(Debug, Clone, Copy)]
pub enum KernelSource {
    /// CUDA C++ files, relative to the package.
    Cuda(&'static [&'static str]),
    /// A PTX file, relative to the package.
    PtxFile(&'static str),
    /// PTX that the program holds.
    PtxText(fn() -> &'static str),
    /// A cubin or a fatbin, relative to the package.
    MachineCode(&'static str),
    /// Device code that NVIDIA's Rust compiler put into this program.
    Embedded {
        /// Each instance with the function that returns its name.
        names: &'static [InstanceName],
        /// The reference that makes the linker keep the code.
        keep: fn() -> *const (),
    },
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
    /// Of a struct, its alignment; 0 of everything else.
    pub align: u32,
    /// The line of its type.
    pub line: u32,
    /// The column of its type.
    pub column: u32,
}

/// A variable of the device as it is declared.
#[derive(Debug, Clone, Copy)]
pub struct DeclaredGlobal {
    /// Its name in Rust.
    pub name: &'static str,
    /// Its name in the source.
    pub symbol: &'static str,
    /// Its type in Rust.
    pub rust: &'static str,
    /// Its size.
    pub bytes: usize,
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
            align: it.align,
            line: it.line,
            column: it.column,
        };
        let ty = |it: &DeclaredType| gpuprof_model::declared::DeclaredType {
            axis: it.axis.to_owned(),
            rust: it.rust.to_owned(),
            cpp: it.cpp.to_owned(),
            bytes: it.bytes,
        };
        let global = |it: &DeclaredGlobal| gpuprof_model::declared::DeclaredGlobal {
            name: it.name.to_owned(),
            symbol: it.symbol.to_owned(),
            rust: it.rust.to_owned(),
            bytes: it.bytes as u64,
            line: it.line,
            column: it.column,
        };
        Self {
            path: String::new(),
            source: match declaration.source {
                KernelSource::Cuda(files) => DeclaredSource::Cuda(texts(files)),
                KernelSource::PtxFile(file) => DeclaredSource::PtxFile(file.to_owned()),
                KernelSource::PtxText(text) => DeclaredSource::PtxText(text().to_owned()),
                KernelSource::MachineCode(file) => DeclaredSource::MachineCode(file.to_owned()),
                KernelSource::Embedded { names, keep } => {
                    black_box(keep());
                    let name = |(instance, name): &InstanceName| {
                        ((*instance).to_owned(), name().to_owned())
                    };
                    DeclaredSource::Embedded(names.iter().map(name).collect())
                }
            },
            include: texts(declaration.include),
            defines: declaration.defines.iter().map(define).collect(),
            options: texts(declaration.options),
            compiler: declaration.compiler,
            symbol: declaration.symbol.to_owned(),
            symbol_at: declaration.symbol_at,
            parameters: declaration.parameters.iter().map(parameter).collect(),
            types: declaration.types.iter().map(ty).collect(),
            globals: declaration.globals.iter().map(global).collect(),
            contract: declaration.contract,
        }
    }
}

/// The instance `key` of the kernel `path`, for a series function that launches it.
///
/// # Errors
/// One that does not compile, or that an emulated driver does not run: the configuration is
/// invalid. One that the runner did not compile.
pub(crate) fn launchable<'r>(
    request: &'r MeasureRequest,
    path: &str,
    key: &str,
) -> Result<&'r DeclaredEntry> {
    let mut all = request.launchable.iter();
    match all.find(|it| it.path == path && it.key == key).map(|it| &it.instance) {
        Some(DeclaredInstance::Ready(entry)) => {
            let refused = entry.needs_gpu().filter(|_| request.emulated);
            refused.map_or(Ok(entry), |reason| Err(Error::invalid(reason)))
        }
        Some(DeclaredInstance::Refused(reason)) => Err(Error::invalid(reason.clone())),
        None => Err(not_compiled(path)),
    }
}

/// What is known of the module `key` of a request, if it is machine code.
pub(crate) fn machine_code<'r>(request: &'r MeasureRequest, key: &str) -> Option<&'r MachineCode> {
    let mut entries = entries(request).filter(|entry| entry.module == key);
    entries.find_map(|entry| entry.machine_code.as_deref())
}

/// The declared kernels that a request may launch.
fn entries(request: &MeasureRequest) -> impl Iterator<Item = &DeclaredEntry> {
    let launchable = request.launchable.iter().filter_map(|it| match &it.instance {
        DeclaredInstance::Ready(entry) => Some(entry),
        DeclaredInstance::Refused(_) => None,
    });
    request.declared.iter().chain(launchable)
}

/// The name of the variable `name`, which an annotation sets, in the module of a request.
///
/// # Errors
/// The runner did not look for it.
pub(crate) fn global<'r>(request: &'r MeasureRequest, name: &str) -> Result<&'r str> {
    let entry = request.declared.as_ref().and_then(|entry| entry.globals.get(name));
    entry.map(String::as_str).ok_or_else(|| not_compiled(name))
}

/// The runner did not say where the declared kernel `name` was compiled to.
pub(crate) fn not_compiled(name: &str) -> Error {
    Error::failed(format!(
        "`{name}` is declared with #[gpuprof::kernels], which this cargo-gpuprof does not know or cannot \
         launch here: install the version that the package has as its dependency"
    ))
}

/// The `outcome` of `request` with its kernels called as their declarations do, if the compiler
/// called them otherwise: `scan<4, float>` for `_Z4scanILi4EfEvjPKfPf`.
pub(crate) fn as_written(mut outcome: PassOutcome, request: &MeasureRequest) -> PassOutcome {
    for entry in entries(request) {
        if entry.symbol != entry.shown {
            write_as_declared(&mut outcome, entry);
        }
    }
    outcome
}

fn write_as_declared(outcome: &mut PassOutcome, entry: &DeclaredEntry) {
    match outcome {
        PassOutcome::Finished(result) => {
            let launches = result.launches.iter_mut();
            for launch in launches.filter(|launch| launch.kernel == entry.symbol) {
                launch.kernel.clone_from(&entry.shown);
            }
        }
        PassOutcome::Invalid { reason } | PassOutcome::Failed { reason, .. } => {
            *reason = reason.replace(&entry.symbol, &entry.shown);
        }
        PassOutcome::Denied(_) | PassOutcome::Lost => {}
    }
}
