//! Vectors: two, four or eight lanes that are loaded and stored together.
//!
//! A vector is aligned to its size, so a load or store of 16 bytes is one instruction:
//! `ld.global.v4` through a pointer or a slice, `ld.shared.v4` in shared memory. On the device a
//! vector is one value for LLVM (`repr(simd)`): a copy of a plain struct would become two accesses.

use core::fmt;
use core::ops::{Add, Index, IndexMut, Mul, Sub};

use super::half::{bf16, f16};
use super::shared::SharedElement;
#[cfg(target_arch = "nvptx64")]
use super::shared_words::{load2, load4, store2, store4};

/// Shared memory of a vector of so many words.
#[cfg(target_arch = "nvptx64")]
macro_rules! words {
    (load 1 $at:ident) => {
        u32::load($at)
    };
    (load 2 $at:ident) => {
        load2($at)
    };
    (load 4 $at:ident) => {
        load4($at)
    };
    (load 8 $at:ident) => {
        [load4($at), load4($at + 16)]
    };
    (store 1 $at:ident $value:ident) => {
        u32::store($at, core::mem::transmute($value))
    };
    (store 2 $at:ident $value:ident) => {
        store2($at, core::mem::transmute($value))
    };
    (store 4 $at:ident $value:ident) => {
        store4($at, core::mem::transmute($value))
    };
    (store 8 $at:ident $value:ident) => {{
        let [low, high]: [[u32; 4]; 2] = core::mem::transmute($value);
        store4($at, low);
        store4($at + 16, high);
    }};
}

macro_rules! vectors {
    ($(
        $(#[$docs:meta])*
        $name:ident: [$lane:ty; $lanes:literal] as $raw:ty, words $words:tt, align $align:literal;
    )*) => {$(
        $(#[$docs])*
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy)]
        #[cfg_attr(target_arch = "nvptx64", repr(simd))]
        #[cfg_attr(not(target_arch = "nvptx64"), repr(C, align($align)))]
        pub struct $name([$raw; $lanes]);

        impl $name {
            /// How many lanes it has.
            pub const LANES: usize = $lanes;

            /// A vector of these lanes, the first of which comes first in memory.
            #[inline(always)]
            pub const fn from_array(lanes: [$lane; $lanes]) -> Self {
                // SAFETY: both are the lanes one after the other, for which any bits are values.
                unsafe { core::mem::transmute(lanes) }
            }

            /// Its lanes.
            #[inline(always)]
            pub const fn to_array(self) -> [$lane; $lanes] {
                // SAFETY: as in `from_array`.
                unsafe { core::mem::transmute(self) }
            }

            /// A vector of one value in all lanes.
            #[inline(always)]
            pub const fn splat(lane: $lane) -> Self {
                Self::from_array([lane; $lanes])
            }

            /// A vector of `f` applied to each lane.
            #[must_use]
            #[inline(always)]
            pub fn map(self, f: impl FnMut($lane) -> $lane) -> Self {
                Self::from_array(self.to_array().map(f))
            }

            /// `x` as vectors, without the elements at its end that make no whole one, like
            /// `reinterpret_cast` in CUDA C++. A kernel ends where `x` begins at an address that is
            /// not a multiple of the vector's size, which no buffer does.
            #[doc(alias = "reinterpret_cast")]
            #[inline(always)]
            #[track_caller]
            pub fn slice(x: &[$lane]) -> &[Self] {
                let start = x.as_ptr().cast::<Self>();
                assert!(start.is_aligned(), "the slice is not aligned for vectors");
                // SAFETY: the address is aligned, and the lanes lie one after the other.
                unsafe { core::slice::from_raw_parts(start, x.len() / $lanes) }
            }
        }

        impl Default for $name {
            #[inline(always)]
            fn default() -> Self {
                Self::splat(<$lane>::default())
            }
        }

        impl From<[$lane; $lanes]> for $name {
            #[inline(always)]
            fn from(lanes: [$lane; $lanes]) -> Self {
                Self::from_array(lanes)
            }
        }

        impl From<$name> for [$lane; $lanes] {
            #[inline(always)]
            fn from(vector: $name) -> Self {
                vector.to_array()
            }
        }

        impl Index<usize> for $name {
            type Output = $lane;

            #[inline(always)]
            #[track_caller]
            fn index(&self, lane: usize) -> &$lane {
                // SAFETY: the lanes lie one after the other from its start.
                unsafe { &(&*core::ptr::from_ref(self).cast::<[$lane; $lanes]>())[lane] }
            }
        }

        impl IndexMut<usize> for $name {
            #[inline(always)]
            #[track_caller]
            fn index_mut(&mut self, lane: usize) -> &mut $lane {
                // SAFETY: as in `index`.
                unsafe { &mut (&mut *core::ptr::from_mut(self).cast::<[$lane; $lanes]>())[lane] }
            }
        }

        vectors!(@operators $name $lane, Add add +, Sub sub -, Mul mul *);

        impl Mul<$lane> for $name {
            type Output = Self;

            #[inline(always)]
            fn mul(self, factor: $lane) -> Self {
                self.map(|lane| lane * factor)
            }
        }

        impl PartialEq for $name {
            #[inline(always)]
            fn eq(&self, other: &Self) -> bool {
                self.to_array() == other.to_array()
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))?;
                fmt::Debug::fmt(&self.to_array(), f)
            }
        }

        impl SharedElement for $name {
            #[inline(always)]
            unsafe fn load(at: u32) -> Self {
                on_device!("Shared::read"(at), {
                    // SAFETY: the caller vouches for the address; any bits are lanes.
                    unsafe { core::mem::transmute(words!(load $words at)) }
                })
            }

            #[inline(always)]
            unsafe fn store(at: u32, value: Self) {
                on_device!("Shared::write"(at, value), {
                    // SAFETY: the caller vouches for the address.
                    unsafe { words!(store $words at value) }
                })
            }
        }
    )*};
    (@operators $name:ident $lane:ty, $($trait:ident $method:ident $operator:tt),*) => {$(
        impl $trait for $name {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                let (a, b) = (self.to_array(), other.to_array());
                Self::from_array(core::array::from_fn(|lane| a[lane] $operator b[lane]))
            }
        }
    )*};
}

/// Calls `$with!` with every vector: its name, its lanes' type and how many there are.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! every_vector {
    ($with:ident) => {
        $with! {
            u8x4 u8 4, u32x2 u32 2, i32x2 i32 2, f32x2 f32 2, f16x4 f16 4, bf16x4 bf16 4,
            u32x4 u32 4, i32x4 i32 4, f32x4 f32 4, u64x2 u64 2, i64x2 i64 2, f64x2 f64 2,
            f16x8 f16 8, bf16x8 bf16 8, f32x8 f32 8, u32x8 u32 8, i32x8 i32 8, f64x4 f64 4
        }
    };
}
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) use every_vector;

vectors! {
    /// Four `u8`, 4 bytes.
    #[doc(alias("uchar4", "uint8x4"))]
    u8x4: [u8; 4] as u8, words 1, align 4;
    /// Two `u32`, 8 bytes.
    #[doc(alias("uint2", "Uint2"))]
    u32x2: [u32; 2] as u32, words 2, align 8;
    /// Two `i32`, 8 bytes.
    #[doc(alias("int2", "Int2"))]
    i32x2: [i32; 2] as i32, words 2, align 8;
    /// Two `f32`, 8 bytes.
    ///
    /// ```
    /// use gpuprof::f32x2;
    ///
    /// assert_eq!(f32x2::from_array([1.0, 2.0]) * 3.0, f32x2::from_array([3.0, 6.0]));
    /// ```
    #[doc(alias("float2", "Float2"))]
    f32x2: [f32; 2] as f32, words 2, align 8;
    /// Four [`f16`](struct@f16), 8 bytes.
    f16x4: [f16; 4] as u16, words 2, align 8;
    /// Four [`bf16`], 8 bytes.
    bf16x4: [bf16; 4] as u16, words 2, align 8;
    /// Four `u32`, 16 bytes.
    #[doc(alias("uint4", "Uint4"))]
    u32x4: [u32; 4] as u32, words 4, align 16;
    /// Four `i32`, 16 bytes.
    #[doc(alias("int4", "Int4"))]
    i32x4: [i32; 4] as i32, words 4, align 16;
    /// Four `f32`, 16 bytes.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// y ← a·x, four at a time.
    /// #[gpuprof::kernel(
    ///     series(block = 64..=1024, n = [1M]),
    ///     grid = (n / 4).div_ceil(block),
    ///     args(2.0, random(n / 4), zeros(n / 4)),
    /// )]
    /// pub fn scale(a: f32, x: &[f32x4], mut y: DisjointSlice<f32x4>) {
    ///     let i = thread::index_1d();
    ///     if let Some(y) = y.get_mut(i) {
    ///         *y = x[i.get()] * a;
    ///     }
    /// }
    /// ```
    #[doc(alias("float4", "Float4"))]
    f32x4: [f32; 4] as f32, words 4, align 16;
    /// Two `u64`, 16 bytes.
    #[doc(alias = "ulonglong2")]
    u64x2: [u64; 2] as u64, words 4, align 16;
    /// Two `i64`, 16 bytes.
    #[doc(alias = "longlong2")]
    i64x2: [i64; 2] as i64, words 4, align 16;
    /// Two `f64`, 16 bytes.
    #[doc(alias("double2", "Double2"))]
    f64x2: [f64; 2] as f64, words 4, align 16;
    /// Eight [`f16`](struct@f16), 16 bytes.
    f16x8: [f16; 8] as u16, words 4, align 16;
    /// Eight [`bf16`], 16 bytes.
    bf16x8: [bf16; 8] as u16, words 4, align 16;
    /// Eight `f32`, 32 bytes: two accesses.
    #[doc(alias = "float8")]
    f32x8: [f32; 8] as f32, words 8, align 32;
    /// Eight `u32`, 32 bytes: two accesses.
    u32x8: [u32; 8] as u32, words 8, align 32;
    /// Eight `i32`, 32 bytes: two accesses.
    i32x8: [i32; 8] as i32, words 8, align 32;
    /// Four `f64`, 32 bytes: two accesses.
    #[doc(alias = "double4")]
    f64x4: [f64; 4] as f64, words 8, align 32;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_is_aligned_to_its_size() {
        macro_rules! check {
            ($($vector:ident $lane:ident $lanes:literal),*) => {$(
                assert_eq!(size_of::<$vector>(), $lanes * size_of::<$lane>());
                assert_eq!(align_of::<$vector>(), size_of::<$vector>());
            )*};
        }
        every_vector!(check);
    }

    #[test]
    fn arithmetic_is_lane_by_lane() {
        let a = f32x4::from_array([1.0, 2.0, 3.0, 4.0]);
        let mut b = a + a * 2.0 - f32x4::splat(1.0);
        assert_eq!(b.to_array(), [2.0, 5.0, 8.0, 11.0]);
        b[3] = 0.5;
        assert_eq!((b[3], (b * a)[3]), (0.5, 2.0));
        assert_eq!(format!("{:?}", u32x2::splat(7)), "u32x2[7, 7]");
    }

    #[test]
    fn a_slice_of_lanes_becomes_vectors_without_the_remainder() {
        let vectors = [i32x4::splat(1), i32x4::splat(2), i32x4::splat(3)];
        // SAFETY: vectors are their lanes one after the other.
        let lanes = unsafe { core::slice::from_raw_parts(vectors.as_ptr().cast::<i32>(), 12) };
        assert_eq!(i32x4::slice(&lanes[..11]), &vectors[..2]);
        let told = std::panic::catch_unwind(|| i32x4::slice(&lanes[1..]).len());
        assert!(told.is_err());
    }
}
