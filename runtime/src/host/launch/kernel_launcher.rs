//! Launches of annotated kernels that a series function makes itself.
//!
//! Input: the type that `launcher = NAME` declares, extents, and arguments of the kernel's types.
//! Output: launches on the stream of the pass, each recorded where the driver does not report it.

use std::marker::PhantomData;
use std::rc::Rc;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut, SyncOnDrop};
use gpuprof_model::declared::DeclaredEntry;
use gpuprof_model::series::without_place;

use crate::host::arguments::buffer_element::BufferElement;
use crate::host::arguments::global::Variable;
use crate::host::error::{Error, Result};
use crate::host::launch::configuration::LaunchShape;
use crate::host::launch::launcher::{Attributes, Launcher};
use crate::host::launch::limits::{self, Promised};
use crate::host::launch::log::LaunchLog;
use crate::host::session::{LoadedKernel, Session};
use crate::host::values::extent::IntoExtent;
use crate::host::values::number::{IntoNumber, convert};
use crate::host::values::parameter::{self, Parameter};

/// Kernels that series functions launch by [`Run::kernel`](crate::Run::kernel): the types that
/// `launcher = NAME` declares.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// y ← 2·y
/// #[gpuprof::kernel(
///     series(block = 64..=1024, n = [1M]),
///     grid = n.div_ceil(block),
///     args(random(n)),
///     launcher = Double,
/// )]
/// pub fn double(mut y: DisjointSlice<f32>) {
///     let i = thread::index_1d();
///     if let Some(y) = y.get_mut(i) {
///         *y *= 2.0;
///     }
/// }
///
/// fn is_a_kernel(_: impl gpuprof::Kernel) {}
/// is_a_kernel(Double);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no kernel that a series function can launch",
    note = "`launcher = NAME` in #[gpuprof::kernel(…)] declares such a type; a kernel with constants \
            has one entry point for each of the values in its series"
)]
pub trait Kernel {
    /// Its arguments as a tuple: numbers and structs by value, `&CudaSlice<T>` for memory that it
    /// reads, `&mut CudaSlice<T>` for memory that it writes.
    ///
    /// ```
    /// use gpuprof::cudarc::driver::CudaSlice;
    ///
    /// /// A kernel that takes a number and a buffer that it writes.
    /// fn fills<K>(_: K)
    /// where
    ///     K: for<'a> gpuprof::Kernel<Arguments<'a> = (f32, &'a mut CudaSlice<f32>)>,
    /// {
    /// }
    /// ```
    type Arguments<'a>;

    /// The location of its code.
    #[doc(hidden)]
    const ENTRY: EntryPoint;

    /// Hands `arguments` to a launch.
    #[doc(hidden)]
    fn pass<'a>(arguments: Self::Arguments<'a>, to: &mut LaunchArguments<'a>);
}

/// The location of a kernel's code.
#[derive(Debug, Clone, Copy)]
pub enum EntryPoint {
    /// A function in Rust.
    Rust(RustEntry),
    /// A kernel that is declared.
    Declared {
        /// The module of its annotation.
        module_path: &'static str,
        /// Its name there.
        kernel: &'static str,
        /// The values of its constants, as the runner has them.
        key: &'static str,
    },
}

/// The location of the code of a kernel in Rust.
#[derive(Debug, Clone, Copy)]
pub struct RustEntry {
    /// The package that it is built with.
    pub package: &'static str,
    /// The beginning of its name in the PTX.
    pub symbol: &'static str,
    /// The end of its name where others have the same.
    pub place: &'static str,
}

/// The arguments of one launch.
pub struct LaunchArguments<'a> {
    stream: &'a CudaStream,
    parameters: Vec<Vec<u8>>,
    /// Tells cudarc, once the launch is queued, that the stream uses the buffers.
    used: Vec<SyncOnDrop<'a>>,
}

impl<'a> LaunchArguments<'a> {
    /// Adds a number or a struct.
    pub fn value(&mut self, value: impl Parameter) {
        self.parameters.push(parameter::bytes(value));
    }

    /// Adds memory that the kernel reads, with its length in elements of `T` where it is `sliced`.
    pub fn input<T: BufferElement>(&mut self, buffer: &'a CudaSlice<T::Lane>, sliced: bool) {
        let length = buffer.len();
        let (address, used) = buffer.device_ptr(self.stream);
        self.add::<T>(address, used, sliced.then_some(length));
    }

    /// Adds memory that the kernel writes, likewise.
    pub fn output<T: BufferElement>(&mut self, buffer: &'a mut CudaSlice<T::Lane>, sliced: bool) {
        let length = buffer.len();
        let (address, used) = buffer.device_ptr_mut(self.stream);
        self.add::<T>(address, used, sliced.then_some(length));
    }

    fn add<T: BufferElement>(&mut self, address: u64, used: SyncOnDrop<'a>, length: Option<usize>) {
        self.parameters.push(address.to_ne_bytes().to_vec());
        let length = length.map(|lanes| ((lanes / T::LANES) as u64).to_ne_bytes().to_vec());
        self.parameters.extend(length);
        self.used.push(used);
    }
}

/// Launches one kernel as often as a series function likes. [`Run::kernel`](crate::Run::kernel)
/// makes it.
///
/// ```
/// use gpuprof::{Kernel, KernelLauncher, Result};
///
/// /// Launches a kernel without parameters twice.
/// fn twice<K: for<'a> Kernel<Arguments<'a> = ()>>(kernel: &KernelLauncher<'_, K>) -> Result<()> {
///     // SAFETY: the kernel takes nothing.
///     unsafe { kernel.launch(1, 32, ())? };
///     unsafe { kernel.launch(1, 32, ()) }
/// }
/// ```
pub struct KernelLauncher<'r, K> {
    session: &'r Session,
    loaded: LoadedKernel,
    /// Its name for people.
    shown: String,
    /// Its entry, if it is declared.
    declared: Option<DeclaredEntry>,
    shared: u32,
    log: Rc<LaunchLog>,
    kernel: PhantomData<K>,
}

impl<'r, K: Kernel> KernelLauncher<'r, K> {
    /// A launcher of a `loaded` kernel, with its entry if it is `declared`.
    pub(crate) fn new(
        session: &'r Session,
        loaded: LoadedKernel,
        declared: Option<DeclaredEntry>,
        log: Rc<LaunchLog>,
    ) -> Self {
        let shown = match &declared {
            Some(entry) => entry.shown.clone(),
            None => without_place(&loaded.symbol).to_owned(),
        };
        Self { session, loaded, shown, declared, shared: 0, log, kernel: PhantomData }
    }

    /// Sets the dynamic shared memory of the launches that follow, in bytes.
    ///
    /// # Errors
    /// A number that 32 bits cannot hold.
    ///
    /// ```
    /// use gpuprof::{Kernel, KernelLauncher, Result};
    ///
    /// /// One float of shared memory for each thread.
    /// fn one_float<K: Kernel>(kernel: &mut KernelLauncher<'_, K>, block: u32) -> Result<()> {
    ///     kernel.shared(4 * block)
    /// }
    /// ```
    #[doc(alias("sharedMemBytes", "dynamicSmemBytes"))]
    pub fn shared(&mut self, bytes: impl IntoNumber) -> Result<()> {
        self.shared = convert("shared", bytes)?;
        Ok(())
    }

    /// Queues the assignment of the variable `name` of the device, which the annotation of a
    /// declared kernel names in `globals(…)`. All kernels of the module see it.
    ///
    /// # Errors
    /// A variable that the annotation does not name, or of another size; the driver's.
    ///
    /// ```
    /// use gpuprof::{Kernel, KernelLauncher, Result};
    ///
    /// /// Equal weights.
    /// fn even<K: Kernel>(kernel: &KernelLauncher<'_, K>) -> Result<()> {
    ///     kernel.global("weights", &[0.25_f32; 4])
    /// }
    /// ```
    #[doc(alias("cuModuleGetGlobal", "cudaMemcpyToSymbol"))]
    pub fn global<T: Parameter>(&self, name: &str, values: &[T]) -> Result<()> {
        let known = self.declared.as_ref().and_then(|entry| entry.globals.get(name));
        let symbol = known.ok_or_else(|| {
            Error::failed(format!(
                "the annotation of `{}` does not set `{name}`: add globals({name} = …) to it",
                self.shown
            ))
        })?;
        let bytes: Vec<u8> = values.iter().flat_map(|value| parameter::bytes(*value)).collect();
        let (module, stream) = (&self.loaded.module, &self.session.stream);
        Variable { name, symbol, module, stream }.set(&bytes)
    }

    /// Queues a launch of `grid` blocks of `block` threads on the stream of the pass.
    ///
    /// # Errors
    /// Extents or shared memory that the device or the kernel does not allow: the configuration is
    /// invalid. The driver's errors.
    ///
    /// # Safety
    /// The arguments must meet the requirements of the kernel's author: buffers that are long
    /// enough for the grid, the block and the numbers next to them.
    ///
    /// ```
    /// use gpuprof::cudarc::driver::CudaSlice;
    /// use gpuprof::{Kernel, KernelLauncher, Result};
    ///
    /// /// Launches a kernel that takes one slice, with a thread for each element.
    /// fn launch<K>(kernel: &KernelLauncher<'_, K>, x: &CudaSlice<f32>) -> Result<()>
    /// where
    ///     K: for<'a> Kernel<Arguments<'a> = (&'a CudaSlice<f32>,)>,
    /// {
    ///     // SAFETY: the kernel gets the number of elements of the slice.
    ///     unsafe { kernel.launch(x.len().div_ceil(256), 256, (x,)) }
    /// }
    /// ```
    #[doc(alias("cuLaunchKernel", "cudaLaunchKernel"))]
    pub unsafe fn launch<'l>(
        &'l self,
        grid: impl IntoExtent,
        block: impl IntoExtent,
        arguments: K::Arguments<'l>,
    ) -> Result<()> {
        let grid = grid.into_extent("grid")?.launch("grid")?;
        let block = block.into_extent("block")?.launch("block")?;
        let shape = LaunchShape { grid, block, shared: self.shared };
        let promised = Promised { declared: self.declared.as_ref(), max_block: None };
        limits::check(self.session, &self.loaded.function, shape, None, promised)?;
        let stream = &self.session.stream;
        let mut passed = LaunchArguments { stream, parameters: Vec::new(), used: Vec::new() };
        K::pass(arguments, &mut passed);
        let mut launcher = Launcher {
            function: self.loaded.function.clone(),
            stream: stream.clone(),
            shape,
            attributes: Attributes::default(),
            parameters: passed.parameters,
        };
        launcher.launch().map_err(|error| {
            let reason = format!("launching `{}`: {error}", self.shown);
            error.in_words(reason)
        })?;
        drop(passed.used);
        self.log.add(stream, &self.shown, shape);
        Ok(())
    }
}
