//! Values of any type to shared memory, word by word.

use core::arch::asm;
use core::mem::MaybeUninit;

macro_rules! words {
    ($($store:ident: $t:ident in $class:ident of $carrier:ident as $suffix:literal;)*) => {$(
        #[inline(always)]
        unsafe fn $store(at: u32, value: $t) {
            // SAFETY: the caller vouches for the address; the instruction writes nothing else.
            unsafe {
                asm!(
                    concat!("st.shared.", $suffix, " [{at}], {value};"),
                    at = in(reg32) at,
                    value = in($class) value as $carrier,
                    options(nostack, preserves_flags),
                );
            }
        }
    )*};
}

// PTX has no 8-bit registers: bytes travel in 16 bits.
words! {
    store_u8: u8 in reg16 of u16 as "u8";
    store_u16: u16 in reg16 of u16 as "b16";
    store_u32: u32 in reg32 of u32 as "b32";
    store_u64: u64 in reg64 of u64 as "b64";
}

/// Writes a value.
///
/// # Safety
/// `at` is the shared address of one.
#[inline(always)]
pub(super) unsafe fn store<T: Copy>(at: u32, value: T) {
    macro_rules! by_words {
        ($t:ident, $store:ident) => {{
            let from = (&raw const value).cast::<MaybeUninit<$t>>();
            let mut i = 0;
            while i < size_of::<T>() / size_of::<$t>() {
                // SAFETY: the word lies inside the value, and has its alignment. If it contains
                // padding, the value written there is never read.
                unsafe {
                    $store(at + (i * size_of::<$t>()) as u32, from.add(i).read().assume_init());
                }
                i += 1;
            }
        }};
    }
    match align_of::<T>() {
        1 => by_words!(u8, store_u8),
        2 => by_words!(u16, store_u16),
        4 => by_words!(u32, store_u32),
        _ => by_words!(u64, store_u64),
    }
}
