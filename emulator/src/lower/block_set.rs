//! Sets of the blocks of one function, one bit a block.
//!
//! A large function has thousands of zones with thousands of blocks each.

/// Blocks by number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockSet(Vec<u64>);

impl BlockSet {
    /// None of `count` blocks.
    pub fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    /// Adds a block; whether it was not there.
    pub fn insert(&mut self, block: usize) -> bool {
        let (word, bit) = (&mut self.0[block / 64], 1 << (block % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Whether a block is there.
    pub fn contains(&self, block: usize) -> bool {
        self.0[block / 64] & 1 << (block % 64) != 0
    }

    /// Whether all of its blocks are in another set.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(own, other)| own & !other == 0)
    }

    /// Whether both sets have a block other than `except`.
    pub fn meets(&self, other: &Self, except: usize) -> bool {
        let words = self.0.iter().zip(&other.0).enumerate();
        words.map(|(at, (own, other))| (at, own & other)).any(|(at, both)| {
            let ignored = if at == except / 64 { 1 << (except % 64) } else { 0 };
            both & !ignored != 0
        })
    }

    /// Its blocks, in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(at, &word)| {
            let rest = |&word: &u64| Some(word & (word - 1)).filter(|rest| *rest != 0);
            let words = std::iter::successors(Some(word).filter(|word| *word != 0), rest);
            words.map(move |word| 64 * at + word.trailing_zeros() as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(blocks: &[usize]) -> BlockSet {
        let mut set = BlockSet::new(200);
        blocks.iter().for_each(|&block| assert!(set.insert(block)));
        set
    }

    #[test]
    fn blocks_of_a_set_are_listed_in_order() {
        let mut blocks = set(&[199, 0, 63, 64]);
        assert!(!blocks.insert(64));
        assert_eq!(blocks.iter().collect::<Vec<_>>(), [0, 63, 64, 199]);
        assert!(blocks.contains(63) && !blocks.contains(62));
    }

    #[test]
    fn subsets_and_intersections_are_detected() {
        let (small, large) = (set(&[3, 130]), set(&[3, 100, 130]));
        assert!(small.is_subset(&large) && !large.is_subset(&small));
        assert!(small.meets(&large, 3) && small.meets(&large, 100));
        assert!(!small.meets(&set(&[3, 131]), 3));
    }
}
