#[gpuprof::kernel(
    series(
        zip(block = [64, 128], n = [1K, 2K]),
        const TILE = [8, 16, 32],
        cluster = 1..4,
        m = 64..1024,
        where block * m <= 65536,
    ),
    grid = 1,
    block = 64,
    cluster = 2,
)]
pub unsafe fn generic<const TILE: usize>() {}

fn main() {}
