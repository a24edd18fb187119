//! Prefix sums in one pass: each element is read once and written once.
//!
//! A block takes the next tile of the vector and scans it: in each thread, by shuffles across the
//! warp, and through one value per warp in shared memory. It gets the sum before the tile by
//! *decoupled look-back* (Merrill and Garland 2016). Each tile publishes its own sum at once, and
//! its prefix once it knows that; a warp looks back over 32 tiles at a time and adds up sums until
//! it meets a prefix. Tiles are dealt out by a ticket, so a tile waits only for tiles whose blocks
//! run already.
//!
//! ```text
//! cargo gpuprof run --package scan
//! cargo gpuprof run --package scan --series n=64M           # on a GPU
//! ```
//!
//! Look at `global_sectors`: 8 bytes per element are 131,072 of them. The communication of tiles
//! adds 4.5 % with 1,024 elements a tile, and 0.2 % with 16,384.

use gpuprof::atomic::{Atomic, Ordering};
use gpuprof::prelude::*;

/// Maximum number of warps in a block.
const MAX_WARPS: usize = 32;

/// The slot of a block's tile number.
const TILE: u32 = MAX_WARPS as u32;

/// The slot of the sum before a block's tile.
const BEFORE: u32 = TILE + 1;

/// In the upper half of a tile's word: the lower half is the tile's sum.
const SUM: u64 = 1 << 32;

/// In the upper half of a tile's word: the lower half is the sum up to the tile's end.
const PREFIX: u64 = 2 << 32;

/// `$body` for each `$v` below `$count`, which is at most 8, without a loop: LLVM does not unroll
/// one with shuffles, and the vectors would lie in local memory.
macro_rules! each {
    ($v:ident of $count:ident $body:block) => {
        each!(@ $v $count $body 0, 1, 2, 3, 4, 5, 6, 7)
    };
    (@ $v:ident $count:ident $body:block $($number:literal),*) => {
        $(if $count > $number {
            let $v: usize = $number;
            $body
        })*
    };
}

/// y ← the sums of x up to each element, wrapping
///
/// Blocks must consist of whole warps, and `n` of whole tiles.
#[gpuprof::kernel(
    series(block = [256, 512], const VECTORS = [1, 4, 8], n = [512K]),
    grid = n / (4 * VECTORS * block),
    args(random(n / 4), zeros(n / 4), zeros(1), zeros(n / (4 * VECTORS * block))),
    bytes = 8 * n,
    metrics(throughput, load_sectors_per_request, store_sectors_per_request, global_sectors),
    threshold("every load_sectors_per_request <= 16"),
    threshold("every store_sectors_per_request <= 16"),
    threshold("every bank_conflicts == 0"),
    verify = scan_on_host,
)]
pub unsafe fn scan<const VECTORS: usize>(
    x: &[u32x4],
    mut y: DisjointSlice<u32x4>,
    tickets: *mut u32,
    tiles: *mut u64,
) {
    let shared = shared!([u32; MAX_WARPS + 2]);
    if thread::x() == 0 {
        // SAFETY: `tickets` holds one element, which is accessed with atomics only.
        unsafe { shared.write(TILE, atomic::add(tickets, 1)) };
    }
    block::sync();
    // SAFETY: it was written before the barrier.
    let tile = unsafe { shared.read(TILE) };
    let (warp, lane) = (thread::warp(), thread::lane());
    let first_of_warp = (tile * block::dim_x() + warp * warp::SIZE) as usize * VECTORS;
    let first = first_of_warp + lane as usize;

    let mut vectors = [u32x4::splat(0); VECTORS];
    each!(v of VECTORS {
        vectors[v] = x[first + v * warp::SIZE as usize];
    });
    let mut sum = 0_u32;
    each!(v of VECTORS {
        let [a, b, c, d] = vectors[v].to_array();
        let (b, c, d) = (a + b, a + b + c, a + b + c + d);
        let through = warp::inclusive_sum(d);
        vectors[v] = u32x4::from_array([a, b, c, d]) + u32x4::splat(sum + through - d);
        sum += warp::shuffle_index(through, warp::SIZE - 1);
    });
    if lane == 0 {
        // SAFETY: each warp writes its own element.
        unsafe { shared.write(warp, sum) };
    }
    block::sync();
    if warp == 0 {
        let warps = block::dim_x() / warp::SIZE;
        // SAFETY: as many elements were written before the barrier as the block has warps, and only
        // this warp accesses them until the next.
        unsafe {
            let own = if lane < warps { shared.read(lane) } else { 0 };
            let through = warp::inclusive_sum(own);
            let before = look_back(tiles, tile, warp::shuffle_index(through, warp::SIZE - 1));
            shared.write(lane, through - own);
            if lane == 0 {
                shared.write(BEFORE, before);
            }
        }
    }
    block::sync();
    // SAFETY: both were written before the barrier.
    let before = unsafe { shared.read(BEFORE) + shared.read(warp) };
    each!(v of VECTORS {
        let vector = vectors[v] + u32x4::splat(before);
        // SAFETY: tiles are dealt out once, and each thread has its own vectors of one.
        unsafe { y.write(first + v * warp::SIZE as usize, vector) };
    });
}

/// The sum of all tiles before `tile`, which has the sum `sum`; for a whole warp.
///
/// # Safety
/// `tiles` holds a word for each tile, and blocks of all tiles below `tile` run.
unsafe fn look_back(tiles: *mut u64, tile: u32, sum: u32) -> u32 {
    let lane = thread::lane();
    // SAFETY: the caller's, for a tile.
    let word = |tile: u32| unsafe { Atomic::from_ptr(tiles.add(tile as usize)) };
    if lane == 0 && tile > 0 {
        word(tile).store(SUM | u64::from(sum), Ordering::Relaxed);
    }
    let (mut before, mut end) = (0, tile);
    loop {
        // Before the first tile there is nothing, and that is known.
        let known = if lane < end { word(end - 1 - lane).load(Ordering::Relaxed) } else { PREFIX };
        let prefixes = warp::ballot(known >= PREFIX);
        let nearest = prefixes.trailing_zeros();
        if warp::any(known < SUM && lane < nearest) {
            continue;
        }
        before += warp::reduce_add(if lane <= nearest { known as u32 } else { 0 });
        if prefixes != 0 {
            break;
        }
        end -= warp::SIZE;
    }
    if lane == 0 {
        word(tile).store(PREFIX | u64::from(before + sum), Ordering::Relaxed);
    }
    before
}

/// The expected `y`, and the final state of the tiles.
#[gpuprof::host]
fn scan_on_host(x: &[u32x4], y: &mut [u32x4], tickets: &mut [u32], tiles: &mut [u64]) {
    let mut sum = 0_u32;
    let of_tile = x.len() / tiles.len();
    let parts = x.chunks(of_tile).zip(y.chunks_mut(of_tile)).zip(tiles);
    for ((x, y), tile) in parts {
        for (x, y) in x.iter().zip(y) {
            *y = x.map(|x| {
                sum = sum.wrapping_add(x);
                sum
            });
        }
        *tile = PREFIX | u64::from(sum);
        tickets[0] += 1;
    }
}
