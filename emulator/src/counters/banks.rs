//! Wavefronts of a shared request: how many passes over the 32 banks of 4 bytes it takes.
//!
//! Lanes go together as far as 128 bytes reach: all 32 for up to 4 bytes a lane, halves for 8,
//! quarters for 16. Within such a group a pass serves one word from each bank, to any number of
//! lanes, so the passes are the most distinct words that any one bank is asked for.
//!
//! Loads of 8 and 16 bytes go in groups of twice as many lanes if every lane reads the same address
//! as its neighbour: on an H200 a load of one 16-byte word by a warp takes two passes, not four.
//! NVIDIA gives the rule for 7.x: each active pair of lanes `n` and `n ^ 1`, or each pair `n` and
//! `n ^ 2`, has one address (forums.developer.nvidia.com/t/77228). A pair with one active lane
//! agrees, so a load by every third lane, 8 bytes each, takes one pass on an H100.

/// Passes of a request, and the passes it would take without conflicts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wavefronts {
    /// Passes over the banks.
    pub total: u32,
    /// One for each group of lanes that takes part.
    pub ideal: u32,
    /// Distinct words, group by group.
    pub words: u32,
}

/// Passes for the lanes of `mask`, each `bytes` from its address.
#[inline]
pub fn wavefronts(addresses: &[u32; 32], mask: u32, bytes: u32) -> Wavefronts {
    if bytes <= 4
        && mask == u32::MAX
        && let Some(words) = conflict_free(addresses)
    {
        return Wavefronts { total: 1, ideal: 1, words };
    }
    in_groups(addresses, mask, bytes, lanes_of_a_group(bytes))
}

/// Passes of a load, for the lanes of `mask`, each `bytes` from its address.
pub fn load_wavefronts(addresses: &[u32; 32], mask: u32, bytes: u32) -> Wavefronts {
    let agree = || [1, 2].into_iter().any(|apart| pairs_agree(addresses, mask, apart));
    if bytes > 4 && agree() {
        return in_groups(addresses, mask, bytes, 2 * lanes_of_a_group(bytes));
    }
    wavefronts(addresses, mask, bytes)
}

/// Passes of an atomic for the lanes of `mask`: lanes of one bank go one after the other, those of
/// one word too.
pub fn update_passes(addresses: &[u64; 32], mask: u32) -> u32 {
    let mut lanes_of_bank = [0; 32];
    for (lane, address) in addresses.iter().enumerate() {
        lanes_of_bank[(address / 4 % 32) as usize] += mask >> lane & 1;
    }
    lanes_of_bank.into_iter().max().unwrap_or(0)
}

/// How many lanes reach 128 bytes.
fn lanes_of_a_group(bytes: u32) -> u32 {
    128 / bytes.max(4)
}

fn in_groups(addresses: &[u32; 32], mask: u32, bytes: u32, group_lanes: u32) -> Wavefronts {
    let mut result = Wavefronts::default();
    for first in (0..32).step_by(group_lanes as usize) {
        let lanes = mask & (u32::MAX >> (32 - group_lanes)) << first;
        if lanes != 0 {
            result.ideal += 1;
            let distinct = distinct(addresses, lanes, bytes.div_ceil(4));
            result.total += distinct.into_iter().max().unwrap_or(0);
            result.words += distinct.into_iter().sum::<u32>();
        }
    }
    result
}

/// Whether each active lane reads the same address as the lane `apart` from it, if that is active.
fn pairs_agree(addresses: &[u32; 32], mask: u32, apart: usize) -> bool {
    let active = |lane: usize| mask & (1 << lane) != 0;
    let both = |lane: &usize| active(*lane) && active(lane ^ apart);
    (0..32).filter(both).all(|lane| addresses[lane] == addresses[lane ^ apart])
}

/// The number of words that a full warp requests when each lane accesses one word, at the sum of
/// the steps of the bits of its number; none if two lanes request different words of one bank.
#[inline(always)]
pub fn affine_words(steps: [i32; 5]) -> Option<u32> {
    let (mut banks, mut words) = (1u32, 1);
    for step in steps.into_iter().filter(|step| *step != 0) {
        banks |= banks.rotate_left((step / 4).rem_euclid(32) as u32);
        words *= 2;
    }
    (banks.count_ones() == words).then_some(words)
}

/// How many words the lanes want, if no two of them want different words of one bank. Each bank
/// remembers the last word asked of it; a lane that does not find its own has met a conflict.
#[inline(always)]
fn conflict_free(addresses: &[u32; 32]) -> Option<u32> {
    let mut last = [0u32; 32];
    let mut touched = 0u32;
    for address in addresses {
        last[(address >> 2) as usize % 32] = address >> 2;
        touched |= 1 << ((address >> 2) % 32);
    }
    let alone = addresses.iter().all(|address| last[(address >> 2) as usize % 32] == address >> 2);
    alone.then(|| touched.count_ones())
}

/// How many distinct words each bank is asked for by `lanes`, each wanting `words` consecutive
/// words.
fn distinct(addresses: &[u32; 32], lanes: u32, words: u32) -> [u32; 32] {
    // Up to 16 lanes of a half, or 32 words in a group, may each want another word of one bank.
    let mut seen = [[0u32; 32]; 32];
    let mut distinct = [0u32; 32];
    for (lane, address) in addresses.iter().enumerate() {
        if lanes & (1 << lane) == 0 {
            continue;
        }
        for word in (address >> 2)..(address >> 2) + words {
            let bank = word as usize % 32;
            let known = distinct[bank] as usize;
            if !seen[bank][..known].contains(&word) {
                seen[bank][known] = word;
                distinct[bank] += 1;
            }
        }
    }
    distinct
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{HashMap, HashSet};

    fn naive(addresses: &[u32; 32], mask: u32, bytes: u32) -> Wavefronts {
        let group = match bytes {
            0..=4 => 32,
            8 => 16,
            _ => 8,
        };
        let mut result = Wavefronts::default();
        for start in (0..32).step_by(group) {
            let mut banks: HashMap<u32, HashSet<u32>> = HashMap::new();
            for lane in (start..start + group).filter(|lane| mask & (1 << lane) != 0) {
                for word in addresses[lane] / 4..=(addresses[lane] + bytes - 1) / 4 {
                    banks.entry(word % 32).or_default().insert(word);
                }
            }
            if let Some(most) = banks.values().map(HashSet::len).max() {
                result.total += most as u32;
                result.ideal += 1;
                result.words += banks.values().map(|words| words.len() as u32).sum::<u32>();
            }
        }
        result
    }

    #[test]
    fn a_column_of_a_32_wide_tile_conflicts_and_of_a_33_wide_tile_does_not() {
        let column = |width: u32| std::array::from_fn(|lane| lane as u32 * width * 4);
        assert_eq!(
            wavefronts(&column(32), u32::MAX, 4),
            Wavefronts { total: 32, ideal: 1, words: 32 }
        );
        assert_eq!(
            wavefronts(&column(33), u32::MAX, 4),
            Wavefronts { total: 1, ideal: 1, words: 32 }
        );
    }

    #[test]
    fn one_word_is_broadcast() {
        assert_eq!(wavefronts(&[64; 32], u32::MAX, 4), Wavefronts { total: 1, ideal: 1, words: 1 });
    }

    #[test]
    fn wide_accesses_take_more_passes_without_conflict() {
        let packed = |bytes: u32| std::array::from_fn(|lane| lane as u32 * bytes);
        assert_eq!(
            wavefronts(&packed(8), u32::MAX, 8),
            Wavefronts { total: 2, ideal: 2, words: 64 }
        );
        assert_eq!(
            wavefronts(&packed(16), u32::MAX, 16),
            Wavefronts { total: 4, ideal: 4, words: 128 }
        );
    }

    #[test]
    fn shared_wide_loads_take_a_pass_per_half_warp() {
        let total = |addresses: [u32; 32]| {
            let fronts = load_wavefronts(&addresses, u32::MAX, 16);
            (fronts.total, fronts.ideal)
        };
        // On an H200: one word for all lanes, two words for a warp.
        assert_eq!(total([64; 32]), (2, 2));
        assert_eq!(total(std::array::from_fn(|lane| lane as u32 / 16 * 16)), (2, 2));
        assert_eq!(total(std::array::from_fn(|lane| lane as u32 % 2 * 16)), (2, 2));
        // Each lane its own: quarters, as for a store.
        let own = std::array::from_fn(|lane| lane as u32 * 16);
        assert_eq!(total(own), (4, 4));
        assert_eq!(wavefronts(&[64; 32], u32::MAX, 16).total, 4);
    }

    #[test]
    fn shared_loads_of_8_bytes_take_one_pass() {
        let own = std::array::from_fn(|lane| lane as u32 * 8);
        let shared = std::array::from_fn(|lane| lane as u32 / 2 * 8);
        assert_eq!(load_wavefronts(&shared, u32::MAX, 8).total, 1);
        assert_eq!(load_wavefronts(&own, u32::MAX, 8).total, 2);
        // Every third lane: no neighbour is active.
        assert_eq!(load_wavefronts(&own, 0x4924_9249, 8).total, 1);
    }

    proptest! {
        #[test]
        fn affine_accesses_agree_with_the_general_rule(
            steps in prop::array::uniform5(prop::sample::select(vec![0, 4, 8, 16, 32, 64, 128, 132, 1024])),
        ) {
            let address = |lane: usize| {
                (0..5).filter(|bit| lane >> bit & 1 == 1).map(|bit| steps[bit] as u32).sum::<u32>()
            };
            let addresses = std::array::from_fn(address);
            if let Some(words) = affine_words(steps) {
                let expected = Wavefronts { total: 1, ideal: 1, words };
                prop_assert_eq!(wavefronts(&addresses, u32::MAX, 4), expected);
            }
        }

        #[test]
        fn wavefronts_agree_with_the_plain_rule(
            raw in prop::array::uniform32(0u32..2048),
            mask: u32,
            size in prop::sample::select(vec![1u32, 2, 4, 8, 16]),
        ) {
            let addresses = raw.map(|address| address / size * size);
            prop_assert_eq!(wavefronts(&addresses, mask, size), naive(&addresses, mask, size));
        }
    }
}
