//! Values of any type in memory of another address space, word by word.
//!
//! The words are as large as the type's alignment allows, up to 64 bits. Their number is a
//! constant, so that the compiler removes the loop, and the copy in local memory, for few words.

use core::arch::asm;
use core::mem::MaybeUninit;

/// An address in such a memory.
pub(super) trait Words: Copy {
    /// The byte `offset` bytes on.
    ///
    /// # Safety
    /// There is a value that has it.
    unsafe fn byte(self, offset: usize) -> u8;

    /// The two bytes `offset` bytes on.
    ///
    /// # Safety
    /// There is a value that has them, and they are aligned.
    unsafe fn half(self, offset: usize) -> u16;

    /// The four bytes `offset` bytes on.
    ///
    /// # Safety
    /// As for [`half`](Self::half).
    unsafe fn word(self, offset: usize) -> u32;

    /// The eight bytes `offset` bytes on.
    ///
    /// # Safety
    /// As for [`half`](Self::half).
    unsafe fn pair(self, offset: usize) -> u64;
}

macro_rules! loads {
    ($space:literal from $address:ident in $register:ident, $options:tt;
        $($name:ident: $t:ident in $class:ident of $carrier:ident as $suffix:literal;)*) => {$(
        #[inline(always)]
        unsafe fn $name(self, offset: usize) -> $t {
            loads!(@one $space $suffix self.0 + offset as $address, $register, $t $class $carrier, $options)
        }
    )*};
    (@one $space:literal $suffix:literal $at:expr, $register:ident, $t:ident $class:ident
        $carrier:ident, ($($option:ident),*)) => {{
        let value: $carrier;
        // SAFETY: the caller vouches for the address.
        unsafe {
            asm!(
                concat!("ld.", $space, ".", $suffix, " {value}, [{at}];"),
                at = in($register) $at,
                value = out($class) value,
                options($($option,)* nostack, preserves_flags),
            );
        }
        value as $t
    }};
}

/// An address of the shared window.
#[derive(Debug, Clone, Copy)]
pub(super) struct InShared(pub(super) u32);

// A read is not `pure`, so that it stays where it is among barriers and writes. PTX has no 8-bit
// registers: bytes travel in 16 bits.
impl Words for InShared {
    loads! {
        "shared" from u32 in reg32, (readonly);
        byte: u8 in reg16 of u16 as "u8";
        half: u16 in reg16 of u16 as "b16";
        word: u32 in reg32 of u32 as "b32";
        pair: u64 in reg64 of u64 as "b64";
    }
}

/// An address of constant memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct InConstant(pub(super) u64);

// What is there never changes: a read may stand anywhere that it is needed.
impl Words for InConstant {
    loads! {
        "const" from u64 in reg64, (pure, nomem);
        byte: u8 in reg16 of u16 as "u8";
        half: u16 in reg16 of u16 as "b16";
        word: u32 in reg32 of u32 as "b32";
        pair: u64 in reg64 of u64 as "b64";
    }
}

/// Reads a value.
///
/// # Safety
/// `at` is the address of one.
#[inline(always)]
pub(super) unsafe fn load<T: Copy>(at: impl Words) -> T {
    let mut value = MaybeUninit::<T>::uninit();
    macro_rules! by_words {
        ($t:ident, $load:ident) => {{
            let to = value.as_mut_ptr().cast::<$t>();
            let mut i = 0;
            while i < size_of::<T>() / size_of::<$t>() {
                // SAFETY: the word lies inside the value, and is aligned as the value is.
                unsafe { to.add(i).write(at.$load(i * size_of::<$t>())) };
                i += 1;
            }
        }};
    }
    match align_of::<T>() {
        1 => by_words!(u8, byte),
        2 => by_words!(u16, half),
        4 => by_words!(u32, word),
        _ => by_words!(u64, pair),
    }
    // SAFETY: a size is a multiple of the alignment, so that all of it was read; padding too, which
    // has no value that would be wrong.
    unsafe { value.assume_init() }
}
