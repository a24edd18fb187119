//! Which slots an instruction reads and writes.
//!
//! One visitor, so that passes over lowered code (is this result ever read? which registers can
//! share a slot?) need no second table of instructions.

use super::builder::File;
use super::inst::{
    Barrier, BarrierKind, Carry, Element, Guard, Inst, Op, Scalar, Setp, Slot, Vote,
};

/// What an instruction does with a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It is a source.
    Read,
    /// It is a destination.
    Write,
}

const fn by_width(wide: bool) -> File {
    if wide { File::R64 } else { File::R32 }
}

/// The 32-bit registers that a call-parameter access touches.
fn words(element: Element, byte: u8) -> u16 {
    (u16::from(byte) + element.total() as u16).div_ceil(4)
}

/// Calls `see` with every slot of `inst`: its file, its role and the slot itself, which may be
/// changed in place. A run of consecutive call-parameter registers is shown once, with its length.
pub fn visit(inst: &mut Inst, see: &mut impl FnMut(File, Role, &mut Slot, u16)) {
    use File::{Pred, R32, R64};
    use Role::{Read, Write};
    if let Guard::If(slot) | Guard::Unless(slot) = &mut inst.guard {
        see(Pred, Read, slot, 1);
    }
    let mut one = |file, role, slot: &mut Slot| see(file, role, slot, 1);
    match &mut inst.op {
        Op::Mov32 { d, a }
        | Op::Unary32 { d, a, .. }
        | Op::Count32 { d, a, .. }
        | Op::Float1_32 { d, a, .. } => {
            one(R32, Read, a);
            one(R32, Write, d);
        }
        Op::Mov64 { d, a } | Op::Unary64 { d, a, .. } | Op::Float1_64 { d, a, .. } => {
            one(R64, Read, a);
            one(R64, Write, d);
        }
        Op::MovPred { d, a } | Op::PredNot { d, a } => {
            one(Pred, Read, a);
            one(Pred, Write, d);
        }
        Op::Count64 { d, a, .. } => {
            one(R64, Read, a);
            one(R32, Write, d);
        }
        Op::Binary32 { d, a, b, .. }
        | Op::Binary16 { d, a, b, .. }
        | Op::Shift32 { d, a, b, .. }
        | Op::Shift16 { d, a, b, .. }
        | Op::MulWide16 { d, a, b, .. }
        | Op::Pack32 { d, a, b }
        | Op::F32Add { d, a, b }
        | Op::F32Sub { d, a, b }
        | Op::F32Mul { d, a, b }
        | Op::Float2_32 { d, a, b, .. } => {
            one(R32, Read, a);
            one(R32, Read, b);
            one(R32, Write, d);
        }
        Op::Binary64 { d, a, b, .. }
        | Op::F64Add { d, a, b }
        | Op::F64Sub { d, a, b }
        | Op::F64Mul { d, a, b }
        | Op::Float2_64 { d, a, b, .. } => {
            one(R64, Read, a);
            one(R64, Read, b);
            one(R64, Write, d);
        }
        Op::Shift64 { d, a, b, .. } => {
            one(R64, Read, a);
            one(R32, Read, b);
            one(R64, Write, d);
        }
        Op::Ternary32 { d, a, b, c, .. }
        | Op::MadWide16 { d, a, b, c, .. }
        | Op::F32Fma { d, a, b, c }
        | Op::Fma32 { d, a, b, c, .. } => {
            one(R32, Read, a);
            one(R32, Read, b);
            one(R32, Read, c);
            one(R32, Write, d);
        }
        Op::MadLo64 { d, a, b, c }
        | Op::MadHi64 { d, a, b, c, .. }
        | Op::F64Fma { d, a, b, c }
        | Op::Fma64 { d, a, b, c, .. } => {
            one(R64, Read, a);
            one(R64, Read, b);
            one(R64, Read, c);
            one(R64, Write, d);
        }
        Op::MulWide { d, a, b, .. } | Op::Pack64 { d, a, b } => {
            one(R32, Read, a);
            one(R32, Read, b);
            one(R64, Write, d);
        }
        Op::MadWide { d, a, b, c, .. } => {
            one(R32, Read, a);
            one(R32, Read, b);
            one(R64, Read, c);
            one(R64, Write, d);
        }
        Op::Bfi32 { d, a, b, c, e } => {
            for slot in [a, b, c, e] {
                one(R32, Read, slot);
            }
            one(R32, Write, d);
        }
        Op::Bfi64 { d, a, b, c, e } => {
            one(R64, Read, a);
            one(R64, Read, b);
            one(R32, Read, c);
            one(R32, Read, e);
            one(R64, Write, d);
        }
        Op::Bfe64 { d, a, b, c, .. } => {
            one(R64, Read, a);
            one(R32, Read, b);
            one(R32, Read, c);
            one(R64, Write, d);
        }
        Op::Carry(Carry { wide, carry, d, a, b, .. }) => {
            let file = by_width(*wide);
            one(Pred, Read, carry);
            one(file, Read, a);
            one(file, Read, b);
            one(file, Write, d);
            one(Pred, Write, carry);
        }
        Op::Select32 { d, a, b, p } => {
            one(R32, Read, a);
            one(R32, Read, b);
            one(Pred, Read, p);
            one(R32, Write, d);
        }
        Op::Select64 { d, a, b, p } => {
            one(R64, Read, a);
            one(R64, Read, b);
            one(Pred, Read, p);
            one(R64, Write, d);
        }
        Op::Unpack64 { d, e, a } => {
            one(R64, Read, a);
            one(R32, Write, d);
            one(R32, Write, e);
        }
        Op::Unpack32 { d, e, a } => {
            one(R32, Read, a);
            one(R32, Write, d);
            one(R32, Write, e);
        }
        Op::Pack16x4 { d, a } => {
            a.iter_mut().for_each(|slot| one(R32, Read, slot));
            one(R64, Write, d);
        }
        Op::Unpack16x4 { d, a } => {
            one(R64, Read, a);
            d.iter_mut().for_each(|slot| one(R32, Write, slot));
        }
        Op::Pack8x4 { d, a } => {
            a.iter_mut().for_each(|slot| one(R32, Read, slot));
            one(R32, Write, d);
        }
        Op::Unpack8x4 { d, a } => {
            one(R32, Read, a);
            d.iter_mut().for_each(|slot| one(R32, Write, slot));
        }
        Op::TestFloat { wide, d, a, .. } => {
            one(by_width(*wide), Read, a);
            one(Pred, Write, d);
        }
        Op::SetpS32 { d, a, b, .. } | Op::SetpU32 { d, a, b, .. } | Op::SetpF32 { d, a, b, .. } => {
            one(R32, Read, a);
            one(R32, Read, b);
            one(Pred, Write, d);
        }
        Op::Setp(Setp { ty, d, q, a, b, c, .. }) => {
            let file = by_width(ty.is_wide());
            one(file, Read, a);
            one(file, Read, b);
            one(Pred, Read, c);
            one(Pred, Write, d);
            one(Pred, Write, q);
        }
        Op::Set { ty, d, a, b, .. } => {
            let file = by_width(ty.is_wide());
            one(file, Read, a);
            one(file, Read, b);
            one(R32, Write, d);
        }
        Op::PredLogic { d, a, b, .. } => {
            one(Pred, Read, a);
            one(Pred, Read, b);
            one(Pred, Write, d);
        }
        Op::Convert { how, d, a } => {
            one(by_width(how.wide_source), Read, a);
            one(by_width(how.wide_destination), Write, d);
        }
        Op::Window { d, a, wide, .. } => {
            one(by_width(*wide), Read, a);
            one(by_width(*wide), Write, d);
        }
        Op::IsSpace { d, a, .. } => {
            one(R64, Read, a);
            one(Pred, Write, d);
        }
        Op::Gather { wide, count, d, a } => {
            let count = usize::from(*count);
            a[..count].iter_mut().for_each(|slot| one(by_width(*wide), Read, slot));
            d[..count].iter_mut().for_each(|slot| one(by_width(*wide), Write, slot));
        }
        Op::ReadWords { element, d, word, byte } => {
            d[..usize::from(element.count)]
                .iter_mut()
                .for_each(|slot| one(by_width(element.wide), Write, slot));
            see(R32, Read, word, words(*element, *byte));
        }
        Op::WriteWords { element, a, word, byte } => {
            a[..usize::from(element.count)]
                .iter_mut()
                .for_each(|slot| one(by_width(element.wide), Read, slot));
            see(R32, Write, word, words(*element, *byte));
        }
        Op::Load { element, address, d } => {
            one(by_width(address.wide), Read, &mut address.base);
            d[..usize::from(element.count)]
                .iter_mut()
                .for_each(|slot| one(by_width(element.wide), Write, slot));
        }
        Op::Store { element, address, a } => {
            one(by_width(address.wide), Read, &mut address.base);
            a[..usize::from(element.count)]
                .iter_mut()
                .for_each(|slot| one(by_width(element.wide), Read, slot));
        }
        Op::Atomic(atomic) => {
            let file = by_width(matches!(atomic.ty, Scalar::U64 | Scalar::S64 | Scalar::F64));
            one(by_width(atomic.address.wide), Read, &mut atomic.address.base);
            one(file, Read, &mut atomic.b);
            one(file, Read, &mut atomic.c);
            one(file, Write, &mut atomic.d);
        }
        Op::Shuffle { d, p, a, b, c, members, .. } => {
            for slot in [a, b, c, members] {
                one(R32, Read, slot);
            }
            one(R32, Write, d);
            one(Pred, Write, p);
        }
        Op::Vote { mode, d, a, members, .. } => {
            one(Pred, Read, a);
            one(R32, Read, members);
            one(if *mode == Vote::Ballot { R32 } else { Pred }, Write, d);
        }
        Op::Match { wide, d, p, a, members, .. } => {
            one(by_width(*wide), Read, a);
            one(R32, Read, members);
            one(R32, Write, d);
            one(Pred, Write, p);
        }
        Op::Redux { d, a, members, .. } => {
            one(R32, Read, a);
            one(R32, Read, members);
            one(R32, Write, d);
        }
        Op::ActiveMask { d } => one(R32, Write, d),
        Op::WarpSync { members } => one(R32, Read, members),
        Op::Clock { what, d } => one(by_width(*what == super::inst::Clock::Full), Write, d),
        Op::Barrier(Barrier { kind, id, threads, d, p, .. }) => {
            one(R32, Read, id);
            if let Some(threads) = threads {
                one(R32, Read, threads);
            }
            one(Pred, Read, p);
            one(if *kind == BarrierKind::RedPopc { R32 } else { Pred }, Write, d);
        }
        Op::BranchIndexed { index, .. } => one(R32, Read, index),
        Op::Branch { .. } | Op::Call { .. } | Op::Return | Op::Exit | Op::Trap { .. } | Op::Nop => {
        }
    }
}
