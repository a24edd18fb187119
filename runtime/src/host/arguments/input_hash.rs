//! A hash of a kernel's arguments, by which a later run recognises the same inputs.
//!
//! Input: the bytes of each argument. Output: 32 bits that are the same on every machine. Each word
//! of eight bytes is multiplied in, and both halves of the product are kept, as in wyhash:
//! <https://github.com/wangyi-fudan/wyhash>.

/// The golden ratio: half of its bits are set.
const FACTOR: u128 = 0x9e37_79b9_7f4a_7c15;

/// The hash of the arguments so far.
pub(crate) struct InputHash(u64);

impl Default for InputHash {
    fn default() -> Self {
        Self(FACTOR as u64)
    }
}

impl InputHash {
    /// Adds an argument: its length and its bytes.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.word(u64::from_le_bytes(*word)));
        rest.iter().for_each(|byte| self.word(u64::from(*byte)));
    }

    fn word(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * FACTOR;
        self.0 = (product ^ product >> 64) as u64;
    }

    /// The hash.
    pub(crate) fn value(&self) -> u32 {
        (self.0 ^ self.0 >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(arguments: &[&[u8]]) -> u32 {
        let mut hash = InputHash::default();
        arguments.iter().for_each(|argument| hash.add(argument));
        hash.value()
    }

    #[test]
    fn the_input_hash_depends_on_every_bit_and_argument_boundary() {
        let bytes: Vec<u8> = (0..100).collect();
        let mut all = vec![hash(&[&bytes]), hash(&[]), hash(&[&bytes[..50], &bytes[50..]])];
        for bit in 0..800 {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            all.push(hash(&[&other]));
        }
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        assert_eq!(hash(&[&bytes]), hash(&[&bytes]));
    }
}
