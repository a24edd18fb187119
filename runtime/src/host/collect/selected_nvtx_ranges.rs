//! The NVTX ranges of a closure that `--nvtx` selects.
//!
//! Input: the begins and ends of all NVTX ranges of the process while the closure runs. Output: the
//! selected ones as named ranges of the closure, or why they cannot be: none matches, one is of
//! another thread, or two overlap without lying in each other.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};

use gpuprof_model::nvtx_pattern::NvtxPattern;

use crate::host::collect::nvtx::RangeListener;
use crate::host::error::{Error, Result};

/// How many names are kept for a message.
const MOST_NAMES: usize = 20;

/// Marks NVTX ranges that are collected.
pub(crate) trait RangeMarker {
    /// Begins the NVTX range at `path`.
    ///
    /// # Errors
    /// The driver, or CUPTI.
    fn begin_nvtx(&self, path: &str) -> Result<()>;

    /// Ends the NVTX range that was begun last.
    ///
    /// # Errors
    /// The driver, or CUPTI; another range ends first.
    fn end_nvtx(&self) -> Result<()>;
}

/// Hears of the NVTX ranges of a closure.
pub(crate) struct NvtxRanges<'r> {
    /// Marks selected ranges, on the thread of the closure only.
    ranges: &'r dyn RangeMarker,
    closure: ThreadId,
    patterns: &'r [NvtxPattern],
    heard: Mutex<Heard>,
}

// SAFETY: `ranges` is used on the thread of the closure only, and that thread owns it.
unsafe impl Sync for NvtxRanges<'_> {}

#[derive(Default)]
struct Heard {
    /// Ranges of the closure that no pattern matches.
    others: BTreeSet<String>,
    /// How many began that a pattern matches.
    matched: usize,
    /// Those that have not ended: their numbers and paths.
    open: Vec<(u64, String)>,
    failure: Option<Error>,
}

impl<'r> NvtxRanges<'r> {
    /// A listener for the closure that this thread calls.
    pub(crate) fn new(ranges: &'r dyn RangeMarker, patterns: &'r [NvtxPattern]) -> Self {
        Self { ranges, closure: thread::current().id(), patterns, heard: Mutex::default() }
    }

    /// Checks that the selected ranges of the closure are there and have ended.
    ///
    /// # Errors
    /// As in the module's description.
    pub(crate) fn finish(self) -> Result<()> {
        let heard = self.heard.into_inner().unwrap_or_else(PoisonError::into_inner);
        let Heard { others, matched, open, failure } = heard;
        if let Some(failure) = failure {
            return Err(failure);
        }
        if let Some((_, path)) = open.last() {
            return Err(Error::failed(format!(
                "--nvtx: the NVTX range `{path}` does not end in the closure"
            )));
        }
        if matched > 0 {
            return Ok(());
        }
        let patterns: Vec<String> = self.patterns.iter().map(ToString::to_string).collect();
        let seen: Vec<&str> = others.iter().take(MOST_NAMES).map(String::as_str).collect();
        let seen = match others.len() {
            0 => "it has none".to_owned(),
            all if all > seen.len() => format!("it has {} and others", seen.join(", ")),
            _ => format!("it has {}", seen.join(", ")),
        };
        Err(Error::failed(format!(
            "--nvtx {} matches no NVTX range of the closure: {seen}",
            patterns.join(",")
        )))
    }
}

impl RangeListener for NvtxRanges<'_> {
    fn begin(&self, id: u64, path: &str) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        if heard.failure.is_some() {
            return;
        }
        if !self.patterns.iter().any(|pattern| pattern.matches(path)) {
            if heard.others.len() <= MOST_NAMES {
                heard.others.insert(path.to_owned());
            }
            return;
        }
        heard.matched += 1;
        if thread::current().id() != self.closure {
            heard.failure = Some(of_another_thread(path));
            return;
        }
        heard.open.push((id, path.to_owned()));
        heard.failure = self.ranges.begin_nvtx(path).err();
    }

    fn end(&self, id: u64) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(at) = heard.open.iter().position(|(open, _)| *open == id) else { return };
        if heard.failure.is_some() {
            return;
        }
        let inner = heard.open.get(at + 1).map(|(_, path)| path.clone());
        let (_, path) = heard.open.remove(at);
        heard.failure = match inner {
            _ if thread::current().id() != self.closure => Some(of_another_thread(&path)),
            Some(inner) => Some(Error::failed(format!(
                "--nvtx: the NVTX ranges `{path}` and `{inner}` overlap, and neither lies in the \
                 other; select one of them"
            ))),
            None => self.ranges.end_nvtx().err(),
        };
    }
}

fn of_another_thread(path: &str) -> Error {
    Error::failed(format!(
        "--nvtx: the NVTX range `{path}` begins or ends on another thread than that of the \
         closure, whose ranges are counted; leave it out of the pattern"
    ))
}
