//! One pass of a radix sort: keys move to where their digit of eight bits belongs, in order.
//!
//! A block takes the next tile of keys (Adinets and Merrill 2022, *Onesweep*). Its warps rank each
//! key among those of the same digit, by one vote a bit. A thread for each digit then looks back
//! over the tiles before, which publish how many keys of the digit they have, until it meets one
//! that knows the sum up to its end. In shared memory the keys of a tile are brought into their
//! order, so that neighbouring threads store neighbouring keys. Each key is read once and written
//! once; where each digit begins in the result is an input.
//!
//! ```text
//! cargo gpuprof run --package radix-sort
//! cargo gpuprof run --package radix-sort --series n=48M     # on a GPU
//! ```
//!
//! Look at `store_sectors_per_request`: larger tiles have longer runs of a digit, so a warp's 32
//! keys touch fewer sectors.

use gpuprof::atomic::{Atomic, Ordering};
use gpuprof::prelude::*;

/// How many values a digit has.
const DIGITS: usize = 256;

/// Maximum number of warps in a block.
const MAX_WARPS: usize = 16;

/// In the upper bits of a word: the lower ones are how many keys of a digit a tile has.
const COUNT: u32 = 1 << 30;

/// In the upper bits of a word: the lower ones are how many there are up to the tile's end.
const PREFIX: u32 = 2 << 30;

/// Does `$body` for each `$i` below `$count`, which is at most 12, without a loop: what it keeps in
/// arrays stays in registers.
macro_rules! unrolled {
    ($i:ident < $count:expr => $body:block) => {
        unrolled!(@ $i $count, $body, 0 1 2 3 4 5 6 7 8 9 10 11)
    };
    (@ $i:ident $count:expr, $body:block, $($value:literal)*) => {
        $(if $value < $count {
            let $i: usize = $value;
            $body
        })*
    };
}

/// sorted ← keys in the order of their digits at bit `shift`; keys of one digit keep their order
///
/// A block must have a thread for each of the 256 digits.
#[gpuprof::kernel(
    series(block = [256, 512], const ITEMS = [8, 12], n = [96K], shift = [8]),
    grid = n / (ITEMS * block),
    shared = 4 * ITEMS * block,
    args(
        shift,
        keys(n),
        starts(n, shift),
        zeros(n),
        zeros(1),
        zeros(256 * (n / (ITEMS * block))),
    ),
    bytes = 8 * n,
    metrics(throughput, load_sectors_per_request, store_sectors_per_request, global_sectors),
    threshold("every load_sectors_per_request <= 4"),
    threshold("every store_sectors_per_request <= 8"),
    verify = pass_on_host,
)]
pub unsafe fn radix_pass<const ITEMS: usize>(
    shift: u32,
    keys: &[u32],
    starts: &[u32],
    mut sorted: DisjointSlice<u32>,
    tickets: *mut u32,
    known: *mut u32,
) {
    let of_tile = dynamic_shared!(u32);
    let of_warps = shared!([[u32; DIGITS]; MAX_WARPS]);
    let firsts = shared!([u32; DIGITS]);
    let places = shared!([u32; DIGITS]);
    let (thread, size) = (thread::x(), block::dim_x());
    let (warp, lane) = (thread::warp(), thread::lane());
    let digit_of = |key: u32| (key >> shift) % DIGITS as u32;
    for digit in (lane..DIGITS as u32).step_by(warp::SIZE as usize) {
        // SAFETY: each warp has counts of its own, and each lane digits of its own.
        unsafe { of_warps.write((warp, digit), 0) };
    }
    // SAFETY: `tickets` holds one element, which nothing else accesses.
    let tile = unsafe { next_tile(tickets) };
    let first = ((tile * size + warp * warp::SIZE) as usize) * ITEMS + lane as usize;

    let (mut own, mut ranks) = ([0; ITEMS], [0; ITEMS]);
    unrolled!(i < ITEMS => {
        own[i] = keys[first + i * warp::SIZE as usize];
        // SAFETY: only this warp accesses its counts until the barrier.
        ranks[i] = unsafe { rank(of_warps, digit_of(own[i])) };
    });
    block::sync();
    // SAFETY: the counts were written before the barrier, and a thread has at most one digit;
    // `known` holds a word for each digit of each tile.
    unsafe {
        let count = if thread < DIGITS as u32 { scan_warps(of_warps, thread) } else { 0 };
        let in_tile = block::exclusive_sum(count, shared!([u32; block::SCRATCH]));
        if thread < DIGITS as u32 {
            let before = starts[thread as usize] + look_back(known, tile, thread, count);
            firsts.write(thread, in_tile);
            places.write(thread, before.wrapping_sub(in_tile));
        }
    }
    block::sync();
    unrolled!(i < ITEMS => {
        let digit = digit_of(own[i]);
        // SAFETY: what is read was written before the barrier; the key has a place of its own.
        unsafe {
            let at = firsts.read(digit) + of_warps.read((warp, digit)) + ranks[i];
            of_tile.write(at, own[i]);
        }
    });
    block::sync();
    unrolled!(i < ITEMS => {
        let at = i as u32 * size + thread;
        // SAFETY: the keys were written before the barrier, and each has a place of its own.
        unsafe {
            let key = of_tile.read(at);
            sorted.write(places.read(digit_of(key)).wrapping_add(at) as usize, key);
        }
    });
}

/// The next tile, for all threads of the block; with a barrier.
///
/// # Safety
/// `tickets` holds one element, which only this accesses.
unsafe fn next_tile(tickets: *mut u32) -> u32 {
    let ticket = shared!([u32; 1]);
    if thread::x() == 0 {
        // SAFETY: the caller's; one thread writes.
        unsafe { ticket.write(0, atomic::add(tickets, 1)) };
    }
    block::sync();
    // SAFETY: it was written before the barrier.
    unsafe { ticket.read(0) }
}

/// How many keys of `digit` the warp had before this lane's, by its counts, to which it adds its
/// keys; for a whole warp.
///
/// # Safety
/// No other warp accesses this one's counts.
unsafe fn rank(of_warps: Shared<u32, (u32, u32)>, digit: u32) -> u32 {
    let warp = thread::warp();
    let (peers, below) = (peers(digit), warp::lanemask_lt());
    // SAFETY: between the barriers all lanes read, or one of each digit writes.
    unsafe {
        let before = of_warps.read((warp, digit));
        warp::sync();
        if peers & below == 0 {
            of_warps.write((warp, digit), before + peers.count_ones());
        }
        warp::sync();
        before + (peers & below).count_ones()
    }
}

/// How many keys of `digit` all warps have; each warp's count becomes that of the warps before it.
///
/// # Safety
/// The counts are written, and no other thread accesses those of `digit`.
unsafe fn scan_warps(of_warps: Shared<u32, (u32, u32)>, digit: u32) -> u32 {
    let mut sum = 0;
    for warp in 0..block::dim_x() / warp::SIZE {
        // SAFETY: the caller's.
        unsafe {
            let own = of_warps.read((warp, digit));
            of_warps.write((warp, digit), sum);
            sum += own;
        }
    }
    sum
}

/// The lanes whose digit is this lane's.
fn peers(digit: u32) -> u32 {
    let mut peers = u32::MAX;
    for bit in 0..DIGITS.ilog2() {
        let is_set = (digit >> bit) & 1 == 1;
        let votes = warp::ballot(is_set);
        peers &= if is_set { votes } else { !votes };
    }
    peers
}

/// How many keys of `digit` the tiles before `tile` have, which has `count`.
///
/// # Safety
/// `known` holds a word for each digit of each tile, blocks of all tiles below `tile` run, and no
/// other thread of the block calls this for the same digit.
unsafe fn look_back(known: *mut u32, tile: u32, digit: u32, count: u32) -> u32 {
    let word = |tile: u32| {
        let at = tile as usize * DIGITS + digit as usize;
        // SAFETY: the caller's, for a tile.
        unsafe { Atomic::from_ptr(known.add(at)) }
    };
    if tile > 0 {
        word(tile).store(COUNT | count, Ordering::Relaxed);
    }
    let (mut before, mut end) = (0, tile);
    while end > 0 {
        let of_last = word(end - 1).load(Ordering::Relaxed);
        if of_last >= COUNT {
            before += of_last % COUNT;
            end = if of_last >= PREFIX { 0 } else { end - 1 };
        }
    }
    word(tile).store(PREFIX | (before + count), Ordering::Relaxed);
    before
}

/// `n` keys in no order, the same in every process: the mixing function of SplitMix64.
#[gpuprof::host]
fn keys(n: u64) -> Vec<u32> {
    let key = |i: u64| {
        let z = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 32) as u32
    };
    (0..n).map(key).collect()
}

/// Where the keys of each digit at bit `shift` begin when they are sorted.
#[gpuprof::host]
fn starts(n: u64, shift: u64) -> Vec<u32> {
    let mut starts = vec![0; DIGITS];
    for key in keys(n) {
        starts[digit_on_host(key, shift as u32)] += 1;
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += std::mem::replace(start, sum);
    }
    starts
}

fn digit_on_host(key: u32, shift: u32) -> usize {
    (key >> shift) as usize % DIGITS
}

/// What the kernel must leave in `sorted`, and what the tiles know in the end.
#[gpuprof::host]
fn pass_on_host(
    shift: u32,
    keys: &[u32],
    _starts: &[u32],
    sorted: &mut [u32],
    tickets: &mut [u32],
    known: &mut [u32],
) {
    sorted.copy_from_slice(keys);
    sorted.sort_by_key(|key| digit_on_host(*key, shift));
    let tiles = known.len() / DIGITS;
    let mut counts = [0; DIGITS];
    for (keys, known) in keys.chunks(keys.len() / tiles).zip(known.chunks_mut(DIGITS)) {
        keys.iter().for_each(|key| counts[digit_on_host(*key, shift)] += 1);
        known.iter_mut().zip(counts).for_each(|(known, count)| *known = PREFIX | count);
    }
    tickets[0] = tiles as u32;
}
