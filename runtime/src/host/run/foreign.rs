//! Access to a run for libraries with their own CUDA driver layer.
//!
//! Input: a run, and streams of other layers. Output: its context and its stream as pointers, which
//! every layer accepts, streams that it waits for, and the error of a series function that cannot
//! run a configuration.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::CudaStream;

use crate::host::error::{Error, Result};
use crate::host::run::Run;

impl Run<'_> {
    /// The stream that is measured, as CUDA's own `CUstream`: for a library that takes a pointer.
    /// It belongs to the run; do not destroy it.
    ///
    /// ```
    /// use std::ffi::c_void;
    ///
    /// use gpuprof::prelude::*;
    ///
    /// unsafe extern "C" {
    ///     fn library_transform(x: u64, n: usize, stream: *mut c_void) -> i32;
    /// }
    ///
    /// fn transform(run: &mut Run<'_>, x: u64, n: usize) -> gpuprof::Result<()> {
    ///     let stream = run.raw_stream();
    ///     // SAFETY: `x` is the address of `n` elements on the device.
    ///     run.measure(|_| match unsafe { library_transform(x, n, stream) } {
    ///         0 => Ok(()),
    ///         code => Err(gpuprof::Error::failed(format!("the library returns {code}"))),
    ///     })
    /// }
    /// ```
    #[doc(alias("cudaStream_t", "CUstream"))]
    pub fn raw_stream(&self) -> *mut c_void {
        self.session.stream.cu_stream().cast()
    }

    /// Includes the work that the launches queue on `stream` in the measured time: it begins after
    /// the work before them on [`Run::stream`], which then waits for it. Call it before
    /// [`Run::measure`].
    ///
    /// Without it, the time of another stream is missed; on a GPU with CUPTI that is an error. The
    /// stream may be one of another GPU.
    ///
    /// # Errors
    /// The driver's, of making an event.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// #[gpuprof::series(n = [16M])]
    /// fn two_streams(run: &mut Run<'_>) -> gpuprof::Result<()> {
    ///     let (n, first, second) = (run.value::<usize>("n")?, run.stream(), run.context().new_stream()?);
    ///     let (mut x, mut y) = (first.alloc_zeros::<u8>(n)?, first.alloc_zeros::<u8>(n)?);
    ///     run.join(&second)?;
    ///     run.measure(|_| {
    ///         first.memset_zeros(&mut x)?;
    ///         second.memset_zeros(&mut y)?;
    ///         Ok(())
    ///     })
    /// }
    /// ```
    #[doc(alias("cudaStreamWaitEvent", "cuStreamWaitEvent"))]
    pub fn join(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        self.joined.add(self.session, stream.cu_stream(), Some(stream.clone()))
    }

    /// As [`Run::join`] for a library's own `CUstream` or `cudaStream_t`.
    ///
    /// # Errors
    /// The driver's, of making an event.
    ///
    /// # Safety
    /// The stream is one of a device's primary context, and lives until [`Run::measure`] returns.
    ///
    /// ```
    /// use std::ffi::c_void;
    ///
    /// use gpuprof::prelude::*;
    ///
    /// unsafe extern "C" {
    ///     fn library_stream() -> *mut c_void;
    ///     fn library_transform(x: u64, n: usize);
    /// }
    ///
    /// fn transform(run: &mut Run<'_>, x: u64, n: usize) -> gpuprof::Result<()> {
    ///     // SAFETY: the library keeps its stream until the process ends.
    ///     unsafe { run.join_raw(library_stream()) }?;
    ///     // SAFETY: `x` is the address of `n` elements on the device.
    ///     run.measure(|_| unsafe { library_transform(x, n) })
    /// }
    /// ```
    #[doc(alias("cudaStreamWaitEvent", "cuStreamWaitEvent"))]
    pub unsafe fn join_raw(&mut self, stream: *mut c_void) -> Result<()> {
        self.joined.add(self.session, stream.cast(), None)
    }

    /// The context of the device, as CUDA's own `CUcontext`. It is the device's primary context,
    /// which CUDA's runtime uses as well, and current on the thread that calls the series function.
    /// It belongs to the run; do not destroy it.
    ///
    /// ```
    /// use std::ffi::c_void;
    ///
    /// use gpuprof::prelude::*;
    ///
    /// unsafe extern "C" {
    ///     fn library_open(context: *mut c_void, stream: *mut c_void) -> i32;
    /// }
    ///
    /// fn open(run: &Run<'_>) -> gpuprof::Result<()> {
    ///     // SAFETY: both live as long as the run.
    ///     match unsafe { library_open(run.raw_context(), run.raw_stream()) } {
    ///         0 => Ok(()),
    ///         code => Err(gpuprof::Error::failed(format!("the library returns {code}"))),
    ///     }
    /// }
    /// ```
    #[doc(alias("CUcontext", "cuCtxGetCurrent"))]
    pub fn raw_context(&self) -> *mut c_void {
        self.session.context.cu_ctx().cast()
    }

    /// The error for a configuration that cannot run, for `reason`: return it, and the
    /// configuration is *invalid*, like one with a launch that the driver refuses. It does not
    /// count as a failure.
    ///
    /// A launch that the driver refuses needs no such error: for any error that the series function
    /// then returns, gpuprof asks the driver, with the help of CUPTI on a GPU.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// fn rows(run: &mut Run<'_>) -> gpuprof::Result<()> {
    ///     let (n, tile) = (run.value::<u64>("n")?, run.value::<u64>("tile")?);
    ///     if !n.is_multiple_of(tile) {
    ///         return Err(run.invalid(format!("{n} rows are not whole tiles of {tile}")));
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn invalid(&self, reason: impl Into<String>) -> Error {
        Error::invalid(reason)
    }
}
