//! A kernel in a `.cu` file, which `../changed-line.sh` copies here, with one configuration.

#[gpuprof::kernels(cuda = "kernels/jacobi.cu")]
unsafe extern "C" {
    #[kernel(
        series(block = [32x8], n = [256]),
        grid = (n.div_ceil(block.x), n.div_ceil(block.y)),
        args(n, random(n * n), zeros(n * n)),
    )]
    fn jacobi(n: u32, before: *const f32, after: *mut f32);
}
