//! The language that a kernel is written in.
//!
//! Input: the annotation of a kernel. Output: its language, so that advice can name its constructs.

use serde::{Deserialize, Serialize};

use crate::declared::DeclaredSource;
use crate::protocol::SeriesDescription;

/// The language of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Language {
    /// Rust, by `#[gpuprof::kernel]`.
    Rust,
    /// CUDA C++.
    Cuda,
    /// NVIDIA's Rust, cuda-oxide.
    CudaOxide,
    /// PTX.
    Ptx,
    /// None that can be edited: a cubin or a fatbin.
    MachineCode,
}

impl Language {
    /// Those that text can be said for: each with its key in a rule of advice.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Rust, "rust"),
        (Self::Cuda, "cuda"),
        (Self::CudaOxide, "cuda-oxide"),
        (Self::Ptx, "ptx"),
        (Self::MachineCode, "machine-code"),
    ];

    /// The language of the kernel that `described` is; of a series function it is not known.
    pub fn from_description(described: &SeriesDescription) -> Option<Self> {
        match described.declared.as_ref().map(|declared| &declared.source) {
            Some(DeclaredSource::Cuda(_)) => Some(Self::Cuda),
            Some(DeclaredSource::PtxFile(_) | DeclaredSource::PtxText(_)) => Some(Self::Ptx),
            Some(DeclaredSource::MachineCode(_)) => Some(Self::MachineCode),
            Some(DeclaredSource::Embedded(_)) => Some(Self::CudaOxide),
            None => described.device_function.then_some(Self::Rust),
        }
    }
}
