//! The scope of a threshold: `on "DEVICE"`, and `best`, `every` or `where AXIS==VALUE …`.
//!
//! Input: the text before the metric. Output: the substring of a device's name, and a [`Selector`]
//! with possible values of an axis.

use std::ops::Range;

use crate::axis::AxisValue;
use crate::configuration::Configuration;
use crate::space::Space;
use crate::text::{Cursor, ParseError, is_name_char};

/// How many values of an axis a message lists.
const LISTED: usize = 12;

/// How many configurations a selector is compared with.
const EXAMINED: usize = 1 << 20;

/// Which configurations a threshold applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// The configuration with the best value of the metric.
    Best,
    /// Every configuration.
    Every,
    /// Every configuration with these axis values.
    Where(Vec<(String, AxisValue)>),
}

impl Selector {
    /// Whether the selector applies to `configuration`; [`Selector::Best`] applies to all at first.
    pub fn matches(&self, configuration: &Configuration) -> bool {
        match self {
            Self::Best | Self::Every => true,
            Self::Where(pairs) => pairs.iter().all(|(axis, v)| configuration.get(axis) == Some(v)),
        }
    }

    /// Why the selector applies to no configuration of `space`, whose axes it names; none if it
    /// applies to one, or if `space` has too many to look at each.
    pub fn excluded_by(&self, space: &Space) -> Option<String> {
        let Self::Where(pairs) = self else { return None };
        let listed = |name: &str| space.axes.iter().find(|axis| axis.name == name);
        for (name, value) in pairs {
            let Some(axis) = listed(name).filter(|axis| !axis.values.contains(value)) else {
                continue;
            };
            let values: Vec<String> = axis.values.iter().map(ToString::to_string).collect();
            let (shown, rest) = values.split_at(values.len().min(LISTED));
            let more = if rest.is_empty() { "" } else { ", …" };
            let shown = shown.join(", ");
            return Some(format!("axis `{name}` has no value {value}: it has {shown}{more}"));
        }
        let mut points = space.points();
        let applies = |point: Result<Configuration, _>| point.is_ok_and(|it| self.matches(&it));
        let none = !points.by_ref().take(EXAMINED).any(applies) && points.next().is_none();
        none.then(|| "no configuration has these values together".to_owned())
    }

    /// Whether one configuration, the best, decides.
    pub fn is_best(&self) -> bool {
        match self {
            Self::Best => true,
            Self::Every | Self::Where(_) => false,
        }
    }

    /// Whether `other` applies to the same configurations, in whatever order it names their values.
    pub fn means_the_same(&self, other: &Self) -> bool {
        let holds = |all: &[(String, AxisValue)], of: &[(String, AxisValue)]| {
            of.iter().all(|pair| all.contains(pair))
        };
        match (self, other) {
            (Self::Where(ours), Self::Where(theirs)) => holds(ours, theirs) && holds(theirs, ours),
            (Self::Best, Self::Best) | (Self::Every, Self::Every) => true,
            (Self::Best | Self::Every | Self::Where(_), _) => false,
        }
    }
}

/// `on "H200"`, if it comes next.
pub(super) fn device(cursor: &mut Cursor<'_>) -> Result<Option<String>, ParseError> {
    if !cursor.eat_word("on") {
        return Ok(None);
    }
    cursor.skip_space();
    let start = cursor.position();
    let help = "write on \"H200\" METRIC <= LIMIT; the text is a part of the device's name";
    let Some(quote) = ['"', '\''].into_iter().find(|quote| cursor.rest().starts_with(*quote))
    else {
        return Err(ParseError::new("expected a device in quotes after `on`", cursor.next_span())
            .with_help(help));
    };
    let rest = &cursor.rest()[1..];
    let Some(length) = rest.find(quote) else {
        let end = start + 1 + rest.len();
        return Err(ParseError::new("the device has no closing quote", start..end).with_help(help));
    };
    let name = rest[..length].trim();
    if name.is_empty() {
        return Err(
            ParseError::new("the device has no name", start..start + length + 2).with_help(help)
        );
    }
    cursor.advance(length + 2);
    Ok(Some(name.to_owned()))
}

/// `best`, `every` or `where …`; `every` where nothing is said.
pub(super) fn selector(cursor: &mut Cursor<'_>) -> Result<Selector, ParseError> {
    if cursor.eat_word("best") {
        return alone(cursor, Selector::Best);
    }
    if cursor.eat_word("every") {
        return alone(cursor, Selector::Every);
    }
    if !cursor.eat_word("where") {
        return Ok(Selector::Every);
    }
    let mut pairs = Vec::new();
    loop {
        let (axis, span) = cursor.take_while(is_name_char);
        if axis.is_empty() {
            return Err(ParseError::new("expected an axis name after `where`", cursor.next_span())
                .with_help("write where block==256 METRIC >= LIMIT"));
        }
        if !cursor.eat("==") {
            return Err(ParseError::new(
                format!("expected `==` and a value after `{axis}`"),
                cursor.next_span(),
            )
            .with_help(format!("write where {axis}==VALUE METRIC >= LIMIT")));
        }
        let (value, value_span) = value(cursor)?;
        let value =
            AxisValue::try_from(value.to_owned()).map_err(|e| e.shifted(value_span.start))?;
        debug_assert!(span.start <= value_span.start);
        pairs.push((axis.to_owned(), value));
        if !(cursor.eat("&&") || cursor.eat_word("and") || cursor.eat(",")) {
            return alone(cursor, Selector::Where(pairs));
        }
    }
}

/// `selector`, unless another one follows it.
fn alone(cursor: &mut Cursor<'_>, selector: Selector) -> Result<Selector, ParseError> {
    let mut ahead = cursor.clone();
    ahead.skip_space();
    let start = ahead.position();
    match ["best", "every", "where"].into_iter().find(|word| ahead.eat_word(word)) {
        None => Ok(selector),
        Some(word) => {
            Err(ParseError::new("a threshold has one selector", start..start + word.len())
                .with_help("write a threshold for each selector: best, every or where AXIS==VALUE"))
        }
    }
}

/// A value of an axis, as it is or in quotes.
fn value<'t>(cursor: &mut Cursor<'t>) -> Result<(&'t str, Range<usize>), ParseError> {
    cursor.skip_space();
    let Some(quote) = ['"', '\''].into_iter().find(|quote| cursor.rest().starts_with(*quote))
    else {
        return Ok(cursor.take_while(|c| is_name_char(c) || matches!(c, '-' | ':' | '.')));
    };
    let start = cursor.position() + 1;
    let rest = &cursor.rest()[1..];
    let Some(length) = rest.find(quote) else {
        let end = start + rest.len();
        return Err(ParseError::new("the value has no closing quote", start - 1..end));
    };
    cursor.advance(length + 2);
    Ok((&rest[..length], start..start + length))
}
