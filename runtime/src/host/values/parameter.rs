//! Types that kernels take by value: numbers, `bool`, and structs of them.
//!
//! Input: a value. Output: its bytes, for the launch.

use crate::host::values::number::Scalar;
use crate::{bf16, f16};

/// Types that a kernel takes by value: numbers, `bool`, arrays of these within structs, and structs
/// with `#[repr(C)]` that derive it.
///
/// ```
/// use gpuprof::prelude::*;
///
/// #[derive(Clone, Copy, gpuprof::Parameter)]
/// #[repr(C)]
/// pub struct Line {
///     slope: f32,
///     offset: f32,
///     absolute: bool,
/// }
///
/// /// y ← slope·x + offset
/// #[gpuprof::kernel(
///     series(block = 64..=1024, n = [1M]),
///     grid = n / block,
///     args(Line { slope: 2.0, offset: 1.0, absolute: block > 64 }, random(n), zeros(n)),
///     verify = map_on_host,
/// )]
/// pub fn map(line: Line, x: &[f32], mut y: DisjointSlice<f32>) {
///     let i = thread::index_1d();
///     y[i] = of(line, x[i.get()]);
/// }
///
/// fn of(Line { slope, offset, absolute }: Line, x: f32) -> f32 {
///     let y = slope * x + offset;
///     if absolute { y.abs() } else { y }
/// }
///
/// fn map_on_host(line: Line, x: &[f32], y: &mut [f32]) {
///     y.iter_mut().zip(x).for_each(|(y, x)| *y = of(line, *x));
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "a kernel cannot take `{Self}` by value",
    note = "it takes numbers, `bool`, and structs that have #[repr(C)] and derive gpuprof::Parameter"
)]
pub trait Parameter: Copy + 'static {
    /// Writes its bytes to the beginning of `to`.
    #[doc(hidden)]
    fn write(self, to: &mut [u8]);
}

macro_rules! scalars {
    ($($t:ident)*) => {$(
        impl Parameter for $t {
            fn write(self, to: &mut [u8]) {
                to[..size_of::<Self>()].copy_from_slice(&self.bytes());
            }
        }
    )*};
}
scalars!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64 f16 bf16);

impl Parameter for bool {
    fn write(self, to: &mut [u8]) {
        to[0] = u8::from(self);
    }
}

impl<T: Parameter, const N: usize> Parameter for [T; N] {
    fn write(self, to: &mut [u8]) {
        for (at, element) in self.into_iter().enumerate() {
            element.write(&mut to[at * size_of::<T>()..]);
        }
    }
}

/// The bytes of `value`; padding between the fields of a struct is 0.
pub(crate) fn bytes(value: impl Parameter) -> Vec<u8> {
    let mut bytes = vec![0; size_of_val(&value)];
    value.write(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Mixed {
        flag: bool,
        wide: u64,
        pair: [u16; 2],
    }

    impl Parameter for Mixed {
        fn write(self, to: &mut [u8]) {
            self.flag.write(&mut to[std::mem::offset_of!(Self, flag)..]);
            self.wide.write(&mut to[std::mem::offset_of!(Self, wide)..]);
            self.pair.write(&mut to[std::mem::offset_of!(Self, pair)..]);
        }
    }

    #[test]
    fn fields_have_c_offsets_and_zeroed_padding() {
        let told = bytes(Mixed { flag: true, wide: 0x0102, pair: [3, 0x0405] });
        let expected =
            [[1, 0, 0, 0, 0, 0, 0, 0], [2, 1, 0, 0, 0, 0, 0, 0], [3, 0, 5, 4, 0, 0, 0, 0]];
        assert_eq!(told, expected.concat());
    }
}
