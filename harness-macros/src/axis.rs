//! Axes as tokens: the text for the model's grammar, and the map from its spans back to tokens.
//!
//! Input: the items of a `series(…)` list. Output: a [`DeclaredSpace`]: the clauses as text, and
//! their axes, which are variables in the annotation's expressions. The text is made from the
//! tokens with as little white space as keeps them apart, so that a single value in the source
//! (`f32-acc`) stays one value.

use std::ops::Range;

use gpuprof_model::{AxisKind, AxisValue, ParseError, Space};
use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};

use crate::errors::Errors;
use crate::items::{self, Form, Item};
use crate::type_axis::TypeAxis;

/// One axis as the annotation declares it.
pub(crate) struct DeclaredAxis {
    /// Its name, at its own place.
    pub(crate) name: Ident,
    /// What kind its values are, which decides the type of its variable.
    pub(crate) kind: AxisKind,
    /// The values that are compiled in, for a constant.
    pub(crate) constant: Option<Vec<AxisValue>>,
}

/// The axes of a series and how they combine, as the annotation declares them.
#[derive(Default)]
pub(crate) struct DeclaredSpace {
    /// The axes; none if a clause is wrong, since the kinds of derived ones are then unknown.
    pub(crate) axes: Vec<DeclaredAxis>,
    /// The names of all axes, also of those with wrong values.
    pub(crate) names: Vec<Ident>,
    /// The constants whose values are types.
    pub(crate) types: Vec<TypeAxis>,
    /// The clauses, in the model's grammar.
    pub(crate) clauses: Vec<String>,
    /// The space of the clauses; none if one of them is wrong.
    pub(crate) space: Option<Space>,
}

impl DeclaredSpace {
    /// The constants among the axes with their values, in order.
    pub(crate) fn constants(&self) -> impl Iterator<Item = (&Ident, &[AxisValue])> {
        self.axes.iter().filter_map(|axis| Some((&axis.name, axis.constant.as_deref()?)))
    }

    /// Whether there is an axis called `name` of which nothing is known, since its clause or
    /// another one is wrong.
    pub(crate) fn is_unknown(&self, name: &str) -> bool {
        self.axis(name).is_none() && self.names.iter().any(|known| known == name)
    }

    /// The axis called `name`.
    pub(crate) fn axis(&self, name: &str) -> Option<&DeclaredAxis> {
        self.axes.iter().find(|axis| axis.name == name)
    }
}

/// Reads the axes of a series of a kernel that is generic over `types`, and refuses duplicate
/// names.
pub(crate) fn declared(items: Vec<Item>, types: &[Ident], errors: &mut Errors) -> DeclaredSpace {
    let mut out = DeclaredSpace::default();
    let mut texts: Vec<ClauseText> = Vec::new();
    for item in items {
        let item = match of_types(item, types, errors) {
            (item, None) => item,
            (item, Some(axis)) => {
                out.types.push(axis.clone());
                if axis.values.is_empty() {
                    out.names.push(axis.name);
                    continue;
                }
                item
            }
        };
        let Some((text, names)) = clause(item, errors) else { continue };
        let mut sound = true;
        for name in names {
            if out.names.contains(&name) {
                errors.at(&name, format!("axis `{name}` is declared twice"));
                sound = false;
            } else if !can_be_variable(&name) {
                errors.at(
                    &name,
                    format!(
                        "`{name}` cannot name an axis: it is not a valid name of a Rust variable"
                    ),
                );
                sound = false;
            }
            out.names.push(name);
        }
        if sound {
            texts.push(text);
        }
    }
    out.clauses = texts.iter().map(|text| text.text.clone()).collect();
    match Space::from_clauses(&out.clauses) {
        Ok(space) => {
            out.axes = axes(&space, &out.names);
            out.space = Some(space);
        }
        Err(wrong) => {
            for (position, error) in wrong {
                errors.push(texts[position].error(&error));
            }
        }
    }
    out
}

/// The axis of types that `item` is, where `types` has its name; it is a constant to the model. It
/// has no types where something is wrong with them.
fn of_types(item: Item, types: &[Ident], errors: &mut Errors) -> (Item, Option<TypeAxis>) {
    match item.form {
        Form::Value(values) | Form::Constant(values) if types.contains(&item.name) => {
            let axis = TypeAxis::read(&item.name, &values, errors);
            (Item { name: item.name, form: Form::Constant(values) }, Some(axis))
        }
        form => (Item { form, ..item }, None),
    }
}

/// The axes of `space` at the places of `names`, in the order written.
fn axes(space: &Space, names: &[Ident]) -> Vec<DeclaredAxis> {
    let axis = |name: &Ident| {
        let own = name.to_string();
        let kind = space.kind_of(&own)?;
        let constant = space.constants.get(&own).cloned();
        Some(DeclaredAxis { name: name.clone(), kind, constant })
    };
    names.iter().filter_map(axis).collect()
}

/// The text of one item, and the axes that it declares.
fn clause(item: Item, errors: &mut Errors) -> Option<(ClauseText, Vec<Ident>)> {
    let Item { name, form } = item;
    let mut text = ClauseText::default();
    match form {
        Form::Where(condition) => {
            text.push("where", name.span());
            text.extend(condition);
            Some((text, Vec::new()))
        }
        Form::Constant(values) => {
            let keyword = Ident::new("const", name.span());
            text.extend(quote_spanned!(name.span()=> #keyword #name =));
            text.extend(values);
            Some((text, vec![name]))
        }
        Form::Value(values) => {
            text.extend(quote_spanned!(name.span()=> #name =));
            text.extend(values);
            Some((text, vec![name]))
        }
        Form::List(list) if name == "zip" => {
            let names = zipped(&list, errors)?;
            text.extend(name.to_token_stream());
            text.extend(TokenTree::Group(list).into());
            Some((text, names))
        }
        Form::List(_) => {
            errors.at(&name, format!("`{name}` is not an axis: write {name} = VALUES"));
            None
        }
    }
}

/// The names of the axes in `zip(…)`.
fn zipped(list: &Group, errors: &mut Errors) -> Option<Vec<Ident>> {
    let mut inner = Errors::default();
    let items = items::split(list.stream(), "AXIS = VALUES", &mut inner);
    let mut names = Vec::new();
    for item in items {
        match item.form {
            Form::Value(_) => names.push(item.name),
            _ => inner.at(&item.name, "zip takes axes: zip(block = 64, 128, n = 1K, 2K)"),
        }
    }
    match inner.into_result() {
        Ok(()) => Some(names),
        Err(error) => {
            errors.push(error);
            None
        }
    }
}

fn can_be_variable(name: &Ident) -> bool {
    let text = name.to_string();
    !text.starts_with("r#") && syn::parse_str::<Ident>(&text).is_ok()
}

/// The text of a clause, with the token that each byte came from.
#[derive(Default)]
struct ClauseText {
    text: String,
    places: Vec<(Range<usize>, Span)>,
}

impl ClauseText {
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

    fn parse(text: &str) -> Result<DeclaredSpace, String> {
        let mut errors = Errors::default();
        let items = split(text.parse().unwrap(), "AXIS = VALUES", &mut errors);
        let space = declared(items, &[], &mut errors);
        errors.into_result().map_err(|all| {
            all.into_iter().map(|e| e.to_string()).collect::<Vec<_>>().join(" | ")
        })?;
        Ok(space)
    }

    #[test]
    fn values_keep_their_text() {
        let read = |text: &str| {
            let space = parse(text).unwrap();
            (space.clauses[0].clone(), space.axes[0].kind)
        };
        assert_eq!(read("n = 64..1024 step 32"), ("n=64..1024 step 32".into(), AxisKind::Int));
        assert_eq!(read("n = [1 << 20, 1 << 24]"), ("n=[1<<20, 1<<24]".into(), AxisKind::Int));
        assert_eq!(read("n = 1K, 16M"), ("n=1K, 16M".into(), AxisKind::Int));
        assert_eq!(read("block = 16x16, 32x8"), ("block=16x16, 32x8".into(), AxisKind::Dims));
        assert_eq!(read("dtype = f32, f16-acc"), ("dtype=f32, f16-acc".into(), AxisKind::Word));
    }

    #[test]
    fn every_form_becomes_a_clause_and_its_axes() {
        let space = parse(
            "zip(block = [64, 128], n = 1K, 2K), const TILE = [8, 16], threads = block * 2, \
             where block * TILE <= 1K && n != 2K",
        )
        .unwrap();
        assert_eq!(
            space.clauses,
            [
                "zip(block=[64, 128], n=1K, 2K)",
                "const TILE=[8, 16]",
                "threads=block*2",
                "where block*TILE<=1K&&n!=2K"
            ]
        );
        let names: Vec<String> = space.axes.iter().map(|axis| axis.name.to_string()).collect();
        assert_eq!(names, ["block", "n", "TILE", "threads"]);
        assert_eq!(space.constants().count(), 1);
    }

    #[test]
    fn every_mistake_is_reported() {
        assert_eq!(
            parse("block = 1024..64, n = 1, n = 2, type = 3, cluster = 2, tile(3)").err().unwrap(),
            "axis `n` is declared twice | \
             `type` cannot name an axis: it is not a valid name of a Rust variable | \
             `tile` is not an axis: write tile = VALUES | \
             the range 1024..64 is empty: it runs downwards\n= help: write 64..=1024"
        );
    }

    #[test]
    fn an_error_points_at_its_tokens() {
        let column = |text: &str| {
            let mut errors = Errors::default();
            let items = split(text.parse().unwrap(), "AXIS = VALUES", &mut errors);
            declared(items, &[], &mut errors);
            errors.into_result().unwrap_err().span().start().column
        };
        assert_eq!(column("n = [64, 64..32]"), 11);
        assert_eq!(column("n = 64, where m > 1"), 14);
        assert_eq!(column("n = 64, t = n + m"), 16);
    }
}
