//! Integer operations on one value, as PTX defines them.
//!
//! Division by zero is undefined in PTX; like the hardware, quotient and remainder are all ones.

use super::bits::extend;
use crate::lower::inst::{Binary, Count, Permute, Shift, Ternary, Unary};

/// Defines the operations on words of one width. `$product` holds a product of two of them.
macro_rules! of_width {
    ($word:ty, $signed:ty, $product:ty, $signed_product:ty, $unary:ident, $count:ident, $binary:ident) => {
        /// One operand.
        pub fn $unary(op: Unary, a: $word) -> $word {
            match op {
                Unary::Not => !a,
                Unary::Neg => a.wrapping_neg(),
                Unary::Abs => (a as $signed).wrapping_abs() as $word,
                Unary::Abs16 => i32::from(a as i16).wrapping_abs() as $word,
                Unary::Cnot => <$word>::from(a == 0),
                Unary::Brev => a.reverse_bits(),
                Unary::Sext8 => a as i8 as $word,
                Unary::Sext16 => a as i16 as $word,
                Unary::Sext32 => a as i32 as $word,
                Unary::Zext8 => a & 0xff,
                Unary::Zext16 => a & 0xffff,
                Unary::Zext32 => a & 0xffff_ffff,
                Unary::FloatNeg => a ^ !(<$word>::MAX >> 1),
                Unary::FloatAbs => a & <$word>::MAX >> 1,
            }
        }

        /// Bit counts.
        pub fn $count(op: Count, a: $word) -> u32 {
            let shift = |a: $word| if a == 0 { u32::MAX } else { a.leading_zeros() };
            let found = |a: $word| if a == 0 { u32::MAX } else { <$word>::BITS - 1 - shift(a) };
            let signed = if (a as $signed) < 0 { !a } else { a };
            match op {
                Count::Popc => a.count_ones(),
                Count::Clz => a.leading_zeros(),
                Count::BfindU => found(a),
                Count::BfindS => found(signed),
                Count::BfindShiftU => shift(a),
                Count::BfindShiftS => shift(signed),
            }
        }

        /// Two operands.
        pub fn $binary(op: Binary, a: $word, b: $word) -> $word {
            let (sa, sb) = (a as $signed, b as $signed);
            match op {
                Binary::Add => a.wrapping_add(b),
                Binary::Sub => a.wrapping_sub(b),
                Binary::MulLo => a.wrapping_mul(b),
                Binary::MulHiU => ((a as $product * b as $product) >> <$word>::BITS) as $word,
                Binary::MulHiS => {
                    ((sa as $signed_product * sb as $signed_product) >> <$word>::BITS) as $word
                }
                Binary::DivU => a.checked_div(b).unwrap_or(<$word>::MAX),
                Binary::DivS if b == 0 => <$word>::MAX,
                Binary::DivS => sa.wrapping_div(sb) as $word,
                Binary::RemU => a.checked_rem(b).unwrap_or(!0),
                Binary::RemS if b == 0 => !0,
                Binary::RemS => sa.wrapping_rem(sb) as $word,
                Binary::MinU => a.min(b),
                Binary::MinS => sa.min(sb) as $word,
                Binary::MaxU => a.max(b),
                Binary::MaxS => sa.max(sb) as $word,
                Binary::And => a & b,
                Binary::Or => a | b,
                Binary::Xor => a ^ b,
                Binary::AddSat => sa.saturating_add(sb) as $word,
                Binary::SubSat => sa.saturating_sub(sb) as $word,
            }
        }
    };
}

of_width!(u32, i32, u64, i64, unary32, count32, binary32);
of_width!(u64, i64, u128, i128, unary64, count64, binary64);

/// Two 16-bit operands; their upper halves are undefined.
pub fn binary16(op: Binary, signed: bool, a: u32, b: u32) -> u32 {
    if signed {
        let (a, b) = (i32::from(a as i16), i32::from(b as i16));
        match op {
            Binary::MulHiS => (a.wrapping_mul(b) >> 16) as u32,
            op => binary32(op, a as u32, b as u32),
        }
    } else {
        let (a, b) = (a & 0xffff, b & 0xffff);
        match op {
            Binary::MulHiU => a.wrapping_mul(b) >> 16,
            op => binary32(op, a, b),
        }
    }
}

/// A shift of 64 bits, the amount clamped.
pub fn shift64(op: Shift, a: u64, amount: u32) -> u64 {
    match op {
        Shift::Left => a.checked_shl(amount).unwrap_or(0),
        Shift::RightU => a.checked_shr(amount).unwrap_or(0),
        Shift::RightS => ((a as i64) >> amount.min(63)) as u64,
    }
}

/// 32 × 32 → 64 bits.
pub fn mul_wide(signed: bool, a: u32, b: u32) -> u64 {
    if signed {
        (i64::from(a as i32) * i64::from(b as i32)) as u64
    } else {
        u64::from(a) * u64::from(b)
    }
}

/// 16 × 16 → 32 bits.
pub fn mul_wide16(signed: bool, a: u32, b: u32) -> u32 {
    if signed {
        i32::from(a as i16).wrapping_mul(i32::from(b as i16)) as u32
    } else {
        (a & 0xffff).wrapping_mul(b & 0xffff)
    }
}

/// Three operands, 32 bits.
pub fn ternary32(op: Ternary, a: u32, b: u32, c: u32) -> u32 {
    let funnel = u64::from(b) << 32 | u64::from(a);
    match op {
        Ternary::MadLo => a.wrapping_mul(b).wrapping_add(c),
        Ternary::MadHiU => binary32(Binary::MulHiU, a, b).wrapping_add(c),
        Ternary::MadHiS => binary32(Binary::MulHiS, a, b).wrapping_add(c),
        Ternary::SadU => c.wrapping_add(a.abs_diff(b)),
        Ternary::SadS => c.wrapping_add((a as i32).abs_diff(b as i32)),
        Ternary::BfeU => bfe(u64::from(a), b, c, 32, false) as u32,
        Ternary::BfeS => bfe(u64::from(a), b, c, 32, true) as u32,
        Ternary::Prmt(mode) => permute(mode, a, b, c),
        Ternary::ShfLeftWrap => (funnel << (c & 31) >> 32) as u32,
        Ternary::ShfLeftClamp => (funnel << c.min(32) >> 32) as u32,
        Ternary::ShfRightWrap => (funnel >> (c & 31)) as u32,
        Ternary::ShfRightClamp => (funnel >> c.min(32)) as u32,
        Ternary::Lop3(table) => lop3(table, a, b, c),
        Ternary::Dp4aUU => dp4a(a, b, c, false, false),
        Ternary::Dp4aSS => dp4a(a, b, c, true, true),
        Ternary::Dp4aUS => dp4a(a, b, c, false, true),
        Ternary::Dp4aSU => dp4a(a, b, c, true, false),
        Ternary::Dp2a { high, a_signed, b_signed } => dp2a(high, (a, a_signed), (b, b_signed), c),
    }
}

fn dp2a(high: bool, (a, a_signed): (u32, bool), (b, b_signed): (u32, bool), c: u32) -> u32 {
    let extended = |value: u32, bytes: u8, signed: bool| extend(u64::from(value), bytes, signed);
    (0..2).fold(c, |sum, at| {
        let half = extended(a >> (16 * at), 2, a_signed);
        let byte = extended(b >> (8 * at + if high { 16 } else { 0 }), 1, b_signed);
        sum.wrapping_add(half.wrapping_mul(byte) as u32)
    })
}

/// The low or the high half of the product, plus `c` and a carry: the sum, and whether it carries.
pub fn mad_carry(
    wide: bool,
    (signed, high): (bool, bool),
    [a, b, c]: [u64; 3],
    carry: bool,
) -> (u64, bool) {
    let width = if wide { 64 } else { 32 };
    let bytes = if wide { 8 } else { 4 };
    let factor = |value: u64| match signed {
        true => i128::from(extend(value, bytes, true).cast_signed()).cast_unsigned(),
        false => u128::from(extend(value, bytes, false)),
    };
    let product = factor(a).wrapping_mul(factor(b));
    let part = if high { product >> width } else { product };
    let field = u128::from(u64::MAX >> (64 - width));
    let sum = (part & field) + (u128::from(c) & field) + u128::from(carry);
    ((sum & field) as u64, sum > field)
}

fn dp4a(a: u32, b: u32, c: u32, a_signed: bool, b_signed: bool) -> u32 {
    let byte =
        |value: u8, signed: bool| if signed { i32::from(value as i8) } else { i32::from(value) };
    let products = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
    products.fold(c, |sum, (a, b)| sum.wrapping_add((byte(a, a_signed) * byte(b, b_signed)) as u32))
}

fn lop3(table: u8, a: u32, b: u32, c: u32) -> u32 {
    (0..8u32).filter(|row| table >> row & 1 == 1).fold(0, |result, row| {
        let term = |value: u32, bit: u32| if row >> bit & 1 == 1 { value } else { !value };
        result | (term(a, 2) & term(b, 1) & term(c, 0))
    })
}

fn permute(mode: Permute, a: u32, b: u32, selector: u32) -> u32 {
    let at = selector & 3;
    // The bytes of each mode, the highest first, as one selector.
    let chosen = match mode {
        Permute::Selected => selector,
        Permute::Forward => [0x3210, 0x4321, 0x5432, 0x6543][at as usize],
        Permute::Backward => [0x5670, 0x6701, 0x7012, 0x0123][at as usize],
        Permute::Byte => 0x1111 * at,
        Permute::ClampLeft => [0x3210, 0x3211, 0x3222, 0x3333][at as usize],
        Permute::ClampRight => [0x0000, 0x1110, 0x2210, 0x3210][at as usize],
        Permute::Half => [0x1010, 0x3232][(at & 1) as usize],
    };
    prmt(a, b, chosen)
}

fn prmt(a: u32, b: u32, selector: u32) -> u32 {
    let bytes = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
    u32::from_le_bytes(std::array::from_fn(|at| {
        let choice = selector >> (4 * at);
        let byte = bytes[choice as usize & 7];
        if choice & 8 == 0 { byte } else { ((byte as i8) >> 7) as u8 }
    }))
}

/// Bit-field extract: `length` bits from `position` of a value of `width` bits.
pub fn bfe(a: u64, position: u32, length: u32, width: u32, signed: bool) -> u64 {
    let (position, length) = (position & 0xff, length & 0xff);
    let top = width - 1;
    let sign = if !signed || length == 0 { 0 } else { a >> (position + length - 1).min(top) & 1 };
    (0..width).fold(0, |result, bit| {
        let source =
            if bit < length && position + bit <= top { a >> (position + bit) & 1 } else { sign };
        result | source << bit
    })
}

/// Bit-field insert: the low `length` bits of `a` into `b` at `position`.
pub fn bfi(a: u64, b: u64, position: u32, length: u32, width: u32) -> u64 {
    let (position, length) = (position & 0xff, length & 0xff);
    if position >= width {
        return b;
    }
    let length = length.min(width - position);
    let field = if length == 64 { u64::MAX } else { (1 << length) - 1 };
    (b & !(field << position)) | (a & field) << position
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn division_by_zero_matches_hardware() {
        assert_eq!(
            (binary32(Binary::DivU, 7, 0), binary32(Binary::RemU, 7, 0)),
            (u32::MAX, u32::MAX)
        );
        assert_eq!(binary32(Binary::DivS, i32::MIN as u32, u32::MAX), i32::MIN as u32);
    }

    #[test]
    fn prmt_selects_and_replicates_signs() {
        assert_eq!(prmt(0x3322_1100, 0x7766_5544, 0x7531), 0x7755_3311);
        assert_eq!(prmt(0x0000_0080, 0, 0x0008), 0x8080_80ff);
    }

    #[test]
    fn funnel_shifts_take_bits_of_both_words() {
        assert_eq!(ternary32(Ternary::ShfLeftWrap, 0x8000_0000, 1, 1), 3);
        assert_eq!(ternary32(Ternary::ShfRightWrap, 0, 1, 1), 0x8000_0000);
        assert_eq!(ternary32(Ternary::ShfRightClamp, 5, 9, 40), 9);
    }

    proptest! {
        #[test]
        fn bit_fields_agree_with_shifts(a: u32, b: u32, position in 0u32..40, length in 0u32..40) {
            let field = if length >= 32 { u32::MAX } else { (1 << length) - 1 };
            let shifted = if position > 31 { 0 } else { a >> position };
            prop_assert_eq!(ternary32(Ternary::BfeU, a, position, length), shifted & field);
            let inserted = if position > 31 { b } else { (b & !(field << position)) | ((a & field) << position) };
            prop_assert_eq!(bfi(u64::from(a), u64::from(b), position, length, 32) as u32, inserted);
        }

        #[test]
        fn lop3_evaluates_its_table(a: u32, b: u32, c: u32) {
            prop_assert_eq!(lop3(0xf0 & 0xcc, a, b, c), a & b);
            prop_assert_eq!(lop3(0xf0 ^ 0xcc ^ 0xaa, a, b, c), a ^ b ^ c);
            prop_assert_eq!(lop3((0xf0 & 0xcc) | 0xaa, a, b, c), (a & b) | c);
        }

        #[test]
        fn high_halves_agree_with_wide_products(a: u64, b: u64) {
            prop_assert_eq!(binary64(Binary::MulHiU, a, b), ((u128::from(a) * u128::from(b)) >> 64) as u64);
            prop_assert_eq!(binary32(Binary::MulHiS, a as u32, b as u32), ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32);
        }

        #[test]
        fn sixteen_bits_ignore_upper_halves(a: u32, b: u32) {
            prop_assert_eq!(binary16(Binary::MaxS, true, a, b) as i16, (a as i16).max(b as i16));
            prop_assert_eq!(binary16(Binary::DivU, false, a, b | 1) as u16, (a as u16) / (b as u16 | 1));
        }
    }
}
