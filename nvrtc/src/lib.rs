//! NVRTC, opened by path at run time.
//!
//! Input: the library's file and a [`ProgramSource`]. Output: the compiler's log, and on success
//! PTX and the name of each expression in it.
//!
//! Invariants:
//! * The library stays open as long as the process lives: it has its own threads and state.
//! * Every returned text is copied before the program that owns it is destroyed.
//! * cudarc's binding is not used: it opens NVRTC by name only, its first hit wins, and its safe
//!   half has no name expressions.

#![cfg(target_os = "linux")]

mod functions;
mod library;
mod program;

pub use library::{LoadError, Nvrtc};
pub use program::{Outcome, Product, ProgramSource, Refusal};

/// The example of the README compiles as well.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
