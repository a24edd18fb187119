//! The operations that instructions name: what is computed, compared, converted or accessed, and
//! how.

use super::inst::Slot;

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
    /// Whether anything reads the old value; if not the access counts as a reduction, which is what
    /// ptxas makes of it.
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

/// `add.cc`, `addc`, `addc.cc` and their `sub` twins; `carry` is the condition-code predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are operands in PTX order")]
pub struct Carry {
    pub wide: bool,
    pub subtract: bool,
    pub read: bool,
    pub write: bool,
    pub carry: Slot,
    pub d: Slot,
    pub a: Slot,
    pub b: Slot,
}

/// A comparison in general: `d|q = (a cmp b) combine c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are operands in PTX order")]
pub struct Setp {
    pub ty: Scalar,
    pub cmp: Cmp,
    pub ftz: bool,
    pub d: Slot,
    pub q: Slot,
    pub a: Slot,
    pub b: Slot,
    pub combine: Combine,
    pub c: Slot,
    pub negate: bool,
}

/// A barrier: with a thread count or for the whole block, and with or without a reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are operands in PTX order")]
pub struct Barrier {
    pub kind: BarrierKind,
    pub id: Slot,
    pub threads: Option<Slot>,
    pub d: Slot,
    pub p: Slot,
    pub negate: bool,
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
