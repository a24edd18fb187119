//! A reference for how threads run: random kernels, an interpreter without warps, and PTX.
//!
//! [`generate`] makes a structured program ([`ir`]) without races, so it has one result. [`flat`]
//! turns it into a list of operations for one thread. [`interpret`] executes that list for each
//! thread by itself; [`ptx`] prints it for the driver. [`shrink`] reduces a program that differs.

pub mod flat;
pub mod generate;
pub mod interpret;
pub mod ir;
pub mod ptx;
pub mod random;
pub mod shrink;
