//! Declarations of kernels that live elsewhere, with every kind of mistake.

#[gpuprof::kernels(include = ["no-such-folder"], defines(RADIX = 4))]
unsafe extern "C" {
    #[kernel(series(block = [64]), grid = 1, args(1))]
    fn nowhere(n: u32);
}

#[gpuprof::kernels(ptx = "kernels/missing.ptx", define(T = 4, A, A))]
unsafe extern "C" {
    #[kernel(series(block = [64], const ITEMS = [1, 2]), grid = 1, args(zeros(1)))]
    fn unused<const ITEMS: u32>(y: *mut f32);

    #[kernel(series(block = [64]), grid = 1, args(1, zeros(1)), max_block = 64, symbol = "k_{ITEM}")]
    fn types(n: &[f32], y: *mut [f32; 2], z: f32x4);

    fn bare(n: u32);

    static COEFFICIENTS: [f32; 4];
}

#[gpuprof::kernels(cuda = [])]
extern "system" {
    #[kernel(series(block = [64], const x = [1]), grid = 1, args(1), symbol = 7, verify = on_host)]
    fn returns(n: u32) -> u32;
}

#[gpuprof::kernel(series(block = [64]), grid = 1, args(1), symbol = "other")]
fn here(n: u32) {}

#[gpuprof::kernels(cuda = "a.cu")]
fn not_a_block() {}

#[gpuprof::kernels(ptx = "tests/ui/declared.rs")]
unsafe extern "C" {
    static mut nobody: [u32; 4];
    static sum: f64x2;
    #[link_name = 4]
    static name: f32;

    #[kernel(series(block = [64]), grid = 1, args(1), globals(other = 1, name = 2, name = 3, list()))]
    fn sets(n: u32);
}

#[gpuprof::kernels(ptx = "tests/ui/declared.rs")]
unsafe extern "C" {
    static mut nobody: [u32; 4];

    #[kernel(series(block = [64]), grid = 1, args(1))]
    fn forgets(n: u32);
}

#[gpuprof::kernel(series(block = [64]), grid = 1, args(1), globals(sum = 4))]
fn in_rust(_n: u32) {}

#[gpuprof::kernels(cuda = "tests/ui/declared.rs")]
unsafe extern "C" {
    #[kernel(series(block = [64], mode = [fast, exact]), grid = 1, args(1), symbol = "k<{mode}, {block}>")]
    fn words(#[link_name = "N"] n: u32);

    #[kernel(series(block = [64]), grid = 1, args(zeros(1), 1))]
    fn anything(x: *const core::ffi::c_void, #[cfg(no)] #[link_name(N)] n: Shape);

    #[kernel(series(block = [64]), grid = 1, args(zeros(1), zeros(1), zeros(1)))]
    fn elements(x: *const Shape, y: *mut core::ffi::c_float, z: *mut mine::f16);
}


#[gpuprof::kernels(cubin = "tests/ui/missing.cubin", fatbin = "tests/ui/declared.rs", options = ["-O3"])]
unsafe extern "C" {
    #[kernel(series(block = [64]), grid = 1, args(1))]
    fn twice(n: u32);
}

#[gpuprof::kernels(cuda = "tests/ui/declared.rs", compiler = clang)]
unsafe extern "C" {
    #[kernel(series(block = [64]), grid = 1, args(1))]
    fn by_another(n: u32);
}

#[gpuprof::kernels(cubin = CODE, define(RADIX = 4), compiler = nvcc)]
unsafe extern "C" {
    #[kernel(series(block = [64], const ITEMS = [1, 2]), grid = 1, args(1))]
    fn compiled_already(n: u32);
}

fn main() {}
