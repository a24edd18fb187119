//! The emulator, driven through cudarc and by its own types, a module each: one executable, for
//! each further one links everything again.

mod arithmetic;
mod calibration;
mod calls;
mod claims;
mod common;
mod costly;
mod definedness;
mod driver;
mod execution;
mod forms;
mod generated;
mod global_races;
mod halves;
mod hazards;
mod instructions;
mod kernels;
mod masks;
mod matrices;
mod memory;
mod modules;
mod mutations;
mod operations;
mod panics;
mod places;
mod products;
mod properties;
mod ptx;
mod reference;
mod rust_kernels;
mod shared_races;
mod spins;
mod tiles;
mod transfers;
mod vectors;
mod words;
