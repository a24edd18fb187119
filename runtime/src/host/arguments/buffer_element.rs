//! The contents of buffers: scalars, or pairs and vectors of them.
//!
//! Input: the element type of a kernel's slice or pointer. Output: the scalars for filling,
//! restoring and comparing the buffer, and how many of them one element has.

use crate::device::every_vector;
use crate::host::arguments::elements::Element;
use crate::{bf16, bf16x2, f16, f16x2};

/// Types that a kernel's slices and pointers may have.
pub trait BufferElement: Copy + 'static {
    /// Its scalar type.
    type Lane: Element;

    /// Of how many.
    const LANES: usize;

    /// The elements that consist of `lanes`.
    fn gather(lanes: Vec<Self::Lane>) -> Vec<Self>;

    /// The scalars of the elements.
    fn scatter(held: Vec<Self>) -> Vec<Self::Lane>;
}

macro_rules! scalars {
    ($($t:ident)*) => {$(
        impl BufferElement for $t {
            type Lane = Self;
            const LANES: usize = 1;

            fn gather(lanes: Vec<Self>) -> Vec<Self> {
                lanes
            }

            fn scatter(held: Vec<Self>) -> Vec<Self> {
                held
            }
        }
    )*};
}
scalars!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64 f16 bf16);

macro_rules! vectors {
    ($($vector:ident $lane:ident $lanes:literal),*) => {$(
        impl BufferElement for crate::$vector {
            type Lane = $lane;
            const LANES: usize = $lanes;

            fn gather(lanes: Vec<$lane>) -> Vec<Self> {
                lanes.as_chunks::<$lanes>().0.iter().copied().map(Self::from_array).collect()
            }

            fn scatter(held: Vec<Self>) -> Vec<$lane> {
                held.into_iter().flat_map(Self::to_array).collect()
            }
        }
    )*};
}
every_vector!(vectors);

macro_rules! pairs {
    ($($pair:ident $half:ident)*) => {$(
        impl BufferElement for $pair {
            type Lane = $half;
            const LANES: usize = 2;

            fn gather(lanes: Vec<$half>) -> Vec<Self> {
                lanes.as_chunks().0.iter().map(|&[low, high]| Self::new(low, high)).collect()
            }

            fn scatter(held: Vec<Self>) -> Vec<$half> {
                held.into_iter().flat_map(|pair| [pair.low(), pair.high()]).collect()
            }
        }
    )*};
}
pairs!(f16x2 f16 bf16x2 bf16);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::f32x4;

    #[test]
    fn lanes_keep_their_order_in_both_directions() {
        let lanes: Vec<f32> = (0..8_u8).map(f32::from).collect();
        let vectors = f32x4::gather(lanes.clone());
        assert_eq!(vectors[1].to_array(), [4.0, 5.0, 6.0, 7.0]);
        assert_eq!(f32x4::scatter(vectors), lanes);
        let halves = [1.0, 2.0].map(f16::from_f32).to_vec();
        let pairs = f16x2::gather(halves.clone());
        assert_eq!((pairs.len(), pairs[0].high()), (1, f16::from_f32(2.0)));
        assert_eq!(f16x2::scatter(pairs), halves);
    }
}
