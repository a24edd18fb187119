//! Inputs that random numbers cannot replace.

use crate::shared::{ends, scattered};
use gpuprof::{f32x2, u32x2};

/// Columns near the row, and one of eight anywhere. A row uses half of its places or more.
pub fn ell_columns(rows: u64, width: u64) -> Vec<i32> {
    let column = |i| {
        let (place, row, random) = (i / rows, i % rows, scattered(i));
        let used = width / 2 + scattered(row) % (width / 2) + 1;
        let near = row + rows + random % 512 - 256;
        match place {
            _ if place >= used => -1,
            _ if place % 8 == 7 => (random % rows) as i32,
            _ => (near % rows) as i32,
        }
    };
    (0..rows * width).map(column).collect()
}

/// Cosine and sine of the angles of 64 pairs of channels at each position.
pub fn turns(positions: u64) -> Vec<f32x2> {
    let turn = |i: u64| {
        let angle = (i / 64) as f64 * 10_000f64.powf((i % 64) as f64 / -64.0);
        f32x2::from_array([angle.cos() as f32, angle.sin() as f32])
    };
    (0..positions * 64).map(turn).collect()
}

/// A slot for each token, among twice as many. `tokens` is a power of two.
pub fn slots(tokens: u64) -> Vec<u32> {
    (0..tokens).map(|i| (i * 40_503 % (2 * tokens)) as u32).collect()
}

/// The first weight and the tensor of each chunk, of 16 tensors.
pub fn adam_chunks(count: u64) -> Vec<u32x2> {
    (0..count).map(|i| u32x2::from_array([(2048 * i) as u32, (16 * i / count) as u32])).collect()
}

/// The coefficients of a filter.
pub fn coefficients() -> [f32; 64] {
    std::array::from_fn(|i| (i as f32 * 0.37).cos() / 8.0)
}

/// Places on a grid of 256 by 256, in the order of the cells if `jump` is 1.
pub fn particle_places(particles: u64, jump: u64) -> Vec<f32x2> {
    const CELLS: u64 = 256 * 256;
    let place = |i: u64| {
        let (cell, random) = (i * jump / (particles / CELLS) % CELLS, scattered(i));
        let at = |cell: u64, part: u64| cell as f32 + (part % 256) as f32 / 256.0;
        f32x2::from_array([at(cell % 256, random), at(cell / 256, random >> 8)])
    };
    (0..particles).map(place).collect()
}

/// Literals, then bytes that are repeated from a distance.
struct Sequence {
    literals: u64,
    repeated: u64,
    distance: u64,
}

/// The sequences of a chunk of `size` bytes.
fn sequences_of(chunk: u64, size: u64) -> Vec<Sequence> {
    let (mut sequences, mut done, mut seed) = (Vec::new(), 0, chunk * size);
    while done < size {
        seed += 1;
        let random = scattered(seed);
        let literals = (random % 16 + 1).min(size - done);
        let repeated = (random / 16 % 32 + 4).min(size - done - literals);
        let distance = random / 512 % (done + literals).min(2048) + 1;
        done += literals + repeated;
        sequences.push(Sequence { literals, repeated, distance });
    }
    sequences
}

pub fn sequence_starts(chunks: u64, size: u64) -> Vec<u32> {
    ends((0..chunks).map(|chunk| sequences_of(chunk, size).len() as u32))
}

pub fn literal_starts(chunks: u64, size: u64) -> Vec<u32> {
    ends(
        (0..chunks)
            .map(|chunk| sequences_of(chunk, size).iter().map(|it| it.literals as u32).sum()),
    )
}

pub fn sequences(chunks: u64, size: u64) -> Vec<u32x2> {
    (0..chunks)
        .flat_map(|chunk| sequences_of(chunk, size))
        .map(|it| u32x2::from_array([(it.repeated << 16 | it.literals) as u32, it.distance as u32]))
        .collect()
}

pub fn literals(chunks: u64, size: u64) -> Vec<u8> {
    let count = literal_starts(chunks, size)[chunks as usize];
    (0..count.into()).map(|i| scattered(i) as u8).collect()
}
