//! Kernels that a `macro_rules!` macro writes, one a type.

use gpuprof::prelude::*;

macro_rules! scale {
    ($name:ident, $t:ty, $factor:expr, $blocks:literal, $verify:path) => {
        #[gpuprof::kernel(
            series(block = [$blocks, 128], n = 1K),
            grid = n.div_ceil(block),
            args(n, $factor, random(n)),
            verify = $verify,
            metrics(registers),
        )]
        pub unsafe fn $name(n: u32, factor: $t, x: *mut $t) {
            let own = shared!([$t; 1024]);
            let i = thread::global_x();
            if i < n {
                unsafe {
                    own.write(thread::x(), *x.add(i as usize));
                    *x.add(i as usize) = factor * own.read(thread::x());
                }
            }
        }
    };
}

fn on_host<T: Copy + std::ops::Mul<Output = T>>(_n: u32, factor: T, x: &mut [T]) {
    x.iter_mut().for_each(|x| *x = factor * *x);
}

scale!(scale_f32, f32, 2.0, 64, crate::on_host);
scale!(scale_u64, u64, 3, 256, on_host);

fn main() {
    let mut found: Vec<_> =
        gpuprof::__private::SERIES.iter().map(|e| (e.kernel, e.clauses[0])).collect();
    found.sort_unstable();
    assert_eq!(found, [("scale_f32", "block=[64, 128]"), ("scale_u64", "block=[256, 128]")]);
}
