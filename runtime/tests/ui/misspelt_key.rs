use gpuprof::prelude::*;

#[gpuprof::kernel(series(block = 64), gird = n, treshold("every registers <= 32"), speed = 9, args(1))]
pub unsafe fn scale(n: u32) {
    let _ = (n, thread::x());
}

fn main() {}
