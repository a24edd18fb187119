//! Asynchronous copies to shared memory, and moves of matrices of 8 × 8 halves.

use super::memory::Address;
use super::slot::{File, Role, Slot, Visitor, show, show_all};

/// `cp.async`, `ldmatrix`, `stmatrix` and `movmatrix`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TransferOp {
    /// `cp.async.ca`, `cp.async.cg`
    Copy(AsyncCopy),
    /// `cp.async.commit_group`
    Commit,
    /// `cp.async.wait_group`: all groups but the last `left` ones are there.
    Wait {
        /// How many may be under way.
        left: u32,
    },
    /// `cp.async.wait_all`
    WaitAll,
    /// `cp.async.mbarrier.arrive`
    Arrive {
        /// The barrier.
        address: Address,
        /// `.noinc`: the barrier expects this arrival.
        counts: bool,
    },
    /// `ldmatrix`, `stmatrix`
    Matrix(MatrixRows),
    /// `movmatrix`: a matrix of 8 × 8 halves is transposed.
    Transpose {
        /// The result.
        d: Slot,
        /// The matrix.
        a: Slot,
    },
}

/// One `cp.async`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AsyncCopy {
    /// Where to, in shared memory.
    pub to: Address,
    /// The source, in global memory.
    pub from: Address,
    /// 4, 8 or 16 bytes.
    pub bytes: u8,
    /// How many of them are read; the others become 0.
    pub read: Option<Slot>,
    /// The predicate that makes all of them 0, and whether it is negated.
    pub ignore: Option<(Slot, bool)>,
}

/// `ldmatrix` and `stmatrix`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MatrixRows {
    /// Whether it stores.
    pub stores: bool,
    /// The address of each lane's row.
    pub address: Address,
    /// How many matrices of 8 × 8 halves.
    pub count: u8,
    /// `.trans`
    pub transposed: bool,
    /// A register for each.
    pub registers: [Slot; 4],
}

impl TransferOp {
    /// Shows every register.
    pub fn slots(&self, see: &mut Visitor<'_>) {
        match *self {
            Self::Copy(AsyncCopy { to, from, read, ignore, .. }) => {
                to.slots(see);
                from.slots(see);
                if let Some(read) = read {
                    show(see, [(File::R32, read)], []);
                }
                if let Some((ignore, _)) = ignore {
                    show(see, [(File::Pred, ignore)], []);
                }
            }
            Self::Arrive { address, .. } => address.slots(see),
            Self::Matrix(MatrixRows { stores, address, count, registers, .. }) => {
                address.slots(see);
                let role = if stores { Role::Read } else { Role::Write };
                show_all(see, File::R32, role, &registers[..usize::from(count)]);
            }
            Self::Transpose { d, a } => show(see, [(File::R32, a)], [(File::R32, d)]),
            Self::Commit | Self::Wait { .. } | Self::WaitAll => {}
        }
    }
}
