//! saxpy on a device: inputs that are the same in every process, and a launch of one block size.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg as _,
};
use cudarc::nvrtc::Ptx;

use crate::options::Options;
use crate::outcome::Outcome;
use crate::steps::Steps;

const BUILT_IN: &str = include_str!("saxpy.ptx");
const WARM_UP: Duration = Duration::from_millis(50);

pub(crate) struct Kernel {
    pub(crate) context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    function: CudaFunction,
    n: u32,
    x: CudaSlice<f32>,
    y: CudaSlice<f32>,
    y_before: Vec<f32>,
}

impl Kernel {
    pub(crate) fn prepare(options: &Options, steps: &mut Steps) -> Outcome<Self> {
        let text = match &options.ptx {
            Some(path) => std::fs::read_to_string(path)?,
            None => BUILT_IN.to_owned(),
        };
        let context = steps.time("context", || CudaContext::new(options.device))?;
        let stream = context.default_stream();
        let begin = Instant::now();
        let function = context.load_module(Ptx::from_src(text))?.load_function(&options.entry)?;
        steps.add("module", begin);
        let begin = Instant::now();
        let numbers = |seed: u32| (0..options.n).map(move |i| ((i ^ seed) % 1024) as f32).collect();
        let (x_host, y_before): (Vec<f32>, Vec<f32>) = (numbers(1), numbers(2));
        let (x, y) = (stream.clone_htod(&x_host)?, stream.clone_htod(&y_before)?);
        stream.synchronize()?;
        steps.add("inputs", begin);
        let mut kernel = Self { context, stream, function, n: options.n, x, y, y_before };
        let begin = Instant::now();
        while begin.elapsed() < WARM_UP {
            for block in &options.blocks {
                kernel.launch(*block)?;
            }
            kernel.finish()?;
        }
        steps.add("warm-up", begin);
        Ok(kernel)
    }

    /// Writes y as it was before the first launch.
    pub(crate) fn restore(&mut self) -> Outcome<()> {
        self.stream.memcpy_htod(&self.y_before, &mut self.y)?;
        self.finish()
    }

    pub(crate) fn launch(&mut self, block: u32) -> Outcome<()> {
        let a = 2.0f32;
        let mut launch = self.stream.launch_builder(&self.function);
        launch.arg(&self.n).arg(&a).arg(&self.x).arg(&mut self.y);
        let shape = LaunchConfig {
            grid_dim: (self.n.div_ceil(block), 1, 1),
            block_dim: (block, 1, 1),
            shared_mem_bytes: 0,
        };
        // SAFETY: the kernel is saxpy(u32, f32, f32*, f32*), and both arrays have n elements.
        unsafe { launch.launch(shape) }?;
        Ok(())
    }

    pub(crate) fn finish(&self) -> Outcome<()> {
        Ok(self.stream.synchronize()?)
    }
}
