#[gpuprof::kernel(series(block = 64, n = 1K), grid = 1, args("x.bin"))]
pub fn text(x: &[f32]) {
    let _ = x;
}

#[gpuprof::kernel(series(block = 64, n = 1K), grid = 1, args(indices(n)))]
pub fn another_type(x: &[u32]) {
    let _ = x;
}

#[gpuprof::kernel(series(block = 64, n = 1K), grid = 1, args(permutation(n), normal(n, 0, 1)))]
pub fn other_kinds(x: &[f32], y: &[u8]) {
    let _ = (x, y);
}

#[gpuprof::kernel(series(block = 64, n = 1K), grid = 1, args(sorted("x")))]
pub fn unsorted(x: &[f32]) {
    let _ = x;
}

#[gpuprof::kernel(series(block = 64, n = 1K), grid = 1, args(from_file("x.bin", n)))]
pub fn swapped(x: &[f32]) {
    let _ = x;
}

fn indices(n: u64) -> Vec<u64> {
    (0..n).collect()
}

fn main() {}
