//! The CUDA driver API: exported `cu*` functions, and the few `gpuemu_*` ones that tell what
//! happened.
//!
//! C calls come in; calls on the safe [`Device`](crate::device::Device) and CUDA error codes go
//! out. The functions are thin: they check handles and pointers, and keep the state that CUDA keeps
//! (contexts, streams, sticky errors). All `unsafe` of the crate is here: pointers from the caller
//! in `pointers`, and the choice of an instruction set in [`host_cpu`].
//!
//! What happens can be told as it does, without calls: see `log`.
//!
//! Where the emulator differs from a GPU it says so with an error rather than a value: it reports
//! no times (`cuEventElapsedTime` is `NOT_SUPPORTED` unless asked otherwise), no register counts,
//! no graphs, no managed memory, no cubins.

mod attribute;
mod code;
mod context;
mod current;
mod event;
mod function;
pub mod host_cpu;
mod log;
mod machine_code;
mod memory;
mod module;
mod other;
mod persisting;
mod pointers;
mod report;
mod state;
mod stream;
mod unsupported;
