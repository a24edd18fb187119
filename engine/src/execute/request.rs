//! The request that asks a process to do a job.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use camino::Utf8PathBuf;
use gpuprof_build::ptxas::Assembled;
use gpuprof_model::assembled::ModuleResources;
use gpuprof_model::declared::{DeclaredEntry, DeclaredInstance as Instance, LaunchableInstance};
use gpuprof_model::measurement::MachineModule;
use gpuprof_model::protocol::{CounterRequest, MeasureRequest, NvtxRequest};

use super::Execution;
use crate::plan::PlannedSeries;
use crate::schedule::{Handover, Image, Job, Pass};

impl Execution<'_> {
    /// The path of a counter data image.
    pub fn image(&self, image: &Image) -> Utf8PathBuf {
        self.process.folder.join(&image.file)
    }

    /// The request to a harness for `job`, without the part that follows it.
    pub fn request(&self, job: &Job, planned: &PlannedSeries) -> Vec<MeasureRequest> {
        let id = &planned.series.id;
        let one = |(at, &configuration): (usize, &usize)| MeasureRequest {
            kernel: id.kernel.clone(),
            configuration: planned.configurations[configuration].clone(),
            modules: self.modules_of(planned, configuration),
            declared: self.instance(planned, configuration).cloned(),
            launchable: self.launchable(planned),
            resources: self.resources_of(planned, configuration),
            cubins: self.cubins_of(planned, configuration),
            emulated: self.emulated,
            repeat: match job.pass {
                Pass::Timed { repeat } | Pass::Energy { repeat } => repeat,
                Pass::Counters { .. } => 0,
            },
            verify: self.verify && job.pass == Pass::Timed { repeat: 0 },
            sampling: self.sampling.clone(),
            cupti: self.cupti.clone().or_else(|| {
                // PassResults once, and not in each process again.
                self.counters.as_ref().map(|counters| counters.cupti.clone().into())
            }),
            range: self.range,
            nvtx: self.nvtx_of(planned),
            counters: match job.pass {
                Pass::Timed { .. } | Pass::Energy { .. } => None,
                Pass::Counters { step } => {
                    job.images.get(at).and_then(|handover| self.counted(handover, step))
                }
            },
            source: None,
            over_time: None,
            energy: matches!(job.pass, Pass::Energy { .. }),
            links: self.links,
            unified_memory: self.unified_memory,
            attributes: self.attributes.clone(),
        };
        job.configurations.iter().enumerate().map(one).collect()
    }

    /// The NVTX ranges that are collected of a series: a kernel has none.
    fn nvtx_of(&self, planned: &PlannedSeries) -> Option<NvtxRequest> {
        let library = self.process.nvtx.filter(|_| !planned.series.is_kernel())?;
        Some(NvtxRequest { patterns: self.nvtx.clone(), library: library.into() })
    }

    /// The PTX that a process needs for a configuration.
    fn modules_of(
        &self,
        planned: &PlannedSeries,
        configuration: usize,
    ) -> BTreeMap<String, PathBuf> {
        let Some(own) = self.modules.get(&planned.side) else { return BTreeMap::new() };
        let instance = self.instance(planned, configuration);
        let launchable = self.launchable(planned);
        let launched = launchable.iter().filter_map(|launched| match &launched.instance {
            Instance::Ready(entry) => Some(entry.module.as_str()),
            Instance::Refused(_) => None,
        });
        let launched: BTreeSet<&str> = launched.collect();
        let of_declared: BTreeSet<&str> = own.declared.modules().collect();
        let needed = |module: &str| match instance {
            Some(entry) => entry.module == module,
            None => !of_declared.contains(module) || launched.contains(module),
        };
        let modules = own.ptx.iter().filter(|(module, _)| needed(module));
        modules.map(|(module, file)| (module.clone(), file.into())).collect()
    }

    /// ptxas's resources of the modules that a configuration needs.
    fn resources_of(
        &self,
        planned: &PlannedSeries,
        configuration: usize,
    ) -> BTreeMap<String, ModuleResources> {
        let assembled = self.assembled_of(planned, configuration);
        assembled.map(|(name, it)| (name.to_owned(), it.resources.clone())).collect()
    }

    /// ptxas's machine code of the modules that a configuration needs.
    fn cubins_of(
        &self,
        planned: &PlannedSeries,
        configuration: usize,
    ) -> BTreeMap<String, PathBuf> {
        let assembled = self.assembled_of(planned, configuration);
        let cubins = assembled
            .filter_map(|(name, it)| Some((name.to_owned(), it.cubin.as_ref()?.clone().into())));
        cubins.collect()
    }

    /// The modules that a configuration needs, as far as ptxas has machine code of them.
    pub fn machine_modules(
        &self,
        planned: &PlannedSeries,
        configuration: usize,
    ) -> Vec<MachineModule> {
        let ptx = self.modules_of(planned, configuration);
        let module = |(name, assembled): (&str, &Assembled)| {
            let (ptx, cubin) = (ptx.get(name)?.clone(), assembled.cubin.as_ref()?.into());
            Some(MachineModule { ptx, cubin })
        };
        self.assembled_of(planned, configuration).filter_map(module).collect()
    }

    /// ptxas's results for the modules that a configuration needs.
    fn assembled_of(
        &self,
        planned: &PlannedSeries,
        configuration: usize,
    ) -> impl Iterator<Item = (&str, &Assembled)> {
        let own = self.modules.get(&planned.side);
        let known = own.and_then(|own| own.assembled.get(&self.architecture));
        let needed = self.modules_of(planned, configuration);
        let all = known.into_iter().flatten().map(|(name, it)| (name.as_str(), it));
        all.filter(move |(name, _)| needed.contains_key(*name))
    }

    /// The instances of declared kernels that a series function may launch.
    fn launchable(&self, planned: &PlannedSeries) -> Vec<LaunchableInstance> {
        let own = self.modules.get(&planned.side);
        let launched = &planned.series.declared_launches;
        own.map(|own| own.declared.launchable(launched)).unwrap_or_default()
    }

    /// The instance that a configuration launches, if its kernel is declared.
    fn instance(&self, planned: &PlannedSeries, configuration: usize) -> Option<&DeclaredEntry> {
        let own = self.modules.get(&planned.side)?;
        let configuration = &planned.configurations[configuration];
        match own.declared.get(&planned.series, configuration)? {
            Instance::Ready(entry) => Some(entry),
            Instance::Refused(_) => None,
        }
    }

    /// `text` with each declared kernel under the name in its declaration.
    pub fn as_written(&self, planned: &PlannedSeries, text: &str) -> String {
        let own = self.modules.get(&planned.side);
        own.map_or_else(|| text.to_owned(), |own| own.declared.as_written(text))
    }

    /// Why a configuration cannot be launched, if that is known without a process.
    pub fn refusal(&self, planned: &PlannedSeries, configuration: usize) -> Option<String> {
        let own = self.modules.get(&planned.side)?;
        let configuration = &planned.configurations[configuration];
        own.declared.refusal(&planned.series, configuration, self.emulated)
    }

    fn counted(
        &self,
        Handover { before, after }: &Handover,
        step: usize,
    ) -> Option<CounterRequest> {
        let counters = self.counters.as_ref()?;
        let (group, pass) = counters.step(step)?;
        let path = |image: &Image| self.image(image).into_std_path_buf();
        Some(CounterRequest {
            cupti: counters.cupti.clone().into(),
            chip: counters.chip.clone(),
            metrics: group.metrics.clone(),
            config_image: group.config_image.clone(),
            replay: counters.replay,
            pass,
            image_before: before.as_ref().map(path),
            image: path(after),
            slot: after.slot,
            slots: after.slots,
        })
    }
}
