//! The results that kernels should have, computed on the host.

use crate::inputs::{PRIME, roots, state_changes, surface};
use gpuprof::{f16, f32x4, i32x4, u32x2, u32x4, u64x2};

pub fn crc_on_host(n: u32, words: i32, messages: &[u32], sums: &mut [u32]) {
    for (i, sum) in sums.iter_mut().enumerate() {
        *sum = u32::MAX;
        for k in 0..words as usize {
            *sum ^= messages[k * n as usize + i];
            (0..32).for_each(|_| *sum = *sum >> 1 ^ if *sum & 1 == 1 { 0xedb8_8320 } else { 0 });
        }
        *sum = !*sum;
    }
}

pub fn unpack_deltas_on_host(starts: &[u32], bases: &[i32], words: &[u32], to: &mut [i32x4]) {
    for (frame, to) in to.chunks_mut(32).enumerate() {
        let (start, mut sum) = (starts[frame] as usize, bases[frame]);
        let width = (starts[frame + 1] as usize - start) / 4;
        for i in 0..128 {
            let bit = |k: usize| words[start + k / 32] >> (k % 32) & 1;
            let value: u32 = (0..width).map(|k| bit(i * width + k) << k).sum();
            sum += (value >> 1) as i32 ^ -((value & 1) as i32);
            to[i / 4][i % 4] = sum;
        }
    }
}

pub fn run_machine_on_host(
    states: u64,
    block: usize,
    classes: &[u8],
    text: &[u32x4],
    counts: &mut [u32],
) {
    let (changes, mut state) = (state_changes(states), 0);
    for (i, (count, text)) in counts.iter_mut().zip(text.chunks(4)).enumerate() {
        state = if i % block == 0 { 0 } else { state };
        for byte in text.iter().flat_map(|it| (0..16).map(|k| it[k / 4] >> (8 * (k % 4)) & 255)) {
            state = changes[classes[byte as usize] as usize] >> (4 * state) & 15;
            *count += u32::from(u64::from(state) == states - 1);
        }
    }
}

pub fn compress_on_host(n: i32, steps: &[f32], image: &[u8], to: &mut [i16]) {
    let n = n as usize;
    let wave = |k: usize, x: usize| {
        let scale = if k == 0 { 0.125f32.sqrt() } else { 0.5 };
        scale * (std::f32::consts::PI * (k * (2 * x + 1)) as f32 / 16.0).cos()
    };
    let waves: Vec<f32> = (0..64).map(|i| wave(i / 8, i % 8)).collect();
    let mut order: Vec<usize> = (0..64).collect();
    order.sort_by_key(|i| (i / 8 + i % 8, if (i / 8 + i % 8) % 2 == 0 { i % 8 } else { i / 8 }));
    for (square, to) in to.chunks_mut(64).enumerate() {
        let first = square / (n / 8) * 8 * n + square % (n / 8) * 8;
        let pixel = |y: usize, x: usize| f32::from(image[first + y * n + x]) - 128.0;
        let dot = |k: usize, of: &dyn Fn(usize) -> f32| -> f32 {
            (0..8).map(|x| waves[8 * k + x] * of(x)).sum()
        };
        let rows: Vec<f32> = (0..64).map(|i| dot(i % 8, &|x| pixel(i / 8, x))).collect();
        for (to, i) in to.iter_mut().zip(&order) {
            *to = (dot(i / 8, &|y| rows[8 * y + i % 8]) / steps[*i]).round() as i16;
        }
    }
}

pub fn differ_by_one(device: &[i16], host: &[i16]) -> Result<(), String> {
    let far = device.iter().zip(host).filter(|(device, host)| device.abs_diff(**host) > 1).count();
    if far == 0 { Ok(()) } else { Err(format!("{far} elements differ by more than one")) }
}

pub fn edit_distances_on_host(
    n: u32,
    length: i32,
    queries: &[u8],
    texts: &[u8],
    distances: &mut [u32],
) {
    let n = n as usize;
    for (at, least) in distances.iter_mut().enumerate() {
        let query = &queries[at / n * 64..][..64];
        let mut column: Vec<u32> = (0..=64).collect();
        *least = 64;
        for k in 0..length as usize {
            let (letter, mut corner) = (texts[k * n + at % n], 0);
            for (row, of_query) in query.iter().enumerate() {
                let swapped = corner + u32::from(*of_query != letter);
                corner = column[row + 1];
                column[row + 1] = swapped.min(corner + 1).min(column[row] + 1);
            }
            *least = column[64].min(*least);
        }
    }
}

pub fn divisors_on_host(wide: bool, pairs: &[u64], to: &mut [u64]) {
    let words = if wide { 2 } else { 1 };
    let number = |words: &[u64]| words.iter().rev().fold(0, |sum, it| sum << 64 | u128::from(*it));
    for (to, pair) in to.chunks_mut(words).zip(pairs.chunks(2 * words)) {
        let (mut a, mut b) = (number(&pair[..words]), number(&pair[words..]));
        while b != 0 {
            (a, b) = (b, a % b);
        }
        to.iter_mut().enumerate().for_each(|(i, to)| *to = (a >> (64 * i)) as u64);
    }
}

pub fn transform_polynomials_on_host(polynomials: &mut [i32]) {
    let roots = roots(false);
    for values in polynomials.chunks_mut(256) {
        for length in (0..8).rev().map(|layer| 1 << layer) {
            for (group, pairs) in values.chunks_mut(2 * length).enumerate() {
                let root = i64::from(roots[128 / length + group]);
                let (low, high) = pairs.split_at_mut(length);
                for (low, high) in low.iter_mut().zip(high) {
                    let turned = i64::from(*high) * root;
                    let old = i64::from(*low);
                    *low = (old + turned).rem_euclid(PRIME) as i32;
                    *high = (old - turned).rem_euclid(PRIME) as i32;
                }
            }
        }
    }
}

pub fn sort_lists_on_host(n: u32, from: &[f32], to: &mut [f32]) {
    let n = n as usize;
    for i in 0..n {
        let mut list: Vec<f32> = from[i..].iter().step_by(n).copied().collect();
        list.sort_by(f32::total_cmp);
        list.iter().enumerate().for_each(|(k, it)| to[k * n + i] = *it);
    }
}

pub fn chebyshev_on_host(degree: usize, x: &[f64], y: &[f64], to: &mut [f64]) {
    let surface = surface();
    let waves = |x: f64| {
        let mut values = [1.0, x].repeat(7);
        (2..=degree).for_each(|k| values[k] = 2.0 * x * values[k - 1] - values[k - 2]);
        values
    };
    for (to, (x, y)) in to.iter_mut().zip(x.iter().zip(y)) {
        let (of_x, of_y) = (waves(*x), waves(*y));
        for (i, of_x) in of_x.iter().enumerate().take(degree + 1) {
            *to += (0..=degree).map(|k| surface[13 * i + k] * of_x * of_y[k]).sum::<f64>();
        }
    }
}

pub fn window_attention_on_host(
    tokens: i32,
    window: i32,
    queries: &[f16],
    keys: &[f16],
    values: &[f16],
    to: &mut [f16],
) {
    let (tokens, window) = (tokens as usize, window as usize);
    let wide = |x: &[f16]| x.iter().map(|it| it.to_f32()).collect::<Vec<f32>>();
    let (queries, keys, values) = (wide(queries), wide(keys), wide(values));
    for (at, to) in to.chunks_mut(64).enumerate() {
        let (token, query) = (at % tokens, &queries[64 * at..][..64]);
        let (mut sums, mut total) = ([0.0; 64], 0.0);
        for key in at - token.min(window - 1)..=at {
            let pairs = query.iter().zip(&keys[64 * key..]);
            let share = (pairs.map(|(a, b)| a * b).sum::<f32>() / 8.0).exp();
            sums.iter_mut().zip(&values[64 * key..]).for_each(|(sum, it)| *sum += share * it);
            total += share;
        }
        to.iter_mut().zip(sums).for_each(|(to, sum)| *to = f16::from_f32(sum / total));
    }
}

pub fn nibble_product_on_host(
    rows: i32,
    columns: i32,
    matrix: &[u32x4],
    scales: &[f16],
    x: &[f16],
    y: &mut [f32],
) {
    let (rows, columns) = (rows as usize, columns as usize);
    let x: Vec<f32> = x.iter().map(|it| it.to_f32()).collect();
    for (at, y) in y.iter_mut().enumerate() {
        let (token, row) = (at / rows, at % rows);
        for (column, x) in x[token * columns..][..columns].iter().enumerate() {
            let place = row * columns + column;
            let number =
                matrix[place / 32][place / 8 % 4] >> (column % 8 / 2 * 4 + column % 2 * 16);
            *y += ((number & 15) as f32 - 8.0) * scales[place / 128].to_f32() * x;
        }
    }
}

pub fn convolve_channels_on_host(
    n: i32,
    channels: i32,
    from: &[f32],
    weights: &[f32],
    to: &mut [f32],
) {
    let (n, of_filter) = (n as usize, weights.len() / 16);
    let size = (of_filter / channels as usize).isqrt();
    for (i, to) in to.iter_mut().enumerate() {
        let (x, y, filter) = (i % n, i / n % n, &weights[i / n / n * of_filter..][..of_filter]);
        for (k, weight) in filter.iter().enumerate() {
            let (column, row) = (x + k % size, y + k / size % size);
            let inside = |at: usize| at >= size / 2 && at < n + size / 2;
            if inside(column) && inside(row) {
                let line = (k / size / size * n + row - size / 2) * n;
                *to += weight * from[line + column - size / 2];
            }
        }
    }
}

#[expect(clippy::too_many_arguments, reason = "they are the kernel's")]
pub fn scan_states_on_host(
    length: i32,
    channels: i32,
    x: &[f32],
    steps: &[f32],
    rates: &[f32],
    inward: &[f32],
    outward: &[f32],
    y: &mut [f32],
) {
    let (length, channels) = (length as usize, channels as usize);
    let states = rates.len() / channels;
    for text in 0..y.len() / length / channels {
        let mut state = vec![0.0; rates.len()];
        for token in text * length..(text + 1) * length {
            for channel in 0..channels {
                let at = token * channels + channel;
                let step = steps[at].exp().ln_1p();
                for k in 0..states {
                    let (own, place) = (&mut state[k * channels + channel], token * states + k);
                    *own *= (-step * rates[k * channels + channel]).exp();
                    *own += step * x[at] * inward[place];
                    y[at] += *own * outward[place];
                }
            }
        }
    }
}

pub fn encode_points_on_host(
    points: u32,
    mask: u32,
    places: &[f32],
    tables: &[f16],
    to: &mut [f16],
) {
    let widths = [16, 24, 36, 54, 81, 121, 182, 273];
    for (at, to) in to.chunks_mut(2).enumerate() {
        let (level, point) = (at / points as usize, at % points as usize);
        let width: u32 = widths[level];
        let place: Vec<f32> =
            places[3 * point..][..3].iter().map(|it| it * (width - 1) as f32).collect();
        let mut sums = [0.0; 2];
        for corner in 0..8 {
            let next = |axis: usize| corner >> axis & 1;
            let part = |axis: usize| match next(axis) {
                0 => 1.0 - place[axis].fract(),
                _ => place[axis].fract(),
            };
            let [x, y, z] = [0, 1, 2].map(|axis| place[axis] as u32 + next(axis));
            let hash = x ^ y.wrapping_mul(2_654_435_761) ^ z.wrapping_mul(805_459_861);
            let fits = width * width * width <= mask;
            let entry = if fits { (z * width + y) * width + x } else { hash & mask };
            let first = 2 * (level * (mask as usize + 1) + entry as usize);
            let weight: f32 = (0..3).map(part).product();
            sums.iter_mut()
                .zip(&tables[first..])
                .for_each(|(sum, it)| *sum += weight * it.to_f32());
        }
        to.iter_mut().zip(sums).for_each(|(to, sum)| *to = f16::from_f32(sum));
    }
}

pub fn march_on_host(radius: usize, n: i32, before: &[f32], after: &mut [f32]) {
    let n = n as usize;
    let (row, weights) = (n + 2 * radius, [0.5, 0.1, -0.02, 0.004, -0.001]);
    for (i, after) in after.iter_mut().enumerate() {
        let place = [i % n, i / n % n, i / n / n].map(|it| it + radius);
        let at = (place[2] * row + place[1]) * row + place[0];
        *after = weights[0] * before[at];
        for (k, weight) in weights.iter().enumerate().take(radius + 1).skip(1) {
            let both = |step: usize| before[at - k * step] + before[at + k * step];
            *after += weight * [1, row, row * row].into_iter().map(both).sum::<f32>();
        }
    }
}

pub fn trace_on_host(depth: i32, nodes: &[f32x4], rays: &[f32x4], distances: &mut [f32]) {
    for (nearest, ray) in distances.iter_mut().zip(rays.chunks(2)) {
        *nearest = f32::INFINITY;
        let mut waiting = vec![1];
        while let Some(node) = waiting.pop() {
            let (mut from, mut to) = (0f32, f32::INFINITY);
            for axis in 0..3 {
                let inverse = 1.0 / ray[1][axis];
                let [a, b] = [0, 1].map(|k| (nodes[2 * node + k][axis] - ray[0][axis]) * inverse);
                (from, to) = (from.max(a.min(b)), to.min(a.max(b)));
            }
            match from <= to && from < *nearest {
                true if node >> depth == 0 => waiting.extend([2 * node, 2 * node + 1]),
                true => *nearest = from,
                false => (),
            }
        }
    }
}

pub fn list_neighbours_on_host(
    n: i32,
    side: i32,
    starts: &[u32],
    places: &[f32x4],
    counts: &mut [u32],
    lists: &mut [u32],
) {
    let near = |at: f32| (at as i32 - 1).max(0)..=(at as i32 + 1).min(side - 1);
    for (i, place) in places.iter().enumerate() {
        let rows = near(place[2]).flat_map(|z| near(place[1]).map(move |y| (z * side + y) * side));
        for cell in rows.flat_map(|row| near(place[0]).map(move |x| (row + x) as usize)) {
            for j in starts[cell]..starts[cell + 1] {
                let square = |k: usize| (places[j as usize][k] - place[k]).powi(2);
                if (0..3).map(square).sum::<f32>() >= 1.0 || j as usize == i {
                    continue;
                }
                if counts[i] < 64 {
                    lists[counts[i] as usize * n as usize + i] = j;
                }
                counts[i] += 1;
            }
        }
    }
}

pub fn turn_on_host(n: i32, cosine: f32, sine: f32, from: &[f32], to: &mut [f32]) {
    let between = |[a, b, c, d]: [f32; 4], t: f32| {
        let (square, cube) = (a - 2.5 * b + 2.0 * c - 0.5 * d, 0.5 * (d - a) + 1.5 * (b - c));
        b + t * (0.5 * (c - a) + t * (square + t * cube))
    };
    let clamped = |at: f32, k: i32| (at.floor() as i32 + k - 1).clamp(0, n - 1);
    for (i, to) in to.iter_mut().enumerate() {
        let half = 0.5 * n as f32;
        let (x, y) = ((i as i32 % n) as f32 - half, (i as i32 / n) as f32 - half);
        let (u, v) = (cosine * x - sine * y + half, sine * x + cosine * y + half);
        let line = |row: i32| {
            let values = [0, 1, 2, 3].map(|k| from[(row * n + clamped(u, k)) as usize]);
            between(values, u - u.floor())
        };
        *to = between([0, 1, 2, 3].map(|k| line(clamped(v, k))), v - v.floor());
    }
}

pub fn vote_on_host(
    n: u32,
    trees: i32,
    depth: i32,
    nodes: &[u32x2],
    leaves: &[f32],
    samples: &[f32],
    to: &mut [f32],
) {
    let (n, leaves_of_tree) = (n as usize, 1 << depth);
    for (i, to) in to.iter_mut().enumerate() {
        let of_trees = nodes.chunks(leaves_of_tree).zip(leaves.chunks(leaves_of_tree));
        let votes = of_trees.map(|(nodes, leaves)| {
            let mut node = 1;
            while node < leaves_of_tree {
                let sample = samples[nodes[node][0] as usize * n + i];
                node = 2 * node + usize::from(sample > f32::from_bits(nodes[node][1]));
            }
            leaves[node - leaves_of_tree]
        });
        *to = votes.sum::<f32>() / trees as f32;
    }
}

pub fn merge_lists_on_host(_n: u32, a: &[u32], b: &[u32], to: &mut [u32]) {
    to.copy_from_slice(&[a, b].concat());
    to.sort_unstable();
}

pub fn sketch_on_host(bits: u32, keys: &[u64x2], to: &mut [u32]) {
    for key in keys.iter().flat_map(|two| [two[0], two[1]]) {
        let key = (key ^ key >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
        let key = (key ^ key >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        let key = key ^ key >> 33;
        let run = (key << bits | 1 << (bits - 1)).leading_zeros() + 1;
        let at = (key >> (64 - bits)) as usize;
        to[at] = to[at].max(run);
    }
}

pub fn match_bits_on_host(_count: i32, strings: &[u32x4], queries: &[u32x4], matches: &mut [i32]) {
    for (found, query) in matches.iter_mut().zip(queries.chunks(2)) {
        let differing = |it: &[u32x4]| -> u32 {
            (0..8).map(|k| (it[k / 4][k % 4] ^ query[k / 4][k % 4]).count_ones()).sum()
        };
        let mut order: Vec<_> = strings.chunks(2).map(differing).zip(0..).collect();
        order.select_nth_unstable(1);
        let ((best, place), (next, _)) = (order[0], order[1]);
        *found = if 10 * best < 9 * next { place } else { -1 };
    }
}

pub fn viterbi_on_host(
    length: i32,
    changes: &[f32],
    emissions: &[f32],
    texts: &[u8],
    sources: &mut [u8],
    scores: &mut [f32],
) {
    let (length, states) = (length as usize, emissions.len() / 32);
    for (text, scores) in scores.chunks_mut(states).enumerate() {
        for t in 0..length {
            let (old, at) = (scores.to_vec(), text * length + t);
            for (state, score) in scores.iter_mut().enumerate() {
                let change = |k: usize| old[k] + changes[k * states + state];
                let first = (0..if t == 0 { 0 } else { states })
                    .rev()
                    .max_by(|a, b| change(*a).total_cmp(&change(*b)));
                *score = first.map_or(0.0, change) + emissions[texts[at] as usize * states + state];
                sources[at * states + state] = first.unwrap_or(0) as u8;
            }
        }
    }
}
