//! How the lanes of a warp hold a matrix of 8 × 8 halves.
//!
//! Lane `4 r + c` holds the two halves from column `2 c` on of row `r`; transposed, those of row
//! `2 c` and the next in column `r`.

use super::lanes::Lanes32;

/// The halves of a matrix, row by row.
pub type Halves = [[u32; 8]; 8];

/// The lanes' registers of a matrix.
pub fn deal(matrix: &Halves, transposed: bool) -> Lanes32 {
    std::array::from_fn(|lane| {
        let (row, column) = (lane / 4, 2 * (lane % 4));
        match transposed {
            true => matrix[column][row] | matrix[column + 1][row] << 16,
            false => matrix[row][column] | matrix[row][column + 1] << 16,
        }
    })
}

/// The matrix of which the lanes hold parts.
pub fn collect(words: &Lanes32, transposed: bool) -> Halves {
    std::array::from_fn(|row| {
        std::array::from_fn(|column| {
            let (row, column) = if transposed { (column, row) } else { (row, column) };
            words[4 * row + column / 2] >> (16 * (column % 2)) & 0xffff
        })
    })
}

/// The lanes that get an undefined half if those of `lanes` bring one.
pub fn transposed_lanes(lanes: u32) -> u32 {
    let words = std::array::from_fn(|lane| (lanes >> lane & 1) * 0x1_0001);
    let words = deal(&collect(&words, true), false);
    (0..32).filter(|&lane| words[lane] != 0).fold(0, |lanes, lane| lanes | 1 << lane)
}
