#[gpuprof::kernel(series(n = 1K))]
pub unsafe fn without_block_and_grid() {}

#[gpuprof::kernel(series(block = 64, grid = 1..8), grid = 4)]
pub unsafe fn grid_twice() {}

#[gpuprof::kernel(series(block = 64, type = 1), grid = 1, grid = 2, name = "two words")]
pub unsafe fn names() {}

#[gpuprof::kernel(series = 64, block(64), grid = 1)]
pub unsafe fn forms() {}

fn main() {}
