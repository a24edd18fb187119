//! Operations of libraries: cuBLAS, candle and CubeCL.

use std::sync::Arc;

use candle_core::{DType, Device, Tensor};
use candle_nn::{Module, Optimizer, SGD, VarBuilder, VarMap};
use cubecl::prelude::*;
use cudarc::cublas::sys::cublasOperation_t::CUBLAS_OP_N;
use cudarc::cublas::{CudaBlas, Gemm, GemmConfig};
use cudarc::driver::CudaStream;

use crate::operation::{Failure, Operation};

/// A product of two matrices.
pub fn cublas(stream: &Arc<CudaStream>) -> Result<Operation, Failure> {
    const N: usize = 256;
    let blas = CudaBlas::new(stream.clone())?;
    let factor = |step: usize| (0..N * N).map(|i| (i % step) as f32 * 0.1).collect::<Vec<_>>();
    let (a, b) = (stream.clone_htod(&factor(7))?, stream.clone_htod(&factor(5))?);
    let mut c = stream.alloc_zeros::<f32>(N * N)?;
    let n = N as i32;
    let config = GemmConfig {
        transa: CUBLAS_OP_N,
        transb: CUBLAS_OP_N,
        m: n,
        n,
        k: n,
        alpha: 1.0,
        lda: n,
        ldb: n,
        beta: 0.0,
        ldc: n,
    };
    // SAFETY: each matrix has the rows and columns of `config`.
    let call = move || Ok(unsafe { blas.gemm(config, &a, &b, &mut c) }?);
    Ok(Operation { call: Box::new(call), streams: Vec::new() })
}

/// A device of candle with a separate stream.
fn candle_device() -> Result<(Device, Arc<CudaStream>), Failure> {
    let device = Device::new_cuda_with_stream(0)?;
    let stream = device.as_cuda_device()?.cuda_stream();
    Ok((device, stream))
}

/// y ← x² + 1, by two kernels of candle.
pub fn candle() -> Result<Operation, Failure> {
    let (device, stream) = candle_device()?;
    let x = Tensor::randn(0f32, 1.0, 1 << 20, &device)?;
    stream.synchronize()?;
    let call = move || {
        (x.sqr()? + 1.0)?;
        Ok(())
    };
    Ok(Operation { call: Box::new(call), streams: vec![stream] })
}

/// A step of gradient descent: a network of two layers forward and backward, and its update.
pub fn training() -> Result<Operation, Failure> {
    let (device, stream) = candle_device()?;
    let variables = VarMap::new();
    let builder = VarBuilder::from_varmap(&variables, DType::F32, &device);
    let first = candle_nn::linear(128, 256, builder.pp("first"))?;
    let second = candle_nn::linear(256, 10, builder.pp("second"))?;
    let input = Tensor::randn(0f32, 1.0, (64, 128), &device)?;
    let target = Tensor::randn(0f32, 1.0, (64, 10), &device)?;
    let mut descent = SGD::new(variables.all_vars(), 1e-9)?;
    stream.synchronize()?;
    let call = move || {
        let output = second.forward(&first.forward(&input)?.relu()?)?;
        Ok(descent.backward_step(&(output - &target)?.sqr()?.mean_all()?)?)
    };
    Ok(Operation { call: Box::new(call), streams: vec![stream] })
}

#[cube(launch_unchecked)]
fn axpy(x: &Array<f32>, y: &mut Array<f32>) {
    if ABSOLUTE_POS < y.len() {
        y[ABSOLUTE_POS] += 0.5 * x[ABSOLUTE_POS];
    }
}

/// y ← y + 0.5 x by CubeCL, which launches on its own streams and waits for the result.
pub fn cubecl() -> Result<Operation, Failure> {
    const N: usize = 1 << 20;
    const BLOCK: u32 = 256;
    let client = cubecl::cuda::CudaRuntime::client(&Default::default());
    let x = client.create_from_slice(f32::as_bytes(&[1.0; N]));
    let y = client.create_from_slice(f32::as_bytes(&[2.0; N]));
    let call = move || {
        let cubes = CubeCount::Static((N as u32).div_ceil(BLOCK), 1, 1);
        // SAFETY: both arrays have N values, and the kernel compares its position with that.
        unsafe {
            axpy::launch_unchecked::<cubecl::cuda::CudaRuntime>(
                &client,
                cubes,
                CubeDim::new_1d(BLOCK),
                ArrayArg::from_raw_parts::<f32>(&x, N, 1),
                ArrayArg::from_raw_parts::<f32>(&y, N, 1),
            )
        }?;
        Ok(cubecl::future::block_on(client.sync())?)
    };
    Ok(Operation { call: Box::new(call), streams: Vec::new() })
}
