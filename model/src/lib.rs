//! The nouns of gpuprof and their text grammars.
//!
//! Input: text a user wrote (in an attribute, on the command line, in `gpuprof.toml`) and JSON
//! another part of gpuprof wrote. Output: typed values, or a [`ParseError`] that knows its place.
//! Invariant: no input or output, no clock, no CUDA, so that the attribute macro, the
//! harness and the subcommand all read one grammar and agree on every name.

#![forbid(unsafe_code)]

pub mod advice;
pub mod assembled;
pub mod axis;
pub mod checks;
pub mod clause;
pub mod clock;
pub mod code;
pub mod comparison;
pub mod conclusion;
pub mod configuration;
pub mod declared;
pub mod each_once;
pub mod estimate;
pub mod exit_code;
pub mod expression;
pub mod failure;
pub mod filter;
pub mod history;
pub mod language;
pub mod links;
pub mod machine;
pub mod measurement;
pub mod metric;
pub mod notice;
pub mod nvtx_pattern;
pub mod occupancy;
mod operators;
pub mod over_time;
pub mod parts;
pub mod protocol;
pub mod ptx;
pub mod quantity;
pub mod run;
#[cfg(test)]
mod schema_tests;
#[cfg(test)]
mod schemas;
pub mod series;
pub mod space;
pub mod suggest;
pub mod text;
pub mod threshold;
pub mod timeline;
pub mod unified_memory;
pub mod units;
pub mod verdict;
pub mod verdict_document;
pub mod words;

pub use axis::{Axis, AxisKind, AxisValue};
pub use checks::Checks;
pub use clause::{Clause, Derived};
pub use configuration::Configuration;
pub use exit_code::ExitCode;
pub use expression::Expression;
pub use filter::{FilterExpression, Filters, Pattern};
pub use quantity::{Quantity, Unit};
pub use series::SeriesId;
pub use space::Space;
pub use text::ParseError;
pub use threshold::Threshold;
pub use verdict::Verdict;
