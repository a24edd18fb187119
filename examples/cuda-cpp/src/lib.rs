//! A CUDA C++ kernel, profiled through a host function: which shape should a stencil's block have?
//!
//! [`macro@gpuprof::series`] profiles kernels from any compiler. This one is `kernels/jacobi.cu`,
//! compiled to PTX in advance and embedded, so you need neither a CUDA toolkit nor a GPU to build
//! it. The function reads its axes from [`Run`], sets up with `cudarc` as any program would, and
//! passes the launch to [`Run::measure`].
//!
//! ```text
//! cargo gpuprof run --package cuda-cpp
//! ```
//!
//! Look at `load_sectors_per_request`: it falls from 5.96 with blocks of 8x32 to 4.43 with 32x8. A
//! warp of the narrow block spans four rows, each with two ends that lie in further sectors; a warp
//! of a block that is 32 wide spans one row.

use gpuprof::cudarc::driver::PushKernelArg;
use gpuprof::cudarc::nvrtc::Ptx;
use gpuprof::prelude::*;
use gpuprof::{Extent, Result};

const PTX: &str = include_str!("../kernels/jacobi.ptx");

/// One Jacobi step of the Laplace equation on an n by n grid
///
/// Most left and right neighbours of a point lie in sectors that its warp loads anyway.
#[gpuprof::series(
    block = [8x32, 16x16, 32x8, 64x4],
    n = [1K],
    metrics(throughput, load_sectors_per_request, store_sectors_per_request),
    threshold("where block==32x8 load_sectors_per_request <= 5"),
    threshold("every store_sectors_per_request <= 4"),
)]
fn jacobi(run: &mut Run<'_>) -> Result<()> {
    let (n, block) = (run.value::<u32>("n")?, run.value::<Extent>("block")?);
    let points = n as usize * n as usize;
    run.grid((u64::from(n).div_ceil(block.x), u64::from(n).div_ceil(block.y)))?;
    run.bytes(8 * points)?;
    run.flops(4 * points)?;

    let kernel = run.context().load_module(Ptx::from_src(PTX))?.load_function("jacobi")?;
    run.function(&kernel);
    let stream = run.stream();
    let before: Vec<f32> = (0..points).map(|i| (i % 1009) as f32).collect();
    let on_device = stream.clone_htod(&before)?;
    let mut after = stream.alloc_zeros::<f32>(points)?;

    run.measure(|launch| {
        let mut builder = stream.launch_builder(&kernel);
        builder.arg(&n).arg(&on_device).arg(&mut after);
        // SAFETY: the arguments are the kernel's parameters, and both buffers hold `n` by `n`
        // points.
        unsafe { builder.launch(launch.config()) }
    })?;

    let after = stream.clone_dtoh(&after)?;
    run.verify(|| verify(n as usize, &before, &after))
}

/// Compares `after` with the same step computed on the host.
fn verify(n: usize, before: &[f32], after: &[f32]) -> Result<()> {
    for (i, &device) in after.iter().enumerate() {
        let (row, column) = (i / n, i % n);
        let inner = row > 0 && column > 0 && row < n - 1 && column < n - 1;
        let host = if inner {
            0.25 * ((before[i - 1] + before[i + 1]) + (before[i - n] + before[i + n]))
        } else {
            before[i]
        };
        if (device - host).abs() > 1e-5 * host.abs().max(1.0) {
            return Err(format!("after[{row}][{column}]: device {device}, host {host}").into());
        }
    }
    Ok(())
}
