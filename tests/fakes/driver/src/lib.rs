//! A `libcuda.so` that is taken for a GPU's: the emulated driver without its marks, with times and
//! a CUPTI hook.
//!
//! The emulator's own source is compiled under another root. What differs is in `driver/`: events
//! measure a time that follows from the launches, nothing says that the driver is an emulator, and
//! `cuGetExportTable` hands the launches to the fake CUPTI. So the emulator that users get has no
//! switch that hides what it is.
//!
//! Everything is deterministic: the same launches take the same time and give the same counters.

#[path = "../../../../emulator/src/counters/mod.rs"]
pub mod counters;
#[path = "../../../../emulator/src/device/mod.rs"]
pub mod device;
pub mod driver;
#[path = "../../../../emulator/src/lower/mod.rs"]
pub mod lower;
#[path = "../../../../emulator/src/machine/mod.rs"]
pub mod machine;
#[path = "../../../../emulator/src/ptx/mod.rs"]
pub mod ptx;

#[path = "../../table.rs"]
pub mod table;
#[path = "../../timeline.rs"]
mod timeline;
