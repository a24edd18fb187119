//! A sparse matrix in rows (CSR) times a vector: how many lanes should a row have?
//!
//! A tile of lanes takes a row. It walks along the row's entries, one a lane, and adds up its sums
//! with shuffles. With 32 lanes a warp loads 128 neighbouring bytes of columns and values, but
//! lanes beyond the end of a short row wait; with 4 lanes fewer wait, and eight rows share a warp.
//!
//! ```text
//! cargo gpuprof run --package csr
//! cargo gpuprof run --package csr --series rows=1M          # on a GPU
//! ```
//!
//! Rows have 1 to 64 entries, 32.5 on average. Look at `load_sectors_per_request` and
//! `ptx_instructions`: with fewer lanes all rows together need fewer instructions, and each of them
//! touches more sectors. On an H200 four lanes are the fastest with a million rows: each has enough
//! loads on their way at once.

use gpuprof::prelude::*;

/// y ← A·x, with a tile of `LANES` lanes for each row
#[gpuprof::kernel(
    series(const LANES = [4, 8, 32], block = [128, 256], rows = [4K]),
    grid = (rows * LANES).div_ceil(block),
    args(
        offsets(rows),
        columns(rows),
        normal(entries(rows), 0, 1),
        normal(rows, 0, 1),
        zeros(rows),
    ),
    bytes = 8 * entries(rows) + 12 * rows + 4,
    flops = 2 * entries(rows),
    metrics(throughput, load_sectors_per_request, ptx_instructions, global_sectors),
    threshold("every load_sectors_per_request <= 8"),
    threshold("every bank_conflicts == 0"),
    verify = product_on_host,
    tolerance = 1e-4,
)]
pub fn csr_product<const LANES: u32>(
    offsets: &[u32],
    columns: &[u32],
    values: &[f32],
    x: &[f32],
    mut y: DisjointSlice<f32>,
) {
    let tile = warp::tile::<LANES>();
    let row = (thread::global_x() / LANES) as usize;
    // Whole warps stay: the last block may have rows that the matrix does not.
    let (from, to) = match offsets.get(row..row + 2) {
        Some(&[from, to]) => (from, to),
        _ => (0, 0),
    };
    let (mut sum, mut other) = (0.0, 0.0);
    let mut at = (from + tile.lane()) as usize;
    let (step, to) = (LANES as usize, to as usize);
    // Four at a time: all eight are loaded before the first of them is needed.
    while at + 3 * step < to {
        let four = [at, at + step, at + 2 * step, at + 3 * step];
        let (columns, values) = (four.map(|at| columns[at]), four.map(|at| values[at]));
        let x = columns.map(|column| x[column as usize]);
        sum = values[2].mul_add(x[2], values[0].mul_add(x[0], sum));
        other = values[3].mul_add(x[3], values[1].mul_add(x[1], other));
        at += 4 * step;
    }
    if at + step < to {
        let (columns, values) =
            ([columns[at], columns[at + step]], [values[at], values[at + step]]);
        sum = values[0].mul_add(x[columns[0] as usize], sum);
        other = values[1].mul_add(x[columns[1] as usize], other);
        at += 2 * step;
    }
    if at < to {
        sum = values[at].mul_add(x[columns[at] as usize], sum);
    }
    let sum = tile.reduce_add(sum + other);
    if tile.lane() == 0 && row < y.len() {
        // SAFETY: a row has one tile, and a tile has one first lane.
        unsafe { y.write(row, sum) };
    }
}

/// How many entries `rows` rows have: 1 to 64 each, 65 in two.
#[gpuprof::host]
fn entries(rows: u64) -> u64 {
    offsets_of(rows).last().unwrap_or_default()
}

/// The first entry of each row, and the end of the last one.
#[gpuprof::host]
fn offsets(rows: u64) -> Result<Vec<u32>, std::num::TryFromIntError> {
    [0].into_iter().chain(offsets_of(rows)).map(u32::try_from).collect()
}

/// The columns of all entries: runs of eight neighbours anywhere, the same for eight rows, as a
/// mesh with eight unknowns a node has them.
#[gpuprof::host]
fn columns(rows: u64) -> Result<Vec<u32>, std::num::TryFromIntError> {
    let starts = [0].into_iter().chain(offsets_of(rows));
    let rows_with_entries = starts.zip(offsets_of(rows)).zip(0_u64..);
    let column = |row: u64, entry: u64| {
        // A mixing step of SplitMix64 gives each run of each node its place.
        let run = (row / 8 * 8 + entry / 8 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let place = ((run ^ (run >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32) % (rows / 8);
        u32::try_from(8 * place + entry % 8)
    };
    let of_row = |((start, end), row)| (0..end - start).map(move |entry| column(row, entry));
    rows_with_entries.flat_map(of_row).collect()
}

/// The end of each row's entries. Rows of all lengths are mixed: 37 has no factor of 64.
#[gpuprof::host]
fn offsets_of(rows: u64) -> impl Iterator<Item = u64> {
    (0..rows).scan(0, |end, row| {
        *end += 1 + row * 37 % 64;
        Some(*end)
    })
}

/// The expected `y`, computed in 64 bits to be the more accurate of the two.
#[gpuprof::host]
fn product_on_host(offsets: &[u32], columns: &[u32], values: &[f32], x: &[f32], y: &mut [f32]) {
    for (y, ends) in y.iter_mut().zip(offsets.windows(2)) {
        let entries = ends[0] as usize..ends[1] as usize;
        let product = |at: usize| f64::from(values[at]) * f64::from(x[columns[at] as usize]);
        *y = entries.map(product).sum::<f64>() as f32;
    }
}
