//! The types, roundings and comparisons that instructions name.

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

/// The interpretation of a value that is compared or converted.
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

/// The treatment of results of a conversion beyond a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Clamp {
    /// `.sat`: to the destination's range, or to [0, 1].
    pub sat: bool,
    /// `.relu`: negative ones are 0.
    pub relu: bool,
    /// `.satfinite`: infinite ones are the largest finite ones.
    pub finite: bool,
}

impl Clamp {
    /// Nothing.
    pub const NONE: Self = Self { sat: false, relu: false, finite: false };
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
    /// The treatment of results beyond a range.
    pub clamp: Clamp,
    /// The source register's file is the 64-bit one.
    pub wide_source: bool,
    /// The destination register's file is the 64-bit one.
    pub wide_destination: bool,
}
