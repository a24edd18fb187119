//! Axes: named launch parameters with their values, and the grammar they are written in.
//!
//! Comes in: `64..1024`, `64..1024 step 32`, `64..1024 * 4`, `[64, 96]`, `64,96`, `1K`, `1 << 20`,
//! `16x16,32x8`, `f32,f16`. Goes out: an [`Axis`] whose values are all of one [`AxisKind`], not
//! empty and without duplicates. Both ends of a range belong to it; an end that the steps never
//! reach is an error, so nothing is rounded behind the user's back.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::text::{Cursor, ParseError, is_name_char};

/// The most values one axis may have.
pub const MAX_VALUES: usize = 1 << 20;

/// Axes that are launch parameters of CUDA itself; every other name is the user's own.
pub const LAUNCH_AXES: [&str; 4] = ["block", "grid", "shared", "cluster"];

/// One value of an axis. Its serde form is its text (`"64"`, `"16x16x1"`, `"f32"`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub enum AxisValue {
    /// A whole number.
    Int(u64),
    /// Extents in x, y and z.
    Dims([u32; 3]),
    /// A word, such as a data type.
    Word(String),
}

impl AxisValue {
    /// What kind of value this is.
    pub fn kind(&self) -> AxisKind {
        match self {
            Self::Int(_) => AxisKind::Int,
            Self::Dims(_) => AxisKind::Dims,
            Self::Word(_) => AxisKind::Word,
        }
    }
}

impl fmt::Display for AxisValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::Dims([x, y, 1]) => write!(f, "{x}x{y}"),
            Self::Dims([x, y, z]) => write!(f, "{x}x{y}x{z}"),
            Self::Word(word) => f.write_str(word),
        }
    }
}

impl From<AxisValue> for String {
    fn from(value: AxisValue) -> Self {
        value.to_string()
    }
}

impl TryFrom<String> for AxisValue {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        let mut cursor = Cursor::new(&text);
        let value = value(&mut cursor)?;
        expect_end(&mut cursor)?;
        Ok(value)
    }
}

/// The kind that all values of one axis share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AxisKind {
    /// Whole numbers.
    Int,
    /// Two- or three-dimensional extents.
    Dims,
    /// Words.
    Word,
}

impl fmt::Display for AxisKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Int => "whole numbers",
            Self::Dims => "extents such as 16x16",
            Self::Word => "words",
        })
    }
}

/// One named launch parameter with its values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Axis {
    /// The axis name: `block`, `grid`, `shared`, `cluster`, or the user's own.
    pub name: String,
    /// The values, in the order written, all of one kind.
    pub values: Vec<AxisValue>,
}

impl Axis {
    /// Parses `NAME=VALUES`, the form of the command line.
    ///
    /// # Errors
    /// The place in `text` that does not follow the grammar.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut cursor = Cursor::new(text);
        let (name, span) = cursor.take_while(is_name_char);
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(ParseError::new("expected an axis name", span)
                .with_help("an axis is written NAME=VALUES, such as block=64..1024"));
        }
        if !cursor.eat("=") {
            return Err(ParseError::new(
                format!("expected `=` and the values of axis `{name}`"),
                cursor.next_span(),
            )
            .with_help(format!("write {name}=64..1024 or {name}=64,96,128")));
        }
        let start = cursor.position();
        Self::from_values_text(name, &text[start..]).map_err(|e| e.shifted(start))
    }

    /// Parses the values of the axis `name` from `text`; spans are positions in `text`.
    ///
    /// # Errors
    /// The place in `text` that does not follow the grammar, a value that is out of range for the
    /// launch parameter `name`, values of different kinds, or a value that is there twice.
    pub fn from_values_text(name: &str, text: &str) -> Result<Self, ParseError> {
        Self::checked(name, text, false)
    }

    /// As [`Axis::from_values_text`] for an axis of a zip, where a value may be there twice.
    pub(crate) fn from_repeated_values_text(name: &str, text: &str) -> Result<Self, ParseError> {
        Self::checked(name, text, true)
    }

    fn checked(name: &str, text: &str, repeated: bool) -> Result<Self, ParseError> {
        let values = values(text)?;
        let all = text.len() - text.trim_start().len()..text.trim_end().len();
        let kind = values[0].0.kind();
        let mut seen = HashSet::with_capacity(values.len());
        for (value, span) in &values {
            if value.kind() != kind {
                return Err(ParseError::new(
                    format!("axis `{name}` mixes {kind} with {}", value.kind()),
                    span.clone(),
                )
                .with_help(
                    "give every value of an axis the same kind; 256 is 256x1 as an extent",
                ));
            }
            if !seen.insert(value) && !repeated {
                return Err(ParseError::new(
                    format!("axis `{name}` has the value {value} twice"),
                    span.clone(),
                ));
            }
            if let Some(problem) = out_of_range(name, value) {
                let at = if span.is_empty() { all.clone() } else { span.clone() };
                return Err(ParseError::new(problem, at));
            }
        }
        Ok(Self { name: name.to_owned(), values: values.into_iter().map(|(v, _)| v).collect() })
    }

    /// The kind of the axis' values.
    pub fn kind(&self) -> AxisKind {
        self.values.first().map_or(AxisKind::Int, AxisValue::kind)
    }
}

pub(crate) fn out_of_range(axis: &str, value: &AxisValue) -> Option<String> {
    let launch = LAUNCH_AXES.contains(&axis);
    match value {
        AxisValue::Int(0) if launch && axis != "shared" => {
            Some(format!("axis `{axis}` cannot be 0: a launch needs at least 1"))
        }
        AxisValue::Dims(dims) if dims.contains(&0) => {
            Some(format!("axis `{axis}` has the extent {value}: every extent must be at least 1"))
        }
        AxisValue::Int(n) if launch && u32::try_from(*n).is_err() => Some(format!(
            "axis `{axis}` has the value {n}, above the 32 bits of a launch parameter"
        )),
        AxisValue::Word(word) if launch => {
            Some(format!("axis `{axis}` is a launch parameter and cannot be the word `{word}`"))
        }
        _ => None,
    }
}

type Spanned = (AxisValue, Range<usize>);

fn values(text: &str) -> Result<Vec<Spanned>, ParseError> {
    let mut cursor = Cursor::new(text);
    if cursor.at_end() {
        return Err(ParseError::new("expected values", cursor.position()..cursor.position())
            .with_help("write a range such as 64..1024 or a list such as 64,96,128"));
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

fn expect_end(cursor: &mut Cursor<'_>) -> Result<(), ParseError> {
    if cursor.at_end() {
        return Ok(());
    }
    Err(ParseError::new(
        format!("unexpected `{}` after the values", cursor.rest().trim_end()),
        cursor.next_span(),
    )
    .with_help("ranges are 64..1024, 64..1024 step 32 or 64..1024 * 4; lists are 64,96,128"))
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
    let equals = cursor.position()..cursor.position() + 1;
    if cursor.eat("=") {
        return Err(ParseError::new("unexpected `=` in a range", equals)
            .with_help("both ends of a range belong to it: write 64..1024"));
    }
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
            format!("write {last}..{first}"),
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
            format!("start at 1, or write 0..{last} step N"),
        );
    }
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

/// `64`, `1K`, `1 << 20`, `16x16`, `16x8x2`, `f32`.
fn value(cursor: &mut Cursor<'_>) -> Result<AxisValue, ParseError> {
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

fn integer(cursor: &mut Cursor<'_>) -> Result<u64, ParseError> {
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

fn scaled(token: &str, span: &Range<usize>) -> Result<u64, ParseError> {
    let (digits, shift) = match token.as_bytes().last() {
        Some(b'K' | b'k') => (&token[..token.len() - 1], 10),
        Some(b'M') => (&token[..token.len() - 1], 20),
        Some(b'G') => (&token[..token.len() - 1], 30),
        _ => (token, 0),
    };
    let digits: String = digits.chars().filter(|&c| c != '_').collect();
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(ParseError::new(format!("`{token}` is not a whole number"), span.clone())
            .with_help("numbers are decimal, with the binary suffixes K, M and G: 64, 1K, 16M"));
    }
    digits
        .parse::<u64>()
        .ok()
        .filter(|n| n.leading_zeros() >= shift)
        .map(|n| n << shift)
        .ok_or_else(|| ParseError::new(format!("`{token}` does not fit in 64 bits"), span.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ints(text: &str) -> Vec<u64> {
        Axis::from_values_text("n", text)
            .unwrap()
            .values
            .into_iter()
            .map(|v| match v {
                AxisValue::Int(n) => n,
                other => panic!("{other} is no number"),
            })
            .collect()
    }

    fn error(text: &str) -> String {
        Axis::parse(text).unwrap_err().render("--series", text)
    }

    #[test]
    fn a_range_doubles_and_holds_both_ends() {
        assert_eq!(ints("64..1024"), [64, 128, 256, 512, 1024]);
        assert_eq!(ints("64..64"), [64]);
        assert_eq!(ints("64..1024 * 4"), [64, 256, 1024]);
        assert_eq!(ints("64..160 step 32"), [64, 96, 128, 160]);
        assert_eq!(ints("[1 << 20, 1<<24]"), [1 << 20, 1 << 24]);
        assert_eq!(ints("1K,16M,1G,1_000"), [1 << 10, 16 << 20, 1 << 30, 1000]);
        assert_eq!(ints("[64, 96,]"), [64, 96]);
    }

    #[test]
    fn extents_and_words_are_values_too() {
        let axis = Axis::parse("block=16x16, 32x8x2").unwrap();
        assert_eq!(axis.values, [AxisValue::Dims([16, 16, 1]), AxisValue::Dims([32, 8, 2])]);
        assert_eq!(axis.values[1].to_string(), "32x8x2");
        assert_eq!(Axis::parse("dtype=f32,f16").unwrap().kind(), AxisKind::Word);
    }

    #[test]
    fn a_descending_range_says_how_to_turn_it_round() {
        assert_eq!(
            error("block=1024..64"),
            "the range 1024..64 is empty: it runs downwards\n  --> --series\n   |\n   | block=1024..64\n   \
             |       ^^^^^^^^\n   = help: write 64..1024"
        );
    }

    #[test]
    fn a_range_that_misses_its_end_is_refused() {
        assert!(error("block=64..1000").contains("the last value below it is 512"));
        assert!(error("n=1..10 step 4").contains("the last value below it is 9"));
    }

    #[test]
    fn zero_is_refused_where_a_launch_cannot_have_it() {
        assert!(error("block=0,64").contains("`block` cannot be 0"));
        assert!(error("block=0..64").contains("stays 0"));
        assert!(error("block=16x0").contains("every extent must be at least 1"));
        assert_eq!(ints("0..4 step 2"), [0, 2, 4]);
        assert!(Axis::parse("shared=0,1K").is_ok());
    }

    #[test]
    fn mistakes_are_named_at_their_place() {
        for (text, message) in [
            ("block", "expected `=`"),
            ("=64", "expected an axis name"),
            ("block=", "expected values"),
            ("block=64..=128", "unexpected `=`"),
            ("block=64 128", "unexpected `128`"),
            ("block=64,f32", "mixes whole numbers with words"),
            ("block=64,64", "the value 64 twice"),
            ("block=f32", "cannot be the word"),
            ("block=64..128 step 0", "a step of 0"),
            ("block=64..128 * 1", "a factor of 1"),
            ("block=12q", "`12q` is not a whole number"),
            ("n=-5", "cannot be negative"),
            ("n=1 << 64", "does not fit in 64 bits"),
            ("n=99999999999G", "does not fit in 64 bits"),
            ("n=16x16..32x32", "whole numbers at both ends"),
            ("block=5000000000", "above the 32 bits"),
        ] {
            assert!(error(text).contains(message), "{text}: {}", error(text));
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_and_spans_stay_inside(text in "[ -~µ]{0,24}") {
            if let Err(error) = Axis::parse(&text) {
                prop_assert!(error.span.start <= error.span.end && error.span.end <= text.len());
                error.render("x", &text);
            }
        }

        #[test]
        fn values_survive_their_text(values in proptest::collection::hash_set(0_u64..1 << 40, 1..8)) {
            let text = values.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
            let axis = Axis::from_values_text("n", &text).unwrap();
            let json = serde_json::to_string(&axis).unwrap();
            prop_assert_eq!(serde_json::from_str::<Axis>(&json).unwrap(), axis);
        }
    }
}
