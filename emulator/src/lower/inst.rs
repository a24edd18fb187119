//! The dense instructions that the machine executes.
//!
//! Every operand is a [`Slot`]: immediates, launch parameters and special registers have slots too, filled once a
//! launch or a block, so an instruction never asks what kind of operand it has. One PTX instruction becomes exactly
//! one [`Inst`], so counts by instruction are counts of PTX instructions.

/// A register slot. The high bit says that every warp has its own; the others are shared by the block and constant.
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

/// IEEE rounding direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// To nearest, ties to even.
    Nearest,
    /// Toward zero.
    Zero,
    /// Toward minus infinity.
    Down,
    /// Toward plus infinity.
    Up,
}

/// How a floating-point result is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FloatMode {
    /// Rounding direction.
    pub rounding: Rounding,
    /// Subnormal inputs and results become zero.
    pub ftz: bool,
    /// The result is clamped to [0, 1], NaN to 0.
    pub sat: bool,
}

impl FloatMode {
    /// Round to nearest, nothing else.
    pub const PLAIN: Self = Self { rounding: Rounding::Nearest, ftz: false, sat: false };
    /// Round to nearest, subnormals flushed.
    pub const FLUSH: Self = Self { rounding: Rounding::Nearest, ftz: true, sat: false };
}

/// One-operand integer operations of one width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum Unary {
    Not,
    Neg,
    Abs,
    Abs16,
    Cnot,
    Brev,
    /// Sign- or zero-extensions from a narrower field of the same slot.
    Sext8,
    Sext16,
    Sext32,
    Zext8,
    Zext16,
    Zext32,
    /// Float sign operations, which are bit operations.
    FloatNeg,
    FloatAbs,
}

/// One-operand operations whose result is 32 bits for either width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum Count {
    Popc,
    Clz,
    BfindU,
    BfindS,
    BfindShiftU,
    BfindShiftS,
}

/// Two-operand integer operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum Binary {
    Add,
    Sub,
    MulLo,
    MulHiU,
    MulHiS,
    DivU,
    DivS,
    RemU,
    RemS,
    MinU,
    MinS,
    MaxU,
    MaxS,
    And,
    Or,
    Xor,
    AddSat,
    SubSat,
    Mul24U,
    Mul24S,
}

/// Shifts, whose amount is always 32 bits and clamps at the width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum Shift {
    Left,
    RightU,
    RightS,
}

/// Three-operand 32-bit operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum Ternary {
    MadLo,
    MadHiU,
    MadHiS,
    SadU,
    SadS,
    BfeU,
    BfeS,
    Prmt,
    ShfLeftWrap,
    ShfLeftClamp,
    ShfRightWrap,
    ShfRightClamp,
    /// The lookup table of `lop3`.
    Lop3(u8),
    Dp4aUU,
    Dp4aSS,
    Dp4aUS,
    Dp4aSU,
}

/// Two-operand floating-point operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum Float2 {
    Add,
    Sub,
    Mul,
    Div,
    Min,
    Max,
    MinNan,
    MaxNan,
    CopySign,
}

/// One-operand floating-point operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum Float1 {
    Neg,
    Abs,
    Sqrt,
    Rcp,
    Rsqrt,
    RcpSeed,
    RsqrtSeed,
    Ex2,
    Lg2,
    Sin,
    Cos,
    Tanh,
}

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's; U: true if unordered")]
pub enum Cmp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    EqU,
    NeU,
    LtU,
    LeU,
    GtU,
    GeU,
    Num,
    Nan,
}

/// What a value is when it is compared or converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum Scalar {
    U8,
    S8,
    U16,
    S16,
    U32,
    S32,
    U64,
    S64,
    F16,
    BF16,
    F32,
    F64,
}

impl Scalar {
    /// Whether values of this type live in 64-bit slots.
    pub fn is_wide(self) -> bool {
        matches!(self, Self::U64 | Self::S64 | Self::F64)
    }
}

/// How a comparison's result is combined with another predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum Combine {
    And,
    Or,
    Xor,
}

/// How a conversion rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CvtRounding {
    /// No rounding was written: exact, or as the conversion defines.
    None,
    /// To a floating-point value.
    Float(Rounding),
    /// To an integral value.
    Integer(Rounding),
}

/// A conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conversion {
    /// Source type.
    pub from: Scalar,
    /// Destination type.
    pub to: Scalar,
    /// Rounding.
    pub rounding: CvtRounding,
    /// Subnormals become zero.
    pub ftz: bool,
    /// Clamp to the destination's range, or to [0, 1].
    pub sat: bool,
    /// The source register's file is the 64-bit one.
    pub wide_source: bool,
    /// The destination register's file is the 64-bit one.
    pub wide_destination: bool,
}

/// A state space as the machine knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum Space {
    Generic,
    Global,
    Shared,
    Local,
    /// Constant variables: global storage whose accesses are not counted as global.
    Const,
    Param,
}

/// What one element of a memory access looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element {
    /// 1, 2, 4 or 8 bytes in memory.
    pub bytes: u8,
    /// Sign-extended when loaded into a wider register.
    pub signed: bool,
    /// The register's file is the 64-bit one.
    pub wide: bool,
    /// 1, 2 or 4 elements.
    pub count: u8,
}

impl Element {
    /// Bytes that one lane moves.
    pub fn total(self) -> u32 {
        u32::from(self.bytes) * u32::from(self.count)
    }
}

/// Where an access goes: `[base + offset]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// The space that was written.
    pub space: Space,
    /// Whether `base` is a 64-bit slot.
    pub wide: bool,
    /// The base.
    pub base: Slot,
    /// Added to it.
    pub offset: i32,
}

/// Atomic operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum AtomicOp {
    Add,
    Min,
    Max,
    Inc,
    Dec,
    And,
    Or,
    Xor,
    Exchange,
    CompareSwap,
}

/// An atomic access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Atomic {
    /// Where.
    pub address: Address,
    /// What.
    pub op: AtomicOp,
    /// The type of the memory cell.
    pub ty: Scalar,
    /// Whether anything reads the old value; if not the access counts as a reduction, which is what ptxas makes of it.
    pub result_used: bool,
    /// Receives the old value.
    pub d: Slot,
    /// The operand, or for compare-and-swap the value compared with.
    pub b: Slot,
    /// The new value of compare-and-swap.
    pub c: Slot,
}

/// `shfl` modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

/// `vote`, `match` and `redux` modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum Vote {
    All,
    Any,
    Uniform,
    Ballot,
}

/// What a barrier does with its arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum BarrierKind {
    Sync,
    Arrive,
    RedPopc,
    RedAnd,
    RedOr,
}

/// Block-wide values that only the running warp knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// `%clock`, `%clock_lo`: low 32 bits.
    Low,
    /// `%clock_hi`: high 32 bits.
    High,
    /// `%clock64`, `%globaltimer`.
    Full,
}

/// What an instruction does. Fields: `d` destination, `a`, `b`, `c`, `e` sources in PTX order.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "fields are operands in PTX order")]
pub enum Op {
    Mov32 { d: Slot, a: Slot },
    Mov64 { d: Slot, a: Slot },
    MovPred { d: Slot, a: Slot },
    Unary32 { op: Unary, d: Slot, a: Slot },
    Unary64 { op: Unary, d: Slot, a: Slot },
    Count32 { op: Count, d: Slot, a: Slot },
    Count64 { op: Count, d: Slot, a: Slot },
    Binary32 { op: Binary, d: Slot, a: Slot, b: Slot },
    Binary64 { op: Binary, d: Slot, a: Slot, b: Slot },
    /// 16-bit operation on operands whose upper halves may hold anything.
    Binary16 { op: Binary, signed: bool, d: Slot, a: Slot, b: Slot },
    Shift32 { op: Shift, d: Slot, a: Slot, b: Slot },
    Shift64 { op: Shift, d: Slot, a: Slot, b: Slot },
    Shift16 { op: Shift, d: Slot, a: Slot, b: Slot },
    Ternary32 { op: Ternary, d: Slot, a: Slot, b: Slot, c: Slot },
    MadLo64 { d: Slot, a: Slot, b: Slot, c: Slot },
    MadHi64 { signed: bool, d: Slot, a: Slot, b: Slot, c: Slot },
    MulWide { signed: bool, d: Slot, a: Slot, b: Slot },
    MadWide { signed: bool, d: Slot, a: Slot, b: Slot, c: Slot },
    MulWide16 { signed: bool, d: Slot, a: Slot, b: Slot },
    MadWide16 { signed: bool, d: Slot, a: Slot, b: Slot, c: Slot },
    Bfi32 { d: Slot, a: Slot, b: Slot, c: Slot, e: Slot },
    Bfi64 { d: Slot, a: Slot, b: Slot, c: Slot, e: Slot },
    Bfe64 { signed: bool, d: Slot, a: Slot, b: Slot, c: Slot },
    /// `add.cc`, `addc`, `addc.cc` and their `sub` twins; `carry` is the condition-code predicate.
    Carry { wide: bool, subtract: bool, read: bool, write: bool, carry: Slot, d: Slot, a: Slot, b: Slot },
    Select32 { d: Slot, a: Slot, b: Slot, p: Slot },
    Select64 { d: Slot, a: Slot, b: Slot, p: Slot },
    Pack64 { d: Slot, a: Slot, b: Slot },
    Unpack64 { d: Slot, e: Slot, a: Slot },
    Pack32 { d: Slot, a: Slot, b: Slot },
    Unpack32 { d: Slot, e: Slot, a: Slot },
    Pack16x4 { d: Slot, a: [Slot; 4] },
    Unpack16x4 { d: [Slot; 4], a: Slot },
    Pack8x4 { d: Slot, a: [Slot; 4] },
    Unpack8x4 { d: [Slot; 4], a: Slot },
    F32Add { d: Slot, a: Slot, b: Slot },
    F32Sub { d: Slot, a: Slot, b: Slot },
    F32Mul { d: Slot, a: Slot, b: Slot },
    F32Fma { d: Slot, a: Slot, b: Slot, c: Slot },
    F64Add { d: Slot, a: Slot, b: Slot },
    F64Sub { d: Slot, a: Slot, b: Slot },
    F64Mul { d: Slot, a: Slot, b: Slot },
    F64Fma { d: Slot, a: Slot, b: Slot, c: Slot },
    /// Any mode other than round-to-nearest, or an operation that is not hot.
    Float1_32 { op: Float1, mode: FloatMode, d: Slot, a: Slot },
    Float1_64 { op: Float1, mode: FloatMode, d: Slot, a: Slot },
    Float2_32 { op: Float2, mode: FloatMode, d: Slot, a: Slot, b: Slot },
    Float2_64 { op: Float2, mode: FloatMode, d: Slot, a: Slot, b: Slot },
    Fma32 { mode: FloatMode, d: Slot, a: Slot, b: Slot, c: Slot },
    Fma64 { mode: FloatMode, d: Slot, a: Slot, b: Slot, c: Slot },
    TestFloat { wide: bool, kind: FloatClass, d: Slot, a: Slot },
    SetpS32 { cmp: Cmp, d: Slot, a: Slot, b: Slot },
    SetpU32 { cmp: Cmp, d: Slot, a: Slot, b: Slot },
    SetpF32 { cmp: Cmp, d: Slot, a: Slot, b: Slot },
    /// Every other comparison: `d|q = (a cmp b) combine c`.
    Setp { ty: Scalar, cmp: Cmp, ftz: bool, d: Slot, q: Slot, a: Slot, b: Slot, combine: Combine, c: Slot, negate: bool },
    /// `set`: an all-ones or 1.0 result in a 32-bit register.
    Set { ty: Scalar, cmp: Cmp, ftz: bool, float: bool, d: Slot, a: Slot, b: Slot },
    PredLogic { op: Combine, d: Slot, a: Slot, b: Slot },
    PredNot { d: Slot, a: Slot },
    Convert { how: Conversion, d: Slot, a: Slot },
    /// Shared, local or parameter address to generic and back: adds `window` (or its negative).
    Window { d: Slot, a: Slot, wide: bool, window: i64 },
    IsSpace { space: Space, d: Slot, a: Slot },
    /// Vector reads of kernel parameters.
    Gather { wide: bool, count: u8, d: [Slot; 4], a: [Slot; 4] },
    /// Call parameters: elements taken from or put into consecutive 32-bit registers, `byte` bytes after `word`.
    ReadWords { element: Element, d: [Slot; 4], word: Slot, byte: u8 },
    WriteWords { element: Element, a: [Slot; 4], word: Slot, byte: u8 },
    Load { element: Element, address: Address, d: [Slot; 4] },
    Store { element: Element, address: Address, a: [Slot; 4] },
    Atomic(Atomic),
    Shuffle { mode: Shuffle, d: Slot, p: Slot, a: Slot, b: Slot, c: Slot, members: Slot },
    Vote { mode: Vote, d: Slot, a: Slot, negate: bool, members: Slot },
    Match { wide: bool, all: bool, d: Slot, p: Slot, a: Slot, members: Slot },
    Redux { op: Binary, d: Slot, a: Slot, members: Slot },
    ActiveMask { d: Slot },
    WarpSync { members: Slot },
    Clock { what: Clock, d: Slot },
    Barrier { kind: BarrierKind, id: Slot, threads: Option<Slot>, d: Slot, p: Slot, negate: bool },
    Branch { target: u32, reconverge: u32 },
    BranchIndexed { index: Slot, table: u32, reconverge: u32 },
    /// `copies` names a table of argument words to move into the callee's parameters first.
    Call { target: u32, copies: u32 },
    Return,
    Exit,
    Trap { assert: bool },
    /// Fences, hints and anything else without an effect here.
    Nop,
}

/// `testp` classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum FloatClass {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

/// The program counter that nothing ever reaches.
pub const NOWHERE: u32 = u32::MAX;
