//! The results that kernels should have, computed on the host.

use crate::inputs::coefficients;
use crate::shared::add_products;
use gpuprof::{f16, f32x2, u32x2};

pub fn sgemm_on_host(
    n: i32,
    depth: i32,
    alpha: f32,
    beta: f32,
    a: &[f32],
    b: &[f32],
    c: &mut [f32],
) {
    let depth = depth as usize;
    c.iter_mut().for_each(|c| *c *= beta);
    add_products(n as usize, |i, k| alpha * a[i * depth + k], b, c);
}

pub fn linear_gelu_on_host(n: i32, depth: i32, x: &[f16], w: &[f16], bias: &[f16], y: &mut [f16]) {
    let (n, depth) = (n as usize, depth as usize);
    let across: Vec<f32> = (0..n * depth).map(|i| w[i % n * depth + i / n].to_f32()).collect();
    let mut sums = vec![0.0; y.len()];
    add_products(n, |i, k| x[i * depth + k].to_f32(), &across, &mut sums);
    for (i, y) in y.iter_mut().enumerate() {
        let x = sums[i] + bias[i % n].to_f32();
        let inner = 0.797_884_6 * (x + 0.044_715 * x * x * x);
        *y = f16::from_f32(0.5 * x * (1.0 + inner.tanh()));
    }
}

pub fn int8_product_on_host(
    n: i32,
    depth: i32,
    a: &[i8],
    b: &[i8],
    scales_a: &[f32],
    scales_b: &[f32],
    c: &mut [f32],
) {
    let (n, depth) = (n as usize, depth as usize);
    let rows = c.chunks_mut(n).zip(a.chunks(depth)).zip(scales_a);
    for ((line, a), scale) in rows {
        for ((c, b), other) in line.iter_mut().zip(b.chunks(depth)).zip(scales_b) {
            let sum: i32 = a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
            *c = sum as f32 * scale * other;
        }
    }
}

pub fn ell_product_on_host(
    rows: i32,
    width: i32,
    columns: &[i32],
    values: &[f64],
    x: &[f64],
    y: &mut [f64],
) {
    for (row, y) in y.iter_mut().enumerate() {
        let places = (0..width as usize).map(|k| k * rows as usize + row);
        let used = places.take_while(|i| columns[*i] >= 0);
        *y = used.map(|i| values[i] * x[columns[i] as usize]).sum();
    }
}

pub fn rms_norm_on_host(
    columns: i32,
    x: &[f16],
    weight: &[f16],
    residual: &mut [f16],
    y: &mut [f16],
) {
    let columns = columns as usize;
    residual.iter_mut().zip(x).for_each(|(r, x)| *r = f16::from_f32(r.to_f32() + x.to_f32()));
    for (y, row) in y.chunks_mut(columns).zip(residual.chunks(columns)) {
        let squares: f32 = row.iter().map(|r| r.to_f32() * r.to_f32()).sum();
        let inverse = (squares / columns as f32 + 1e-5).sqrt().recip();
        for ((y, r), w) in y.iter_mut().zip(row).zip(weight) {
            *y = f16::from_f32(r.to_f32() * inverse * w.to_f32());
        }
    }
}

pub fn rotary_on_host(heads: i32, positions: &[u32], turns: &[f32x2], q: &mut [f16]) {
    for (head, q) in q.chunks_mut(128).enumerate() {
        let turns = &turns[positions[head / heads as usize] as usize * 64..];
        for i in 0..64 {
            let (one, other) = (q[i].to_f32(), q[i + 64].to_f32());
            q[i] = f16::from_f32(one * turns[i][0] - other * turns[i][1]);
            q[i + 64] = f16::from_f32(other * turns[i][0] + one * turns[i][1]);
        }
    }
}

pub fn top_k_on_host(
    count: usize,
    columns: u32,
    x: &[f32],
    values: &mut [f32],
    places: &mut [u32],
) {
    let results = values.chunks_mut(count).zip(places.chunks_mut(count));
    for (row, (values, places)) in x.chunks(columns as usize).zip(results) {
        let mut order: Vec<u32> = (0..columns).collect();
        order.sort_by(|a, b| row[*b as usize].total_cmp(&row[*a as usize]));
        places.copy_from_slice(&order[..count]);
        values.iter_mut().zip(places).for_each(|(value, place)| *value = row[*place as usize]);
    }
}

pub fn cross_entropy_on_host(
    columns: i32,
    logits: &[f32],
    targets: &[u32],
    losses: &mut [f32],
    gradient: &mut [f32],
) {
    for (row, target) in targets.iter().enumerate() {
        let line = row * columns as usize..(row + 1) * columns as usize;
        let (x, to) = (&logits[line.clone()], &mut gradient[line]);
        let sum = x.iter().map(|x| x.exp()).sum::<f32>();
        to.iter_mut().zip(x).for_each(|(to, x)| *to = x.exp() / sum);
        to[*target as usize] -= 1.0;
        losses[row] = sum.ln() - x[*target as usize];
    }
}

pub fn cache_copy_on_host(
    heads: i32,
    slots: &[u32],
    keys: &[f16],
    values: &[f16],
    key_cache: &mut [f16],
    value_cache: &mut [f16],
) {
    let heads = heads as usize;
    for i in 0..keys.len() {
        let (channel, head, slot) = (i % 128, i / 128 % heads, slots[i / 128 / heads] as usize);
        let first = (slot / 16 * heads + head) * 2048;
        key_cache[first + channel / 8 * 128 + slot % 16 * 8 + channel % 8] = keys[i];
        value_cache[first + channel * 16 + slot % 16] = values[i];
    }
}

#[expect(clippy::too_many_arguments, reason = "they are the kernel's")]
pub fn adam_on_host(
    rate: f32,
    first_scale: f32,
    second_scale: f32,
    chunks: &[u32x2],
    decays: &[f32],
    gradient: &[f32],
    weights: &mut [f32],
    first: &mut [f32],
    second: &mut [f32],
    copies: &mut [f16],
) {
    for (i, g) in gradient.iter().enumerate() {
        let decay = decays[chunks[i / 2048][1] as usize];
        first[i] = 0.9 * first[i] + 0.1 * g;
        second[i] = 0.999 * second[i] + 0.001 * g * g;
        let step = first[i] * first_scale / ((second[i] * second_scale).sqrt() + 1e-8);
        weights[i] -= rate * (step + decay * weights[i]);
        copies[i] = f16::from_f32(weights[i]);
    }
}

pub fn fourier_on_host(size: usize, points: &mut [f32x2]) {
    for points in points.chunks_mut(size) {
        let wide: Vec<_> = points.iter().map(|p| (f64::from(p[0]), f64::from(p[1]))).collect();
        for (point, (x, y)) in points.iter_mut().zip(transformed(&wide)) {
            *point = f32x2::from_array([x as f32, y as f32]);
        }
    }
}

/// The transform of a power of two of complex numbers.
fn transformed(x: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if x.len() == 1 {
        return x.to_vec();
    }
    let part = |at: usize| transformed(&x.iter().skip(at).step_by(2).copied().collect::<Vec<_>>());
    let (even, odd, half) = (part(0), part(1), x.len() / 2);
    let sum = |i: usize| {
        let angle = -std::f64::consts::PI * i as f64 / half as f64;
        let ((a, b), (c, d), (sine, cosine)) = (even[i % half], odd[i % half], angle.sin_cos());
        (a + c * cosine - d * sine, b + c * sine + d * cosine)
    };
    (0..x.len()).map(sum).collect()
}

pub fn fir_on_host(count: usize, x: &[f32x2], y: &mut [f32x2]) {
    let taps = coefficients();
    for (i, y) in y.iter_mut().enumerate() {
        let pairs = || x[i..i + count].iter().zip(&taps);
        let sum = |lane: usize| pairs().map(|(x, tap)| x[lane] * tap).sum::<f32>();
        *y = f32x2::from_array([sum(0), sum(1)]);
    }
}

pub fn median_on_host(n: i32, from: &[u8], to: &mut [u8]) {
    for (i, to) in to.iter_mut().enumerate() {
        let (x, y) = (i as i32 % n, i as i32 / n);
        let clamped = |at: i32| at.clamp(0, n - 1);
        let near = |k: i32| from[(clamped(y + k / 3 - 1) * n + clamped(x + k % 3 - 1)) as usize];
        let mut pixels: Vec<u8> = (0..9).map(near).collect();
        pixels.sort_unstable();
        *to = pixels[4];
    }
}

pub fn integral_on_host(along_rows: bool, n: i32, from: &[u32], to: &mut [u32]) {
    let n = n as usize;
    for i in 0..to.len() {
        let before = match along_rows {
            true if i % n > 0 => to[i - 1],
            false if i >= n => to[i - n],
            _ => 0,
        };
        to[i] = before.wrapping_add(from[i]);
    }
}

pub fn yuv_to_rgb_on_host(n: i32, luma: &[u8], chroma: &[u8], rgb: &mut [u8]) {
    let n = n as usize;
    for (i, rgb) in rgb.chunks_mut(3).enumerate() {
        let at = i / n / 2 * n + i % n / 2 * 2;
        let [y, u, v] = [luma[i], chroma[at], chroma[at + 1]].map(i32::from);
        let (c, d, e) = (298 * (y - 16) + 128, u - 128, v - 128);
        let colours = [c + 409 * e, c - 100 * d - 208 * e, c + 516 * d];
        rgb.iter_mut().zip(colours).for_each(|(to, it)| *to = (it >> 8).clamp(0, 255) as u8);
    }
}

pub fn binomial_put_on_host(
    steps: i32,
    strike: f32,
    prices: &[f32],
    spreads: &[f32],
    values: &mut [f32],
) {
    for ((value, price), spread) in values.iter_mut().zip(prices).zip(spreads) {
        let up = spread / (steps as f32).sqrt();
        let (growth, high) = ((0.05 / steps as f32).exp2(), up.exp2());
        let chance = (growth - 1.0 / high) / (high - 1.0 / high);
        let payoff = |level: i32, k: i32| strike - price * (up * (2 * k - level) as f32).exp2();
        let mut tree: Vec<f32> = (0..=steps).map(|k| payoff(steps, k).max(0.0)).collect();
        for level in (0..steps).rev() {
            for k in 0..=level as usize {
                let kept = (chance * tree[k + 1] + (1.0 - chance) * tree[k]) / growth;
                tree[k] = kept.max(payoff(level, k as i32));
            }
        }
        *value = tree[0];
    }
}

pub fn deposit_on_host(n: i32, places: &[f32x2], charges: &[f32], grid: &mut [f32]) {
    for (place, charge) in places.iter().zip(charges) {
        for (right, below) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            let share = |at: f32, next: i32| if next == 1 { at.fract() } else { 1.0 - at.fract() };
            let row = (place[1] as i32 + below) % n;
            let column = (place[0] as i32 + right) % n;
            grid[(row * n + column) as usize] +=
                charge * share(place[0], right) * share(place[1], below);
        }
    }
}

pub fn hook_on_host(edges: &[u32x2], labels: &[u32], next: &mut [u32]) {
    for edge in edges {
        let (one, other) = (labels[edge[0] as usize], labels[edge[1] as usize]);
        let high = &mut next[one.max(other) as usize];
        *high = (*high).min(one.min(other));
    }
}

pub fn align_on_host(length: i32, queries: &[u8], targets: &[u8], scores: &mut [i32]) {
    let length = length as usize;
    let pairs = queries.chunks(length).zip(targets.chunks(length));
    for (best, (query, target)) in scores.iter_mut().zip(pairs) {
        let (mut above, mut down) = (vec![0; length + 1], vec![-1_000_000; length]);
        for letter in target {
            let (mut across, mut corner) = (-1_000_000, 0);
            for k in 0..length {
                across = (across - 1).max(above[k] - 3);
                down[k] = (down[k] - 1).max(above[k + 1] - 3);
                let matched = corner + if query[k] == *letter { 2 } else { -1 };
                corner = above[k + 1];
                above[k + 1] = matched.max(0).max(across).max(down[k]);
                *best = (*best).max(above[k + 1]);
            }
        }
    }
}

pub fn assign_on_host(
    count: i32,
    centres: &[f32],
    points: &[f32],
    nearest: &mut [u32],
    distances: &mut [f32],
) {
    let size = centres.len() / count as usize;
    for (i, point) in points.chunks(size).enumerate() {
        let add = |sum, (a, b): (&f32, &f32)| f32::mul_add(a - b, a - b, sum);
        let of_centres = centres.chunks(size).map(|it| point.iter().zip(it).fold(0.0, add));
        let least = of_centres.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
        (nearest[i], distances[i]) = least.map_or((0, 0.0), |(k, least)| (k as u32, least));
    }
}

pub fn group_by_on_host(
    _groups: u32,
    keys: &[u32],
    values: &[u32],
    counts: &mut [u32],
    sums: &mut [u64],
    largest: &mut [u32],
) {
    for (key, value) in keys.iter().zip(values) {
        let key = *key as usize;
        counts[key] += 1;
        sums[key] += u64::from(*value);
        largest[key] = largest[key].max(*value);
    }
}

pub fn bloom_probe_on_host(mask: u32, keys: &[u64], bits: &[u32], found: &mut [u8]) {
    for (found, key) in found.iter_mut().zip(keys) {
        let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let hash = (hash ^ hash >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let step = (hash >> 32) as u32 | 1;
        let bit = |k: u32| (hash as u32).wrapping_add(k.wrapping_mul(step)) & mask;
        let is_set = |bit: u32| bits[bit as usize / 32] >> (bit % 32) & 1 == 1;
        *found = u8::from((0..4).all(|k| is_set(bit(k))));
    }
}

pub fn unpack_on_host(
    size: i32,
    starts: &[u32],
    literal_starts: &[u32],
    sequences: &[u32x2],
    literals: &[u8],
    to: &mut [u8],
) {
    for (chunk, to) in to.chunks_mut(size as usize).enumerate() {
        let (mut done, mut from) = (0, literal_starts[chunk] as usize);
        for sequence in &sequences[starts[chunk] as usize..starts[chunk + 1] as usize] {
            let (count, length) = (sequence[0] as usize & 0xffff, sequence[0] as usize >> 16);
            to[done..done + count].copy_from_slice(&literals[from..from + count]);
            (done, from) = (done + count, from + count);
            for i in done..done + length {
                to[i] = to[i - sequence[1] as usize];
            }
            done += length;
        }
    }
}

pub fn search_on_host(pattern: u64, text: &[u8], count: &mut [u32]) {
    let starts = text.windows(8).take(text.len() - 8);
    count[0] = starts.filter(|it| **it == pattern.to_le_bytes()).count() as u32;
}

pub fn keccak_on_host(n: u32, messages: &[u64], hashes: &mut [u64]) {
    let n = n as usize;
    for i in 0..n {
        let mut a = [[0; 5]; 5];
        (0..17).for_each(|k| a[k / 5][k % 5] = messages[k * n + i]);
        let mut register = 1u32;
        (0..24).for_each(|_| round_of_keccak(&mut a, &mut register));
        (0..4).for_each(|k| hashes[k * n + i] = a[0][k]);
    }
}

/// The rows y of the state have columns x. `register` makes the round constants.
fn round_of_keccak(a: &mut [[u64; 5]; 5], register: &mut u32) {
    let c: [u64; 5] = std::array::from_fn(|x| a.iter().fold(0, |sum, row| sum ^ row[x]));
    for row in a.iter_mut() {
        (0..5).for_each(|x| row[x] ^= c[(x + 4) % 5] ^ c[(x + 1) % 5].rotate_left(1));
    }
    let (mut x, mut y, mut moved) = (1, 0, a[0][1]);
    for t in 0..24 {
        (x, y) = (y, (2 * x + 3 * y) % 5);
        let turned = moved.rotate_left((t + 1) * (t + 2) / 2 % 64);
        moved = std::mem::replace(&mut a[y][x], turned);
    }
    for row in a.iter_mut() {
        let old = *row;
        (0..5).for_each(|x| row[x] ^= !old[(x + 1) % 5] & old[(x + 2) % 5]);
    }
    for j in 0..7 {
        a[0][0] ^= u64::from(*register & 1) << ((1 << j) - 1);
        *register = *register << 1 ^ if *register & 0x80 == 0 { 0 } else { 0x171 };
    }
}

/// The lowest word first.
type Number = [u64; 4];

const FOLD: u64 = 0x1_0000_03d1;
const PRIME: Number = [0xffff_fffe_ffff_fc2f, u64::MAX, u64::MAX, u64::MAX];

pub fn double_points_on_host(times: i32, points: &[u64], to: &mut [u64]) {
    for (to, point) in to.chunks_mut(12).zip(points.chunks(12)) {
        let number = |k: usize| -> Number { std::array::from_fn(|i| point[4 * k + i]) };
        let [mut x, mut y, mut z] = [0, 1, 2].map(number);
        for _ in 0..times {
            let yy = product(y, y);
            let middle = product(x, yy);
            let (s, m) = (scaled(middle, 4), scaled(product(x, x), 3));
            z = scaled(product(y, z), 2);
            x = difference(product(m, m), scaled(s, 2));
            y = difference(product(m, difference(s, x)), scaled(product(yy, yy), 8));
        }
        for (to, number) in to.chunks_mut(4).zip([x, y, z]) {
            to.copy_from_slice(&product(number, [1, 0, 0, 0]));
        }
    }
}

fn scaled(a: Number, by: u64) -> Number {
    product(a, [by, 0, 0, 0])
}

/// The remainder of a b; 2^256 is `FOLD` modulo the prime.
fn product(a: Number, b: Number) -> Number {
    let mut words = [0; 9];
    (0..4).for_each(|i| add_scaled(&mut words[i..], &a, b[i]));
    for _ in 0..3 {
        let high: Vec<u64> = words[4..].to_vec();
        words[4..].fill(0);
        add_scaled(&mut words, &high, FOLD);
    }
    let low = [words[0], words[1], words[2], words[3]];
    let (less, borrowed) = subtracted(low, PRIME);
    if borrowed { low } else { less }
}

/// sum += a by; the sum has room for the carry.
fn add_scaled(sum: &mut [u64], a: &[u64], by: u64) {
    let mut carry = 0u128;
    for (word, a) in sum.iter_mut().zip(a.iter().chain(std::iter::repeat(&0))) {
        carry += u128::from(*word) + u128::from(*a) * u128::from(by);
        *word = carry as u64;
        carry >>= 64;
    }
}

fn difference(a: Number, b: Number) -> Number {
    let (less, borrowed) = subtracted(a, b);
    if borrowed { subtracted(less, [FOLD, 0, 0, 0]).0 } else { less }
}

/// a - b modulo 2^256, and whether a is less.
fn subtracted(mut a: Number, b: Number) -> (Number, bool) {
    let mut borrowed = false;
    for (a, b) in a.iter_mut().zip(b) {
        let (less, first) = a.overflowing_sub(b);
        let (word, second) = less.overflowing_sub(u64::from(borrowed));
        (*a, borrowed) = (word, first | second);
    }
    (a, borrowed)
}
