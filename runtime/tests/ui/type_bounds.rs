//! A type that the kernel's own bounds refuse is an error where the series names it.

use gpuprof::prelude::*;

#[gpuprof::kernel(series(block = 64, T = [f32, u32]), grid = 1, args(zeros(1)))]
fn halved<T: Real>(_y: DisjointSlice<T>) {
    let _ = T::ONE;
}

fn main() {}
