// A value of another type than the constant's.

#[gpuprof::kernel(series(block = 64, const TILE = 8), grid = 1)]
pub unsafe fn another_type<const TILE: bool>() {}

fn main() {}
