//! The CUDA driver API: exported `cu*` functions, and a few `gpuemu_*` functions that report
//! results.
//!
//! C calls come in; calls on the safe [`Device`](crate::device::Device) and CUDA error codes go
//! out. The functions are thin: they check handles and pointers, and keep the state that CUDA keeps
//! (contexts, streams, sticky errors). All `unsafe` of the crate is here, in `pointers`, but for
//! the choice of an instruction set in [`host_cpu`](crate::machine::host_cpu).
//!
//! `log` reports events while the program runs, without such calls.
//!
//! If the emulator differs from a GPU, it returns an error and not a value: it reports no times
//! (`cuEventElapsedTime` is `NOT_SUPPORTED` unless requested), no register counts, no machine code.

mod attribute;
mod code;
mod context;
mod current;
mod event;
mod exported;
mod fatbins;
mod first_names;
mod foreign_runtime;
mod function;
mod graph;
mod graph_memory;
mod graph_nodes;
mod graph_state;
mod library;
mod link;
mod linker;
mod log;
mod machine_code;
mod managed;
mod memcpy_areas;
mod memory;
mod module;
mod order;
mod other;
mod persisting;
mod pointers;
mod pool;
mod report;
mod shared_pages;
mod state;
mod stream;
mod unsupported;
