//! One value: a number with its suffix or shift, an extent, or a word.
//!
//! Input: a cursor at the value, or the token itself. Output: the value, or the place at which
//! it stops being one. What does not fit in 64 bits is refused, never wrapped.

use std::ops::Range;

use super::value::AxisValue;
use crate::text::{Cursor, ParseError, is_name_char};

/// `64`, `1K`, `1 << 20`, `16x16`, `16x8x2`, `f32`.
pub(super) fn value(cursor: &mut Cursor<'_>) -> Result<AxisValue, ParseError> {
    cursor.skip_space();
    let start = cursor.position();
    let next = cursor.rest().chars().next();
    if matches!(next, Some('-')) {
        return Err(ParseError::new("values cannot be negative", cursor.next_span()));
    }
    if !next.is_some_and(|c| c.is_ascii_digit()) {
        let (word, span) = cursor.take_while(|c| is_name_char(c) || c == '-' || c == ':');
        if word.is_empty() {
            return Err(ParseError::new("expected a value", cursor.next_span()).with_help(
                "a value is a number (64, 1K, 1 << 20), an extent (16x16) or a word (f32)",
            ));
        }
        debug_assert_eq!(span.start, start);
        return Ok(AxisValue::Word(word.to_owned()));
    }
    let (token, span) = cursor.take_while(is_name_char);
    let fraction = cursor.rest().strip_prefix('.').unwrap_or_default();
    let digits = fraction.find(|c| !is_name_char(c)).unwrap_or(fraction.len());
    if fraction.starts_with(|c: char| c.is_ascii_digit()) {
        let whole = span.start..span.end + 1 + digits;
        let number = format!("{token}.{}", &fraction[..digits]);
        return Err(not_whole(&number, whole));
    }
    let base = match literal(token, &span)? {
        AxisValue::Int(base) => base,
        extent => return Ok(extent),
    };
    if !cursor.eat("<<") {
        return Ok(AxisValue::Int(base));
    }
    let shift = integer(cursor)?;
    u32::try_from(shift)
        .ok()
        .filter(|&s| s < 64 && base.leading_zeros() >= s)
        .map(|s| AxisValue::Int(base << s))
        .ok_or_else(|| {
            ParseError::new(
                format!("{base} << {shift} does not fit in 64 bits"),
                start..cursor.position(),
            )
        })
}

/// A whole number.
pub(super) fn integer(cursor: &mut Cursor<'_>) -> Result<u64, ParseError> {
    let (token, span) = cursor.take_while(is_name_char);
    if token.is_empty() {
        return Err(ParseError::new("expected a whole number", cursor.next_span()));
    }
    scaled(token, &span)
}

/// The number or extent that `token`, which starts with a digit, is.
pub(crate) fn literal(token: &str, span: &Range<usize>) -> Result<AxisValue, ParseError> {
    if token.contains('x') {
        return dims(token, span.clone());
    }
    scaled(token, span).map(AxisValue::Int)
}

fn dims(token: &str, span: Range<usize>) -> Result<AxisValue, ParseError> {
    let parts: Vec<&str> = token.split('x').collect();
    let mut out = [1_u32; 3];
    if parts.len() > 3 {
        return Err(ParseError::new(format!("`{token}` has more than three extents"), span));
    }
    for (slot, part) in out.iter_mut().zip(&parts) {
        *slot = part.parse().map_err(|_| {
            ParseError::new(format!("`{token}` is not an extent"), span.clone())
                .with_help("extents are whole numbers joined by x: 16x16 or 8x8x4")
        })?;
    }
    Ok(AxisValue::Dims(out))
}

fn not_whole(token: &str, span: Range<usize>) -> ParseError {
    ParseError::new(format!("`{token}` is not a whole number"), span)
        .with_help("numbers are decimal, with the binary suffixes K, M and G: 64, 1K, 16M")
}

fn scaled(token: &str, span: &Range<usize>) -> Result<u64, ParseError> {
    let (digits, shift) = match token.as_bytes().last() {
        Some(b'K' | b'k') => (&token[..token.len() - 1], 10),
        Some(b'M') => (&token[..token.len() - 1], 20),
        Some(b'G') => (&token[..token.len() - 1], 30),
        _ => (token, 0),
    };
    let digits: String = digits.chars().filter(|&c| c != '_').collect();
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(not_whole(token, span.clone()));
    }
    digits
        .parse::<u64>()
        .ok()
        .filter(|n| n.leading_zeros() >= shift)
        .map(|n| n << shift)
        .ok_or_else(|| ParseError::new(format!("`{token}` does not fit in 64 bits"), span.clone()))
}
