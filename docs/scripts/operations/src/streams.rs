//! Operations of our own kernels, which NVRTC compiles: on streams, from threads, as a graph.

use std::sync::Arc;
use std::thread;

use cudarc::driver::sys::CUgraphInstantiate_flags as GraphFlags;
use cudarc::driver::sys::CUstreamCaptureMode as CaptureMode;
use cudarc::driver::{CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg};

use crate::operation::{Failure, Operation};

const BLOCK: u32 = 256;
const LENGTH: usize = 1 << 20;

const CODE: &str = r#"
extern "C" __global__ void scale(float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] *= 0.5f;
}
extern "C" __global__ void iterate(float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = y[i];
    for (int k = 0; k < 1000; k++) v = v * 1.0001f + 0.5f;
    y[i] = v;
}
"#;

/// A kernel of [`CODE`] and the memory that it changes.
struct Work {
    kernel: CudaFunction,
    values: CudaSlice<f32>,
}

impl Work {
    fn new(stream: &Arc<CudaStream>, kernel: &str, length: usize) -> Result<Self, Failure> {
        let module = stream.context().load_module(cudarc::nvrtc::compile_ptx(CODE)?)?;
        let values = stream.alloc_zeros(length)?;
        stream.synchronize()?;
        Ok(Self { kernel: module.load_function(kernel)?, values })
    }

    fn launch(&mut self, stream: &Arc<CudaStream>) -> Result<(), Failure> {
        let n = self.values.len() as i32;
        let config = LaunchConfig {
            grid_dim: (n.unsigned_abs().div_ceil(BLOCK), 1, 1),
            block_dim: (BLOCK, 1, 1),
            shared_mem_bytes: 0,
        };
        let mut launch = stream.launch_builder(&self.kernel);
        // SAFETY: both kernels take a pointer to `n` values, and `n`.
        unsafe { launch.arg(&mut self.values).arg(&n).launch(config) }?;
        Ok(())
    }
}

/// Two kernels that are small enough to run at the same time.
pub fn concurrent(stream: &Arc<CudaStream>) -> Result<Operation, Failure> {
    let (stream, other) = (stream.clone(), stream.context().new_stream()?);
    let mut first = Work::new(&stream, "iterate", LENGTH / 64)?;
    let mut second = Work::new(&stream, "iterate", LENGTH / 64)?;
    let streams = vec![other.clone()];
    let call = move || {
        first.launch(&stream)?;
        second.launch(&other)
    };
    Ok(Operation { call: Box::new(call), streams })
}

/// A graph of four nodes.
pub fn graph(stream: &Arc<CudaStream>) -> Result<Operation, Failure> {
    let mut nodes = Vec::new();
    for kernel in ["scale", "iterate", "scale", "iterate"] {
        nodes.push(Work::new(stream, kernel, LENGTH)?);
    }
    // Events of cudarc's own would become nodes.
    // SAFETY: the memory is used on one stream only from here on.
    unsafe { stream.context().disable_event_tracking() };
    let own = stream.context().new_stream()?;
    own.begin_capture(CaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED)?;
    nodes.iter_mut().try_for_each(|node| node.launch(&own))?;
    let flags = GraphFlags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    let graph = own.end_capture(flags)?.ok_or("the capture made no graph")?;
    let call = move || {
        let _memory = &nodes;
        Ok(graph.launch()?)
    };
    Ok(Operation { call: Box::new(call), streams: vec![own] })
}

/// A kernel of each of two threads that race.
pub fn threads(stream: &Arc<CudaStream>) -> Result<Operation, Failure> {
    let (stream, other) = (stream.clone(), stream.context().new_stream()?);
    let mut first = Work::new(&stream, "scale", LENGTH)?;
    let mut second = Work::new(&stream, "iterate", LENGTH)?;
    let streams = vec![other.clone()];
    let launch = |work: &mut Work, stream: &Arc<CudaStream>| {
        stream.context().bind_to_thread().map_err(|error| error.to_string())?;
        work.launch(stream).map_err(|error| error.to_string())
    };
    let call = move || {
        thread::scope(|scope| {
            let first = scope.spawn(|| launch(&mut first, &stream));
            let second = scope.spawn(|| launch(&mut second, &other));
            [first, second].into_iter().try_for_each(|thread| {
                thread.join().unwrap_or_else(|_| Err("a thread panicked".to_owned()))
            })
        })
        .map_err(Failure::from)
    };
    Ok(Operation { call: Box::new(call), streams })
}

/// Two kernels on a stream that is not the given one.
pub fn own_stream(stream: &Arc<CudaStream>) -> Result<Operation, Failure> {
    let own = stream.context().new_stream()?;
    let mut first = Work::new(stream, "scale", LENGTH)?;
    let mut second = Work::new(stream, "iterate", LENGTH)?;
    let streams = vec![own.clone()];
    let call = move || {
        first.launch(&own)?;
        second.launch(&own)
    };
    Ok(Operation { call: Box::new(call), streams })
}
