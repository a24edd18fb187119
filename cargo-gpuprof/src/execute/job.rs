//! What one process does, and the request that asks it to.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::path::PathBuf;

use camino::Utf8PathBuf;
use gpuprof_model::SeriesId;
use gpuprof_model::assembled::ModuleResources;
use gpuprof_model::declared::{DeclaredEntry, DeclaredInstance as Instance, LaunchableInstance};
use gpuprof_model::failure::FailureKind;
use gpuprof_model::measurement::PassOutcome;
use gpuprof_model::protocol::{CounterRequest, MeasureRequest, ReplyBody};

use super::{Execution, Handover, Image};
use crate::build::host::Harness;
use crate::discover;
use crate::plan::PlannedSeries;

/// A pass of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// Pass 0: un-profiled times.
    Timed {
        /// Which repetition, from 0.
        repeat: u32,
    },
    /// A step of the counters' collection.
    Counters {
        /// Its position, from 0.
        step: usize,
    },
}

/// One pass of one or more configurations of a series, in one process, and what the same process
/// does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The position of the series.
    pub series: usize,
    /// The pass.
    pub pass: Pass,
    /// The positions of the configurations, in the order in which they run.
    pub configurations: Vec<usize>,
    /// Whether it has the device to itself, its memory too: a second try of what went wrong beside
    /// others.
    pub alone: bool,
    /// What it hands on of the counters of each configuration, once it is started.
    pub images: Vec<Handover>,
    /// The counter pass that the same process makes once it has replied with the times that this is
    /// to find. They are taken before CUPTI is loaded, and a context costs more than either of the
    /// passes.
    pub then: Option<Box<Job>>,
}

impl Job {
    /// A pass of `configurations`, in one process.
    pub fn new(series: usize, pass: Pass, configurations: Vec<usize>) -> Self {
        let (images, then) = (Vec::new(), None);
        Self { series, pass, configurations, alone: false, images, then }
    }

    /// This one, and what its process does next.
    pub fn parts(&self) -> impl Iterator<Item = &Self> {
        iter::successors(Some(self), |job| job.then.as_deref())
    }

    /// Whether its process takes times before anything else.
    pub fn takes_times(&self) -> bool {
        matches!(self.pass, Pass::Timed { .. })
    }

    /// Whether its process uses the profiler.
    pub fn counts(&self) -> bool {
        self.parts().any(|part| !part.takes_times())
    }

    /// The configurations that its process works for, each once.
    pub fn everyone(&self) -> BTreeSet<usize> {
        self.parts().flat_map(|part| part.configurations.iter().copied()).collect()
    }

    /// Whether a failure of this `kind` may be the fault of something else in its process or on the
    /// device, so that it is retried in isolation.
    pub fn may_be_innocent(&self, kind: FailureKind) -> bool {
        let shared = self.configurations.len() > 1;
        !self.alone && (shared || kind.may_be_caused_by_others())
    }

    /// The same pass of one of its configurations, alone.
    pub fn alone(&self, configuration: usize) -> Self {
        Self { alone: true, ..Self::new(self.series, self.pass, vec![configuration]) }
    }

    /// What its files are called; no other job of the run has the name.
    pub fn name(&self, id: &SeriesId) -> String {
        let first = self.configurations.first().copied().unwrap_or_default();
        let others = match self.configurations.len() {
            0 | 1 => String::new(),
            more => format!("+{}", more - 1),
        };
        let passes = self.parts().map(|part| match part.pass {
            Pass::Timed { repeat } => format!("-pass-0-{repeat}"),
            Pass::Counters { step } => format!("-pass-{}", step + 1),
        });
        let passes: String = passes.collect();
        format!("{:03}-{}-{first:05}{others}{passes}", self.series, id.kernel)
    }
}

impl Execution<'_> {
    /// Where a counter data image lies.
    pub fn image(&self, image: &Image) -> Utf8PathBuf {
        self.process.folder.join(&image.file)
    }

    /// What to ask a harness for `job` itself, not for what follows it.
    pub fn request(&self, job: &Job, planned: &PlannedSeries) -> Vec<MeasureRequest> {
        let id = &planned.series.id;
        let one = |(at, &configuration): (usize, &usize)| MeasureRequest {
            kernel: id.kernel.clone(),
            configuration: planned.configurations[configuration].clone(),
            modules: self.modules_of(planned, configuration),
            declared: self.instance(planned, configuration).cloned(),
            launchable: self.launchable(planned),
            resources: self.resources_of(planned, configuration),
            emulated: self.emulated,
            repeat: match job.pass {
                Pass::Timed { repeat } => repeat,
                Pass::Counters { .. } => 0,
            },
            verify: self.verify && job.pass == Pass::Timed { repeat: 0 },
            sampling: self.sampling.clone(),
            cupti: self.cupti.clone(),
            counters: match job.pass {
                Pass::Timed { .. } => None,
                Pass::Counters { step } => {
                    job.images.get(at).and_then(|handover| self.counted(handover, step))
                }
            },
            attributes: self.attributes.clone(),
        };
        job.configurations.iter().enumerate().map(one).collect()
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

    /// What ptxas says of the modules that a configuration needs.
    fn resources_of(
        &self,
        planned: &PlannedSeries,
        configuration: usize,
    ) -> BTreeMap<String, ModuleResources> {
        let Some(own) = self.modules.get(&planned.side) else { return BTreeMap::new() };
        let needed = self.modules_of(planned, configuration).into_keys();
        needed.filter_map(|name| Some((name.clone(), own.resources.get(&name)?.clone()))).collect()
    }

    /// The instances of declared kernels that a series function may launch.
    fn launchable(&self, planned: &PlannedSeries) -> Vec<LaunchableInstance> {
        let own = self.modules.get(&planned.side);
        let launched = &planned.series.declared_launches;
        own.map(|own| own.declared.launchable(launched)).unwrap_or_default()
    }

    /// The instance that a configuration launches, where its kernel is declared.
    fn instance(&self, planned: &PlannedSeries, configuration: usize) -> Option<&DeclaredEntry> {
        let own = self.modules.get(&planned.side)?;
        let configuration = &planned.configurations[configuration];
        match own.declared.get(&planned.series, configuration)? {
            Instance::Ready(entry) => Some(entry),
            Instance::Refused(_) => None,
        }
    }

    /// `text` with declared kernels called as their declarations do.
    pub fn as_written(&self, planned: &PlannedSeries, text: &str) -> String {
        let own = self.modules.get(&planned.side);
        own.map_or_else(|| text.to_owned(), |own| own.declared.as_written(text))
    }

    /// Why a configuration cannot be launched, where that is known without a process.
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

/// What the passes of a reply's bytes found; where the reply is none, that the first of them
/// failed.
pub fn outcomes(bytes: &[u8], harness: &Harness) -> Vec<PassOutcome> {
    let failed = |reason| vec![PassOutcome::Failed { kind: FailureKind::Other, reason }];
    match discover::read_reply(bytes, harness) {
        Ok(ReplyBody::Measured(outcomes)) => outcomes.into_iter().map(in_rust_names).collect(),
        Ok(other) => failed(discover::unexpected(harness, &other).message),
        Err(failure) => failed(failure.message),
    }
}

/// The outcome with functions by the names that their source has.
fn in_rust_names(mut outcome: PassOutcome) -> PassOutcome {
    if let PassOutcome::Failed { reason, .. } | PassOutcome::Invalid { reason } = &mut outcome {
        let symbol = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
        let words: Vec<&str> = reason.split_inclusive(|c| !symbol(c)).collect();
        let plain = |word: &str| {
            let name = word.trim_end_matches(|c| !symbol(c));
            match rustc_demangle::try_demangle(name) {
                Ok(readable) => format!("{readable:#}{}", &word[name.len()..]),
                Err(_) => word.to_owned(),
            }
        };
        *reason = words.into_iter().map(plain).collect();
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_in_reasons_have_the_names_of_their_source() {
        let told = |reason: &str| {
            let (kind, reason) = (FailureKind::Other, reason.to_owned());
            match in_rust_names(PassOutcome::Failed { kind, reason }) {
                PassOutcome::Failed { reason, .. } => reason,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(
            told(
                "a call of '_RNvCsgD6ZYSTHt5E_4conv6rounds', in '_RNvCsgD6ZYSTHt5E_4conv6rounds' at 1:2"
            ),
            "a call of 'conv::rounds', in 'conv::rounds' at 1:2"
        );
        assert_eq!(told("_R is no name, ▒ _ZN neither\n"), "_R is no name, ▒ _ZN neither\n");
    }

    fn job(configurations: &[usize], alone: bool) -> Job {
        let pass = Pass::Counters { step: 2 };
        Job { alone, ..Job::new(1, pass, configurations.to_vec()) }
    }

    #[test]
    fn what_shares_its_process_is_retried_and_what_is_alone_is_not() {
        for kind in FailureKind::ALL {
            let by_others = kind != FailureKind::Other;
            assert!(job(&[3, 4], false).may_be_innocent(kind), "{kind:?}");
            assert_eq!(job(&[3], false).may_be_innocent(kind), by_others, "{kind:?}");
            assert!(!job(&[3], false).alone(3).may_be_innocent(kind), "{kind:?}");
        }
    }

    #[test]
    fn names_tell_jobs_apart() {
        let id = SeriesId { package: "p".into(), target: "t".into(), kernel: "k".into() };
        let names =
            [job(&[3, 4], false), job(&[3], true), job(&[3, 4, 5], false)].map(|j| j.name(&id));
        assert_eq!(names, ["001-k-00003+1-pass-3", "001-k-00003-pass-3", "001-k-00003+2-pass-3"]);
        let then = Some(Box::new(job(&[3], false)));
        let both = Job { then, ..Job::new(1, Pass::Timed { repeat: 5 }, vec![3]) };
        assert_eq!(both.name(&id), "001-k-00003-pass-0-5-pass-3");
    }

    #[test]
    fn a_process_that_takes_times_and_counts_does_both_for_some_and_one_of_them_for_others() {
        let then = Some(Box::new(job(&[5, 3], false)));
        let both = Job { then, ..Job::new(1, Pass::Timed { repeat: 2 }, vec![4, 3]) };
        assert!(both.takes_times() && both.counts());
        assert_eq!(both.everyone().into_iter().collect::<Vec<_>>(), [3, 4, 5]);
        assert!(!both.alone(4).counts());
        assert!(!job(&[3], false).takes_times());
    }
}
