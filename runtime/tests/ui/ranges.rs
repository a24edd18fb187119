#[gpuprof::kernel(
    series(
        block = 64..1000,
        n = [1K, 1 << 70],
        m = 64..=100,
        dtype = f32, 16,
        tile = 16x16, 8xy,
        shared = -4,
        p = 1..1024 * 1,
        empty = [],
    ),
    grid = 1,
)]
pub unsafe fn nothing() {}

fn main() {}
