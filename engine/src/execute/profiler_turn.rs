//! A lane's turn at a profiler that all GPUs of the machine share.
//!
//! Input: the lock of the profiler, and the next job on the lane's device. Output: whether it may
//! have the device now. A counter pass holds the profiler until its process has replied or ended;
//! passes that take times do not need it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use crate::device::lock::{self, Claim, Lock, Owner, Try};
use crate::schedule::Job;
use gpuprof_system::error::Result;

/// The profiler as a lane sees it.
#[derive(Debug)]
pub(super) struct ProfilerTurn {
    /// None if the device has its own.
    path: Option<PathBuf>,
    held: Option<Lock>,
    /// How it is waited for.
    claim: Option<Claim>,
    /// Whether it was just given back: another lane, or another run, may have waited longer.
    rests: bool,
}

impl ProfilerTurn {
    pub(super) fn at(path: Option<PathBuf>) -> Self {
        Self { path, held: None, claim: None, rests: false }
    }

    /// Whether `job` may have to wait for it.
    pub(super) fn is_shared_by(&self, job: &Job) -> bool {
        self.path.is_some() && job.counts()
    }

    /// Takes it for `job`, if that needs it; returns whether the job can continue.
    ///
    /// # Errors
    /// A lock that cannot be used (exit code 107).
    pub(super) fn take_for(&mut self, job: &Job) -> Result<bool> {
        let Some(path) = self.path.clone().filter(|_| self.is_shared_by(job)) else {
            // What was waited for is not wanted any more.
            self.claim = None;
            return Ok(true);
        };
        self.held = self.taken(&path).map_err(|e| lock::unusable(&path, &e))?;
        Ok(self.held.is_some())
    }

    fn taken(&mut self, path: &Path) -> io::Result<Option<Lock>> {
        let owner = Owner::this_process();
        if self.claim.is_none() {
            if !std::mem::take(&mut self.rests)
                && let Try::Held(lock) = lock::try_lock(path, &owner)?
            {
                return Ok(Some(lock));
            }
            self.claim = Some(Claim::on(path)?);
        }
        let held = self.claim.as_ref().map(|claim| claim.held(&owner)).transpose()?.flatten();
        if held.is_some() {
            self.claim = None;
        }
        Ok(held)
    }

    /// Readable once it is free; none if nothing waits for it.
    pub(super) fn waited(&self) -> Option<BorrowedFd<'_>> {
        self.claim.as_ref().map(AsFd::as_fd)
    }

    /// Gives it back, if it was taken, and waits for it no longer.
    pub(super) fn give_back(&mut self) {
        self.claim = None;
        self.rests = self.held.take().is_some();
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::schedule::Pass;
    use gpuprof_system::interrupt::Interrupt;

    fn job(pass: Pass) -> Job {
        Job::new(0, pass, vec![0])
    }

    #[test]
    fn one_lane_collects_counters_while_others_time() {
        let folder = tempfile::tempdir().unwrap();
        let lane = || ProfilerTurn::at(Some(folder.path().join("profiler")));
        let (mut one, mut other) = (lane(), lane());
        let (counts, times) = (job(Pass::Counters { step: 0 }), job(Pass::Timed { repeat: 0 }));
        assert!(one.take_for(&counts).unwrap());
        assert!(!other.take_for(&counts).unwrap());
        until_it_queues(&folder);
        assert!(other.take_for(&times).unwrap());
        // The abandoned claim stays in the queue until its turn, before this one.
        one.give_back();
        until_taken(&mut one, &counts);
        for _ in 0..20 {
            // It takes times meanwhile, and then waits for the profiler again.
            assert!(!other.take_for(&counts).unwrap());
            until_it_queues(&folder);
            one.give_back();
            // Not again before the other one.
            assert!(!one.take_for(&counts).unwrap());
            until_taken(&mut other, &counts);
            assert!(!one.take_for(&counts).unwrap());
            std::mem::swap(&mut one, &mut other);
        }
        drop(one);
        until_taken(&mut other, &counts);
    }

    /// Returns when a process is next to get the profiler.
    fn until_it_queues(folder: &tempfile::TempDir) {
        let turnstile = File::create(folder.path().join("profiler.turnstile")).unwrap();
        while turnstile.try_lock().is_ok() {
            turnstile.unlock().unwrap();
            std::thread::yield_now();
        }
    }

    fn until_taken(lane: &mut ProfilerTurn, job: &Job) {
        while !lane.take_for(job).unwrap() {
            Interrupt::default().wait(&[lane.waited().unwrap()], None).unwrap();
        }
    }

    #[test]
    fn a_lane_that_stops_waiting_releases_the_profiler() {
        let folder = tempfile::tempdir().unwrap();
        let lane = || ProfilerTurn::at(Some(folder.path().join("profiler")));
        let (mut one, mut other, mut third) = (lane(), lane(), lane());
        let (counts, times) = (job(Pass::Counters { step: 0 }), job(Pass::Timed { repeat: 0 }));
        assert!(one.take_for(&counts).unwrap());
        assert!(!other.take_for(&counts).unwrap());
        until_it_queues(&folder);
        // The waiting job is gone, and times are next.
        other.give_back();
        assert!(other.take_for(&times).unwrap() && other.waited().is_none());
        one.give_back();
        until_taken(&mut third, &counts);
    }

    #[test]
    fn an_unshared_profiler_is_always_available() {
        let counts = job(Pass::Counters { step: 0 });
        let mut own = ProfilerTurn::at(None);
        assert!(own.take_for(&counts).unwrap() && !own.is_shared_by(&counts));
        own.give_back();
        assert!(own.take_for(&counts).unwrap());
    }

    #[test]
    fn an_unusable_lock_file_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let lock = file.path().join("profiler.lock");
        let mut lost = ProfilerTurn::at(Some(lock.clone()));
        let failure = lost.take_for(&job(Pass::Counters { step: 0 })).unwrap_err();
        assert_eq!(failure.code, gpuprof_model::ExitCode::NotPossible);
        assert!(failure.message.contains(lock.to_str().unwrap()), "{failure}");
    }
}
