//! The tests of the subcommand's rooms and of its small commands, a module each: one executable,
//! for each further one links the library again.

#![cfg(target_os = "linux")]

mod clocks;
mod common;
mod cuda_cpp;
#[path = "../../cupti/tests/common/mod.rs"]
#[allow(dead_code, reason = "not all of it is needed here")]
mod cupti;
mod device_lock;
mod doctor;
mod documents;
#[path = "../../emulator/tests/common/mod.rs"]
mod emulated;
mod escapes;
mod hostile;
mod judging;
mod machine_code;
mod memory_tables;
mod metrics;
mod rates;
mod sections;
mod signals;
