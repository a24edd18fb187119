//! The results that kernels should have, computed on the host.

use crate::inputs::{CHANCES, SECTIONS, VOLATILITIES, charges_in_space, number};
use gpuprof::{bf16, f16x2, f32x2, f32x4, f64x2, i32x4, u8x4, u32x4};

pub fn thomas_on_host(
    n: i32,
    systems: i32,
    lower: &[f64],
    middle: &[f64],
    upper: &[f64],
    ratios: &mut [f64],
    x: &mut [f64],
) {
    let (n, systems) = (n as usize, systems as usize);
    for i in 0..systems {
        let (mut ratio, mut value) = (0.0, 0.0);
        for at in (0..n).map(|k| k * systems + i) {
            let pivot = middle[at] - lower[at] * ratio;
            value = (x[at] - lower[at] * value) / pivot;
            ratio = upper[at] / pivot;
            (ratios[at], x[at]) = (ratio, value);
        }
        for at in (0..n - 1).rev().map(|k| k * systems + i) {
            x[at] -= ratios[at] * x[at + systems];
        }
    }
}

pub fn cyclic_reduction_on_host(
    size: usize,
    lower: &[f32],
    middle: &[f32],
    upper: &[f32],
    right: &[f32],
    x: &mut [f32],
) {
    let mut ratios = vec![0.0; x.len()];
    for first in (0..x.len()).step_by(size) {
        let (mut ratio, mut value) = (0.0, 0.0);
        for at in first..first + size {
            let pivot = middle[at] - lower[at] * ratio;
            value = (right[at] - lower[at] * value) / pivot;
            ratio = upper[at] / pivot;
            (ratios[at], x[at]) = (ratio, value);
        }
        (first..first + size - 1).rev().for_each(|at| x[at] -= ratios[at] * x[at + 1]);
    }
}

pub fn conjugate_step_on_host(
    _pairs: u32,
    a: f64,
    p: &[f64x2],
    q: &[f64x2],
    x: &mut [f64x2],
    r: &mut [f64x2],
    square: &mut [f64],
) {
    for i in 0..x.len() {
        for k in 0..2 {
            x[i][k] += a * p[i][k];
            r[i][k] -= a * q[i][k];
            square[0] += r[i][k] * r[i][k];
        }
    }
}

pub fn restrict_grid_on_host(n: i32, fine: &[f32], coarse: &mut [f32]) {
    let (n, side) = (n as usize, 2 * n as usize + 1);
    for (i, coarse) in coarse.iter_mut().enumerate() {
        let corner = (2 * (i / n / n) * side + 2 * (i / n % n)) * side + 2 * (i % n);
        for k in 0..27 {
            let [x, y, z] = [k % 3, k / 3 % 3, k / 9];
            let weight = [x, y, z].map(|it| if it == 1 { 0.5 } else { 0.25 });
            let value = fine[corner + (z * side + y) * side + x];
            *coarse += weight.into_iter().product::<f32>() * value;
        }
    }
}

pub fn shallow_water_on_host(n: i32, step: f32, before: &[f32], after: &mut [f32]) {
    let (n, cells) = (n as usize, (n * n) as usize);
    let flow = |a: [f32; 3], b: [f32; 3]| {
        let speed = |cell: [f32; 3]| (cell[1] / cell[0]).abs() + (9.81 * cell[0]).sqrt();
        let fastest = speed(a).max(speed(b));
        let of = |cell: [f32; 3]| {
            let [height, across, along] = cell;
            let push = across * across / height + 4.905 * height * height;
            [across, push, along * across / height]
        };
        let (of_a, of_b) = (of(a), of(b));
        [0, 1, 2].map(|k| 0.5 * (of_a[k] + of_b[k] - fastest * (b[k] - a[k])))
    };
    let cell = |x: usize, y: usize| [0, 1, 2].map(|k| before[k * cells + y % n * n + x % n]);
    let turned = |x: usize, y: usize| [0, 2, 1].map(|k| before[k * cells + y % n * n + x % n]);
    for i in 0..cells {
        let (x, y) = (i % n + n, i / n + n);
        let across = [flow(cell(x - 1, y), cell(x, y)), flow(cell(x, y), cell(x + 1, y))];
        let down = [flow(turned(x, y - 1), turned(x, y)), flow(turned(x, y), turned(x, y + 1))];
        for (k, turned) in [0, 2, 1].into_iter().enumerate() {
            let more = across[0][k] - across[1][k] + down[0][turned] - down[1][turned];
            after[k * cells + i] = before[k * cells + i] + step * more;
        }
    }
}

pub fn floyd_step_on_host(n: i32, middle: i32, lengths: &mut [i32]) {
    let (n, middle) = (n as usize, middle as usize);
    let second = lengths[middle * n..][..n].to_vec();
    for line in lengths.chunks_mut(n) {
        let first = line[middle];
        line.iter_mut().zip(&second).for_each(|(it, second)| *it = (first + second).min(*it));
    }
}

pub fn biquads_on_host(_length: i32, channels: i32, from: &[f32], to: &mut [f32]) {
    let channels = channels as usize;
    let mut state = vec![[[0.0; 2]; 4]; channels];
    for (i, (from, to)) in from.iter().zip(to).enumerate() {
        *to = *from;
        for (section, old) in SECTIONS.iter().zip(&mut state[i % channels]) {
            let y = section[0] * *to + old[0];
            old[0] = section[1] * *to - section[3] * y + old[1];
            old[1] = section[2] * *to - section[4] * y;
            *to = y;
        }
    }
}

pub fn transposed_product_on_host(_rows: i32, columns: i32, a: &[f32], x: &[f32], y: &mut [f32]) {
    for (line, x) in a.chunks(columns as usize).zip(x) {
        y.iter_mut().zip(line).for_each(|(y, a)| *y += a * x);
    }
}

pub fn coo_product_on_host(
    rows: &[u32],
    columns: &[u32],
    values: &[f32],
    x: &[f32],
    y: &mut [f32],
) {
    for ((row, column), value) in rows.iter().zip(columns).zip(values) {
        y[*row as usize] += value * x[*column as usize];
    }
}

pub fn tf32_product_on_host(n: i32, depth: i32, a: &[f32], b: &[f32], c: &mut [f32]) {
    let (n, depth) = (n as usize, depth as usize);
    let turned: Vec<f32> = (0..n * depth).map(|i| b[i % n * depth + i / n]).collect();
    for (line, a) in c.chunks_mut(n).zip(a.chunks(depth)) {
        for (a, b) in a.iter().zip(turned.chunks(n)) {
            line.iter_mut().zip(b).for_each(|(c, b)| *c += a * b);
        }
    }
}

pub fn dgemm_on_host(n: i32, a: &[f64], b: &[f64], c: &mut [f64]) {
    let n = n as usize;
    for (line, a) in c.chunks_mut(n).zip(a.chunks(n)) {
        for (a, b) in a.iter().zip(b.chunks(n)) {
            line.iter_mut().zip(b).for_each(|(c, b)| *c += a * b);
        }
    }
}

pub fn coulomb_on_host(n: i32, count: i32, step: f32, z: f32, potential: &mut [f32]) {
    let charges = charges_in_space();
    for (i, potential) in potential.iter_mut().enumerate() {
        let place = [step * (i as i32 % n) as f32, step * (i as i32 / n) as f32, z];
        for charge in &charges[..count as usize] {
            let square: f32 = (0..3).map(|k| (place[k] - charge[k]).powi(2)).sum();
            *potential += charge[3] / square.sqrt();
        }
    }
}

pub fn ising_on_host(n: i32, colour: i32, seed: u32, spins: &mut [i8]) {
    let (n, colour) = (n as usize, colour as usize);
    for i in 0..n * n / 2 {
        let y = i / (n / 2);
        let x = 2 * (i % (n / 2)) + (y + colour) % 2;
        let random = (i as u32).wrapping_mul(747_796_405).wrapping_add(seed);
        let random = (random >> ((random >> 28) + 4) ^ random).wrapping_mul(277_803_737);
        let around = [(x, y + n - 1), (x, y + 1), (x + n - 1, y), (x + 1, y)];
        let sum: i8 = around.into_iter().map(|(x, y)| spins[y % n * n + x % n]).sum();
        let at = y * n + x;
        if (random >> 22 ^ random) < CHANCES[(spins[at] * sum + 4) as usize / 2] {
            spins[at] = -spins[at];
        }
    }
}

pub fn sum_waves_on_host(
    _count: i32,
    waves: &[f32x4],
    x: &[f32],
    y: &[f32],
    z: &[f32],
    sums: &mut [f32x2],
) {
    for (i, sum) in sums.iter_mut().enumerate() {
        for wave in waves {
            let turns = wave[0] * x[i] + wave[1] * y[i] + wave[2] * z[i];
            let (sine, cosine) = (std::f32::consts::TAU * turns).sin_cos();
            sum[0] += wave[3] * cosine;
            sum[1] += wave[3] * sine;
        }
    }
}

pub fn bend_bonds_on_host(
    stiffness: f32,
    rest: f32,
    bonds: &[i32x4],
    places: &[f32x4],
    forces: &mut [f32],
) {
    for bond in bonds {
        let [a, b, c] = [0, 1, 2].map(|k| bond[k] as usize);
        let from_b = |it: usize| {
            let line = [0, 1, 2].map(|k| places[it][k] - places[b][k]);
            let length = line.iter().map(|it| it * it).sum::<f32>().sqrt();
            (line.map(|it| it / length), length)
        };
        let ((one, of_one), (other, of_other)) = (from_b(a), from_b(c));
        let cosine: f32 = one.iter().zip(&other).map(|(a, b)| a * b).sum();
        let cosine = cosine.clamp(-0.999, 0.999);
        let force = stiffness * (cosine.acos() - rest) / (1.0 - cosine * cosine).sqrt();
        for k in 0..3 {
            let at_a = force / of_one * (other[k] - cosine * one[k]);
            let at_c = force / of_other * (one[k] - cosine * other[k]);
            forces[3 * a + k] += at_a;
            forces[3 * b + k] -= at_a + at_c;
            forces[3 * c + k] += at_c;
        }
    }
}

pub fn count_distances_on_host(_n: i32, points: &[f32x4], counts: &mut [u32]) {
    for (i, one) in points.iter().enumerate() {
        for other in &points[i + 1..] {
            let square: f32 = (0..3).map(|k| (one[k] - other[k]).powi(2)).sum();
            counts[(36.0 * square.sqrt()) as usize] += 1;
        }
    }
}

pub trait Rounded: Copy + Into<f64> {
    fn rounded(x: f64) -> Self;
}

impl Rounded for f32 {
    fn rounded(x: f64) -> f32 {
        x as f32
    }
}

impl Rounded for f64 {
    fn rounded(x: f64) -> f64 {
        x
    }
}

pub fn lorenz_on_host<T: Rounded>(n: i32, steps: i32, step: T, from: &[T], to: &mut [T]) {
    let (n, step) = (n as usize, step.into());
    let slope = |[x, y, z]: [f64; 3]| [10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z];
    let moved = |a: [f64; 3], by: f64, b: [f64; 3]| [0, 1, 2].map(|k| a[k] + by * b[k]);
    for i in 0..n {
        let mut place = [0, 1, 2].map(|k| from[k * n + i].into());
        for _ in 0..steps {
            let a = slope(place);
            let b = slope(moved(place, step / 2.0, a));
            let c = slope(moved(place, step / 2.0, b));
            let d = slope(moved(place, step, c));
            place = moved(place, step / 6.0, a);
            place = moved(place, step / 3.0, b);
            place = moved(place, step / 3.0, c);
            place = moved(place, step / 6.0, d);
        }
        (0..3).for_each(|k| to[k * n + i] = T::rounded(place[k]));
    }
}

pub fn market_model_on_host(
    rates: usize,
    paths: i32,
    strike: f32,
    normals: &[f32],
    values: &mut [f32],
) {
    for (i, value) in values.iter_mut().enumerate() {
        let mut curve = vec![0.05f32; rates];
        for step in 0..rates / 2 {
            let (normal, mut drift) = (0.5 * normals[step * paths as usize + i], 0.0);
            for (rate, volatility) in curve[step + 1..].iter_mut().zip(VOLATILITIES) {
                let part = 0.25 * volatility;
                drift += part * *rate / (1.0 + 0.25 * *rate);
                *rate *= (part * drift + volatility * (normal - 0.5 * part)).exp();
            }
        }
        let (mut bond, mut annuity) = (1.0, 0.0);
        for rate in &curve[rates / 2..] {
            bond /= 1.0 + 0.25 * rate;
            annuity += 0.25 * bond;
        }
        *value = (1.0 - bond - strike * annuity).max(0.0);
    }
}

pub fn sobol_on_host(n: i32, _shift: i32, directions: &[u32], to: &mut [f32]) {
    for (line, directions) in to.chunks_mut(n as usize).zip(directions.chunks(32)) {
        let mut bits = 0;
        for (i, to) in line.iter_mut().enumerate() {
            *to = bits as f32 * 0.5f32.powi(32);
            bits ^= directions[(i + 1).trailing_zeros() as usize];
        }
    }
}

pub fn find_edges_on_host(n: i32, least: i32, from: &[u8], to: &mut [u8]) {
    let pixel =
        |x: i32, y: i32| i32::from(from[(y.clamp(0, n - 1) * n + x.clamp(0, n - 1)) as usize]);
    let slope = |x: i32, y: i32| {
        let weighted = |of: &dyn Fn(i32) -> i32| of(-1) + 2 * of(0) + of(1);
        let column = |by: i32| weighted(&|k| pixel(x + by, y + k));
        let row = |by: i32| weighted(&|k| pixel(x + k, y + by));
        (column(1) - column(-1), row(1) - row(-1))
    };
    let slopes = |i: i32| slope(i % (n + 2) - 1, i / (n + 2) - 1);
    let slopes: Vec<_> = (0..(n + 2) * (n + 2)).map(slopes).collect();
    let length = |x: i32, y: i32| {
        let (across, down) = slopes[((y + 1) * (n + 2) + x + 1) as usize];
        across.abs() + down.abs()
    };
    for (i, to) in to.iter_mut().enumerate() {
        let (x, y) = (i as i32 % n, i as i32 / n);
        let (across, down) = slopes[((y + 1) * (n + 2) + x + 1) as usize];
        let (dx, dy) = match (across.abs(), down.abs()) {
            (a, b) if 5 * b < 2 * a => (1, 0),
            (a, b) if 5 * a < 2 * b => (0, 1),
            _ => (if (across ^ down) < 0 { -1 } else { 1 }, 1),
        };
        let own = length(x, y);
        let edge = own >= least && own >= length(x + dx, y + dy) && own > length(x - dx, y - dy);
        *to = if edge { 255 } else { 0 };
    }
}

pub fn vote_for_lines_on_host(
    _count: i32,
    bins: i32,
    points: &[u32],
    angles: &[f32x2],
    votes: &mut [u32],
) {
    for (votes, angle) in votes.chunks_mut(bins as usize).zip(angles) {
        for point in points {
            let (x, y) = ((point & 65535) as f32, (point >> 16) as f32);
            votes[(x.mul_add(angle[0], y * angle[1]).floor() as i32 + bins / 2) as usize] += 1;
        }
    }
}

pub fn wavelet_on_host(levels: usize, size: usize, from: &[i32], to: &mut [i32]) {
    to.copy_from_slice(from);
    for to in to.chunks_mut(size) {
        for half in (1..=levels).map(|level| size >> level) {
            let old = to[..2 * half].to_vec();
            for i in 0..half {
                let next = old[if i + 1 < half { 2 * i + 2 } else { 2 * i }];
                to[half + i] = old[2 * i + 1] - ((old[2 * i] + next) >> 1);
            }
            for i in 0..half {
                let both = to[half + i.saturating_sub(1)] + to[half + i];
                to[i] = old[2 * i] + ((both + 2) >> 2);
            }
        }
    }
}

pub fn find_shifts_on_host(n: i32, shifts: i32, one: &[u32], other: &[u32], found: &mut [i32]) {
    let (n, row) = (n as usize, n as usize + 32);
    let differing = |a: u32, b: u32| -> u32 {
        a.to_le_bytes()
            .into_iter()
            .zip(b.to_le_bytes())
            .map(|(a, b)| u32::from(a.abs_diff(b)))
            .sum()
    };
    for (i, found) in found.iter_mut().enumerate() {
        let first = i / n * row + i % n;
        let sum = |shift: i32| -> u32 {
            let places = (0..25).map(|k| first + k / 5 * row + k % 5);
            places.map(|at| differing(one[at], other[at + shift as usize])).sum()
        };
        *found = (0..shifts).min_by_key(|shift| sum(*shift)).unwrap_or(0);
    }
}

pub fn tone_map_on_host(exposure: f32, from: &[f32x4], to: &mut [u8x4]) {
    for (to, from) in to.iter_mut().zip(from) {
        let mapped = |k: usize| {
            let light = exposure * from[k];
            (255.0 * (light / (1.0 + light)).powf(1.0 / 2.2) + 0.5) as u8
        };
        *to = u8x4::from_array([mapped(0), mapped(1), mapped(2), 255]);
    }
}

pub fn differ_by_one(device: &[u8x4], host: &[u8x4]) -> Result<(), String> {
    let differ = |i: &usize| (0..4).any(|k| device[*i][k].abs_diff(host[*i][k]) > 1);
    match (0..host.len()).find(differ) {
        Some(i) => Err(format!("pixel {i} differs by more than one")),
        None => Ok(()),
    }
}

pub fn sha256_on_host(n: u32, blocks: i32, messages: &[u32], hashes: &mut [u32]) {
    let n = n as usize;
    let primes = (2u32..).filter(|it| (2..*it).all(|divisor| it % divisor > 0)).map(f64::from);
    let bits = |root: f64| (root.fract() * 2f64.powi(32)) as u32;
    let rounds: Vec<u32> = primes.clone().take(64).map(|it| bits(it.cbrt())).collect();
    let first: Vec<u32> = primes.take(8).map(|it| bits(it.sqrt())).collect();
    let mixed = |x: u32, by: &[u32]| by.iter().fold(0, |sum, by| sum ^ x.rotate_right(*by));
    for i in 0..n {
        let mut hash = first.clone();
        for block in 0..blocks as usize {
            let mut w: Vec<u32> = (0..16).map(|k| messages[(16 * block + k) * n + i]).collect();
            for k in 16..64 {
                let one = mixed(w[k - 15], &[7, 18]) ^ w[k - 15] >> 3;
                let two = mixed(w[k - 2], &[17, 19]) ^ w[k - 2] >> 10;
                w.push([w[k - 16], one, w[k - 7], two].into_iter().fold(0, u32::wrapping_add));
            }
            let mut s = hash.clone();
            for (round, w) in rounds.iter().zip(w) {
                let chosen = s[4] & s[5] ^ !s[4] & s[6];
                let most = s[0] & s[1] ^ s[0] & s[2] ^ s[1] & s[2];
                let one = [s[7], mixed(s[4], &[6, 11, 25]), chosen, *round, w];
                let one = one.into_iter().fold(0, u32::wrapping_add);
                s.rotate_right(1);
                s[4] = s[4].wrapping_add(one);
                s[0] = one.wrapping_add(mixed(s[1], &[2, 13, 22])).wrapping_add(most);
            }
            hash.iter_mut().zip(s).for_each(|(hash, s)| *hash = hash.wrapping_add(s));
        }
        (0..8).for_each(|k| hashes[k * n + i] = hash[k]);
    }
}

pub fn move_by_digit_on_host(keys: &[u32], to: &mut [u32]) {
    to.copy_from_slice(keys);
    to.sort_by_key(|key| key % 16);
}

pub fn count_less_on_host(levels: i32, keys: &[u32], counts: &mut [u32]) {
    let count = (1u64 << levels) - 1;
    for (less, key) in counts.iter_mut().zip(keys) {
        let near = u64::from(key / 16);
        *less = (near + u64::from(near < count && number(near) < *key)).min(count) as u32;
    }
}

pub fn triangles_on_host(
    _edges: u32,
    sources: &[u32],
    starts: &[u32],
    targets: &[u32],
    count: &mut [u64],
) {
    let list = |it: u32| &targets[starts[it as usize] as usize..starts[it as usize + 1] as usize];
    for (one, other) in sources.iter().zip(targets) {
        let in_other = |it: &&u32| list(*other).binary_search(it).is_ok();
        count[0] += list(*one).iter().filter(in_other).count() as u64;
    }
}

/// The numbers of solutions are known.
pub fn queens_on_host(_boards: u32, size: i32, _starts: &[u32x4], count: &mut [u64]) {
    count[0] = [1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2_680, 14_200, 73_712][size as usize - 1];
}

pub fn sieve_on_host(_words: i32, _primes: i32, divisors: &[u32], marks: &mut [u32]) {
    for prime in divisors.iter().map(|it| *it as usize) {
        for at in (prime * prime / 2..32 * marks.len()).step_by(prime) {
            marks[at / 32] |= 1 << (at % 32);
        }
    }
}

pub fn max_pool_on_host(side: i32, from: &[f32], to: &mut [f32], places: &mut [i32]) {
    let (side, half) = (side as usize, side as usize / 2);
    for i in 0..to.len() {
        let image = &from[i / half / half * side * side..];
        let lines = |at: usize| (2 * at).saturating_sub(1)..=2 * at + 1;
        let rows = lines(i / half % half);
        let all = rows.flat_map(|row| lines(i % half).map(move |column| row * side + column));
        let place = all.reduce(|a, b| if image[b] > image[a] { b } else { a }).unwrap_or(0);
        (to[i], places[i]) = (image[place], place as i32);
    }
}

pub fn depthwise_on_host(
    side: i32,
    pairs: i32,
    from: &[f16x2],
    weights: &[f16x2],
    to: &mut [f16x2],
) {
    let (side, pairs) = (side as usize, pairs as usize);
    let size = (weights.len() / pairs).isqrt();
    for (i, to) in to.iter_mut().enumerate() {
        let (pair, x, y) = (i % pairs, i / pairs % side, i / pairs / side % side);
        let (image, mut sums) = (i / pairs / side / side * side, [0.0; 2]);
        for k in 0..size * size {
            let (column, row) = (x + k % size, y + k / size);
            let inside = |at: usize| at >= size / 2 && at < side + size / 2;
            if inside(column) && inside(row) {
                let pixel = (image + row - size / 2) * side + column - size / 2;
                let value = from[pixel * pairs + pair].to_f32s();
                let weight = weights[k * pairs + pair].to_f32s();
                (0..2).for_each(|k| sums[k] += value[k] * weight[k]);
            }
        }
        *to = f16x2::from_f32s(sums[0], sums[1]);
    }
}

#[expect(clippy::too_many_arguments, reason = "they are the kernel's")]
pub fn batch_norm_on_host(
    _images: i32,
    channels: i32,
    pixels: i32,
    from: &[f32],
    scales: &[f32],
    means: &mut [f32],
    variances: &mut [f32],
    to: &mut [f32],
) {
    let (channels, pixels) = (channels as usize, pixels as usize);
    let image = channels * pixels;
    for channel in 0..channels {
        let values = |from: &[f32]| -> Vec<f64> {
            let planes = from.chunks(image).flat_map(|it| &it[channel * pixels..][..pixels]);
            planes.map(|it| f64::from(*it)).collect()
        };
        let values = values(from);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares: f64 = values.iter().map(|it| (it - mean).powi(2)).sum();
        let variance = squares / values.len() as f64;
        (means[channel], variances[channel]) = (mean as f32, variance as f32);
        let scale = f64::from(scales[channel]) / (variance + 1e-5).sqrt();
        for (k, value) in values.iter().enumerate() {
            let at = k / pixels * image + channel * pixels + k % pixels;
            to[at] = ((value - mean) * scale) as f32;
        }
    }
}

pub fn recurrent_cell_on_host(hidden: i32, gates: &[f32], cells: &mut [f32], outputs: &mut [f32]) {
    let hidden = hidden as usize;
    let sigmoid = |x: f32| 1.0 / (1.0 + (-x).exp());
    for (i, cell) in cells.iter_mut().enumerate() {
        let gate = |k: usize| gates[(4 * (i / hidden) + k) * hidden + i % hidden];
        *cell = sigmoid(gate(1)) * *cell + sigmoid(gate(0)) * gate(2).tanh();
        outputs[i] = sigmoid(gate(3)) * cell.tanh();
    }
}

pub fn swiglu_on_host(gates: &[bf16], values: &[bf16], to: &mut [bf16]) {
    for ((to, gate), value) in to.iter_mut().zip(gates).zip(values) {
        let gate = gate.to_f32();
        *to = bf16::from_f32(value.to_f32() * gate / (1.0 + (-gate).exp()));
    }
}

pub fn find_overlaps_on_host(boxes: &[f32x4], masks: &mut [u64]) {
    let area = |it: &f32x4| (it[2] - it[0]) * (it[3] - it[1]);
    for (i, own) in boxes.iter().enumerate() {
        for (k, other) in boxes.iter().enumerate().skip(i + 1) {
            let length =
                |at: usize| (own[at + 2].min(other[at + 2]) - own[at].max(other[at])).max(0.0);
            let both = length(0) * length(1);
            let covers = 2.0 * both > area(own) + area(other) - both;
            masks[i * (boxes.len() / 64) + k / 64] |= u64::from(covers) << (k % 64);
        }
    }
}
