//! How the lanes of a warp share a small matrix.
//!
//! PTX defines the layouts of `mma`. It leaves those of `wmma` open; these are the layouts of ptxas
//! 13.0 for `sm_90`, tiles of `mma`'s layouts.

/// The sizes of a product: `a` is `m` × `k`, `b` is `k` × `n`, and the sums are `m` × `n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatrixShape {
    /// Rows of `a` and of the sums.
    pub m: u8,
    /// Columns of `b` and of the sums.
    pub n: u8,
    /// Columns of `a`, rows of `b`.
    pub k: u16,
}

/// A matrix of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matrix {
    /// The left factor.
    A,
    /// The right factor.
    B,
    /// `c` or `d`.
    Sums,
}

/// How elements are dealt out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dealing {
    /// Four neighbouring lanes share a row of `a`, a column of `b`, and a row of the sums.
    Groups,
    /// `m8n8k4` of halves: lanes `4 q` to `4 q + 3` and those 16 above compute a product of their
    /// own, the `q`th block on the diagonal of a product of 32 × 32.
    Quads {
        /// Whether a lane has a part of a column.
        by_columns: bool,
    },
}

/// A matrix in the registers of a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment {
    /// Which matrix.
    pub matrix: Matrix,
    /// The sizes of the product.
    pub shape: MatrixShape,
    /// Bits of an element.
    pub bits: u8,
    /// How its elements are dealt out.
    pub dealing: Dealing,
}

impl Fragment {
    /// Whether its registers have 64 bits.
    pub fn is_wide(self) -> bool {
        self.bits == 64
    }

    /// Elements in a register.
    pub fn per_register(self) -> usize {
        if self.is_wide() { 1 } else { 32 / usize::from(self.bits) }
    }

    /// Rows and columns.
    pub fn size(self) -> (usize, usize) {
        let MatrixShape { m, n, k } = self.shape;
        match self.matrix {
            Matrix::A => (m.into(), k.into()),
            Matrix::B => (k.into(), n.into()),
            Matrix::Sums => (m.into(), n.into()),
        }
    }

    /// Registers of a lane.
    pub fn registers(self) -> usize {
        let (rows, columns) = self.size();
        let products = if self.dealing == Dealing::Groups { 1 } else { 4 };
        products * rows * columns / (32 * self.per_register())
    }

    /// Row and column of the `index`th element of a lane's register.
    pub fn place(self, lane: usize, register: usize, index: usize) -> (usize, usize) {
        match self.dealing {
            Dealing::Quads { by_columns } => self.quad_place(by_columns, lane, register, index),
            // Its product is that of the transposed matrices.
            Dealing::Groups if self.shape.n == 32 => {
                let MatrixShape { m, n, k } = self.shape;
                let matrix = match self.matrix {
                    Matrix::A => Matrix::B,
                    Matrix::B => Matrix::A,
                    Matrix::Sums => Matrix::Sums,
                };
                let transposed = Self { matrix, shape: MatrixShape { m: n, n: m, k }, ..self };
                let (column, row) = transposed.group_place(lane, register, index);
                (row, column)
            }
            Dealing::Groups => self.group_place(lane, register, index),
        }
    }

    fn group_place(self, lane: usize, register: usize, index: usize) -> (usize, usize) {
        let (group, of_group) = (lane / 4, lane % 4);
        let per_register = self.per_register();
        // Rows of a tile.
        let height = usize::from(self.shape.m).min(16);
        let factor = |height: usize| {
            let eights = height / 8;
            let of_tile = eights * usize::from(self.shape.k) / (4 * per_register);
            let (tile, register) = (register / of_tile, register % of_tile);
            let across = height * tile + 8 * (register % eights) + group;
            (across, per_register * (of_group + 4 * (register / eights)) + index)
        };
        match self.matrix {
            Matrix::A => factor(height),
            Matrix::B => {
                let (column, row) = factor(8);
                (row, column)
            }
            Matrix::Sums => {
                let (element, eights) = (register * per_register + index, height / 8);
                let (tile, eight) = (element / 2 / eights, element / 2 % eights);
                let down = usize::from(self.shape.m) / height;
                let row = height * (tile % down) + 8 * eight + group;
                (row, 8 * (tile / down) + 2 * of_group + element % 2)
            }
        }
    }

    fn quad_place(
        self,
        by_columns: bool,
        lane: usize,
        register: usize,
        index: usize,
    ) -> (usize, usize) {
        let (block, half, of_quad) = (8 * (lane / 4 % 4), 4 * (lane / 16), lane % 4);
        let element = register * self.per_register() + index;
        match (self.matrix, by_columns) {
            (Matrix::A, false) => (block + half + of_quad, element),
            (Matrix::A, true) => (block + half + element, of_quad),
            (Matrix::B, false) => (of_quad, block + half + element),
            (Matrix::B, true) => (element, block + half + of_quad),
            (Matrix::Sums, _) if self.bits == 16 => (block + half + of_quad, block + element),
            (Matrix::Sums, _) => {
                let row = (lane & 1) + (element & 2) + half;
                (block + row, block + (element & 4) + (lane & 2) + (element & 1))
            }
        }
    }
}
