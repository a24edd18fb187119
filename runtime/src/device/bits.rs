//! Instructions of GPUs on the bytes and bits of words for which Rust has no method.
//!
//! Rust's own methods are instructions already: `count_ones` is `popc`, `leading_zeros` is `clz`,
//! `reverse_bits` is `brev`, and the upper half of a widened product is `mul.hi`. On the host all
//! functions here compute the same.
//!
//! ```
//! use gpuprof::prelude::*;
//!
//! /// The bytes of a word from the other end, for data of big-endian machines.
//! fn from_big_endian(word: u32) -> u32 {
//!     bits::permute(word, 0, 0x0123)
//! }
//!
//! assert_eq!(from_big_endian(0x0102_0304), 0x0403_0201);
//! ```

/// `$text` of registers on the device, `$host` on the host.
macro_rules! instruction {
    ($text:literal, $t:ident of $($name:ident),*; $host:expr) => {{
        #[cfg(target_arch = "nvptx64")]
        {
            let d: $t;
            // SAFETY: the instruction computes on registers.
            unsafe {
                core::arch::asm!(
                    $text,
                    $($name = in(reg32) $name,)*
                    d = out(reg32) d,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            d
        }
        #[cfg(not(target_arch = "nvptx64"))]
        $host
    }};
}

/// Four bytes of `a` and `b`, chosen by the four lowest hexadecimal digits of `selector`: digits 0
/// to 3 are the bytes of `a`, 4 to 7 those of `b`. A digit of 8 and more gives the sign of byte
/// `digit - 8` in all eight bits.
///
/// ```
/// use gpuprof::bits;
///
/// // Turns the bytes around, and takes the upper halves of two words.
/// assert_eq!(bits::permute(0x4433_2211, 0, 0x0123), 0x1122_3344);
/// assert_eq!(bits::permute(0x4433_2211, 0x8877_6655, 0x7632), 0x8877_4433);
/// ```
#[doc(alias("__byte_perm", "prmt"))]
#[inline(always)]
pub fn permute(a: u32, b: u32, selector: u32) -> u32 {
    instruction!("prmt.b32 {d}, {a}, {b}, {selector};", u32 of a, b, selector; {
        let bytes = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
        let chosen = |i: u32| {
            let digit = selector >> (4 * i) & 15;
            let byte = bytes[digit as usize & 7];
            if digit < 8 { byte } else { 0_u8.wrapping_sub(byte >> 7) }
        };
        u32::from_le_bytes([0, 1, 2, 3].map(chosen))
    })
}

/// `sum` plus the products of the four bytes of `a` and `b`, which are signed; wrapping.
///
/// ```
/// use gpuprof::bits;
///
/// let (a, b) = ([1_i8, -2, 3, -4], [10_i8, 10, 10, 10]);
/// let word = |bytes: [i8; 4]| u32::from_le_bytes(bytes.map(|byte| byte as u8));
/// assert_eq!(bits::dot4_i8(word(a), word(b), 5), 5 - 20);
/// ```
#[doc(alias("__dp4a", "dp4a_s32", "dp4a"))]
#[inline(always)]
pub fn dot4_i8(a: u32, b: u32, sum: i32) -> i32 {
    instruction!("dp4a.s32.s32 {d}, {a}, {b}, {sum};", i32 of a, b, sum; {
        let pairs = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
        pairs.fold(sum, |sum, (a, b)| sum.wrapping_add(i32::from(a as i8) * i32::from(b as i8)))
    })
}

/// `sum` plus the products of the four bytes of `a` and `b`, which are unsigned; wrapping.
///
/// ```
/// use gpuprof::bits;
///
/// assert_eq!(bits::dot4_u8(0x0403_0201, 0x0101_0101, 100), 110);
/// ```
#[doc(alias("__dp4a", "dp4a_u32", "dp4a"))]
#[inline(always)]
pub fn dot4_u8(a: u32, b: u32, sum: u32) -> u32 {
    instruction!("dp4a.u32.u32 {d}, {a}, {b}, {sum};", u32 of a, b, sum; {
        let pairs = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
        pairs.fold(sum, |sum, (a, b)| sum.wrapping_add(u32::from(a) * u32::from(b)))
    })
}

/// The upper word of `high` and `low` as one number shifted left by `shift` modulo 32.
///
/// ```
/// use gpuprof::bits;
///
/// assert_eq!(bits::funnel_shl(0xabcd_0000, 0x1234_5678, 8), 0x3456_78ab);
/// ```
#[doc(alias("__funnelshift_l", "shf.l.wrap"))]
#[inline(always)]
pub fn funnel_shl(low: u32, high: u32, shift: u32) -> u32 {
    instruction!("shf.l.wrap.b32 {d}, {low}, {high}, {shift};", u32 of low, high, shift; {
        (((u64::from(high) << 32 | u64::from(low)) << (shift & 31)) >> 32) as u32
    })
}

/// The lower word of `high` and `low` as one number shifted right by `shift` modulo 32.
///
/// ```
/// use gpuprof::bits;
///
/// assert_eq!(bits::funnel_shr(0xabcd_0000, 0x1234_5678, 8), 0x78ab_cd00);
/// ```
#[doc(alias("__funnelshift_r", "shf.r.wrap"))]
#[inline(always)]
pub fn funnel_shr(low: u32, high: u32, shift: u32) -> u32 {
    instruction!("shf.r.wrap.b32 {d}, {low}, {high}, {shift};", u32 of low, high, shift; {
        ((u64::from(high) << 32 | u64::from(low)) >> (shift & 31)) as u32
    })
}
