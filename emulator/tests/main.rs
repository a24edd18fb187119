//! The emulator, driven through cudarc and by its own types, a module each: one executable, for
//! each further one links everything again.

mod arithmetic;
mod calibration;
mod claims;
mod common;
mod definedness;
mod driver;
mod execution;
mod generated;
mod halves;
mod hazards;
mod kernels;
mod masks;
mod operations;
mod products;
mod properties;
mod ptx;
mod reference;
mod rust_kernels;
mod spins;
mod tiles;
mod transfers;
mod words;
