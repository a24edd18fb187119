//! Barriers in shared memory that count arrivals and bytes.

use super::memory::Address;
use super::slot::{File, Slot, Visitor, show};

/// `mbarrier`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mbarrier {
    /// The barrier.
    pub address: Address,
    /// What is done to it.
    pub op: MbarrierOp,
}

/// What is done to an `mbarrier`. `d` and `p` are results.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "fields are operands in PTX order")]
pub enum MbarrierOp {
    Init {
        count: Slot,
    },
    Invalidate,
    /// `arrive`, `arrive_drop` (which lowers the expected count of later phases), each with bytes
    /// to expect.
    Arrive {
        d: Slot,
        count: Slot,
        expect: Option<Slot>,
        drop: bool,
    },
    /// `expect_tx`, or (`false`) `complete_tx`
    Bytes {
        expected: bool,
        count: Slot,
    },
    /// `test_wait`, `try_wait`
    Test {
        p: Slot,
        phase: Phase,
    },
}

/// The phase that is waited for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Phase {
    /// That of an arrival.
    State(Slot),
    /// The even or the odd one.
    Parity(Slot),
}

impl Mbarrier {
    /// Shows every register.
    pub(super) fn slots(&self, see: &mut Visitor<'_>) {
        use File::{Pred, R32, R64};
        self.address.slots(see);
        match self.op {
            MbarrierOp::Init { count } | MbarrierOp::Bytes { count, .. } => {
                show(see, [(R32, count)], []);
            }
            MbarrierOp::Invalidate => {}
            MbarrierOp::Arrive { d, count, expect, .. } => {
                if let Some(expect) = expect {
                    show(see, [(R32, expect)], []);
                }
                show(see, [(R32, count)], [(R64, d)]);
            }
            MbarrierOp::Test { p, phase } => {
                match phase {
                    Phase::State(state) => show(see, [(R64, state)], []),
                    Phase::Parity(parity) => show(see, [(R32, parity)], []),
                }
                show(see, [], [(Pred, p)]);
            }
        }
    }
}
