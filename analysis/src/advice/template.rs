//! Texts with values: `{share:1}% of {wavefronts}`.
//!
//! Input: a text with names in braces, each with a number of decimals or without. Output: the text
//! with the values in their places, with thousands separators. `{{` and `}}` are braces.

use std::ops::Range;

use gpuprof_model::ParseError;
use gpuprof_model::quantity::grouped;

/// A parsed text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    text: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Value { name: String, decimals: Option<usize> },
}

/// The most decimals of a value.
const MOST_DECIMALS: usize = 6;

impl Template {
    /// Parses a text.
    ///
    /// # Errors
    /// A brace that is not closed, or something else than a name and decimals in it.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            let rest = &text[at + c.len_utf8()..];
            match c {
                '{' | '}' if rest.starts_with(c) => {
                    plain.push(c);
                    at += 2;
                }
                '{' => {
                    let Some(length) = rest.find('}') else {
                        return Err(ParseError::new("the brace is not closed", at..at + 1));
                    };
                    if !plain.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut plain)));
                    }
                    parts.push(value(&rest[..length], at + 1..at + 1 + length)?);
                    at += length + 2;
                }
                '}' => {
                    let error = ParseError::new("there is no open brace", at..at + 1);
                    return Err(error.with_help("a brace is written twice: }}"));
                }
                other => {
                    plain.push(other);
                    at += other.len_utf8();
                }
            }
        }
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Self { text: text.to_owned(), parts })
    }

    /// The text that it was parsed from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names in it.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Value { name, .. } => Some(name.as_str()),
        })
    }

    /// The text with values; none if one is missing or no finite number.
    pub fn filled(&self, value: impl Fn(&str) -> Option<f64>) -> Option<String> {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Value { name, decimals } => {
                    let value = value(name).filter(|value| value.is_finite())?;
                    out.push_str(&number(value, *decimals));
                }
            }
        }
        Some(out)
    }
}

fn value(text: &str, place: Range<usize>) -> Result<Part, ParseError> {
    let (name, decimals) = match text.split_once(':') {
        Some((name, decimals)) => (name, Some(decimals)),
        None => (text, None),
    };
    let named = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let help = "write {name}, or {name:1} for one decimal";
    if name.is_empty() || !name.chars().all(named) {
        return Err(ParseError::new("expected a name of the rule", place).with_help(help));
    }
    let decimals = decimals.map(|text| match text.parse::<usize>() {
        Ok(decimals) if decimals <= MOST_DECIMALS => Ok(decimals),
        _ => Err(ParseError::new("expected decimals, 0 to 6", place.clone()).with_help(help)),
    });
    Ok(Part::Value { name: name.to_owned(), decimals: decimals.transpose()? })
}

/// `value` with thousands separators; by itself whole, or with three significant digits.
pub(super) fn number(value: f64, decimals: Option<usize>) -> String {
    let decimals = decimals.unwrap_or_else(|| match value.abs() {
        _ if value.fract() == 0.0 => 0,
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    });
    grouped(value, decimals)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> Option<String> {
        let value = |name: &str| match name {
            "share" => Some(12.345),
            "many" => Some(1_048_576.0),
            "undefined" => Some(f64::NAN),
            _ => None,
        };
        Template::parse(text).unwrap().filled(value)
    }

    #[test]
    fn placeholders_are_replaced_by_values() {
        let text = filled("{share:1}% of {many} {{sectors}}, {share} of {many:2}");
        assert_eq!(text.unwrap(), "12.3% of 1,048,576 {sectors}, 12.3 of 1,048,576.00");
        assert_eq!(filled("nothing").unwrap(), "nothing");
        assert_eq!((filled("{gone}"), filled("{undefined}")), (None, None));
    }

    #[test]
    fn malformed_templates_are_refused_at_their_position() {
        let place = |text: &str| Template::parse(text).unwrap_err().span;
        assert_eq!(place("a {b"), 2..3);
        assert_eq!(place("a} {b"), 1..2);
        assert_eq!(place("µ {b c}"), 4..7);
        assert_eq!(place("{a:9}"), 1..4);
        assert_eq!(place("{}"), 1..1);
    }
}
