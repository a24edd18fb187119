//! Copies to shared memory that run beside the kernel, and loads of matrices.

use super::memory::Address;
use super::slot::{File, Role, Slot, Visitor, show, show_all};

/// `cp.async` and `ldmatrix`.
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
        /// `.noinc`: the arrival is one that the barrier expects.
        counts: bool,
    },
    /// `ldmatrix`
    Matrix {
        /// Where each row lies.
        address: Address,
        /// How many matrices of 8 × 8 halves.
        count: u8,
        /// `.trans`
        transposed: bool,
        /// A register for each.
        d: [Slot; 4],
    },
}

/// One `cp.async`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AsyncCopy {
    /// Where to, in shared memory.
    pub to: Address,
    /// Where from, in global memory.
    pub from: Address,
    /// 4, 8 or 16 bytes.
    pub bytes: u8,
    /// How many of them are read; the others become 0.
    pub read: Option<Slot>,
    /// The predicate that makes all of them 0, and whether it is negated.
    pub ignore: Option<(Slot, bool)>,
}

impl TransferOp {
    /// Shows every slot.
    pub fn slots(&mut self, see: &mut impl Visitor) {
        match self {
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
            Self::Matrix { address, count, d, .. } => {
                address.slots(see);
                show_all(see, File::R32, Role::Write, &mut d[..usize::from(*count)]);
            }
            Self::Commit | Self::Wait { .. } | Self::WaitAll => {}
        }
    }
}
