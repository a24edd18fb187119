//! Every key of `#[kernel]`, and the resulting entry of the registry.

use gpuprof::__private::{Body, SERIES};
use gpuprof::prelude::*;

/// Scales `x`.
///
/// Twice over.
#[gpuprof::kernel(
    series(block = 64..=1024, n = 1K, 16K, dtype = f32-acc, f16),
    grid = n.div_ceil(block),
    shared = 4 * block,
    args(n, if dtype == "f16" { 1.0 } else { 2.0 }, random_in(n, 0.0..1.0), iota(n)),
    bytes = 8 * n,
    flops = n,
    metrics(registers, "dram__bytes.sum"),
    threshold("every registers <= 32", "where dtype==f16 and n==1K duration <= 1 ms"),
    threshold("best throughput >= 60% of peak"),
    verify = scale_on_host,
    tolerance = (absolute(1e-7), 1e-4),
    reset = each,
    seed = 7,
    name = "scale_f32",
)]
#[allow(unused_mut)]
pub unsafe fn scale(mut n: u32, a: f32, x: *const f32, y: *mut f32) {
    let i = thread::global_x();
    if i < n {
        unsafe { *y.add(i as usize) = (a * *x.add(i as usize)).sqrt().fast_exp() };
    }
}

#[gpuprof::host]
fn scale_on_host(_n: u32, a: f32, x: &[f32], y: &mut [f32]) {
    let all: Vec<f32> = x.iter().map(|x| (a * x).sqrt().fast_exp()).collect();
    y.copy_from_slice(&all);
}

fn main() {
    let [entry] = &*SERIES else { panic!("{} entries", SERIES.len()) };
    assert_eq!((entry.kernel, entry.line, entry.docs), ("scale_f32", 26, "Scales `x`.\n\nTwice over."));
    assert!(entry.file.ends_with("kernel.rs"), "{}", entry.file);
    assert_eq!(entry.clauses, ["block=64..=1024", "n=1K, 16K", "dtype=f32-acc, f16"]);
    assert_eq!(entry.metrics, ["registers", "dram__bytes.sum"]);
    assert_eq!(entry.thresholds.len(), 3);
    assert!(matches!(entry.body, Body::Kernel { symbol: "scale_f32", .. }));
}
