//! The driver of an annotated kernel's expansion: launch, arguments, verification, measurement.
//!
//! Input: the values of the annotation's expressions, in parameter order. Output: one measured
//! pass. The first launch finds fresh inputs, so it is verified and, on the emulated driver,
//! counted.

use std::path::Path;
use std::rc::Rc;

use gpuprof_model::measurement::{
    CounterPass, InPlace, LaunchRecord, PassResult, Reset, Unverified,
};
use gpuprof_model::notice::Notice;
use gpuprof_model::protocol::Sampling;
use gpuprof_model::series::without_place;

use super::collect::cupti::{Member, SlotContent};
use super::collect::identity;
use super::collect::measured_work::{MeasuredWork, Step};
use super::collect::parts::Counts;
use super::declaration;
use super::error::{Error, Result};
use super::run::Run;
use super::session::{LoadedKernel, Session};
use crate::host::arguments::arena::Arena;
use crate::host::arguments::buffer::TypedBuffer;
use crate::host::arguments::buffer_element::BufferElement;
use crate::host::arguments::checks::Checks;
use crate::host::arguments::contents::{BufferContents, Contents};
use crate::host::arguments::device_state::DeviceState;
use crate::host::arguments::generator::FillTarget;
use crate::host::arguments::global::Global;
use crate::host::arguments::inputs::{self, Argument};
use crate::host::arguments::ptx_reads;
use crate::host::driver::cluster;
use crate::host::launch::launcher::{Attributes, Launcher};
use crate::host::launch::limits::{self, Promised};
use crate::host::run::purpose::Purpose;
use crate::host::values::extent::{Extent, IntoExtent};
use crate::host::values::number::{IntoNumber, Scalar, convert};
use crate::host::values::parameter::{self, Parameter};

/// The package with the annotation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Package {
    pub(crate) name: &'static str,
    pub(crate) folder: &'static Path,
}

/// How a kernel takes a buffer.
#[derive(Clone, Copy)]
struct BufferUse {
    written: bool,
    /// With the number of its elements.
    sliced: bool,
}

/// One kernel launch being set up.
pub struct KernelRun<'r> {
    run: Run<'r>,
    package: Package,
    kernel: LoadedKernel,
    arguments: Vec<Argument>,
    seed: u64,
    /// The most threads of a block that it is compiled for, if the annotation says so.
    max_block: Option<u64>,
    /// Whether the driver has to run all blocks of the grid together.
    cooperative: bool,
    /// The requested state at timed samples; none: by the kernel's accesses.
    reset: Option<Reset>,
    /// The module.
    ptx: String,
    /// How to launch it, once that is known and counters are to be collected.
    launcher: Option<Launcher>,
    /// The buffers that it changes and depends on, once that is known.
    in_place: Option<InPlace>,
}

impl<'r> KernelRun<'r> {
    /// A launch of `kernel` by an annotation in `package`; `ptx` is the text of its module.
    pub(crate) fn new(run: Run<'r>, package: Package, kernel: LoadedKernel, ptx: String) -> Self {
        Self {
            run,
            package,
            kernel,
            arguments: Vec::new(),
            seed: 0,
            max_block: None,
            cooperative: false,
            reset: None,
            ptx,
            launcher: None,
            in_place: None,
        }
    }

    pub(crate) fn into_run(self) -> Run<'r> {
        self.run
    }

    /// The value of an axis of whole numbers.
    ///
    /// # Errors
    /// A value of another kind.
    pub fn int(&self, axis: &str) -> Result<u64> {
        self.run.value(axis)
    }

    /// The value of an axis of extents.
    ///
    /// # Errors
    /// A word.
    pub fn extent(&self, axis: &str) -> Result<Extent> {
        self.run.value(axis)
    }

    /// The value of an axis of words.
    ///
    /// # Errors
    /// An axis the series does not have.
    pub fn word(&self, axis: &str) -> Result<String> {
        self.run.value(axis)
    }

    /// The outcome of a configuration without an instance of the kernel for its types.
    ///
    /// # Errors
    /// Always.
    pub fn not_compiled(&self) -> Result<()> {
        let configuration = &self.run.request.configuration;
        Err(Error::failed(format!("the kernel is not compiled for the types of {configuration}")))
    }

    /// Sets the block.
    ///
    /// # Errors
    /// An extent no launch can have.
    pub fn block(&mut self, block: impl IntoExtent) -> Result<()> {
        self.run.block(block)
    }

    /// Sets the grid.
    ///
    /// # Errors
    /// An extent no launch can have.
    pub fn grid(&mut self, grid: impl IntoExtent) -> Result<()> {
        self.run.grid(grid)
    }

    /// Sets the dynamic shared memory in bytes.
    ///
    /// # Errors
    /// A number that 32 bits cannot hold.
    pub fn shared(&mut self, bytes: impl IntoNumber) -> Result<()> {
        self.run.shared(bytes)
    }

    /// Sets the thread block cluster.
    ///
    /// # Errors
    /// An extent no launch can have.
    pub fn cluster(&mut self, cluster: impl IntoExtent) -> Result<()> {
        self.run.cluster(cluster)
    }

    /// Makes the launch cooperative: all blocks of the grid run together, or the driver refuses it.
    pub fn cooperative(&mut self, cooperative: bool) {
        self.cooperative = cooperative;
    }

    /// Says how many threads of a block the kernel is compiled for at most.
    ///
    /// # Errors
    /// A negative number.
    pub fn max_block(&mut self, threads: impl IntoNumber) -> Result<()> {
        self.max_block = Some(convert("max_block", threads)?);
        Ok(())
    }

    /// Says how many such blocks a multiprocessor shall hold. The driver's compiler answers for it.
    ///
    /// # Errors
    /// A number that 32 bits cannot hold.
    pub fn min_blocks(&mut self, blocks: impl IntoNumber) -> Result<()> {
        convert::<u32>("min_blocks", blocks).map(drop)
    }

    /// Declares the bytes the kernel must move.
    ///
    /// # Errors
    /// A negative number.
    pub fn bytes(&mut self, bytes: impl IntoNumber) -> Result<()> {
        self.run.bytes(bytes)
    }

    /// Declares the kernel's floating-point operations.
    ///
    /// # Errors
    /// A negative number.
    pub fn flops(&mut self, flops: impl IntoNumber) -> Result<()> {
        self.run.flops(flops)
    }

    /// Sets the seed of the random generators.
    pub fn seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    /// Sets the state of the written buffers at timed samples.
    pub fn reset(&mut self, reset: Reset) {
        self.reset = Some(reset);
    }

    /// Adds a scalar argument.
    ///
    /// # Errors
    /// A value that the parameter's type cannot hold.
    pub fn scalar<T: Scalar>(&mut self, name: &str, value: impl IntoNumber) -> Result<()> {
        let value: T = convert(name, value)?;
        self.arguments.push(Argument::Scalar {
            bytes: value.bytes(),
            host: Box::new(move || Box::new(value)),
        });
        Ok(())
    }

    /// Adds an argument that is passed as it is: a `bool` or a struct.
    pub fn value<T: Parameter>(&mut self, value: T) {
        self.arguments.push(Argument::Scalar {
            bytes: parameter::bytes(value),
            host: Box::new(move || Box::new(value)),
        });
    }

    /// Adds a buffer that the kernel reads.
    ///
    /// # Errors
    /// Contents that a buffer of `T` cannot have, or memory that cannot be had.
    pub fn input<T: BufferElement>(
        &mut self,
        name: &'static str,
        contents: impl Contents<T>,
    ) -> Result<()> {
        self.add_buffer::<T>(name, contents, BufferUse { written: false, sliced: false })
    }

    /// Adds a buffer that the kernel reads, with its length.
    ///
    /// # Errors
    /// As of [`Self::input`].
    pub fn slice<T: BufferElement>(
        &mut self,
        name: &'static str,
        contents: impl Contents<T>,
    ) -> Result<()> {
        self.add_buffer::<T>(name, contents, BufferUse { written: false, sliced: true })
    }

    /// Adds a buffer that the kernel writes.
    ///
    /// # Errors
    /// Contents that a buffer of `T` cannot have, or memory that cannot be had.
    pub fn output<T: BufferElement>(
        &mut self,
        name: &'static str,
        contents: impl Contents<T>,
    ) -> Result<()> {
        self.add_buffer::<T>(name, contents, BufferUse { written: true, sliced: false })
    }

    /// Adds a buffer that the kernel writes, with its length.
    ///
    /// # Errors
    /// As of [`Self::output`].
    pub fn disjoint<T: BufferElement>(
        &mut self,
        name: &'static str,
        contents: impl Contents<T>,
    ) -> Result<()> {
        self.add_buffer::<T>(name, contents, BufferUse { written: true, sliced: true })
    }

    fn add_buffer<T: BufferElement>(
        &mut self,
        name: &'static str,
        contents: impl Contents<T>,
        BufferUse { written, sliced }: BufferUse,
    ) -> Result<()> {
        let position = self.arguments.len() as u64;
        let place = FillTarget { name, folder: self.package.folder, package: self.package.name };
        let BufferContents { elements: initial, file } =
            contents.fill(&place, (self.seed << 8 | position) << 32)?;
        self.run.result.input_files.extend(file);
        let length = initial.len();
        let lanes = sliced.then_some(T::LANES as u64);
        let Session { quiet, stream, .. } = self.run.session;
        if self.shares_memory() {
            let buffer = TypedBuffer::unplaced(name, initial, written, stream);
            self.arguments.push(Argument::Buffer { buffer: Box::new(buffer), sliced: lanes });
            return Ok(());
        }
        let buffer = quiet.stage(|| {
            let uploaded = TypedBuffer::upload(name, initial, written, stream).and_then(|buffer| {
                // The copy continues after the call.
                stream.synchronize()?;
                Ok(buffer)
            });
            uploaded.map_err(|e| {
                Error::driver(
                    &format!("allocating `{name}` ({length} elements of {})", T::Lane::NAME),
                    e,
                )
            })
        })?;
        self.arguments.push(Argument::Buffer { buffer: Box::new(buffer), sliced: lanes });
        Ok(())
    }

    /// Sets a variable of the module that holds `length` elements of `T`.
    ///
    /// # Errors
    /// Contents that it cannot have, or the driver's.
    pub fn global<T: BufferElement>(
        &mut self,
        name: &'static str,
        written: bool,
        length: usize,
        contents: impl Contents<T>,
    ) -> Result<()> {
        let place = FillTarget { name, folder: self.package.folder, package: self.package.name };
        let position = self.arguments.len() as u64;
        let BufferContents { elements, file } =
            contents.fill(&place, (self.seed << 8 | position) << 32)?;
        self.run.result.input_files.extend(file);
        let given = elements.len() / T::LANES;
        if given != length {
            return Err(Error::failed(format!(
                "`{name}` is declared with {length} elements, and globals(…) gives {given}"
            )));
        }
        self.set_global(name, written, elements.into_iter().flat_map(Scalar::bytes).collect())
    }

    /// Sets a variable of the module that is a number.
    ///
    /// # Errors
    /// A value that its type cannot hold, or the driver's.
    pub fn global_number<T: Scalar>(
        &mut self,
        name: &'static str,
        written: bool,
        value: impl IntoNumber,
    ) -> Result<()> {
        let value: T = convert(name, value)?;
        self.set_global(name, written, value.bytes())
    }

    fn set_global(&mut self, name: &'static str, written: bool, bytes: Vec<u8>) -> Result<()> {
        let symbol = declaration::global(self.run.request, name)?.to_owned();
        let Session { quiet, stream, .. } = self.run.session;
        let (module, kept) = (self.kernel.module.clone(), false);
        let global = Global { name, symbol, bytes, written, kept, module, stream: stream.clone() };
        quiet.stage(|| {
            global.set()?;
            // The copy continues after the call.
            Ok(stream.synchronize()?)
        })?;
        self.arguments.push(Argument::Global(global));
        Ok(())
    }

    /// Launches, verifies by `checks` if requested, and measures, once the device is this
    /// process's. If counters are collected on a GPU, it does only the work without the device;
    /// `counter_passes.rs` continues.
    ///
    /// # Errors
    /// A launch that is refused, a driver error, or outputs that differ from the reference.
    pub fn execute(&mut self, mut checks: Checks<'_>) -> Result<()> {
        self.run.session.quiet.notify(Notice::Goes);
        let buffer_bytes = self.arguments.iter().map(Argument::buffer_bytes).sum();
        self.run.result.buffer_bytes = Some(buffer_bytes);
        let emulated = self.run.session.device.emulated;
        let counted = matches!(self.run.purpose, Purpose::WarmUp);
        let timed = !counted && !emulated;
        // One process per configuration, while it does not need the device.
        if !counted && self.run.request.repeat == 0 {
            self.run.result.inputs = Some(inputs::hash(&self.arguments));
        }
        let reads = || ptx_reads::reads(&self.ptx, &self.kernel.symbol);
        if !emulated {
            self.in_place = inputs::in_place(&self.arguments, self.reset, reads);
        }
        if let (Some(in_place), true) = (&self.in_place, timed) {
            inputs::keep(&mut self.arguments, self.run.session, in_place)?;
        }
        if !counted {
            self.run.session.take_turn();
        }
        let mut launcher = self.launcher()?;
        self.record(&launcher);
        if counted {
            self.launcher = Some(launcher);
            return Ok(());
        }
        if checks.reference.is_none() && self.arguments.iter().any(Argument::is_written) {
            self.run.result.unverified = Some(Unverified::NoReference);
        }
        let verifies = checks.reference.is_some() && self.run.request.verify;
        let state = self.device_state()?;
        if !emulated && (verifies || !state.is_empty()) {
            launcher.launch()?;
            self.run.synchronize()?;
            self.check_state(&state)?;
            match verifies {
                true => self.check_outputs(&mut checks)?,
                false => self.arguments.iter_mut().try_for_each(Argument::restore)?,
            }
        }
        let Self { run, arguments, in_place, .. } = self;
        let restores = in_place.as_ref().is_some_and(|changed| changed.reset == Reset::Each);
        let mut reset = || arguments.iter_mut().try_for_each(Argument::reset);
        let restore = restores.then_some(&mut reset as Step<'_>);
        run.measure_from(restore, |_| launcher.launch())?;
        if let Some(timing) = &mut run.result.timing {
            timing.in_place = in_place.take();
        }
        if emulated {
            self.check_state(&state)?;
            if verifies {
                self.check_outputs(&mut checks)?;
            }
        }
        Ok(())
    }

    /// The variables of the module that the annotation does not set.
    fn device_state(&self) -> Result<DeviceState> {
        let set = self.run.request.declared.iter().flat_map(|entry| entry.globals.values());
        let set: Vec<&String> = set.collect();
        let (module, stream) = (self.kernel.module.clone(), self.run.session.stream.clone());
        DeviceState::read(module, stream, &self.ptx, |symbol| {
            set.iter().any(|other| *other == symbol)
        })
    }

    /// Fails if the launch changed a variable of the device that no launch after it finds restored.
    fn check_state(&self, state: &DeviceState) -> Result<()> {
        let mut globals = self.arguments.iter().filter(|argument| argument.is_global());
        globals.try_for_each(Argument::check_unchanged)?;
        state.check_unchanged(self.run.request.declared.is_some())
    }

    /// Compares the kernel's outputs with those of the reference for the initial arguments.
    fn check_outputs(&mut self, checks: &mut Checks<'_>) -> Result<()> {
        // The emulated driver refuses stores to such buffers itself, and names their line.
        if !self.run.session.device.emulated {
            self.arguments.iter().try_for_each(Argument::check_unchanged)?;
        }
        self.run.session.quiet.notify(Notice::Verifies);
        let (compared, verification) = inputs::check(&mut self.arguments, checks)?;
        self.run.session.quiet.notify(Notice::Goes);
        match compared.unverified() {
            None => {
                let result = &mut self.run.result;
                result.verified = true;
                result.largest_error = compared.largest;
                result.verification = Some(verification);
            }
            Some(why) => self.run.result.unverified = Some(why),
        }
        Ok(())
    }

    /// The launcher of the kernel with its arguments, after refusing everything that the driver
    /// would refuse.
    fn launcher(&self) -> Result<Launcher> {
        let config = self.run.launch_config()?;
        let Some(shape) = config.shape else {
            return Err(Error::failed(
                "the annotation gives no block and grid; add `block = …` and `grid = …`",
            ));
        };
        let cluster = config.cluster().map(<[u32; 3]>::from);
        let cluster = cluster.filter(|&extents| !cluster::is_trivial(extents));
        let promised =
            Promised { declared: self.run.request.declared.as_ref(), max_block: self.max_block };
        limits::check(self.run.session, &self.kernel.function, shape, cluster, promised)?;
        if let Some(cluster) = cluster {
            cluster::check(cluster, shape.grid, self.run.session.device.compute_capability)?;
            cluster::opt_in(&self.kernel.function, cluster)?;
        }
        let parameters = self.arguments.iter().flat_map(Argument::parameters).collect();
        Ok(Launcher {
            function: self.kernel.function.clone(),
            stream: self.run.stream(),
            shape,
            attributes: Attributes { cluster, cooperative: self.cooperative },
            parameters,
        })
    }

    /// Records the launch; the emulated driver reports what was launched itself.
    fn record(&mut self, launcher: &Launcher) {
        if self.run.session.device.emulated {
            return;
        }
        let (context, stream) = identity::numbers(&launcher.stream);
        let declared = self.run.request.declared.as_ref().map(|entry| entry.shown.clone());
        self.run.record_launch(LaunchRecord {
            kernel: declared.unwrap_or_else(|| without_place(&self.kernel.symbol).to_owned()),
            grid: launcher.shape.grid,
            block: launcher.shape.block,
            shared_bytes: launcher.shape.shared,
            cluster: launcher.attributes.cluster,
            context,
            stream,
            ..LaunchRecord::default()
        });
    }

    /// Lets its buffers lie in `arena`, or says where they would end.
    fn lay_out(&mut self, arena: Option<&Rc<Arena>>) -> u64 {
        let mut start = 0;
        for argument in &mut self.arguments {
            let Argument::Buffer { buffer, .. } = argument else { continue };
            if let Some(arena) = arena {
                buffer.place(arena, start);
            }
            start = Arena::after(start, buffer.bytes());
        }
        start
    }

    /// How much of an arena its buffers take.
    pub(crate) fn placed_bytes(&mut self) -> u64 {
        self.lay_out(None)
    }

    /// Lets its buffers lie in `arena`.
    pub(crate) fn place(&mut self, arena: &Rc<Arena>) {
        self.lay_out(Some(arena));
        if let Some(launcher) = &mut self.launcher {
            launcher.parameters = self.arguments.iter().flat_map(Argument::parameters).collect();
        }
    }

    /// Whether its buffers lie in an arena.
    pub(crate) fn shares_memory(&self) -> bool {
        Arena::serves(self.run.request)
    }

    /// The bytes of its buffers.
    pub(crate) fn held_bytes(&self) -> u64 {
        let bytes = |argument: &Argument| match argument {
            Argument::Scalar { .. } | Argument::Global(_) => 0,
            Argument::Buffer { buffer, .. } => buffer.bytes(),
        };
        self.arguments.iter().map(bytes).sum()
    }

    /// How the request asks for samples.
    pub(crate) fn sampling(&self) -> &'r Sampling {
        &self.run.request.sampling
    }

    /// Launches until the device is warm.
    pub(crate) fn warm_up(&mut self) -> Result<()> {
        let Self { run, launcher, arguments, in_place, .. } = self;
        let launcher = launcher.as_mut().ok_or_else(not_set_up)?;
        if Arena::serves(run.request) {
            arguments.iter_mut().try_for_each(Argument::restore)?;
        }
        let changed =
            |argument: &&mut Argument| in_place.as_ref().is_some_and(|p| argument.is_in(p));
        let mut changed: Vec<&mut Argument> = arguments.iter_mut().filter(changed).collect();
        let mut restore = || changed.iter_mut().try_for_each(|argument| argument.restore());
        let mut launch = || launcher.launch();
        run.warm_up(&mut MeasuredWork { restore: Some(&mut restore), launch: &mut launch })
    }

    /// The result of the passes that counted this.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn counted(mut self, pass: CounterPass, counted: &[Counts]) -> Result<PassResult> {
        let config = self.run.launch_config()?;
        self.run.take_facts(&config)?;
        self.run.take_counts(pass, counted, SlotContent::Launch);
        self.run.finish(&self.kernel.symbol)
    }
}

impl Member for KernelRun<'_> {
    fn slot(&self) -> u32 {
        self.run.request.counters.as_ref().map_or(0, |counters| counters.slot)
    }

    fn restore(&mut self) -> Result<()> {
        self.arguments.iter_mut().try_for_each(Argument::restore)
    }

    fn launch(&mut self) -> Result<()> {
        self.launcher.as_mut().ok_or_else(not_set_up)?.launch()
    }
}

fn not_set_up() -> Error {
    Error::failed("the kernel was not set up: its annotation did not reach the launch")
}
