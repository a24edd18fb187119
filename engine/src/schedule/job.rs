//! The work of one process.

use std::collections::BTreeSet;
use std::iter;

use gpuprof_model::SeriesId;
use gpuprof_model::failure::FailureKind;

use super::Handover;

/// A pass of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// Pass 0: un-profiled times.
    Timed {
        /// Which repetition, from 0.
        repeat: u32,
    },
    /// The energy of a launch, without a profiler.
    Energy {
        /// Which repetition of pass 0 it belongs to, from 0.
        repeat: u32,
    },
    /// A step of the counters' collection.
    Counters {
        /// Its position, from 0.
        step: usize,
    },
}

/// One pass of one or more configurations of a series, in one process, and the next part of the
/// same process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The position of the series.
    pub series: usize,
    /// The pass.
    pub pass: Pass,
    /// The positions of the configurations, in the order in which they run.
    pub configurations: Vec<usize>,
    /// Whether it has the device and its memory to itself: a retry after a failure in a shared
    /// process.
    pub alone: bool,
    /// The counter data of each configuration before and after it, once it is started.
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

    /// This part, and the following parts of its process.
    pub fn parts(&self) -> impl Iterator<Item = &Self> {
        iter::successors(Some(self), |job| job.then.as_deref())
    }

    /// Whether its process takes times, or energy, before anything else.
    pub fn is_unprofiled(&self) -> bool {
        match self.pass {
            Pass::Timed { .. } | Pass::Energy { .. } => true,
            Pass::Counters { .. } => false,
        }
    }

    /// Whether its process uses the profiler.
    pub fn counts(&self) -> bool {
        self.parts().any(|part| !part.is_unprofiled())
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

    /// The unique name of its files in the run.
    pub fn name(&self, id: &SeriesId) -> String {
        let first = self.configurations.first().copied().unwrap_or_default();
        let others = match self.configurations.len() {
            0 | 1 => String::new(),
            more => format!("+{}", more - 1),
        };
        let passes = self.parts().map(|part| match part.pass {
            Pass::Timed { repeat } => format!("-pass-0-{repeat}"),
            Pass::Energy { repeat } => format!("-energy-{repeat}"),
            Pass::Counters { step } => format!("-pass-{}", step + 1),
        });
        let passes: String = passes.collect();
        format!("{:03}-{}-{first:05}{others}{passes}", self.series, id.kernel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(configurations: &[usize], alone: bool) -> Job {
        let pass = Pass::Counters { step: 2 };
        Job { alone, ..Job::new(1, pass, configurations.to_vec()) }
    }

    #[test]
    fn only_configurations_that_share_a_process_are_retried() {
        for kind in FailureKind::ALL {
            let by_others = kind != FailureKind::Other;
            assert!(job(&[3, 4], false).may_be_innocent(kind), "{kind:?}");
            assert_eq!(job(&[3], false).may_be_innocent(kind), by_others, "{kind:?}");
            assert!(!job(&[3], false).alone(3).may_be_innocent(kind), "{kind:?}");
        }
    }

    #[test]
    fn job_names_are_unique() {
        let id = SeriesId::new("p", "t", "k");
        let names =
            [job(&[3, 4], false), job(&[3], true), job(&[3, 4, 5], false)].map(|j| j.name(&id));
        assert_eq!(names, ["001-k-00003+1-pass-3", "001-k-00003-pass-3", "001-k-00003+2-pass-3"]);
        let then = Some(Box::new(job(&[3], false)));
        let both = Job { then, ..Job::new(1, Pass::Timed { repeat: 5 }, vec![3]) };
        assert_eq!(both.name(&id), "001-k-00003-pass-0-5-pass-3");
    }

    #[test]
    fn a_joined_job_may_time_and_count_different_configurations() {
        let then = Some(Box::new(job(&[5, 3], false)));
        let both = Job { then, ..Job::new(1, Pass::Timed { repeat: 2 }, vec![4, 3]) };
        assert!(both.is_unprofiled() && both.counts());
        assert_eq!(both.everyone().into_iter().collect::<Vec<_>>(), [3, 4, 5]);
        assert!(!both.alone(4).counts());
        assert!(!job(&[3], false).is_unprofiled());
    }
}
