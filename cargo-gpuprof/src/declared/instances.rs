//! Instances: a declared kernel with a value for every constant of its series.

use gpuprof_model::Configuration;
use gpuprof_model::declared::{DeclaredEntry, DeclaredKernel, DeclaredSource, instance_key};
use gpuprof_model::protocol::SeriesDescription;

use super::Needed;
use super::module_file;
use super::ptx::EntryPoint;

/// The values of the constants in `configuration`, as text.
pub(super) fn key(series: &SeriesDescription, configuration: &Configuration) -> String {
    instance_key(constants(series), configuration)
}

fn constants(series: &SeriesDescription) -> impl Iterator<Item = &str> {
    series.space.constants.keys().map(String::as_str)
}

/// An instance that is wanted.
#[derive(Debug, Clone)]
pub(super) struct Asked<'a> {
    pub(super) series: &'a SeriesDescription,
    pub(super) declared: &'a DeclaredKernel,
    /// The values of its constants.
    pub(super) key: String,
    /// What it is called where it lives.
    pub(super) name: String,
    /// Its definitions for the preprocessor.
    pub(super) defines: Vec<(String, String)>,
}

impl<'a> Asked<'a> {
    /// The instances of `wanted`.
    pub(super) fn of_all(wanted: &Needed<'a>) -> Vec<Self> {
        let series = wanted.series;
        let Some(declared) = &series.declared else { return Vec::new() };
        let one = |configuration: &Configuration| {
            let (name, defines) = declared.instance(constants(series), configuration);
            Asked { series, declared, key: key(series, configuration), name, defines }
        };
        wanted.configurations.iter().map(one).collect()
    }

    /// What its module is called: everything that tells it from other modules of the run.
    pub(super) fn module(&self) -> String {
        let package = &self.series.source_package;
        let source = match &self.declared.source {
            DeclaredSource::Cuda(files) => files.join(" "),
            DeclaredSource::PtxFile(file) => file.clone(),
            DeclaredSource::PtxText(text) => module_file::of_text(text),
        };
        let mut name = format!("{package}/{source}");
        let include = self.declared.include.iter().map(|folder| format!(" -I{folder}"));
        let define = self.defines.iter().map(|(name, value)| format!(" -D{name}={value}"));
        let options = self.declared.options.iter().map(|option| format!(" {option}"));
        name.extend(include.chain(define).chain(options));
        name
    }

    /// The entry of it as `point` of `module`.
    pub(super) fn entry(&self, module: &str, point: &EntryPoint) -> DeclaredEntry {
        DeclaredEntry {
            module: module.to_owned(),
            symbol: point.name.clone(),
            shown: self.name.clone(),
            max_threads: point.max_threads,
            only_block: point.only_block,
        }
    }

    /// Where it is declared.
    pub(super) fn place(&self) -> String {
        format!("{}:{}", self.series.file, self.series.line)
    }
}
