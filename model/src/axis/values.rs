//! The values of an axis: a list, or a range with its step or factor.
//!
//! Input: the text after the `=`. Output: every value with its place. Both ends of a range
//! belong to it, written `64..=1024` as in Rust or `64..1024`, and a range that never ends, never
//! reaches its end or has too many values is refused.

use std::ops::Range;

use super::literal::{integer, value};
use super::value::AxisValue;
use crate::text::{Cursor, ParseError};

/// The most values one axis may have.
pub const MAX_VALUES: usize = 1 << 20;

/// A value and its position in the text.
type Spanned = (AxisValue, Range<usize>);

impl TryFrom<String> for AxisValue {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        let mut cursor = Cursor::new(&text);
        let value = value(&mut cursor)?;
        expect_end(&mut cursor)?;
        Ok(value)
    }
}

/// The values written in `text`, with their places.
///
/// # Errors
/// The place that does not follow the grammar.
pub(super) fn parse(text: &str) -> Result<Vec<Spanned>, ParseError> {
    let mut cursor = Cursor::new(text);
    if cursor.at_end() {
        return Err(ParseError::new("expected values", cursor.position()..cursor.position())
            .with_help("write a range such as 64..=1024 or a list such as 64,96,128"));
    }
    let bracketed = cursor.eat("[");
    let (first, first_span) = spanned_value(&mut cursor)?;
    let mut list = vec![(first, first_span.clone())];
    if cursor.eat("..") {
        list = range(&mut cursor, &list[0].0, first_span.start)?;
    } else {
        while cursor.eat(",") {
            if bracketed && cursor.rest().trim_start().starts_with(']') {
                break;
            }
            list.push(spanned_value(&mut cursor)?);
        }
    }
    if bracketed && !cursor.eat("]") {
        return Err(ParseError::new("expected `,` or `]`", cursor.next_span()));
    }
    expect_end(&mut cursor)?;
    Ok(list)
}

/// Refuses whatever follows the values.
pub(super) fn expect_end(cursor: &mut Cursor<'_>) -> Result<(), ParseError> {
    if cursor.at_end() {
        return Ok(());
    }
    Err(ParseError::new(
        format!("unexpected `{}` after the values", cursor.rest().trim_end()),
        cursor.next_span(),
    )
    .with_help("ranges are 64..=1024, 64..=1024 step 32 or 64..=1024 * 4; lists are 64,96,128"))
}

fn spanned_value(cursor: &mut Cursor<'_>) -> Result<Spanned, ParseError> {
    cursor.skip_space();
    let start = cursor.position();
    let value = value(cursor)?;
    Ok((value, start..cursor.position()))
}

fn range(
    cursor: &mut Cursor<'_>,
    first: &AxisValue,
    start: usize,
) -> Result<Vec<Spanned>, ParseError> {
    // The end belongs to a range of an axis either way.
    cursor.eat("=");
    let (last, _) = spanned_value(cursor)?;
    let whole = |cursor: &Cursor<'_>| start..cursor.position();
    let (&AxisValue::Int(first), &AxisValue::Int(last)) = (first, &last) else {
        return Err(ParseError::new("a range needs whole numbers at both ends", whole(cursor))
            .with_help("list extents and words one by one: 16x16,32x8"));
    };
    let mut step = None;
    let mut factor = 2;
    if cursor.eat_word("step") {
        step = Some(integer(cursor)?);
    } else if cursor.eat("*") {
        factor = integer(cursor)?;
    }
    let span = whole(cursor);
    let fail =
        |message: String, help: String| Err(ParseError::new(message, span.clone()).with_help(help));
    if last < first {
        return fail(
            format!("the range {first}..{last} is empty: it runs downwards"),
            format!("write {last}..={first}"),
        );
    }
    if step == Some(0) {
        return fail("a step of 0 never ends".into(), "give a step of at least 1".into());
    }
    if step.is_none() && factor < 2 {
        return fail(
            format!("a factor of {factor} never ends"),
            "give a factor of at least 2".into(),
        );
    }
    if step.is_none() && first == 0 {
        return fail(
            format!("0 times {factor} stays 0, so the range never reaches {last}"),
            format!("start at 1, or write 0..={last} step N"),
        );
    }
    between((first, last), (step, factor), &span)
}

/// The values from `first` to `last`, by a step or else by a factor.
fn between(
    (first, last): (u64, u64),
    (step, factor): (Option<u64>, u64),
    span: &Range<usize>,
) -> Result<Vec<Spanned>, ParseError> {
    let fail =
        |message: String, help: String| Err(ParseError::new(message, span.clone()).with_help(help));
    let mut out = Vec::new();
    let mut value = Some(first);
    while let Some(v) = value.filter(|&v| v <= last) {
        if out.len() == MAX_VALUES {
            return fail(
                format!("the range has more than {MAX_VALUES} values"),
                "widen the step".into(),
            );
        }
        out.push((AxisValue::Int(v), span.clone()));
        value = step.map_or_else(|| v.checked_mul(factor), |s| v.checked_add(s));
    }
    match out.last() {
        Some((AxisValue::Int(end), _)) if *end == last => Ok(out),
        Some((end, _)) => fail(
            format!("the range never reaches its end {last}: the last value below it is {end}"),
            format!("both ends belong to a range: end it at {end}, or list the values"),
        ),
        None => fail("the range is empty".into(), "give at least one value".into()),
    }
}
