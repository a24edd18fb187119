//! Operations that only move bits: packing, unpacking and call parameters.

use super::memory::{Element, Space};
use super::slot::{File, Role, Slot, Visitor, show, show_all};

/// Operations that only move bits. Fields: `d` (and `e`) destinations, `a`, `b` sources in PTX
/// order.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "fields are operands in PTX order")]
pub enum MoveOp {
    Pack64 {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Unpack64 {
        d: Slot,
        e: Slot,
        a: Slot,
    },
    Pack32 {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Unpack32 {
        d: Slot,
        e: Slot,
        a: Slot,
    },
    Pack16x4 {
        d: Slot,
        a: [Slot; 4],
    },
    Unpack16x4 {
        d: [Slot; 4],
        a: Slot,
    },
    Pack8x4 {
        d: Slot,
        a: [Slot; 4],
    },
    Unpack8x4 {
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
    /// Shows every slot.
    pub fn slots(&mut self, see: &mut Visitor<'_>) {
        use File::{Pred, R32, R64};
        use Role::{Read, Write};
        match self {
            Self::Pack64 { d, a, b } => show(see, [(R32, a), (R32, b)], [(R64, d)]),
            Self::Unpack64 { d, e, a } => show(see, [(R64, a)], [(R32, d), (R32, e)]),
            Self::Pack32 { d, a, b } => show(see, [(R32, a), (R32, b)], [(R32, d)]),
            Self::Unpack32 { d, e, a } => show(see, [(R32, a)], [(R32, d), (R32, e)]),
            Self::Pack16x4 { d, a } => {
                show_all(see, R32, Read, a);
                show(see, [], [(R64, d)]);
            }
            Self::Unpack16x4 { d, a } => {
                show(see, [(R64, a)], []);
                show_all(see, R32, Write, d);
            }
            Self::Pack8x4 { d, a } => {
                show_all(see, R32, Read, a);
                show(see, [], [(R32, d)]);
            }
            Self::Unpack8x4 { d, a } => {
                show(see, [(R32, a)], []);
                show_all(see, R32, Write, d);
            }
            Self::Gather { wide, count, d, a } => {
                let (file, count) = (File::by_width(*wide), usize::from(*count));
                show_all(see, file, Read, &mut a[..count]);
                show_all(see, file, Write, &mut d[..count]);
            }
            Self::ReadWords { element, d, word, byte } => {
                element.slots(d, Write, see);
                see(R32, Read, word, words(*element, *byte));
            }
            Self::WriteWords { element, a, word, byte } => {
                element.slots(a, Read, see);
                see(R32, Write, word, words(*element, *byte));
            }
            Self::IsSpace { d, a, .. } => show(see, [(R64, a)], [(Pred, d)]),
            Self::ActiveMask { d } => show(see, [], [(R32, d)]),
            Self::PendingCount { d, a } => show(see, [(R64, a)], [(R32, d)]),
        }
    }
}
