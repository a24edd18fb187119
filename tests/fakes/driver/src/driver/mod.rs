//! The driver API: the emulator's functions but for events and reports, and a device of another
//! name.

#[path = "../../../../../emulator/src/driver/attribute.rs"]
mod attribute;
#[path = "../../../../../emulator/src/driver/code.rs"]
mod code;
#[path = "../../../../../emulator/src/driver/context.rs"]
mod context;
mod cubin;
#[path = "../../../../../emulator/src/driver/current.rs"]
mod current;
mod event;
#[path = "../../../../../emulator/src/driver/exported.rs"]
mod exported;
#[path = "../../../../../emulator/src/driver/fatbins.rs"]
mod fatbins;
#[path = "../../../../../emulator/src/driver/function.rs"]
mod function;
#[path = "../../../../../emulator/src/driver/graph.rs"]
mod graph;
#[path = "../../../../../emulator/src/driver/graph_memory.rs"]
mod graph_memory;
#[path = "../../../../../emulator/src/driver/graph_nodes.rs"]
mod graph_nodes;
#[path = "../../../../../emulator/src/driver/graph_state.rs"]
mod graph_state;
mod ledger;
#[path = "../../../../../emulator/src/driver/library.rs"]
mod library;
#[path = "../../../../../emulator/src/driver/link.rs"]
mod link;
#[path = "../../../../../emulator/src/driver/linker.rs"]
mod linker;
#[path = "../../../../../emulator/src/driver/log.rs"]
#[allow(dead_code, reason = "the emulator's events measure this computer; the fake's do not")]
mod log;
mod machine_code;
#[path = "../../../../../emulator/src/driver/managed.rs"]
mod managed;
#[path = "../../../../../emulator/src/driver/memcpy_areas.rs"]
mod memcpy_areas;
#[path = "../../../../../emulator/src/driver/memory.rs"]
mod memory;
#[path = "../../../../../emulator/src/driver/module.rs"]
mod module;
#[path = "../../../../../emulator/src/driver/order.rs"]
#[allow(dead_code, reason = "this driver reports no order: the fake CUPTI has times")]
mod order;
mod persisting;
#[path = "../../../../../emulator/src/driver/pointers.rs"]
#[allow(dead_code, reason = "reports are text; this driver gives none")]
mod pointers;
#[path = "../../../../../emulator/src/driver/pool.rs"]
mod pool;
#[path = "../../../../../emulator/src/driver/shared_pages.rs"]
mod shared_pages;
mod state;
#[path = "../../../../../emulator/src/driver/stream.rs"]
mod stream;
#[path = "../../../../../emulator/src/driver/unsupported.rs"]
#[allow(unused_imports, reason = "the emulator names more functions with its macro")]
mod unsupported;
#[path = "../../../../../emulator/src/driver/state.rs"]
#[allow(dead_code, reason = "`state` has some of it in its own way")]
mod untimed;
