//! The registry: every annotated function that is linked into the harness.
//!
//! Input: one static per annotation, placed by the linker. Output: the series in source order.
//! A series lost by the linker is why a harness without any is an error and not an empty success.

use std::path::PathBuf;

use gpuprof_model::protocol::SeriesDescription;
use gpuprof_model::{SeriesId, Space};

use super::error::Result;
use super::kernel_run::KernelRun;
use super::run::Run;

/// What the harness is called.
#[derive(Debug, Clone, Copy)]
pub struct HarnessTarget {
    /// The package that holds it.
    pub package: &'static str,
    /// The target, such as a bench.
    pub target: &'static str,
}

/// Where the annotations of all linked crates meet.
#[linkme::distributed_slice]
pub static SERIES: [SeriesEntry];

/// One annotated function.
#[derive(Debug, Clone, Copy)]
pub struct SeriesEntry {
    /// The package whose source holds the annotation.
    pub source_package: &'static str,
    /// That package's folder.
    pub source_folder: &'static str,
    /// The module of the function.
    pub module_path: &'static str,
    /// The function's name.
    pub kernel: &'static str,
    /// The function's file.
    pub file: &'static str,
    /// The function's line.
    pub line: u32,
    /// The function's doc comment.
    pub docs: &'static str,
    /// The axes and conditions in the grammar of clauses, checked when the attribute was expanded.
    pub clauses: &'static [&'static str],
    /// The thresholds as written.
    pub thresholds: &'static [&'static str],
    /// The metrics asked for.
    pub metrics: &'static [&'static str],
    /// What to run.
    pub body: Body,
}

/// What to run for a series.
#[derive(Debug, Clone, Copy)]
pub enum Body {
    /// A Rust device function: built to PTX by the runner, launched by the harness.
    Kernel {
        /// Its name in the PTX.
        symbol: &'static str,
        /// The axes whose values are compiled in; with them, the symbol is the beginning of the
        /// name.
        constants: &'static [&'static str],
        /// Sets its launch and arguments up.
        run: fn(&mut KernelRun<'_>) -> Result<()>,
    },
    /// A host function that launches what it likes.
    Series(fn(&mut Run<'_>) -> Result<()>),
}

/// Every registered entry in source order.
pub(crate) fn entries() -> Vec<&'static SeriesEntry> {
    let mut entries: Vec<_> = SERIES.iter().collect();
    entries.sort_by_key(|entry| (entry.source_package, entry.file, entry.line));
    entries
}

/// Describes every registered series.
///
/// # Errors
/// Two series of one name, with both places.
pub(crate) fn describe(
    target: &HarnessTarget,
) -> std::result::Result<Vec<SeriesDescription>, String> {
    let entries = entries();
    for (position, entry) in entries.iter().enumerate() {
        if let Some(other) = entries[..position].iter().find(|e| e.kernel == entry.kernel) {
            return Err(format!(
                "two series are named `{}`: {}:{} and {}:{}; rename one, or give it another name \
                 with name = \"…\"",
                entry.kernel, other.file, other.line, entry.file, entry.line
            ));
        }
    }
    entries.into_iter().map(|entry| describe_one(entry, target)).collect()
}

fn describe_one(
    entry: &SeriesEntry,
    target: &HarnessTarget,
) -> std::result::Result<SeriesDescription, String> {
    let space = Space::from_clauses(entry.clauses).map_err(|errors| {
        let told = errors
            .iter()
            .map(|(at, e)| format!("`{}` of `{}`: {e}", entry.clauses[*at], entry.kernel));
        told.collect::<Vec<_>>().join("; ")
    })?;
    Ok(SeriesDescription {
        id: SeriesId {
            package: target.package.to_owned(),
            target: target.target.to_owned(),
            kernel: entry.kernel.to_owned(),
        },
        source_package: entry.source_package.to_owned(),
        source_folder: PathBuf::from(entry.source_folder),
        file: entry.file.to_owned(),
        line: entry.line,
        docs: entry.docs.to_owned(),
        space,
        thresholds: entry.thresholds.iter().map(|&t| t.to_owned()).collect(),
        metrics: entry.metrics.iter().map(|&m| m.to_owned()).collect(),
        device_function: matches!(entry.body, Body::Kernel { .. }),
    })
}
