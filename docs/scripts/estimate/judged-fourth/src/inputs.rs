//! Inputs that random numbers cannot replace.

use crate::shared::{ends, scattered};
use gpuprof::{f32x4, u32x2};

pub const PRIME: i64 = 8_380_417;

/// Four words for each bit of a frame's differences, which have 1 to `most` bits.
pub fn frame_starts(frames: u64, most: u64) -> Vec<u32> {
    ends((0..frames).map(|frame| 4 * (scattered(frame) % most + 1) as u32))
}

/// The words of all frames, and a last one, since the last frame may read it.
pub fn packed_words(frames: u64, most: u64) -> u64 {
    u64::from(frame_starts(frames, most)[frames as usize]) + 1
}

/// The next state for each of `states`, in four bits, for each class of bytes.
pub fn state_changes(states: u64) -> [u32; 8] {
    let change = |class: u64, state: u64| (scattered(8 * class + state) % states) << (4 * state);
    std::array::from_fn(|class| (0..states).map(|it| change(class as u64, it) as u32).sum())
}

/// The powers of the root of unity 1753 by the reversed bits of their exponents.
pub fn roots(montgomery: bool) -> Vec<i32> {
    let power = |exponent: u8| (0..exponent).fold(1, |root, _| root * 1753 % PRIME);
    let scale = if montgomery { (1 << 32) % PRIME } else { 1 };
    (0..=255u8).map(|i| (power(i.reverse_bits()) * scale % PRIME) as i32).collect()
}

pub fn surface() -> [f64; 169] {
    std::array::from_fn(|i| (i as f64 * 0.7).cos() / (1 + i / 13 + i % 13) as f64)
}

/// A tree of 2^depth boxes. Two of each node, counted from 1, are its lowest and highest corner. A
/// leaf is part of a cell of a cube; the bits of its number, dealt to the axes, are its place.
pub fn boxes(depth: u64) -> Vec<f32x4> {
    let (leaves, side) = (1u64 << depth, (1 << (depth / 3)) as f32);
    let mut corners = vec![[0f32; 4]; 4 * leaves as usize];
    for leaf in 0..leaves {
        for axis in 0..3 {
            let place =
                (0..depth / 3).map(|bit| (leaf >> (3 * bit + axis) & 1) << bit).sum::<u64>();
            let part = |k: u64| (scattered(6 * leaf + 2 * axis + k) % 256) as f32 / 512.0;
            let (low, at) = (place as f32 + part(0), 2 * (leaves + leaf) as usize);
            corners[at][axis as usize] = low / side;
            corners[at + 1][axis as usize] = (low + part(1)) / side;
        }
    }
    for node in (1..leaves as usize).rev() {
        let [a, b, c, d] = [0, 1, 2, 3].map(|k| corners[4 * node + k]);
        corners[2 * node] = std::array::from_fn(|axis| a[axis].min(c[axis]));
        corners[2 * node + 1] = std::array::from_fn(|axis| b[axis].max(d[axis]));
    }
    corners.into_iter().map(f32x4::from_array).collect()
}

/// Rays from a square before the cube of boxes: origin and direction.
pub fn rays_of(rays: u64, spread: u64) -> Vec<f32x4> {
    let spread = spread as f32 / 4.0;
    let ray = |i: u64| {
        let part = |k: u64| (scattered(2 * i + k) % 256) as f32 / 256.0 - 0.498;
        let (x, y) = ((i % 128) as f32 / 128.0, (i / 128) as f32 / (rays / 128) as f32);
        [[x, y, -1.0, 0.0], [spread * part(0), spread * part(1), 1.0, 0.0]].map(f32x4::from_array)
    };
    (0..rays).flat_map(ray).collect()
}

/// Two cells have twice `each` particles.
fn particles_in(cell: u64, each: u64) -> u64 {
    let one = scattered(cell / 2) % (2 * each);
    if cell.is_multiple_of(2) { one } else { 2 * each - one }
}

pub fn cell_starts(side: u64, each: u64) -> Vec<u32> {
    ends((0..side * side * side).map(|cell| particles_in(cell, each) as u32))
}

/// Places in cells, on multiples of 1/256: products of their differences have no error.
pub fn particles(side: u64, each: u64) -> Vec<f32x4> {
    let place = |cell: u64, k: u64| {
        let random = scattered(64 * cell + k);
        let at = |cell: u64, part: u64| (cell % side) as f32 + (part % 256) as f32 / 256.0;
        let (y, z) = (at(cell / side, random >> 8), at(cell / side / side, random >> 16));
        f32x4::from_array([at(cell, random), y, z, 0.0])
    };
    (0..side * side * side)
        .flat_map(|cell| (0..particles_in(cell, each)).map(move |k| place(cell, k)))
        .collect()
}

/// A feature of 32 and the bits of a bound for each node.
pub fn tree_nodes(trees: u64, depth: u64) -> Vec<u32x2> {
    let node = |i: u64| {
        let random = scattered(i);
        let bound = 0.25 + (random >> 8 & 255) as f32 / 512.0;
        u32x2::from_array([random as u32 % 32, bound.to_bits()])
    };
    (0..trees << depth).map(node).collect()
}
