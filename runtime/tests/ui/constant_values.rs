// A value that the constant's type cannot hold is told on the host, before the kernels are built.

#[gpuprof::kernel(series(block = 64, const TILE = 8, 300), grid = 1)]
pub unsafe fn too_large<const TILE: u8>() {}

fn main() {}
