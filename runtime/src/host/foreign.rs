//! Access to a run for libraries with their own CUDA driver layer.
//!
//! Input: a run. Output: its context and its stream as pointers, which every layer accepts, and the
//! error of a series function that cannot run a configuration.

use std::ffi::c_void;

use super::error::Error;
use super::run::Run;

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
