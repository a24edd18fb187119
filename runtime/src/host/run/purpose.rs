//! The purpose of a call of a series function or of a kernel, and how far the call is.
//!
//! Input: the request and the device. Output: the one thing that the call measures.

use gpuprof_model::protocol::{MeasureRequest, OverTimeRequest, SourceRequest};

use crate::host::collect::cupti::Collection;
use crate::host::session::Session;

/// The purpose of a call.
pub(crate) enum Purpose<'a> {
    /// The counts of the emulated driver.
    Emulation,
    /// Counts or samples by machine instruction.
    SourceCounters(&'a SourceRequest),
    /// Counters over the time of the work.
    OverTime(&'a OverTimeRequest),
    /// A warm device, and the launches that CUPTI sees; counters are collected in later calls.
    WarmUp,
    /// One counter pass.
    CounterPass(Box<Collection<'a>>),
    /// The energy of the work.
    Energy,
    /// Times of the work.
    Times,
    /// The launch that the driver refused in an earlier call; nothing is measured.
    Refusal,
}

impl<'a> Purpose<'a> {
    /// The purpose of the first call for `request`, which is the only one unless counters are
    /// collected on a GPU.
    pub(crate) fn requested(session: &Session, request: &'a MeasureRequest) -> Self {
        if session.device.emulated {
            Self::Emulation
        } else if let Some(wanted) = &request.source {
            Self::SourceCounters(wanted)
        } else if let Some(wanted) = &request.over_time {
            Self::OverTime(wanted)
        } else if request.counters.is_some() {
            Self::WarmUp
        } else if request.energy {
            Self::Energy
        } else {
            Self::Times
        }
    }
}

/// How far a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It makes its inputs, and `measure` was not called.
    SetUp,
    /// `measure` was called.
    Measuring,
    /// The measured launches were queued and done, once.
    Launched,
}
