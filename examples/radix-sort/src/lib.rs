//! One pass of a radix sort: keys move to the range of their digit of eight bits, in order.
//!
//! A block takes the next tile of keys (Adinets and Merrill 2022, *Onesweep*). Its warps rank each
//! key among the keys with the same digit, by one vote a bit, and the tile publishes how many keys
//! of each digit it has. In shared memory its keys are brought into their order, so that
//! neighbouring threads store neighbouring keys. A thread for each digit then looks back over the
//! earlier tiles, four at a time, until it meets a tile that knows the sum up to its end. Each key
//! is read once and written once; the start of each digit in the result is an input.
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

/// How many tiles a thread looks at together.
const WINDOW: usize = 4;

/// Does `$body` for each `$i` below `$count`, which is at most 16, without a loop: its arrays
/// stay in registers.
macro_rules! unrolled {
    ($i:ident < $count:expr => $body:block) => {
        unrolled!(@ $i $count, $body, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
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
    max_block = 512,
    min_blocks = 3,
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
        // SAFETY: each warp has its own counts, and each lane its own digits.
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
    let (count, in_tile) = unsafe { counts(of_warps, firsts, known, tile) };
    block::sync();
    unrolled!(i < ITEMS => {
        let digit = digit_of(own[i]);
        // SAFETY: the data were written before the barrier; each key has its own place.
        unsafe {
            let at = firsts.read(digit) + of_warps.read((warp, digit)) + ranks[i];
            of_tile.write(at, own[i]);
        }
    });
    // Meanwhile the tiles before have published their counts.
    if thread < DIGITS as u32 {
        // SAFETY: as above.
        let before = unsafe { look_back(known, tile, thread, count) } + starts[thread as usize];
        // SAFETY: a thread has at most one digit.
        unsafe { places.write(thread, before.wrapping_sub(in_tile)) };
    }
    block::sync();
    unrolled!(i < ITEMS => {
        let at = i as u32 * size + thread;
        // SAFETY: the keys were written before the barrier, and each has its own place.
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

/// How many keys of this thread's digit the tile has, which it publishes, and how many of lower
/// digits, which become the firsts; for all threads of the block.
///
/// # Safety
/// As for [`scan_warps`] and [`word`], and nothing else accesses `firsts`.
unsafe fn counts(
    of_warps: Shared<u32, (u32, u32)>,
    firsts: Shared<u32>,
    known: *mut u32,
    tile: u32,
) -> (u32, u32) {
    let digit = thread::x();
    let has_digit = digit < DIGITS as u32;
    // SAFETY: the caller's; threads beyond the digits have none.
    let count = if has_digit { unsafe { scan_warps(of_warps, digit) } } else { 0 };
    if has_digit {
        // SAFETY: the caller's.
        unsafe { publish(known, tile, digit, count) };
    }
    // SAFETY: the scratch memory is this call's own.
    let in_tile = unsafe { block::exclusive_sum(count, shared!([u32; block::SCRATCH])) };
    if has_digit {
        // SAFETY: a thread has one digit.
        unsafe { firsts.write(digit, in_tile) };
    }
    (count, in_tile)
}

/// The lanes with the digit of this lane.
fn peers(digit: u32) -> u32 {
    let mut peers = u32::MAX;
    for bit in 0..DIGITS.ilog2() {
        let is_set = (digit >> bit) & 1 == 1;
        let votes = warp::ballot(is_set);
        peers &= if is_set { votes } else { !votes };
    }
    peers
}

/// The word of `digit` and `tile`.
///
/// # Safety
/// `known` holds a word for each digit of each tile.
unsafe fn word(known: *mut u32, tile: u32, digit: u32) -> Atomic<u32> {
    // SAFETY: the caller's.
    unsafe { Atomic::from_ptr(known.add(tile as usize * DIGITS + digit as usize)) }
}

/// Tells the tiles after `tile` how many keys of `digit` it has.
///
/// # Safety
/// As for [`word`].
unsafe fn publish(known: *mut u32, tile: u32, digit: u32, count: u32) {
    let state = if tile == 0 { PREFIX } else { COUNT };
    // SAFETY: the caller's.
    unsafe { word(known, tile, digit) }.store(state | count, Ordering::Relaxed);
}

/// How many keys of `digit` the tiles before `tile` have, which has published `count`.
///
/// # Safety
/// As for [`word`]; blocks of all tiles below `tile` run, and no other thread calls this for the
/// same digit and tile.
unsafe fn look_back(known: *mut u32, tile: u32, digit: u32, count: u32) -> u32 {
    let (mut before, mut end) = (0, tile);
    while end > 0 {
        // Loads of a window are on their way together.
        let mut window = [PREFIX; WINDOW];
        unrolled!(i < WINDOW => {
            if let Some(nearer) = end.checked_sub(1 + i as u32) {
                // SAFETY: the caller's, for a tile.
                window[i] = unsafe { word(known, nearer, digit) }.load(Ordering::Relaxed);
            }
        });
        let mut going = true;
        unrolled!(i < WINDOW => {
            going &= window[i] >= COUNT;
            if going {
                before += window[i] % COUNT;
                going = window[i] < PREFIX;
                end = if going { end - 1 } else { 0 };
            }
        });
    }
    if tile > 0 {
        // SAFETY: the caller's.
        unsafe { word(known, tile, digit) }.store(PREFIX | (before + count), Ordering::Relaxed);
    }
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

/// The start of each digit at bit `shift` in the sorted keys.
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

/// The expected `sorted`, and the final state of the tiles.
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
