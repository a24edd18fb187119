//! C's `printf` on a thread's arguments.
//!
//! Input: the format, and a reader of arguments: each lies at a multiple of its own size, as in the
//! buffer of the device's `vprintf`. Output: the text, and the number of arguments. No format is an
//! error: an invalid conversion, or one without an argument, is printed unchanged, and so is every
//! conversion after the 32nd argument.

/// The most arguments of one call, as CUDA documents it.
const MOST_ARGUMENTS: u32 = 32;

/// One conversion: `%-8.3f`.
#[derive(Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    size: Size,
}

/// The length modifier of a conversion.
#[derive(Default, Clone, Copy, PartialEq)]
enum Size {
    #[default]
    Int,
    /// `hh`
    Byte,
    /// `h`
    Short,
    /// `l`, `ll`, `j`, `z`, `t`, `L`
    Long,
}

/// The arguments that are left.
struct Arguments<V> {
    value: V,
    offset: u64,
    count: u32,
}

impl<V: Fn(u64, u64) -> Option<u64>> Arguments<V> {
    /// The next one, of so many bytes.
    fn next(&mut self, bytes: u64) -> Option<u64> {
        let at = self.offset.next_multiple_of(bytes);
        let bits = (self.count < MOST_ARGUMENTS).then(|| (self.value)(at, bytes)).flatten()?;
        self.offset = at + bytes;
        self.count += 1;
        Some(bits)
    }

    /// The argument of a `*`.
    fn next_int(&mut self) -> Option<i32> {
        self.next(4).map(|bits| bits as i32)
    }
}

/// The text of `format`, with arguments from `value(offset, bytes)` and texts from
/// `text(address)`, and the number of arguments.
///
/// # Errors
/// The address of a text that is not in memory.
pub fn formatted(
    format: &str,
    value: impl Fn(u64, u64) -> Option<u64>,
    text: impl Fn(u64) -> Option<String>,
) -> Result<(String, u32), u64> {
    let mut out = String::new();
    let mut arguments = Arguments { value, offset: 0, count: 0 };
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        out += &rest[..at];
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        match read(rest, &mut arguments) {
            Some((spec, conversion, after)) => {
                let written = &rest[..rest.len() - after.len()];
                rest = after;
                match convert(&spec, conversion, &mut arguments, &text)? {
                    Some(one) => out += &one,
                    None => out += &format!("%{written}"),
                }
            }
            None => out.push('%'),
        }
    }
    out += rest;
    Ok((out, arguments.count))
}

/// The text of one conversion; `None` if it does not exist or there is no argument left.
fn convert<V: Fn(u64, u64) -> Option<u64>>(
    spec: &Spec,
    conversion: char,
    arguments: &mut Arguments<V>,
    text: impl Fn(u64) -> Option<String>,
) -> Result<Option<String>, u64> {
    let integer = "diuxXoc".contains(conversion);
    if !integer && !"aAeEfFgGpsn".contains(conversion) {
        return Ok(None);
    }
    let long = !integer || (spec.size == Size::Long && conversion != 'c');
    let Some(bits) = arguments.next(if long { 8 } else { 4 }) else { return Ok(None) };
    let (unsigned, signed) = match spec.size {
        Size::Long => (bits, bits.cast_signed()),
        Size::Int => (u64::from(bits as u32), i64::from(bits as i32)),
        Size::Short => (u64::from(bits as u16), i64::from(bits as i16)),
        Size::Byte => (u64::from(bits as u8), i64::from(bits as i8)),
    };
    Ok(Some(match conversion {
        'd' | 'i' => number(spec, sign(spec, signed < 0), signed.unsigned_abs().to_string()),
        'u' => number(spec, "", unsigned.to_string()),
        'x' => number(spec, prefix(spec, "0x", unsigned), format!("{unsigned:x}")),
        'X' => number(spec, prefix(spec, "0X", unsigned), format!("{unsigned:X}")),
        'o' => octal(spec, unsigned),
        'p' if bits == 0 => padded(spec, "", "(nil)".to_owned(), false),
        'p' => padded(spec, "", format!("0x{bits:x}"), false),
        'c' => padded(spec, "", char::from(bits as u8).to_string(), false),
        's' => {
            let text = if bits == 0 { Some("(null)".to_owned()) } else { text(bits) };
            let most = spec.precision.unwrap_or(usize::MAX);
            padded(spec, "", text.ok_or(bits)?.chars().take(most).collect(), false)
        }
        // C would store how much was printed; a device does not.
        'n' => String::new(),
        conversion => float(spec, conversion, f64::from_bits(bits)),
    }))
}

/// A conversion's parts, its letter, and the rest of the text; `None` if the text ends first.
fn read<'t, V: Fn(u64, u64) -> Option<u64>>(
    text: &'t str,
    arguments: &mut Arguments<V>,
) -> Option<(Spec, char, &'t str)> {
    let mut spec = Spec::default();
    let mut rest = text;
    // Without a letter at its end it is not a conversion, and takes no argument.
    text.trim_start_matches(|c: char| "-+ #0123456789.*hljztL".contains(c)).chars().next()?;
    let is_flag = |c: char| "-+ #0".contains(c);
    while let Some(flag) = rest.chars().next().filter(|&c| is_flag(c)) {
        match flag {
            '-' => spec.left = true,
            '+' => spec.plus = true,
            ' ' => spec.space = true,
            '#' => spec.alternate = true,
            _ => spec.zero = true,
        }
        rest = &rest[1..];
    }
    let width = digits(&mut rest, arguments);
    spec.left |= width < 0;
    spec.width = width.unsigned_abs() as usize;
    if let Some(after) = rest.strip_prefix('.') {
        rest = after;
        // A negative precision is none.
        spec.precision = usize::try_from(digits(&mut rest, arguments)).ok();
    }
    while let Some(letter) = rest.chars().next().filter(|&c| "hljztL".contains(c)) {
        spec.size = match (letter, spec.size) {
            ('h', Size::Short) => Size::Byte,
            ('h', _) => Size::Short,
            _ => Size::Long,
        };
        rest = &rest[1..];
    }
    let conversion = rest.chars().next()?;
    Some((spec, conversion, &rest[conversion.len_utf8()..]))
}

/// The number at the start of `rest`, or the argument that `*` stands for; 0 if there is neither.
fn digits<V: Fn(u64, u64) -> Option<u64>>(rest: &mut &str, arguments: &mut Arguments<V>) -> i32 {
    if let Some(after) = rest.strip_prefix('*') {
        *rest = after;
        let limit = i32::from(u16::MAX);
        return arguments.next_int().unwrap_or(0).clamp(-limit, limit);
    }
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let number = rest[..end].parse::<u16>().map_or(0, i32::from);
    *rest = &rest[end..];
    number
}

fn sign(spec: &Spec, negative: bool) -> &'static str {
    match (negative, spec.plus, spec.space) {
        (true, _, _) => "-",
        (false, true, _) => "+",
        (false, false, true) => " ",
        (false, false, false) => "",
    }
}

/// The prefix of hexadecimal digits by `#`; 0 has none.
fn prefix(spec: &Spec, of_base: &'static str, bits: u64) -> &'static str {
    if spec.alternate && bits != 0 { of_base } else { "" }
}

/// `#` makes sure that the first digit is 0.
fn octal(spec: &Spec, bits: u64) -> String {
    let mut digits = format!("{bits:o}");
    if spec.alternate && bits != 0 && spec.precision.is_none_or(|least| least <= digits.len()) {
        digits.insert(0, '0');
    }
    if spec.alternate && bits == 0 {
        return padded(spec, "", "0".repeat(spec.precision.unwrap_or(1).max(1)), spec.zero);
    }
    number(spec, "", digits)
}

/// A whole number of these digits, after its sign or the prefix of its base.
fn number(spec: &Spec, before: &str, digits: String) -> String {
    let least = spec.precision.unwrap_or(1);
    let digits = if least == 0 && digits == "0" { String::new() } else { digits };
    let digits = format!("{}{digits}", "0".repeat(least.saturating_sub(digits.len())));
    padded(spec, before, digits, spec.zero && spec.precision.is_none())
}

fn padded(spec: &Spec, sign: &str, body: String, zero: bool) -> String {
    let missing = spec.width.saturating_sub(sign.len() + body.chars().count());
    match (spec.left, zero) {
        (true, _) => format!("{sign}{body}{}", " ".repeat(missing)),
        (false, true) => format!("{sign}{}{body}", "0".repeat(missing)),
        (false, false) => format!("{}{sign}{body}", " ".repeat(missing)),
    }
}

fn float(spec: &Spec, conversion: char, value: f64) -> String {
    let upper = conversion.is_ascii_uppercase();
    let size = value.abs();
    let kind = conversion.to_ascii_lowercase();
    let body = match kind {
        _ if size.is_nan() => "nan".to_owned(),
        _ if size.is_infinite() => "inf".to_owned(),
        'a' => hexadecimal(size, spec.precision, spec.alternate),
        'f' => pointed(format!("{size:.*}", spec.precision.unwrap_or(6)), spec.alternate),
        'e' => scientific(size, spec.precision.unwrap_or(6), spec.alternate),
        _ => shorter(size, spec.precision.unwrap_or(6).max(1), spec.alternate),
    };
    let negative = value.is_sign_negative() && !value.is_nan();
    let before = format!(
        "{}{}",
        sign(spec, negative),
        if kind == 'a' && size.is_finite() { "0x" } else { "" }
    );
    let cased = |text: String| if upper { text.to_uppercase() } else { text };
    padded(spec, &cased(before), cased(body), spec.zero && size.is_finite())
}

/// The digits with a point, which `#` demands even at their end.
fn pointed(digits: String, demanded: bool) -> String {
    if demanded && !digits.contains('.') { digits + "." } else { digits }
}

/// `%a` without its `0x`: `1.8p+0`.
fn hexadecimal(size: f64, precision: Option<usize>, alternate: bool) -> String {
    let bits = size.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    let (first, exponent) = match bits >> 52 {
        0 if fraction == 0 => (0, 0),
        0 => (0, -1022),
        biased => (1, biased as i64 - 1023),
    };
    let mut digits = first << 52 | fraction;
    let mut shown = 13;
    if let Some(precision) = precision.filter(|precision| *precision < 13) {
        // To nearest, ties to even.
        let dropped = 4 * (13 - precision);
        let (half, odd) = (1 << (dropped - 1), digits >> dropped & 1);
        digits = (digits + half - 1 + odd) >> dropped;
        shown = precision;
    }
    let whole = digits >> (4 * shown);
    let fraction = digits & ((1 << (4 * shown)) - 1);
    let mut fraction = if shown == 0 { String::new() } else { format!("{fraction:0shown$x}") };
    match precision {
        None => fraction.truncate(fraction.trim_end_matches('0').len()),
        Some(precision) => fraction += &"0".repeat(precision - shown),
    }
    let point = if fraction.is_empty() && !alternate { "" } else { "." };
    format!("{whole:x}{point}{fraction}p{exponent:+}")
}

/// `1.500000e+00`
fn scientific(size: f64, precision: usize, alternate: bool) -> String {
    let text = format!("{size:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    let digits = pointed(digits.to_owned(), alternate);
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

/// `%g`: so many digits, as a plain number where its exponent is small.
fn shorter(size: f64, digits: usize, keep_zeros: bool) -> String {
    let text = scientific(size, digits - 1, keep_zeros);
    let (body, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let at: i32 = exponent.parse().unwrap_or(0);
    let strip = |body: &str| match body.contains('.') && !keep_zeros {
        true => body.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => body.to_owned(),
    };
    if at < -4 || at >= digits as i32 {
        return format!("{}e{exponent}", strip(body));
    }
    let decimals = usize::try_from(digits as i32 - 1 - at).unwrap_or(0);
    pointed(strip(&format!("{size:.decimals$}")), keep_zeros)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn format_values(format: &str, values: &[u64]) -> String {
        let value = |at: u64, _| values.get((at / 8) as usize).copied();
        formatted(format, value, |_| Some("text".to_owned())).unwrap().0
    }

    #[test]
    fn numbers_are_formatted_as_in_c() {
        let x = |value: f64| [value.to_bits()];
        for (format, value, expected) in [
            ("%g", 1.5, "1.5"),
            ("%g", 0.0, "0"),
            ("%g", 1e-7, "1e-07"),
            ("%g", 1234567.0, "1.23457e+06"),
            ("%g", 100000.0, "100000"),
            ("%g", 0.0001, "0.0001"),
            ("%f", -2.5, "-2.500000"),
            ("%.2f", 2.005, "2.00"),
            ("%e", 1.5, "1.500000e+00"),
            ("%8.1f|", 2.25, "     2.2|"),
            ("%-6g|", 1.5, "1.5   |"),
            ("%06.1f", -1.5, "-001.5"),
            ("%G", f64::INFINITY, "INF"),
            ("%g", -f64::NAN, "nan"),
        ] {
            assert_eq!(format_values(format, &x(value)), expected, "{format} of {value}");
        }
        assert_eq!(format_values("%lld %llu", &[u64::MAX, 7]), "-1 7");
        assert_eq!(format_values("%5lld|%-5lld|%05lld", &[42, 42, 42]), "   42|42   |00042");
        assert_eq!(format_values("%llx %#llX %#llo %#llx", &[255, 255, 8, 0]), "ff 0XFF 010 0");
        assert_eq!(format_values("%#06llx|%-#6llx|", &[255, 10]), "0x00ff|0xa   |");
        assert_eq!(format_values("100 %% of %s", &[1]), "100 % of text");
    }

    #[test]
    fn narrow_arguments_are_aligned_to_their_size() {
        let bytes: Vec<u8> = [1_u32.to_le_bytes(), [0; 4]]
            .concat()
            .into_iter()
            .chain(2.5_f64.to_le_bytes())
            .chain((-3_i32).to_le_bytes())
            .collect();
        let value = |at: u64, size: u64| {
            let range = at as usize..(at + size) as usize;
            Some(bytes.get(range)?.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte)))
        };
        let printed = formatted("%u %g %d", value, |_| None);
        assert_eq!(printed, Ok(("1 2.5 -3".to_owned(), 3)));
        let printed = formatted("%u %g %d %d", value, |_| None);
        assert_eq!(printed, Ok(("1 2.5 -3 %d".to_owned(), 3)));
        assert_eq!(formatted("%s", |_, _| Some(7), |_| None), Err(7));
    }

    #[test]
    fn unknown_conversions_are_printed_verbatim() {
        for (format, expected) in [
            ("%y", "%y"),
            ("%", "%"),
            ("100%", "100%"),
            ("%5", "%5"),
            ("[%-3y|%lld]", "[%-3y|5]"),
            ("[%n]", "[]"),
        ] {
            assert_eq!(format_values(format, &[5, 6]), expected, "{format}");
        }
        let all = "%lld,".repeat(34);
        let values: Vec<u64> = (1..=34).collect();
        assert!(format_values(&all, &values).ends_with(",31,32,%lld,%lld,"));
    }

    #[test]
    fn widths_sizes_and_flags_are_those_of_c() {
        // Expected: glibc.
        for (format, values, expected) in [
            ("%*lld|", vec![4, 65], "  65|"),
            ("%-*lld|", vec![4, 65], "65  |"),
            ("%*lld|", vec![u64::from(-4_i32 as u32), 65], "65  |"),
            ("%.*f", vec![2, 1.5_f64.to_bits()], "1.50"),
            ("%hhd %hd %hu", vec![0x1ff, 0x1_8000, 0xf_ffff], "-1 -32768 65535"),
            ("%.0d|%5.3d|%+.2d", vec![0, 7, 7], "|  007|+07"),
            ("%#o %#.3o %#o", vec![8, 8, 0], "010 010 0"),
            ("%p %10p|", vec![0, 16], "(nil)       0x10|"),
            ("%s", vec![0], "(null)"),
            ("%a", vec![1.5_f64.to_bits()], "0x1.8p+0"),
            (
                "%A %.0a",
                vec![(-0.1_f64).to_bits(), 1.5_f64.to_bits()],
                "-0X1.999999999999AP-4 0x2p+0",
            ),
            ("%a %.3a", vec![0, 1.0_f64.to_bits()], "0x0p+0 0x1.000p+0"),
            ("%012.1a|%a", vec![2.5_f64.to_bits(), 1], "0x00001.4p+1|0x0.0000000000001p-1022"),
            ("%#.0f %#.0e %#g", vec![1_f64.to_bits(); 3], "1. 1.e+00 1.00000"),
        ] {
            let next = Cell::new(0);
            let value = |_, _| values.get(next.replace(next.get() + 1)).copied();
            let printed = formatted(format, value, |_| None).unwrap().0;
            assert_eq!(printed, expected, "{format}");
        }
    }
}
