//! A lane's part in a profiler that all GPUs of the machine share.
//!
//! Input: the lock of the profiler, and the job that is next on the lane's device. Output:
//! whether it may have the device now. A counter pass has the profiler from then on until its
//! process has replied or is gone; what takes times needs none.

use std::path::PathBuf;

use super::Job;
use crate::device::lock::{self, Lock, Owner, Try};
use crate::error::Result;

/// The profiler as a lane sees it.
#[derive(Debug)]
pub(super) struct Profiler {
    /// None where the device has one of its own.
    path: Option<PathBuf>,
    held: Option<Lock>,
    /// Whether it was just given back: another lane, or another run, is asked first.
    rests: bool,
}

impl Profiler {
    pub(super) fn at(path: Option<PathBuf>) -> Self {
        Self { path, held: None, rests: false }
    }

    /// Whether `job` may have to wait for it.
    pub(super) fn is_shared_by(&self, job: &Job) -> bool {
        self.path.is_some() && job.counts()
    }

    /// Takes it for `job`, if that needs it; whether the job can go on.
    ///
    /// # Errors
    /// A lock that cannot be used (exit code 107).
    pub(super) fn take_for(&mut self, job: &Job) -> Result<bool> {
        let Some(path) = self.path.as_ref().filter(|_| self.is_shared_by(job)) else {
            return Ok(true);
        };
        if std::mem::take(&mut self.rests) {
            return Ok(false);
        }
        let tried = lock::try_lock(path, &Owner::this_process());
        match tried.map_err(|e| lock::unusable(path, &e))? {
            Try::Held(lock) => {
                self.held = Some(lock);
                Ok(true)
            }
            Try::Busy(_) => Ok(false),
        }
    }

    /// Gives it back, if it was taken.
    pub(super) fn give_back(&mut self) {
        self.rests = self.held.take().is_some();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::Pass;

    fn job(pass: Pass) -> Job {
        Job::new(0, pass, vec![0])
    }

    #[test]
    fn one_lane_counts_at_a_time_and_all_take_times() {
        let folder = tempfile::tempdir().unwrap();
        let lane = || Profiler::at(Some(folder.path().join("profiler")));
        let (mut one, mut other) = (lane(), lane());
        let (counts, times) = (job(Pass::Counters { step: 0 }), job(Pass::Timed { repeat: 0 }));
        assert!(one.take_for(&counts).unwrap());
        assert!(!other.take_for(&counts).unwrap());
        assert!(other.take_for(&times).unwrap());
        one.give_back();
        // Not again before the other one was asked.
        assert!(!one.take_for(&counts).unwrap());
        assert!(other.take_for(&counts).unwrap());
        assert!(!one.take_for(&counts).unwrap());
        drop(other);
        assert!(one.take_for(&counts).unwrap());
    }

    #[test]
    fn a_profiler_of_the_devices_own_is_always_there() {
        let counts = job(Pass::Counters { step: 0 });
        let mut own = Profiler::at(None);
        assert!(own.take_for(&counts).unwrap() && !own.is_shared_by(&counts));
        own.give_back();
        assert!(own.take_for(&counts).unwrap());
    }

    #[test]
    fn a_lock_that_cannot_be_used_is_no_busy_profiler() {
        let mut lost = Profiler::at(Some("/nonexistent/gpuprof-profiler.lock".into()));
        let failure = lost.take_for(&job(Pass::Counters { step: 0 })).unwrap_err();
        assert_eq!(failure.code, gpuprof_model::ExitCode::NotPossible);
        assert!(failure.message.contains("/nonexistent/gpuprof-profiler.lock"), "{failure}");
    }
}
