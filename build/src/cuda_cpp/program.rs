//! What is compiled: sources, options and the declared kernels.

use std::fmt;
use std::path::PathBuf;

use gpuprof_model::declared::CudaCompiler;
use serde::{Deserialize, Serialize};

/// The sources of a package that are compiled together. All instances of a series belong into one
/// program: 32 of a CUB scan take 2.4 s together and 47 s one by one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The folder of the package's manifest.
    pub package_root: PathBuf,
    /// CUDA C++ files, relative to the package.
    pub sources: Vec<PathBuf>,
    /// Folders that are searched for headers before all others, relative to the package or
    /// absolute. A source's own folder need not be named: `#include "…"` finds it.
    pub includes: Vec<PathBuf>,
    /// `-D` definitions: name and value, which may be empty.
    pub defines: Vec<(String, String)>,
    /// Who compiles it.
    pub compiler: CudaCompiler,
    /// Further options, handed to the compiler as they are, such as `--use_fast_math`.
    pub options: Vec<String>,
    /// The architecture that the PTX is for.
    pub architecture: Architecture,
    /// Every requested kernel instance. Empty: every kernel that is not a template or that the
    /// sources instantiate, by its name in the PTX.
    pub kernels: Vec<Instance>,
}

impl Program {
    /// Its sources, for a message.
    pub(super) fn named(&self) -> String {
        let names = self.sources.iter().map(|it| it.display().to_string());
        names.collect::<Vec<_>>().join(", ")
    }
}

/// A virtual architecture: `compute_90`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Architecture {
    /// Ten times the major compute capability, plus the minor one.
    pub compute: u32,
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "compute_{}", self.compute)
    }
}

/// A kernel, or one instance of a kernel template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// A C++ expression that names it: `scan`, `scan<4, float>`, `ns::scan`. One that begins with
    /// `&` names a `__constant__` or `__device__` variable; its parameters are not looked at.
    pub expression: String,
    /// The declared parameters, in their order.
    pub parameters: Vec<Declared>,
    /// The position of the declaration.
    pub declared_at: FilePosition,
    /// The position of the expression.
    pub named_at: FilePosition,
}

/// A declared parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// Its type in C++: `const float *`. A pointer to `void` fits every pointer, here and there,
    /// and one to `const void` every pointer to what is `const`. The width of an integer counts,
    /// not its name: `long` fits `long long`.
    pub cpp: String,
    /// Its type in Rust, as the user wrote it: `*const f32`.
    pub rust: String,
    /// The position of the declaration.
    pub declared_at: FilePosition,
    /// Of a struct, its size and alignment in Rust. None: they are not compared.
    pub layout: Option<Layout>,
}

/// The size and alignment of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// Bytes.
    pub size: u64,
    /// Bytes.
    pub align: u64,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FilePosition {
    /// The file, relative to the package where it is in it.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1; NVRTC's own messages know it from 12.4 on.
    pub column: Option<u32>,
}

impl fmt::Display for FilePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)?;
        self.column.map_or(Ok(()), |column| write!(f, ":{column}"))
    }
}
