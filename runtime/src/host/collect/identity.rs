//! Numbers of contexts and streams, which identify a launch across processes.
//!
//! Input: a stream. Output: the driver's numbers of its context and of itself, which are the same
//! in every process that does the same; handles would differ. A driver before CUDA 12.0 has none.

use std::ptr;

use cudarc::driver::{CudaStream, sys};

use crate::host::driver::library;

type ContextId = unsafe extern "C" fn(sys::CUcontext, *mut u64) -> sys::CUresult;
type StreamId = unsafe extern "C" fn(sys::CUstream, *mut u64) -> sys::CUresult;

/// The numbers of the current context and of `stream`.
pub(crate) fn numbers(stream: &CudaStream) -> (Option<u64>, Option<u64>) {
    let (mut context, mut number) = (0, 0);
    // SAFETY: both symbols, if they exist, have these types (cuda.h); a null context is the current
    // one, the stream lives through the call, and each call writes one number.
    unsafe {
        let is_known = |code| code == sys::CUresult::CUDA_SUCCESS;
        let of_context = library::find::<ContextId>(b"cuCtxGetId\0");
        let of_stream = library::find::<StreamId>(b"cuStreamGetId\0");
        let context_told =
            of_context.is_some_and(|ask| is_known(ask(ptr::null_mut(), &mut context)));
        let stream_told =
            of_stream.is_some_and(|ask| is_known(ask(stream.cu_stream(), &mut number)));
        (context_told.then_some(context), stream_told.then_some(number))
    }
}
