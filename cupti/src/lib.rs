//! CUPTI's Profiler Host API and Range Profiler API, safe and small, loaded at run time.
//!
//! Input: the possible locations of CUPTI ([`locate()`]). Output: on any machine the metric
//! catalogue of every chip, the validation of metric names, config images with their pass counts,
//! and values read back from recorded counter data ([`host`]); on a machine with a GPU the
//! collection itself, one pass at a time ([`target`]), the device's own times ([`activity`]), the
//! launches that the driver refuses ([`launches`]), counts ([`sass`]) and samples ([`pc_sampling`])
//! of each machine instruction, and counters over the time of a launch ([`pm_sampling`]).
//!
//! Invariants:
//! * Nothing here needs a CUDA toolkit to build, or any NVIDIA file to start. [`locate::locate`]
//!   finds the library, and every way it can be missing, wrong or too new for a machine without a
//!   driver is a typed error.
//! * No function that crashes is called: CUPTI 13.2 and newer do nothing before the driver answers
//!   ([`version`]), and collection starts only once `cuInit` and `cuptiProfilerInitialize`
//!   succeeded ([`target::Target`]).
//! * Every CUPTI code has a name, a cause, a check and a remedy ([`Code`], [`Advice`]).
//! * No image reaches CUPTI that it did not write: they are sealed on their way through files
//!   (`image`).
//! * cudarc provides the parameter structs, never the functions: its return types are Rust enums,
//!   so an unknown code of a newer library would be undefined behaviour, and its loader panics.

mod abi;
pub mod activity;
mod advice;
mod callbacks;
mod code;
pub mod cubin;
pub mod driver;
mod error;
pub mod host;
mod image;
pub mod launches;
mod library;
pub mod locate;
pub mod pc_sampling;
pub mod pm_sampling;
pub mod sass;
pub mod target;
pub mod trial;
pub mod version;

pub use activity::{
    Activity, ActivityApi, ActivityRecorder, Call, DeviceWork, KernelActivity, Migrations,
};
pub use advice::Advice;
pub use callbacks::WatchError;
pub use code::Code;
pub use error::{Failure, LoadError};
pub use host::{Host, HostApi};
pub use launches::LaunchWatch;
pub use locate::{Location, locate};
pub use target::{Session, SessionOptions, Target};
pub use version::Version;

/// The examples of the README compile as well.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
