//! Reports: a run as a person, a spreadsheet or a program reads it.
//!
//! Input: a [`Run`]. Output: one format a file of this folder, behind the trait [`Report`].
//! Invariants: a report adds no data; for a missing value it gives the reason; and it does not read
//! the environment: colour and width are parameters.
//!
//! A part of `cargo-gpuprof`, without a stable API.

#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]
// `gpuprof_system::console` alone writes to standard error.
#![warn(clippy::print_stderr)]

mod advice;
mod axes;
mod benchmark;
mod by_chip;
mod calibration;
mod cells;
mod changes;
mod chart;
mod code_diff;
mod conclusion;
mod csv;
mod curve;
mod device_phrase;
pub mod emulate_report;
mod escaped;
mod estimates;
mod format;
mod github;
mod grid;
pub mod history;
mod html;
mod json;
pub mod json_lines;
mod judgement;
mod junit;
mod launches;
mod links;
mod markdown;
mod measured_by;
mod mermaid;
mod noise;
mod note;
mod notes;
mod number;
mod over_time;
mod paint;
mod patched;
mod plot;
mod source;
mod summary;
mod table;
mod table_room;
mod timeline;
mod trace;

use std::io::{self, Write};

use gpuprof_analysis::view::View;
use gpuprof_model::run::{ConfigurationResult, Run};

pub use self::csv::Csv;
pub use self::json::Json;
pub use self::junit::Junit;
pub use benchmark::{Bmf, GithubActionBenchmark};
pub use calibration::Calibration;
pub use code_diff::{code_changes, write_code_diff};
pub use format::{Format, FormatSettings, Screen};
pub use github::GithubAnnotations;
pub use html::{ChartFile, Html, chart_files, history_page};
pub use json_lines::JsonLines;
pub use markdown::Markdown;
pub use source::{FileLine, has_code_near, write_source, write_source_json};
pub use summary::Summary;
pub use table::Table;
pub use trace::ChromeTrace;

use device_phrase::{on_device, place_of};

/// A format that a run can be written in.
pub trait Report {
    /// Writes the rows, columns and comparisons of `run` that `view` shows to `out`.
    ///
    /// # Errors
    /// `out` could not be written.
    fn write_as(&self, view: &View, run: &Run, out: &mut dyn Write) -> io::Result<()>;

    /// Whether a view changes it; it shows all of a run otherwise.
    fn takes_view(&self) -> bool {
        false
    }

    /// Writes all of `run` to `out`.
    ///
    /// # Errors
    /// `out` could not be written.
    fn write(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        self.write_as(&View::default(), run, out)
    }
}

/// One line that says what happened in `run`: configurations by status, thresholds by verdict.
pub fn summary_line(run: &Run) -> String {
    Summary::count(run).to_string()
}

/// The name of a configuration in a note.
fn key(result: &ConfigurationResult) -> String {
    match result.configuration.0.as_slice() {
        [] => "the only configuration".to_owned(),
        _ => result.configuration.to_string(),
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod gate_tests;

#[cfg(test)]
mod conclusion_tests;

#[cfg(test)]
mod launches_tests;
#[cfg(test)]
mod several_tests;

#[cfg(test)]
mod view_tests;

#[cfg(test)]
mod unstable_tests;

#[cfg(test)]
mod screen_tests;

#[cfg(test)]
mod chips_tests;
#[cfg(test)]
mod timeline_tests;
