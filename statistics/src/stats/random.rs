//! Random order that is the same everywhere.
//!
//! Input: a seed. Output: numbers and orders that follow from it alone, so that a run that is
//! resumed continues in the same order and a calibration repeats.

/// The seed of a run's order, kept in its provenance.
pub const SEED: u64 = 1;

/// Puts `items` in random order (Durstenfeld, *Communications of the ACM* 7, 1964).
pub fn shuffle<T>(items: &mut [T], random: &mut SplitMix) {
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last + 1));
    }
}

/// Steele, Lea & Flood's `SplitMix64` (OOPSLA 2014): a few lines that give the same order
/// everywhere.
#[derive(Debug, Clone)]
pub struct SplitMix(pub u64);

impl SplitMix {
    /// The next number.
    #[expect(clippy::should_implement_trait, reason = "it never ends, and nothing iterates it")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`; the bias of the remainder is under 2⁻⁴⁰ for any sweep.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap_or(0)
    }

    /// A number from 0 to 1, neither included.
    pub fn uniform(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "52 bits fit")]
        let bits = (self.next() >> 12) as f64;
        (bits + 0.5) / (1_u64 << 52) as f64
    }

    /// A standard normal number (Box & Muller, *Annals of Mathematical Statistics* 29, 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        // First outputs for the seed 1234567, as Rosetta Code's "Pseudo-random numbers/Splitmix64"
        // has them.
        let mut random = SplitMix(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.next()).collect();
        assert_eq!(
            first,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }
}
