//! Instances: a declared kernel with a value for every constant of its series.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use gpuprof_model::Configuration;
use gpuprof_model::declared::{
    Contract, CudaCompiler, DeclaredEntry, DeclaredKernel, DeclaredParameter, DeclaredSource,
    DeclaredType, instance_key,
};
use gpuprof_model::protocol::SeriesDescription;

use super::module_file;
use crate::cuda_cpp::{Entry, FilePosition};

/// The values of the constants in `configuration`, as text.
pub(super) fn key(series: &SeriesDescription, configuration: &Configuration) -> String {
    instance_key(constants(series), configuration)
}

fn constants(series: &SeriesDescription) -> impl Iterator<Item = &str> {
    series.space.constants.keys().map(String::as_str)
}

/// The instances that are needed of a declared kernel.
#[derive(Debug, Clone)]
pub struct Needed<'a> {
    /// The series.
    pub series: &'a SeriesDescription,
    /// A configuration for each instance.
    pub configurations: Vec<Configuration>,
}

impl<'a> Needed<'a> {
    /// The instances that `configurations` of `series` need; none if the kernel is not declared.
    fn collect<'c>(
        series: &'a SeriesDescription,
        configurations: impl IntoIterator<Item = &'c Configuration>,
    ) -> Option<Self> {
        series.declared.as_ref()?;
        let mut of_key: BTreeMap<String, Configuration> = BTreeMap::new();
        for configuration in configurations {
            let key = key(series, configuration);
            of_key.entry(key).or_insert_with(|| configuration.clone());
        }
        Some(Self { series, configurations: of_key.into_values().collect() })
    }

    /// The instances for a run of `configurations` of `series`: their own if its kernel is
    /// declared, and every one of the declared kernels that it may launch by name.
    pub fn of_run<'c>(
        series: &'a SeriesDescription,
        configurations: impl IntoIterator<Item = &'c Configuration>,
    ) -> Vec<Self> {
        let launched = series.declared_launches.iter().filter_map(Self::every);
        Self::collect(series, configurations).into_iter().chain(launched).collect()
    }

    /// The instances of `whole` in the modules of `own`, a part of it: the code of a module depends
    /// on all of its instances.
    pub fn of_same_modules(own: &[Self], whole: Vec<Self>) -> Vec<Self> {
        let of_own = own.iter().flat_map(RequestedInstance::of_all);
        let modules: BTreeSet<String> = of_own.map(|it| it.module()).collect();
        let kept = |needed: Self| {
            let instances = RequestedInstance::of_all(&needed);
            let modules_of = instances.iter().map(RequestedInstance::module);
            let both = needed.configurations.iter().zip(modules_of);
            let kept = both.filter(|(_, module)| modules.contains(module));
            let configurations: Vec<_> = kept.map(|(point, _)| point.clone()).collect();
            (!configurations.is_empty()).then_some(Self { configurations, ..needed })
        };
        whole.into_iter().filter_map(kept).collect()
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
        Self::collect(series, &points)
    }
}

/// An instance of a declared kernel that a series needs.
#[derive(Debug, Clone)]
pub(super) struct RequestedInstance<'a> {
    pub(super) series: &'a SeriesDescription,
    pub(super) declared: &'a DeclaredKernel,
    /// The values of its constants.
    pub(super) key: String,
    /// Its parameters.
    pub(super) parameters: Vec<DeclaredParameter>,
    /// The types of its axes of types.
    pub(super) types: Vec<&'a DeclaredType>,
    /// The values of its constants by name.
    pub(super) constants: Vec<(&'a str, String)>,
    /// Its name in its source.
    pub(super) name: String,
    /// Its definitions for the preprocessor.
    pub(super) defines: Vec<(String, String)>,
}

impl<'a> RequestedInstance<'a> {
    /// The instances that are `needed`.
    pub(super) fn of_all(needed: &Needed<'a>) -> Vec<Self> {
        let series = needed.series;
        let Some(declared) = &series.declared else { return Vec::new() };
        let one = |configuration: &Configuration| {
            let (name, defines) = declared.instance(constants(series), configuration);
            let key = key(series, configuration);
            let types = declared.types_of(configuration);
            let parameters = declared.parameters_of(configuration);
            let constants = constants(series)
                .filter_map(|name| Some((name, configuration.get(name)?.to_string())))
                .collect();
            RequestedInstance { series, declared, key, parameters, types, constants, name, defines }
        };
        needed.configurations.iter().map(one).collect()
    }

    /// The name of its module: everything that distinguishes it from other modules of the run.
    pub(super) fn module(&self) -> String {
        let package = &self.series.source_package;
        let source = match &self.declared.source {
            DeclaredSource::Cuda(files) => files.join(" "),
            DeclaredSource::PtxFile(file) | DeclaredSource::MachineCode(file) => file.clone(),
            DeclaredSource::PtxText(text) => module_file::of_text(text),
            DeclaredSource::Embedded(_) => self.series.id.target.clone(),
        };
        let mut name = format!("{package}/{source}");
        let include = self.declared.include.iter().map(|folder| format!(" -I{folder}"));
        let define = self.defines.iter().map(|(name, value)| format!(" -D{name}={value}"));
        let options = self.declared.options.iter().map(|option| format!(" {option}"));
        name.extend(include.chain(define).chain(options));
        name.push_str(match self.declared.compiler {
            CudaCompiler::Auto => "",
            CudaCompiler::Nvrtc => " (NVRTC)",
            CudaCompiler::Nvcc => " (nvcc)",
        });
        name
    }

    /// Its declared entry, at `point` of `module`. `globals` gives the module's name of each
    /// variable that the declaration sets.
    pub(super) fn entry(
        &self,
        module: &str,
        point: &Entry,
        globals: BTreeMap<String, String>,
    ) -> DeclaredEntry {
        DeclaredEntry {
            module: module.to_owned(),
            symbol: point.name.clone(),
            shown: self.name.clone(),
            max_threads: point.max_block.map(|most| most.iter().map(|&n| u64::from(n)).product()),
            only_block: point.required_block,
            globals,
            contract: Contract {
                cluster: point.required_cluster.or(self.declared.contract.cluster),
                ..self.declared.contract
            },
            machine_code: None,
        }
    }

    /// The position of its declaration.
    pub(super) fn place(&self) -> FilePosition {
        let file = PathBuf::from(&self.series.file);
        FilePosition { file, line: self.series.line, column: None }
    }

    /// The position of its name.
    pub(super) fn place_of_symbol(&self) -> FilePosition {
        match self.declared.symbol_at {
            (0, _) => self.place(),
            (line, column) => FilePosition { line, column: Some(column), ..self.place() },
        }
    }
}
