//! Launches of functions that another layer loaded.
//!
//! Input: a `CUfunction`, extents, and pointers to its parameters. Output: launches on the stream
//! of the pass, checked and recorded as those of annotated kernels are.

use std::ffi::c_void;
use std::rc::Rc;

use crate::host::collect::launch_facts::ReportedFunction;
use crate::host::driver::function::Function;
use crate::host::error::{Error, Result};
use crate::host::launch::configuration::LaunchShape;
use crate::host::launch::launcher;
use crate::host::launch::limits::{self, Promised};
use crate::host::launch::log::LaunchLog;
use crate::host::run::Run;
use crate::host::session::Session;
use crate::host::values::extent::IntoExtent;
use crate::host::values::number::{IntoNumber, convert};

/// A function that another layer loaded, launched on the measured stream. [`Run::raw_function`]
/// makes it.
///
/// ```
/// use std::ffi::c_void;
///
/// use gpuprof::RawFunction;
///
/// /// Launches a function of a number and an address.
/// fn launch(function: &RawFunction<'_>, mut n: u32, mut x: u64) -> gpuprof::Result<()> {
///     let mut parameters = [(&raw mut n).cast::<c_void>(), (&raw mut x).cast()];
///     // SAFETY: `x` is the address of `n` elements on the device, and the function takes these.
///     unsafe { function.launch(n.div_ceil(256), 256, &mut parameters) }
/// }
/// ```
pub struct RawFunction<'r> {
    session: &'r Session,
    function: Function,
    /// Its name for people.
    shown: String,
    /// How many parameters it has, if the driver reports it.
    parameters: Option<usize>,
    shared: u32,
    log: Rc<LaunchLog>,
}

impl<'a> Run<'a> {
    /// Makes a launcher of `function`, a `CUfunction` that any layer loaded: `cuda-core`, `cust`,
    /// or calls of `cuModuleGetFunction`. Its launches are checked before the driver sees them, and
    /// the table of launches shows the driver's name of the function (CUDA 12.3 and newer). A
    /// library that launches kernels itself does not need this: if the driver refuses such a
    /// launch, it is *invalid* too, on a GPU if there is CUPTI.
    ///
    /// # Errors
    /// A null handle.
    ///
    /// # Safety
    /// `function` is a function of the context of the run, [`Run::raw_context`], and its module
    /// stays loaded until the series function returns.
    ///
    /// ```
    /// use std::ffi::c_void;
    ///
    /// use gpuprof::prelude::*;
    ///
    /// mod library {
    ///     # use std::ffi::c_void;
    ///     /// The `CUfunction` of a kernel (n: u32, x: *mut f32), loaded for good.
    ///     pub fn scale() -> *mut c_void {
    ///         // …
    ///         # std::ptr::null_mut()
    ///     }
    /// }
    ///
    /// #[gpuprof::series(block = 64..=1024, n = [1M])]
    /// fn scale(run: &mut Run<'_>) -> gpuprof::Result<()> {
    ///     let (mut n, block) = (run.value::<u32>("n")?, run.value::<u32>("block")?);
    ///     let x = run.stream().alloc_zeros::<f32>(n as usize)?;
    ///     let mut address = gpuprof::cudarc::driver::DevicePtr::device_ptr(&x, &run.stream()).0;
    ///     // SAFETY: the library loads it in the primary context, and never unloads it.
    ///     let scale = unsafe { run.raw_function(library::scale()) }?;
    ///     let mut parameters = [(&raw mut n).cast::<c_void>(), (&raw mut address).cast()];
    ///     run.measure(|_| {
    ///         // SAFETY: these are its parameters, and `x` has `n` elements.
    ///         unsafe { scale.launch(n.div_ceil(block), block, &mut parameters) }
    ///     })
    /// }
    /// ```
    #[doc(alias("CUfunction", "cuModuleGetFunction"))]
    pub unsafe fn raw_function(&self, function: *mut c_void) -> Result<RawFunction<'a>> {
        if function.is_null() {
            return Err(Error::failed(
                "run.raw_function(…) was given a null pointer; it takes the CUfunction that \
                 cuModuleGetFunction writes",
            ));
        }
        // SAFETY: by the function's own condition.
        let function = unsafe { Function::from_raw(function.cast()) };
        let shown = function.name().unwrap_or_else(|| "(function without a name)".to_owned());
        let parameters = function.parameters();
        let log = self.launchers.log.clone();
        Ok(RawFunction { session: self.session, function, shown, parameters, shared: 0, log })
    }
}

impl RawFunction<'_> {
    /// Sets the dynamic shared memory of later launches, in bytes, with the opt-in if it is needed.
    ///
    /// # Errors
    /// A number that 32 bits cannot hold.
    ///
    /// ```
    /// use gpuprof::RawFunction;
    ///
    /// /// One float of shared memory for each thread.
    /// fn one_float(function: &mut RawFunction<'_>, block: u32) -> gpuprof::Result<()> {
    ///     function.shared(4 * block)
    /// }
    /// ```
    #[doc(alias("sharedMemBytes", "dynamicSmemBytes"))]
    pub fn shared(&mut self, bytes: impl IntoNumber) -> Result<()> {
        self.shared = convert("shared", bytes)?;
        Ok(())
    }

    /// Lets `run` report the function's registers, shared memory and occupancy, as
    /// [`Run::function`] does for one of cudarc's.
    ///
    /// ```
    /// use std::ffi::c_void;
    ///
    /// use gpuprof::prelude::*;
    ///
    /// fn reported(run: &mut Run<'_>, function: *mut c_void) -> gpuprof::Result<()> {
    ///     // SAFETY: the function is of the primary context, and never unloaded.
    ///     let scale = unsafe { run.raw_function(function) }?;
    ///     scale.report(run);
    ///     Ok(())
    /// }
    /// ```
    #[doc(alias("cuFuncGetAttribute", "cudaFuncGetAttributes"))]
    pub fn report(&self, run: &mut Run<'_>) {
        let function = self.function.clone();
        run.reported = Some(ReportedFunction { function, assembly: None });
    }

    /// Queues a launch of `grid` blocks of `block` threads on the stream of the pass; `parameters`
    /// are those of `cuLaunchKernel`, a pointer to the value of each parameter.
    ///
    /// # Errors
    /// Extents or shared memory that the device or the function does not allow: the configuration
    /// is invalid. Another number of parameters than the function has, if the driver reports it
    /// (CUDA 12.4 and newer). The driver's errors.
    ///
    /// # Safety
    /// Each of `parameters` points to a value of the parameter's type, and the values meet the
    /// requirements of the function's author: buffers that are long enough for the grid, the block
    /// and the numbers next to them.
    ///
    /// ```
    /// use std::ffi::c_void;
    ///
    /// use gpuprof::RawFunction;
    ///
    /// fn launch(function: &RawFunction<'_>, mut seed: u64) -> gpuprof::Result<()> {
    ///     // SAFETY: the function takes a number of 64 bits alone.
    ///     unsafe { function.launch((16, 16), (32, 8), &mut [(&raw mut seed).cast::<c_void>()]) }
    /// }
    /// ```
    #[doc(alias("cuLaunchKernel", "cudaLaunchKernel"))]
    pub unsafe fn launch(
        &self,
        grid: impl IntoExtent,
        block: impl IntoExtent,
        parameters: &mut [*mut c_void],
    ) -> Result<()> {
        let grid = grid.into_extent("grid")?.launch("grid")?;
        let block = block.into_extent("block")?.launch("block")?;
        let shape = LaunchShape { grid, block, shared: self.shared };
        limits::check(self.session, &self.function, shape, None, Promised::default())?;
        let given = parameters.len();
        if let Some(has) = self.parameters.filter(|&has| has != given) {
            let shown = &self.shown;
            return Err(Error::failed(format!(
                "`{shown}` has {has} parameters, and run.raw_function(…).launch was given {given}"
            )));
        }
        let stream = &self.session.stream;
        // SAFETY: the function is loaded (`Run::raw_function`), the stream is the session's, and
        // the parameters are the caller's promise.
        let queued = unsafe { launcher::queue(&self.function, shape, stream, parameters) };
        queued.map_err(|error| {
            let error = Error::launch(error);
            let reason = format!("launching `{}`: {error}", self.shown);
            error.in_words(reason)
        })?;
        self.log.add(stream, &self.shown, shape);
        Ok(())
    }
}
