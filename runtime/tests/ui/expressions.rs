#[gpuprof::kernel(
    series(block = 64, n = 1K),
    grid = n.div_ceil(blok),
    args(n, m, random(n)),
    bytes = 4 * random,
    verify = on_host,
)]
pub unsafe fn scale(n: u32, a: f32, x: *mut f32) {
    let _ = (n, a, x);
}

fn on_host(_n: u32, _a: f32, _x: &[u32]) {}

fn main() {}
