use gpuprof::prelude::*;

#[gpuprof::kernel(series(block = [64, 128]), grid = 1, max_block = 2 * block)]
pub fn varies() {
    let _ = thread::x();
}

#[gpuprof::kernel(block = 64, grid = 1, min_blocks = 2)]
pub fn alone() {}

fn main() {}
