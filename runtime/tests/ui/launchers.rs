//! Launches by type: wrong arguments, a value that was not compiled, what is no kernel, and keys
//! that say something else.

use gpuprof::cudarc::driver::CudaSlice;
use gpuprof::prelude::*;

#[gpuprof::kernel(
    series(block = 64, n = [1K], const ITEMS = [4, 8]),
    grid = 1,
    args(n, random(n), zeros(n)),
    launcher = Scale,
)]
fn scale<const ITEMS: usize>(a: f32, x: &[f32], y: DisjointSlice<f32>) {
    let _ = (a, x, y);
}

fn launches(run: &Run<'_>, x: &CudaSlice<f32>, y: &mut CudaSlice<f32>) -> gpuprof::Result<()> {
    let kernel = run.kernel(Scale::<8>)?;
    let halves = run.stream().alloc_zeros::<u16>(64)?;
    unsafe {
        kernel.launch(1, 64, (2, x, &mut *y))?;
        kernel.launch(1, 64, (2.0, &halves, &mut *y))?;
        kernel.launch(1, 64, (2.0, x, &*y))?;
        kernel.launch(1, 64, (2.0, x))?;
    }
    run.kernel(Scale::<16>)?;
    run.kernel(scale::<8>)?;
    Ok(())
}

#[gpuprof::kernel(series(block = 64), grid = 1, launcher = "Fill")]
fn fill() {}

const SCAN: &str = "";

#[gpuprof::kernels(ptx = SCAN)]
unsafe extern "C" {
    #[kernel(series(block = 64), grid = 1, launcher = Scan)]
    fn scan();
}

fn main() {}
