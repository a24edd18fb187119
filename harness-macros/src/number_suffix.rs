//! Expands `16K` in the expressions of an annotation, with its meaning in the values of an axis.
//!
//! Input: the tokens of an expression. Output: the same with plain numbers. rustc lexes `16K` as a
//! number with a suffix, and knows no such suffix.

use gpuprof_model::AxisValue;
use proc_macro2::{Group, Literal, TokenStream, TokenTree};

/// The suffixes of whole numbers in the model's grammar.
const SUFFIXES: [char; 4] = ['K', 'k', 'M', 'G'];

/// `tokens` with the number that each literal such as `16K` is.
pub(crate) fn expanded(tokens: TokenStream) -> TokenStream {
    tokens.into_iter().map(token).collect()
}

fn token(token: TokenTree) -> TokenTree {
    match token {
        TokenTree::Literal(literal) => {
            let mut number = plain(&literal).unwrap_or_else(|| literal.clone());
            number.set_span(literal.span());
            TokenTree::Literal(number)
        }
        TokenTree::Group(group) => {
            let mut inner = Group::new(group.delimiter(), expanded(group.stream()));
            inner.set_span(group.span());
            TokenTree::Group(inner)
        }
        other @ (TokenTree::Ident(_) | TokenTree::Punct(_)) => other,
    }
}

fn plain(literal: &Literal) -> Option<Literal> {
    let text = literal.to_string();
    let is_suffixed = text.starts_with(|c: char| c.is_ascii_digit()) && text.ends_with(SUFFIXES);
    match AxisValue::try_from(text).ok().filter(|_| is_suffixed)? {
        AxisValue::Int(number) => Some(Literal::u64_unsuffixed(number)),
        AxisValue::Dims(_) | AxisValue::Word(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_suffixes_mean_the_same_as_in_an_axis() {
        for (text, expected) in [
            ("16K", "16384"),
            ("f(n, 2 * 1M + 3)", "f (n , 2 * 1048576 + 3)"),
            ("{ [1G, 8u32, 1e3, 0xAM] }", "{ [1073741824 , 8u32 , 1e3 , 0xAM] }"),
            ("\"16K\"", "\"16K\""),
        ] {
            assert_eq!(expanded(text.parse().unwrap()).to_string(), expected, "{text}");
        }
    }
}
