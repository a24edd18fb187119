//! A `libcuda.so` that is taken for a GPU's: the emulated driver without its marks, with times and
//! a CUPTI hook.
//!
//! The emulator's `driver` is compiled under another root. The differences are in `driver/`:
//! events measure a time that follows from the launches, the driver does not show that it is an
//! emulator, and `cuGetExportTable` passes the launches to the fake CUPTI. So the emulator of users
//! has no switch that hides its nature.
//!
//! Everything is deterministic: the same launches take the same time and give the same counters.

pub mod driver;

pub use gpuprof_emulator::{counters, device, lower, machine, ptx, timing};

#[path = "../../table.rs"]
pub mod table;
#[path = "../../timeline.rs"]
mod timeline;
