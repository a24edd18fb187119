//! The bits of results, as every file of arithmetic needs them.

/// The content of memory that was never written, and the value that a lane reads from an inactive
/// one: undefined by PTX. A NaN as a float and far from everything as an integer, so its effects
/// are visible.
pub const UNDEFINED: u32 = 0x7fc0_dead;
/// The hardware's result for any 32-bit NaN.
pub const NAN32: u32 = 0x7fff_ffff;
/// What is written for any 64-bit NaN.
pub const NAN64: u64 = 0xfff8_0000_0000_0000;

/// The bits of a 32-bit result, NaNs made canonical.
#[inline(always)]
pub fn bits32(value: f32) -> u32 {
    if value.is_nan() { NAN32 } else { value.to_bits() }
}

/// The bits of a 64-bit result, NaNs made canonical.
#[inline(always)]
pub fn bits64(value: f64) -> u64 {
    if value.is_nan() { NAN64 } else { value.to_bits() }
}

/// Subnormals become zero of their sign.
#[inline(always)]
pub fn flush(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits }
}

/// Clamps to [0, 1]; NaN becomes 0.
pub fn saturate(value: f32) -> f32 {
    if value > 0.0 { value.min(1.0) } else { 0.0 }
}

/// Extends the low `bytes` of a value to 64 bits.
pub fn extend(value: u64, bytes: u8, signed: bool) -> u64 {
    let up = 64 - 8 * u32::from(bytes);
    if signed { ((value << up) as i64 >> up) as u64 } else { value << up >> up }
}

/// Shifts clamp their amount at the width.
#[inline(always)]
pub fn shift_left32(a: u32, b: u32) -> u32 {
    if b > 31 { 0 } else { a << (b & 31) }
}

/// Shifts clamp their amount at the width.
#[inline(always)]
pub fn shift_right32(a: u32, b: u32) -> u32 {
    if b > 31 { 0 } else { a >> (b & 31) }
}

/// The least and the largest integer of so many bits.
pub fn range(bits: u32, signed: bool) -> (i64, i64) {
    if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

/// The low bits of a word as a number.
pub fn low_bits(value: u32, bits: u32, signed: bool) -> i64 {
    let unused = 64 - bits;
    let high = u64::from(value) << unused;
    if signed { high.cast_signed() >> unused } else { (high >> unused).cast_signed() }
}
