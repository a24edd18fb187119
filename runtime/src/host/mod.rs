//! The host half: registry, harness, launch context and collectors.

mod arena;
mod arguments;
mod assertion;
mod axis_type;
mod buffer;
mod buffer_element;
pub mod checked_arithmetic;
mod checks;
mod cluster;
mod collect;
mod contents;
#[cfg(test)]
mod contents_tests;
mod counter_passes;
mod declaration;
mod device_state;
mod driver_library;
mod error;
mod expect_text;
mod extent;
mod foreign;
mod function;
mod generator;
mod global;
mod harness;
mod input_hash;
mod inputs;
mod joined_streams;
mod kernel_launcher;
mod kernel_run;
mod launch;
mod launch_limits;
mod launch_log;
mod launched;
mod launcher;
mod listing;
mod measure_lock;
mod named_ranges;
mod number;
mod nvml;
mod nvtx;
mod nvtx_ranges;
mod outcome;
mod parameter;
mod parent_death;
mod pass_output;
mod ptx_reads;
mod raw_function;
mod reference;
mod refused_launches;
mod registry;
mod replay;
mod reply;
mod run;
mod runner_line;
mod session;
mod setup;
mod shared_process;
mod tolerance;
mod uuid;

pub use axis_type::AxisType;
pub use error::{Error, Result};
pub use extent::{Extent, IntoExtent};
pub use kernel_launcher::{Kernel, KernelLauncher};
pub use launch::Launch;
pub use launched::Launched;
pub use named_ranges::NamedRanges;
pub use number::IntoNumber;
pub use parameter::Parameter;
pub use raw_function::RawFunction;
pub use run::Run;

/// The surface of the macros' expansion.
pub mod private {
    pub use super::arguments::Element;
    pub use super::buffer_element::BufferElement;
    pub use super::checked_arithmetic as checked;
    pub use super::checks::Checks;
    pub use super::contents::Contents;
    pub use super::declaration::{
        Declaration, DeclaredGlobal, DeclaredParameter, DeclaredType, Source,
    };
    pub use super::error::{Error, Result};
    pub use super::extent::{Extent, IntoExtent};
    pub use super::generator::{Generator, generators};
    pub use super::harness::harness_main;
    pub use super::kernel_launcher::{EntryPoint, LaunchArguments, RustEntry};
    pub use super::kernel_run::KernelRun;
    pub use super::number::{IntoNumber, Number, Scalar};
    pub use super::reference::HostArguments;
    pub use super::registry::{Body, HarnessTarget, SERIES, SeriesEntry};
    pub use super::run::Run;
    pub use super::setup::with_setup;
    pub use super::tolerance::{IntoTolerance, tolerances};
    pub use gpuprof_model::declared::{Contract, CudaCompiler};
    pub use gpuprof_model::measurement::Reset;
    pub use gpuprof_model::protocol::MARKER as HARNESS_MARKER;
}
