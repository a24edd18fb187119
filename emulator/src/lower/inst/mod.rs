//! The dense instructions that the machine executes.
//!
//! Every operand is a [`Slot`]: immediates, launch parameters and special registers have slots too,
//! filled once a launch or a block, so an instruction never asks what kind of operand it has. One
//! PTX instruction becomes exactly one [`Inst`], so counts by instruction are counts of PTX
//! instructions.
//!
//! Operations come in groups, one enum a file, and one module of the machine executes each group.
//! Every `match` over a group is exhaustive: an operation without an implementation does not
//! compile.

mod arith;
mod control;
mod exchange;
mod float;
mod fragment;
mod integer;
mod mbarrier;
mod memory;
mod mma;
mod moves;
mod operations;
mod rare_integer;
mod slot;
mod transfer;
mod types;

pub use arith::ArithOp;
pub use control::{Barrier, BarrierKind, Clock, ControlOp};
pub use exchange::{ExchangeKey, ExchangeOp, Shuffle, Vote};
pub use float::{
    ByteFormat, ComparePairs, Float1, Float2, FloatClass, FloatCount, FloatOp, HalfFinish,
    HalfFormat, HalfOp, PairResult, SetTo, Setp,
};
pub use fragment::{Dealing, Fragment, Matrix, MatrixShape};
pub use integer::{
    Binary, Carry, Count, IntegerOp, LogicTest, MadCarry, Permute, Shift, Ternary, Unary,
};
pub use mbarrier::{Mbarrier, MbarrierOp, Phase};
pub use memory::{Address, Atomic, AtomicOp, AtomicVector, Element, GridOrder, Sharing, Space};
pub use mma::{FragmentMove, Mma, MmaInput, MmaSums};
pub use moves::MoveOp;
pub use rare_integer::{Lane, PairOp, SignOf, SimdVideo, Video, VideoFinish, VideoOp, WordOp};
pub use slot::{File, Register, Role, Slot, Visitor};
pub use transfer::{AsyncCopy, MatrixRows, TransferOp};
pub use types::{Clamp, Cmp, Combine, Conversion, CvtRounding, FloatMode, Rounding, Scalar};

/// When a lane takes part: always, or if a predicate is true or false.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// No guard was written.
    Always,
    /// `@p`
    If(Slot),
    /// `@!p`
    Unless(Slot),
}

/// One executable instruction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Inst {
    /// Which lanes take part.
    pub guard: Guard,
    /// The operation.
    pub op: Op,
    /// Lanes that diverged may meet here.
    pub converges: bool,
    /// Whether lanes let others run after it: it accesses memory through which they may wait.
    pub pause: Pause,
}

/// How an access counts against the turn of the lanes that execute it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// Nothing.
    Never,
    /// After many of them others run.
    Polls,
    /// ptxas yields here: other lanes of the warp run.
    Yields,
}

impl Inst {
    /// An instruction at which lanes neither meet nor yield.
    pub fn new(guard: Guard, op: Op) -> Self {
        Self { guard, op, converges: false, pause: Pause::Never }
    }
}

/// The operation of an instruction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Op {
    /// Hot arithmetic.
    Arith(ArithOp),
    /// Other integer arithmetic.
    Integer(IntegerOp),
    /// Other floating-point arithmetic, and comparisons.
    Float(FloatOp),
    /// Packing, unpacking, call parameters.
    Move(MoveOp),
    /// `d ← [address]`
    Load {
        /// What is loaded.
        element: Element,
        /// From where.
        address: Address,
        /// Into which registers.
        d: [Slot; 4],
    },
    /// `[address] ← a`
    Store {
        /// What is stored.
        element: Element,
        /// Where.
        address: Address,
        /// From which registers.
        a: [Slot; 4],
    },
    /// `atom`, `red`
    Atomic(Atomic),
    /// The same on several elements, or on 128 bits.
    AtomicVector(AtomicVector),
    /// `cp.async`, `ldmatrix`, `stmatrix`, `movmatrix`
    Transfer(TransferOp),
    /// `mbarrier`
    Mbarrier(Mbarrier),
    /// `mma`, `wmma.mma`
    Mma(Mma),
    /// `wmma.load`, `wmma.store`
    Fragment(FragmentMove),
    /// Between the lanes of a warp.
    Exchange(ExchangeOp),
    /// `bar`, `barrier`
    Barrier(Barrier),
    /// `bra`
    Branch {
        /// The next instruction of the lanes that take it.
        target: u32,
        /// The index in the program's convergences of the point where diverged lanes meet.
        convergence: u32,
    },
    /// Any other control transfer.
    Control(ControlOp),
    /// `membar`, `fence`
    Fence {
        /// Whether its scope is more than the block.
        beyond_block: bool,
    },
    /// `nanosleep`: lets other threads run.
    Sleep,
    /// Hints and anything else without an effect here.
    Nop,
}

macro_rules! group {
    ($($group:ident($op:ty))*) => {
        $(impl From<$op> for Op {
            fn from(op: $op) -> Self {
                Self::$group(op)
            }
        })*
    };
}

group! {
    Arith(ArithOp)
    Integer(IntegerOp)
    Float(FloatOp)
    Move(MoveOp)
    Atomic(Atomic)
    Transfer(TransferOp)
    Exchange(ExchangeOp)
    Barrier(Barrier)
    Control(ControlOp)
}

impl Inst {
    /// Shows every register, the guard's first. The one place that passes over lowered code ask (is
    /// this result ever read? where is this register written?).
    pub fn slots(&self, see: &mut Visitor<'_>) {
        if let Guard::If(slot) | Guard::Unless(slot) = self.guard {
            see(Role::Read, (File::Pred, slot));
        }
        self.op.slots(see);
    }

    /// The registers of a role.
    pub fn registers(&self, role: Role) -> Vec<Register> {
        gathered(role, |see| self.slots(see))
    }
}

impl Op {
    /// Shows every register.
    pub fn slots(&self, see: &mut Visitor<'_>) {
        match self {
            Self::Arith(op) => op.slots(see),
            Self::Integer(op) => op.slots(see),
            Self::Float(op) => op.slots(see),
            Self::Move(op) => op.slots(see),
            Self::Load { element, address, d } => {
                address.slots(see);
                element.slots(d, Role::Write, see);
            }
            Self::Store { element, address, a } => {
                address.slots(see);
                element.slots(a, Role::Read, see);
            }
            Self::Atomic(atomic) => atomic.slots(see),
            Self::AtomicVector(atomic) => atomic.slots(see),
            Self::Transfer(op) => op.slots(see),
            Self::Mbarrier(barrier) => barrier.slots(see),
            Self::Mma(mma) => mma.slots(see),
            Self::Fragment(moved) => moved.slots(see),
            Self::Exchange(op) => op.slots(see),
            Self::Barrier(barrier) => barrier.slots(see),
            Self::Control(op) => op.slots(see),
            Self::Branch { .. } | Self::Fence { .. } | Self::Sleep | Self::Nop => {}
        }
    }

    /// The registers of a role.
    pub fn registers(&self, role: Role) -> Vec<Register> {
        gathered(role, |see| self.slots(see))
    }
}

/// The registers of a role among those that `show` shows.
fn gathered(role: Role, show: impl FnOnce(&mut Visitor<'_>)) -> Vec<Register> {
    let mut found = Vec::new();
    show(&mut |seen, register| {
        if seen == role {
            found.push(register);
        }
    });
    found
}

/// The program counter that nothing ever reaches.
pub const NOWHERE: u32 = u32::MAX;
