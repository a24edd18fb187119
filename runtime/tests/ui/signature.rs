use gpuprof::prelude::*;

struct Pair(f32, f32);

#[gpuprof::kernel(block = 64, grid = 1, args(1, 2, 3, 4))]
pub async fn wrong(flag: bool, x: &f32, pairs: *mut Pair, _: u32) -> f32 {
    let _ = (flag, x, pairs);
    thread::x() as f32
}

#[gpuprof::kernel(block = 64, grid = 1)]
pub unsafe extern "C" fn with_abi() {}

#[gpuprof::kernel(block = 64, grid = 1, args(zeros(4), zeros(4)))]
pub fn exclusive(x: &mut [f32], y: DisjointSlice<bool>) {
    let _ = (x, y);
}

#[gpuprof::kernel(block = 64, grid = 1)]
struct NotAFunction;

const _: NotAFunction = NotAFunction;

fn main() {
    let _ = Pair(0.0, 0.0).0 + Pair(0.0, 0.0).1;
}
