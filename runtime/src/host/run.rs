//! The launch context: what a series function, and every kernel, measures through.

use std::collections::BTreeMap;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaFunction, CudaStream, LaunchConfig};
use gpuprof_model::AxisValue;
use gpuprof_model::measurement::{CounterPass, HardwareValue, LaunchRecord, PassResult};
use gpuprof_model::protocol::MeasureRequest;

use super::cluster;
use super::collect::cupti::{Collection, Member};
use super::collect::{bandwidth, emulator, events, facts};
use super::error::{Error, Result};
use super::extent::{Extent, IntoExtent};
use super::number::{IntoNumber, convert};
use super::session::Session;

/// One pass over one configuration.
///
/// A series function reads its axis values from it, sets its inputs up on [`Run::stream`], and
/// hands its launches to [`Run::measure`].
pub struct Run<'a> {
    pub(crate) session: &'a Session,
    pub(crate) request: &'a MeasureRequest,
    result: PassResult,
    function: Option<CudaFunction>,
    config: PartialConfig,
    pub(crate) call: Call<'a>,
    measured: bool,
}

/// What the function is called for that this is given to.
pub(crate) enum Call<'a> {
    /// All that there is to do.
    Whole,
    /// To warm the device up; counters are collected in calls of their own.
    WarmUp,
    /// For one counter pass.
    Pass(Box<Collection<'a>>),
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
            result: PassResult { device: session.known(), ..PassResult::default() },
            function: None,
            config: PartialConfig::default(),
            call,
            measured: false,
        }
    }

    /// The value of `axis` in this configuration.
    ///
    /// # Errors
    /// An axis the series does not have, or a value that `T` cannot hold.
    pub fn value<T: AxisType>(&self, axis: &str) -> Result<T> {
        let value = self
            .request
            .configuration
            .get(axis)
            .ok_or_else(|| Error::failed(format!("the series has no axis `{axis}`")))?;
        T::from_axis(axis, value)
    }

    /// The stream that launches go to.
    pub fn stream(&self) -> Arc<CudaStream> {
        self.session.stream.clone()
    }

    /// The context of the device.
    pub fn context(&self) -> Arc<CudaContext> {
        self.session.context.clone()
    }

    /// Sets the grid of [`Launch::config`], where no axis `grid` does.
    ///
    /// # Errors
    /// An extent no launch can have: the configuration is invalid.
    pub fn grid(&mut self, grid: impl IntoExtent) -> Result<()> {
        self.config.grid = Some(grid.into_extent("grid")?.launch("grid")?);
        Ok(())
    }

    /// Sets the block of [`Launch::config`], where no axis `block` does.
    ///
    /// # Errors
    /// An extent no launch can have: the configuration is invalid.
    pub fn block(&mut self, block: impl IntoExtent) -> Result<()> {
        self.config.block = Some(block.into_extent("block")?.launch("block")?);
        Ok(())
    }

    /// Sets the dynamic shared memory of [`Launch::config`] in bytes, where no axis `shared` does.
    ///
    /// # Errors
    /// A number that 32 bits cannot hold.
    pub fn shared(&mut self, bytes: impl IntoNumber) -> Result<()> {
        self.config.shared = convert("shared", bytes)?;
        Ok(())
    }

    /// Sets the thread block cluster of [`Launch::cluster`], where no axis `cluster` does.
    ///
    /// # Errors
    /// An extent no launch can have: the configuration is invalid.
    pub fn cluster(&mut self, cluster: impl IntoExtent) -> Result<()> {
        self.config.cluster = Some(cluster.into_extent("cluster")?.launch("cluster")?);
        Ok(())
    }

    /// Declares the bytes that the measured launches must move.
    ///
    /// # Errors
    /// A negative number.
    pub fn bytes(&mut self, bytes: impl IntoNumber) -> Result<()> {
        self.result.declared_bytes = Some(convert("bytes", bytes)?);
        Ok(())
    }

    /// Declares the floating-point operations of the measured launches.
    ///
    /// # Errors
    /// A negative number.
    pub fn flops(&mut self, flops: impl IntoNumber) -> Result<()> {
        self.result.declared_flops = Some(convert("flops", flops)?);
        Ok(())
    }

    /// Names the function that is launched, so that its launch facts are reported.
    pub fn function(&mut self, function: &CudaFunction) {
        self.function = Some(function.clone());
    }

    /// Measures what `launch` queues on [`Run::stream`].
    ///
    /// On a GPU it is called many times, for warm-up and samples; on the emulated driver once. What
    /// it launches must be the same every time.
    ///
    /// Where counters are collected on a GPU, the whole function is called once more to warm up and
    /// once for every pass, after the call that takes times or in another process, so that the
    /// launches of each pass find the inputs that it sets up, and not what earlier launches left.
    ///
    /// # Errors
    /// The first error of `launch` or of the driver.
    pub fn measure<R, E: Into<Error>>(
        &mut self,
        mut launch: impl FnMut(&Launch) -> std::result::Result<R, E>,
    ) -> Result<()> {
        if self.measured {
            return Err(Error::failed("`measure` was called twice; a pass measures one range"));
        }
        self.measured = true;
        let config = self.launch_config()?;
        let mut once = || launch(&config).map(drop).map_err(Into::into);
        if self.session.device.emulated {
            emulator::take_report()?;
            once().map_err(|e| self.session.explain(e))?;
            self.synchronize()?;
            (self.result.launches, self.result.counters) = emulator::take_report()?;
        } else if self.request.counters.is_some() {
            if let Call::Pass(collection) = &mut self.call {
                collection.pass(&mut [&mut Called(&mut once)])?;
            } else {
                self.warm_up(&mut once)?;
            }
        } else {
            once()?;
            self.synchronize()?;
            let sampling = &self.request.sampling;
            self.result.timing = Some(events::time(self.session, sampling, &mut once)?);
            if sampling.copy_bandwidth {
                let _quiet = self.session.quiet.window()?;
                self.result.copy_bandwidth =
                    bandwidth::copy(&self.session.stream, self.session.device.l2_bytes)?;
            }
        }
        self.take_facts(&config)
    }

    /// Launches what is measured until the device is warm.
    pub(crate) fn warm_up(&self, once: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        once()?;
        self.synchronize()?;
        events::warm_up_only(self.session, &self.request.sampling, once)
    }

    /// Takes what the driver tells of the launch without a profiler.
    pub(crate) fn take_facts(&mut self, config: &Launch) -> Result<()> {
        self.measured = true;
        if let (Some(function), Some(extents)) = (&self.function, config.config) {
            let cluster = config.cluster.filter(|&cluster| !cluster::is_trivial(cluster));
            let facts = facts::of(self.session, function, extents, cluster)?;
            self.result.facts = Some(facts);
        }
        Ok(())
    }

    /// Takes what its counters came to.
    pub(crate) fn counted(&mut self, pass: CounterPass, hardware: BTreeMap<String, HardwareValue>) {
        self.result.hardware = hardware;
        self.result.counter_pass = Some(pass);
    }

    /// Compares the results of the measured launches with a reference, unless `--no-verify` was
    /// given.
    ///
    /// # Errors
    /// What `check` finds: the configuration failed.
    pub fn verify<E: Into<Error>>(
        &mut self,
        check: impl FnOnce() -> std::result::Result<(), E>,
    ) -> Result<()> {
        if self.request.verify {
            check().map_err(Into::into)?;
            self.mark_verified();
        }
        Ok(())
    }

    /// Waits for the device; an error is told with what the emulated driver knows of it.
    pub(crate) fn synchronize(&self) -> Result<()> {
        self.session.stream.synchronize().map_err(|e| self.session.explain(e.into()))
    }

    /// Records the launches of the measured range, where the driver does not report them.
    pub(crate) fn record_launch(&mut self, launch: LaunchRecord) {
        if self.result.launches.is_empty() {
            self.result.launches.push(launch);
        }
    }

    /// Records the launch of a series function as far as it is known: by the configuration that the
    /// function was given. The emulated driver has told what was launched.
    pub(crate) fn record_configured(&mut self) -> Result<()> {
        let launch = self.launch_config()?;
        if let (Some((grid, block, shared_bytes)), false) =
            (launch.config, self.session.device.emulated)
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

    pub(crate) fn mark_verified(&mut self) {
        self.result.verified = true;
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
        Ok(Launch { config: grid.zip(block).map(|(grid, block)| (grid, block, shared)), cluster })
    }

    pub(crate) fn finish(self, kernel: &str) -> Result<PassResult> {
        if self.measured {
            return Ok(self.result);
        }
        Err(Error::failed(format!(
            "`{kernel}` returned without calling `run.measure`, so there is nothing to report"
        )))
    }
}

/// The launches of one call of a series function, which sets its inputs up itself.
struct Called<'a>(&'a mut dyn FnMut() -> Result<()>);

impl Member for Called<'_> {
    fn place(&self) -> u32 {
        0
    }

    fn restore(&mut self) -> Result<()> {
        Ok(())
    }

    fn launch(&mut self) -> Result<()> {
        (self.0)()
    }
}

/// What the closure of [`Run::measure`] launches with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    config: Option<([u32; 3], [u32; 3], u32)>,
    cluster: Option<[u32; 3]>,
}

impl Launch {
    /// Grid, block and dynamic shared memory, where they are known.
    pub(crate) fn parts(&self) -> Option<([u32; 3], [u32; 3], u32)> {
        self.config
    }

    /// Blocks of a thread block cluster in x, y and z, of the axis `cluster` or of
    /// [`Run::cluster`].
    ///
    /// A launch with clusters goes through `cuLaunchKernelEx`, whose attribute this is for.
    pub fn cluster(&self) -> Option<(u32, u32, u32)> {
        self.cluster.map(Into::into)
    }

    /// The launch configuration of the axes `block`, `grid` and `shared`, or of [`Run::block`],
    /// [`Run::grid`] and [`Run::shared`].
    ///
    /// # Panics
    /// Where neither gives a block and a grid; the pass then fails with this message.
    pub fn config(&self) -> LaunchConfig {
        let Some((grid, block, shared)) = self.config else {
            panic!(
                "no launch configuration: give the series axes `block` and `grid`, or call \
                    run.block(…) and run.grid(…) before run.measure(…)"
            );
        };
        LaunchConfig { grid_dim: grid.into(), block_dim: block.into(), shared_mem_bytes: shared }
    }
}

/// Types that axis values convert to.
pub trait AxisType: Sized {
    /// The value of `axis` as this type.
    ///
    /// # Errors
    /// A value that the type cannot hold.
    fn from_axis(axis: &str, value: &AxisValue) -> Result<Self>;
}

macro_rules! integer_axis {
    ($($t:ident)*) => {$(
        impl AxisType for $t {
            fn from_axis(axis: &str, value: &AxisValue) -> Result<Self> {
                match value {
                    AxisValue::Int(int) => convert(axis, *int),
                    other => Err(Error::failed(format!("axis `{axis}` has the value {other}, which is no whole number"))),
                }
            }
        }
    )*};
}
integer_axis!(u8 u16 u32 u64 usize i32 i64);

impl AxisType for String {
    fn from_axis(_axis: &str, value: &AxisValue) -> Result<Self> {
        Ok(value.to_string())
    }
}

impl AxisType for Extent {
    fn from_axis(axis: &str, value: &AxisValue) -> Result<Self> {
        match value {
            AxisValue::Int(x) => Ok(Self { x: *x, y: 1, z: 1 }),
            AxisValue::Dims(dims) => {
                let [x, y, z] = dims.map(u64::from);
                Ok(Self { x, y, z })
            }
            AxisValue::Word(word) => Err(Error::failed(format!(
                "axis `{axis}` has the value {word}, which is no extent"
            ))),
        }
    }
}
