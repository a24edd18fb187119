//! A second opinion on how threads run: random kernels, a reference interpreter, and PTX of both.
//!
//! [`generate`] makes a structured program ([`ir`]) that has no races and one result. [`flat`] turns
//! it into a list of operations for one thread. [`interpret`] runs that list for each thread by
//! itself, with no warps; [`ptx`] prints it for the driver. [`shrink`] makes a difference small.

pub mod flat;
pub mod generate;
pub mod interpret;
pub mod ir;
pub mod ptx;
pub mod random;
pub mod shrink;
