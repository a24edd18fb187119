//! The launch context, through which a series function, and every kernel, measures.
//!
//! Input: a request, and the purpose of the call. Output: the record of a pass. This file has the
//! type and its public methods; the folder `run` has the rest, a subject a file.

mod counters;
pub(crate) mod foreign;
pub(crate) mod joined_streams;
pub(crate) mod launch_settings;
pub(crate) mod launchers;
mod launches;
mod measurement;
pub(crate) mod purpose;
pub(crate) mod raw_function;
pub(crate) mod refused_launches;
pub(crate) mod replay;
pub(crate) mod setup;

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaFunction, CudaStream};
use gpuprof_model::measurement::PassResult;
use gpuprof_model::notice::Notice;
use gpuprof_model::protocol::MeasureRequest;

use super::collect::launch_facts::ReportedFunction;
use super::collect::launched::Launched;
use super::collect::named_ranges::NamedRanges;
use super::collect::parts::Mark;
use super::error::{Error, Result};
use super::session::Session;
use crate::host::driver::function::Function;
use crate::host::launch::configuration::Launch;
use crate::host::launch::kernel_launcher::{Kernel, KernelLauncher};
use crate::host::values::axis_type::AxisType;
use crate::host::values::extent::IntoExtent;
use crate::host::values::number::{IntoNumber, amount, convert};
use joined_streams::JoinedStreams;
use launch_settings::LaunchSettings;
use launchers::Launchers;
use purpose::{Phase, Purpose};

/// One pass over one configuration.
///
/// A series function reads its axis values from it, sets its inputs up on [`Run::stream`], and
/// hands its launches to [`Run::measure`].
///
/// ```
/// use gpuprof::cudarc::driver::PushKernelArg;
/// use gpuprof::cudarc::nvrtc::Ptx;
/// use gpuprof::prelude::*;
///
/// /// A kernel that another compiler made.
/// #[gpuprof::series(block = 64..=1024, n = [1M])]
/// fn scale(run: &mut Run<'_>) -> gpuprof::Result<()> {
///     let (n, block) = (run.value::<u32>("n")?, run.value::<u32>("block")?);
///     run.grid(n.div_ceil(block))?;
///     run.bytes(8 * u64::from(n))?;
///
///     let module = run.context().load_module(Ptx::from_file("scale.ptx"))?;
///     let kernel = module.load_function("scale")?;
///     let stream = run.stream();
///     let mut x = stream.alloc_zeros::<f32>(n as usize)?;
///     run.measure(|launch| {
///         let mut builder = stream.launch_builder(&kernel);
///         builder.arg(&n).arg(&mut x);
///         // SAFETY: the arguments are the kernel's parameters.
///         unsafe { builder.launch(launch.config()) }
///     })
/// }
/// ```
pub struct Run<'a> {
    pub(crate) session: &'a Session,
    pub(crate) request: &'a MeasureRequest,
    pub(crate) purpose: Purpose<'a>,
    phase: Phase,
    settings: LaunchSettings,
    /// The function that is launched, for the driver's facts on it.
    pub(crate) reported: Option<ReportedFunction>,
    launchers: Launchers,
    /// The streams that the measured one waits for.
    joined: JoinedStreams,
    ranges: NamedRanges,
    /// The named ranges of the closure, if counters are collected on a GPU.
    marks: Vec<Mark>,
    /// Whether the launches of the result are all that CUPTI saw.
    observed: bool,
    pub(crate) result: PassResult,
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        session: &'a Session,
        request: &'a MeasureRequest,
        purpose: Purpose<'a>,
    ) -> Self {
        Self {
            session,
            request,
            purpose,
            phase: Phase::SetUp,
            settings: LaunchSettings::default(),
            reported: None,
            launchers: Launchers::default(),
            joined: JoinedStreams::default(),
            ranges: NamedRanges::new(&session.context, request.nvtx.as_ref()),
            marks: Vec::new(),
            observed: false,
            result: PassResult { device: session.device_record(request), ..PassResult::default() },
        }
    }

    /// The value of `axis` in this configuration.
    ///
    /// # Errors
    /// An axis the series does not have, or a value that `T` cannot hold.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// #[gpuprof::series(n = [1K, 1M], dtype = [f32, f16])]
    /// fn copy(run: &mut Run<'_>) -> gpuprof::Result<()> {
    ///     let n = run.value::<usize>("n")?;
    ///     let bytes = if run.value::<String>("dtype")? == "f16" { 2 * n } else { 4 * n };
    ///     run.bytes(2 * bytes)?;
    ///     // …
    ///     # run.measure(|_| Ok(()))
    /// }
    /// ```
    pub fn value<T: AxisType>(&self, axis: &str) -> Result<T> {
        let value = self
            .request
            .configuration
            .get(axis)
            .ok_or_else(|| Error::failed(format!("the series has no axis `{axis}`")))?;
        T::from_axis(axis, value)
    }

    /// The stream that launches go to.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// fn upload(run: &Run<'_>, x: &[f32]) -> gpuprof::Result<()> {
    ///     let _on_device = run.stream().clone_htod(x)?;
    ///     Ok(())
    /// }
    /// ```
    #[doc(alias("cudaStream_t", "CUstream"))]
    pub fn stream(&self) -> Arc<CudaStream> {
        self.session.stream.clone()
    }

    /// The context of the device.
    ///
    /// ```
    /// use gpuprof::cudarc::nvrtc::Ptx;
    /// use gpuprof::prelude::*;
    ///
    /// fn load(run: &Run<'_>, ptx: &str) -> gpuprof::Result<()> {
    ///     let kernel = run.context().load_module(Ptx::from_src(ptx))?.load_function("scale")?;
    ///     assert!(kernel.max_threads_per_block()? > 0);
    ///     Ok(())
    /// }
    /// ```
    #[doc(alias("CUcontext", "cuModuleLoadData"))]
    pub fn context(&self) -> Arc<CudaContext> {
        self.session.context.clone()
    }

    /// Sets the grid of [`Launch::config`], if no axis `grid` does.
    ///
    /// # Errors
    /// An extent no launch can have: the configuration is invalid.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// fn one_thread_an_element(run: &mut Run<'_>) -> gpuprof::Result<()> {
    ///     let (n, block) = (run.value::<u64>("n")?, run.value::<u64>("block")?);
    ///     run.grid(n.div_ceil(block))
    /// }
    /// ```
    #[doc(alias = "gridDim")]
    pub fn grid(&mut self, grid: impl IntoExtent) -> Result<()> {
        self.settings.grid = Some(grid.into_extent("grid")?.launch("grid")?);
        Ok(())
    }

    /// Sets the block of [`Launch::config`], if no axis `block` does.
    ///
    /// # Errors
    /// An extent no launch can have: the configuration is invalid.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// fn one_warp_a_row(run: &mut Run<'_>) -> gpuprof::Result<()> {
    ///     run.block((warp::SIZE, run.value::<u32>("rows")?))
    /// }
    /// ```
    #[doc(alias = "blockDim")]
    pub fn block(&mut self, block: impl IntoExtent) -> Result<()> {
        self.settings.block = Some(block.into_extent("block")?.launch("block")?);
        Ok(())
    }

    /// Sets the dynamic shared memory of [`Launch::config`] in bytes, if no axis `shared` does.
    ///
    /// # Errors
    /// A number that 32 bits cannot hold.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// fn one_float_a_thread(run: &mut Run<'_>) -> gpuprof::Result<()> {
    ///     run.shared(4 * run.value::<u64>("block")?)
    /// }
    /// ```
    #[doc(alias("sharedMemBytes", "dynamicSmemBytes"))]
    pub fn shared(&mut self, bytes: impl IntoNumber) -> Result<()> {
        self.settings.shared = convert("shared", bytes)?;
        Ok(())
    }

    /// Sets the thread block cluster of [`Launch::cluster`], if no axis `cluster` does.
    ///
    /// # Errors
    /// An extent no launch can have: the configuration is invalid.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// fn pairs_of_blocks(run: &mut Run<'_>) -> gpuprof::Result<()> {
    ///     run.cluster(2)
    /// }
    /// ```
    #[doc(alias("__cluster_dims__", "cudaLaunchAttributeClusterDimension"))]
    pub fn cluster(&mut self, cluster: impl IntoExtent) -> Result<()> {
        self.settings.cluster = Some(cluster.into_extent("cluster")?.launch("cluster")?);
        Ok(())
    }

    /// Declares the bytes that the measured launches must move, from which `throughput` follows.
    ///
    /// # Errors
    /// A negative number.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// fn reads_and_writes_every_float(run: &mut Run<'_>) -> gpuprof::Result<()> {
    ///     run.bytes(8 * run.value::<u64>("n")?)
    /// }
    /// ```
    pub fn bytes(&mut self, bytes: impl IntoNumber) -> Result<()> {
        self.result.declared_bytes = Some(amount("bytes", bytes)?);
        Ok(())
    }

    /// Declares the floating-point operations of the measured launches, from which `flop_rate`
    /// follows.
    ///
    /// # Errors
    /// A negative number.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// fn square_matrix_product(run: &mut Run<'_>) -> gpuprof::Result<()> {
    ///     run.flops(2 * run.value::<u64>("n")?.pow(3))
    /// }
    /// ```
    pub fn flops(&mut self, flops: impl IntoNumber) -> Result<()> {
        self.result.declared_flops = Some(amount("flops", flops)?);
        Ok(())
    }

    /// Names the function that is launched, so that its registers, shared memory and occupancy are
    /// reported. [`RawFunction::report`](crate::RawFunction::report) names one of another layer.
    ///
    /// ```
    /// use gpuprof::cudarc::nvrtc::Ptx;
    /// use gpuprof::prelude::*;
    ///
    /// fn load(run: &mut Run<'_>) -> gpuprof::Result<()> {
    ///     let module = run.context().load_module(Ptx::from_file("scale.ptx"))?;
    ///     run.function(&module.load_function("scale")?);
    ///     Ok(())
    /// }
    /// ```
    #[doc(alias(
        "cuFuncGetAttribute",
        "cudaFuncGetAttributes",
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor"
    ))]
    pub fn function(&mut self, function: &CudaFunction) {
        let function = Function::from(function);
        self.reported = Some(ReportedFunction { function, assembly: None });
    }

    /// Makes a launcher of an annotated kernel, which is named by the type that `launcher = NAME`
    /// in its annotation declares. Each launch has its own grid and block.
    ///
    /// # Errors
    /// The driver's, of loading the kernel.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// sums[b] ← Σ of the block's part of x
    /// #[gpuprof::kernel(
    ///     series(block = [256], n = [64K]),
    ///     grid = n / block,
    ///     args(random(n), zeros(n / block)),
    ///     launcher = BlockSums,
    /// )]
    /// pub fn block_sums(x: &[f32], mut sums: DisjointSlice<f32>) {
    ///     // …
    /// }
    ///
    /// /// The sum of all elements: those of blocks, and then of these.
    /// #[gpuprof::series(block = [256], n = [64K])]
    /// fn sum(run: &mut Run<'_>) -> gpuprof::Result<()> {
    ///     let (n, block) = (run.value::<usize>("n")?, run.value::<usize>("block")?);
    ///     let (sums, stream) = (run.kernel(BlockSums)?, run.stream());
    ///     let x = stream.alloc_zeros::<f32>(n)?;
    ///     let mut of_blocks = stream.alloc_zeros::<f32>(n / block)?;
    ///     let mut of_all = stream.alloc_zeros::<f32>(1)?;
    ///     run.measure(|_| {
    ///         // SAFETY: the kernel gets the number of elements of each buffer.
    ///         unsafe { sums.launch(n / block, block, (&x, &mut of_blocks))? };
    ///         // SAFETY: as above.
    ///         unsafe { sums.launch(1, block, (&of_blocks, &mut of_all)) }
    ///     })
    /// }
    /// ```
    #[doc(alias("cuModuleGetFunction", "cuLaunchKernel"))]
    pub fn kernel<K: Kernel>(&self, _kernel: K) -> Result<KernelLauncher<'a, K>> {
        self.launchers.make(self.session, self.request)
    }

    /// Names parts of the measured work. Each part has its own metrics: see [`NamedRanges`].
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// # fn norm() -> gpuprof::Result<()> { Ok(()) }
    /// # fn attention() -> gpuprof::Result<()> { Ok(()) }
    /// #[gpuprof::series(n = [1M])]
    /// fn layer(run: &mut Run<'_>) -> gpuprof::Result<()> {
    ///     let ranges = run.named_ranges();
    ///     run.measure(|_| {
    ///         ranges.range("norm", norm)?;
    ///         ranges.range("attention", attention)
    ///     })
    /// }
    /// ```
    pub fn named_ranges(&self) -> NamedRanges {
        self.ranges.clone()
    }

    /// Measures the work that `launch` queues on [`Run::stream`], and on streams that the run
    /// [joins](Run::join). It returns nothing, [`Result`], or the result of a launch by cudarc.
    ///
    /// On a GPU it is called many times, for warm-up and samples; on the emulated driver once. Its
    /// launches must be the same every time.
    ///
    /// To collect counters on a GPU, the whole function is called once more to warm up and once for
    /// every pass, after the call that takes times or in another process, so that the launches of
    /// each pass find the function's own inputs, and not the results of earlier launches.
    ///
    /// # Errors
    /// The first error of `launch` or of the driver.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// Not only kernels: all work on the stream is timed.
    /// #[gpuprof::series(n = [1M, 16M])]
    /// fn copy(run: &mut Run<'_>) -> gpuprof::Result<()> {
    ///     let n = run.value::<usize>("n")?;
    ///     let stream = run.stream();
    ///     let from = stream.alloc_zeros::<u8>(n)?;
    ///     let mut to = stream.alloc_zeros::<u8>(n)?;
    ///     run.bytes(2 * n)?;
    ///     run.measure(|_| Ok(stream.memcpy_dtod(&from, &mut to)?))
    /// }
    /// ```
    #[doc(alias("cudaEventRecord", "cudaEventElapsedTime"))]
    pub fn measure<R: Launched>(&mut self, launch: impl FnMut(&Launch) -> R) -> Result<()> {
        self.measure_from(None, launch)
    }

    /// Compares the results of the measured launches with a reference, unless `--no-verify` was
    /// given.
    ///
    /// # Errors
    /// The error of `check`: the configuration failed.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// fn check(run: &mut Run<'_>, device: &[u32], host: &[u32]) -> gpuprof::Result<()> {
    ///     run.verify(|| match device.iter().zip(host).position(|(device, host)| device != host) {
    ///         None => Ok(()),
    ///         Some(i) => Err(format!("y[{i}]: device {}, host {}", device[i], host[i])),
    ///     })
    /// }
    /// ```
    pub fn verify<E: Into<Error>>(
        &mut self,
        check: impl FnOnce() -> std::result::Result<(), E>,
    ) -> Result<()> {
        self.result.unverified = None;
        if self.request.verify {
            self.session.quiet.notify(Notice::Verifies);
            check().map_err(Into::into)?;
            self.session.quiet.notify(Notice::Goes);
            self.result.verified = true;
        }
        Ok(())
    }
}
