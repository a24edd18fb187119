//! The subcommands: each puts the rooms together for one purpose.

pub mod archive;
mod backend;
pub mod baselines;
mod browser;
pub mod calibrate;
pub mod characterize;
mod charts;
pub mod check;
pub mod completions;
mod devices;
pub mod doctor;
pub mod emulate;
mod harness_source;
pub mod history;
pub mod list;
pub mod man;
pub mod merge;
pub mod metrics;
mod range_note;
pub mod rules;
pub mod run;
pub mod runs;
mod selection;
pub mod settings;
pub mod show_config;
mod source_view;
mod standard_output;
pub mod stored;
mod table;
mod thresholds;
mod view_settings;

pub use harness_source::{Opened, Source, Wanted};
pub use standard_output::StandardOutput;
