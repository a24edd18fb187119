//! The subcommands: each puts the rooms together for one purpose.

pub mod archive;
pub mod list;
pub mod metrics;
pub mod run;
mod source;
mod thresholds;

pub use source::Source;
