//! Streams that work next to the measured one, and that its time waits for.
//!
//! Input: the streams that a series function names. Output: launches that begin after the measured
//! stream's earlier work, and that its later work waits for. Otherwise the time of a library's own
//! stream, or of another GPU's, would be missed.

use std::sync::Arc;

use cudarc::driver::result::stream::wait_event;
use cudarc::driver::sys::{self, CUevent_wait_flags, CUstream};
use cudarc::driver::{CudaContext, CudaEvent, CudaStream, DriverError};

use crate::host::error::{Error, Result};
use crate::host::session::Session;

/// A stream that the measured one waits for.
pub(crate) struct Joined {
    stream: CUstream,
    /// The stream itself, if it is one of cudarc's.
    _owner: Option<Arc<CudaStream>>,
    /// Recorded when it has its launches.
    done: CudaEvent,
}

/// The streams that a run joins.
#[derive(Default)]
pub(crate) struct JoinedStreams {
    all: Vec<Joined>,
    /// Recorded when the launches begin.
    begin: Option<CudaEvent>,
}

impl JoinedStreams {
    /// Adds a stream; `owner` keeps one of cudarc's.
    pub(crate) fn add(
        &mut self,
        session: &Session,
        stream: CUstream,
        owner: Option<Arc<CudaStream>>,
    ) -> Result<()> {
        if self.begin.is_none() {
            self.begin = Some(session.context.new_event(None)?);
        }
        let context = match &owner {
            Some(stream) => stream.context().clone(),
            None => context_of(session, stream)?,
        };
        // CUDA records an event only on streams of the event's context.
        let done = context.new_event(None)?;
        session.context.bind_to_thread()?;
        self.all.push(Joined { stream, _owner: owner, done });
        Ok(())
    }

    /// Queues `launches` between the waits of the streams for the measured one and the measured
    /// one's for them.
    ///
    /// # Errors
    /// Those of `launches`; the driver's, such as for a stream that does not exist.
    pub(crate) fn around(
        &self,
        session: &Session,
        launches: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let Some(begin) = &self.begin else { return launches() };
        begin.record(&session.stream).map_err(cannot_join)?;
        for Joined { stream, .. } in &self.all {
            // SAFETY: the caller of `join` or `join_raw` named a stream of a primary context, and
            // the event lives as long as this value.
            unsafe { wait_event(*stream, begin.cu_event(), WAIT) }.map_err(cannot_join)?;
        }
        launches()?;
        for Joined { stream, done, .. } in &self.all {
            // SAFETY: as above; the event is one of the stream's context.
            unsafe { cudarc::driver::result::event::record(done.cu_event(), *stream) }
                .map_err(cannot_join)?;
            session.stream.wait(done).map_err(cannot_join)?;
        }
        Ok(session.context.bind_to_thread()?)
    }
}

fn cannot_join(error: DriverError) -> Error {
    Error::driver("the run cannot join a stream", error)
}

/// The context of a stream of a library: that of the session, or another GPU's primary one.
fn context_of(session: &Session, stream: CUstream) -> Result<Arc<CudaContext>> {
    let mut context = std::ptr::null_mut();
    // SAFETY: the caller of `join_raw` named a stream.
    unsafe { sys::cuStreamGetCtx(stream, &mut context) }.result().map_err(cannot_join)?;
    if context == session.context.cu_ctx() {
        return Ok(session.context.clone());
    }
    let mut device = 0;
    // SAFETY: the driver gave the context out; it is popped below.
    unsafe { sys::cuCtxPushCurrent_v2(context) }.result()?;
    // SAFETY: the driver writes one integer.
    let found = unsafe { sys::cuCtxGetDevice(&mut device) }.result();
    // SAFETY: the driver writes one pointer.
    unsafe { sys::cuCtxPopCurrent_v2(&mut context) }.result()?;
    found?;
    let count = CudaContext::device_count()?;
    let ordinal = (0..count).find(|at| cudarc::driver::result::device::get(*at) == Ok(device));
    let unknown =
        || Error::failed("the stream to join is on a device that the driver does not list");
    Ok(CudaContext::new(ordinal.ok_or_else(unknown)?.unsigned_abs() as usize)?)
}

const WAIT: CUevent_wait_flags = CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
