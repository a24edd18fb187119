//! Reports: a run as a person, a spreadsheet or a program reads it.
//!
//! Input: a [`Run`]. Output: one format a file of this folder, behind the trait [`Report`].
//! What must stay true: a report invents nothing. Where a value is not there it says why, and
//! nothing here looks at the environment: colour and width are told, not found out.
//!
//! A part of `cargo-gpuprof`, without a stable API.

#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]
// `gpuprof_system::console` alone writes to standard error.
#![warn(clippy::print_stderr)]

mod advice;
mod axes;
mod benchmark;
mod changes;
mod chart;
mod conclusion;
mod csv;
mod curve;
pub mod emulated;
mod escaped;
mod evidence;
mod format;
mod github;
mod grid;
mod grounds;
pub mod history;
mod html;
mod json;
pub mod json_lines;
mod junit;
mod launches;
mod markdown;
mod measured_by;
mod mermaid;
mod noise;
mod note;
mod notes;
mod number;
mod paint;
mod plot;
mod remarks;
mod sheet;
mod summary;
mod table;
mod trace;

use std::io::{self, Write};

use gpuprof_analysis::view::View;
use gpuprof_model::measurement::{DeviceRecord, MIG_PREFIX};
use gpuprof_model::run::{ConfigurationResult, Provenance, Run};

pub use self::csv::Csv;
pub use self::json::Json;
pub use self::junit::Junit;
pub use benchmark::{Bmf, GithubActionBenchmark};
pub use format::{Format, Screen, Terms};
pub use github::GithubAnnotations;
pub use html::{ChartFile, Html, chart_files, history_page};
pub use json_lines::JsonLines;
pub use markdown::Markdown;
pub use summary::Summary;
pub use table::Table;
pub use trace::ChromeTrace;

use gpuprof_analysis::view::by_device::Part;

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
    Summary::of(run).to_string()
}

/// What `part` of a series of a run ran on; with a line on how much of the series that is, where
/// others ran on other devices.
fn place_of(part: &Part<'_>, provenance: &Provenance) -> String {
    let first = provenance.device.as_ref();
    let Some(uuid) = part.device else { return device_phrase(first, &provenance.backend) };
    let named = provenance.devices.iter().find(|device| device.uuid == uuid);
    let name = named.map(|device| device.name.as_str());
    let name = name.or(first.map(|device| device.name.as_str()));
    let mut text = format!("on {}{uuid}", name.map(|n| format!("{n} ")).unwrap_or_default());
    // They are of one model, and a virtual GPU's model is its profile.
    text.push_str(first.map_or("", virtual_phrase));
    if part.is_one_of_several() {
        let here = part.series.configurations.len();
        text.push_str(&format!(
            "\n {here} of {} configurations, compared with each other and not with those of other GPUs",
            part.of
        ));
    }
    text
}

/// What a configuration is called in a note.
fn key(result: &ConfigurationResult) -> String {
    match result.configuration.0.as_slice() {
        [] => "the only configuration".to_owned(),
        _ => result.configuration.to_string(),
    }
}

/// ` on GPU-…` where a configuration was one device's of several.
fn on_device(row: &ConfigurationResult) -> String {
    row.device.as_ref().map(|uuid| format!(" on {uuid}")).unwrap_or_default()
}

/// "on NVIDIA H200", "on the emulated GH100 (sm_90), counters only"; where nothing that ran told of
/// its device, "on the emulated driver".
fn device_phrase(device: Option<&DeviceRecord>, backend: &str) -> String {
    let Some(device) = device else {
        let driver = if backend == "emulator" { "the emulated driver" } else { "an unknown GPU" };
        return format!("on {driver}: no pass finished");
    };
    if !device.emulated {
        let instance = if device.uuid.starts_with(MIG_PREFIX) { ", a MIG instance" } else { "" };
        return format!("on {}{instance}{}", device.name, virtual_phrase(device));
    }
    let name = ["gpuprof emulated ", "Emulated ", "emulated "]
        .iter()
        .find_map(|prefix| device.name.strip_prefix(prefix))
        .unwrap_or(&device.name);
    let (major, minor) = device.compute_capability;
    format!("on the emulated {name} (sm_{major}{minor}), counters only")
}

/// What a reader must know of times that were taken on a virtual GPU.
fn virtual_phrase(device: &DeviceRecord) -> &'static str {
    if device.virtual_gpu == Some(true) { ", a virtual GPU" } else { "" }
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
