//! The expansion of `device_print!`: the values as CUDA's `vprintf` takes them, and the format,
//! which is put together while compiling.

use super::half::{bf16, f16};

/// The text of one print.
pub trait Text {
    /// The texts between the values: one more than there are values.
    const PIECES: &'static [&'static str];

    /// Flags, width and precision of each value, and the conversion where one is asked for.
    const SPECS: &'static [(&'static str, &'static str)];
}

/// Values that `device_print!` shows: numbers, and `bool` as 0 and 1.
pub trait Printable: Copy {
    /// The argument of `vprintf` in its place.
    type Passed: Copy;

    /// Its length modifier and its conversion.
    const KIND: (&'static str, u8);

    /// The value as `vprintf` takes it.
    fn passed(self) -> Self::Passed;
}

macro_rules! printable {
    ($($t:ident: $passed:ident, $length:literal $letter:literal, |$value:ident| $make:expr;)*) => {$(
        impl Printable for $t {
            type Passed = $passed;
            const KIND: (&'static str, u8) = ($length, $letter);

            #[inline(always)]
            fn passed(self) -> $passed {
                let $value = self;
                $make
            }
        }
    )*};
}

printable! {
    bool: u32, "" b'u', |value| u32::from(value);
    u8: u32, "" b'u', |value| u32::from(value);
    u16: u32, "" b'u', |value| u32::from(value);
    u32: u32, "" b'u', |value| value;
    i8: i32, "" b'd', |value| i32::from(value);
    i16: i32, "" b'd', |value| i32::from(value);
    i32: i32, "" b'd', |value| value;
    u64: u64, "ll" b'u', |value| value;
    usize: u64, "ll" b'u', |value| value as u64;
    i64: i64, "ll" b'd', |value| value;
    isize: i64, "ll" b'd', |value| value as i64;
    f32: f64, "" b'g', |value| f64::from(value);
    f64: f64, "" b'g', |value| value;
    f16: f64, "" b'g', |value| value.to_f64();
    bf16: f64, "" b'g', |value| value.to_f64();
}

/// The values of one print.
pub trait Values: Copy {
    /// The values one after the other, each at a multiple of its size.
    type Packed: Copy;

    /// Their kinds for `vprintf`.
    const KINDS: &'static [(&'static str, u8)];

    /// The values as `vprintf` finds them.
    fn pack(self) -> Self::Packed;
}

macro_rules! tuples {
    ($($packed:ident: $($value:ident)*;)*) => {$(
        /// Values in C's layout.
        #[doc(hidden)]
        #[derive(Clone, Copy)]
        #[repr(C)]
        #[allow(dead_code)]
        pub struct $packed<$($value),*>($($value),*);

        impl<$($value: Printable),*> Values for ($($value,)*) {
            type Packed = $packed<$($value::Passed),*>;
            const KINDS: &'static [(&'static str, u8)] = &[$($value::KIND),*];

            #[inline(always)]
            #[allow(non_snake_case)]
            fn pack(self) -> Self::Packed {
                let ($($value,)*) = self;
                $packed($($value.passed()),*)
            }
        }
    )*};
}

tuples! {
    Packed0: ;
    Packed1: A;
    Packed2: A B;
    Packed3: A B C;
    Packed4: A B C D;
    Packed5: A B C D E;
    Packed6: A B C D E F;
    Packed7: A B C D E F G;
    Packed8: A B C D E F G H;
}

/// The longest format, with the zero byte at its end.
const LONGEST: usize = 512;

/// The format of a text with values of some types.
struct Format<T, V>(core::marker::PhantomData<(T, V)>);

impl<T: Text, V: Values> Format<T, V> {
    const BYTES: [u8; LONGEST] = format(T::PIECES, T::SPECS, V::KINDS);
}

/// C's format: the pieces, and between them a conversion each.
const fn format(pieces: &[&str], specs: &[(&str, &str)], kinds: &[(&str, u8)]) -> [u8; LONGEST] {
    let mut made = ([0; LONGEST], 0);
    let mut at = 0;
    while at < pieces.len() {
        made = push(made, pieces[at].as_bytes(), true);
        if at < specs.len() {
            let ((shape, asked), (length, letter)) = (specs[at], kinds[at]);
            let is_float = letter == b'g';
            let letter = match asked.as_bytes() {
                [] => letter,
                [asked @ (b'f' | b'e' | b'E')] => {
                    assert!(is_float, "device_print!: `{{:.3}}` and `{{:e}}` show floats");
                    *asked
                }
                [asked] => {
                    assert!(!is_float, "device_print!: `{{:x}}` and `{{:o}}` show whole numbers");
                    *asked
                }
                _ => panic!("device_print! asks for one letter"),
            };
            made = push(made, b"%", false);
            made = push(made, shape.as_bytes(), false);
            made = push(made, length.as_bytes(), false);
            made = push(made, &[letter], false);
        }
        at += 1;
    }
    made.0
}

/// `made` followed by `text`; a literal `%` is doubled.
const fn push(
    (mut made, mut end): ([u8; LONGEST], usize),
    text: &[u8],
    literal: bool,
) -> ([u8; LONGEST], usize) {
    let mut at = 0;
    while at < text.len() {
        assert!(end + 2 < LONGEST, "device_print!: the text is longer than 509 bytes");
        if literal && text[at] == b'%' {
            made[end] = b'%';
            end += 1;
        }
        made[end] = text[at];
        end += 1;
        at += 1;
    }
    (made, end)
}

/// Prints `values` in the text of `T`.
#[inline(always)]
pub fn print<T: Text, V: Values>(values: V) {
    let format: &'static [u8; LONGEST] = const { &Format::<T, V>::BYTES };
    let packed = values.pack();
    on_device!("device_print!"(format, packed), {
        // SAFETY: the format asks for the values that lie in `packed`, in their order and as C lays
        // them out, and ends with a zero byte.
        unsafe {
            core::arch::nvptx::vprintf(format.as_ptr(), (&raw const packed).cast());
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format_text(pieces: &[&str], specs: &[(&str, &str)], kinds: &[(&str, u8)]) -> String {
        let bytes = format(pieces, specs, kinds);
        let end = bytes.iter().position(|byte| *byte == 0).unwrap();
        String::from_utf8(bytes[..end].to_vec()).unwrap()
    }

    #[test]
    fn print_formats_become_c_formats() {
        let kinds = <(u32, i64, f32, f16, usize)>::KINDS;
        let specs = [("", ""), ("05", ""), ("8.3", "f"), ("", "e"), ("#", "x")];
        assert_eq!(
            format_text(&["a ", " b ", " ", " ", " 100 % ", "\n"], &specs, kinds),
            "a %u b %05lld %8.3f %e 100 %% %#llx\n"
        );
        assert_eq!(format_text(&["{}\n"], &[], &[]), "{}\n");
    }

    #[test]
    fn printed_values_are_aligned_to_their_size() {
        assert_eq!(size_of::<<(u8, f32, bool) as Values>::Packed>(), 24);
        assert_eq!(size_of::<<() as Values>::Packed>(), 0);
    }
}
