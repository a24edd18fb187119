//! Declared kernels: from what `#[gpuprof::kernels]` says to modules that can be loaded.
//!
//! Input: described series with the configurations that are wanted of each. Output: [`Entries`]:
//! for every instance the module that holds it and its name there, or why there is none. A
//! declaration that does not fit its kernel is an error at its place; a kernel that cannot be
//! compiled with the constants of one configuration makes that configuration *invalid*.

mod entries;
mod instances;
mod module_file;
mod ptx;
mod signature;
mod sources;

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::Configuration;
use gpuprof_model::declared::DeclaredSource;
use gpuprof_model::protocol::SeriesDescription;

use crate::error::Result;
pub use entries::{Entries, Instance};
use instances::Asked;
pub use module_file::file_name;
use sources::Sources;

/// The instances that are wanted of a declared kernel.
#[derive(Debug, Clone)]
pub struct Needed<'a> {
    /// The series.
    pub series: &'a SeriesDescription,
    /// A configuration for each instance.
    pub configurations: Vec<Configuration>,
}

impl<'a> Needed<'a> {
    /// The instances that `configurations` of `series` need; none where the kernel is not declared.
    pub fn of<'c>(
        series: &'a SeriesDescription,
        configurations: impl IntoIterator<Item = &'c Configuration>,
    ) -> Option<Self> {
        series.declared.as_ref()?;
        let mut of_key: BTreeMap<String, Configuration> = BTreeMap::new();
        for configuration in configurations {
            let key = instances::key(series, configuration);
            of_key.entry(key).or_insert_with(|| configuration.clone());
        }
        Some(Self { series, configurations: of_key.into_values().collect() })
    }

    /// Every instance that `series` may ever need: overrides choose among the constants that its
    /// annotation lists.
    pub fn every(series: &'a SeriesDescription) -> Option<Self> {
        let mut points = vec![Configuration::default()];
        for (name, values) in &series.space.constants {
            let longer = |point: &Configuration| {
                let point = point.clone();
                values.iter().map(move |value| {
                    let mut longer = point.clone();
                    longer.0.push((name.clone(), value.clone()));
                    longer
                })
            };
            points = points.iter().flat_map(longer).collect();
        }
        Self::of(series, &points)
    }
}

/// What declared kernels were made to.
#[derive(Debug, Default)]
pub struct Built {
    /// Every instance.
    pub entries: Entries,
    /// The files of the modules that the entries name.
    pub modules: BTreeMap<String, Utf8PathBuf>,
}

/// Finds or makes every instance of `wanted`; files go to `folder`.
///
/// # Errors
/// Every declaration that does not fit its kernel, and sources that cannot be read (exit code 101);
/// a folder that cannot be written (110).
pub fn build(wanted: &[Needed<'_>], folder: &Utf8Path) -> Result<Built> {
    let mut built = Built::default();
    let asked = wanted.iter().flat_map(Asked::of_all);
    let mut by_module: BTreeMap<String, Vec<Asked<'_>>> = BTreeMap::new();
    for asked in asked {
        by_module.entry(asked.module()).or_default().push(asked);
    }
    let mut wrong = Vec::new();
    for (module, asked) in by_module {
        let Some(first) = asked.first() else { continue };
        match &first.declared.source {
            DeclaredSource::PtxFile(_) | DeclaredSource::PtxText(_) => {
                let (file, text) = Sources::new(folder).ptx(first)?;
                ptx_entries(&module, &asked, &text, &mut built.entries, &mut wrong);
                built.modules.insert(module, file);
            }
            DeclaredSource::Cuda(_) => wrong.push("CUDA C++".to_owned()),
        }
    }
    signature::refuse(&wrong)?;
    Ok(built)
}

/// Adds the entries of `asked`, whose kernels are in the PTX `text` of `module`.
fn ptx_entries(
    module: &str,
    asked: &[Asked<'_>],
    text: &str,
    entries: &mut Entries,
    wrong: &mut Vec<String>,
) {
    let points = ptx::entry_points(text);
    for asked in asked {
        match signature::found(asked, &asked.name, &points) {
            Ok(point) => {
                let entry = asked.entry(module, point);
                entries.insert(asked, Instance::Ready(entry));
            }
            Err(messages) => wrong.extend(messages),
        }
    }
}
