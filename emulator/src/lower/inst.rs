//! The dense instructions that the machine executes.
//!
//! Every operand is a [`Slot`]: immediates, launch parameters and special registers have slots too,
//! filled once a launch or a block, so an instruction never asks what kind of operand it has. One
//! PTX instruction becomes exactly one [`Inst`], so counts by instruction are counts of PTX
//! instructions.

pub use super::operation::*;

/// A register slot. The high bit says that every warp has its own; the others are shared by the
/// block and constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Slot(pub u16);

impl Slot {
    /// The bit that marks a slot of which every warp has its own.
    pub const PRIVATE: u16 = 0x8000;

    /// A slot of the warp's own registers.
    pub fn private(index: usize) -> Self {
        Self(index as u16 | Self::PRIVATE)
    }

    /// Where the slot lies in a register file whose warp-private part begins at `base`.
    #[inline(always)]
    pub fn index(self, base: usize) -> usize {
        let private = ((self.0 as i16) >> 15) as usize;
        usize::from(self.0 & 0x7fff) + (base & private)
    }
}

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
    /// What they do.
    pub op: Op,
}

/// What an instruction does. Fields: `d` destination, `a`, `b`, `c`, `e` sources in PTX order.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "fields are operands in PTX order")]
pub enum Op {
    Mov32 {
        d: Slot,
        a: Slot,
    },
    Mov64 {
        d: Slot,
        a: Slot,
    },
    MovPred {
        d: Slot,
        a: Slot,
    },
    Unary32 {
        op: Unary,
        d: Slot,
        a: Slot,
    },
    Unary64 {
        op: Unary,
        d: Slot,
        a: Slot,
    },
    Count32 {
        op: Count,
        d: Slot,
        a: Slot,
    },
    Count64 {
        op: Count,
        d: Slot,
        a: Slot,
    },
    Binary32 {
        op: Binary,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Binary64 {
        op: Binary,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    /// 16-bit operation on operands whose upper halves may hold anything.
    Binary16 {
        op: Binary,
        signed: bool,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Shift32 {
        op: Shift,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Shift64 {
        op: Shift,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Shift16 {
        op: Shift,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Ternary32 {
        op: Ternary,
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    MadLo64 {
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    MadHi64 {
        signed: bool,
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    MulWide {
        signed: bool,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    MadWide {
        signed: bool,
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    MulWide16 {
        signed: bool,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    MadWide16 {
        signed: bool,
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    Bfi32 {
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
        e: Slot,
    },
    Bfi64 {
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
        e: Slot,
    },
    Bfe64 {
        signed: bool,
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    Carry(Carry),
    Select32 {
        d: Slot,
        a: Slot,
        b: Slot,
        p: Slot,
    },
    Select64 {
        d: Slot,
        a: Slot,
        b: Slot,
        p: Slot,
    },
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
    F32Add {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    F32Sub {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    F32Mul {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    F32Fma {
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    F64Add {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    F64Sub {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    F64Mul {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    F64Fma {
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    /// Any mode other than round-to-nearest, or an operation that is not hot.
    Float1_32 {
        op: Float1,
        mode: FloatMode,
        d: Slot,
        a: Slot,
    },
    Float1_64 {
        op: Float1,
        mode: FloatMode,
        d: Slot,
        a: Slot,
    },
    Float2_32 {
        op: Float2,
        mode: FloatMode,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Float2_64 {
        op: Float2,
        mode: FloatMode,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Fma32 {
        mode: FloatMode,
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    Fma64 {
        mode: FloatMode,
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    TestFloat {
        wide: bool,
        kind: FloatClass,
        d: Slot,
        a: Slot,
    },
    SetpS32 {
        cmp: Cmp,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    SetpU32 {
        cmp: Cmp,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    SetpF32 {
        cmp: Cmp,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Setp(Setp),
    /// `set`: an all-ones or 1.0 result in a 32-bit register.
    Set {
        ty: Scalar,
        cmp: Cmp,
        ftz: bool,
        float: bool,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    PredLogic {
        op: Combine,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    PredNot {
        d: Slot,
        a: Slot,
    },
    Convert {
        how: Conversion,
        d: Slot,
        a: Slot,
    },
    /// Shared, local or parameter address to generic and back: adds `window` (or its negative).
    Window {
        d: Slot,
        a: Slot,
        wide: bool,
        window: i64,
    },
    IsSpace {
        space: Space,
        d: Slot,
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
    Load {
        element: Element,
        address: Address,
        d: [Slot; 4],
    },
    Store {
        element: Element,
        address: Address,
        a: [Slot; 4],
    },
    Atomic(Atomic),
    Shuffle {
        mode: Shuffle,
        d: Slot,
        p: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
        members: Slot,
    },
    Vote {
        mode: Vote,
        d: Slot,
        a: Slot,
        negate: bool,
        members: Slot,
    },
    Match {
        wide: bool,
        all: bool,
        d: Slot,
        p: Slot,
        a: Slot,
        members: Slot,
    },
    Redux {
        op: Binary,
        d: Slot,
        a: Slot,
        members: Slot,
    },
    ActiveMask {
        d: Slot,
    },
    WarpSync {
        members: Slot,
    },
    Clock {
        what: Clock,
        d: Slot,
    },
    Barrier(Barrier),
    Branch {
        target: u32,
        reconverge: u32,
    },
    BranchIndexed {
        index: Slot,
        table: u32,
        reconverge: u32,
    },
    /// `copies` names a table of argument words to move into the callee's parameters first.
    Call {
        target: u32,
        copies: u32,
    },
    Return,
    Exit,
    Trap {
        assert: bool,
    },
    /// Fences, hints and anything else without an effect here.
    Nop,
}

/// The program counter that nothing ever reaches.
pub const NOWHERE: u32 = u32::MAX;
