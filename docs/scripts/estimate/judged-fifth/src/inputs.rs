//! Inputs that random numbers cannot replace.

use crate::shared::{ends, scattered};
use gpuprof::{f32x2, f32x4, i32x4, u32x4};

/// Four filters of second order: three weights of inputs, and two of outputs.
pub const SECTIONS: [[f32; 5]; 4] = [
    [0.20, 0.40, 0.20, -0.37, 0.20],
    [0.25, -0.1, 0.25, -0.50, 0.30],
    [0.90, 0.30, 0.10, 0.250, 0.10],
    [0.70, -0.2, 0.40, -0.80, 0.40],
];

/// How often of 2^32 times a spin turns that agrees with zero to four neighbours: by the inverse
/// temperature 0.4, each pair of spins that agree costs 2.
pub const CHANCES: [u32; 5] = [u32::MAX, u32::MAX, u32::MAX, 867_138_941, 175_072_332];

pub const VOLATILITIES: [f32; 32] = {
    let (mut values, mut k) = ([0.2; 32], 0);
    while k < 32 {
        values[k] = 0.2 - 0.004 * k as f32;
        k += 1;
    }
    values
};

/// Lengths of the edges of a full graph. No vertex has a way to itself.
pub fn lengths(n: u64) -> Vec<i32> {
    let length = |i: u64| if i / n == i % n { 0 } else { (scattered(i) % 1000) as i32 + 1 };
    (0..n * n).map(length).collect()
}

/// A random number of 256 from 0 to 1.
fn part(i: u64) -> f32 {
    (scattered(i) >> 8 & 255) as f32 / 256.0
}

pub fn charges_in_space() -> [f32x4; 512] {
    std::array::from_fn(|i| {
        let i = 4 * i as u64;
        f32x4::from_array([part(i), part(i + 1), part(i + 2) + 0.51, part(i + 3) - 0.5])
    })
}

/// Points on multiples of 1/256: squares of their distances have no error.
pub fn points_in_space(n: u64) -> Vec<f32x4> {
    (0..n)
        .map(|i| f32x4::from_array([part(3 * i), part(3 * i + 1), part(3 * i + 2), 0.0]))
        .collect()
}

pub fn spins_of(n: u64) -> Vec<i8> {
    (0..n * n).map(|i| if scattered(i).is_multiple_of(4) { -1 } else { 1 }).collect()
}

/// Bonds of three different atoms, not farther apart than `reach` in their order.
pub fn bonds_within(bonds: u64, reach: u64) -> Vec<i32x4> {
    let bond = |i: u64| {
        let first = scattered(2 * i) % (reach / 2 - 1) + 1;
        let second = first + scattered(2 * i + 1) % (reach / 2 - 1) + 1;
        i32x4::from_array([i, (i + first) % bonds, (i + second) % bonds, 0].map(|it| it as i32))
    };
    (0..bonds).map(bond).collect()
}

/// Places on a square of 1024 by 1024, half a word each coordinate.
pub fn edge_points(points: u64) -> Vec<u32> {
    (0..points).map(|i| scattered(i) as u32 & 0x03ff_03ff).collect()
}

/// Cosine and sine of 64 angles.
pub fn angles() -> Vec<f32x2> {
    let angle = |i: u64| std::f32::consts::PI * i as f32 / 64.0;
    (0..64).map(|i| f32x2::from_array([angle(i).cos(), angle(i).sin()])).collect()
}

pub fn keys(n: u64) -> Vec<u32> {
    (0..n).map(|i| scattered(i * i + 7) as u32).collect()
}

/// The first place of each of 16 digits for each tile of keys, digits first.
pub fn digit_offsets(n: u64, tile: u64) -> Vec<u32> {
    let keys = keys(n);
    let count = |digit: u32, keys: &[u32]| keys.iter().filter(|key| **key % 16 == digit).count();
    let tiles = |digit| keys.chunks(tile as usize).map(move |keys| count(digit, keys) as u32);
    let mut offsets = ends((0..16).flat_map(tiles));
    offsets.pop();
    offsets
}

/// The sorted number at a place.
pub fn number(place: u64) -> u32 {
    (16 * place + scattered(place) % 16) as u32
}

/// 2^levels - 1 sorted numbers, in order or level by level of a tree.
pub fn numbers(levels: u64, tree: bool) -> Vec<u32> {
    let of_node = |node: u64| {
        let level = u64::from(node.ilog2());
        let width = 1 << (levels - level);
        number((node - (1 << level)) * width + width / 2 - 1)
    };
    (1..1 << levels).map(|i| if tree { of_node(i) } else { number(i - 1) }).collect()
}

/// The later neighbours of a vertex: up to `most`, and most of them near.
fn neighbours(vertex: u64, vertices: u64, most: u64) -> Vec<u32> {
    let (mut list, mut at) = (Vec::new(), vertex);
    for k in 0..scattered(vertex) % (most + 1) {
        at += scattered(vertex * most + k) % if k % 8 == 7 { vertices / 8 } else { 4 } + 1;
        list.push(at as u32);
    }
    list.retain(|it| u64::from(*it) < vertices);
    list
}

pub fn edge_starts(vertices: u64, most: u64) -> Vec<u32> {
    ends((0..vertices).map(|vertex| neighbours(vertex, vertices, most).len() as u32))
}

pub fn edges_of(vertices: u64, most: u64) -> u64 {
    edge_starts(vertices, most)[vertices as usize].into()
}

pub fn edge_targets(vertices: u64, most: u64) -> Vec<u32> {
    (0..vertices).flat_map(|vertex| neighbours(vertex, vertices, most)).collect()
}

pub fn edge_sources(vertices: u64, most: u64) -> Vec<u32> {
    let sources =
        |vertex| neighbours(vertex, vertices, most).into_iter().map(move |_| vertex as u32);
    (0..vertices).flat_map(sources).collect()
}

/// All ways to place queens on the first rows: taken columns, and taken diagonals of both kinds.
pub fn boards(size: u64, rows: u64) -> Vec<u32x4> {
    let next = |[columns, left, right]: [u32; 3]| {
        let free = move |place: &u32| place & (columns | left | right) == 0;
        let placed = move |place| [columns | place, (left | place) << 1, (right | place) >> 1];
        (0..size).map(|k| 1 << k).filter(free).map(placed)
    };
    let all = (0..rows).fold(vec![[0; 3]], |all, _| all.into_iter().flat_map(next).collect());
    all.into_iter().map(|[a, b, c]| u32x4::from_array([a, b, c, 0])).collect()
}

pub fn boards_of(size: u64, rows: u64) -> u64 {
    boards(size, rows).len() as u64
}

/// The odd primes with squares below 2 n.
pub fn divisors(n: u64) -> Vec<u32> {
    let is_prime =
        |it: &u32| (3..).step_by(2).take_while(|d| d * d <= *it).all(|d| !it.is_multiple_of(d));
    (3u32..).step_by(2).take_while(|it| u64::from(it * it) < 2 * n).filter(is_prime).collect()
}

/// Boxes on whole numbers, each near one of 64 places.
pub fn boxes(n: u64) -> Vec<f32x4> {
    let of_box = |i: u64| {
        let near = |k: u64| {
            (scattered(scattered(i) % 64 + 64 * k) % 512 + scattered(4 * i + k) % 16) as f32
        };
        let length = |k: u64| (16 + scattered(4 * i + k) % 32) as f32;
        let (x, y) = (near(0), near(1));
        f32x4::from_array([x, y, x + length(2), y + length(3)])
    };
    (0..n).map(of_box).collect()
}
