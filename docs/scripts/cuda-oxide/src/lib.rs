//! Kernels in NVIDIA's Rust.

use cuda_device::{
    DisjointSlice, SharedArray, cuda_module, kernel, launch_bounds, launch_contract, thread,
};

#[cuda_module]
pub mod kernels {
    use super::*;

    /// y ← a·x + y
    #[gpuprof::kernel(
        series(block = 64..=512, n = [1M]),
        grid = n.div_ceil(block),
        args(2.0, random(n), random(n)),
        bytes = 12 * n,
        flops = 2 * n,
        verify = saxpy_on_host,
        threshold("every load_sectors_per_request <= 4"),
    )]
    #[kernel]
    #[launch_bounds(256)]
    pub fn saxpy(a: f32, x: &[f32], mut y: DisjointSlice<f32>) {
        let i = thread::index_1d();
        let at = i.get();
        if let Some(y) = y.get_mut(i) {
            *y += a * x[at];
        }
    }

    /// y ← sums of ITEMS neighbours each
    #[gpuprof::kernel(
        series(block = [128, 256], n = [256K], const ITEMS = [1, 4, 8]),
        grid = n.div_ceil(block),
        args(random(n * ITEMS), zeros(n)),
        bytes = 4 * n * (ITEMS + 1),
        verify = |x: &[f32], y: &mut [f32]| {
            for (y, x) in y.iter_mut().zip(x.chunks_exact(ITEMS as usize)) {
                *y = x.iter().sum();
            }
        },
        threshold("where ITEMS==1 load_sectors_per_request <= 4"),
    )]
    #[kernel]
    pub fn sums<const ITEMS: usize>(x: &[f32], mut y: DisjointSlice<f32>) {
        let i = thread::index_1d();
        let first = i.get() * ITEMS;
        if let Some(y) = y.get_mut(i) {
            let mut sum = 0.0;
            let mut k = 0;
            while k < ITEMS {
                sum += x[first + k];
                k += 1;
            }
            *y = sum;
        }
    }

    /// The sum of each block of 256 elements, in shared memory
    #[gpuprof::kernel(
        series(block = [128, 256], n = [64K]),
        grid = n / 256,
        args(random(n), zeros(n / 256)),
        bytes = 4 * n,
        verify = |x: &[f32], sums: &mut [f32]| {
            for (sum, x) in sums.iter_mut().zip(x.chunks_exact(256)) {
                *sum = x.iter().sum();
            }
        },
        threshold("every bank_conflicts <= 0"),
    )]
    #[kernel]
    #[launch_bounds(256)]
    #[launch_contract(domain = 1, block = (256, 1, 1))]
    pub fn block_sums(x: &[f32], mut sums: DisjointSlice<f32>) {
        static mut TILE: SharedArray<f32, 256> = SharedArray::UNINIT;
        let lane = thread::threadIdx_x() as usize;
        let at = thread::index_1d().get();
        unsafe { TILE[lane] = x[at] };
        thread::sync_threads();
        let mut half = 128;
        while half > 0 {
            if lane < half {
                unsafe { TILE[lane] += TILE[lane + half] };
            }
            thread::sync_threads();
            half /= 2;
        }
        if lane == 0 {
            let block = thread::blockIdx_x() as usize;
            unsafe { *sums.get_unchecked_mut(block) = TILE[0] };
        }
    }
}

fn saxpy_on_host(a: f32, x: &[f32], y: &mut [f32]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
}
