use gpuprof::prelude::*;

struct Pair(f32, f32);

#[gpuprof::kernel(block = 64, grid = 1, args(1, 2, 3, 4))]
pub async fn wrong(flag: char, x: &f32, pairs: *mut Pair, _: u32) -> f32 {
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

#[gpuprof::kernel(block = 64, grid = 1, args(Plain(1)))]
pub fn by_value(plain: Plain) {
    let _ = plain;
}

#[derive(Clone, Copy)]
#[repr(C)]
pub struct Plain(u32);

#[derive(Clone, Copy, gpuprof::Parameter)]
pub struct Rusts(u32);

#[derive(Clone, Copy, gpuprof::Parameter)]
#[repr(C)]
pub struct WithText {
    text: &'static str,
}

fn main() {
    let _ = Pair(0.0, 0.0).0 + Pair(0.0, 0.0).1;
}
