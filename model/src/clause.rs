//! Clauses: the text of a series, one item at a time.
//!
//! Input: one of
//!
//! | clause | meaning |
//! |---|---|
//! | `block = 64..=1024` | an axis with its values |
//! | `const TILE = [8, 16]` | an axis whose values are compiled in, one entry point a value |
//! | `zip(a = 1,2, b = 3,4)` | axes that advance together |
//! | `threads = block * 2` | an axis that follows from others |
//! | `where block * regs <= 64K` | a condition that keeps a configuration |
//!
//! Output: a [`Clause`]. The attribute, `--series` and the configuration file all read this. An
//! axis is derived if its text names another axis; any other text is a list of values.

use std::ops::Range;
use std::slice;

use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::expression::{Expression, Type};
use crate::text::{Cursor, ParseError, is_name_char};

/// An axis with a value derived from other axes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Derived {
    /// Its name.
    pub name: String,
    /// The expression that gives its value.
    pub formula: Expression,
}

/// One item of a series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Clause {
    /// An axis with its values.
    Axis(Axis),
    /// An axis with values that are compiled in.
    Constant(Axis),
    /// Axes that advance together, all with as many values.
    Zip(Vec<Axis>),
    /// An axis that follows from others.
    Derived(Derived),
    /// A condition that keeps a configuration.
    Where(Expression),
}

impl Clause {
    /// Parses a clause of a series with the axes `names`.
    ///
    /// # Errors
    /// The place in `text` that does not follow the grammar.
    pub fn parse(text: &str, names: &[String]) -> Result<Self, ParseError> {
        LexedClause::lex(text)?.parse(names)
    }

    /// The clause `text` with `..=` in each range; none if it has no other range. In an axis both
    /// forms have their end, but Rust's `..` has not.
    pub fn with_ends(text: &str) -> Option<String> {
        let spelt = text.replace("..=", "..").replace("..", "..=");
        (spelt != text).then_some(spelt)
    }
}

/// A clause divided into names and values, with their places in its text.
pub(crate) struct LexedClause<'t> {
    text: &'t str,
    form: Form<'t>,
}

enum Form<'t> {
    Where(Range<usize>),
    Zip(Vec<LexedAxis<'t>>),
    Constant(LexedAxis<'t>),
    /// A list of values, or an expression over other axes.
    Axis(LexedAxis<'t>),
}

/// `NAME = VALUES`.
pub(crate) struct LexedAxis<'t> {
    pub(crate) name: &'t str,
    /// The place of the name.
    pub(crate) span: Range<usize>,
    values: Range<usize>,
}

impl<'t> LexedClause<'t> {
    /// Divides the clause `text`.
    ///
    /// # Errors
    /// The place in `text` that does not follow the grammar.
    pub(crate) fn lex(text: &'t str) -> Result<Self, ParseError> {
        let mut cursor = Cursor::new(text);
        let form = if keyword(&mut cursor, "where") {
            Form::Where(cursor.position()..text.len())
        } else if keyword(&mut cursor, "zip") {
            Form::Zip(zip_parts(&mut cursor)?)
        } else {
            let constant = keyword(&mut cursor, "const");
            let (name, span) = name(&mut cursor)?;
            let axis = LexedAxis { name, span, values: cursor.position()..text.len() };
            if constant { Form::Constant(axis) } else { Form::Axis(axis) }
        };
        Ok(Self { text, form })
    }

    /// The axes that the clause declares.
    pub(crate) fn declared(&self) -> &[LexedAxis<'t>] {
        match &self.form {
            Form::Where(_) => &[],
            Form::Zip(axes) => axes,
            Form::Constant(axis) | Form::Axis(axis) => slice::from_ref(axis),
        }
    }

    /// Parses the values, or the expression, in a series with the axes `names`.
    ///
    /// # Errors
    /// The place in the text that does not follow the grammar.
    pub(crate) fn parse(&self, names: &[String]) -> Result<Clause, ParseError> {
        let expression = |range: &Range<usize>| {
            Expression::parse(&self.text[range.clone()]).map_err(|e| e.shifted(range.start))
        };
        match &self.form {
            Form::Where(range) => expression(range).map(Clause::Where),
            Form::Zip(axes) => zip(axes, self.text).map(Clause::Zip),
            Form::Constant(axis) => self.axis(axis).map(Clause::Constant),
            Form::Axis(axis) if is_derived(&self.text[axis.values.clone()], axis.name, names) => {
                let formula = expression(&axis.values)?;
                Ok(Clause::Derived(Derived { name: axis.name.to_owned(), formula }))
            }
            Form::Axis(axis) => {
                let parsed = self.axis(axis).map(Clause::Axis);
                parsed.map_err(|error| self.unknown_axis(axis, names).unwrap_or(error))
            }
        }
    }

    fn axis(&self, LexedAxis { name, values, .. }: &LexedAxis<'_>) -> Result<Axis, ParseError> {
        Axis::from_values_text(name, &self.text[values.clone()])
            .map_err(|e| e.shifted(values.start))
    }

    /// That text which is no list of values names no axis, if it is an expression: its author meant
    /// one of the axes `names`.
    fn unknown_axis(&self, axis: &LexedAxis<'_>, names: &[String]) -> Option<ParseError> {
        let text = &self.text[axis.values.clone()];
        let formula = Expression::parse(text).ok().filter(|_| !is_list(text))?;
        let others = names.iter().filter(|name| *name != axis.name);
        let types: Vec<(&str, Type)> = others.map(|name| (name.as_str(), Type::Int)).collect();
        let error = formula.check(&types).err()?;
        Some(error.shifted(trimmed(self.text, &axis.values).start))
    }

    /// The start of the expression of a `where` or a derived axis.
    pub(crate) fn expression_start(&self) -> usize {
        match &self.form {
            Form::Where(range) => trimmed(self.text, range).start,
            Form::Constant(axis) | Form::Axis(axis) => trimmed(self.text, &axis.values).start,
            Form::Zip(_) => 0,
        }
    }
}

/// Takes `word` if it begins a clause and is not the name of an axis (`zip = 1,2`).
fn keyword(cursor: &mut Cursor<'_>, word: &str) -> bool {
    let mut ahead = cursor.clone();
    let found = ahead.eat_word(word) && (!ahead.eat("=") || ahead.rest().starts_with('='));
    found && cursor.eat_word(word)
}

fn name<'t>(cursor: &mut Cursor<'t>) -> Result<(&'t str, Range<usize>), ParseError> {
    let (name, span) = cursor.take_while(is_name_char);
    if let Some(letter) =
        cursor.rest().chars().next().filter(|c| !c.is_ascii() && c.is_alphabetic())
    {
        let place = span.end..span.end + letter.len_utf8();
        return Err(ParseError::new(format!("`{letter}` cannot be in an axis name"), place)
            .with_help("the name of an axis has ASCII letters, digits and `_`"));
    }
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(ParseError::new("expected an axis name", span)
            .with_help("an axis is written NAME=VALUES, such as block=64..=1024"));
    }
    if cursor.eat("=") {
        return Ok((name, span));
    }
    Err(ParseError::new(
        format!("expected `=` and the values of axis `{name}`"),
        cursor.next_span(),
    )
    .with_help(format!("write {name}=64..=1024 or {name}=64,96,128")))
}

/// Whether `text` computes from another axis rather than listing values.
fn is_derived(text: &str, own: &str, names: &[String]) -> bool {
    let mut words = text.split(|c: char| !is_name_char(c));
    !is_list(text) && words.any(|word| word != own && names.iter().any(|name| name == word))
}

/// Whether `text` lists values.
fn is_list(text: &str) -> bool {
    text.contains([',', '[']) || text.contains("..")
}

fn zip(parts: &[LexedAxis<'_>], text: &str) -> Result<Vec<Axis>, ParseError> {
    let mut axes: Vec<Axis> = Vec::new();
    for LexedAxis { name, values, .. } in parts {
        let start = values.start;
        let axis = Axis::from_repeated_values_text(name, &text[values.clone()])
            .map_err(|e| e.shifted(start))?;
        if let Some(first) = axes.first()
            && first.values.len() != axis.values.len()
        {
            let (one, other) = (first.values.len(), axis.values.len());
            return Err(ParseError::new(
                format!("zip pairs {one} values of `{}` with {other} of `{name}`", first.name),
                trimmed(text, values),
            )
            .with_help("zipped axes advance together: give them equally many values"));
        }
        axes.push(axis);
    }
    if axes.len() < 2 {
        return Err(ParseError::new("zip takes at least two axes", 0..text.trim_end().len())
            .with_help("write zip(block = 64,128, n = 1K,2K)"));
    }
    let tuples = axes[0].values.len();
    let tuple = |at: usize| axes.iter().map(move |axis| &axis.values[at]);
    let mut seen = std::collections::HashSet::new();
    for at in 0..tuples {
        if !seen.insert(tuple(at).collect::<Vec<_>>()) {
            let values: Vec<String> = tuple(at).map(ToString::to_string).collect();
            let message = format!("zip has ({}) twice", values.join(", "));
            return Err(ParseError::new(message, 0..text.trim_end().len()));
        }
    }
    Ok(axes)
}

/// The axes in `(a = …, b = …)`.
fn zip_parts<'t>(cursor: &mut Cursor<'t>) -> Result<Vec<LexedAxis<'t>>, ParseError> {
    if !cursor.eat("(") {
        return Err(ParseError::new("expected `(` after zip", cursor.next_span())
            .with_help("write zip(block = 64,128, n = 1K,2K)"));
    }
    let mut parts = Vec::new();
    loop {
        let (name, span) = name(cursor)?;
        let start = cursor.position();
        let len = values_length(cursor.rest());
        cursor.advance(len);
        parts.push(LexedAxis { name, span, values: start..start + len });
        if cursor.eat(",") && !cursor.rest().trim_start().starts_with(')') {
            continue;
        }
        if !cursor.eat(")") {
            return Err(ParseError::new("expected `)`", cursor.next_span()));
        }
        if !cursor.at_end() {
            return Err(ParseError::new("expected nothing after `)`", cursor.next_span()));
        }
        return Ok(parts);
    }
}

/// How far values reach: to the `)` that ends the zip, or to the comma before the next axis.
fn values_length(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' if depth == 0 => return at,
            ')' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                let mut ahead = Cursor::new(&text[at + 1..]);
                let (word, _) = ahead.take_while(is_name_char);
                let last = word.is_empty() && ahead.rest().starts_with(')');
                if last || (!word.is_empty() && ahead.eat("=")) {
                    return at;
                }
            }
            _ => {}
        }
    }
    text.len()
}

fn trimmed(text: &str, range: &Range<usize>) -> Range<usize> {
    let part = &text[range.clone()];
    let start = range.start + part.len() - part.trim_start().len();
    start..(range.start + part.trim_end().len()).max(start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Clause {
        let names = ["block".to_owned(), "n".to_owned()];
        Clause::parse(text, &names).unwrap_or_else(|e| panic!("{}", e.render("x", text)))
    }

    fn error(text: &str) -> String {
        Clause::parse(text, &["block".to_owned()]).unwrap_err().render("--series", text)
    }

    #[test]
    fn a_letter_not_allowed_in_axis_names_is_reported() {
        for text in ["größe = 64", "zip(größe = 1,2, b = 3,4)", "ö = 64"] {
            let told = error(text);
            assert!(told.starts_with("`ö` cannot be in an axis name\n"), "{told}");
            assert!(
                told.ends_with("= help: the name of an axis has ASCII letters, digits and `_`")
            );
        }
    }

    #[test]
    fn every_clause_has_its_form() {
        assert!(matches!(parse("block = 64..1024"), Clause::Axis(a) if a.values.len() == 5));
        assert!(matches!(parse("const TILE=[8, 16]"), Clause::Constant(a) if a.name == "TILE"));
        assert!(
            matches!(parse("threads = block * 2"), Clause::Derived(d) if d.formula.text() == "block * 2")
        );
        assert!(matches!(parse("threads = block"), Clause::Derived(_)));
        assert!(
            matches!(parse("where block*n <= 1M"), Clause::Where(e) if e.text() == "block*n <= 1M")
        );
        let Clause::Zip(axes) = parse("zip(a = 1,2, b = [3, 4], c = 8..16,)") else { panic!() };
        let names: Vec<_> = axes.iter().map(|a| (a.name.as_str(), a.values.len())).collect();
        assert_eq!(names, [("a", 2), ("b", 2), ("c", 2)]);
    }

    #[test]
    fn a_range_is_rewritten_with_an_inclusive_end() {
        let spelt = |text| Clause::with_ends(text);
        assert_eq!(spelt("block=64..1024").as_deref(), Some("block=64..=1024"));
        let zip = Some("zip(a = 1..=4, b = 1..=4 step 1)");
        assert_eq!(spelt("zip(a = 1..=4, b = 1..4 step 1)").as_deref(), zip);
        assert_eq!((spelt("block=64..=1024"), spelt("n = 1K, 2K")), (None, None));
    }

    #[test]
    fn words_without_an_axis_of_the_name_are_values() {
        assert!(matches!(parse("dtype = f16-acc"), Clause::Axis(_)));
        assert!(matches!(parse("kind = block, naive"), Clause::Axis(_)), "a list is never derived");
        assert!(matches!(parse("zip = 1,2"), Clause::Axis(a) if a.name == "zip"));
        assert!(matches!(parse("where = 1,2"), Clause::Axis(a) if a.name == "where"));
    }

    #[test]
    fn a_zip_of_unequal_lengths_names_both_axes() {
        assert_eq!(
            error("zip(a = 1,2, b = 1,2,3)"),
            "zip pairs 2 values of `a` with 3 of `b`\n  --> --series\n   |\n   | zip(a = 1,2, b = 1,2,3)\n   \
             |                  ^^^^^\n   = help: zipped axes advance together: give them equally many values"
        );
    }

    #[test]
    fn a_value_may_repeat_in_a_zip_and_a_pair_may_not() {
        assert!(matches!(parse("zip(a = 1,1, b = 2,3)"), Clause::Zip(_)));
        assert!(error("zip(a = 1,1, b = 2,2)").starts_with("zip has (1, 2) twice"));
    }

    #[test]
    fn mistakes_are_named_at_their_place() {
        for (text, message) in [
            ("zip a", "expected `(` after zip"),
            ("zip(a = 1)", "zip takes at least two axes"),
            ("zip(a = 1, b = 2", "expected `)`"),
            ("zip(a = 1, b = 2) c", "expected nothing after `)`"),
            ("zip(a = 1, b = )", "expected values"),
            ("zip()", "expected an axis name"),
            ("where", "the expression is empty"),
            ("where block >", "expected a number or an axis"),
            ("const = ", "expected values"),
            ("const TILE", "expected `=`"),
            ("threads = block *", "expected a number or an axis"),
        ] {
            assert!(error(text).starts_with(message), "{text}: {}", error(text));
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_and_spans_stay_inside(
            text in "(zip|where|const|block|n|=|\\(|\\)|\\[|\\]|,|1|64\\.\\.128|<=|\\*| |µ){0,16}"
        ) {
            let _ = LexedClause::lex(&text).map(|lexed| lexed.declared().len());
            if let Err(error) = Clause::parse(&text, &["block".to_owned()]) {
                prop_assert!(error.span.start <= error.span.end && error.span.end <= text.len());
                error.render("x", &text);
            }
        }
    }
}
