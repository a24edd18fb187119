// Constants and generic parameters that do not fit each other.

const SIZE: u32 = 4;

#[gpuprof::kernel(series(block = 64), grid = 1)]
pub unsafe fn no_values<const TILE: usize>() {}

#[gpuprof::kernel(series(block = 64, TILE = 8, 16), grid = 1)]
pub unsafe fn plain_axis<const TILE: usize>() {}

#[gpuprof::kernel(series(block = 64, const TILE = 8, 16), grid = 1)]
pub unsafe fn no_parameter() {}

#[gpuprof::kernel(series(block = 64), grid = 1)]
pub unsafe fn of_a_type<T>() {}

#[gpuprof::kernel(
    series(block = 64, const A = 1..10 step 1, const B = 1..10 step 1),
    grid = 1,
)]
pub unsafe fn too_many<const A: u32, const B: u32>() {}

#[gpuprof::kernel(series(block = 64, const KIND = fast, slow), grid = 1)]
pub unsafe fn word<const KIND: bool>() {}

#[gpuprof::kernel(series(block = 64, const TILE = 8), grid = 1)]
pub unsafe fn elsewhere<const TILE: u32>() {
    let _ = self::SIZE;
    let _ = super::SIZE * TILE;
}

#[gpuprof::series(n = 1, const TILE = 8)]
fn on_host(_run: &mut gpuprof::Run<'_>) -> gpuprof::Result<()> {
    Ok(())
}

fn main() {}
