//! Axes as tokens: the text the model's grammar reads, and the way back from its spans to tokens.
//!
//! Comes in: the items of a `series(…)` list. Goes out: [`DeclaredAxis`]. The text is made from the
//! tokens with as little white space as keeps them apart, so that what reads as one value in the
//! source (`f32-acc`) stays one value.

use std::ops::Range;

use gpuprof_model::{Axis, AxisKind, ParseError};
use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};

use crate::errors::Errors;
use crate::items::{Form, Item};

/// One axis as the annotation declares it.
pub(crate) struct DeclaredAxis {
    /// Its name, at its own place.
    pub(crate) name: Ident,
    /// Its values as text, in the model's grammar.
    pub(crate) values: String,
    /// What kind its values are, which decides the type of its variable.
    pub(crate) kind: AxisKind,
}

/// Reads the axes of a series, and refuses names that are there twice.
pub(crate) fn declared(items: Vec<Item>, errors: &mut Errors) -> Vec<DeclaredAxis> {
    let mut axes: Vec<DeclaredAxis> = Vec::new();
    let mut seen: Vec<Ident> = Vec::new();
    for item in items {
        let twice = seen.contains(&item.name);
        seen.push(item.name.clone());
        if twice {
            errors.at(&item.name, format!("axis `{}` is declared twice", item.name));
        }
        axes.extend(read(item, errors).filter(|_| !twice));
    }
    axes
}

fn read(item: Item, errors: &mut Errors) -> Option<DeclaredAxis> {
    let Item { name, form } = item;
    let Form::Value(tokens) = form else {
        errors.at(&name, format!("`{name}` is not an axis: write {name} = VALUES"));
        return None;
    };
    if name == "cluster" {
        errors.at(&name, "the axis `cluster` is not supported yet");
        return None;
    }
    if syn::parse_str::<Ident>(&name.to_string()).is_err() || name.to_string().starts_with("r#") {
        errors.at(
            &name,
            format!("`{name}` cannot name an axis: a Rust variable cannot be called that"),
        );
        return None;
    }
    let text = ValuesText::new(tokens);
    match Axis::from_values_text(&name.to_string(), &text.text) {
        Ok(axis) => Some(DeclaredAxis { kind: axis.kind(), values: text.text, name }),
        Err(error) => {
            errors.push(text.error(&error));
            None
        }
    }
}

/// The text of an axis' values, with the token that each byte came from.
struct ValuesText {
    text: String,
    places: Vec<(Range<usize>, Span)>,
}

impl ValuesText {
    fn new(tokens: TokenStream) -> Self {
        let mut out = Self { text: String::new(), places: Vec::new() };
        out.extend(tokens);
        out
    }

    fn extend(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => {
                    let (open, close) = match group.delimiter() {
                        Delimiter::Bracket => ("[", "]"),
                        Delimiter::Brace => ("{", "}"),
                        Delimiter::Parenthesis => ("(", ")"),
                        Delimiter::None => ("", ""),
                    };
                    self.push(open, group.span_open());
                    self.extend(group.stream());
                    self.push(close, group.span_close());
                }
                token => {
                    let span = token.span();
                    self.push(&token.to_string(), span);
                }
            }
        }
    }

    fn push(&mut self, token: &str, span: Span) {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let touching = self.text.ends_with(word) && token.starts_with(word);
        if touching || self.text.ends_with(',') {
            self.text.push(' ');
        }
        let start = self.text.len();
        self.text.push_str(token);
        self.places.push((start..self.text.len(), span));
    }

    /// `error` at the tokens its span covers, or at the last token where it covers none.
    fn error(&self, error: &ParseError) -> syn::Error {
        let covers = |place: &Range<usize>| {
            place.start < error.span.end.max(error.span.start + 1) && error.span.start < place.end
        };
        let mut spans =
            self.places.iter().filter(|(place, _)| covers(place)).map(|(_, span)| *span);
        let last = self.places.last().map_or_else(Span::call_site, |(_, span)| *span);
        let first = spans.next().unwrap_or(last);
        // Two identifiers at the two ends: rustc joins their places into one.
        let ends =
            [Ident::new("first", first), Ident::new("last", spans.next_back().unwrap_or(first))];
        let ends: TokenStream = ends.into_iter().map(TokenTree::from).collect();
        let help = error.help.as_ref().map(|h| format!("\n= help: {h}")).unwrap_or_default();
        syn::Error::new_spanned(ends, format!("{}{help}", error.message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::items::split;

    fn parse(text: &str) -> Result<Vec<(String, String, AxisKind)>, String> {
        let mut errors = Errors::default();
        let items = split(text.parse().unwrap(), "AXIS = VALUES", &mut errors);
        let axes = declared(items, &mut errors);
        errors.into_result().map_err(|all| {
            all.into_iter().map(|e| e.to_string()).collect::<Vec<_>>().join(" | ")
        })?;
        Ok(axes.into_iter().map(|a| (a.name.to_string(), a.values, a.kind)).collect())
    }

    #[test]
    fn values_keep_their_text() {
        let read = |text: &str| {
            let axes = parse(text).unwrap();
            let [(_, values, kind)] = axes.as_slice() else { panic!("{axes:?}") };
            (values.clone(), *kind)
        };
        assert_eq!(read("n = 64..1024 step 32"), ("64..1024 step 32".into(), AxisKind::Int));
        assert_eq!(read("n = [1 << 20, 1 << 24]"), ("[1<<20, 1<<24]".into(), AxisKind::Int));
        assert_eq!(read("n = 1K, 16M"), ("1K, 16M".into(), AxisKind::Int));
        assert_eq!(read("block = 16x16, 32x8"), ("16x16, 32x8".into(), AxisKind::Dims));
        assert_eq!(read("dtype = f32, f16-acc"), ("f32, f16-acc".into(), AxisKind::Word));
    }

    #[test]
    fn every_mistake_is_reported() {
        assert_eq!(
            parse("block = 1024..64, n = 1, n = 2, type = 3, cluster = 2").unwrap_err(),
            "the range 1024..64 is empty: it runs downwards\n= help: write 64..1024 | \
             axis `n` is declared twice | \
             `type` cannot name an axis: a Rust variable cannot be called that | \
             the axis `cluster` is not supported yet"
        );
    }

    #[test]
    fn an_error_points_at_its_tokens() {
        let mut errors = Errors::default();
        let items = split("n = [64, 64..32]".parse().unwrap(), "AXIS = VALUES", &mut errors);
        declared(items, &mut errors);
        let error = errors.into_result().unwrap_err();
        assert_eq!(error.span().start().column, 11, "{error}");
    }
}
