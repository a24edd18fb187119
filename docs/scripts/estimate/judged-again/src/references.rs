//! The results that kernels should have, computed on the host.

use crate::shared::add_products;
use gpuprof::{bf16, f16, u32x4};

pub const MODULUS: u64 = 0xffff_ffff_ffff_ffc5;
pub const GOLDILOCKS: u64 = 0xffff_ffff_0000_0001;

pub fn wmma_product_on_host(n: i32, a: &[f16], b: &[f16], c: &mut [f32]) {
    let (n, b) = (n as usize, b.iter().map(|b| b.to_f32()).collect::<Vec<_>>());
    add_products(n, |i, k| a[i * n + k].to_f32(), &b, c);
}

pub fn mma_product_on_host(n: i32, k: i32, a: &[bf16], b: &[bf16], c: &mut [f32]) {
    let (n, depth) = (n as usize, k as usize);
    let across: Vec<f32> = (0..n * depth).map(|i| b[i % n * depth + i / n].to_f32()).collect();
    add_products(n, |i, k| a[i * depth + k].to_f32(), &across, c);
}

pub fn tiled_product_on_host(n: i32, alpha: f32, beta: f32, a: &[f32], b: &[f32], c: &mut [f32]) {
    let n = n as usize;
    c.iter_mut().for_each(|c| *c *= beta);
    add_products(n, |i, k| alpha * a[k * n + i], b, c);
}

pub fn small_products_on_host(size: usize, a: &[f32], b: &[f32], c: &mut [f32]) {
    let squares = c.chunks_mut(size * size).zip(a.chunks(size * size)).zip(b.chunks(size * size));
    for ((c, a), b) in squares {
        add_products(size, |i, k| a[i * size + k], b, c);
    }
}

pub fn csr_product_on_host(
    _rows: u32,
    starts: &[u32],
    columns: &[u32],
    values: &[f64],
    x: &[f64],
    y: &mut [f64],
) {
    for (y, ends) in y.iter_mut().zip(starts.windows(2)) {
        let row = ends[0] as usize..ends[1] as usize;
        *y = row.map(|i| values[i] * x[columns[i] as usize]).sum();
    }
}

pub fn softmax_on_host(columns: i32, scale: f32, x: &[f32], y: &mut [f32]) {
    for (y, x) in y.chunks_mut(columns as usize).zip(x.chunks(columns as usize)) {
        let most = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f32 = x.iter().map(|x| (scale * (x - most)).exp()).sum();
        y.iter_mut().zip(x).for_each(|(y, x)| *y = (scale * (x - most)).exp() / sum);
    }
}

pub fn digit_counts_on_host(shift: u32, keys: &[u32], counts: &mut [u32]) {
    let blocks = counts.len() / 256;
    for (block, tile) in keys.chunks(keys.len() / blocks).enumerate() {
        tile.iter().for_each(|key| counts[(key >> shift & 255) as usize * blocks + block] += 1);
    }
}

pub fn look_back_on_host(x: &[u32], y: &mut [u32], states: &mut [u64], ticket: &mut [u32]) {
    let mut sum = 0u32;
    let tile = x.len() / states.len();
    for (i, (y, x)) in y.iter_mut().zip(x).enumerate() {
        sum = sum.wrapping_add(*x);
        *y = sum;
        states[i / tile] = 2 << 32 | u64::from(sum);
    }
    ticket[0] = states.len() as u32;
}

pub fn bitonic_step_on_host(distance: u32, size: u32, keys: &mut [u32], values: &mut [u32]) {
    for low in (0..keys.len()).filter(|i| i & distance as usize == 0) {
        let high = low + distance as usize;
        if (keys[low] > keys[high]) == (low & size as usize == 0) {
            keys.swap(low, high);
            values.swap(low, high);
        }
    }
}

pub fn transpose_on_host(n: u32, from: &[f32], to: &mut [f32]) {
    let n = n as usize;
    to.iter_mut().enumerate().for_each(|(i, to)| *to = from[i % n * n + i / n]);
}

pub fn split_records_on_host(n: u32, order: &[u32], records: &[f32], fields: &mut [f32]) {
    let (n, count) = (n as usize, fields.len() / n as usize);
    for (i, field) in fields.iter_mut().enumerate() {
        *field = records[order[i % n] as usize * count + i / n];
    }
}

pub fn jacobi_on_host(n: i32, before: &[f32], source: &[f32], after: &mut [f32]) {
    let n = n as usize;
    for i in n..n * (n - 1) {
        if (1..n - 1).contains(&(i % n)) {
            let sum = before[i - 1] + before[i + 1] + before[i - n] + before[i + n];
            after[i] = 0.25 * (sum - source[i]);
        }
    }
}

/// -1 / `MODULUS` modulo 2^64, by Newton's steps.
pub fn minus_inverse() -> u64 {
    let step = |x: u64| x.wrapping_mul(2u64.wrapping_sub(MODULUS.wrapping_mul(x)));
    (0..6).fold(MODULUS, |x, _| step(x)).wrapping_neg()
}

/// 2^128 modulo `MODULUS`.
pub fn square() -> u64 {
    product(MODULUS.wrapping_neg(), MODULUS.wrapping_neg(), MODULUS)
}

fn product(a: u64, b: u64, m: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(m)) as u64
}

pub fn modular_powers_on_host(
    bits: u32,
    m: u64,
    _inverse: u64,
    _square: u64,
    x: &[u64],
    exponents: &[u64],
    y: &mut [u64],
) {
    for ((y, x), exponent) in y.iter_mut().zip(x).zip(exponents) {
        *y = (0..bits).rev().fold(1, |power, bit| {
            let square = product(power, power, m);
            if exponent >> bit & 1 == 1 { product(square, *x, m) } else { square }
        });
    }
}

pub fn field_products_on_host(rounds: u32, x: &[u32x4], y: &[u32x4], to: &mut [u32x4]) {
    let pairs = x.chunks(2).zip(y.chunks(2));
    for (to, (x, y)) in to.chunks_mut(2).zip(pairs) {
        let factor = element(y);
        let words = (0..rounds).fold(element(x), |a, _| field_product(a, factor));
        let half = |at: usize| {
            let word = |k: usize| (words[at + k / 2] >> (k % 2 * 32)) as u32;
            u32x4::from_array([word(0), word(1), word(2), word(3)])
        };
        (to[0], to[1]) = (half(0), half(2));
    }
}

fn element(halves: &[u32x4]) -> [u64; 4] {
    let word =
        |half: usize, k: usize| u64::from(halves[half][k]) | u64::from(halves[half][k + 1]) << 32;
    [word(0, 0), word(0, 2), word(1, 0), word(1, 2) & 0x1fff_ffff_ffff_ffff]
}

/// a b / 2^256 in the field of the curve BN254.
fn field_product(a: [u64; 4], b: [u64; 4]) -> [u64; 4] {
    const PRIME: [u64; 4] = [
        0x3c20_8c16_d87c_fd47,
        0x9781_6a91_6871_ca8d,
        0xb850_45b6_8181_585d,
        0x3064_4e72_e131_a029,
    ];
    let mut sum = [0u64; 5];
    for b in b {
        for (factors, by) in [(a, Some(b)), (PRIME, None)] {
            let by = by.unwrap_or(sum[0].wrapping_mul(0x87d2_0782_e486_6389));
            let mut carry = 0u128;
            for k in 0..4 {
                carry += u128::from(sum[k]) + u128::from(factors[k]) * u128::from(by);
                sum[k] = carry as u64;
                carry >>= 64;
            }
            sum[4] += carry as u64;
        }
        sum = [sum[1], sum[2], sum[3], sum[4], 0];
    }
    let (mut less, mut borrow) = ([0; 4], false);
    for k in 0..4 {
        let (one, first) = sum[k].overflowing_sub(PRIME[k]);
        let (two, second) = one.overflowing_sub(u64::from(borrow));
        (less[k], borrow) = (two, first | second);
    }
    if borrow { [sum[0], sum[1], sum[2], sum[3]] } else { less }
}

pub fn butterflies_on_host(half: u32, stride: u32, roots: &[u64], x: &mut [u64]) {
    let half = half as usize;
    for low in (0..x.len()).filter(|i| i & half == 0) {
        let (a, b) =
            (x[low], product(x[low + half], roots[low % half * stride as usize], GOLDILOCKS));
        x[low] = ((u128::from(a) + u128::from(b)) % u128::from(GOLDILOCKS)) as u64;
        x[low + half] = if a >= b { a - b } else { a.wrapping_sub(b).wrapping_add(GOLDILOCKS) };
    }
}

pub fn walks_on_host(radius: i32, seed: u32, steps: &mut [u32]) {
    for (i, steps) in steps.iter_mut().enumerate() {
        let mut state = (i as u32 + 1).wrapping_mul(2_654_435_761) ^ seed;
        let mut at = [0i32; 2];
        while at[0] * at[0] + at[1] * at[1] < radius * radius {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            at[usize::from(state & 1 == 0)] += if state & 2 == 2 { 1 } else { -1 };
            *steps += 1;
        }
    }
}

pub fn horner_on_host(_degree: u32, coefficients: &[f64], x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = coefficients.iter().fold(0.0, |value, c| f64::mul_add(value, *x, *c));
    }
}

pub fn chase_on_host(steps: u32, nodes: u32, words: &[u32], sums: &mut [u32]) {
    for (i, sum) in sums.iter_mut().enumerate() {
        let mut node = (i as u32 / 32).wrapping_mul(7919) % nodes;
        for _ in 0..steps {
            *sum = sum.wrapping_add(words[node as usize * 32 + i % 32]);
            node = words[node as usize * 32 + 31];
        }
    }
}

pub fn base64_on_host(bytes: &[u32], text: &mut [u32x4]) {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (text, words) in text.iter_mut().zip(bytes.chunks(3)) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let letters: Vec<u32> = bytes
            .chunks(3)
            .map(|group| {
                let value = u32::from_be_bytes([0, group[0], group[1], group[2]]);
                let letter = |k: u32| LETTERS[(value >> (18 - 6 * k) & 63) as usize];
                u32::from_le_bytes([letter(0), letter(1), letter(2), letter(3)])
            })
            .collect();
        *text = u32x4::from_array([letters[0], letters[1], letters[2], letters[3]]);
    }
}
