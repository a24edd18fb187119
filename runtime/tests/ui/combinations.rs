// Axes that do not combine.

#[gpuprof::kernel(
    series(
        zip(block = [64, 128], n = [1K, 2K, 3K]),
        m = 64..1024,
    ),
    grid = 1,
)]
pub unsafe fn unequal() {}

#[gpuprof::kernel(series(block = 64, n = 1K, where blok * n <= 65536), grid = 1)]
pub unsafe fn misspelt() {}

#[gpuprof::kernel(series(block = 64, n = 1K, where block * n), grid = 1)]
pub unsafe fn no_condition() {}

#[gpuprof::kernel(series(block = 64, dtype = f32, twice = 2 * dtype), grid = 1)]
pub unsafe fn no_number() {}

#[gpuprof::kernel(series(block = 64, zip(block = 1, 2, n = 3, 4)), grid = 1)]
pub unsafe fn twice() {}

#[gpuprof::kernel(series(block = 64), where block > 1, grid = 1)]
pub unsafe fn misplaced() {}

#[gpuprof::kernel(series(block = 64, n = 1 where n > 1), grid = 1)]
pub unsafe fn no_comma() {}

fn main() {}
