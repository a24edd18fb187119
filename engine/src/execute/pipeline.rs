//! The running jobs on a device: one measures while the next ones prepare. On the emulated driver,
//! each process has its own device, and they measure side by side.
//!
//! Input: jobs. Output: for each, in the order they started, its replies, or how its process ended
//! without one, and then that the process is gone. The first process in the line has the device.
//! The next one gets it when [`wait`] is called again, so the caller has dealt with the last reply
//! (written the journal) before anything else is measured. A process that counts after its times
//! starts counting at once. A counter pass on a GPU that shares its profiler also waits for that.
//! One call of `poll` waits for replies, exits, signals and the next time limit.

use std::collections::VecDeque;
use std::mem;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use gpuprof_model::protocol::{MeasureRequest, RequestBody};
use gpuprof_model::run::Spent;
use gpuprof_model::{Checks, ExitCode};

use super::activity::{self, PassOf, Stretch};
use super::ahead::Ahead;
use super::harness_process::{Exit, NO_REPLY, ProcessOptions, take_down};
use super::profiler_turn::ProfilerTurn;
use super::timeout_clock::TimeoutClock;
use super::{Ended, HarnessProcess, Running};
use crate::schedule::Job;
use gpuprof_build::harnesses::Harness;
use gpuprof_system::error::{Failure, Result};

/// Jobs under way.
#[derive(Debug)]
pub struct Pipeline<'a> {
    process: &'a HarnessProcess<'a>,
    ahead: Ahead,
    line: VecDeque<Started>,
    leaving: VecDeque<Started>,
    profiler: ProfilerTurn,
    /// How many processes were started.
    started: u32,
    /// Where time went since the last call.
    spent: Vec<Stretch>,
}

#[derive(Debug)]
struct Started {
    /// Its current part: of a job with a following part, that one once the times are there.
    job: Job,
    /// All of it.
    whole: Job,
    running: Running,
    /// Whether it waits for the device.
    waits: bool,
    /// Since it has the device, or has replied.
    worked: TimeoutClock,
    /// Its name and number.
    name: String,
    process: u32,
    /// When it was started.
    begun: Instant,
}

impl Started {
    fn stretch(&self, spent: Spent, what: String, begin: Instant, end: Instant) -> Stretch {
        Stretch { spent, what, process: self.process, begin, end, pass: None }
    }

    /// The pass that it makes.
    fn pass(&self, end: Instant) -> Stretch {
        let pass = Some(PassOf::from_job(&self.job));
        let what = activity::pass(&self.job);
        Stretch { pass, ..self.stretch(Spent::Pass, what, self.worked.since(), end) }
    }

    /// All of it.
    fn whole(&self, end: Instant) -> Stretch {
        self.stretch(Spent::Process, self.name.clone(), self.begun, end)
    }
}

/// What happened.
#[derive(Debug)]
pub enum Event {
    /// A job's process wrote a reply; it continues with the next part, or ends by itself.
    Replied {
        /// The part of the job that it is a reply to.
        job: Job,
        /// The reply.
        bytes: Vec<u8>,
        /// How long it had the device for it.
        held: Duration,
        /// Whether it continues.
        goes_on: bool,
    },
    /// A job's process ended without a reply, or was killed.
    Ended {
        /// The part of the job without a reply, with the part that would have followed.
        job: Job,
        /// The whole job.
        whole: Job,
        /// How.
        ended: Ended,
        /// The configuration of the job that it worked on, by its position; none if that was all
        /// of them.
        position: Option<usize>,
        /// How long it had the device for it.
        held: Duration,
    },
    /// The process of a job that had replied is gone.
    Left {
        /// The whole job.
        job: Job,
        /// How it ended, if it failed.
        trouble: Option<String>,
    },
    /// The run was interrupted. Whatever still runs is killed when the pipeline is dropped.
    Interrupted,
    /// Nothing is under way.
    Idle,
}

/// Waits for what happens next in any of `pipelines`, one for each device; with the position of
/// that one. They are idle when all of them are.
///
/// # Errors
/// The lock of a profiler cannot be used, or the system cannot wait (exit code 107).
pub fn wait(pipelines: &mut [&mut Pipeline<'_>]) -> Result<(usize, Event)> {
    loop {
        let mut idle = 0;
        for (at, pipeline) in pipelines.iter_mut().enumerate() {
            match pipeline.poll()? {
                Some(Event::Idle) => idle += 1,
                Some(event) => return Ok((at, event)),
                None => {}
            }
        }
        let Some(first) = pipelines.first().filter(|_| idle < pipelines.len()) else {
            return Ok((0, Event::Idle));
        };
        let (mut ready, mut until) = (Vec::new(), None);
        for pipeline in pipelines.iter() {
            let limit = pipeline.waits_for(&mut ready);
            until = until.into_iter().chain(limit).min();
        }
        let waited = first.process.interrupt.wait(&ready, until);
        waited.map_err(|e| {
            Failure::new(ExitCode::NotPossible, format!("cannot wait for harness processes: {e}"))
        })?;
    }
}

impl Drop for Pipeline<'_> {
    /// Processes that an interrupt left are gone before the run releases its device: the next run
    /// may wait for it.
    fn drop(&mut self) {
        let all = self.line.iter_mut().chain(&mut self.leaving);
        take_down(all.map(|started| &mut started.running));
    }
}

impl<'a> Pipeline<'a> {
    /// An empty pipeline in which `ahead` processes prepare while one measures; `profiler` is the
    /// lock of a shared profiler.
    pub fn new(process: &'a HarnessProcess<'a>, ahead: Ahead, profiler: Option<PathBuf>) -> Self {
        let (line, leaving) = (VecDeque::new(), VecDeque::new());
        let (profiler, spent) = (ProfilerTurn::at(profiler), Vec::new());
        Self { process, ahead, line, leaving, profiler, started: 0, spent }
    }

    /// Where time went since the last call.
    pub fn spent(&mut self) -> Vec<Stretch> {
        mem::take(&mut self.spent)
    }

    /// Whether `job` can start now.
    pub fn has_room(&self, job: &Job) -> bool {
        // One that replied still has its context until it is gone; the emulated device is each
        // process' own.
        let nobody_beside = self.ahead == Ahead::NONE && self.process.quiet().is_some();
        let lonely = nobody_beside || job.alone || self.line.iter().any(|s| s.job.alone);
        if lonely {
            self.line.is_empty() && self.leaving.is_empty()
        } else if self.ahead.beside > 0 {
            self.line.len() <= self.ahead.beside
        } else {
            let times = job.is_unprofiled() || self.line.iter().any(|s| s.job.is_unprofiled());
            self.line.len() <= if times { self.ahead.times } else { self.ahead.counters }
        }
    }

    /// Starts a job; `asked` are the requests of its parts.
    ///
    /// # Errors
    /// The request cannot be written or the process not started.
    pub fn start(
        &mut self,
        job: Job,
        name: &str,
        harness: &Harness,
        asked: Vec<Vec<MeasureRequest>>,
        single_stream: bool,
        checks: Checks,
    ) -> Result<()> {
        let mut asked = asked.into_iter();
        let body = RequestBody::Measure(asked.next().unwrap_or_default());
        let then = asked.next().unwrap_or_default();
        let queues = !self.line.is_empty() && self.ahead.beside == 0;
        let waits = queues || self.profiler.is_shared_by(&job);
        let options = ProcessOptions { name, harness, waits, single_stream, checks, then };
        let running = self.process.start(options, body)?;
        let (whole, begun) = (job.clone(), Instant::now());
        let worked = TimeoutClock::from(begun);
        self.started += 1;
        let (name, process) = (name.to_owned(), self.started);
        let started = Started { job, whole, running, waits, worked, name, process, begun };
        self.line.push_back(started);
        Ok(())
    }

    /// Takes back the jobs that have not had the device yet, in their order; their processes are
    /// killed and have released the device's memory, which a repeated job may need.
    pub fn recall(&mut self) -> Vec<Job> {
        let waiting = self.line.iter().position(|started| started.waits);
        let waiting = waiting.unwrap_or(self.line.len());
        let mut recalled = self.line.split_off(waiting);
        take_down(recalled.iter_mut().map(|started| &mut started.running));
        recalled.into_iter().map(|started| started.whole).collect()
    }

    /// What happened, if anything did; hands the device on before.
    ///
    /// # Errors
    /// The lock of a profiler cannot be used (exit code 107).
    fn poll(&mut self) -> Result<Option<Event>> {
        if let Some(first) = self.line.front_mut()
            && first.waits
            && self.profiler.take_for(&first.job)?
        {
            first.waits = false;
            first.running.line.hand_over();
            let now = Instant::now();
            let turn = "prepares and waits for its turn".to_owned();
            self.spent.push(first.stretch(Spent::Turn, turn, first.begun, now));
            first.worked = TimeoutClock::from(now);
        }
        if self.process.interrupt.signal().is_some() {
            return Ok(Some(Event::Interrupted));
        }
        // Processes that have ended are reported first. If a reply is always available, as on the
        // emulated driver, processes and their file descriptors would pile up otherwise.
        if let Some(event) = self.left().or_else(|| self.first()) {
            return Ok(Some(event));
        }
        let idle = self.line.is_empty() && self.leaving.is_empty();
        Ok(idle.then_some(Event::Idle))
    }

    /// Until `ready` can be read, or the time is over.
    fn waits_for<'p>(&'p self, ready: &mut Vec<BorrowedFd<'p>>) -> Option<Instant> {
        let mut until = None;
        if let Some(leaving) = self.leaving.front() {
            ready.extend(leaving.running.end());
            until = leaving.worked.over(self.process.timeout);
        }
        for beside in self.line.iter().skip(1).filter(|started| !started.waits) {
            ready.extend(beside.running.line.waited());
        }
        if let Some(first) = self.line.front() {
            ready.extend(first.running.line.waited());
            ready.extend(first.running.end());
            if first.waits {
                ready.extend(self.profiler.waited());
            } else if self.leaving.is_empty() {
                until = first.worked.over(self.patience(first));
            }
        }
        until
    }

    /// How long a process may work.
    fn patience(&self, started: &Started) -> Duration {
        let count = match started.running.line.position() {
            Some(_) => 1,
            None => u32::try_from(started.job.configurations.len()).unwrap_or(u32::MAX),
        };
        self.process.timeout.saturating_mul(count)
    }

    /// The outcome of the process that has the device.
    fn first(&mut self) -> Option<Event> {
        let now = Instant::now();
        for started in self.line.iter_mut().filter(|started| !started.waits) {
            for notice in started.running.line.heard() {
                if let Some(since) = started.worked.hears(notice, now) {
                    let what = "waits for others".to_owned();
                    self.spent.push(started.stretch(Spent::Waiting, what, since, now));
                }
            }
        }
        let patience = self.patience(self.line.front()?);
        let first = self.line.front_mut()?;
        let held = first.worked.held(now);
        // The end is looked for before the reply: a reply that is not there after the end never
        // will be.
        let exit = first.running.exit();
        let reply = first.running.reply();
        // One that still waits for the profiler has not had the device.
        let over = !first.waits && first.worked.over(patience).is_some_and(|over| over <= now);
        if exit.is_none() && reply.is_none() && !over {
            return None;
        }
        // A process that ended without a reply is reported after earlier processes that are still
        // leaving.
        if reply.is_none() && !self.leaving.is_empty() {
            return None;
        }
        if let Some(bytes) = reply {
            self.spent.push(first.pass(now));
            first.worked = TimeoutClock::from(now);
            let mut job = first.job.clone();
            let goes_on = match job.then.take() {
                Some(then) => {
                    first.job = *then;
                    true
                }
                None => {
                    // It has closed its session.
                    self.profiler.give_back();
                    self.leaving.extend(self.line.pop_front());
                    false
                }
            };
            return Some(Event::Replied { job, bytes, held, goes_on });
        }
        let mut started = self.line.pop_front()?;
        if !started.waits {
            self.spent.push(started.pass(now));
        }
        self.spent.push(started.whole(now));
        let ended = match exit {
            Some(Exit::Success) => started.running.without(NO_REPLY.to_owned()),
            Some(Exit::Failure(how)) => started.running.without(how),
            None => started.running.timed_out(patience),
        };
        self.profiler.give_back();
        let position = started.running.line.position();
        let Started { job, whole, .. } = started;
        Some(Event::Ended { job, whole, ended, position, held })
    }

    /// The process that replied longest ago, if it is gone: events keep one order, whichever of two
    /// processes the system ends first.
    fn left(&mut self) -> Option<Event> {
        let limit = self.process.timeout;
        let over = |started: &mut Started| {
            let late = started.worked.over(limit).is_some_and(|over| over <= Instant::now());
            started.running.exit().is_some() || late
        };
        if !self.leaving.front_mut().is_some_and(over) {
            return None;
        }
        let mut started = self.leaving.pop_front()?;
        let trouble = match started.running.exit() {
            Some(Exit::Success) => None,
            Some(Exit::Failure(how)) => Some(format!(
                "the process {how} after its reply{}",
                started.running.stderr().tail()
            )),
            None => {
                // The repeated jobs may need the device memory that it still holds.
                take_down([&mut started.running]);
                Some(format!(
                    "the process replied but did not exit within {} s (--timeout raises the \
                     limit){}",
                    limit.as_secs(),
                    started.running.stderr().tail()
                ))
            }
        };
        let (now, replied) = (Instant::now(), started.worked.since());
        self.spent.push(started.stretch(Spent::Leaving, "ends".to_owned(), replied, now));
        self.spent.push(started.whole(now));
        Some(Event::Left { job: started.whole, trouble })
    }
}

#[cfg(test)]
#[path = "pipeline_tests.rs"]
mod tests;
