//! The device by the driver: memory, launches and their times. Nothing else here is unsafe.

use std::sync::Arc;

use cudarc::driver::sys::{CUdevice_attribute as Attribute, CUevent_flags, CUresult};
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtr, DriverError, LaunchConfig,
    PushKernelArg,
};
use cudarc::nvrtc::Ptx;

/// The kernels of one purpose each.
pub const KERNELS: &str = include_str!("kernels.ptx");

/// Why a device was not measured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// There is too little memory.
    #[error(
        "the device has too little free memory for {0} bytes; other programs that use it would \
         change the times too"
    )]
    Memory(usize),
    /// The driver refused something.
    #[error("{0} failed: {1:?}")]
    Driver(&'static str, CUresult),
    /// A kernel computed something else than it should.
    #[error("the kernel for {0} computed a wrong result, so its time means nothing")]
    Result(&'static str),
}

/// That the driver could not do `what`.
fn failed(what: &'static str) -> impl Fn(DriverError) -> Problem {
    move |error| Problem::Driver(what, error.0)
}

/// How often everything is repeated after the warm-up.
const REPETITIONS: usize = 5;

/// A device.
pub struct Gpu {
    stream: Arc<CudaStream>,
    pub name: String,
    pub compute_capability: (i32, i32),
    pub multiprocessors: u32,
    /// Threads that a multiprocessor holds.
    pub held_threads: u32,
    pub memory_bytes: u64,
    pub l2_bytes: u32,
}

/// A compiled kernel.
pub struct Kernel(CudaFunction);

/// Words of device memory.
pub struct Buffer {
    words: CudaSlice<u32>,
    /// Its address.
    pub address: u64,
}

/// The extremes of several repetitions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Times {
    pub least: f64,
    pub most: f64,
}

impl Times {
    pub fn summarize(all: impl IntoIterator<Item = f64>) -> Self {
        let all = all.into_iter().map(|one| (one, one));
        let (least, most) = all.fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), one| {
            (least.min(one.0), most.max(one.1))
        });
        Self { least, most }
    }

    pub fn varied_percent(self) -> f64 {
        100.0 * (self.most / self.least - 1.0)
    }
}

impl Gpu {
    pub fn open(ordinal: usize) -> Result<Self, Problem> {
        let context = CudaContext::new(ordinal).map_err(failed("creating a context"))?;
        let asked = failed("asking for an attribute");
        let attribute = |attribute| {
            let value = context.attribute(attribute).map_err(&asked)?;
            Ok::<_, Problem>(u32::try_from(value).unwrap_or(0))
        };
        Ok(Self {
            name: context.name().map_err(&asked)?,
            compute_capability: context.compute_capability().map_err(&asked)?,
            multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            held_threads: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
            memory_bytes: context.total_mem().map_err(&asked)? as u64,
            l2_bytes: attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?,
            stream: context.new_stream().map_err(failed("creating a stream"))?,
        })
    }

    /// Compiles the kernel `entry` of `ptx`.
    pub fn compile(&self, ptx: &str, entry: &str) -> Result<Kernel, Problem> {
        let failed = failed("compiling a kernel");
        let module = self.stream.context().load_module(Ptx::from_src(ptx)).map_err(&failed)?;
        module.load_function(entry).map(Kernel).map_err(&failed)
    }

    /// Zeroed memory.
    pub fn allocate(&self, words: usize) -> Result<Buffer, Problem> {
        let words = self.stream.alloc_zeros(words).map_err(|error| match error.0 {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => Problem::Memory(4 * words),
            code => Problem::Driver("allocating memory", code),
        })?;
        let address = words.device_ptr(&self.stream).0;
        Ok(Buffer { words, address })
    }

    pub fn zero(&self, buffer: &mut Buffer) -> Result<(), Problem> {
        self.stream.memset_zeros(&mut buffer.words).map_err(failed("filling memory"))
    }

    /// Puts `value` into the first two words of `buffer`.
    pub fn write(&self, buffer: &mut Buffer, value: u64) -> Result<(), Problem> {
        let words = [value as u32, (value >> 32) as u32];
        let mut first = buffer.words.slice_mut(..2);
        self.stream.memcpy_htod(&words, &mut first).map_err(failed("writing to memory"))
    }

    /// `count` words of `buffer` from word `at` on, once all work has ended.
    pub fn read(&self, buffer: &Buffer, at: usize, count: usize) -> Result<Vec<u32>, Problem> {
        let words = buffer.words.slice(at..at + count);
        self.stream.clone_dtoh(&words).map_err(failed("reading the results"))
    }

    /// Queues a launch. A parameter of 32 bits gets the lower half of its argument.
    pub fn launch(
        &self,
        kernel: &Kernel,
        (blocks, threads): (u32, u32),
        arguments: &[u64],
    ) -> Result<(), Problem> {
        let mut launch = self.stream.launch_builder(&kernel.0);
        for argument in arguments {
            launch.arg(argument);
        }
        let (grid_dim, block_dim) = ((blocks, 1, 1), (threads, 1, 1));
        // SAFETY: the kernels are those of this package; their callers here pass one argument for
        // each parameter, and buffers as large as the kernels' comments say.
        unsafe { launch.launch(LaunchConfig { grid_dim, block_dim, shared_mem_bytes: 0 }) }
            .map_err(failed("launching a kernel"))?;
        Ok(())
    }

    /// Nanoseconds of the launches that `work` queues, each time after `before`.
    pub fn time(
        &self,
        mut before: impl FnMut() -> Result<(), Problem>,
        work: impl Fn() -> Result<(), Problem>,
    ) -> Result<Times, Problem> {
        let failed = failed("timing a kernel");
        let event = || self.stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
        let mut all = Vec::new();
        for _ in 0..=REPETITIONS {
            before()?;
            let begin = event().map_err(&failed)?;
            work()?;
            let end = event().map_err(&failed)?;
            all.push(1e6 * f64::from(begin.elapsed_ms(&end).map_err(&failed)?));
        }
        Ok(Times::summarize(all.into_iter().skip(1)))
    }

    /// Values that `run` reads after each of its launches.
    pub fn repeat(&self, mut run: impl FnMut() -> Result<f64, Problem>) -> Result<Times, Problem> {
        let all: Result<Vec<f64>, Problem> = (0..=REPETITIONS).map(|_| run()).collect();
        Ok(Times::summarize(all?.into_iter().skip(1)))
    }
}
