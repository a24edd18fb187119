//! The registry: every annotated function that is linked into the harness.
//!
//! Input: one static per annotation, placed by the linker. Output: the series in source order.
//! A series lost by the linker is why a harness without any is an error and not an empty success.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use gpuprof_model::declared::DeclaredKernel;
use gpuprof_model::protocol::SeriesDescription;
use gpuprof_model::{Checks, Clause, SeriesId, Space};

use super::declaration::Declaration;
use super::error::Result;
use super::kernel_run::KernelRun;
use super::run::Run;

/// The name of the harness.
#[derive(Debug, Clone, Copy)]
pub struct HarnessTarget {
    /// The package that holds it.
    pub package: &'static str,
    /// The target, such as a bench.
    pub target: &'static str,
    /// [`protocol::MARKER`](gpuprof_model::protocol::MARKER). The expansion of `main!` holds it, and
    /// no library: a criterion bench that links a series lacks it.
    pub marker: &'static str,
}

/// The registry of the annotations of all linked crates.
#[linkme::distributed_slice]
pub static SERIES: [SeriesEntry];

/// One annotated function.
#[derive(Debug, Clone, Copy)]
pub struct SeriesEntry {
    /// The package with the source of the annotation.
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
    /// The names of the selected checks of the emulated driver, valid since the attribute was
    /// expanded; empty if the annotation selects none.
    pub check: &'static [&'static str],
    /// What to run.
    pub body: Body,
}

/// What to run for a series.
#[derive(Debug, Clone, Copy)]
pub enum Body {
    /// A Rust device function: built to PTX by the runner, launched by the harness.
    Kernel {
        /// The beginning of its name in the PTX.
        symbol: &'static str,
        /// The end of its name in the PTX where others have the same name.
        place: &'static str,
        /// The axes whose values are compiled in; the name contains them between the two.
        constants: &'static [&'static str],
        /// Whether series functions may launch it.
        launcher: bool,
        /// Sets its launch and arguments up.
        run: fn(&mut KernelRun<'_>) -> Result<()>,
    },
    /// A kernel that lives in CUDA C++ or PTX, or that another compiler put into this program: made
    /// ready by the runner, launched by the harness.
    Declared {
        /// Its source and its parameters.
        declaration: &'static Declaration,
        /// Whether series functions may launch it.
        launcher: bool,
        /// Sets its launch and arguments up.
        run: fn(&mut KernelRun<'_>) -> Result<()>,
    },
    /// A host function with any launches.
    Series(fn(&mut Run<'_>) -> Result<()>),
}

/// Every registered entry in source order, with the name of its series.
///
/// # Errors
/// Two series of one name in one module, with both places.
pub(crate) fn entries() -> std::result::Result<Vec<(String, &'static SeriesEntry)>, String> {
    let mut entries: Vec<_> = SERIES.iter().collect();
    entries.sort_by_key(|entry| (entry.source_package, entry.file, entry.line));
    named(&entries)
}

/// `entries` with their names: the kernel's own, after its module where several have that name,
/// and after its crate as well where those are of several crates.
fn named<'e>(
    entries: &[&'e SeriesEntry],
) -> std::result::Result<Vec<(String, &'e SeriesEntry)>, String> {
    let mut of_one_name: BTreeMap<&str, Vec<&SeriesEntry>> = BTreeMap::new();
    for entry in entries {
        of_one_name.entry(entry.kernel).or_default().push(entry);
    }
    let root = |entry: &SeriesEntry| entry.module_path.split("::").next().unwrap_or_default();
    let name = |entry: &SeriesEntry| {
        let others = &of_one_name[entry.kernel];
        let path = match others.as_slice() {
            [_] => "",
            _ if others.iter().any(|other| root(other) != root(entry)) => entry.module_path,
            _ => entry.module_path.split_once("::").map_or("", |(_, within)| within),
        };
        if path.is_empty() { entry.kernel.to_owned() } else { format!("{path}::{}", entry.kernel) }
    };
    let mut places: BTreeMap<String, &SeriesEntry> = BTreeMap::new();
    for entry in entries {
        if let Some(other) = places.insert(name(entry), entry) {
            return Err(format!(
                "two series are named `{}`: {}:{} and {}:{}; rename one, or give it another name \
                 with name = \"…\"",
                name(entry),
                other.file,
                other.line,
                entry.file,
                entry.line
            ));
        }
    }
    Ok(entries.iter().map(|entry| (name(entry), *entry)).collect())
}

/// Describes every registered series.
///
/// # Errors
/// Two series of one name, with both places.
pub(crate) fn describe(
    target: &HarnessTarget,
) -> std::result::Result<Vec<SeriesDescription>, String> {
    let entries = entries()?;
    let describe =
        |(name, entry): &(String, &SeriesEntry)| describe_one(name.clone(), entry, target);
    let mut all: Vec<SeriesDescription> = entries.iter().map(describe).collect::<Result<_, _>>()?;
    let launched = entries
        .iter()
        .zip(&all)
        .filter(|((_, entry), _)| matches!(entry.body, Body::Declared { launcher: true, .. }));
    let launched: Vec<SeriesDescription> = launched.map(|(_, series)| series.clone()).collect();
    for series in all.iter_mut().filter(|series| !series.is_kernel()) {
        series.declared_launches.clone_from(&launched);
    }
    Ok(all)
}

fn describe_one(
    name: String,
    entry: &SeriesEntry,
    target: &HarnessTarget,
) -> std::result::Result<SeriesDescription, String> {
    let space = Space::from_clauses(entry.clauses).map_err(|errors| {
        let messages =
            errors.iter().map(|(at, e)| format!("`{}` of `{name}`: {e}", entry.clauses[*at]));
        messages.collect::<Vec<_>>().join("; ")
    })?;
    Ok(SeriesDescription {
        id: SeriesId::new(target.package, target.target, name),
        source_package: entry.source_package.to_owned(),
        source_folder: PathBuf::from(entry.source_folder),
        file: entry.file.to_owned(),
        line: entry.line,
        path: path_of(entry),
        docs: entry.docs.to_owned(),
        space,
        old_ranges: entry.clauses.iter().filter_map(|text| Clause::with_ends(text)).collect(),
        thresholds: entry.thresholds.iter().map(|&t| t.to_owned()).collect(),
        metrics: entry.metrics.iter().map(|&m| m.to_owned()).collect(),
        check: checks_of(entry).map_err(|e| format!("`check` of `{}`: {e}", entry.kernel))?,
        device_function: matches!(entry.body, Body::Kernel { .. }),
        declared: match entry.body {
            Body::Declared { declaration, .. } => {
                Some(DeclaredKernel { path: path_of(entry), ..DeclaredKernel::from(declaration) })
            }
            Body::Kernel { .. } | Body::Series(_) => None,
        },
        launches: match entry.body {
            Body::Series(_) => SERIES.iter().filter_map(launched).collect(),
            Body::Kernel { .. } | Body::Declared { .. } => BTreeSet::new(),
        },
        declared_launches: Vec::new(),
    })
}

/// The path of the function of `entry`, from its crate's root.
fn path_of(entry: &SeriesEntry) -> String {
    format!("{}::{}", entry.module_path, entry.kernel)
}

/// The checks that the annotation of `entry` selects, if it does.
fn checks_of(entry: &SeriesEntry) -> std::result::Result<Option<Checks>, String> {
    let selected = (!entry.check.is_empty()).then(|| Checks::of_names(entry.check));
    selected.transpose().map_err(|(_, message)| message)
}

/// The package of `entry`, if series functions may launch its kernel.
fn launched(entry: &SeriesEntry) -> Option<String> {
    matches!(entry.body, Body::Kernel { launcher: true, .. })
        .then(|| entry.source_package.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(module_path: &'static str, kernel: &'static str, line: u32) -> SeriesEntry {
        SeriesEntry {
            source_package: "p",
            source_folder: "",
            module_path,
            kernel,
            file: "src/lib.rs",
            line,
            docs: "",
            clauses: &[],
            thresholds: &[],
            metrics: &[],
            check: &[],
            body: Body::Series(|_| Ok(())),
        }
    }

    fn names(entries: &[SeriesEntry]) -> std::result::Result<Vec<String>, String> {
        let entries: Vec<&SeriesEntry> = entries.iter().collect();
        named(&entries).map(|named| named.into_iter().map(|(name, _)| name).collect())
    }

    #[test]
    fn a_name_that_repeats_is_reported_with_its_module() {
        let all = [
            entry("p", "scale", 1),
            entry("p::a", "scale", 2),
            entry("p::b::c", "scale", 3),
            entry("p::a", "copy", 4),
        ];
        assert_eq!(names(&all).unwrap(), ["scale", "a::scale", "b::c::scale", "copy"]);
    }

    #[test]
    fn a_name_that_repeats_in_another_crate_is_reported_with_its_crate() {
        let all = [entry("p::a", "scale", 1), entry("q::a", "scale", 2)];
        assert_eq!(names(&all).unwrap(), ["p::a::scale", "q::a::scale"]);
    }

    #[test]
    fn a_name_that_repeats_in_one_module_is_refused() {
        let told = names(&[entry("p::a", "scale", 1), entry("p::a", "scale", 2)]).unwrap_err();
        assert_eq!(
            told,
            "two series are named `a::scale`: src/lib.rs:1 and src/lib.rs:2; rename one, or give \
             it another name with name = \"…\""
        );
    }
}
