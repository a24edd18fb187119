#[gpuprof::kernel(series(block = 64, n = 1K), grid = 1, args(n, random(n)))]
pub unsafe fn two_missing(n: u32, x: *const f32, y: *mut f32, z: *mut f32) {
    let _ = (n, x, y, z);
}

#[gpuprof::kernel(series(block = 64, n = 1K), grid = 1, args(n, random(n), zeros(n)))]
pub unsafe fn one_too_many(n: u32, x: *const f32) {
    let _ = (n, x);
}

#[gpuprof::kernel(series(block = 64), grid = 1)]
pub unsafe fn no_args(n: u32) {
    let _ = n;
}

fn main() {}
