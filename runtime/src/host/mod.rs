//! The host half: registry, harness, launch context and collectors.

mod arguments;
mod collect;
mod declaration;
mod driver;
mod error;
mod harness;
mod kernel_run;
mod launch;
mod registry;
mod run;
mod runner;
mod session;
mod values;

pub use collect::launched::Launched;
pub use collect::named_ranges::NamedRanges;
pub use error::{Error, Result};
pub use launch::configuration::Launch;
pub use launch::kernel_launcher::{Kernel, KernelLauncher};
pub use run::Run;
pub use run::raw_function::RawFunction;
pub use values::axis_type::AxisType;
pub use values::extent::{Extent, IntoExtent};
pub use values::number::IntoNumber;
pub use values::parameter::Parameter;

/// The surface of the macros' expansion.
pub mod private {
    pub use super::arguments::buffer_element::BufferElement;
    pub use super::arguments::checks::Checks;
    pub use super::arguments::contents::Contents;
    pub use super::arguments::elements::Element;
    pub use super::arguments::generator::{Generator, generators};
    pub use super::arguments::reference::HostArguments;
    pub use super::arguments::tolerance::{IntoTolerance, tolerances};
    pub use super::declaration::{
        Declaration, DeclaredGlobal, DeclaredParameter, DeclaredType, KernelSource,
    };
    pub use super::error::{Error, Result};
    pub use super::harness::harness_main;
    pub use super::kernel_run::KernelRun;
    pub use super::launch::kernel_launcher::{EntryPoint, LaunchArguments, RustEntry};
    pub use super::registry::{Body, HarnessTarget, SERIES, SeriesEntry};
    pub use super::run::Run;
    pub use super::run::setup::with_setup;
    pub use super::values::checked_arithmetic as checked;
    pub use super::values::extent::{Extent, IntoExtent};
    pub use super::values::number::{IntoNumber, Number, Scalar};
    pub use gpuprof_model::declared::{Contract, CudaCompiler};
    pub use gpuprof_model::measurement::Reset;
    pub use gpuprof_model::protocol::MARKER as HARNESS_MARKER;
}
