//! What libraries that bring a CUDA driver layer of their own need of a run.
//!
//! Input: a run. Output: its context and its stream as pointers, which every layer takes, and the
//! error by which a series function says that it cannot run a configuration.

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

    /// That this configuration cannot be run, for `reason`: return it, and the configuration is
    /// *invalid*, as one is whose launch the driver refuses. It counts as no failure.
    ///
    /// Of a launch that the driver refuses a library need not say so: whatever error the series
    /// function then returns, the driver is asked, with the help of CUPTI where it is a GPU's.
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
