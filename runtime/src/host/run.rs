//! The launch context, through which a series function, and every kernel, measures.

pub(crate) mod foreign;
pub(crate) mod joined_streams;
pub(crate) mod raw_function;
pub(crate) mod refused_launches;
pub(crate) mod replay;
pub(crate) mod setup;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::mem;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{CudaContext, CudaFunction, CudaModule, CudaStream};
use gpuprof_model::code::costly_lines;
use gpuprof_model::measurement::{
    CounterPass, InPlace, InputFile, LaunchRecord, PassResult, Unverified, Verification,
};
use gpuprof_model::notice::Notice;
use gpuprof_model::protocol::{CounterRange, MeasureRequest, OverTimeRequest};
use gpuprof_model::series::without_place;

use super::collect::cupti::{Collection, Member, SlotContent};
use super::collect::emulator::{self, LaunchCounters};
use super::collect::facts::{self, Assembly};
use super::collect::launches::Observed;
use super::collect::parts::{self, Counts, Mark};
use super::collect::{activity, duration_samples, energy, launches, over_time, source_counters};
use super::declaration;
use super::error::{Error, Result};
use super::session::{ModuleName, Session};
use crate::host::collect::launched::Launched;
use crate::host::collect::named_ranges::{self, Marker, NamedRanges};
use crate::host::driver::cluster;
use crate::host::driver::function::Function;
use crate::host::launch::configuration::{Launch, LaunchShape};
use crate::host::launch::kernel_launcher::{EntryPoint, Kernel, KernelLauncher, RustEntry};
use crate::host::launch::log::LaunchLog;
use crate::host::values::axis_type::AxisType;
use crate::host::values::extent::{Extent, IntoExtent};
use crate::host::values::number::{IntoNumber, amount, convert};
use joined_streams::JoinedStreams;

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
    result: PassResult,
    function: Option<Function>,
    assembly: Option<Assembly>,
    config: PartialConfig,
    pub(crate) call: Call<'a>,
    measured: bool,
    /// Whether inputs are restored before each timed sample.
    restores: bool,
    /// Whether the measured launches were queued and done, once.
    pub(crate) launched: bool,
    /// Whether its function has called [`Run::verify`].
    has_reference: bool,
    /// Whether the launches of the result are all that CUPTI or the driver saw.
    observed: bool,
    /// Which of the closure's work belongs to the range; none if all does.
    inside: Option<Vec<bool>>,
    /// The launches of its launchers.
    pub(crate) log: Rc<LaunchLog>,
    /// The streams that the measured one waits for.
    pub(super) joined: JoinedStreams,
    /// Its named ranges.
    ranges: NamedRanges,
    /// Those that the closure had when they were last marked.
    marks: Vec<Mark>,
    /// The modules of its launchers by their names.
    modules: RefCell<BTreeMap<String, Arc<CudaModule>>>,
}

/// The purpose of the call of the function that gets this.
pub(crate) enum Call<'a> {
    /// All that there is to do.
    Whole,
    /// To warm the device up; counters are collected in calls of their own.
    WarmUp,
    /// For one counter pass.
    Pass(Box<Collection<'a>>),
    /// To see which launch is refused; nothing is measured.
    Again,
}

#[derive(Default, Clone, Copy)]
struct PartialConfig {
    grid: Option<[u32; 3]>,
    block: Option<[u32; 3]>,
    shared: u32,
    cluster: Option<[u32; 3]>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(session: &'a Session, request: &'a MeasureRequest, call: Call<'a>) -> Self {
        Self {
            session,
            request,
            result: PassResult { device: session.device_record(request), ..PassResult::default() },
            function: None,
            assembly: None,
            config: PartialConfig::default(),
            call,
            measured: false,
            restores: false,
            launched: false,
            has_reference: false,
            observed: false,
            inside: None,
            log: Rc::default(),
            joined: JoinedStreams::default(),
            ranges: NamedRanges::new(&session.context, request.nvtx.as_ref()),
            marks: Vec::new(),
            modules: RefCell::default(),
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
        self.config.grid = Some(grid.into_extent("grid")?.launch("grid")?);
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
        self.config.block = Some(block.into_extent("block")?.launch("block")?);
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
        self.config.shared = convert("shared", bytes)?;
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
        self.config.cluster = Some(cluster.into_extent("cluster")?.launch("cluster")?);
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
        self.reported(Function::from(function));
    }

    /// Names the function that is launched.
    pub(crate) fn reported(&mut self, function: Function) {
        self.function = Some(function);
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
        let (function, module, declared) = match K::ENTRY {
            EntryPoint::Rust(RustEntry { package, symbol, place }) => {
                let of = ModuleName::Package(package);
                let module = self.module(of)?;
                let (function, symbol) =
                    self.session.function(self.request, &module, (symbol, place), of)?;
                ((function, without_place(&symbol).to_owned()), module, None)
            }
            EntryPoint::Declared { module_path, kernel, key } => {
                let path = format!("{module_path}::{kernel}");
                let entry = declaration::launchable(self.request, &path, key)?;
                let of = ModuleName::Declared(&entry.module);
                let module = self.module(of)?;
                let (function, _) =
                    self.session.function(self.request, &module, (&entry.symbol, ""), of)?;
                self.log.name(&entry.symbol, &entry.shown);
                ((function, entry.shown.clone()), module, Some(entry.clone()))
            }
        };
        let log = self.log.clone();
        Ok(KernelLauncher::new(self.session, function, (module, declared), log))
    }

    /// The module `of`, loaded once.
    fn module(&self, of: ModuleName<'_>) -> Result<Arc<CudaModule>> {
        let loaded = self.modules.borrow().get(of.key()).cloned();
        if let Some(module) = loaded {
            return Ok(module);
        }
        let (module, _) = self.session.load_module(self.request, of)?;
        self.modules.borrow_mut().insert(of.key().to_owned(), module.clone());
        Ok(module)
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
        self.measure_from(&mut || Ok(()), launch)
    }

    /// As [`Run::measure`]; `reset` queues the restoring of inputs before each timed sample.
    pub(crate) fn measure_from<R: Launched>(
        &mut self,
        reset: &mut dyn FnMut() -> Result<()>,
        mut launch: impl FnMut(&Launch) -> R,
    ) -> Result<()> {
        if self.measured {
            return Err(Error::failed("`measure` was called twice; a pass measures one range"));
        }
        self.measured = true;
        let config = self.launch_config()?;
        let log = self.log.clone();
        let (joined, session) = (std::mem::take(&mut self.joined), self.session);
        let mut once = || log.first(|| joined.around(session, || launch(&config).into_result()));
        if self.session.device.emulated {
            emulator::take_report()?;
            let marks = self.ranges.marked(Marker::Launches, &mut once);
            self.marks = marks.map_err(|e| self.session.explain(e))?;
            let missed = emulator::missed_stream(session.stream.cu_stream());
            self.launched()?;
            let counted = emulator::take_report()?;
            self.check_starts(counted.starts, &self.marks)?;
            self.take_emulated(counted);
            self.check_streams(missed)?;
            self.check_stops()?;
        } else if matches!(self.call, Call::Again) {
            once()?;
            self.launched()?;
            return Err(Error::failed("no launch is refused this time"));
        } else if self.request.source.is_some() {
            let (request, result) = (self.request, &mut self.result);
            source_counters::collect(self.session, request, result, reset, &mut once)?;
            self.launched()?;
        } else if let Some(wanted) = &self.request.over_time {
            self.take_over_time(wanted, reset, &mut once)?;
        } else if self.request.counters.is_some() {
            if let Call::Pass(collection) = &mut self.call {
                let by = collection.marker();
                let pass = || collection.pass(&mut [&mut SeriesCall(&mut once)]);
                self.marks = self.ranges.marked(by, pass)?;
            } else {
                self.warm_up(&mut || Ok(()), &mut once)?;
            }
        } else {
            once()?;
            self.launched()?;
            if self.request.energy {
                self.take_energy(reset, &mut once)?;
            } else {
                self.take_times(reset, &mut once)?;
            }
        }
        if self.observed {
            self.result.launches = self.log.named(mem::take(&mut self.result.launches));
        }
        let launched = self.log.take();
        if !self.session.device.emulated && !self.observed && !launched.is_empty() {
            self.result.launches = launched;
        }
        self.take_facts(&config)
    }

    /// Samples counters over the time of a call of what is measured.
    fn take_over_time(
        &mut self,
        wanted: &OverTimeRequest,
        reset: &mut dyn FnMut() -> Result<()>,
        once: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let wanted = (wanted, self.request.sampling.cold_cache);
        self.result.over_time = Some(over_time::collect(self.session, wanted, reset, once)?);
        self.launched()
    }

    /// Measures the energy of a call of what is measured.
    fn take_energy(
        &mut self,
        reset: &mut dyn FnMut() -> Result<()>,
        once: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let reset = self.restores.then_some(reset);
        let found = energy::measure(self.session, &self.request.sampling, reset, once)?;
        self.result.energy = Some(found);
        Ok(())
    }

    /// Takes samples of the time of a call of what is measured.
    fn take_times(
        &mut self,
        reset: &mut dyn FnMut() -> Result<()>,
        once: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        self.observe(reset, once)?;
        let sampling = &self.request.sampling;
        let (cupti, inside) = (self.request.cupti.as_deref(), self.inside.as_deref());
        let (timing, times) =
            duration_samples::time(self.session, sampling, cupti, inside, reset, once)?;
        self.result.timing = Some(timing);
        times.give(&mut self.result.launches);
        if sampling.copy_bandwidth {
            self.result.copy_bandwidth = self.session.copy_bandwidth()?;
        }
        Ok(())
    }

    /// Refuses work on a stream that the measured one has not waited for.
    fn check_streams(&self, missed: Option<u64>) -> Result<()> {
        let Some(stream) = missed else { return Ok(()) };
        let mut launches = self.result.launches.iter();
        let launch = launches.find(|launch| launch.stream == Some(stream));
        let kernel = launch.map(|launch| launch.kernel.as_str());
        Err(Error::failed(activity::uncovered(kernel, 0)))
    }

    /// Takes the counts of the emulated driver.
    fn take_emulated(&mut self, found: LaunchCounters) {
        let LaunchCounters { launches, timeline, counted, code, checks, .. } = found;
        let Counts { counters, hardware, estimate } =
            Counts::over(parts::inside(&launches, &counted));
        let each = self.request.range == CounterRange::Launch;
        self.result.parts = parts::of_range(&launches, &counted, each);
        // As on a GPU, launches that are counted one by one have no named ranges around them.
        if !each {
            let of_marks = parts::in_marks(&self.marks, &launches, &counted);
            self.result.parts.extend(parts::of_named(&self.marks, &of_marks));
        }
        self.result.launches = launches;
        self.result.timeline = timeline;
        self.result.counters = counters;
        self.result.hardware = hardware;
        self.result.estimate = estimate;
        self.result.costly = costly_lines(&code);
        self.result.code = code;
        self.result.checks = checks;
    }

    /// Waits for the first of the measured launches.
    fn launched(&mut self) -> Result<()> {
        self.synchronize()?;
        self.launched = true;
        Ok(())
    }

    /// Records the launches of one more call of what is measured, unless they are known: those of
    /// an annotated kernel are.
    fn observe(
        &mut self,
        reset: &mut dyn FnMut() -> Result<()>,
        once: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        if !self.result.launches.is_empty() {
            return Ok(());
        }
        reset()?;
        let with = (self.request.cupti.as_deref(), self.request.unified_memory);
        let by_nvtx = self.request.nvtx.is_some();
        let mut marks = Vec::new();
        let seen = match by_nvtx {
            true => launches::observe(self.session, with, &mut || {
                marks = self.ranges.marked(Marker::Names, &mut *once)?;
                Ok(())
            })?,
            false => launches::observe(self.session, with, once)?,
        };
        match seen {
            Some(seen) => {
                self.check_starts(seen.starts, &marks)?;
                self.take_observed(seen);
                Ok(())
            }
            None if by_nvtx => Err(Error::failed(
                "--nvtx: without CUPTI, the work in NVTX ranges cannot be told from other work",
            )),
            None => Ok(()),
        }
    }

    /// Fails if the closure, in which `marks` were set, calls `cuProfilerStart` although something
    /// else delimits its range. The profiler was started `starts` times, by `--nvtx` included.
    fn check_starts(&self, starts: usize, marks: &[Mark]) -> Result<()> {
        if self.request.nvtx.is_some() {
            let own = parts::outer_nvtx(marks).count();
            return if starts > own { Err(named_ranges::starts_the_profiler()) } else { Ok(()) };
        }
        if starts > 0 && self.request.range == CounterRange::Closure {
            return Err(Error::failed(
                "--range closure: the closure calls cuProfilerStart, and its launches are counted \
                 one by one then; use --range launch",
            ));
        }
        Ok(())
    }

    /// Fails if the emulated driver saw launches in NVTX ranges that a `cuProfilerStop` left out.
    fn check_stops(&self) -> Result<()> {
        let within = |at: usize| parts::outer_nvtx(&self.marks).any(|m| m.launches.contains(&at));
        let mut launches = self.result.launches.iter().enumerate();
        match launches.any(|(at, launch)| launch.outside == within(at)) {
            true if self.request.nvtx.is_some() => Err(named_ranges::starts_the_profiler()),
            true | false => Ok(()),
        }
    }

    /// Takes the records of CUPTI.
    fn take_observed(&mut self, observed: Observed) {
        let Observed { launches, timeline, inside, unified_memory, .. } = observed;
        self.inside = inside;
        self.result.unified_memory = unified_memory;
        self.result.launches = launches;
        self.result.timeline = timeline;
        self.observed = true;
    }

    /// The launches of the closure, if CUPTI saw them.
    pub(crate) fn seen(&self) -> Option<&[LaunchRecord]> {
        self.observed.then_some(&*self.result.launches)
    }

    /// Takes the launches that an earlier call of the function in this process was seen to make.
    pub(crate) fn observed_by(&mut self, earlier: Self) {
        if earlier.observed {
            let PassResult { launches, timeline, unified_memory, .. } = earlier.result;
            let inside = earlier.inside;
            let observed = Observed { launches, timeline, starts: 0, inside, unified_memory };
            self.take_observed(observed);
        }
    }

    /// Launches what is measured until the device is warm.
    pub(crate) fn warm_up(
        &mut self,
        reset: &mut dyn FnMut() -> Result<()>,
        once: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        reset()?;
        self.marks = self.ranges.marked(Marker::Names, &mut *once)?;
        self.launched()?;
        self.observe(reset, once)?;
        duration_samples::warm_up_only(self.session, &self.request.sampling, reset, once)
    }

    /// Takes the driver's facts on the launch, without a profiler.
    pub(crate) fn take_facts(&mut self, config: &Launch) -> Result<()> {
        self.measured = true;
        if let (Some(function), Some(shape)) = (&self.function, config.shape) {
            let cluster = config.cluster.filter(|&cluster| !cluster::is_trivial(cluster));
            let facts =
                facts::read(self.session, function, shape, cluster, self.assembly.as_ref())?;
            self.result.facts = Some(facts);
        }
        Ok(())
    }

    /// Says how long its series' set-up took.
    pub(super) fn took_setup(&mut self, time: Duration) {
        self.result.setup_ns = Some(time.into());
    }

    /// The named ranges of the closure.
    pub(crate) fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// Takes what was counted in each launch, or in the closure and in each of its named ranges.
    pub(crate) fn counted(&mut self, pass: CounterPass, counted: &[Counts], content: SlotContent) {
        let (whole, parts) = match (content, counted) {
            (SlotContent::Closure { whole: true, .. }, [closure, named @ ..]) => {
                (closure.clone(), parts::of_named(&self.marks, named))
            }
            (SlotContent::Closure { whole: false, .. }, named) => {
                let outer = self.marks.iter().zip(named).filter(|(mark, _)| mark.outer_nvtx);
                let outer = Counts::over_ranges(outer.map(|(_, counted)| counted));
                (outer, parts::of_named(&self.marks, named))
            }
            _ => {
                let parts = parts::of_range(&self.result.launches, counted, true);
                (Counts::over(parts::inside(&self.result.launches, counted)), parts)
            }
        };
        self.result.hardware = whole.hardware;
        self.result.parts = parts;
        self.result.counter_pass = Some(pass);
    }

    /// Compares the results of the measured launches with a reference, unless `--no-verify` was
    /// given.
    ///
    /// # Errors The error of `check`: the configuration failed.
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
        self.has_reference = true;
        if self.request.verify {
            self.session.quiet.notify(Notice::Verifies);
            check().map_err(Into::into)?;
            self.session.quiet.notify(Notice::Goes);
            self.mark_verified(None, None);
        }
        Ok(())
    }

    /// Takes the facts on the function in addition to the driver's.
    pub(crate) fn assembled(&mut self, assembly: Assembly) {
        self.assembly = Some(assembly);
    }

    /// Waits for the device; an error includes the emulated driver's report.
    pub(crate) fn synchronize(&self) -> Result<()> {
        self.session.stream.synchronize().map_err(|e| self.session.explain(e.into()))
    }

    /// Records the launches of the measured range, if the driver does not report them.
    pub(crate) fn record_launch(&mut self, launch: LaunchRecord) {
        if self.result.launches.is_empty() {
            self.result.launches.push(launch);
        }
    }

    /// Records the launch of a series function as far as it is known: by the function's launch
    /// configuration. The emulated driver has reported the actual launches.
    pub(crate) fn record_configured(&mut self) -> Result<()> {
        let launch = self.launch_config()?;
        if let (Some(LaunchShape { grid, block, shared: shared_bytes }), false) =
            (launch.shape, self.session.device.emulated || self.observed)
        {
            self.record_launch(LaunchRecord {
                kernel: self.request.kernel.clone(),
                grid,
                block,
                shared_bytes,
                cluster: launch.cluster,
                ..LaunchRecord::default()
            });
        }
        Ok(())
    }

    /// Says that inputs are restored before each timed sample.
    pub(crate) fn restores_inputs(&mut self) {
        self.restores = true;
    }

    /// Records the state of the changed buffers at the timed samples.
    pub(crate) fn found_in_place(&mut self, in_place: Option<InPlace>) {
        if let Some(timing) = &mut self.result.timing {
            timing.in_place = in_place;
        }
    }

    /// Records the bytes of all buffers.
    pub(crate) fn takes_buffers(&mut self, bytes: u64) {
        self.result.buffer_bytes = Some(bytes);
    }

    /// Records a hash of all arguments before the launch.
    pub(crate) fn takes_inputs(&mut self, hash: u32) {
        self.result.inputs = Some(hash);
    }

    /// Says from which file a buffer was filled.
    pub(crate) fn read_file(&mut self, file: Option<InputFile>) {
        self.result.input_files.extend(file);
    }

    /// Says that what was measured agreed with a reference, and where it is known, what was
    /// `compared`, and the `largest` error in units of the tolerance.
    pub(crate) fn mark_verified(&mut self, largest: Option<f64>, compared: Option<Verification>) {
        self.result.verified = true;
        self.result.largest_error = largest;
        self.result.verification = compared;
    }

    /// Says that nothing is verified if the series function has not called [`Run::verify`].
    pub(crate) fn note_missing_reference(&mut self) {
        if !self.has_reference {
            self.mark_unverified(Unverified::NoReference);
        }
    }

    /// Says why nothing is verified, though no difference was found.
    pub(crate) fn mark_unverified(&mut self, why: Unverified) {
        self.result.unverified = Some(why);
    }

    pub(crate) fn launch_config(&self) -> Result<Launch> {
        let axis = |name: &str| -> Result<Option<[u32; 3]>> {
            match self.request.configuration.get(name) {
                Some(value) => Extent::from_axis(name, value)?.launch(name).map(Some),
                None => Ok(None),
            }
        };
        let grid = axis("grid")?.or(self.config.grid);
        let block = axis("block")?.or(self.config.block);
        let shared = match self.request.configuration.get("shared") {
            Some(value) => u32::from_axis("shared", value)?,
            None => self.config.shared,
        };
        let cluster = axis("cluster")?.or(self.config.cluster);
        if self.session.device.emulated
            && cluster.is_some_and(|extents| !cluster::is_trivial(extents))
        {
            return Err(Error::invalid("the emulated driver has no thread block clusters"));
        }
        let shape = grid.zip(block).map(|(grid, block)| LaunchShape { grid, block, shared });
        Ok(Launch { shape, cluster })
    }

    /// The result.
    ///
    /// # Errors
    /// As of [`Self::check_measured`].
    pub(crate) fn finish(self, kernel: &str) -> Result<PassResult> {
        self.check_measured(kernel)?;
        Ok(self.result)
    }

    /// Checks that something was measured.
    ///
    /// # Errors
    /// That nothing was.
    pub(crate) fn check_measured(&self, kernel: &str) -> Result<()> {
        if self.measured {
            return Ok(());
        }
        Err(Error::failed(format!(
            "`{kernel}` returned without calling `run.measure`, so there is nothing to report"
        )))
    }
}

/// The launches of one call of a series function, which sets its inputs up itself.
struct SeriesCall<'a>(&'a mut dyn FnMut() -> Result<()>);

impl Member for SeriesCall<'_> {
    fn slot(&self) -> u32 {
        0
    }

    fn restore(&mut self) -> Result<()> {
        Ok(())
    }

    fn launch(&mut self) -> Result<()> {
        (self.0)()
    }
}
