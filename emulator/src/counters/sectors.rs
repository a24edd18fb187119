//! Sectors of a global request: how many distinct 32-byte pieces of memory its lanes touch.
//!
//! This is `l1tex__t_sectors_pipe_lsu_mem_global_op_*` of one request, hit or miss (seen equal on
//! an H200).

/// log2 of the bytes of a sector.
const SECTOR_SHIFT: u32 = 5;

/// Bytes of a sector.
pub const SECTOR: u64 = 1 << SECTOR_SHIFT;

/// Sectors of one contiguous range.
#[inline(always)]
pub fn of_range(first: u64, bytes: u64) -> u64 {
    ((first + bytes - 1) >> SECTOR_SHIFT) - (first >> SECTOR_SHIFT) + 1
}

/// The memory that the lanes of a request touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touched {
    /// Distinct sectors.
    pub sectors: u64,
    /// Distinct bytes.
    pub bytes: u64,
}

/// The memory that the lanes of `mask` touch, `bytes` each, a power of two up to a sector. Accesses
/// are aligned to their size, so each lane touches one sector, and two lanes touch the same bytes
/// or none in common. All addresses are from `low` to `high`.
#[inline(always)]
pub fn touched(addresses: &[u64; 32], mask: u32, bytes: u32, (low, high): (u64, u64)) -> Touched {
    debug_assert!(bytes.is_power_of_two() && bytes <= 1 << SECTOR_SHIFT);
    let shift = bytes.trailing_zeros();
    if low == high && mask != 0 {
        return Touched { sectors: 1, bytes: bytes.into() };
    }
    let start = low >> SECTOR_SHIFT << SECTOR_SHIFT;
    if high.saturating_sub(start) >> shift < 64 {
        let mut pieces = 0u64;
        for (lane, address) in addresses.iter().enumerate() {
            let piece = 1 << (address.wrapping_sub(start) >> shift & 63);
            pieces |= if mask & (1 << lane) != 0 { piece } else { 0 };
        }
        let sectors = sectors_of(pieces, 1 << (SECTOR_SHIFT - shift));
        return Touched { sectors, bytes: u64::from(pieces.count_ones() * bytes) };
    }
    let sectors = distinct(addresses, mask, SECTOR_SHIFT);
    // As many sectors as lanes: no two lanes touch the same bytes.
    let is_alone = sectors == u64::from(mask.count_ones());
    let pieces = if is_alone { sectors } else { distinct(addresses, mask, shift) };
    Touched { sectors, bytes: pieces * u64::from(bytes) }
}

/// In how many sectors these pieces are, a bit each, of which a sector has `width`.
#[inline(always)]
fn sectors_of(mut pieces: u64, width: u32) -> u64 {
    let first_of_each = u64::MAX / ((1 << width) - 1);
    let mut joined = 1;
    while joined < width {
        pieces |= pieces >> joined;
        joined *= 2;
    }
    u64::from((pieces & first_of_each).count_ones())
}

/// Sectors that L1 counts of an atomic beyond the distinct ones: it goes over a sector once for
/// each lane of its address that most lanes update (seen on an H100).
pub fn repeated(addresses: &[u64; 32], mask: u32) -> u64 {
    let (mut left, mut sum) = (mask, 0);
    while left != 0 {
        let sector = addresses[left.trailing_zeros() as usize] >> SECTOR_SHIFT;
        let (mut lanes_of_byte, mut most) = ([0u64; 1 << SECTOR_SHIFT], 0);
        for (lane, address) in addresses.iter().enumerate() {
            if left & (1 << lane) != 0 && address >> SECTOR_SHIFT == sector {
                let lanes = &mut lanes_of_byte[(address % (1 << SECTOR_SHIFT)) as usize];
                *lanes += 1;
                most = most.max(*lanes);
                left &= !(1 << lane);
            }
        }
        sum += most - 1;
    }
    sum
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
    if pieces.iter().any(|piece| piece - first >= u64::from(u32::MAX)) {
        pieces.sort_unstable();
        return 1 + pieces.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64;
    }
    count_distinct(pieces, first)
}

/// Counts distinct pieces, none 2³² - 1 or more after the first, by comparing each with all before
/// it: that vectorises, and sorting does not.
#[inline(always)]
fn count_distinct(pieces: &[u64], first: u64) -> u64 {
    // Before and after the pieces is a number that none of them has.
    let mut numbers = [u32::MAX; 64];
    for (number, piece) in numbers[32..].iter_mut().zip(pieces) {
        *number = (piece - first) as u32;
    }
    let mut repeats = [0u32; 32];
    for apart in 1..32 {
        let earlier = &numbers[32 - apart..64 - apart];
        for lane in 0..32 {
            repeats[lane] |= u32::from(numbers[32 + lane] == earlier[lane]);
        }
    }
    let repeated: u32 = repeats[..pieces.len()].iter().sum();
    pieces.len() as u64 - u64::from(repeated)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{HashMap, HashSet};

    fn strided(base: u64, stride: u64) -> [u64; 32] {
        std::array::from_fn(|lane| base + lane as u64 * stride)
    }

    #[test]
    fn sectors_of_strided_accesses_match_the_formula() {
        for stride in 1..=40u64 {
            let expected = 32u64.min((32 * stride * 4).div_ceil(32));
            let addresses = strided(0x7000_0000_0000, stride * 4);
            let found = touched(&addresses, u32::MAX, 4, (addresses[0], addresses[31]));
            assert_eq!(found, Touched { sectors: expected, bytes: 128 }, "stride {stride}");
        }
    }

    #[test]
    fn atomics_count_a_sector_for_each_lane_of_an_address() {
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
        fn counts_distinct_sectors_and_bytes(
            raw in prop::array::uniform32(0u64..4096),
            // From few sectors to some that are more than 2³² apart.
            stride in prop::sample::select(vec![0u64, 1, 7, 1 << 40]),
            mask: u32,
            size in prop::sample::select(vec![1u32, 2, 4, 8, 16]),
        ) {
            let bytes = u64::from(size);
            let addresses = raw.map(|at| at % 64 * stride / bytes * bytes + at / bytes * bytes);
            let of = |shift: u32| {
                let lanes = (0..32).filter(|lane| mask & (1 << lane) != 0);
                let all: HashSet<u64> = lanes
                    .flat_map(|lane| addresses[lane]..addresses[lane] + bytes)
                    .map(|byte| byte >> shift)
                    .collect();
                all.len() as u64
            };
            let expected = Touched { sectors: of(5), bytes: of(0) };
            let lanes = || (0..32).filter(|lane| mask & (1 << lane) != 0);
            let low = lanes().map(|lane| addresses[lane]).min().unwrap_or(u64::MAX);
            let high = lanes().map(|lane| addresses[lane]).max().unwrap_or(0);
            prop_assert_eq!(touched(&addresses, mask, size, (low, high)), expected);
            let wider = (low.saturating_sub(64), high.saturating_add(64));
            prop_assert_eq!(touched(&addresses, mask, size, wider), expected);
        }

        #[test]
        fn counts_repeated_sectors(raw in prop::array::uniform32(0u64..40), mask: u32) {
            let addresses = raw.map(|word| 4 * word);
            let mut most: HashMap<u64, u64> = HashMap::new();
            for address in addresses {
                let on = |lane: &usize| mask & (1 << lane) != 0;
                let same = |lane: &usize| on(lane) && addresses[*lane] == address;
                let lanes = (0..32).filter(same).count() as u64;
                let known = most.entry(address >> 5).or_default();
                *known = lanes.max(*known);
            }
            let expected: u64 = most.values().map(|lanes| lanes.saturating_sub(1)).sum();
            prop_assert_eq!(repeated(&addresses, mask), expected);
        }
    }
}
