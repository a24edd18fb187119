//! Axes that combine, and a kernel with constants, in the registry.

use gpuprof::__private::{Body, SERIES};
use gpuprof::prelude::*;

const MARGIN: usize = 1;

#[gpuprof::kernel(
    series(
        const TILE = [8, 16],
        const FAST = true, false,
        zip(n = [1K, 2K], m = [3, 4]),
        block = TILE * TILE,
        cluster = 1, 2,
        where !(TILE == 8 && FAST == true) && block * n <= 1M,
    ),
    grid = if FAST { n.div_ceil(TILE) } else { m },
    args(n, zeros(n)),
)]
#[cfg(not(any()))]
pub unsafe fn tiles<const TILE: usize, const FAST: bool>(n: u32, out: *mut f32) {
    let tile = shared!([f32; TILE * TILE + MARGIN]);
    if FAST && thread::x() < n {
        unsafe { *out = tile.read(TILE as u32) };
    }
}

#[gpuprof::kernel(series(warps = 1..=4, block = warps * 32), grid = 1, cluster = 2)]
pub unsafe fn derived() {}

fn main() {
    let mut entries: Vec<_> = SERIES.iter().collect();
    entries.sort_by_key(|entry| entry.line);
    let [tiles, derived] = entries[..] else { panic!("{} entries", entries.len()) };
    assert_eq!(
        tiles.clauses,
        [
            "const TILE=[8, 16]",
            "const FAST=true, false",
            "zip(n=[1K, 2K], m=[3, 4])",
            "block=TILE*TILE",
            "cluster=1, 2",
            "where!(TILE==8&&FAST==true)&&block*n<=1M",
        ]
    );
    assert!(matches!(
        tiles.body,
        Body::Kernel { symbol: "tiles", constants: ["TILE", "FAST"], .. }
    ));
    assert_eq!(derived.clauses, ["warps=1..=4", "block=warps*32"]);
}
