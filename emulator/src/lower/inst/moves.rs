//! Operations that only move bits: packing, unpacking and call parameters.

use super::memory::{Element, Space};
use super::slot::{File, Role, Slot, Visitor, show, show_all, show_run};

/// Operations that only move bits. Fields: `d` destinations, `a` sources in PTX order.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "fields are operands in PTX order")]
pub enum MoveOp {
    /// `count` registers of 32 bits into one that they fill, the first into its lowest bits.
    Pack {
        wide: bool,
        count: u8,
        d: Slot,
        a: [Slot; 4],
    },
    /// The same the other way round.
    Unpack {
        wide: bool,
        count: u8,
        d: [Slot; 4],
        a: Slot,
    },
    /// Vector reads of kernel parameters.
    Gather {
        wide: bool,
        count: u8,
        d: [Slot; 4],
        a: [Slot; 4],
    },
    /// Call parameters: elements taken from or put into consecutive 32-bit registers, `byte` bytes
    /// after `word`.
    ReadWords {
        element: Element,
        d: [Slot; 4],
        word: Slot,
        byte: u8,
    },
    WriteWords {
        element: Element,
        a: [Slot; 4],
        word: Slot,
        byte: u8,
    },
    IsSpace {
        space: Space,
        d: Slot,
        a: Slot,
    },
    ActiveMask {
        d: Slot,
    },
    /// `mbarrier.pending_count`, of a state.
    PendingCount {
        d: Slot,
        a: Slot,
    },
}

/// The 32-bit registers that a call-parameter access touches.
fn words(element: Element, byte: u8) -> u16 {
    (u16::from(byte) + element.total() as u16).div_ceil(4)
}

impl MoveOp {
    /// Shows every register.
    pub fn slots(&self, see: &mut Visitor<'_>) {
        use File::{Pred, R32, R64};
        use Role::{Read, Write};
        match *self {
            Self::Pack { wide, count, d, a } => {
                show_all(see, R32, Read, &a[..usize::from(count)]);
                show(see, [], [(File::by_width(wide), d)]);
            }
            Self::Unpack { wide, count, d, a } => {
                show(see, [(File::by_width(wide), a)], []);
                show_all(see, R32, Write, &d[..usize::from(count)]);
            }
            Self::Gather { wide, count, d, a } => {
                let (file, count) = (File::by_width(wide), usize::from(count));
                show_all(see, file, Read, &a[..count]);
                show_all(see, file, Write, &d[..count]);
            }
            Self::ReadWords { element, d, word, byte } => {
                element.slots(&d, Write, see);
                show_run(see, Read, word, words(element, byte));
            }
            Self::WriteWords { element, a, word, byte } => {
                element.slots(&a, Read, see);
                show_run(see, Write, word, words(element, byte));
            }
            Self::IsSpace { d, a, .. } => show(see, [(R64, a)], [(Pred, d)]),
            Self::ActiveMask { d } => show(see, [], [(R32, d)]),
            Self::PendingCount { d, a } => show(see, [(R64, a)], [(R32, d)]),
        }
    }
}
