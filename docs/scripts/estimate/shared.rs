//! Inputs and references that several sets use.

/// Spreads the numbers below 2^32.
pub fn scattered(i: u64) -> u64 {
    i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}

/// Zero, then the sums up to each length.
pub fn ends(lengths: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut sum = 0;
    let ends = lengths.map(|length| {
        sum += length;
        sum
    });
    [0].into_iter().chain(ends).collect()
}

/// c += a b; a is a function of row and column.
pub fn add_products(n: usize, a: impl Fn(usize, usize) -> f32, b: &[f32], c: &mut [f32]) {
    for (i, line) in c.chunks_mut(n).enumerate() {
        for (k, b) in b.chunks(n).enumerate() {
            let a = a(i, k);
            line.iter_mut().zip(b).for_each(|(c, b)| *c += a * b);
        }
    }
}
