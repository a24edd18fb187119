//! The configurations that share a process, and the signals that identify the one at fault.
//!
//! Input: the position of the configuration that the process works on. Output: the same position
//! for the runner, whose time limit is for each of them, and for an error that a launch causes; and
//! an error for a configuration that leaves the context in another state than it found.

use std::cell::Cell;

use cudarc::driver::result::ctx::get_limit;
use cudarc::driver::sys::CUlimit;
use gpuprof_model::notice::Notice;

use crate::host::error::{Error, Result};
use crate::host::session::Session;

/// The limits that only user code changes. The driver raises that of the stack by itself.
const LIMITS: [(CUlimit, &str); 4] = [
    (CUlimit::CU_LIMIT_PRINTF_FIFO_SIZE, "CU_LIMIT_PRINTF_FIFO_SIZE"),
    (CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE, "CU_LIMIT_MALLOC_HEAP_SIZE"),
    (CUlimit::CU_LIMIT_MAX_L2_FETCH_GRANULARITY, "CU_LIMIT_MAX_L2_FETCH_GRANULARITY"),
    (CUlimit::CU_LIMIT_PERSISTING_L2_CACHE_SIZE, "CU_LIMIT_PERSISTING_L2_CACHE_SIZE"),
];

/// Some of the requests of a process, which are handled in one step.
pub(crate) struct SharedProcess<'s> {
    pub(crate) session: &'s Session,
    /// The position of the first of them.
    first: usize,
    /// Whether the process has others.
    shared: bool,
    /// The current configuration, counted from the first.
    now: Cell<Option<usize>>,
}

impl<'s> SharedProcess<'s> {
    /// A step for requests from position `first` on, of `count` in the process.
    pub(crate) fn new(session: &'s Session, first: usize, count: usize) -> Self {
        Self { session, first, shared: count > 1, now: Cell::new(None) }
    }

    /// It works on the request at `position` of the step.
    pub(crate) fn begin(&self, position: usize) {
        self.now.set(Some(position));
        self.notify(Notice::at(self.first + position));
    }

    /// It works on all requests of the step.
    pub(crate) fn begin_all(&self) {
        self.now.set(None);
        self.notify(Notice::AtAll);
    }

    /// The request that it works on, counted from the first of the step; none where it is all.
    pub(crate) fn position(&self) -> Option<usize> {
        self.now.get()
    }

    fn notify(&self, notice: Notice) {
        if self.shared {
            self.session.quiet.notify(notice);
        }
    }

    /// Runs the user code in `work`.
    ///
    /// # Errors
    /// Those of `work`; a changed limit of the context where other configurations follow.
    pub(crate) fn keep_state<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        if !self.shared {
            return work();
        }
        let before = limits();
        let done = work()?;
        for ((name, before), (_, after)) in before.into_iter().zip(limits()) {
            if before != after {
                return Err(Error::failed(format!(
                    "it changed {name} of the context from {} to {}, with which the next \
                     configuration of the process would be measured",
                    before.unwrap_or_default(),
                    after.unwrap_or_default()
                )));
            }
        }
        Ok(done)
    }
}

/// The limits of the current context, as far as the driver knows them.
fn limits() -> [(&'static str, Option<usize>); LIMITS.len()] {
    LIMITS.map(|(limit, name)| (name, get_limit(limit).ok()))
}
