//! NVRTC, opened by path at run time.
//!
//! Input: the library's file and a [`Source`]. Output: the compiler's log, and where it compiles,
//! PTX and the name of each expression in it.
//!
//! What stays true:
//! * The library stays open for as long as the process lives: it keeps threads and state of its
//!   own.
//! * Every text that comes back is copied before the program that owns it is destroyed.
//! * cudarc's binding is not used: it opens NVRTC by name only, its first hit wins, and its safe
//!   half knows no name expressions.

#![cfg(target_os = "linux")]

mod functions;
mod library;
mod program;

pub use library::{LoadError, Nvrtc};
pub use program::{Outcome, Product, Refusal, Source};

/// The example of the README compiles as well.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
