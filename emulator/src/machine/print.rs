//! C's `printf` on a thread's arguments.
//!
//! Input: the format, and what reads arguments: each lies at a multiple of its own size, as
//! `vprintf` of the device takes them. Output: the text, and how many arguments there were.

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
    long: bool,
}

/// The text of `format`, with arguments from `value(offset, bytes)` and texts from
/// `text(address)`.
///
/// # Errors
/// A conversion that C does not have, or an argument that is not in memory.
pub fn formatted(
    format: &str,
    value: impl Fn(u64, u64) -> Option<u64>,
    text: impl Fn(u64) -> Option<String>,
) -> Result<(String, u32), String> {
    let (mut out, mut offset, mut count) = (String::new(), 0_u64, 0);
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        out += &rest[..at];
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let (spec, conversion, after) =
            read(rest).ok_or_else(|| format!("`%{rest}` is no conversion"))?;
        rest = after;
        let wide = spec.long || "aAeEfFgGps".contains(conversion);
        let bytes = if wide { 8 } else { 4 };
        offset = offset.next_multiple_of(bytes);
        let bits = value(offset, bytes).ok_or("an argument is not in memory")?;
        offset += bytes;
        count += 1;
        let signed = if wide { bits.cast_signed() } else { i64::from(bits as i32) };
        let one = match conversion {
            'd' | 'i' => {
                let digits = signed.unsigned_abs().to_string();
                number(&spec, sign(&spec, signed < 0), digits)
            }
            'u' => number(&spec, "", bits.to_string()),
            'x' => number(&spec, prefix(&spec, "0x", bits), format!("{bits:x}")),
            'X' => number(&spec, prefix(&spec, "0X", bits), format!("{bits:X}")),
            'o' => number(&spec, prefix(&spec, "0", bits), format!("{bits:o}")),
            'p' => padded(&spec, "", format!("0x{bits:x}"), false),
            'c' => padded(&spec, "", char::from(bits as u8).to_string(), false),
            's' => {
                let text = text(bits).ok_or("a text is not in memory")?;
                let most = spec.precision.unwrap_or(usize::MAX);
                padded(&spec, "", text.chars().take(most).collect(), false)
            }
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' => float(&spec, conversion, f64::from_bits(bits)),
            other => return Err(format!("the conversion `%{other}` is not known")),
        };
        out += &one;
    }
    out += rest;
    Ok((out, count))
}

/// A conversion's parts, its letter, and what follows.
fn read(text: &str) -> Option<(Spec, char, &str)> {
    let mut spec = Spec::default();
    let mut rest = text;
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
    let digits = |rest: &mut &str| {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number = rest[..end].parse::<u16>().map_or(0, usize::from);
        *rest = &rest[end..];
        number
    };
    spec.width = digits(&mut rest);
    if let Some(after) = rest.strip_prefix('.') {
        rest = after;
        spec.precision = Some(digits(&mut rest));
    }
    while let Some(letter) = rest.chars().next().filter(|&c| "hljztL".contains(c)) {
        spec.long |= letter != 'h';
        rest = &rest[1..];
    }
    let conversion = rest.chars().next()?;
    Some((spec, conversion, &rest[conversion.len_utf8()..]))
}

fn sign(spec: &Spec, negative: bool) -> &'static str {
    match (negative, spec.plus, spec.space) {
        (true, _, _) => "-",
        (false, true, _) => "+",
        (false, false, true) => " ",
        (false, false, false) => "",
    }
}

/// What `#` puts before digits that are not decimal; before 0, nothing.
fn prefix(spec: &Spec, of_base: &'static str, bits: u64) -> &'static str {
    if spec.alternate && bits != 0 { of_base } else { "" }
}

/// A whole number of these digits, behind its sign or the prefix of its base.
fn number(spec: &Spec, before: &str, digits: String) -> String {
    let least = spec.precision.unwrap_or(1);
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
    let body = match conversion.to_ascii_lowercase() {
        _ if size.is_nan() => "nan".to_owned(),
        _ if size.is_infinite() => "inf".to_owned(),
        'f' => format!("{size:.*}", spec.precision.unwrap_or(6)),
        'e' => scientific(size, spec.precision.unwrap_or(6)),
        _ => shorter(size, spec.precision.unwrap_or(6).max(1), spec.alternate),
    };
    let body = if upper { body.to_uppercase() } else { body };
    let negative = value.is_sign_negative() && !value.is_nan();
    padded(spec, sign(spec, negative), body, spec.zero && size.is_finite())
}

/// `1.500000e+00`
fn scientific(size: f64, precision: usize) -> String {
    let text = format!("{size:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

/// `%g`: so many digits, as a plain number where its exponent is small.
fn shorter(size: f64, digits: usize, keep_zeros: bool) -> String {
    let text = scientific(size, digits - 1);
    let (body, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let at: i32 = exponent.parse().unwrap_or(0);
    let strip = |body: &str| match body.contains('.') && !keep_zeros {
        true => body.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => body.to_owned(),
    };
    if at < -4 || at >= digits as i32 {
        return format!("{}e{exponent}", strip(body));
    }
    let behind = usize::try_from(digits as i32 - 1 - at).unwrap_or(0);
    strip(&format!("{size:.behind$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(format: &str, values: &[u64]) -> String {
        let value = |at: u64, _| values.get((at / 8) as usize).copied();
        let printed = formatted(format, value, |_| Some("text".to_owned()));
        printed.map(|(text, _)| text).unwrap_or_else(|why| why)
    }

    #[test]
    fn numbers_look_as_c_prints_them() {
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
            assert_eq!(told(format, &x(value)), expected, "{format} of {value}");
        }
        assert_eq!(told("%lld %llu", &[u64::MAX, 7]), "-1 7");
        assert_eq!(told("%5lld|%-5lld|%05lld", &[42, 42, 42]), "   42|42   |00042");
        assert_eq!(told("%llx %#llX %#llo %#llx", &[255, 255, 8, 0]), "ff 0XFF 010 0");
        assert_eq!(told("%#06llx|%-#6llx|", &[255, 10]), "0x00ff|0xa   |");
        assert_eq!(told("100 %% of %s", &[0]), "100 % of text");
    }

    #[test]
    fn narrow_arguments_lie_at_multiples_of_their_size() {
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
        assert!(formatted("%u %g %d %d", value, |_| None).is_err());
        assert!(formatted("%s", value, |_| None).is_err());
    }

    #[test]
    fn what_is_no_conversion_is_refused() {
        assert_eq!(told("%y", &[0]), "the conversion `%y` is not known");
        assert_eq!(told("%", &[0]), "`%` is no conversion");
    }
}
