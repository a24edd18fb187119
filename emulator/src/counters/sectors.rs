//! Sectors of a global request: how many distinct 32-byte pieces of memory its lanes touch.
//!
//! This is `l1tex__t_sectors_pipe_lsu_mem_global_op_*` of one request, hit or miss (seen equal on
//! an H200).

/// log2 of the bytes of a sector.
const SECTOR_SHIFT: u32 = 5;

/// Sectors of one contiguous range.
#[inline(always)]
pub fn of_range(first: u64, bytes: u64) -> u64 {
    ((first + bytes - 1) >> SECTOR_SHIFT) - (first >> SECTOR_SHIFT) + 1
}

/// Distinct sectors that the lanes of `mask` touch, `bytes` each. Accesses are aligned to their
/// size, or smaller than a sector, so each lane touches one sector.
#[inline(always)]
pub fn count(addresses: &[u64; 32], mask: u32, bytes: u32) -> u64 {
    debug_assert!(bytes <= 32);
    distinct(addresses, mask, SECTOR_SHIFT)
}

/// Distinct bytes that the lanes of `mask` touch, `bytes` each, a power of two. Accesses are
/// aligned to their size, so two of them touch the same bytes or none in common.
#[inline(always)]
pub fn distinct_bytes(addresses: &[u64; 32], mask: u32, bytes: u32) -> u64 {
    debug_assert!(bytes.is_power_of_two());
    distinct(addresses, mask, bytes.trailing_zeros()) * u64::from(bytes)
}

/// Sectors that L1 counts of an atomic beyond the distinct ones: it goes over a sector once for
/// each lane of its address that most lanes update (seen on an H100).
pub fn repeated(addresses: &[u64; 32], mask: u32) -> u64 {
    let active = || (0..32).filter(|lane| mask & (1 << lane) != 0).map(|lane| addresses[lane]);
    let lanes_of = |address| active().filter(|other| *other == address).count() as u64;
    let mut most: Vec<(u64, u64)> = Vec::new();
    for address in active() {
        let (sector, lanes) = (address >> SECTOR_SHIFT, lanes_of(address));
        match most.iter_mut().find(|(known, _)| *known == sector) {
            Some((_, most)) => *most = lanes.max(*most),
            None => most.push((sector, lanes)),
        }
    }
    most.iter().map(|(_, lanes)| lanes - 1).sum()
}

/// How many pieces of `1 << shift` bytes the lanes of `mask` touch, each of them one.
#[inline(always)]
fn distinct(addresses: &[u64; 32], mask: u32, shift: u32) -> u64 {
    let mut pieces = [0u64; 32];
    let mut used = 0;
    let mut sorted = true;
    for (lane, address) in addresses.iter().enumerate() {
        if mask & (1 << lane) != 0 {
            let piece = address >> shift;
            if used > 0 && pieces[used - 1] == piece {
                continue;
            }
            sorted &= used == 0 || pieces[used - 1] < piece;
            pieces[used] = piece;
            used += 1;
        }
    }
    if sorted {
        return used as u64;
    }
    let pieces = &mut pieces[..used];
    let first = pieces.iter().copied().min().unwrap_or(0);
    if pieces.iter().all(|piece| piece - first < 64) {
        let seen = pieces.iter().fold(0u64, |seen, piece| seen | 1 << (piece - first));
        return seen.count_ones().into();
    }
    if pieces.iter().any(|piece| piece - first > u64::from(u32::MAX)) {
        pieces.sort_unstable();
        return 1 + pieces.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64;
    }
    count_distinct(pieces, first)
}

/// Counts distinct pieces, none more than 2³² behind the first, by comparing each with all: that
/// vectorises, and sorting does not.
#[inline(always)]
fn count_distinct(pieces: &[u64], first: u64) -> u64 {
    let mut numbers = [0u32; 32];
    for (number, piece) in numbers.iter_mut().zip(pieces) {
        *number = (piece - first) as u32;
    }
    let mut repeats = [0u32; 32];
    for (at, number) in (0u32..).zip(&numbers[..pieces.len()]) {
        for later in 0..32 {
            let same = (numbers[later] == *number) & (later as u32 > at);
            repeats[later] |= u32::from(same);
        }
    }
    let repeated: u32 = repeats[..pieces.len()].iter().sum();
    pieces.len() as u64 - u64::from(repeated)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn strided(base: u64, stride: u64) -> [u64; 32] {
        std::array::from_fn(|lane| base + lane as u64 * stride)
    }

    #[test]
    fn stride_identities() {
        for stride in 1..=40u64 {
            let expected = 32u64.min((32 * stride * 4).div_ceil(32));
            assert_eq!(
                count(&strided(0x7000_0000_0000, stride * 4), u32::MAX, 4),
                expected,
                "stride {stride}"
            );
        }
    }

    #[test]
    fn atomics_go_over_a_sector_for_each_lane_of_one_address() {
        assert_eq!(repeated(&strided(0, 4), u32::MAX), 0);
        assert_eq!(repeated(&[64; 32], 0x7ff), 10);
        // Eight words of one sector, by four lanes each; then four lanes less of one of them.
        let eight: [u64; 32] = std::array::from_fn(|lane| lane as u64 % 8 * 4);
        assert_eq!(repeated(&eight, u32::MAX), 3);
        assert_eq!(repeated(&eight, !0x0101_0101), 3);
    }

    #[test]
    fn a_range_is_its_first_to_last_sector() {
        assert_eq!(
            (of_range(0, 128), of_range(4, 128), of_range(31, 1), of_range(31, 2)),
            (4, 5, 1, 2)
        );
    }

    proptest! {
        #[test]
        fn counts_distinct_sectors(
            raw in prop::array::uniform32(0u64..4096),
            mask: u32,
            size in prop::sample::select(vec![1u32, 2, 4, 8, 16]),
        ) {
            let addresses = raw.map(|address| address / u64::from(size) * u64::from(size));
            let touched: HashSet<u64> = (0..32)
                .filter(|lane| mask & (1 << lane) != 0)
                .flat_map(|lane| addresses[lane] >> 5..=(addresses[lane] + u64::from(size) - 1) >> 5)
                .collect();
            prop_assert_eq!(count(&addresses, mask, size), touched.len() as u64);
            let bytes: HashSet<u64> = (0..32)
                .filter(|lane| mask & (1 << lane) != 0)
                .flat_map(|lane| addresses[lane]..addresses[lane] + u64::from(size))
                .collect();
            prop_assert_eq!(distinct_bytes(&addresses, mask, size), bytes.len() as u64);
        }
    }
}
